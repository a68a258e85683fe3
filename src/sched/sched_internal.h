/*
 * sched_internal.h - the scheduler's own state, shared by the files of sched/.
 *
 * All of it is derived: from the jobs and their events it could be built again.
 */
#ifndef SCHED_SCHED_INTERNAL_H
#define SCHED_SCHED_INTERNAL_H

#include "base/heap.h"
#include "base/map.h"
#include "base/scratch.h"
#include "rules/limit.h"
#include "sched/entrance.h"
#include "sched/sched.h"

#define WAITING_NONE UINT32_MAX /* job.waiting of a job that has no record in the queue */

/* A waiting common job. */
struct waiting {
	double key, fill; /* in the policy's order, and in that of backfill */
	double next;	  /* the key that it will have when all have been weighed (queue_weigh) */
	int64_t length;	  /* seconds it is planned for */
	double pred;	  /* predicted run time, where the policy predicts */
	double due;	  /* instant from which it is overdue (due.c) */
	uint32_t job;
	bool sorted;	/* it is in the sorted arrays; else among those that came */
	bool fresh;	/* it came since the last cycle */
	bool line;	/* it waits for its limits to allow another: it is out of the arrays, and keeps its keys */
	int64_t kept;	/* the start of the place that was told of it (EVENT_KEEP); TIME_NEVER: none */
	uint64_t where; /* ... and where that is: places_hash() */
};

/* What a scan of the queue reads, contiguous. */
struct queued {
	double key;
	int64_t length;
	int64_t planned; /* its start, where every job has a reservation */
	uint32_t job;
	int32_t cpus; /* -1: it has left (queue_settle() takes it out) */
};
/* A VEC of them, in front of whose first element others were: where jobs leave near the beginning, those before them move, not the many behind. Only queue.c makes one of
 * the queue longer. */
typedef struct {
	struct queued *v;
	size_t n, cap;
	size_t before; /* elements of the block in front of `v`, which nobody uses */
	bool borrowed; /* ... the block is in a scratch */
} queued_vec;

/* The most CPUs that stay free from now until an instant: falls step by step. Exact on one node, else an upper bound. */
#define WINDOW_STEPS 8

struct window {
	int64_t until[WINDOW_STEPS]; /* a job that ends by until[i] ... */
	int64_t cpus[WINDOW_STEPS];  /* ... may have this many */
	int n;
	bool exact;	  /* who is allowed fits */
	uint64_t version; /* of the plan it was made from */
};

/* A request that could not be placed (now, or at all): none that asks at least as much can, until something is freed. */
struct failure {
	uint32_t request;
	uint32_t allowed; /* the nodes that were asked */
	uint32_t keys, bound;
	uint32_t nfrags;
	struct res need; /* per fragment, if uniform */
	int64_t length;
	bool uniform;
	bool parted; /* in a partition, where jobs without one are not: neither says anything of the other */
};

typedef VEC(struct failure) failure_vec;

/* Places that waiting jobs hold at once, of `most` (0: any number). Those of jobs that are bound to a reservation are of no use to others: each reservation has as many of its own. */
struct depth {
	int64_t most, common;
	VEC(struct bound_places {
		uint32_t bound;
		int64_t n;
	}) bound;
};

/* A running job whose place an emergency job needs, later than now: until then it goes on. */
struct victim {
	uint32_t job, by;
	int64_t full; /* when it would have ended */
	uint16_t attempt;
};

/* A guaranteed job that has lost its place to another (places.c). */
struct lost {
	uint32_t job, by;
};

/* A running job that will be displaced, and then has a partition booked to start again (position.c). */
struct restart {
	uint32_t job, partition;
	int64_t start;
};

/* What position.c knows. */
struct position {
	VEC(struct restart) restarts;
	struct heap slices; /* (when its time slice is over, job, attempt), and ... */
	VEC(struct slice {
		uint32_t job;
		uint16_t attempt;
	}) over;	    /* ... those that go on until somebody waits for their partitions: slices.c */
	struct heap nights; /* (when it is stopped, job, attempt) of those whose hours end before they do: nights.c */
	bool recount;	    /* a job that waited was removed */
	bool moved;	    /* ... or has another rank */
	bool nices;	    /* some that wait may be nice */
};

