/*
 * node.h - a node's state is the fold of its events.
 *
 * It has three parts, which change independently:
 *
 *	service: whether the administrator lets jobs start there
 *	          ADD, JOIN         DRAIN               CLOSE
 *	(nothing) ----------> IN <---------> CLOSING ----------> DRAINED
 *	                       ^  ONLINE
 *	          ADD, JOIN    |             GO             LEAVE
 *	                      GONE <-------------- LEAVING <------ any of the three, or OFFLINE
 *	OFFLINE leads from any of the three to OFFLINE, and ONLINE back to IN. GO is legal in every
 *	state but (nothing) and GONE.
 *
 *	link: whether the node's agent, if it has one, can be reached
 *	         JOIN          CONNECT               SILENCE           LOSE
 *	(none) --------> JOINED -------> CONNECTED <---------> SILENT -------> LOST
 *
 *	owner: whether a workstation's owner uses it; CLAIM sets it; RELEASE, JOIN and GO clear it
 *
 * node_apply() is the only code that changes them, live and at recovery. The scheduler's use of a
 * node follows from them (server/node/).
 */
#ifndef CORE_NODE_H
#define CORE_NODE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

enum node_service {
	SERVICE_NONE,	 /* no such node has ever existed */
	SERVICE_IN,	 /* jobs may start there */
	SERVICE_CLOSING, /* only jobs that end before `at` may start */
	SERVICE_DRAINED, /* `at` has passed */
	SERVICE_OFFLINE, /* taken out of service by an administrator */
	SERVICE_LEAVING, /* being removed; its last jobs are ending */
	SERVICE_GONE,	 /* removed, or no longer in the configuration */
	SERVICE_COUNT
};

enum node_link {
	LINK_NONE,	/* no agent: a node on the server's own machine */
	LINK_JOINED,	/* has not connected since it joined */
	LINK_CONNECTED, /* heard from recently */
	LINK_SILENT,	/* not heard from for too long: nothing new starts there */
	LINK_LOST,	/* its jobs were given up */
	LINK_COUNT
};

enum node_event_type {
	NODE_ADD,     /* appears in the configuration */
	NODE_JOIN,    /* a machine has joined as this node */
	NODE_CONNECT, /* its agent has connected, or is heard from again */
	NODE_SILENCE,
	NODE_LOSE,
	NODE_OFFLINE,
	NODE_ONLINE,
	NODE_DRAIN, /* `at`: when it is to be out of service */
	NODE_CLOSE, /* the DRAIN's `at` has passed */
	NODE_LEAVE,
	NODE_GO,
	/* its health check failed, or jobs could not be started there; the reason says which */
	NODE_FAIL,
	NODE_HEAL,
	NODE_ALTER, /* its resources were changed; the reason says how */
	NODE_CLAIM, /* its owner uses it, for the given reason: nothing new starts there */
	NODE_RELEASE,
	NODE_EVENT_COUNT
};

struct node_event {
	int64_t time;
	int64_t at; /* DRAIN only: instant */
	enum node_event_type type;
};

struct node_life {
	uint8_t service; /* enum node_service */
	uint8_t link;	 /* enum node_link */
	int64_t at;	 /* CLOSING only: instant; else 0 */
	int64_t since;	 /* instant of the last change of service or link */
	int64_t claimed; /* instant since which its owner claims it; 0: not claimed */
};

/* Returns true if an event of this type is legal. */
bool node_may(const struct node_life *life, enum node_event_type type);

/* Applies one event; -EINVAL, with the state unchanged, if it is not legal. */
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

/* Returns true if nothing new starts there because its agent is not heard from. */
static inline bool node_unheard(const struct node_life *life)
{
	return life->link == LINK_JOINED || life->link == LINK_SILENT || life->link == LINK_LOST;
}

/* Returns true if nothing new starts there because it is out of service. */
static inline bool node_withdrawn(const struct node_life *life)
{
	return life->service > SERVICE_CLOSING;
}

/* Convert between values and words; the _named() functions return -1 for an unknown word. */
const char *node_event_name(enum node_event_type type);
int node_event_named(const char *name);
const char *node_service_name(enum node_service service);
int node_service_named(const char *name);
const char *node_link_name(enum node_link link);
int node_link_named(const char *name);

#endif
