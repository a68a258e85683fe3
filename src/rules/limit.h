/*
 * limit.h - limits on what runs at once: in total, per user, group, account, array, queue or QoS,
 * and per user in a queue.
 *
 * A limit is a rule (maximum jobs, CPUs, memory) and a counter for each party that it counts. Jobs
 * of the same user, group, account, queue, QoS and array count against the same limits: they form
 * one *class*, and job.limits is its number. An account also counts what the accounts below it run.
 *
 * A job counts from the moment it gets a recorded slot, by a start or a promised reservation
 * (ALLOCATE), until it loses the slot or ends. A job that merely waits does not count, however long
 * it waits, so a wide job does not keep a narrow one behind the same limit from running. Slots are
 * events, so the same jobs hold them after a restart.
 *
 * CPU-seconds are those that a party's jobs still have ahead: CPUs x walltime for a job with a
 * slot, CPUs x remaining walltime for a running one. They decrease as time passes (limits_advance).
 *
 * Jobs whose limit is reached wait in *lines*, one per class and request shape, each line behind
 * one counter that has no room for it. When that counter falls, as many jobs as may start leave the
 * line, by rank: if the first of a line does not fit, neither do the others, and the scheduler's
 * order decides between lines. Lines behind other counters are not examined.
 *
 * A limit may be soft: it works like any other, but when nothing else can use what is free, jobs
 * held back only by soft limits may start (limits_yield).
 */
#ifndef RULES_LIMIT_H
#define RULES_LIMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/trial.h"
#include "core/cluster.h"

#define LIMITS_NONE 0 /* class of jobs without limits */
/* Limit of a user, group, account or QoS that uses the rule with `of` 0. */
#define LIMIT_INHERIT -2

enum limit_kind {
	LIMIT_ALL,
	LIMIT_USER, /* the same limit for each user */
	LIMIT_ARRAY,
	LIMIT_QUEUE,
	LIMIT_QUEUE_USER,
	/* limit of one user, or with `of` 0 of all users without their own; the next three work
	 * alike */
	LIMIT_OF_USER,
	LIMIT_OF_GROUP,
	LIMIT_OF_ACCOUNT,
	LIMIT_OF_QOS,
	LIMIT_KINDS
};

enum limit_measure {
	LIMIT_JOBS,
	LIMIT_CPUS,
	LIMIT_MEMORY,
	LIMIT_CPU_SECONDS,
	/* accounts only: credits held by jobs, one measure per unit (rules/credit.h) */
	LIMIT_CREDIT,
	LIMIT_MEASURES = LIMIT_CREDIT + 4
};

/* A job's contribution to each measure; memory in KiB. */
struct limit_need {
	int64_t v[LIMIT_MEASURES];
};

/* Returns the need of a job that is charged for `cpus` CPUs (core/cluster.h) and may run for its
 * walltime; its account pays for `length` seconds of `paid`. */
static inline struct limit_need limit_need_of(const struct request *r, int64_t cpus, int64_t walltime,
					      const struct charge *paid, int64_t length)
{
	int64_t work = r->divided ? r->total.v[RES_SHARE] * walltime / SHARE_CPU : cpus * walltime;

	return (struct limit_need){{1, cpus, r->total.v[RES_MEM], work, paid->cpus * length, paid->gpus * length,
				    paid->memory * length, paid->nodes * length}};
}

/* Returns the need of an existing job. */
static inline struct limit_need limit_need_job(const struct cluster *c, const struct job *job, int64_t cpus)
{
	struct charge paid = cluster_paid_for(c, job, cpus);

	return limit_need_of(cluster_job_request(c, job), cpus, job->walltime, &paid, cluster_paid(c, job));
}

/* The parties that a job counts for, as numbers; 0: none. */
struct limit_party {
	uint32_t user, queue;
	uint64_t array;
	uint32_t group, account, qos;
};

struct limits;
struct limits *limits_create(void);
struct limits *limits_clone(const struct limits *l);
void limits_destroy(struct limits *l);

/* Sets the most that may run at once; negative: unlimited, or LIMIT_INHERIT. `of`: number of the
 * array, queue, user, group, account or QoS; else 0. */
void limits_cap(struct limits *l, enum limit_kind kind, uint64_t of, enum limit_measure measure, int64_t most);
/* Sets a limit on jobs, like limits_cap(). */
void limits_set(struct limits *l, enum limit_kind kind, uint64_t of, int64_t most);
/* Sets a soft limit, like limits_cap(). */
void limits_soft(struct limits *l, enum limit_kind kind, uint64_t of, enum limit_measure measure, int64_t most);
/* Sets how much an account's credits pay for; negative: any amount. Lowering it does not affect
 * jobs that wait. */
void limits_credit(struct limits *l, uint32_t account, enum limit_measure measure, int64_t most);
/* Exempts jobs of a QoS from all limits except their array's and credits. They still count. */
void limits_exempt(struct limits *l, uint32_t qos, bool exempt);
/* Makes an account part of another; 0: of none. */
void limits_parent(struct limits *l, uint32_t account, uint32_t parent);

