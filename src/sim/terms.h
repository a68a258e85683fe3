/*
 * terms.h - the rules of a site (src/rules) in a simulation: routing, defaults, queues, limits, arrays, dependencies, holds and -a, by the functions that the server calls.
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

/* A job that runs. */
struct share_run {
	uint32_t job, attempt;
};

/* The priorities that a site has set of a job's parties. */
struct set_priorities {
	int64_t user, group, account, qos;
};

struct terms {
	const struct workload *w;
	const struct ruleset *site; /* NULL: no queue has attributes */
	struct gate *gate;
	struct limits *limits;
	struct map by_id;	   /* id of the workload -> core id + 1 */
	struct map array_at;	   /* the same of an array -> its terms, index + 1 */
	struct heap releases;	   /* (when, core id): holds that end */
	VEC(uint32_t) queues;	   /* by core id: the number of its queue, 0: none */
	VEC(struct access) access; /* the same: its account and QoS */
	struct names parties;	   /* groups, accounts and QoS; their number among limits is the index + 1 */
	struct map counts;	   /* numbers of queue and user, 0: all -> jobs that wait or run */
	bool priorities;	   /* some job has one, among those of its user */
	struct priority_settings priority;
	VEC(struct set_priorities) set; /* by core id, if jobs are ordered by priorities */
	struct shares *shares;		/* NULL: fairshare does not count */
	struct fairshare_settings fairshare;
	VEC(struct share_run) runs; /* jobs that run, if it does; some of them have ended */
	VEC(uint32_t) members;	    /* by core id */
	VEC(uint32_t) cpus;	    /* ... that it has, once it was started */
	struct bank bank;	    /* what accounts have */
	int64_t now;
	struct cluster *c;
	struct sched *sched;
	int64_t lays;	     /* when reservations are laid out next */
	struct arena *arena; /* of the last few jobs that were admitted */
	uint32_t asked;
};

/* -EINVAL: the workload does not go with the site. terms_fini() in any case. */
int terms_init(struct terms *t, const struct workload *w, const struct ruleset *site, struct sched *sched,
	       struct err *err);
/* What orders jobs by priorities: before there are any. */
void terms_prioritize(struct terms *t, struct cluster *c, const struct priority_settings *x);
void terms_fini(struct terms *t);

/* What a site makes of a job that is submitted. */
struct taken_in {
	uint32_t queue;	     /* its number; 0: none */
	struct reqtext text; /* with the site's defaults; valid until the next job asks */
	struct access access;
};

/* Which queue of the site takes a job, or all elements of an array, that asks for this (without a walltime, if it says none). -EPERM, with why none does. */
int terms_admit(struct terms *t, const struct wjob *j, const struct reqtext *text, admit_fits fits, void *context,
		struct taken_in *ret, struct err *err);
/* Whether the jobs that it depends on were submitted before. -ENOENT, with which was not. */
int terms_depend(const struct terms *t, const struct wjob *j, struct err *err);
/* Whether its party may have as much at once as it asks for. */
int terms_limits(struct terms *t, const struct wjob *j, uint32_t queue, const struct access *access,
		 const struct limit_need *need, struct err *err);
/* A core job in STATE_NEW gets its limits and its rank. Of an array all elements, before the first is submitted. */
void terms_fill(struct terms *t, const struct wjob *j, uint32_t queue, const struct access *access, struct job *job);
/* It was submitted: whether it may be considered, or can never be. */
enum depend_state terms_enter(struct terms *t, const struct wjob *j, uint32_t job, int64_t now);
/* It has ended, and counts no more where jobs that wait or run do. */
void terms_leave(struct terms *t, const struct wjob *j, uint32_t job);
/* It was filled, and is not submitted after all. */
void terms_refuse(struct terms *t, const struct wjob *j, uint32_t job);
/* Its account pays for what it ran. */
void terms_charge(struct terms *t, const struct cluster *c, uint32_t job, int64_t ran);
/* How long a job may take to end when it is ended (kill_delay). */
int64_t terms_delay(const struct terms *t, uint32_t job);
/* Its priority among all, by the site's weights (terms.priority): for the scheduler, the terms being the context. */
double terms_weigh(void *context, uint32_t job, int64_t now);
/* Before it asks for those of all jobs. */
void terms_prepare(void *context, int64_t now);
/* A job has started; what it used until it ended or was stopped counts. */
void terms_started(struct terms *t, const struct plan *p, uint32_t job);
void terms_stopped(struct terms *t, uint32_t job, int64_t started, int64_t now);
int terms_priority(const struct terms *t, const struct wjob *j);
/* Reservations of the site, from an instant on: at first, and whenever terms_next() has come. */
void terms_lay(struct terms *t, int64_t now);
/* The next job that may be considered from now on (1), or can't any more (-1); 0: none. */
int terms_news(struct terms *t, int64_t now, uint32_t *ret_job);
void terms_advance(struct terms *t, int64_t now); /* credits come and go */
int64_t terms_next(const struct terms *t);	  /* when time alone changes something; TIME_NEVER: never */

#endif
