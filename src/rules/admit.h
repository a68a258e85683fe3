/*
 * admit.h - decides whether a job is accepted, and by which queue: access, limits on requests and
 * on numbers of jobs, routing, and defaults.
 *
 * Nothing is looked up here. The caller supplies the facts: the user, host and groups, the queues
 * and how many jobs they have. A refusal names the queue or the server, the attribute, and what it
 * allows.
 */
#ifndef RULES_ADMIT_H
#define RULES_ADMIT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "core/reqtext.h"
#include "rules/attr.h"

#define ADMIT_DEPTH 8	/* maximum routing queues in a chain */
#define ADMIT_TRIES 256 /* maximum queues tried for one job */

struct admit_queue {
	const char *name; /* borrowed from the caller, like `attrs` */
	const struct attrs *attrs;
	/* belongs to another server, which has its own rules; only this server's are applied
	 * here */
	bool elsewhere;
};

/* The server's attributes, and callbacks that find its queues and jobs. */
struct admit_site {
	const struct attrs *attrs;
	/* Looks up "QUEUE", or "QUEUE@SERVER" from route_destinations. Returns false if there is
	 * none. */
	bool (*queue)(void *context, const char *name, struct admit_queue *ret);
	/* Counts jobs that wait or run, in a queue (NULL: all), of a user (NULL: all). */
	int64_t (*jobs)(void *context, const char *queue, const char *user);
	void *context;
};

/* The submitter and host. NULL members are unknown and not checked. */
struct admit_party {
	const char *user;
	const char *host;
	const char *const *groups; /* group names, NULL-terminated */
};

/* Returns 0 if the local nodes could hold a job in the queue; otherwise an error that says why
 * not. */
typedef int (*admit_fits)(void *context, const char *queue, const struct reqtext *text, struct err *err);

struct admit_job {
	struct admit_party by;
	const struct reqtext *text; /* request without defaults */
	int64_t count;		    /* number of elements of an array, else 1 */
	bool array, interactive;
	const char *from; /* for a move: the queue that already counts the job; NULL: a new job */
	/* a coordinator of the named queue moves the job there: ignore the queue's lists of who
	 * may submit */
	bool granted;
	const char *stays; /* reason why the job cannot be sent to another server; NULL: it can */
	/* NULL-terminated names of remote queues that refused the job; NULL: none */
	const char *const *refused;
	admit_fits fits; /* called for queues that a routing queue offers; NULL: all fit */
	void *context;	 /* argument for `fits` */
	/* an operator moves the job: the named queue takes it whatever its limits, unless it is
	 * a routing queue */
	bool exempt;
};

struct admitted {
	struct admit_queue queue; /* queue that takes the job */
	struct reqtext text;	  /* request with the defaults of the queues passed and of the server */
};

/* Returns true for a routing queue: it passes its jobs on and runs none. */
bool admit_routes(const struct attrs *queue);

/* Refuses (CODE_REFUSED) a deadline that a job could not meet even on an empty cluster: the job
 * starts at `from` at the earliest and then takes up to `takes` seconds. */
int admit_deadline(int64_t deadline, int64_t from, int64_t takes, struct err *err);

/* Finds the queue that takes a job submitted to `queue`. A routing queue passes the job on to the
 * first of its destinations that accepts it; a stopped one keeps it. Missing resources are filled
 * in from the queue that takes the job, then from the routing queues passed, last first, then from
 * the server (resources_default).
 *
 * -ENOENT: no such queue; -EINVAL: a default cannot be parsed, or the array has too many
 * elements; -EDQUOT: refused (CODE_REFUSED). */
int job_admit(const struct admit_site *site, const char *queue, const struct admit_job *job, struct arena *arena,
	      struct admitted *ret, struct err *err);

/* Checks a request against resources_max and resources_min of the server and of the queue that
 * the job is in (NULL: none), and against interactive_walltime for an interactive job. `only`:
 * the one resource to check; NULL: all. -EDQUOT if refused. */
int admit_request(const struct admit_site *site, const char *queue, const struct reqtext *text, bool interactive,
		  const char *only, struct err *err);

/* Fills in missing resources from resources_default of a queue (may be NULL), then of the
 * server. An interactive job gets at most interactive_walltime. */
int admit_defaults(const struct attrs *queue, const struct attrs *server, bool interactive, struct reqtext *text,
		   struct arena *arena, struct err *err);

#endif