#define DUE_SMALL 0.01 /* jobs that together hold less than this share of finished work are small */
#define AREA_BINS 512  /* eight an octave */

/* What is known of finished, and of waiting, jobs: for predictions and due dates. p: run time, q: CPUs. */
struct history {
	struct map last; /* hash of (user, ...) -> index into pairs */
	VEC(struct last_two {
		double run[2];
		uint32_t n;
	}) pairs;
	double work;		   /* sum of p q over finished jobs */
	double work_length;	   /* ... of p p q */
	double work_pred;	   /* ... of pred q */
	double queued_pred;	   /* of pred q over waiting ones */
	double longest_wait;	   /* of any job that started */
	double work_in[AREA_BINS]; /* finished work, by area */
	double work_below;	   /* ... in the bins below small_bin */
	int small_bin;
};

/* Waiting common jobs. */
struct line {
	VEC(struct waiting) waiting; /* by job->waiting */
	bool borrowed;		     /* ... in a scratch */
	VEC(uint32_t) spare;	     /* free records of it */
	queued_vec by_key;	     /* all waiting common jobs in the policy's order */
	queued_vec by_fill;	     /* the same in backfill order, when that is another one */
	VEC(struct waiting) left;    /* left the queue and are still in those arrays, until queue_settle() ... */
	job_vec came;		     /* ... and those that are not in them yet, with some that have left again */
	bool mixed;		     /* some have left since queue_settle() that `came` and `fresh` may name */
	bool yields;		     /* soft limits don't count: nobody else can use what is free */
	size_t scanned;		     /* the position that a scan of one of them has come to */
	queued_vec by_due;	     /* the same by due date (due.c) */
	job_vec wide;		     /* those that need more than half of the machine, by arrival (due.c) */
	struct heap patience;	     /* (when it starves, job) of waiting common jobs, with stale ones */
	bool bound;		     /* some may be bound to a reservation */
	bool reweigh;		     /* priorities have changed: the arrays are to be sorted again */
	bool drifts;		     /* ... and do so with time */
	int64_t weighed;	     /* the instant for which keys that change with time were computed */
	bool weighing;		     /* they are being computed for it, which may take several cycles: */
	size_t weighed_to;	     /* ... of the records before this one they have been */
	bool ordered;		     /* they were in this cycle, or in those that it goes on from */
	double queued_area;	     /* CPU-seconds that waiting jobs ask for */
	job_vec fresh; /* common jobs that came since the last cycle; before queue_settle() also some that left again */
};

/* How far a cycle has come. */
enum stage { STAGE_SPECIAL, STAGE_COMMON, STAGE_TO_NOW };

/* How much of the present cycle has been done, and by how much it may go on (sched_pace). */
struct effort {
	uint64_t pace, began; /* sched_pace(); plan.work when this cycle, or its pass, began */
	bool filling;	  /* ... while it filled what reservations leave free, which stay for the next one (due.c) */
	bool unfinished;  /* the cycle has ended early, */
	enum stage stage; /* ... here, */
	uint64_t left;	  /* ... with this many freeings */
	int starving;	  /* how far it has come with starving jobs: special.c */
	int moves;	  /* blocked jobs for which moves were tried: migrate.c */
	struct map
		tried; /* special jobs that the present cycle, and those that it goes on from, have asked about: TRIED_... */
	struct {
		uint32_t job; /* JOB_NONE: none */
		unsigned may;
		int64_t next;
	} search;		 /* for a special job's place: it goes on in the next cycle */
	uint64_t freeings, seen; /* how often something was given back; ... when the first of those cycles began */
};

enum { TRIED_PLACE = 1, TRIED_NOW = 2 }; /* for any place; for an earlier one, now */

/* Where every job reserves: a pass over the queue, which may take several cycles (conservative.c). */
struct sweep {
	bool on;
	double key; /* the last one that it has looked at */
	uint32_t job;
	int64_t dirty, moved; /* what became free before it, and by it, lies before these instants */
	failure_vec nowhere;  /* who has no place at all, and keeps nobody else from one */
};

