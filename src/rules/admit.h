/*
 * admit.h - whether a job may come in, and which queue takes it: access, what it may ask for, how many there may be, routing, and defaults.
 *
 * Nothing is looked up here. The caller knows who submits, from which host and in which groups, which queues there are and how many jobs they have, and gives
 * it as facts. A refusal is a sentence that names the queue or the server, the attribute, and what it allows.
 */
#ifndef RULES_ADMIT_H
#define RULES_ADMIT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "core/reqtext.h"
#include "rules/attr.h"

#define ADMIT_DEPTH 8	/* routing queues behind each other */
#define ADMIT_TRIES 256 /* queues that are tried for one job */

struct admit_queue {
	const char *name; /* the caller's, as the attributes are */
	const struct attrs *attrs;
	bool elsewhere; /* of another server, which has its own rules: only this server's are applied */
};

/* The site: the server's attributes, and how its queues and jobs are found. */
struct admit_site {
	const struct attrs *attrs;
	/* "QUEUE", or "QUEUE@SERVER" of route_destinations. False: there is no such queue. */
	bool (*queue)(void *context, const char *name, struct admit_queue *ret);
	/* Jobs that wait or run, in a queue (NULL: all), of a user (NULL: all). */
	int64_t (*jobs)(void *context, const char *queue, const char *user);
	void *context;
};

/* Whose job it is, and from where. What is NULL is not known, and not judged. */
struct admit_party {
	const char *user;
	const char *host;
	const char *const *groups; /* their names, NULL at the end */
};

/* Returns 0 if the nodes here could hold a job in the queue, or why not. */
typedef int (*admit_fits)(void *context, const char *queue, const struct reqtext *text, struct err *err);

struct admit_job {
	struct admit_party by;
	const struct reqtext *text; /* what it asks for, without defaults */
	int64_t count;		    /* elements of an array, else 1 */
	bool array, interactive;
	const char *from; /* it is moved: the queue where it counts already; NULL: it is new */
	bool granted; /* a coordinator of the queue that is named moves it there: the queue's lists of who may submit do not count */
	const char *stays;	    /* why it can't be handed over to another server; NULL: it can */
	const char *const *refused; /* names of queues elsewhere that did not accept it, NULL at the end; NULL: none */
	admit_fits fits;	    /* asked of the queues that a routing queue offers; NULL: all fit */
	void *context;		    /* for fits */
	bool exempt; /* an operator moves it: the queue that is named takes it whatever its limits, unless it is a routing queue */
};

struct admitted {
	struct admit_queue queue; /* which takes it */
	struct reqtext text;	  /* with what the queues on its way and the server add */
};

/* A routing queue: its jobs are passed on, and none runs there. */
bool admit_routes(const struct attrs *queue);

/* Refuses (CODE_REFUSED) a deadline that a job could not meet even on an empty cluster: it starts at `from` at the earliest, and takes up to `takes` seconds from then on. */
int admit_deadline(int64_t deadline, int64_t from, int64_t takes, struct err *err);

/* The queue that takes a job which names `queue`. A routing queue passes it on to the first of its destinations that accepts it; one that is stopped keeps it. What a job does not ask for
 * it gets from the queue that takes it, else from the routing queues on its way there, the last first, else from the server (resources_default).
 *
 * -ENOENT: there is no such queue; -EINVAL: a default can't be read, or the array has too many elements; -EDQUOT: it is refused (CODE_REFUSED). */
int job_admit(const struct admit_site *site, const char *queue, const struct admit_job *job, struct arena *arena,
	      struct admitted *ret, struct err *err);

/* Whether a job may ask for that in a queue where it is already (NULL: in none): resources_max and resources_min of the server and the queue, and of an
 * interactive job interactive_walltime. `only`: the resource that is judged; NULL: all. -EDQUOT. */
int admit_request(const struct admit_site *site, const char *queue, const struct reqtext *text, bool interactive,
		  const char *only, struct err *err);

/* What is not asked for is added by resources_default of a queue (may be NULL), else of the server; an interactive job gets no more than interactive_walltime. */
int admit_defaults(const struct attrs *queue, const struct attrs *server, bool interactive, struct reqtext *text,
		   struct arena *arena, struct err *err);

#endif
