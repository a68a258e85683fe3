/*
 * peer.h - the protocol between the stations of a pool: writes and reads the heads of their frames
 * (net/link.h).
 *
 * A link has a direction: the station that connected is the *origin*, which sends its load and
 * places tasks; the other is the *host*, which runs them. Two stations therefore have two links.
 * Nothing read here is trusted: every field has bounds, and unknown keys are ignored.
 *
 *	origin -> host   hello, report, beat, pong, removed, renew, start, input, more, signal,
 *	                 forget
 *	host -> origin   welcome, ping, renewed, refused, began, took, out, done, lost
 *	machine that joins <-> authority   join, joined, refused
 *	daemon -> command on its machine   out, done, failed
 */
#ifndef STATION_PEER_H
#define STATION_PEER_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/schema.h"
#include "base/strbuf.h"
#include "station/place.h"

#define PEER_NAME_SIZE 64
#define PEER_WHERE_SIZE 300
#define PEER_ARCH_SIZE 16
#define PEER_MEMBERS_MOST 20000
#define PEER_WORDS_MOST 65536
#define PEER_PIECE (64u << 10) /* largest piece of input or output in one frame, bytes */

/* Heads with a schema are sent by link_record(), and read by record_load() (base/codec.h). */

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
extern const struct schema peer_report_frame;

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
extern const struct schema peer_done_frame;

/* The other frames about a task. */
struct peer_note {
	uint64_t id;
	int fd;	   /* output: 1 or 2 */
	int64_t n; /* bytes that were read or may be sent, or the number of a signal */
};
extern const struct schema peer_note_frame;

/* What a daemon reports to a command on its machine about one of its tasks. */
struct peer_outcome {
	int task, fd, status, attempts;
	int64_t cpu_ms;
	const char *where, *why; /* station; reason of a failure */
};
extern const struct schema peer_outcome_frame;

/* Frames by which a certificate is requested, granted or refused: when a machine joins, and when a
 * station renews its certificate. NULL: not in the frame. */
struct peer_grant {
	const char *id, *secret; /* a token */
	const char *name;	 /* name of the station that sends the frame */
	const char *csr, *certificate, *pool, *why;
	const json_t *members; /* {name: [where, join]} */
};
extern const struct schema peer_grant_frame;

/* A list of removed stations (removed.h), in a frame and on the disk. */
struct peer_removed {
	const char *text, *signature;
};
extern const struct schema peer_removed_frame;

/* Return the heads as text for link_send(); the caller frees it. */
char *peer_hello_write(const struct peer_hello *h);
char *peer_report_write(const struct peer_report *r);
/* Adds directory, arguments and environment, which may hold any bytes, to `ret_data`: the
 * frame's data. */
char *peer_start_write(const struct peer_start *s, struct strbuf *ret_data);

/* Return 0, or -EINVAL with a message. Pointers in *ret belong to the arena. */
int peer_hello_read(const json_t *head, struct arena *a, struct peer_hello *ret, struct err *err);
int peer_report_read(const json_t *head, struct peer_report *ret, struct err *err);
int peer_start_read(const json_t *head, const char *data, size_t n, struct arena *a, struct peer_start *ret,
		    struct err *err);
uint64_t peer_join_read(const json_t *v); /* returns 0 if it is missing or not a join number */

#endif
