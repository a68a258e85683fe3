/*
 * explain.h - why a job waits, as data, computed when asked by asking the plan again.
 */
#ifndef SCHED_EXPLAIN_H
#define SCHED_EXPLAIN_H

#include "base/strbuf.h"
#include "rules/limit.h"
#include "sched/sched.h"

enum why {
	WHY_NOT,	  /* it does not wait: it runs, or has ended */
	WHY_NEXT,	  /* nothing blocks it: it starts in the next cycle */
	WHY_HELD,	  /* somebody holds it */
	WHY_NEVER,	  /* the nodes that are up could not hold it even if they were empty */
	WHY_SHORT,	  /* too little of `dim` is free: `missing` more are needed */
	WHY_SCATTERED,	  /* enough is free in sum, but not in the pieces that its fragments need */
	WHY_WHOLE,	  /* it needs `needed` whole nodes or machines, and `free` are empty */
	WHY_RESERVED_FOR, /* it would delay `by`, which has a reservation at `by_start` */
	WHY_TURN,	  /* the policy lets nobody pass `by` */
	WHY_LIMIT,	  /* `limit` leaves no room for it */
	WHY_LEAVES,	  /* it would last longer than a node that it needs: `node` leaves at `by_start` */
	WHY_RESERVATION,  /* `reservation` keeps it out from `by_start` to `by_end`; or it is bound to it */
	WHY_HOURS,	  /* it runs only in certain hours, and the next ones that suffice begin at `by_start` */
	WHY_AMOUNT,	  /* too little of `amount` is free on the site: `missing` more are needed */
	/* these are among the reasons of sched_blockers() only */
	WHY_NODES,   /* `nodes`, which it needs, are down or closed */
	WHY_AVOIDED, /* it avoids `nodes` */
	WHY_BOOKED,  /* `nodes` are kept free for something else, from `by_start` on */
	WHY_ORDER,   /* `needed` other waiting jobs compete with it; the first that comes before it is `by` */
	WHY_COUNT
};

/* In a word, for programs: "short". */
const char *why_name(enum why why);

/* Whether it says that nodes are full, down or too small: then it matters which ones the job may use. */
bool reason_of_nodes(enum why why);

struct reason {
	enum why why;
	bool implied;	  /* of sched_blockers(): it is gone when the others are */
	bool allocated;	  /* it has a place already: `when` is planned, what follows is why not now */
	enum res_dim dim; /* SHORT, NEVER */
	uint32_t amount;  /* AMOUNT; NEVER if `site`: in cluster.amounts */
	bool site;	  /* NEVER: the site does not have that much */
	int64_t needed, free, missing;
	job_vec holders; /* SHORT, SCATTERED, WHOLE, AMOUNT: running jobs, by planned end: when all of them have ended it fits */
	int64_t when; /* the earliest start by what is planned now; TIME_NEVER: not known */
	uint32_t by;  /* RESERVED_FOR, TURN */
	int64_t by_start;
	struct limit_reached limit;
	uint32_t node;	      /* LEAVES */
	uint32_t reservation; /* RESERVATION: its id; 0: the one that it is bound to has no time left for it */
	int64_t by_end;
	job_vec nodes; /* NODES, AVOIDED, BOOKED */
	int64_t shorter; /* RESERVED_FOR, LEAVES, RESERVATION: it would start now if its walltime were at most this; 0: it would not */
};

/* The reason, true of the plan as it is at the instant of the last event. Changes nothing. */
void sched_explain(struct sched *s, uint32_t job, struct reason *ret);
void reason_fini(struct reason *r);
/* Which limit keeps it waiting, in words; false: none does. It takes no time. */
bool sched_limit_text(const struct sched *s, uint32_t job, struct limit_reached *ret, int64_t *ret_asked,
		      struct strbuf *out);
/* The same of a job that is bound to a reservation: what it waits for, as far as that goes, and the reservation's number (0: none admits it) and times
 * (TIME_NEVER: it is over). */
bool sched_bound_text(const struct sched *s, uint32_t job, struct fence *ret, struct strbuf *out);

/* Returns true if a waiting job has a deadline, and no place that meets it was found. */
bool sched_too_late(const struct sched *s, uint32_t job);
/* Returns true if that holds and the reason is something that ends: a job that can never start, or
 * does in the next cycle, is not late as planned. */
bool reason_too_late(const struct sched *s, uint32_t job, const struct reason *r);

/* In plain words: what it waits for, who holds it, until when, and what would change it. */
typedef void (*job_namer)(void *context, uint32_t job, struct strbuf *out); /* NULL: jobs are called by their numbers */
void reason_text(const struct sched *s, uint32_t job, const struct reason *r, job_namer name, void *context,
		 struct strbuf *out);

#endif