/* A scan for jobs that fill what reservations leave free, which takes several cycles (pass.c). */
struct fill {
	bool on;    /* it goes on, if nothing was freed meanwhile, ... */
	double key; /* ... with the first job that is not before this one */
	uint32_t job;
	uint32_t head; /* ... the head that has the first reservation; JOB_NONE: it begins anew */
	bool over;     /* ... that was the last one */
	bool whole;    /* one that ended early was given up for the present one, which therefore does not */
};

/* Who is told, and asked. */
struct ears {
	sched_listener listener;
	sched_delay delay;
	void *delay_context;
	void *context;
	sched_move move;
	void *move_context;
	struct yield (*yield)(void *context, uint32_t job);
	void *yield_context;
	sched_blocked on_blocked;
	void *blocked_context;
	sched_weigh weigh; /* NULL: the policy's order is the order */
	sched_prepare prepare;
	void *weigh_context;
};

struct moved {
	uint32_t job, by;
};

/* due.c: common jobs in the order of due dates. */
struct due {
	bool dates;	  /* they are ordered so */
	int overdue;	  /* jobs that were overdue in the last pass */
	int64_t idle_now; /* CPUs free when reservations are made */
	struct map pred;  /* predicted run time, in seconds, of jobs that left the queue and have not ended */
};

struct sched { /* what owns memory here is copied by sched_clone() and freed by sched_destroy() */
	struct cluster *c;
	struct plan *p;
	const struct policy *policy;
	struct manner plain; /* the policy's way to place, without powers */
	struct nodeset open; /* nodes that are neither drained nor paused; without words: nobody has asked yet */
	uint32_t nclosed;    /* the others; 0: plain.on is NULL */
	enum queue_order order,
		backfill; /* of common jobs: the policy's, unless settings.starve_after says otherwise */
	bool starving;	  /* common jobs that waited too long become starving */
	int64_t now;
	struct due due;
	job_vec special;	    /* waiting starving, QoS and emergency jobs, FIFO */
	job_vec newcomers;	    /* special jobs that came since the last cycle */
	VEC(struct lost) lost;	    /* guaranteed jobs that are not in the plan for the moment (places_again) */
	VEC(struct victim) victims; /* of emergency jobs, to be stopped when their places are needed (victims.c) */
	struct position position;
	bool stirred;	  /* something was freed or reserved since special_to_now() */
	job_vec starting; /* placed at now in this cycle */
	struct {
		int64_t at; /* when a running job that could make room has run for as long as its move costs */
		VEC(struct moved) made; /* running jobs that were given another place in this pass */
	} moves;
	struct fill fill;
	job_vec reserved;     /* transient reservations of common jobs: not promises */
	int64_t next_planned; /* the earliest of the kept reservations */
	struct {
		int64_t next_edge;   /* when one begins or ends next */
		VEC(uint32_t) begun; /* the ids of those that have begun, and are not over, by then */
	} fences;
	uint32_t head;	    /* the first job that could not start, or JOB_NONE */
	bool reserves_more; /* the last full pass had reservations left for jobs that come later */
	struct window window;
	failure_vec failures;
	bool freed;    /* something ended, moved or changed since the last full pass */
	int64_t dirty; /* ... and what became free lies before this instant */
	bool drain;    /* a starving job waits for the machine to empty */
	struct history history;
	struct heap expiry;    /* KNOW_PREDICTION: when predictions of running jobs pass */
	VEC(int32_t) nodes;    /* scratch of an event */
	struct limits *limits; /* NULL: none */
	bool own_limits;       /* a copy's own */
	struct sched_stats stats;
	struct {
		int64_t begin, until; /* TIME_NEVER: there is none; its end is not known */
		bool saves;	      /* running jobs that make checkpoints, and they go on afterwards */
	} outage;
	struct line line;
	struct effort effort;
	struct sweep sweep;
	struct ears ears;
};

/* A copy over a copy of its cluster and plan, without a listener. With a scratch, the queue is in it. */
struct sched *sched_clone(const struct sched *s, struct cluster *c, struct plan *p, struct scratch *scratch);

