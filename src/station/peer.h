/*
 * peer.h - what the stations of a pool say to each other: the heads of their frames (net/link.h), written and read.
 *
 * A link has a direction: the station that connected is the *origin*, which sends its load and places tasks; the other is the *host*, which runs them. Two stations
 * therefore have two links. Nothing read here is trusted: every field has bounds, and unknown keys are ignored.
 *
 *	origin -> host   hello, report, beat, pong, removed, renew, start, input, signal, forget
 *	host -> origin   welcome, ping, renewed, refused, began, out, done, lost
 */
#ifndef STATION_PEER_H
#define STATION_PEER_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/strbuf.h"
#include "station/place.h"

#define PEER_NAME_SIZE 64
#define PEER_WHERE_SIZE 300
#define PEER_ARCH_SIZE 16
#define PEER_MEMBERS_MOST 20000
#define PEER_WORDS_MOST 65536
#define PEER_PIECE (64u << 10) /* of input or output in one frame */

/* What a station says of itself. `seq` grows with each report of one run of its daemon (`run`); the newest counts, whichever way it came. */
struct peer_report {
	uint64_t run, seq;
	struct load load;
	int cpus;	/* tasks that it runs at a time */
	int64_t memory; /* KiB that a task may use */
	bool closed;	/* it takes no tasks: its owner has paused it, or is there */
	char arch[PEER_ARCH_SIZE];
};

struct peer_member {
	char name[PEER_NAME_SIZE], where[PEER_WHERE_SIZE]; /* "10.0.0.2:7724" */
	uint64_t join;					   /* of its certificate: 1 has the authority; 0: not known */
};

/* The first frame of an origin. */
struct peer_hello {
	int port; /* at which it takes links itself */
	uint64_t run;
	int lease_ms; /* it counts on its tasks being ended that long after it last answered a ping */
	struct peer_member *members;
	int nmembers;
};

/* A task as it travels. Ids are the origin's, and name one attempt. */
struct peer_start {
	uint64_t id;
	int64_t priority;	  /* the higher, the earlier, where the policy has priorities */
	const char **argv, **env; /* end with NULL */
	int argc;		  /* as announced on the wire; writers need not set it */
	const char *dir;
	int64_t memory; /* KiB; 0: not limited */
};

struct peer_done {
	uint64_t id;
	int status; /* as wait() has it */
	int64_t cpu_ms;
};

/* Heads as text for link_send(); the caller's. */
char *peer_hello_write(const struct peer_hello *h);
char *peer_report_write(const struct peer_report *r);
char *peer_done_write(const struct peer_done *d);
/* Directory, arguments and environment, which may hold any bytes, are the frame's data: added to `ret_data`. */
char *peer_start_write(const struct peer_start *s, struct strbuf *ret_data);

/* 0 or -EINVAL and a sentence. What they point to is the arena's. */
int peer_hello_read(const json_t *head, struct arena *a, struct peer_hello *ret, struct err *err);
int peer_report_read(const json_t *head, struct peer_report *ret, struct err *err);
int peer_start_read(const json_t *head, const char *data, size_t n, struct arena *a, struct peer_start *ret,
		    struct err *err);
uint64_t peer_join_read(const json_t *v); /* 0: it is no join, or missing */
int peer_done_read(const json_t *head, struct peer_done *ret, struct err *err);

#endif
