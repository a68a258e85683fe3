/* agent.c - the stored data of a host with an agent. */
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/codec.h"
#include "base/mem.h"
#include "server/base/clock.h"
#include "server/node/nodes.h"
#include "server/server.h"

struct agent *agent_create(struct server *s, const json_t *facts)
{
	struct agent *a = mem_zalloc(sizeof *a);

	a->facts = json_is_object(facts) ? json_deep_copy(facts) : json_object();
	a->heard_us = s->clock->boot_us;
	a->since = s->clock->now;
	a->state.memory_free = a->state.disk_free = -1;
	return a;
}

bool agent_connected(const struct node_info *info)
{
	return info->agent && info->agent->visit;
}

enum { KEPT = 1 << 0, WRITTEN = 1 << 1 }; /* facts are owned, so they are read separately */

static const struct field agent_rows[] = {
	{"bye", .in = KEPT, MEMBER(struct agent, bye)},
	/* last known address: others send it files although it is away for a moment */
	{"address", .in = KEPT, MEMBER_CHARS(struct agent, address)},
	{"facts", .in = WRITTEN, MEMBER(struct agent, facts)},
	{0},
};

int agent_restore(struct server *s, uint32_t node, const json_t *o, struct err *err)
{
	struct agent *a = agent_create(s, json_object_get(o, "facts"));

	s->hosts->nodes.v[node].agent = a;
	return record_load(agent_rows, KEPT, o, a, NULL, err);
}

void agent_store(const struct node_info *info, struct json *j)
{
	record_store(agent_rows, 0, info->agent, NULL, j);
}