/* The only way a job changes: applies, keeps the queues true, tells the listener. */
void sched_emit(struct sched *s, enum event_type type, uint32_t job, int64_t at, uint32_t by);
void sched_emit_detail(struct sched *s, enum event_type type, uint32_t job, int64_t at, uint32_t by,
		       const void *detail);
bool is_special(const struct job *job);
void sched_enqueue(struct sched *s, const struct job *job); /* a job begins to wait, */
void sched_dequeue(struct sched *s, const struct job *job); /* ... or stops waiting */
/* Counts what a waiting job asks for into (sign 1) or out of (-1) the queue. */
void queue_count(struct sched *s, const struct job *job, int sign);
bool has_slot(const struct job *job); /* it counts against its limits: it has a place that is remembered */
void slot_count(struct sched *s, const struct job *job, int sign);
void slot_run(struct sched *s, const struct job *job); /* it runs: its CPU-seconds fall */
void sched_at(struct sched *s, int64_t now);

void patience_begin(struct sched *s, const struct job *job); /* a common job waits: when will it starve? */

/* queue.c */
void line_copy(struct line *to, const struct line *from, struct scratch *scratch); /* what is large of it */
void line_free(struct line *l);							   /* ... is given back */
size_t line_bytes(const struct sched *s); /* what it takes of a scratch, at most */
void queue_add(struct sched *s, uint32_t job);
void queue_remove(struct sched *s, uint32_t job);
/* The same between cycles, where thousands may be deleted at once. Those that come are not sorted in at once, either: before a scan
 * queue_settle() does both for all of them together. */
void queue_leave(struct sched *s, uint32_t job);
void queue_settle(struct sched *s);
size_t queue_size(const struct sched *s);
size_t queue_find(const struct sched *s, uint32_t job);		     /* its position in by_key */
bool queue_has(const struct sched *s, uint32_t job);		     /* it waits, and not in the line of a limit */
size_t queued_find(const queued_vec *v, double key, uint32_t job);   /* the first that is not before it */
size_t queue_after(const struct sched *s, double key, uint32_t job); /* that of who comes next, also if it has left */
bool queue_is_stale(const struct sched *s);			     /* its keys may be other ones by now: */
/* ... they are computed again, and the queue is sorted by them. False: the cycle has done enough, and the next one goes on. */
bool queue_weigh(struct sched *s);
bool queue_has_fill(const struct sched *s); /* backfill has an order of its own */
struct waiting *queue_get(const struct sched *s, uint32_t job);
bool queue_before(const struct sched *s, uint32_t a, uint32_t b); /* in the policy's order */
double order_key(const struct sched *s, enum queue_order order, const struct job *job, int64_t length);

/* Whether the cycle has done enough: then it is unfinished. To be asked after something was achieved. */
bool cycle_tired(struct sched *s);
/* Whether a special job was asked about in this cycle, or in those that it goes on from; and that it was. */
bool cycle_tried(const struct sched *s, uint32_t job, unsigned what);
void cycle_try(struct sched *s, uint32_t job, unsigned what);
/* It has lost what was found for it: it is asked about again, in its turn, also if a cycle is under way. */
void cycle_untry(struct sched *s, uint32_t job);
/* Out of the queue into the line of its limits, which are reached. */
void queue_line_up(struct sched *s, uint32_t job);
bool queue_in_line(const struct sched *s, uint32_t job);
void queue_offer(struct sched *s); /* back into the queue, as limits allow */

/* pass.c: common jobs */
void starting_add(struct sched *s, uint32_t job); /* it has its place, and is started at the end of the cycle */
void cycle_start(struct sched *s);		  /* starts the jobs in s->starting */
void pass_run(struct sched *s);
void pass_yield(struct sched *s); /* those whom only soft limits hold start in what is left */
void pass_fill(struct sched *s, queued_vec *queue,
	       size_t from); /* starts every job that fits; reserved ones are passed over */
