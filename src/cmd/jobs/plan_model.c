/*
 * plan_model.c - prepares the plan for drawing.
 */
#include "cmd/jobs/plan_model.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/names.h"
#include "cmd/lib/object.h"

#define MINUTE 60
#define HOUR 3600
#define DAY 86400
#define SHORTEST (10 * MINUTE) /* minimum length of the axis */

static enum piece_state state_of(const char *word)
{
	if (strcmp(word, "running") == 0)
		return PIECE_RUNNING;
	return strcmp(word, "guaranteed") == 0 ? PIECE_GUARANTEED : PIECE_RESERVED;
}

static int piece_compare(const void *a, const void *b)
{
	const struct plan_piece *x = a, *y = b;

	if (x->node != y->node)
		return x->node < y->node ? -1 : 1;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

static void pieces_add(struct plan_view *v, const json_t *pieces)
{
	const json_t *piece;
	struct names names = {0};
	size_t i;

	for (i = 0; i < v->nodes.n; i++)
		names_add(&names, v->nodes.v[i].name);
	json_array_foreach(pieces, i, piece)
	{
		uint32_t node;

		if (!names_find(&names, object_text(piece, "node"), &node))
			continue;
		struct plan_piece p = {.job = object_text(piece, "job"),
				       .name = object_text(piece, "name"),
				       .owner = object_text(piece, "owner"),
				       .node = (int)node,
				       .cpus = object_number(piece, "cpus", 1),
				       .start = object_number(piece, "start", v->now),
				       .end = object_number(piece, "end", INT64_MAX),
				       .state = state_of(object_text(piece, "state")),
				       .held = json_is_true(json_object_get(piece, "held"))};
		p.number = atoi(p.job);
		vec_push(&v->pieces, p);
	}
	names_fini(&names);
	if (v->pieces.n)
		qsort(v->pieces.v, v->pieces.n, sizeof *v->pieces.v, piece_compare);
	for (size_t k = 0; k < v->pieces.n; k++) {
		struct plan_node *n = &v->nodes.v[v->pieces.v[k].node];
		if (n->n++ == 0)
			n->first = k;
	}
}

/* Orders nodes by partition, shared ones last; otherwise in the server's order (first). */
static int node_compare(const void *a, const void *b)
{
	const struct plan_node *x = a, *y = b;
	int order = strcmp(x->partition, y->partition);

	if (order && (!*x->partition || !*y->partition))
		return *x->partition ? -1 : 1;
	return order ? order : x->first < y->first ? -1 : x->first > y->first;
}

static void nodes_add(struct plan_view *v, const json_t *nodes)
{
	const json_t *node;
	size_t i;

	json_array_foreach(nodes, i, node)
	{
		vec_push(&v->nodes, (struct plan_node){.name = object_text(node, "name"),
						       .partition = object_text(node, "partition"),
						       .cpus = object_number(node, "cpus", 0),
						       .leaves = object_number(node, "drain_at", INT64_MAX),
						       .kept = json_object_get(node, "reservations"),
						       .up = !json_is_false(json_object_get(node, "up")),
						       .first = i});
		v->divided |= *v->nodes.v[i].partition != '\0';
	}
	if (v->divided)
		qsort(v->nodes.v, v->nodes.n, sizeof *v->nodes.v, node_compare);
}

void plan_view_make(struct plan_view *v, const json_t *plan, int64_t horizon)
{
	*v = (struct plan_view){.now = object_number(plan, "now", (int64_t)time(NULL))};
	nodes_add(v, json_object_get(plan, "nodes"));
	pieces_add(v, json_object_get(plan, "pieces"));
	v->until = v->now + SHORTEST;
	for (size_t k = 0; k < v->pieces.n; k++)
		if (v->pieces.v[k].end != INT64_MAX && v->pieces.v[k].end > v->until)
			v->until = v->pieces.v[k].end;
	if (horizon > 0)
		v->until = v->now + horizon;
}

void plan_view_fini(struct plan_view *v)
{
	vec_free(&v->nodes);
	vec_free(&v->pieces);
}

int64_t plan_ticks(const struct plan_view *v, int most)
{
	static const int64_t steps[] = {MINUTE,	     2 * MINUTE, 5 * MINUTE, 10 * MINUTE, 15 * MINUTE,
					30 * MINUTE, HOUR,	 2 * HOUR,   3 * HOUR,	  6 * HOUR,
					12 * HOUR,   DAY,	 2 * DAY,    7 * DAY};
	int64_t length = v->until - v->now, step = steps[0];

	for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
		step = steps[i];
		if (length / step < most)
			return step;
	}
	while (length / step >= most)
		step *= 2;
	return step;
}

int64_t plan_tick_after(int64_t t, int64_t step)
{
	time_t at = (time_t)t;
	struct tm tm;

	localtime_r(&at, &tm);
	int64_t local = t + tm.tm_gmtoff;
	return (local + step - 1) / step * step - tm.tm_gmtoff;
}

const char *plan_tick_text(int64_t t, int64_t step, char *buf, size_t size)
{
	time_t at = (time_t)t;
	struct tm tm;

	localtime_r(&at, &tm);
	strftime(buf, size, step >= DAY || (tm.tm_hour == 0 && tm.tm_min == 0) ? "%a %d" : "%H:%M", &tm);
	return buf;
}
