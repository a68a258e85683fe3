/*
 * session_internal.h - the connection to the server, shared by session.c, which makes and ends it,
 * and session_link.c, which uses it.
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

#define PINGS 16 /* maximum pings without an answer */

enum stage { AWAY, CALLS, GREETS, LISTENS };

struct session {
	struct agent *a;
	enum stage stage;
	struct link *link;
	char where[512];	     /* server that it calls or is connected to */
	char leader[512];	     /* server that it was redirected to, or "" */
	size_t next;		     /* index of the next server to call */
	size_t failures;	     /* failed calls since the last welcome */
	uint64_t left;		     /* uv_now() when the last server was lost, or at the start */
	int64_t pause;		     /* ms that a server has requested; -1: none */
	int heartbeat;		     /* seconds */
	uint64_t n;		     /* number of the last ping */
	int64_t asked[PINGS], hello; /* CLOCK_BOOTTIME, microseconds: when they were sent */
	/* AWAY: next call; GREETS: time limit of the welcome; LISTENS: heartbeat */
	uv_timer_t timer;
	name_list waiting; /* frames to send after the welcome, in GREETS */
	name_list said;	   /* reasons for the lost connection, logged since said_at */
	uint64_t said_at;  /* uv_now() */
	struct rng rng;
	bool stopping;
};

/* session_link.c: reports that this host is up, and its state. */
void session_ping(struct session *s);

#endif
