/*
 * peer.h - the protocol between the stations of a pool: writes and reads the heads of their frames
 * (net/link.h).
 *
 * A link has a direction: the station that connected is the *origin*, which sends its load and
 * places tasks; the other is the *host*, which runs them. Two stations therefore have two links.
 * Nothing read here is trusted: every field has bounds, and unknown keys are ignored.
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
#define PEER_PIECE (64u << 10) /* largest piece of input or output in one frame, bytes */

/* A station's report about itself. `seq` grows with each report of one run of its daemon
 * (`run`); the newest counts, no matter by which way it arrived. */
struct peer_report {
	uint64_t run, seq;
	struct load load;
	int cpus;	/* tasks that it runs at a time */
	int64_t memory; /* KiB that a task may use */
	bool closed;	/* takes no tasks: its owner has paused it or is using it */
	char arch[PEER_ARCH_SIZE];
};

struct peer_member {
	char name[PEER_NAME_SIZE], where[PEER_WHERE_SIZE]; /* "10.0.0.2:7724" */
	uint64_t join; /* join number of its certificate: 1 has the authority; 0: not known */
};

/* The first frame of an origin. */
struct peer_hello {
	int port; /* where it accepts links itself */
	uint64_t run;
	/* the origin relies on its tasks having ended that long after it last answered a ping */
	int lease_ms;
	struct peer_member *members;
	int nmembers;
};

/* A task as it is sent. Ids belong to the origin; each names one attempt. */
struct peer_start {
	uint64_t id;
	int64_t priority; /* its user's; higher is earlier, where the policy has priorities */
	/* seconds from its start to the end of the job along the longest path; longer is earlier
	 * within a job, where the policy has priorities */
	int64_t path;
	uint64_t job;		  /* the origin's number of its job; 0: from an older origin */
	const char **argv, **env; /* NULL-terminated */
	int argc;		  /* number announced in the frame; writers need not set it */
	const char *dir;
	int64_t memory; /* KiB; 0: unlimited */
};

struct peer_done {
	uint64_t id;
	int status; /* status of wait() */
	int64_t cpu_ms;
};

/* Return the heads as text for link_send(); the caller frees it. */
char *peer_hello_write(const struct peer_hello *h);
char *peer_report_write(const struct peer_report *r);
char *peer_done_write(const struct peer_done *d);
/* Adds directory, arguments and environment, which may hold any bytes, to `ret_data`: the
 * frame's data. */
char *peer_start_write(const struct peer_start *s, struct strbuf *ret_data);

/* Return 0, or -EINVAL with a message. Pointers in *ret belong to the arena. */
int peer_hello_read(const json_t *head, struct arena *a, struct peer_hello *ret, struct err *err);
int peer_report_read(const json_t *head, struct peer_report *ret, struct err *err);
int peer_start_read(const json_t *head, const char *data, size_t n, struct arena *a, struct peer_start *ret,
		    struct err *err);
uint64_t peer_join_read(const json_t *v); /* returns 0 if it is missing or not a join number */
int peer_done_read(const json_t *head, struct peer_done *ret, struct err *err);

#endif
