/*
 * failures.c - failures of a job: folding them, and storing them.
 */
#include <jansson.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/codec.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/names.h"
#include "base/vec.h"
#include "core/cluster.h"
#include "rules/gate.h"
#include "server/base/clock.h"
#include "server/job/entry.h"
#include "server/job/failures.h"
#include "server/server.h"

struct avoidance *avoidance_find(struct job_failures *f, uint32_t node)
{
	for (size_t i = 0; f && i < f->avoids.n; i++)
		if (f->avoids.v[i].node == node)
			return &f->avoids.v[i];
	return NULL;
}

static void avoidance_set(struct job_failures *f, struct avoidance x)
{
	struct avoidance *a = avoidance_find(f, x.node);

	if (a)
		*a = x;
	else
		vec_push(&f->avoids, x);
}

bool held_by_failures(const struct entry *e)
{
	return (e->holds & BLOCK_SYSTEM) && e->failures;
}

void failures_free(struct job_failures *f)
{
	if (!f)
		return;
	vec_free(&f->avoids);
	free(f);
}

void failures_apply(const struct server *s, struct entry *e, const struct retry *r, int64_t time)
{
	if (r->total == 0) {
		failures_free(e->failures);
		e->failures = NULL;
		return;
	}
	if (!e->failures)
		e->failures = mem_zalloc(sizeof *e->failures);
	e->failures->total = r->total;
	e->failures->rounds = r->rounds;
	e->failures->unclear = r->unclear;
	e->failures->until = clock_until(s, time, r->until);
	if (r->nowhere)
		vec_clear(&e->failures->avoids);
	if (r->count)
		avoidance_set(e->failures, (struct avoidance){.node = r->node,
							      .count = r->count,
							      .until = clock_until(s, time, r->avoid)});
}

/* The node is written separately, by name. */
static const struct field retry_rows[] = {
	{"total", MEMBER(struct retry, total)},	    {"rounds", MEMBER(struct retry, rounds)},
	{"unclear", MEMBER(struct retry, unclear)}, {"until", MEMBER(struct retry, until)},
	{"nowhere", MEMBER(struct retry, nowhere)}, {"count", MEMBER(struct retry, count)},
	{"avoid", MEMBER(struct retry, avoid)},	    {0},
};

void failures_write(const struct server *s, const struct retry *r, struct json *j)
{
	json_open_object(j, "failures");
	record_store(retry_rows, 0, r, NULL, j);
	if (r->count)
		json_text(j, "node", names_get(&s->cluster->node_names, r->node));
	json_close_object(j);
}

int failures_read(const struct server *s, const json_t *o, struct retry *ret, struct err *err)
{
	const char *node = json_string_value(json_object_get(o, "node"));
	int rc;

	*ret = (struct retry){0};
	/* written by an older server: the number of failures, on any nodes */
	if (json_is_integer(o)) {
		ret->total = ret->rounds = (uint32_t)json_integer_value(o);
		return 0;
	}
	rc = record_load(retry_rows, 0, o, ret, NULL, err);
	if (!node || !names_find(&s->cluster->node_names, node, &ret->node))
		ret->avoid = ret->count = 0; /* the node has been removed */
	return rc;
}
