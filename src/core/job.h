/*
 * job.h - a job is the fold of its events.
 *
 *	            SUBMIT                ALLOCATE              START             STARTED           FINISH
 *	(nothing) ---------> CANDIDATE <------------> ALLOCATED -------> NOW -----------> RUNNING ---------> DONE
 *	                      ^  |  ^    DEALLOCATE                       |                 |
 *	              RELEASE |  |  |            START_FAILED             |     PREEMPT     |
 *	                     HELD  +------------------------------------- + <---------------+
 *
 * EXPIRE (a deadline that can no longer be met) and DELETE end a job from where they are legal.
 *
 * job_apply() is the only code that changes a job's state: live, at recovery and in the simulator. What it
 * does not know is *where* a job is: that is the plan's (plan/plan.h), folded from the same events.
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
	STATE_CANDIDATE, /* waits without a place */
	STATE_ALLOCATED, /* has a place in the plan, later than now */
	STATE_NOW,	 /* the order to start it is out */
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
	EVENT_STARVE,	    /* a common job waited too long */
	EVENT_ALLOCATE,	    /* given, or moved to, a place in the plan: `at`, `nodes` */
	EVENT_DEALLOCATE,   /* lost its place to `by` */
	EVENT_GUARANTEE,    /* its deadline was promised */
	EVENT_START,	    /* ordered to start now on `nodes`, planned to end `at` */
	EVENT_STARTED,	    /* runs since `time` */
	EVENT_START_FAILED, /* could not be started: back to the candidates */
	EVENT_PREEMPT,	    /* stopped by `by`, back to the candidates */
	EVENT_MIGRATE,	    /* goes on at `nodes`, others or the same, until `at`; then `by` needs them, if it is an
			     * emergency job */
	EVENT_FINISH,
	EVENT_EXPIRE,
	EVENT_DELETE,
	EVENT_KEEP, /* the place of a candidate, which it will have unless somebody with a deadline comes: `at`, `nodes`; no nodes: it has none */
	EVENT_COUNT
};

/* A place is lost with its guarantee. Older servers wrote 0: there a guarantee outlived the place, until the next one. */
#define LOST_WITH_GUARANTEE 1

struct event {
	int64_t time;
	/* ALLOCATE, KEEP: planned start. START, MIGRATE: planned end. PREEMPT, START_FAILED: when the hours end in which
	 * it may run; 0: another reason. DEALLOCATE: LOST_WITH_GUARANTEE. */
	int64_t at;
	const int32_t *nodes; /* ALLOCATE, KEEP, START, MIGRATE: a node for each fragment; borrowed */
	uint32_t nnodes;
	uint32_t job;
	uint32_t by; /* the job for which it was done, or JOB_NONE */
	uint8_t type;
	const void
		*detail; /* what the caller of the scheduler knows besides, for the listener alone; borrowed, or NULL */
};

/* What the cycle reads of a job. Names, scripts and environment live elsewhere. */
struct job {
	int64_t submit;	  /* instant */
	int64_t walltime; /* seconds, without tolerance */
	int64_t deadline; /* instant, or TIME_NEVER */
	int64_t start;	  /* planned (ALLOCATED) or real (NOW, RUNNING and after) */
	int64_t saved; /* instant: what it did before is in a checkpoint; one before `start`, or 0: nothing of this attempt is */
	int64_t saving;	  /* seconds that a checkpoint of it may take; 0: it makes none */
	int64_t starting; /* seconds before its walltime counts, at most: the prologue */
	int64_t ending; /* seconds from its walltime and the tolerance until its place is free, at most: kill_delay, epilogue */
	int64_t since;	/* instant of the last change of state */
	int64_t priced; /* of one with a price: seconds for which its account pays, whatever it uses (rules/libra.h) */
	int64_t nice;	/* until this instant jobs submitted later may pass it; 0: never */
	double rank;	/* its place among jobs that wait: the instant of submission unless it was set before */
	uint32_t id;
	uint32_t request; /* cluster_request() */
	uint32_t user;
	uint32_t by;	  /* who last took its place or stopped it */
	uint32_t waiting; /* the scheduler's record of it while it waits */
	uint32_t allowed; /* nodes that it may be placed on: cluster_nodeset(), or NODES_ALL */
	uint32_t limits;  /* on running jobs: rules/limit.h; 0: none */
	uint32_t keys;	  /* ids of reservations that it may use (plan/fence.h): cluster_nodeset(), or KEYS_NONE */
	uint32_t bound;	  /* the id of the one that it starts nowhere but in; 0: it is not bound */
	uint32_t attempt;
	uint8_t state;
	uint8_t kind;
	uint8_t powers;	       /* emergency jobs */
	uint8_t deallocations; /* of a starving job, by QoS jobs */
	bool has_price;	       /* `priced` counts; else it pays as long as it runs */
	bool interactive;      /* it starts when it comes, or not at all (sched/entrance.h) */
	bool guaranteed; /* it has, or had when it was started, a place in which it meets its deadline whatever others do */
};

/* Whether an event of this type is legal in this state, and the state after it. */
bool job_next(enum job_state from, enum event_type type, enum job_state *ret_to);

/* Applies one event. -EINVAL, with the job untouched, when it is not legal in the job's state. `by_kind` is the
 * kind of event->by (ignored when that is JOB_NONE): only deallocations by QoS jobs count toward becoming critical. */
int job_apply(struct job *job, const struct event *event, enum job_kind by_kind, struct err *err);

/* Asserts what must hold of any job. */
void job_check(const struct job *job);

static inline bool job_waits(const struct job *job)
{
	return job->state == STATE_CANDIDATE || job->state == STATE_ALLOCATED;
}

/* Since when the work of a running job would be lost if it were stopped. Of several, the one with the latest instant loses least, whenever that is. */
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