/* cover.c: the node of each of `jobs`, of which the most are to start on the fewest nodes; NODE_ANY: it has none, and goes the ordinary way */
void cover_choose(struct sched *s, const struct queued *jobs, size_t n, int32_t *ret_node);

/* greedy.c: those of `jobs` that together use the most of `room` CPUs, as indexes; how many they are */
size_t greedy_choose(const struct queued *jobs, size_t n, int64_t room, uint16_t *ret);
bool pass_reached(struct sched *s); /* a planned end or start was reached that no event has told of yet */
/* A place earlier than the one that a job has. It needs the CPUs from its start until its end or its planned start, whichever is first: from there on it holds them itself. */
struct opening {
	int64_t cpus, length, planned;
	int64_t before; /* when it would have to start, at most the planned start */
};
/* Whether the sum has such a place that begins in *step or behind it; *step: where the search ended. */
bool pass_could_start(struct sched *s, const struct opening *o, uint32_t *step);
bool pass_try_now(struct sched *s, uint32_t job, int64_t length);
/* The earliest place of a job that reserves without a promise; nobody is pushed for it. */
int64_t pass_earliest(struct sched *s, uint32_t job, int64_t from, int64_t length);
void pass_sort_fresh(struct sched *s);
void window_build(struct sched *s);
void window_renew(struct sched *s); /* if the plan has changed */
bool window_allows(const struct window *w, int64_t cpus, int64_t end);
bool failure_known(const struct sched *s, const failure_vec *v, const struct job *job, int64_t length);
void failure_note(const struct sched *s, failure_vec *v, const struct job *job, int64_t length);

/* conservative.c */
void conservative_pass(struct sched *s);

/* position.c: deadlines by position */
void position_pass(struct sched *s);

/* due.c: our order */
void due_submit(struct sched *s, struct waiting *w); /* duedate.c */
double machine_cpus(const struct sched *s);
double job_width(const struct sched *s, uint32_t job); /* a share of the machine */
void due_pass(struct sched *s);

/* nights.c: jobs that run only in certain hours */
void nights_note(struct sched *s, const struct job *job); /* it was started, or found running */
/* Whether it can't start now because of its hours; the next that suffice. */
bool nights_keep(const struct sched *s, const struct job *job, int64_t *ret_begin);
void nights_stop(struct sched *s); /* those whose hours end */
int64_t nights_wake(const struct sched *s);

/* slices.c: jobs that hold their partitions for a time at once */
void slices_note(struct sched *s, const struct job *job); /* it was started, or found running */
void slices_stop(struct sched *s);			  /* those whose time is over, if another waits */
int64_t slices_wake(const struct sched *s);

/* outage.c: jobs that can't end before an announced shutdown, and are saved then, start all the same. */
void outage_fill(struct sched *s);
/* fences.c: reservations */
void fences_reach(struct sched *s); /* at the beginning of a cycle: some may have begun or ended */
/* It is bound to a reservation that has not begun, or is over: it can't start now, whatever becomes free. */
bool fences_too_early(const struct sched *s, uint32_t job);
void depth_count(struct depth *d, const struct job *job, int places); /* it has one more, or -1 */
bool depth_reached(const struct depth *d, const struct job *job);
/* The first fence that would keep a job from running now for that long; of a bound one its own, which it waits for. False: there is none. */
bool fences_find(const struct sched *s, uint32_t job, int64_t length, struct fence *ret);

/* places.c */
void places_drop(struct sched *s);			     /* of common jobs: what was not promised makes room */
void places_ease(struct sched *s);			     /* before nodes change: what is not promised makes room */
void place_lose(struct sched *s, uint32_t job, uint32_t by); /* a job that has not started loses its place */
/* After one or more of those: guaranteed jobs among them get another place in time, before anybody else; without one the guarantee is lost. */
void places_again(struct sched *s);

/* extend.c: ... and have their full time again if it is called off, or put off. */
void extend_after_outage(struct sched *s);

