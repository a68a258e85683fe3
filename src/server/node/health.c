/* health.c - records of jobs that could not be started on a node. */
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/codec.h"
#include "base/heap.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/vec.h"
#include "server/base/agenda.h"
#include "server/base/clock.h"
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

static const struct field health_rows[] = {
	{"since", MEMBER(struct node_health, since)},
	{"until", MEMBER(struct node_health, until)},
	{"step", MEMBER(struct node_health, step)},
	{"reason", MEMBER(struct node_health, reason)},
	{0},
};
static const struct field strike_rows[] = {
	{"job", MEMBER(struct strike, job)},	       {"owner", MEMBER_AS(FORM_WORD, struct strike, owner)},
	{"time", MEMBER(struct strike, time)},	       {"unclear", MEMBER(struct strike, unclear)},
	{"disputed", MEMBER(struct strike, disputed)}, {0},
};

void health_store(const struct server *s, const struct node_info *n, struct json *j)
{
	const struct node_health *h = n->failing;

	if (!h)
		return;
	json_open_object(j, "failing");
	record_store(health_rows, 0, h, NULL, j);
	json_open_array(j, "strikes");
	for (size_t i = 0; i < h->strikes.n; i++) {
		json_open_object(j, NULL);
		record_store(strike_rows, 0, &h->strikes.v[i], s->words, j);
		json_close_object(j);
	}
	json_close_array(j);
	json_close_object(j);
}

int health_restore(struct server *s, uint32_t node, const json_t *o, struct err *err)
{
	const json_t *from = json_object_get(o, "failing"), *x;
	struct node_health *h;
	struct strike strike;
	size_t i;
	int rc;

	if (!from)
		return 0;
	h = mem_zalloc(sizeof *h);
	rc = record_load(health_rows, 0, from, h, NULL, err);
	h->until = clock_until(s, h->since, h->until);
	json_array_foreach(rc < 0 ? NULL : json_object_get(from, "strikes"), i, x)
	{
		rc = record_load(strike_rows, 0, x, &strike, s->words, err);
		if (rc < 0)
			break;
		strike.time = clock_until(s, strike.time, strike.time);
		vec_push(&h->strikes, strike);
	}
	if (rc < 0) {
		health_free(h);
		return rc;
	}
	if (h->until)
		heap_push(&s->agenda->retries, h->until, node, TIMER_NODE);
	health_free(s->hosts->nodes.v[node].failing);
	s->hosts->nodes.v[node].failing = h;
	return 0;
}
