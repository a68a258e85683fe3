/*
 * server_plan.c - parses the plan of a Shunt server from `shunt plan --json`: when jobs start, and
 * on which nodes.
 */
#include <errno.h>
#include <string.h>

#include <jansson.h>

#include "bag/batch.h"
#include "base/members.h"
#include "base/timetext.h"

#define PLAN_LATEST (INT64_C(1) << 60) /* all instants are before this */

enum {
	PLAN_NODES = 100000,
	PLAN_CPUS = 1000000, /* maximum CPUs of a node */
	PLAN_EXPECTED = 500, /* maximum jobs whose expected start a server shows */
	/* seconds; the forecast of a long queue may be that old, and then newer jobs are missing */
	PLAN_OLD = 10,
};

/* Limits an instant to a range that is safe to compute with. */
static int64_t instant(int64_t t)
{
	return t < 0 ? 0 : t > PLAN_LATEST ? PLAN_LATEST : t;
}

/* Returns until when jobs may run on a node: it drains then, or is reserved. */
static int64_t node_until(const json_t *node)
{
	int64_t until = member_number(node, "drain_at") > 0 ? instant(member_number(node, "drain_at")) : TIME_NEVER;
	const json_t *x;
	size_t i;

	json_array_foreach(json_object_get(node, "reservations"), i, x) if (instant(member_number(x, "start")) < until)
		until = instant(member_number(x, "start"));
	return until;
}

/* Returns the number of a name, for nodes and job ids; -1: unknown and not added. */
static json_int_t number(json_t *names, const json_t *name, bool add)
{
	const char *text = json_string_value(name);
	const json_t *known = text ? json_object_get(names, text) : NULL;

	if (known || !text || !add)
		return known ? json_integer_value(known) : -1;
	json_int_t next = (json_int_t)json_object_size(names);
	return json_object_set_new(names, text, json_integer(next)) == 0 ? next : -1;
}

/* Returns true for the name of a filler's request, of any bag: its tag and a number. */
static bool filler_names(const char *job)
{
	size_t n = strlen(FILLER_PREFIX);

	return strncmp(job, FILLER_PREFIX, n) == 0 && strspn(job + n, "0123456789abcdef") == TAG_DIGITS &&
	       job[n + TAG_DIGITS] == '-';
}

/* The names in a plan, with their numbers. */
struct plan_names {
	json_t *nodes, *jobs, *expected;
};

static void node_take(const struct plan_names *names, const json_t *x, struct rebuild *ret)
{
	int64_t cpus = member_number(x, "cpus"), up = json_is_true(json_object_get(x, "up")) ? cpus : 0;
	struct filler_plan *p = &ret->places;

	ret->processors += up;
	rebuild_node(ret, &(struct provider_node){cpus, INT64_MAX, INT64_MAX});
	if (p->nodes.n < PLAN_NODES && number(names->nodes, json_object_get(x, "name"), true) == (json_int_t)p->nodes.n)
		vec_push(&p->nodes, (struct filler_node){up > 0 && up < PLAN_CPUS ? up : 0, node_until(x)});
}

static void piece_take(const char *name, const struct plan_names *names, const json_t *x, int64_t now,
		       struct rebuild *ret)
{
	const char *state = json_string_value(json_object_get(x, "state")),
		   *job = json_string_value(json_object_get(x, "name"));
	struct filler_piece k = {.cpus = member_number(x, "cpus"),
				 .start = instant(member_number(x, "start")),
				 .end = instant(member_number(x, "end"))};
	int own = job ? tag_number(name, job) : 0;
	bool room = ret->places.pieces.n < REBUILD_JOBS;

	if (k.cpus < 1 || k.cpus > PLAN_CPUS || k.end <= k.start || k.end <= now)
		return;
	if (ret->jobs.n < REBUILD_JOBS)
		vec_push(&ret->jobs, (struct rebuild_job){.processors = k.cpus,
							  .running = k.start <= now,
							  .end = k.end,
							  .seconds = k.end - k.start,
							  .start = k.start,
							  .number = own});
	json_int_t node = number(names->nodes, json_object_get(x, "node"), false),
		   at = number(names->jobs, json_object_get(x, "job"), room);
	if (node < 0 || at < 0 || !state)
		return;
	k.node = (uint32_t)node;
	k.job = (uint32_t)at;
	k.running = strcmp(state, "running") == 0;
	k.own = own > 0;
	k.ours = k.own || (job && filler_names(job));
	if (strcmp(state, "expected") == 0)
		number(names->expected, json_object_get(x, "job"), true);
	vec_push(&ret->places.pieces, k);
}

int server_plan_parse(const char *name, const char *text, size_t n, int64_t now, struct rebuild *ret)
{
	struct plan_names names = {json_object(), json_object(), json_object()};
	json_t *all = json_loadb(text, n, 0, NULL);
	const json_t *x;
	size_t i;

	json_array_foreach(json_object_get(all, "nodes"), i, x) node_take(&names, x, ret);
	json_array_foreach(json_object_get(all, "pieces"), i, x) piece_take(name, &names, x, now, ret);
	ret->places.whole = json_object_size(names.expected) < PLAN_EXPECTED && ret->places.pieces.n < REBUILD_JOBS &&
			    ret->places.nodes.n < PLAN_NODES &&
			    instant(member_number(all, "now")) - instant(member_number(all, "foreseen")) < PLAN_OLD;
	json_decref(names.nodes);
	json_decref(names.jobs);
	json_decref(names.expected);
	json_decref(all);
	return ret->processors > 0 && ret->processors < INT32_MAX ? 0 : -EINVAL;
}
