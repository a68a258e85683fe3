/*
 * queue.c - derives limits and settings from attributes.
 */
#include "rules/queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "rules/leave.h"

static const enum attr_key measure_key[LIMIT_CREDIT] = {[LIMIT_JOBS] = SET_MAX_RUNNING,
							[LIMIT_CPUS] = SET_MAX_CPUS,
							[LIMIT_MEMORY] = SET_MAX_MEMORY,
							[LIMIT_CPU_SECONDS] = SET_MAX_CPU_SECONDS};

static const enum attr_key soft_key[LIMIT_CREDIT] = {[LIMIT_JOBS] = SET_SOFT_MAX_RUNNING,
						     [LIMIT_CPUS] = SET_SOFT_MAX_CPUS,
						     [LIMIT_MEMORY] = SET_SOFT_MAX_MEMORY,
						     [LIMIT_CPU_SECONDS] = SET_SOFT_MAX_CPU_SECONDS};

void limits_of_server(struct limits *l, const struct attrs *server)
{
	limits_set(l, LIMIT_ALL, 0, attrs_number(server, SET_MAX_RUNNING));
	limits_set(l, LIMIT_USER, 0, attrs_number(server, SET_MAX_USER_RUN));
}

void limits_of_queue(struct limits *l, uint32_t number, const struct attrs *queue)
{
	for (int m = 0; m < LIMIT_CREDIT; m++) {
		limits_cap(l, LIMIT_QUEUE, number, (enum limit_measure)m, attrs_number(queue, measure_key[m]));
		limits_soft(l, LIMIT_QUEUE, number, (enum limit_measure)m, attrs_number(queue, soft_key[m]));
	}
	limits_set(l, LIMIT_QUEUE_USER, number, attrs_number(queue, SET_MAX_USER_RUN));
}

/* Returns a limit of an object, or of `default` (number 0). */
static int64_t limit_of(const struct attrs *a, enum attr_key key, uint32_t number)
{
	if (a && attrs_is_set(a, key))
		return attrs_number(a, key);
	return number ? LIMIT_INHERIT : -1;
}

void limits_of_object(struct limits *l, enum object_kind kind, uint32_t number, const struct attrs *a)
{
	static const enum limit_kind of[OBJECT_KINDS] = {[OBJECT_USER] = LIMIT_OF_USER,
							 [OBJECT_GROUP] = LIMIT_OF_GROUP,
							 [OBJECT_ACCOUNT] = LIMIT_OF_ACCOUNT,
							 [OBJECT_QOS] = LIMIT_OF_QOS};

	if (!of[kind])
		return;
	for (int m = 0; m < LIMIT_CREDIT; m++) {
		limits_cap(l, of[kind], number, (enum limit_measure)m, limit_of(a, measure_key[m], number));
		limits_soft(l, of[kind], number, (enum limit_measure)m, limit_of(a, soft_key[m], number));
	}
	if (kind == OBJECT_QOS && number)
		limits_exempt(l, number, a && attrs_bool(a, SET_IGNORES_LIMITS));
}

/* Marks the node of that name, or all nodes with that feature. */
static void nodes_named(const struct cluster *c, const char *name, bool *has)
{
	uint32_t id;

	if (names_find(&c->node_names, name, &id)) {
		has[id] = true;
		return;
	}
	if (!names_find(&c->feature_names, name, &id))
		return;
	for (uint32_t i = 0; i < c->nodes.n; i++)
		has[i] |= features_has(&c->features, c->nodes.v[i].features, id);
}

uint32_t queue_nodes(struct cluster *c, const struct attrs *queue, bool partitions)
{
	const char *list = attrs_text(queue, SET_NODES);
	char *copy, *rest, *name;
	bool *has, all = false;
	uint32_t set;

	if (!list || !*list)
		return NODES_ALL;
	rest = copy = mem_strdup(list);
	has = mem_zalloc((c->nodes.n + 1) * sizeof *has);
	while ((name = strsep(&rest, ","))) {
		all |= strcasecmp(name, "all") == 0;
		nodes_named(c, name, has);
	}
	for (uint32_t i = 0; i < c->nodes.n && !partitions; i++)
		has[i] &= c->nodes.v[i].partition == PARTITION_NONE;
	set = all ? NODES_ALL : cluster_nodeset(c, has, (uint32_t)c->nodes.n, false);
	free(copy);
	free(has);
	return set;
}

void settings_of_server(struct settings *x, const struct attrs *server)
{
	int64_t starve = attrs_number(server, SET_STARVE_AFTER);

	x->tolerance = attrs_number(server, SET_TOLERANCE);
	x->starve_after = starve >= 0 ? starve : STARVE_AUTO;
	x->migrate_cost = -1;
	x->interactive_breaks = attrs_bool(server, SET_INTERACTIVE_BREAKS_DEADLINES);
	leave_settings(x, server);
	x->time_slice = attrs_number(server, SET_TIME_SLICE);
	x->reserve_depth = attrs_number(server, SET_RESERVATION_DEPTH);
}

void ruleset_init(struct ruleset *s)
{
	*s = (struct ruleset){0};
	attrs_init(&s->attrs, ATTR_SERVER);
}

void ruleset_fini(struct ruleset *s)
{
	attrs_fini(&s->attrs);
	for (size_t i = 0; i < s->queues.n; i++) {
		attrs_fini(&s->queues.v[i].attrs);
		free(s->queues.v[i].name);
	}
	vec_free(&s->queues);
	objects_fini(&s->objects);
}

int ruleset_find(const struct ruleset *s, const char *name)
{
	for (size_t i = 0; i < s->queues.n; i++)
		if (strcmp(s->queues.v[i].name, name) == 0)
			return (int)i;
	return -ENOENT;
}

int ruleset_add(struct ruleset *s, const char *name)
{
	if (ruleset_find(s, name) >= 0)
		return -EEXIST;
	vec_push(&s->queues, (struct ruleset_queue){.name = mem_strdup(name)});
	attrs_init(&s->queues.v[s->queues.n - 1].attrs, ATTR_QUEUE);
	return (int)s->queues.n - 1;
}
