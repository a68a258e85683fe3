/*
 * explain.h - why a job waits, as data, computed on request by querying the plan again.
 */
#ifndef SCHED_EXPLAIN_H
#define SCHED_EXPLAIN_H

#include "base/strbuf.h"
#include "rules/limit.h"
#include "sched/sched.h"

enum why {
	WHY_NOT,	  /* not waiting: the job runs or has ended */
	WHY_NEXT,	  /* nothing blocks the job: it starts in the next cycle */
	WHY_HELD,	  /* the job is held */
	WHY_NEVER,	  /* the nodes that are up could not hold the job even if they were empty */
	WHY_SHORT,	  /* too little of `dim` is free: `missing` more are needed */
	WHY_SCATTERED,	  /* enough is free in total, but not in the pieces that the fragments need */
	WHY_WHOLE,	  /* the job needs `needed` whole nodes or machines, and `free` are empty */
	WHY_RESERVED_FOR, /* the job would delay `by`, which has a reservation at `by_start` */
	WHY_TURN,	  /* the policy lets no job pass `by` */
	WHY_LIMIT,	  /* `limit` leaves no room for the job */
	WHY_LEAVES,	  /* the job would outlast a node that it needs: `node` leaves at `by_start` */
	/* `reservation` keeps the job out from `by_start` to `by_end`; or the job is bound to it */
	WHY_RESERVATION,
	WHY_HOURS,  /* the job runs only at certain hours; the next sufficient ones begin at `by_start` */
	WHY_AMOUNT, /* too little of `amount` is free on the site: `missing` more are needed */
	/* the following are only among the reasons of sched_blockers() */
	WHY_NODES,   /* `nodes`, which the job needs, are down or closed */
	WHY_AVOIDED, /* the job avoids `nodes` */
	WHY_BOOKED,  /* `nodes` are kept free for something else from `by_start` on */
	WHY_ORDER,   /* `needed` other waiting jobs compete with it; the first one ahead of it is `by` */
	WHY_COUNT
};

/* Returns a one-word name for programs, such as "short". */
const char *why_name(enum why why);

/* Returns true if the reason is about full, down or small nodes: then the nodes that the job may
 * use matter. */
bool reason_of_nodes(enum why why);

struct reason {
	enum why why;
	bool implied;	  /* sched_blockers(): the reason is gone once the others are */
	bool allocated;	  /* the job has a place, planned for `when`; the rest explains why not now */
	enum res_dim dim; /* SHORT, NEVER */
	uint32_t amount;  /* index into cluster.amounts (AMOUNT; NEVER if `site`) */
	bool site;	  /* NEVER: the site does not have that much */
	int64_t needed, free, missing;
	/* SHORT, SCATTERED, WHOLE, AMOUNT: running jobs by planned end; the job fits when all have
	 * ended */
	job_vec holders;
	int64_t when; /* earliest start according to the present plan; TIME_NEVER: unknown */
	uint32_t by;  /* RESERVED_FOR, TURN */
	int64_t by_start;
	struct limit_reached limit;
	uint32_t node; /* LEAVES */
	/* RESERVATION: its id; 0: the reservation the job is bound to has no time left for it */
	uint32_t reservation;
	int64_t by_end;
	job_vec nodes; /* NODES, AVOIDED, BOOKED */
	/* RESERVED_FOR, LEAVES, RESERVATION: longest walltime with which the job would start now;
	 * 0: none */
	int64_t shorter;
};

/* Computes the reason, valid for the plan at the instant of the last event. Changes nothing. */
void sched_explain(struct sched *s, uint32_t job, struct reason *ret);
void reason_fini(struct reason *r);
/* Writes the limit that keeps the job waiting, in words. Returns false if there is none. Fast. */
bool sched_limit_text(const struct sched *s, uint32_t job, struct limit_reached *ret, int64_t *ret_asked,
		      struct strbuf *out);
/* Does the same for a job bound to a reservation: writes what the job waits for, as far as the
 * reservation is concerned, and returns the reservation's id (0: none admits the job) and times
 * (TIME_NEVER: it is over). */
bool sched_bound_text(const struct sched *s, uint32_t job, struct fence *ret, struct strbuf *out);

/* Returns true if a waiting job has a deadline and no place that meets it was found. */
bool sched_too_late(const struct sched *s, uint32_t job);
/* Returns true if that holds and the reason is temporary: a job that can never start, or starts
 * in the next cycle, is not late as planned. */
bool reason_too_late(const struct sched *s, uint32_t job, const struct reason *r);

/* Writes the reason in plain words: what the job waits for, who holds it, until when, and what
 * would change that. */
/* NULL: jobs are named by their numbers */
typedef void (*job_namer)(void *context, uint32_t job, struct strbuf *out);
void reason_text(const struct sched *s, uint32_t job, const struct reason *r, job_namer name, void *context,
		 struct strbuf *out);

#endif
