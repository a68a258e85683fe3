/*
 * limit.h - how much may run at once: of all, of a user, group, account, array, queue or QoS, of a user in a queue.
 *
 * A limit is a rule (how many jobs, CPUs, how much memory) and a counter for each party that it counts (who). Jobs of one user, group, account, queue, QoS and array
 * count against the same limits: they are one *class*, by whose number a job carries its limits (job.limits). An account counts what the accounts below it run, too.
 *
 * A job counts from the moment it is given a place that is remembered, a start or a reservation that was promised (ALLOCATE), until it loses the place or
 * ends. A job that merely waits counts nowhere, however long it waits: so a wide job takes no slot from a narrow one behind the same limit. Since places are
 * events, who has a slot is the same after a restart.
 *
 * CPU-seconds are those that a party's jobs still have before them: CPUs x walltime of one that has a place, CPUs x what is left of its walltime of one that runs. They
 * fall by themselves, as time goes by (limits_advance).
 *
 * Jobs that find their limit reached wait in *lines*, one for each class and shape of request, and each line behind one counter that has no room for it. When
 * that counter falls, as many as may start leave the line, by rank: whether one of a line fits holds for those behind it, and the scheduler's order decides
 * between lines. Lines behind other counters are not looked at.
 *
 * A limit may be soft: it holds like any other, but when nothing else can use what is free, those who wait behind soft limits alone may start (limits_yield).
 */
#ifndef RULES_LIMIT_H
#define RULES_LIMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/trial.h"
#include "core/cluster.h"

#define LIMITS_NONE 0	 /* the class of jobs without limits */
#define LIMIT_INHERIT -2 /* of a user, group, account or QoS: as `of` 0 has it */

enum limit_kind {
	LIMIT_ALL,
	LIMIT_USER, /* the same for each */
	LIMIT_ARRAY,
	LIMIT_QUEUE,
	LIMIT_QUEUE_USER,
	LIMIT_OF_USER, /* of one, or by `of` 0 of those without a limit of their own; so are the following */
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
	LIMIT_CREDIT, /* of accounts: what jobs hold of their credits, for each unit (rules/credit.h) */
	LIMIT_MEASURES = LIMIT_CREDIT + 4
};

/* What a job takes of each; memory in KiB. */
struct limit_need {
	int64_t v[LIMIT_MEASURES];
};

/* Returns the need of a job that is charged for `cpus` CPUs (core/cluster.h), and may run for its walltime; its account pays for `length` seconds of `paid`. */
static inline struct limit_need limit_need_of(const struct request *r, int64_t cpus, int64_t walltime,
					      const struct charge *paid, int64_t length)
{
	int64_t work = r->divided ? r->total.v[RES_SHARE] * walltime / SHARE_CPU : cpus * walltime;

	return (struct limit_need){{1, cpus, r->total.v[RES_MEM], work, paid->cpus * length, paid->gpus * length,
				    paid->memory * length, paid->nodes * length}};
}

/* The same of a job that is there. */
static inline struct limit_need limit_need_job(const struct cluster *c, const struct job *job, int64_t cpus)
{
	struct charge paid = cluster_paid_for(c, job, cpus);

	return limit_need_of(cluster_job_request(c, job), cpus, job->walltime, &paid, cluster_paid(c, job));
}

/* Whose job it is. Numbers; 0: none. */
struct limit_party {
	uint32_t user, queue;
	uint64_t array;
	uint32_t group, account, qos;
};

struct limits;
struct limits *limits_create(void);
struct limits *limits_clone(const struct limits *l);
void limits_destroy(struct limits *l);

/* How much may run at once; below 0: any number, or LIMIT_INHERIT. `of`: the array's number, or that of queue, user, group, account or QoS; else 0. */
void limits_cap(struct limits *l, enum limit_kind kind, uint64_t of, enum limit_measure measure, int64_t most);
void limits_set(struct limits *l, enum limit_kind kind, uint64_t of, int64_t most); /* jobs */
/* The same, of the soft limit. */
void limits_soft(struct limits *l, enum limit_kind kind, uint64_t of, enum limit_measure measure, int64_t most);
/* What an account's credits pay for; below 0: any amount. Less of it concerns nobody who waits. */
void limits_credit(struct limits *l, uint32_t account, enum limit_measure measure, int64_t most);
/* Jobs of a QoS start whatever the limits are, but for their array's and credits. They count. */
void limits_exempt(struct limits *l, uint32_t qos, bool exempt);
/* An account is a part of another; 0: of none. */
void limits_parent(struct limits *l, uint32_t account, uint32_t parent);

