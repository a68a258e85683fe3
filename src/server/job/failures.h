/*
 * failures.h - what follows when jobs can't be started, or are lost: whom it is blamed on, and when it is tried again.
 *
 * A failure belongs to the pair of job and node: the job avoids that node for a while and is tried elsewhere at once. When no other node could hold it, it
 * waits for a growing pause and may use all nodes again; after max_start_failures such rounds it is held. A job that was lost waits as well.
 *
 * A node that fails several jobs is taken out of service, and tried again after a growing pause, until a job has run there. Jobs that fail elsewhere, too, don't
 * count against a node unless they are started somewhere in the end.
 *
 * What a failure means for the job is decided once, when it happens, and is in the payload of its event (struct retry), which entry_apply() folds. A node's
 * health is in its record.
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
	uint32_t count; /* failures there */
	int64_t until;	/* instant */
};

/* Of a job that could not be started, or was lost; NULL in its entry: it never happened. */
struct job_failures {
	uint32_t total;	  /* since it was submitted or released */
	uint32_t rounds;  /* after which no node was left to try */
	uint32_t unclear; /* that may be its own fault, and losses */
	int64_t until;	  /* instant before which it is not tried; 0: none */
	VEC(struct avoidance) avoids;
};

struct failure {
	int64_t node;	    /* NODE_ANY: none is to blame */
	const char *reason; /* a sentence; NULL: none was given */
	bool unclear;	    /* the cause may be the job or its user as well as the node */
	bool lost;	    /* it ran, and its processes were lost */
};

/* What follows from a failure, for the job: a part of its event's payload. */
struct retry {
	uint32_t total, rounds, unclear; /* as in struct job_failures; total 0: all is forgotten */
	int64_t until;			 /* instant before which it is not tried; 0: none */
	bool nowhere;			 /* no node was left to try: it may use all of them then */
	uint32_t count;			 /* failures on `node`; 0: it avoids no further one */
	uint32_t node;
	int64_t avoid; /* instant until which it avoids that */
};

/* ---- jobs ---- */

/* Decides what follows. True: the job is to be held. */
bool failures_decide(struct server *s, uint32_t id, const struct failure *f, struct retry *ret);
void failures_comment(const struct failure *f, const struct retry *r, bool held, const char *reason,
		      struct strbuf *out);
/* Folds the event of that time, for entry_apply(). */
void failures_apply(const struct server *s, struct entry *e, const struct retry *r, int64_t time);
/* Writes the member "failures" of a payload; reads its value. -EINVAL. */
void failures_write(const struct server *s, const struct retry *r, struct json *j);
int failures_read(const struct server *s, const json_t *o, struct retry *ret, struct err *err);
struct avoidance *avoidance_find(struct job_failures *f, uint32_t node); /* NULL: it does not avoid that node */
void failures_free(struct job_failures *f);
/* Lets the scheduler know which nodes a waiting job avoids now. True: it has to wait altogether (BLOCK_RETRY). */
bool failures_update(struct server *s, uint32_t id);
void failures_due(struct server *s); /* pauses of jobs and nodes that are over */
int64_t failures_next(const struct server *s);
/* "it avoids node n1 until ..., where it could not be started", for who asks why it waits; nothing if it avoids none. */
void failures_text(const struct server *s, uint32_t id, struct strbuf *out);

/* ---- nodes ---- */

int64_t failures_node(const struct server *s, const struct attempt *t, const char *host); /* the first one on a host */
void failures_blame(struct server *s, uint32_t id, const struct failure *f);
void failures_started(struct server *s, uint32_t id);			/* so what failed before was not its fault */
void failures_ran(struct server *s, const struct attempt *t);		/* it has ended with a result */
void health_forget(struct server *s, uint32_t node);			/* an administrator says that it is well */
void node_failures_text(const struct node_info *n, struct strbuf *out); /* why, and until when */

#endif
