/*
 * queue.c - what queues say about limits.
 */
#include "rules/queue.h"

#include <errno.h>

#include "rules/leave.h"

void limits_of_server(struct limits *l, const struct attrs *server)
{
	limits_set(l, LIMIT_ALL, 0, attrs_number(server, "max_running"));
	limits_set(l, LIMIT_USER, 0, attrs_number(server, "max_user_run"));
}

void limits_of_queue(struct limits *l, uint32_t number, const struct attrs *queue)
{
	limits_set(l, LIMIT_QUEUE, number, attrs_number(queue, "max_running"));
	limits_set(l, LIMIT_QUEUE_USER, number, attrs_number(queue, "max_user_run"));
}

void settings_of_server(struct settings *x, const struct attrs *server)
{
	int64_t starve = attrs_number(server, "starve_after");

	x->tolerance = attrs_number(server, "tolerance");
	x->starve_after = starve >= 0 ? starve : STARVE_AUTO;
	x->migrate_cost = -1;
	x->interactive_breaks = attrs_bool(server, "interactive_breaks_deadlines");
	leave_settings(x, server);
	x->reserve_depth = attrs_number(server, "reservation_depth");
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
