/*
 * session_internal.h - the connection to the server, for session.c, which makes and ends it, and session_link.c, which uses it.
 */
#ifndef AGENT_SESSION_INTERNAL_H
#define AGENT_SESSION_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "base/names.h"
#include "base/rng.h"

struct agent;
struct link;

#define PINGS 16 /* that may be under way */

enum stage { AWAY, CALLS, GREETS, LISTENS };

struct session {
	struct agent *a;
	enum stage stage;
	struct link *link;
	char where[512];	     /* whom it calls, or talks to */
	char leader[512];	     /* whom it was sent to, or "" */
	size_t next;		     /* of the servers */
	size_t failures;	     /* since the last welcome */
	uint64_t left;		     /* uv_now() when the last server was lost, or this began */
	int64_t pause;		     /* ms that a server has asked for; -1: none did */
	int heartbeat;		     /* seconds */
	uint64_t n;		     /* of the last ping */
	int64_t asked[PINGS], hello; /* CLOCK_BOOTTIME, microseconds: when they were sent */
	uv_timer_t timer;	     /* AWAY: the next call; GREETS: the welcome's limit; LISTENS: the heartbeat */
	name_list waiting;	     /* frames, in GREETS */
	name_list said;		     /* why there is no connection, as the log has it since said_at */
	uint64_t said_at;	     /* uv_now() */
	struct rng rng;
	bool stopping;
};

/* session_link.c: tells that this host is there, and how it is. */
void session_ping(struct session *s);

#endif
