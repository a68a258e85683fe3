/*
 * agent.c - a host with an agent: what is kept of it.
 */
#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
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
	a->memory_free = a->disk_free = -1;
	return a;
}

bool agent_connected(const struct node_info *info)
{
	return info->agent && info->agent->visit;
}

int agent_restore(struct server *s, uint32_t node, const json_t *o, struct err *err)
{
	struct agent *a = agent_create(s, json_object_get(o, "facts"));

	a->bye = json_is_true(json_object_get(o, "bye"));
	snprintf(a->address, sizeof a->address, "%s",
		 json_is_string(json_object_get(o, "address")) ? json_string_value(json_object_get(o, "address")) : "");
	s->hosts->nodes.v[node].agent = a;
	return 0;
}

void agent_store(const struct node_info *info, struct json *j)
{
	char *facts = json_dumps(info->agent->facts, JSON_COMPACT);

	if (info->agent->bye)
		json_bool(j, "bye", true);
	if (*info->agent->address) /* where it was last: others send it files although it is away for a moment */
		json_text(j, "address", info->agent->address);
	json_raw(j, "facts", facts ? facts : "{}");
	free(facts);
}