/* The class of a party, made if new. */
uint32_t limits_class(struct limits *l, const struct limit_party *party);
/* What is there only to find out whether a job would be accepted, or when it would start (base/trial.h). */
struct limits_trial {
	trial_vec rules, counters, classes;
};
/* From now on what limits_class() and limits_admit() make is held by a trial; NULL: it is kept. */
void limits_try(struct limits *l, struct limits_trial *t);
/* Ends a trial, which is empty then. No job has a class that it gives back. */
void limits_trial_end(struct limits *l, struct limits_trial *t, bool keep);
/* An array is forgotten, and so is its class. None of its jobs counts or waits. */
void limits_drop_array(struct limits *l, const struct limit_party *party);

bool limits_any(const struct limits *l); /* false: nothing is limited, and every question below has that answer */
/* How many more such jobs of a class may start now; INT64_MAX: any number. */
int64_t limits_room(const struct limits *l, uint32_t class, const struct limit_need *need);
int64_t limits_room_hard(const struct limits *l, uint32_t class, const struct limit_need *need); /* soft ones yield */
/* Whether that is at least one: asked of each job of a long queue. */
bool limits_allow(const struct limits *l, uint32_t class, const struct limit_need *need);
bool limits_allow_hard(const struct limits *l, uint32_t class, const struct limit_need *need);

struct limit_reached {
	enum limit_kind kind;
	enum limit_measure measure;
	uint64_t of; /* whose limit it is: of an account perhaps one above */
	int64_t most, used;
	bool soft; /* it is a soft one, and the hard ones leave room */
};
/* The limit that leaves no room for such a job of a class; false: another may start. */
bool limits_reached(const struct limits *l, uint32_t class, const struct limit_need *need, struct limit_reached *ret);
/* The hard limit that such a job of a class exceeds alone: it could never start. A limit of 0 stops a party for the time being: its jobs wait. */
bool limits_exceeded(const struct limits *l, uint32_t class, const struct limit_need *need, struct limit_reached *ret);
/* The same for one that is submitted. Error code REFUSED: the limit and the value. */
int limits_admit(struct limits *l, const struct limit_party *party, const struct limit_need *need, struct err *err);
const char *limit_whose(enum limit_kind kind); /* "of its user" */
/* The same for each of several, one after the other: *at is 0 at first. False: there is none after that. */
bool limits_each(const struct limits *l, uint32_t class, const struct limit_need *need, uint32_t *at,
		 struct limit_reached *ret);
/* How much of a measure a party has now. */
int64_t limits_used(const struct limits *l, enum limit_kind kind, uint64_t of, enum limit_measure measure);

/* A job is given a slot, or gives it back. What is given back is what was taken, whatever the job asks for by now. */
void limits_take(struct limits *l, uint32_t job, uint32_t class, const struct limit_need *need);
void limits_give(struct limits *l, uint32_t job);
/* It runs, until `end` at the latest: its CPU-seconds fall from now on. Also if that is another end than before, or if it needs more or less of its credits. */
void limits_run(struct limits *l, uint32_t job, const struct limit_need *need, int64_t end);
/* It is later now. */
void limits_advance(struct limits *l, int64_t now);
/* A job of a class that might have taken a slot no longer waits: others may. */
void limits_stir(struct limits *l, uint32_t class);
/* Nobody counts, and nobody waits. */
void limits_clear(struct limits *l);

/* Who is first among those that wait has changed: each of them gets another rank. `old`: what it has, also of one that has gone. */
void limits_rerank(struct limits *l, int64_t (*rank)(void *context, uint32_t job, int64_t old), void *context);

/* A job waits until its limits allow another. `shape`: a hash of what it asks for. */
void limits_wait(struct limits *l, uint32_t class, const struct limit_need *need, uint64_t shape, int64_t rank,
		 uint32_t job);
/* When time alone may let somebody leave a line; TIME_NEVER: never. */
int64_t limits_next(const struct limits *l);
/* When time alone may make room for such a job of a class, which waits in no line; TIME_NEVER: never. */
int64_t limits_when(const struct limits *l, uint32_t class, const struct limit_need *need); /* hard ones */
/* Asks those who may leave their lines, by rank, of so many lines at most. `leave` says false for a job that does not wait there any more. False: there are
 * more to be asked. */
bool limits_offer(struct limits *l, size_t most, bool (*leave)(void *context, uint32_t job), void *context);

bool limits_yields(const struct limits *l); /* whether there are soft limits */
/* What became of a job that was asked whether it can start: it has not waited there any more; it starts; neither it nor its like can; no more is to be asked. */
enum yielded { YIELD_GONE, YIELD_STARTS, YIELD_NOT, YIELD_ENOUGH };
/* Asks those whom only soft limits keep in their lines, and that need no more CPUs than these, by rank. */
void limits_yield(struct limits *l, int64_t cpus, enum yielded (*start)(void *context, uint32_t job), void *context);

#endif