/* history.c */
double history_predict(const struct sched *s, const struct job *job);	    /* easy++ */
double history_predict_mixed(const struct sched *s, const struct job *job); /* due.c */
bool history_is_small(const struct history *h, double area);
void history_wait(struct sched *s, const struct job *job, double pred);	  /* begins to wait */
void history_unwait(struct sched *s, const struct job *job, double pred); /* stops waiting */
void history_start(struct sched *s, const struct job *job);
void history_finish(struct sched *s, const struct job *job); /* it ends at s->now */
void history_fini(struct history *h);

/* special.c: starving, QoS and emergency jobs */
/* Reserved jobs whose slot can no longer hold their walltime, because the cycle comes late, are candidates again. */
void special_drop_missed(struct sched *s);
void special_starve(struct sched *s);	  /* common jobs that waited too long become starving */
bool special_full(const struct sched *s); /* as many do as may */
bool special_asks(const struct sched *s); /* one waits for a place, and was not asked about yet */
void special_place(struct sched *s);	  /* a place for every candidate that can have one */
void special_to_now(struct sched *s);	  /* reserved QoS and emergency jobs, where room is left */
/* Ends a transaction in which `by` was placed, and tells of what that did to others: removed jobs are candidates again,
 * pushed ones have new nodes. */
void special_tell(struct sched *s, plan_mark mark, uint32_t by);

/* Whom an emergency job may remove by the powers that the administrator granted. */
unsigned special_granted(const struct job *job);
/* Gives a guaranteed job that was taken out of the plan the latest place in time; false: there is none. */
bool special_replace(struct sched *s, uint32_t id);
/* Gives a job the place it was just inserted at. */
void special_allocate(struct sched *s, uint32_t id, int64_t start, plan_mark mark);

/* victims.c: running jobs whose places emergency jobs need */
void victims_note(struct sched *s, uint32_t job, uint32_t by, int64_t before); /* its planned end was changed */
/* Whether all running jobs that were cut short since the mark, to make room at that time, can have ended by then: only that can be promised. */
bool victims_in_time(const struct sched *s, plan_mark mark, int64_t at);
void victims_release(struct sched *s); /* in a transaction: those for whom there is room run to their ends again */
void victims_review(struct sched *s);  /* spares those whose places are no longer needed */
void victims_stop(struct sched *s);    /* those whose time has come */
bool victims_has(const struct sched *s, uint32_t job);
int64_t victims_end(const struct sched *s, uint32_t job); /* when a running job would end if it were not stopped */
void victims_full(struct sched *s, uint32_t job, int64_t full); /* it has another walltime */
int64_t victims_wake(const struct sched *s);
void victims_restore(struct sched *s, const struct job *job);

/* items.c: of places that are kept (policy.position) */
uint64_t places_hash(const struct sched *s, uint32_t job); /* equal if its fragments are on the same nodes */
void places_tell(struct sched *s);			   /* those that have changed are events */
void place_forget(struct sched *s, uint32_t job); /* a job loses the one that it was told of, if there is one */

/* displace.c: before nodes are booked for something else; restarts are booked again around it in the next pass */
void restarts_forget(struct sched *s);

/* migrate.c */
bool migrate_for(struct sched *s, uint32_t job, int64_t length);
void migrate_start(struct sched *s); /* those that were moved in this cycle are stopped, and started elsewhere */

/* What it takes of its limits. */
static inline struct limit_need sched_need(const struct sched *s, const struct job *job)
{
	return limit_need_job(s->c, job, sched_cpus(s, job->id));
}

/* Whether its limits allow it a place. */
static inline bool sched_may(const struct sched *s, uint32_t job)
{
	const struct job *x = cluster_job(s->c, job);
	struct limit_need need;

	if (!s->limits || !limits_any(s->limits))
		return true;
	need = sched_need(s, x);
	if (s->line.yields || x->kind != KIND_COMMON) /* those that reserve by right are held by hard limits alone */
		return limits_allow_hard(s->limits, x->limits, &need);
	return limits_allow(s->limits, x->limits, &need);
}

static inline int64_t sched_length(const struct sched *s, const struct job *job)
{
	return cluster_length(s->c, job);
}

/* Seconds of its place beyond its walltime. */
static inline int64_t sched_overhead(const struct sched *s, const struct job *job)
{
	return sched_length(s, job) - job->walltime;
}

#endif
