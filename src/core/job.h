/*
 * job.h - a job is the fold of its events.
 *
 *	         SUBMIT              ALLOCATE             START      STARTED         FINISH
 *	(nothing) ----> CANDIDATE <----------> ALLOCATED -----> NOW -----> RUNNING -----> DONE
 *	                 ^  |  ^   DEALLOCATE                    |            |
 *	         RELEASE |  |  |           START_FAILED          |   PREEMPT  |
 *	                HELD   +---------------------------------+<-----------+
 *
 * EXPIRE (a deadline that can no longer be met) and DELETE end a job from where they are legal.
 *
 * job_apply() is the only code that changes a job's state: live, at recovery and in the simulator.
 * It does not know *where* a job is; the plan does (plan/plan.h), folded from the same events.
 */
#ifndef CORE_JOB_H
#define CORE_JOB_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "core/kind.h"

#define JOB_NONE UINT32_MAX

enum job_state {
	STATE_NEW,
	STATE_HELD,	 /* not considered until released */
	STATE_CANDIDATE, /* waiting, without a slot in the plan */
	STATE_ALLOCATED, /* has a slot in the plan, later than now */
	STATE_NOW,	 /* the order to start it has been sent */
	STATE_RUNNING,
	STATE_DONE,
	STATE_EXPIRED, /* its deadline could no longer be met */
	STATE_DELETED,
	STATE_COUNT
};

enum event_type {
	EVENT_SUBMIT,
	EVENT_HOLD,
	EVENT_RELEASE,
	EVENT_STARVE,	    /* a common job has waited too long */
	EVENT_ALLOCATE,	    /* got, or was moved to, a slot in the plan: `at`, `nodes` */
	EVENT_DEALLOCATE,   /* lost its slot to `by` */
	EVENT_GUARANTEE,    /* its deadline was guaranteed */
	EVENT_START,	    /* ordered to start now on `nodes`, planned to end `at` */
	EVENT_STARTED,	    /* running since `time` */
	EVENT_START_FAILED, /* could not be started; a candidate again */
	EVENT_PREEMPT,	    /* stopped for `by`; a candidate again */
	/* continues on `nodes`, other ones or the same, until `at`; if `by` is an emergency job,
	 * it then needs them */
	EVENT_MIGRATE,
	EVENT_FINISH,
	EVENT_EXPIRE,
	EVENT_DELETE,
	/* tentative slot of a candidate, which it gets unless a job with a deadline comes: `at`,
	 * `nodes`; without nodes: none */
	EVENT_KEEP,
	EVENT_COUNT
};

/* Value of DEALLOCATE's `at`: the guarantee was lost with the slot. Older servers wrote 0 and
 * kept the guarantee until the next slot. */
#define LOST_WITH_GUARANTEE 1

struct event {
	int64_t time;
	/* ALLOCATE, KEEP: planned start. START, MIGRATE: planned end. PREEMPT, START_FAILED: end
	 * of the hours in which the job may run; 0: another reason. DEALLOCATE:
	 * LOST_WITH_GUARANTEE. */
	int64_t at;
	const int32_t *nodes; /* ALLOCATE, KEEP, START, MIGRATE: one node per fragment; borrowed */
	uint32_t nnodes;
	uint32_t job;
	uint32_t by; /* job on whose behalf it was done, or JOB_NONE */
	uint8_t type;
	/* additional data of the scheduler's caller, for the listener only; borrowed, or NULL */
	const void *detail;
};

/* The part of a job that the scheduling cycle reads. Names, scripts and environment are kept
 * elsewhere. */
struct job {
	int64_t submit;	  /* instant of submission */
	int64_t walltime; /* seconds, without tolerance */
	int64_t deadline; /* instant, or TIME_NEVER */
	int64_t start;	  /* instant: planned (ALLOCATED) or actual (NOW, RUNNING and later) */
	/* instant of the last checkpoint; 0 or before `start`: none in this attempt */
	int64_t saved;
	int64_t saving;	  /* maximum seconds a checkpoint takes; 0: it makes none */
	int64_t starting; /* maximum seconds before its walltime counts: the prologue */
	/* maximum seconds from the end of walltime and tolerance until its slot is free:
	 * kill_delay, epilogue */
	int64_t ending;
	int64_t since; /* instant of the last change of state */
	/* with has_price: seconds its account pays for, whatever it uses (rules/libra.h) */
	int64_t priced;
	int64_t nice; /* instant until which jobs submitted later may pass it; 0: never */
	/* position among waiting jobs: the instant of submission, unless set otherwise */
	double rank;
	uint32_t id;
	uint32_t request; /* index returned by cluster_request() */
	uint32_t user;
	uint32_t by;	  /* job that last took its slot or stopped it */
	uint32_t waiting; /* index of the scheduler's record while it waits */
	uint32_t allowed; /* nodes it may use: cluster_nodeset(), or NODES_ALL */
	uint32_t limits;  /* limits on running jobs (rules/limit.h); 0: none */
	/* ids of reservations it may use (plan/fence.h): cluster_nodeset(), or KEYS_NONE */
	uint32_t keys;
	uint32_t bound; /* id of the only reservation it may start in; 0: not bound */
	uint32_t attempt;
	uint8_t state;
	uint8_t kind;
	uint8_t powers;	       /* emergency jobs only: enum job_power */
	uint8_t deallocations; /* starving jobs only: number of deallocations by QoS jobs */
	bool has_price;	       /* `priced` applies; otherwise it pays for the time it runs */
	bool interactive;      /* starts on arrival or not at all (sched/entrance.h) */
	/* has, or had when it was started, a slot in which it meets its deadline whatever other
	 * jobs do */
	bool guaranteed;
};

/* Returns true if an event of this type is legal in this state, and stores the state after it. */
bool job_next(enum job_state from, enum event_type type, enum job_state *ret_to);

/* Applies one event; -EINVAL, with the job unchanged, if it is not legal in the job's state.
 * `by_kind` is the kind of event->by (ignored for JOB_NONE): only deallocations by QoS jobs
 * count toward becoming critical. */
int job_apply(struct job *job, const struct event *event, enum job_kind by_kind, struct err *err);

/* Asserts the invariants of a job. */
void job_check(const struct job *job);

static inline bool job_waits(const struct job *job)
{
	return job->state == STATE_CANDIDATE || job->state == STATE_ALLOCATED;
}

/* Returns the instant since which a running job's work would be lost if it were stopped. Among
 * several jobs, the one with the latest instant loses least, whenever they are stopped. */
static inline int64_t job_unsaved_since(const struct job *job)
{
	return job->saved > job->start ? job->saved : job->start;
}

static inline bool job_ended(const struct job *job)
{
	return job->state >= STATE_DONE;
}

const char *job_state_name(enum job_state state);
const char *event_type_name(enum event_type type);
char job_kind_letter(enum job_kind kind); /* C, S, Q, E */

#endif
