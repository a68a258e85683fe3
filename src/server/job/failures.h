/*
 * failures.h - what happens when jobs can't be started or are lost: which job or node is blamed,
 * and when to try again.
 *
 * A failure belongs to the pair of job and node: the job avoids that node for a while and is tried
 * elsewhere at once. When no other node could hold it, it waits for a growing pause and may then
 * use all nodes again; after max_start_failures such rounds it is held. A lost job waits as well.
 *
 * A node that fails several jobs is taken out of service and tried again after a growing pause,
 * until a job has run there. Jobs that also fail elsewhere don't count against a node unless they
 * are eventually started somewhere.
 *
 * The consequences for the job are decided once, when the failure happens, and stored in the
 * payload of its event (struct retry), which entry_apply() folds. A node's health is in its record.
 */
#ifndef SERVER_FAILURES_H
#define SERVER_FAILURES_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/json.h"
#include "base/vec.h"

struct entry;
struct err;
struct server;
struct attempt;
struct node_info;

/* A node that a job avoids. */
struct avoidance {
	uint32_t node;
	uint32_t count; /* number of failures there */
	int64_t until;	/* instant */
};

/* Failures of a job; NULL in its entry: it was never lost and could always be started. */
struct job_failures {
	uint32_t total;	  /* failures since it was submitted or released */
	uint32_t rounds;  /* rounds after which no node was left to try */
	uint32_t unclear; /* losses, and failures that may be its own fault */
	int64_t until;	  /* instant before which it is not tried; 0: none */
	VEC(struct avoidance) avoids;
};

struct failure {
	int64_t node;	    /* NODE_ANY: no node is to blame */
	const char *reason; /* a sentence; NULL: none was given */
	bool unclear;	    /* the cause may be the job or its user as well as the node */
	bool lost;	    /* it was running, and its processes were lost */
};

/* Consequences of a failure for the job; part of its event's payload. */
struct retry {
	/* see struct job_failures; total 0: all failures are forgotten */
	uint32_t total, rounds, unclear;
	int64_t until; /* instant before which it is not tried; 0: none */
	/* no node was left to try; after the pause it may use all of them */
	bool nowhere;
	/* failures on `node`; 0: there is no further node to avoid */
	uint32_t count;
	uint32_t node;
	int64_t avoid; /* instant until which it avoids `node` */
};

/* ---- jobs ---- */

/* Decides the consequences of a failure. Returns true if the job is to be held. */
bool failures_decide(struct server *s, uint32_t id, const struct failure *f, struct retry *ret);
void failures_comment(const struct failure *f, const struct retry *r, bool held, const char *reason,
		      struct strbuf *out);
/* Folds the failures of an event at `time`, for entry_apply(). */
void failures_apply(const struct server *s, struct entry *e, const struct retry *r, int64_t time);
/* Write and read the member "failures" of a payload. -EINVAL. */
void failures_write(const struct server *s, const struct retry *r, struct json *j);
int failures_read(const struct server *s, const json_t *o, struct retry *ret, struct err *err);
/* Finds a node that a job avoids; NULL: it does not avoid that node. */
struct avoidance *avoidance_find(struct job_failures *f, uint32_t node);
void failures_free(struct job_failures *f);
/* Returns true if the server holds the job because it could not be started, or was lost. */
bool held_by_failures(const struct entry *e);
/* Reports the nodes a waiting job avoids to the scheduler. Returns true if the job has to wait
 * altogether (BLOCK_RETRY). */
bool failures_update(struct server *s, uint32_t id);
void failures_due(struct server *s); /* ends the pauses of jobs and nodes that are over */
int64_t failures_next(const struct server *s);
/* Appends "it avoids node n1 until ..., where it could not be started", to explain why a job waits;
 * nothing if it avoids none. */
void failures_text(const struct server *s, uint32_t id, struct strbuf *out);

/* ---- nodes ---- */

/* Returns the attempt's first node on a host. */
int64_t failures_node(const struct server *s, const struct attempt *t, const char *host);
void failures_blame(struct server *s, uint32_t id, const struct failure *f);
/* Counts the earlier failures of a started job against their nodes: they were not its own fault. */
void failures_started(struct server *s, uint32_t id);
/* Forgets the failures of nodes on which an attempt, begun after them, ended with a result. */
void failures_ran(struct server *s, const struct attempt *t);
/* Forgets the failures of a node that an administrator has declared healthy. */
void health_forget(struct server *s, uint32_t node);
/* Appends why a node is out of service, and until when. */
void node_failures_text(const struct node_info *n, struct strbuf *out);

#endif
