/*
 * node.c - the transition tables of a node's state and the fold over them.
 */
#include "core/node.h"

#include <errno.h>
#include <string.h>

/* to[from][event]: the state after the event, plus one; 0: illegal. */
#define TO(state) ((uint8_t)((state) + 1))

static const uint8_t service_to[SERVICE_COUNT][NODE_EVENT_COUNT] = {
	[SERVICE_NONE] = {[NODE_ADD] = TO(SERVICE_IN), [NODE_JOIN] = TO(SERVICE_IN)},
	[SERVICE_IN] = {[NODE_JOIN] = TO(SERVICE_IN),
			[NODE_OFFLINE] = TO(SERVICE_OFFLINE),
			[NODE_DRAIN] = TO(SERVICE_CLOSING),
			[NODE_LEAVE] = TO(SERVICE_LEAVING),
			[NODE_GO] = TO(SERVICE_GONE)},
	[SERVICE_CLOSING] = {[NODE_JOIN] = TO(SERVICE_CLOSING),
			     [NODE_OFFLINE] = TO(SERVICE_OFFLINE),
			     [NODE_ONLINE] = TO(SERVICE_IN),
			     [NODE_DRAIN] = TO(SERVICE_CLOSING),
			     [NODE_CLOSE] = TO(SERVICE_DRAINED),
			     [NODE_LEAVE] = TO(SERVICE_LEAVING),
			     [NODE_GO] = TO(SERVICE_GONE)},
	[SERVICE_DRAINED] = {[NODE_JOIN] = TO(SERVICE_DRAINED),
			     [NODE_OFFLINE] = TO(SERVICE_OFFLINE),
			     [NODE_ONLINE] = TO(SERVICE_IN),
			     [NODE_DRAIN] = TO(SERVICE_CLOSING),
			     [NODE_LEAVE] = TO(SERVICE_LEAVING),
			     [NODE_GO] = TO(SERVICE_GONE)},
	[SERVICE_OFFLINE] = {[NODE_JOIN] = TO(SERVICE_OFFLINE),
			     [NODE_ONLINE] = TO(SERVICE_IN),
			     [NODE_LEAVE] = TO(SERVICE_LEAVING),
			     [NODE_GO] = TO(SERVICE_GONE)},
	[SERVICE_LEAVING] = {[NODE_GO] = TO(SERVICE_GONE)},
	[SERVICE_GONE] = {[NODE_ADD] = TO(SERVICE_IN), [NODE_JOIN] = TO(SERVICE_IN)},
};

static const uint8_t link_to[LINK_COUNT][NODE_EVENT_COUNT] = {
	[LINK_NONE] = {[NODE_JOIN] = TO(LINK_JOINED), [NODE_GO] = TO(LINK_NONE)},
	[LINK_JOINED] = {[NODE_JOIN] = TO(LINK_JOINED),
			 [NODE_CONNECT] = TO(LINK_CONNECTED),
			 [NODE_LOSE] = TO(LINK_LOST),
			 [NODE_GO] = TO(LINK_NONE)},
	[LINK_CONNECTED] = {[NODE_JOIN] = TO(LINK_JOINED),
			    [NODE_SILENCE] = TO(LINK_SILENT),
			    [NODE_LOSE] = TO(LINK_LOST),
			    [NODE_GO] = TO(LINK_NONE)},
	[LINK_SILENT] = {[NODE_JOIN] = TO(LINK_JOINED),
			 [NODE_CONNECT] = TO(LINK_CONNECTED),
			 [NODE_LOSE] = TO(LINK_LOST),
			 [NODE_GO] = TO(LINK_NONE)},
	[LINK_LOST] = {[NODE_JOIN] = TO(LINK_JOINED), [NODE_CONNECT] = TO(LINK_CONNECTED), [NODE_GO] = TO(LINK_NONE)},
};

/* The parts of the state that an event concerns; it must be legal in each. */
enum { SIDE_SERVICE = 1, SIDE_LINK = 2, SIDE_OWNER = 4 };

