/*
 * health.c - jobs that could not be started on a node: what is kept of that.
 */
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/vec.h"
#include "server/base/agenda.h"
#include "server/base/clock.h"
#include "server/base/words.h"
#include "server/node/health.h"
#include "server/node/nodes.h"
#include "server/server.h"

void health_free(struct node_health *h)
{
	if (!h)
		return;
	vec_free(&h->strikes);
	free(h->reason);
	free(h);
}

bool health_out(const struct node_info *n)
{
	return n->failing && n->failing->until;
}

void health_store(const struct server *s, const struct node_info *n, struct json *j)
{
	const struct node_health *h = n->failing;

	if (!h)
		return;
	json_open_object(j, "failing");
	json_int(j, "since", h->since);
	json_int(j, "until", h->until);
	json_int(j, "step", h->step);
	if (h->reason)
		json_text(j, "reason", h->reason);
	json_open_array(j, "strikes");
	for (size_t i = 0; i < h->strikes.n; i++) {
		const struct strike *x = &h->strikes.v[i];
		json_open_object(j, NULL);
		json_int(j, "job", (int64_t)x->job);
		json_text(j, "owner", word(s, x->owner));
		json_int(j, "time", x->time);
		json_bool(j, "unclear", x->unclear);
		json_bool(j, "disputed", x->disputed);
		json_close_object(j);
	}
	json_close_array(j);
	json_close_object(j);
}

void health_restore(struct server *s, uint32_t node, const json_t *o)
{
	const json_t *from = json_object_get(o, "failing"), *x;
	const char *reason = json_string_value(json_object_get(from, "reason"));
	struct node_health *h;
	size_t i;

	if (!json_is_object(from))
		return;
	h = mem_zalloc(sizeof *h);
	h->since = json_integer_value(json_object_get(from, "since"));
	h->until = clock_until(s, h->since, json_integer_value(json_object_get(from, "until")));
	h->step = (uint32_t)json_integer_value(json_object_get(from, "step"));
	h->reason = reason ? mem_strdup(reason) : NULL;
	json_array_foreach(json_object_get(from, "strikes"), i, x)
	{
		int64_t time = json_integer_value(json_object_get(x, "time"));
		vec_push(&h->strikes,
			 (struct strike){.job = (uint64_t)json_integer_value(json_object_get(x, "job")),
					 .owner = word_add(s, json_string_value(json_object_get(x, "owner"))),
					 .time = clock_until(s, time, time),
					 .unclear = json_is_true(json_object_get(x, "unclear")),
					 .disputed = json_is_true(json_object_get(x, "disputed"))});
	}
	if (h->until)
		heap_push(&s->agenda->retries, h->until, node, TIMER_NODE);
	health_free(s->hosts->nodes.v[node].failing);
	s->hosts->nodes.v[node].failing = h;
}
