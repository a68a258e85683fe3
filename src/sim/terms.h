/*
 * terms.h - the rules of a site (src/rules) in a simulation: routing, defaults, queues, limits,
 * arrays, dependencies, holds and -a, by the functions that the server calls.
 */
#ifndef SIM_TERMS_H
#define SIM_TERMS_H

#include "base/heap.h"
#include "base/map.h"
#include "core/cluster.h"
#include "rules/access.h"
#include "rules/admit.h"
#include "rules/fairshare.h"
#include "rules/gate.h"
#include "rules/priority.h"
#include "rules/queue.h"
#include "sched/sched.h"
#include "sim/bank.h"
#include "sim/workload.h"

/* A running job. */
struct share_run {
	uint32_t job, attempt;
};

/* The priorities that a site has set for a job's user, group, account and QoS. */
struct set_priorities {
	int64_t user, group, account, qos;
};

struct terms {
	const struct workload *w;
	const struct ruleset *site; /* NULL: no queue has attributes */
	struct gate *gate;
	struct limits *limits;
	struct map by_id;	   /* id in the workload -> core id + 1 */
	struct map array_at;	   /* id of an array in the workload -> index of its terms + 1 */
	struct heap releases;	   /* (when, core id): holds that end */
	VEC(uint32_t) queues;	   /* by core id: number of the job's queue, 0: none */
	VEC(struct access) access; /* by core id: the job's account and QoS */
	/* groups, accounts and QoS; their number in `limits` is the index + 1 */
	struct names parties;
	struct map counts; /* numbers of queue and user (0: all) -> waiting and running jobs */
	struct priority_settings priority;
	VEC(struct set_priorities) set; /* by core id; only if jobs are ordered by priority */
	struct shares *shares;		/* NULL: fairshare is not used */
	struct fairshare_settings fairshare;
	VEC(struct share_run) runs; /* running jobs, if fairshare is used; some may have ended */
	VEC(uint32_t) members;	    /* by core id */
	VEC(uint32_t) cpus;	    /* by core id: CPUs of the job, once it was started */
	struct bank bank;	    /* credits of accounts */
	int64_t now;
	struct cluster *c;
	struct sched *sched;
	int64_t lays;	     /* when reservations are laid out next */
	struct arena *arena; /* memory of the last few admitted jobs */
	uint32_t asked;
};

/* Prepares the rules. -EINVAL: the workload does not match the site. Call terms_fini() in any
 * case. */
int terms_init(struct terms *t, const struct workload *w, const struct ruleset *site, struct sched *sched,
	       struct err *err);
/* Orders jobs by priority; call it before there are any jobs. */
void terms_prioritize(struct terms *t, struct cluster *c, const struct priority_settings *x);
void terms_fini(struct terms *t);

/* What a site assigns to a submitted job. */
struct taken_in {
	uint32_t queue;	     /* number of its queue; 0: none */
	struct reqtext text; /* with the site's defaults; valid until the next job is admitted */
	struct access access;
};

/* Finds the queue of the site that accepts a job, or all elements of an array, with this request
 * (without a walltime, if it states none). -EPERM with the reason if none does. */
int terms_admit(struct terms *t, const struct wjob *j, const struct reqtext *text, admit_fits fits, void *context,
		struct taken_in *ret, struct err *err);
/* Returns 0 if the jobs that it depends on were submitted before; -ENOENT names one that was
 * not. */
int terms_depend(const struct terms *t, const struct wjob *j, struct err *err);
/* Returns 0 if the limits of its user, group, account and queue allow as much at once as it
 * requests. */
int terms_limits(struct terms *t, const struct wjob *j, uint32_t queue, const struct access *access,
		 const struct limit_need *need, struct err *err);
/* Gives a core job in STATE_NEW its limits and its rank. Call it for all elements of an array
 * before the first is submitted. */
void terms_fill(struct terms *t, const struct wjob *j, uint32_t queue, const struct access *access, struct job *job);
/* Enters a submitted job; returns whether it may be considered now, later or never. */
enum depend_state terms_enter(struct terms *t, const struct wjob *j, uint32_t job, int64_t now);
/* Removes a job that has ended from the counts of waiting and running jobs. */
void terms_leave(struct terms *t, const struct wjob *j, uint32_t job);
/* Forgets a filled job that is not submitted after all. */
void terms_refuse(struct terms *t, const struct wjob *j, uint32_t job);
/* Charges the job's account for the time it ran. */
void terms_charge(struct terms *t, const struct cluster *c, uint32_t job, int64_t ran);
/* Returns how long a job may take to end when it is ended (kill_delay), seconds. */
int64_t terms_delay(const struct terms *t, uint32_t job);
/* Returns a job's priority by the site's weights (terms.priority). The scheduler calls it with
 * the terms as context. */
double terms_weigh(void *context, uint32_t job, int64_t now);
/* Called by the scheduler before it asks for the priorities of all jobs. */
void terms_prepare(void *context, int64_t now);
/* terms_started() notes that a job has started; terms_stopped() counts what it used until it
 * ended or was stopped. */
void terms_started(struct terms *t, const struct plan *p, uint32_t job);
void terms_stopped(struct terms *t, uint32_t job, int64_t started, int64_t now);
int terms_priority(const struct terms *t, const struct wjob *j);
/* Lays out the site's reservations from an instant on. Call it at the start and whenever
 * terms_next() has come. */
void terms_lay(struct terms *t, int64_t now);
/* Returns 1 with the next job that may be considered from now on, -1 with one that never can be,
 * or 0: none. */
int terms_news(struct terms *t, int64_t now, uint32_t *ret_job);
void terms_advance(struct terms *t, int64_t now); /* makes and expires credits */
/* Returns when time alone changes something next; TIME_NEVER: never. */
int64_t terms_next(const struct terms *t);

#endif