static const struct {
	const char *name;
	unsigned sides;
} events[NODE_EVENT_COUNT] = {
	[NODE_ADD] = {"added", SIDE_SERVICE},
	[NODE_JOIN] = {"joined", SIDE_SERVICE | SIDE_LINK},
	[NODE_CONNECT] = {"connected", SIDE_LINK},
	[NODE_SILENCE] = {"silent", SIDE_LINK},
	[NODE_LOSE] = {"lost", SIDE_LINK},
	[NODE_OFFLINE] = {"offline", SIDE_SERVICE},
	[NODE_ONLINE] = {"online", SIDE_SERVICE},
	[NODE_DRAIN] = {"drain", SIDE_SERVICE},
	[NODE_CLOSE] = {"drained", SIDE_SERVICE},
	[NODE_LEAVE] = {"leaving", SIDE_SERVICE},
	[NODE_GO] = {"gone", SIDE_SERVICE | SIDE_LINK},
	[NODE_FAIL] = {"unhealthy", 0},
	[NODE_HEAL] = {"healthy", 0},
	[NODE_ALTER] = {"altered", 0},
	[NODE_CLAIM] = {"claimed", SIDE_OWNER},
	[NODE_RELEASE] = {"released", SIDE_OWNER},
};

static const char *const services[SERVICE_COUNT] = {"none", "in", "closing", "drained", "offline", "leaving", "gone"};
static const char *const links[LINK_COUNT] = {"none", "joined", "connected", "silent", "lost"};

/* A node without an agent has no owner. */
static bool owner_may(const struct node_life *life, enum node_event_type type)
{
	return type == NODE_CLAIM ? node_joined(life) && !node_claimed(life) : node_claimed(life);
}

bool node_may(const struct node_life *life, enum node_event_type type)
{
	return (!(events[type].sides & SIDE_SERVICE) || service_to[life->service][type]) &&
	       (!(events[type].sides & SIDE_LINK) || link_to[life->link][type]) &&
	       (!(events[type].sides & SIDE_OWNER) || owner_may(life, type));
}

int node_apply(struct node_life *life, const struct node_event *event, struct err *err)
{
	if (!node_may(life, event->type))
		return err_set(err, -EINVAL, "event %s is not legal for a node that is %s, with an agent that is %s",
			       node_event_name(event->type), node_service_name(life->service),
			       node_link_name(life->link));
	if (event->type == NODE_CLAIM)
		life->claimed = event->time;
	else if (event->type == NODE_RELEASE || event->type == NODE_JOIN || event->type == NODE_GO)
		life->claimed = 0;
	if (!(events[event->type].sides & (SIDE_SERVICE | SIDE_LINK)))
		return 0;
	if (events[event->type].sides & SIDE_SERVICE)
		life->service = (uint8_t)(service_to[life->service][event->type] - 1);
	if (events[event->type].sides & SIDE_LINK)
		life->link = (uint8_t)(link_to[life->link][event->type] - 1);
	if (event->type == NODE_DRAIN)
		life->at = event->at;
	else if (life->service != SERVICE_CLOSING)
		life->at = 0;
	life->since = event->time;
	return 0;
}

static int word_find(const char *const *words, int n, const char *name)
{
	for (int i = 0; i < n; i++)
		if (strcmp(words[i], name) == 0)
			return i;
	return -1;
}

const char *node_event_name(enum node_event_type type)
{
	return type < NODE_EVENT_COUNT ? events[type].name : "?";
}

int node_event_named(const char *name)
{
	for (int i = 0; i < NODE_EVENT_COUNT; i++)
		if (strcmp(events[i].name, name) == 0)
			return i;
	return -1;
}

const char *node_service_name(enum node_service service)
{
	return service < SERVICE_COUNT ? services[service] : "?";
}

int node_service_named(const char *name)
{
	return word_find(services, SERVICE_COUNT, name);
}

const char *node_link_name(enum node_link link)
{
	return link < LINK_COUNT ? links[link] : "?";
}

int node_link_named(const char *name)
{
	return word_find(links, LINK_COUNT, name);
}
