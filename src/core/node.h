/*
 * node.h - a node's life is the fold of its events.
 *
 * It has three sides, which change independently of each other:
 *
 *	service: whether jobs may start there, by the administrator's will
 *	          ADD, JOIN         DRAIN               CLOSE
 *	(nothing) ----------> IN <---------> CLOSING ----------> DRAINED	OFFLINE from any of the three, ONLINE back
 *	                       ^  ONLINE                                       to IN
 *	          ADD, JOIN    |                  LEAVE            GO
 *	                      GONE <----------------------- LEAVING <----- from any of the four
 *
 *	link: of a node with an agent, whether it is heard
 *	         JOIN          CONNECT               SILENCE           LOSE
 *	(none) --------> JOINED -------> CONNECTED <---------> SILENT -------> LOST
 *
 *	owner: of a workstation, whether its owner has it; claimed by CLAIM, free again by RELEASE, and whenever the machine joins or goes
 *
 * node_apply() is the only code that changes them, live and at recovery. What the scheduler does with a node follows from them
 * (server/node/).
 */
#ifndef CORE_NODE_H
#define CORE_NODE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

enum node_service {
	SERVICE_NONE,	 /* there never was such a node */
	SERVICE_IN,	 /* jobs may start there */
	SERVICE_CLOSING, /* jobs that end before `at` may */
	SERVICE_DRAINED, /* that time has come */
	SERVICE_OFFLINE, /* by an administrator */
	SERVICE_LEAVING, /* it is being removed: its last jobs end */
	SERVICE_GONE,	 /* it was removed, or is not in the configuration any more */
	SERVICE_COUNT
};

enum node_link {
	LINK_NONE,	/* it has no agent: it is on the server's own machine */
	LINK_JOINED,	/* it has never connected since it joined */
	LINK_CONNECTED, /* it is heard, or was a moment ago */
	LINK_SILENT,	/* it was not heard for too long: nothing new is started there */
	LINK_LOST,	/* its jobs were given up */
	LINK_COUNT
};

enum node_event_type {
	NODE_ADD,     /* it is in the configuration */
	NODE_JOIN,    /* a machine has joined as this node */
	NODE_CONNECT, /* its agent has connected, or is heard again */
	NODE_SILENCE,
	NODE_LOSE,
	NODE_OFFLINE,
	NODE_ONLINE,
	NODE_DRAIN, /* `at`: when it is to be out of service */
	NODE_CLOSE, /* that time has come */
	NODE_LEAVE,
	NODE_GO,
	NODE_FAIL, /* its health check failed, or jobs could not be started there: the reason says which */
	NODE_HEAL,
	NODE_ALTER, /* what it offers was changed: the reason says what */
	NODE_CLAIM, /* its owner has it, for the reason: nothing new starts there */
	NODE_RELEASE,
	NODE_EVENT_COUNT
};

struct node_event {
	int64_t time;
	int64_t at; /* DRAIN */
	enum node_event_type type;
};

struct node_life {
	uint8_t service; /* enum node_service */
	uint8_t link;	 /* enum node_link */
	int64_t at;	 /* CLOSING: instant; else 0 */
	int64_t since;	 /* instant of the last change of service or link */
	int64_t claimed; /* by its owner since that instant; 0: it is not */
};

/* Whether an event of this type is legal. */
bool node_may(const struct node_life *life, enum node_event_type type);

/* Applies one event. -EINVAL, with the life untouched, when it is not legal. */
int node_apply(struct node_life *life, const struct node_event *event, struct err *err);

static inline bool node_joined(const struct node_life *life)
{
	return life->link != LINK_NONE;
}

static inline bool node_leaving(const struct node_life *life)
{
	return life->service == SERVICE_LEAVING;
}

static inline bool node_claimed(const struct node_life *life)
{
	return life->claimed != 0;
}

static inline bool node_gone(const struct node_life *life)
{
	return life->service == SERVICE_GONE;
}

/* Nothing new is started there since its agent is not heard. */
static inline bool node_unheard(const struct node_life *life)
{
	return life->link == LINK_JOINED || life->link == LINK_SILENT || life->link == LINK_LOST;
}

/* Nothing new is started there since somebody wants that. */
static inline bool node_withdrawn(const struct node_life *life)
{
	return life->service > SERVICE_CLOSING;
}

/* In a word each; -1: no such word. */
const char *node_event_name(enum node_event_type type);
int node_event_named(const char *name);
const char *node_service_name(enum node_service service);
int node_service_named(const char *name);
const char *node_link_name(enum node_link link);
int node_link_named(const char *name);

#endif