/* Returns the class of a party, creating it if new. */
uint32_t limits_class(struct limits *l, const struct limit_party *party);
/* Entries made only to test whether a job would be accepted, or when it would start
 * (base/trial.h). */
struct limits_trial {
	trial_vec rules, counters, classes;
};
/* Makes a trial hold everything that limits_class() and limits_admit() create from now on; NULL:
 * new entries are permanent. */
void limits_try(struct limits *l, struct limits_trial *t);
/* Ends a trial and empties it. No job may have a class that it gives back. */
void limits_trial_end(struct limits *l, struct limits_trial *t, bool keep);
/* Forgets an array and its class. None of its jobs may count or wait. */
void limits_drop_array(struct limits *l, const struct limit_party *party);

/* Returns false if nothing is limited; the functions below then answer accordingly. */
bool limits_any(const struct limits *l);
/* Returns how many more such jobs of a class may start now; INT64_MAX: any number. */
int64_t limits_room(const struct limits *l, uint32_t class, const struct limit_need *need);
/* Like limits_room(), but ignores soft limits. */
int64_t limits_room_hard(const struct limits *l, uint32_t class, const struct limit_need *need);
/* Returns true if at least one may start. Fast: called for each job of a long queue. */
bool limits_allow(const struct limits *l, uint32_t class, const struct limit_need *need);
bool limits_allow_hard(const struct limits *l, uint32_t class, const struct limit_need *need);

struct limit_reached {
	enum limit_kind kind;
	enum limit_measure measure;
	uint64_t of; /* owner of the limit; for an account possibly a parent */
	int64_t most, used;
	bool soft; /* a soft limit; the hard ones leave room */
};
/* Finds the limit that leaves no room for such a job of a class; returns false if one may start. */
bool limits_reached(const struct limits *l, uint32_t class, const struct limit_need *need, struct limit_reached *ret);
/* Refuses a submission that limits_exceeded() finds. Error code REFUSED, with the limit and the
 * value. */
int limits_admit(struct limits *l, const struct limit_party *party, const struct limit_need *need, struct err *err);
const char *limit_whose(enum limit_kind kind); /* phrase for messages: "of its user" */
/* Iterates over the limits that leave no room, hard or soft; *at must be 0 at first. Returns
 * false at the end. */
bool limits_each(const struct limits *l, uint32_t class, const struct limit_need *need, uint32_t *at,
		 struct limit_reached *ret);
/* Returns how much of a measure a party uses now. */
int64_t limits_used(const struct limits *l, enum limit_kind kind, uint64_t of, enum limit_measure measure);

/* Records that a job gets a slot, or gives it back. It gives back what it took, whatever it
 * requests by then. */
void limits_take(struct limits *l, uint32_t job, uint32_t class, const struct limit_need *need);
void limits_give(struct limits *l, uint32_t job);
/* Records that a job runs, until `end` at the latest: its CPU-seconds decrease from now on. Call
 * again if its end or its need of credits changes. */
void limits_run(struct limits *l, uint32_t job, const struct limit_need *need, int64_t end);
/* Sets the current time. */
void limits_advance(struct limits *l, int64_t now);
/* Notes that a job of a class that could have taken a slot no longer waits, so that others may. */
void limits_stir(struct limits *l, uint32_t class);
/* Removes all jobs: none counts, none waits. */
void limits_clear(struct limits *l);

/* Gives each waiting job a new rank, after the order of waiting jobs has changed. `old`: its
 * present rank; also called for jobs that have left. */
void limits_rerank(struct limits *l, int64_t (*rank)(void *context, uint32_t job, int64_t old), void *context);

/* Makes a job wait until its limits allow another. `shape`: a hash of its request. */
void limits_wait(struct limits *l, uint32_t class, const struct limit_need *need, uint64_t shape, int64_t rank,
		 uint32_t job);
/* Returns the instant when time alone may let a job leave a line, or TIME_NEVER. */
int64_t limits_next(const struct limits *l);
/* Returns the instant when time alone may make room for such a job, which waits in no line,
 * under the hard limits, or TIME_NEVER. */
int64_t limits_when(const struct limits *l, uint32_t class, const struct limit_need *need);
/* Offers slots to jobs that may leave their lines, by rank, from at most `most` lines. `leave`
 * returns false for a job that no longer waits there. Returns false if more remain. */
bool limits_offer(struct limits *l, size_t most, bool (*leave)(void *context, uint32_t job), void *context);

bool limits_yields(const struct limits *l); /* true if there are soft limits */
/* Result of trying to start a job: it no longer waits there; it starts; neither it nor similar
 * jobs can start; stop trying. */
enum yielded { YIELD_GONE, YIELD_STARTS, YIELD_NOT, YIELD_ENOUGH };
/* Tries jobs that only soft limits hold back and that need at most `cpus` CPUs, by rank. */
void limits_yield(struct limits *l, int64_t cpus, enum yielded (*start)(void *context, uint32_t job), void *context);

#endif
