/*
 * sched_internal.h - the scheduler's own state, shared by the files of sched/.
 *
 * All of it is derived and could be rebuilt from the jobs and their events.
 */
#ifndef SCHED_SCHED_INTERNAL_H
#define SCHED_SCHED_INTERNAL_H

#include "base/heap.h"
#include "base/map.h"
#include "base/scratch.h"
#include "rules/limit.h"
#include "sched/entrance.h"
#include "sched/ranks.h"
#include "sched/sched.h"
#include "sched/shadow.h"
#include "sched/sizes.h"

struct cursor; /* cursor.h */

#define WAITING_NONE UINT32_MAX /* job.waiting of a job that has no record in the queue */

/* A waiting common job. */
struct waiting {
	double key, fill; /* keys in the policy's order and in the backfill order */
	double next;	  /* key once all jobs have been weighed (queue_weigh) */
	int64_t length;	  /* planned length, seconds */
	double pred;	  /* predicted run time in seconds, where the policy predicts */
	double due;	  /* instant from which the job is overdue (due.c) */
	uint32_t job;
	bool sorted;	/* in the sorted lists; otherwise still in `came` */
	bool fresh;	/* arrived since the last cycle */
	bool wide;	/* in `wide` of the line */
	bool line;	/* waiting for a limit: out of the sorted lists, with its keys preserved */
	uint8_t size;	/* size_class() */
	int64_t kept;	/* start of the announced place (EVENT_KEEP); TIME_NEVER: none */
	uint64_t where; /* nodes of the announced place: places_hash() */
	/* next change of the plan (trail.h) when the place was known to be the best; 0: unknown */
	uint64_t seen;
};

/* The most CPUs that stay free from now until an instant, falling step by step. Exact on one
 * node, otherwise an upper bound. */
#define WINDOW_STEPS 8

struct window {
	int64_t until[WINDOW_STEPS]; /* latest end of a job in step i */
	int64_t cpus[WINDOW_STEPS];  /* CPUs that such a job may have */
	int n;
	bool exact;	  /* an allowed job is sure to fit */
	uint64_t version; /* version of the plan that the window was built from */
};

/* A request that could not be placed, now or at all. No request that asks for at least as much
 * can be placed until something is freed. */
struct failure {
	uint32_t request;
	uint32_t allowed; /* set of nodes that were tried */
	uint32_t keys, bound;
	uint32_t nfrags;
	struct res need; /* needs of each fragment, if uniform */
	int64_t length;
	bool uniform;
	/* the request was for a partition; says nothing about jobs without one, and vice versa */
	bool parted;
};

typedef VEC(struct failure) failure_vec;

/* Places that waiting jobs hold at once, at most `most` (0: no limit). Places of jobs bound to a
 * reservation are of no use to others, so each reservation has a count of its own. */
struct depth {
	int64_t most, common;
	VEC(struct bound_places {
		uint32_t bound;
		int64_t n;
	}) bound;
};

/* A running job whose place an emergency job needs later; it continues until then. */
struct victim {
	uint32_t job, by;
	int64_t full; /* planned end before it was cut short */
	uint16_t attempt;
};

/* A guaranteed job that has lost its place to another (places.c). */
struct lost {
	uint32_t job, by;
};

/* A running job that will be displaced, and the partition booked for its restart (position.c). */
struct restart {
	uint32_t job, partition;
	int64_t start;
};

/* State of position.c. */
struct position {
	VEC(struct restart) restarts;
	struct heap slices; /* (end of time slice, job, attempt) */
	VEC(struct slice {
		uint32_t job;
		uint16_t attempt;
		/* jobs past their time slice that run until another waits for their partition: slices.c */
	}) over;
	/* (stop time, job, attempt) of jobs whose hours end before they do: nights.c */
	struct heap nights;
	bool recount; /* a waiting job was removed */
	bool moved;   /* a waiting job changed its rank */
	bool nices;   /* some waiting jobs may be nice */
};

#define DUE_SMALL 0.01 /* jobs that together hold less than this share of finished work are small */
#define AREA_BINS 512  /* eight per octave */

/* Statistics of finished and waiting jobs, for predictions and due dates. p: run time, q: CPUs. */
struct history {
	struct map last; /* hash of (user, ...) -> index into pairs */
	VEC(struct last_two {
		double run[2];
		uint32_t n;
	}) pairs;
	int64_t finished;	   /* number of finished jobs */
	double work;		   /* sum of p q over finished jobs */
	double work_length;	   /* sum of p p q over finished jobs */
	double work_pred;	   /* sum of pred q over finished jobs */
	double queued_pred;	   /* sum of pred q over waiting jobs */
	double work_wide;	   /* sum of p q over finished jobs of more than a quarter of the machine */
	double longest_wait;	   /* longest wait of any started job, seconds */
	double work_in[AREA_BINS]; /* finished work by area */
	double work_below;	   /* finished work in the bins below small_bin */
	int small_bin;
};

/* Waiting common jobs. */
struct line {
	VEC(struct waiting) waiting; /* indexed by job->waiting */
	bool borrowed;		     /* `waiting` is in a scratch */
	VEC(uint32_t) spare;	     /* free records of `waiting` */
	size_t kept;		     /* records with an announced place */
	struct ranks by_key;	     /* all waiting common jobs in the policy's order, for a cursor */
	struct ranks by_fill;	     /* the same in backfill order, if that differs */
	job_vec came;		     /* jobs not yet in those lists; may include some that left again */
	bool mixed;		     /* `came` and `fresh` may name jobs that left since queue_settle() */
	bool yields;		     /* ignore soft limits: no other job can use the free resources */
	struct ranks by_due;	     /* all waiting common jobs by due date (due.c) */
	job_vec wide;		     /* jobs that need more than half of the machine, by arrival (due.c) */
	/* (when it starves, job) of waiting common jobs; may contain stale entries */
	struct heap patience;
	bool bound;	    /* some jobs may be bound to a reservation */
	bool reweigh;	    /* priorities have changed: the lists must be sorted again */
	bool drifts;	    /* priorities also change with time */
	int64_t weighed;    /* instant for which time-dependent keys were computed */
	bool weighing;	    /* keys are being computed for it, possibly over several cycles */
	size_t weighed_to;  /* number of records whose keys have been computed */
	bool ordered;	    /* keys were computed in this cycle or in those that it continues */
	double queued_area; /* CPU-seconds requested by waiting jobs */
	/* common jobs that came since the last cycle; before queue_settle() also some that left
	 * again */
	job_vec fresh;
};

/* Stages of a cycle. */
enum stage { STAGE_SPECIAL, STAGE_COMMON, STAGE_TO_NOW };

/* Progress of the present cycle, and the limit of its work (sched_pace). */
struct effort {
	uint64_t pace, began; /* sched_pace(); plan.work when this cycle, or its pass, began */
	/* the cycle ended while filling the gaps between reservations, which stay for the next one
	 * (due.c) */
	bool filling;
	bool unfinished;  /* the cycle ended early */
	enum stage stage; /* stage at which it ended */
	uint64_t left;	  /* value of `freeings` when it ended */
	int starving;	  /* progress with starving jobs: special.c */
	int moves;	  /* blocked jobs for which moves were tried: migrate.c */
	struct map tried; /* special jobs tried by this cycle and those that it continues: TRIED_... */
	struct {
		uint32_t job; /* JOB_NONE: none */
		unsigned may;
		int64_t next;
	} search; /* search for a special job's place, to be continued in the next cycle */
	/* number of times that resources were freed; its value when the first of those cycles
	 * began */
	uint64_t freeings, seen;
};

enum { TRIED_PLACE = 1, TRIED_NOW = 2 }; /* for any place; for an earlier one, now */

/* A pass over the queue where every job reserves; may take several cycles (conservative.c). */
struct sweep {
	bool on;
	double key; /* key of the last job examined */
	uint32_t job;
	int64_t dirty, moved; /* resources freed before the sweep, and by it, lie before these instants */
	failure_vec nowhere;  /* requests that have no place at all; they keep no other job from one */
};

/* A scan for jobs that fill the gaps between reservations; may take several cycles (pass.c). */
struct fill {
	bool on;    /* the scan continues, if nothing was freed meanwhile */
	bool due;   /* something was freed since the last scan (pass_fill_behind) */
	double key; /* the scan continues with the first job not before this key */
	uint32_t job;
	uint32_t head; /* job with the first reservation; JOB_NONE: the scan starts again */
	bool over;     /* the scan has reached the end of the queue */
	int again;     /* number of interrupted scans in a row that were given up and started again */
};

/* Callbacks. */
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
	struct marks *marks; /* NULL: nobody watches */
	sched_weigh weigh;   /* NULL: the policy's order applies */
	sched_prepare prepare;
	void *weigh_context;
};

struct moved {
	uint32_t job, by;
};

#define FIRM_MAX 12 /* maximum of due_rule.firm */

/* Constants of the order by due date (duedate.c). T: work-weighted mean run time, w: width. */
struct due_rule {
	double span_backlog; /* share in the span of the time that the queue's work would take */
	/* a job's span falls by span_width w^2 of it and by span_runs T w^2, at most to span_least
	 * of it */
	double span_width, span_runs, span_least;
	double key_width;   /* a job sorts earlier by this times T sqrt(w) */
	double relax;	    /* maximum relaxation, as a share of the reservation's distance */
	double share_drain; /* how much later a wide job may be due to share a drain, in spans of the first job */
	int firm;	    /* maximum reservations of overdue jobs on a single node */
};

/* due.c: state of common jobs ordered by due date. */
struct due {
	struct due_rule rule;
	double later;	       /* how much longer all spans are, as a share of them */
	bool wide;	       /* wide jobs do much of the work */
	uint32_t newest;       /* job that was submitted last while few had finished */
	double newest_rank;    /* its rank */
	int64_t review;	       /* when that is asked again */
	struct shadow *shadow; /* EASY beside it; NULL: not followed, or a copy */
	bool dates;	       /* jobs are ordered by due date */
	int overdue;	       /* number of jobs that were overdue in the last pass */
	int64_t idle_now;      /* CPUs free when reservations are made */
	double planned;	       /* processor-seconds planned from planned_at on, by the plan's version below */
	int64_t planned_at;
	uint64_t planned_version; /* 0: not computed yet */
	/* predicted run time, in seconds, of jobs that left the queue and have not ended */
	struct map pred;
};

struct sched { /* memory owned here is copied by sched_clone() and freed by sched_destroy() */
	struct cluster *c;
	struct plan *p;
	const struct policy *policy;
	struct manner plain; /* how the policy places jobs, without powers */
	struct nodeset open; /* nodes that are neither drained nor paused; allocated on first use */
	uint32_t nclosed;    /* number of other nodes; 0: plain.on is NULL */
	enum queue_order order,
		backfill; /* orders of common jobs: the policy's, unless settings.starve_after says otherwise */
	bool starving;	  /* common jobs that waited too long become starving */
	int64_t now;
	struct due due;
	job_vec special;       /* waiting starving, QoS and emergency jobs, FIFO */
	job_vec newcomers;     /* special jobs that came since the last cycle */
	VEC(struct lost) lost; /* guaranteed jobs that are temporarily not in the plan (places_again) */
	/* victims of emergency jobs, to be stopped when their places are needed (victims.c) */
	VEC(struct victim) victims;
	struct position position;
	bool stirred;	  /* something was freed or reserved since special_to_now() */
	job_vec starting; /* jobs placed at `now` in this cycle */
	struct {
		/* when a running job that could make room will have run for as long as its move
		 * costs */
		int64_t at;
		VEC(struct moved) made; /* running jobs that were given another place in this pass */
	} moves;
	struct fill fill;
	job_vec reserved;     /* common jobs with transient reservations, which are not promises */
	int64_t next_planned; /* earliest start of the kept reservations */
	struct {
		int64_t next_edge;   /* next instant at which a fence begins or ends */
		VEC(uint32_t) begun; /* ids of the fences in force until then */
	} fences;
	uint32_t head;	    /* first job that could not start, or JOB_NONE */
	bool reserves_more; /* the last full pass had reservations left for jobs that come later */
	struct window window;
	failure_vec failures;
	struct sizes sizes;
	bool freed;    /* something ended, moved or changed since the last full pass */
	int64_t dirty; /* upper bound of the instants at which resources were freed */
	bool drain;    /* a starving job waits for the machine to empty */
	struct history history;
	struct heap expiry;    /* KNOW_PREDICTION: when predictions of running jobs pass */
	VEC(int32_t) nodes;    /* scratch for the nodes of an event */
	struct limits *limits; /* NULL: no limits */
	bool own_limits;       /* `limits` belongs to this copy */
	struct sched_stats stats;
	struct {
		int64_t begin, until; /* TIME_NEVER: no outage (begin), unknown end (until) */
		bool saves;	      /* running jobs that make checkpoints are saved and continue afterwards */
	} outage;
	struct line line;
	struct effort effort;
	struct sweep sweep;
	struct ears ears;
};

/* Copies a scheduler onto a copy of its cluster and plan, without a listener. With a scratch,
 * the queue is allocated in it. */
struct sched *sched_clone(const struct sched *s, struct cluster *c, struct plan *p, struct scratch *scratch);

/* Changes a job's state, and is the only way to do so: applies the event, updates the queues,
 * calls the listener. */
void sched_emit(struct sched *s, enum event_type type, uint32_t job, int64_t at, uint32_t by);
void sched_emit_detail(struct sched *s, enum event_type type, uint32_t job, int64_t at, uint32_t by,
		       const void *detail);
bool is_special(const struct job *job);
void sched_enqueue(struct sched *s, const struct job *job); /* adds a job that begins to wait */
void sched_dequeue(struct sched *s, const struct job *job); /* removes a job that stops waiting */
/* Adds a waiting job's request to the queue's totals (sign 1) or subtracts it (-1). */
void queue_count(struct sched *s, const struct job *job, int sign);
/* counts against its limits: it has a place that is remembered */
bool has_slot(const struct job *job);
void slot_count(struct sched *s, const struct job *job, int sign);
void slot_run(struct sched *s, const struct job *job); /* the job runs: its CPU-seconds fall */
void sched_at(struct sched *s, int64_t now);

/* computes when a common job that begins to wait will starve */
void patience_begin(struct sched *s, const struct job *job);

/* queue.c */
/* copies the large parts */
void line_copy(struct line *to, const struct line *from, struct scratch *scratch);
void line_free(struct line *l);		  /* frees the large parts */
size_t line_bytes(const struct sched *s); /* upper bound of the scratch memory needed */
void queue_add(struct sched *s, uint32_t job);
void queue_remove(struct sched *s, uint32_t job);
void queue_reclass(struct sched *s, uint32_t job); /* the nodes that the job may use have changed */
/* Sorts in the jobs that came, all of them together; to be called before a scan. */
void queue_settle(struct sched *s);
/* Drops jobs that left since queue_settle() from `fresh`. */
void queue_settle_fresh(struct sched *s);
size_t queue_size(const struct sched *s);
struct queued *queue_entry(const struct sched *s, uint32_t job); /* in by_key; of a sorted job */
bool queue_has(const struct sched *s, uint32_t job);		 /* waits, and not for a limit */
bool queue_is_stale(const struct sched *s);			 /* keys may have changed */
/* Computes the keys again and sorts the queue by them. Returns false if the cycle has done
 * enough; the next one continues. */
bool queue_weigh(struct sched *s);
bool queue_has_fill(const struct sched *s); /* backfill has an order of its own */
struct waiting *queue_get(const struct sched *s, uint32_t job);
bool queue_before(const struct sched *s, uint32_t a, uint32_t b); /* in the policy's order */
/* Returns the key of a job in the policy's order, which need not be that of the list (cursor.h). */
double queue_key(const struct sched *s, const struct waiting *w);

/* Returns true if the cycle has done enough, and marks it unfinished. Call it only after some
 * progress. */
bool cycle_tired(struct sched *s);
/* cycle_tried() returns true if a special job was tried in this cycle or in those that it
 * continues; cycle_try() records it. */
bool cycle_tried(const struct sched *s, uint32_t job, unsigned what);
void cycle_try(struct sched *s, uint32_t job, unsigned what);
/* Marks a job that lost its place as untried: it is considered again in its turn, also in a
 * cycle under way. */
void cycle_untry(struct sched *s, uint32_t job);
/* Moves a job whose limits are reached from the queue to the line of those limits. */
void queue_line_up(struct sched *s, uint32_t job);
bool queue_in_line(const struct sched *s, uint32_t job);
void queue_offer(struct sched *s); /* moves jobs back into the queue, as limits allow */

/* pass.c: common jobs */
/* the job has its place, and is started at the end of the cycle */
void starting_add(struct sched *s, uint32_t job);
void cycle_start(struct sched *s); /* starts the jobs in s->starting */
void pass_run(struct sched *s);
void pass_yield(struct sched *s); /* starts jobs that only soft limits hold back, in what is left */
/* starts every job that fits; reserved ones are passed over */
void pass_fill(struct sched *s, const struct ranks *queue);
/* Records the position of a scan that ends early, at the entry `e` with this key in the scan's
 * order (NULL: at the end): the next cycle continues there, unless it starts again. */
void pass_fill_leave(struct sched *s, const struct queued *e, double key);
/* Returns true if a scan that has started no job may end early: not if it was started again too
 * often, since the jobs at the end must have their turn. */
bool pass_fill_tired(struct sched *s);
/* Continues the scan of the last cycle. Nothing was freed since, so the jobs before that position
 * need not be tried. */
void pass_fill_resume(struct sched *s);
/* With a policy that covers, starts jobs that fit beside the reservations on nodes chosen for them
 * together. Returns false if the cycle has done enough. */
bool pass_fill_cover(struct sched *s, const struct cursor *from);
#define COVER_JOBS 64 /* maximum jobs that get their nodes together */
/* Returns true if a job at the head of the queue may get its node together with others. */
bool pass_cover_takes(struct sched *s, const struct queued *e);
/* Chooses nodes for the first jobs, at most COVER_JOBS, together, and starts them: those that could
 * start in the ordinary way, and further ones as long as a cover of all exists. Returns true if
 * any starts. */
bool pass_cover(struct sched *s, const queued_vec *lead);
/* cover.c: chooses nodes for `jobs` so that the most start on the fewest nodes. NODE_ANY: the
 * job gets none and is placed in the ordinary way. */
void cover_choose(struct sched *s, const struct queued *jobs, size_t n, int32_t *ret_node);

/* greedy.c: chooses those of `jobs` that together use the most of `room` CPUs. Writes their
 * indexes and returns their number. */
size_t greedy_choose(const struct queued *jobs, size_t n, int64_t room, uint16_t *ret);
bool pass_reached(struct sched *s); /* a planned end or start has come without an event so far */
bool pass_try_now(struct sched *s, uint32_t job, int64_t length);
bool pass_start(struct sched *s, uint32_t job); /* starts a waiting job if it fits now */
/* Where every job reserves, starts those behind the reservation depth that fit beside all places.
 * A scan that ends early is continued by the next call. */
void pass_fill_behind(struct sched *s);
/* Finds the earliest place of a job that reserves without a promise. No other job is pushed for
 * it. */
int64_t pass_earliest(struct sched *s, uint32_t job, int64_t from, int64_t length);
void pass_sort_fresh(struct sched *s);
void window_build(struct sched *s);
void window_renew(struct sched *s); /* rebuilds the window if the plan has changed */
bool window_allows(const struct window *w, int64_t cpus, int64_t end);
bool failure_known(const struct sched *s, const failure_vec *v, const struct job *job, int64_t length);
void failure_note(const struct sched *s, failure_vec *v, const struct job *job, int64_t length);

/* conservative.c */
void conservative_pass(struct sched *s);

/* Findings of a sweep: no job of cpus[i] CPUs that is at least length[i] long and planned no
 * earlier than planned[i] can start before before[i]. Entries are hashed by CPUs and approximate
 * length. */
enum { CLOSED = 64 };
struct closed {
	int64_t cpus[CLOSED], length[CLOSED], planned[CLOSED], before[CLOSED];
};
/* Returns the first instant before e->planned at which the sum leaves room for the job to start,
 * given what was freed: at most `most` CPUs at any instant before `dirty`. TIME_NEVER: none. */
int64_t earlier_start(struct sched *s, const struct queued *e, int64_t dirty, int64_t most, struct closed *k);
/* Returns the most CPUs free at any instant of [from, until), or `most` if that is more. */
int64_t most_freed(struct sched *s, int64_t from, int64_t until, int64_t most);
void closed_moved(struct closed *k, int64_t start); /* to be called after a job left its place at `start` */

/* position.c: deadlines by position in the queue */
void position_pass(struct sched *s);
/* Returns true if a common job starts only at its own place, not in a gap that others leave. */
bool position_keeps(const struct sched *s, const struct job *job);

/* due.c: order by due date */
void due_submit(struct sched *s, struct waiting *w); /* duedate.c */
/* duedate.c: chooses the rule by what was observed up to now */
void due_tune(struct sched *s);
/* duedate.c: reports an event that was applied to a job */
void due_watch(struct sched *s, const struct job *job, enum event_type type, bool waited);
/* duedate.c: lets the shadow follow a job that waited or ran before a restart */
void due_follow(struct sched *s, const struct job *job);
double machine_cpus(const struct sched *s);
double job_width(const struct sched *s, uint32_t job); /* share of the machine */
void due_pass(struct sched *s);

/* nights.c: jobs that run only in certain hours */
/* called when the job was started or found running */
void nights_note(struct sched *s, const struct job *job);
/* Returns true if its hours keep the job from starting now, and writes when the next sufficient
 * ones begin. */
bool nights_keep(const struct sched *s, const struct job *job, int64_t *ret_begin);
void nights_stop(struct sched *s); /* stops jobs whose hours end */
int64_t nights_wake(const struct sched *s);

/* slices.c: jobs that hold their partitions for one time slice at once */
/* called when the job was started or found running */
void slices_note(struct sched *s, const struct job *job);
void slices_stop(struct sched *s); /* stops jobs whose slice is over, if another waits */
int64_t slices_wake(const struct sched *s);

/* outage.c: starts jobs that cannot end before an announced shutdown and will be saved then. */
void outage_fill(struct sched *s);
/* fences.c: reservations */
/* at the beginning of a cycle: handles fences that have begun or ended */
void fences_reach(struct sched *s);
/* Returns true if the job is bound to a reservation that has not begun or is over: it cannot
 * start now, whatever becomes free. */
bool fences_too_early(const struct sched *s, uint32_t job);
/* adds 1 or -1 places of the job */
void depth_count(struct depth *d, const struct job *job, int places);
bool depth_reached(const struct depth *d, const struct job *job);
/* Returns true if no further job gets a place. */
bool depth_full(const struct sched *s, const struct depth *d);
/* Finds the first fence that would keep a job from running now for that long; for a bound job
 * its own, which it waits for. Returns false if there is none. */
bool fences_find(const struct sched *s, uint32_t job, int64_t length, struct fence *ret);

/* places.c */
void places_drop(struct sched *s); /* drops places of common jobs that were not promised */
void places_ease(struct sched *s); /* drops places that were not promised, before nodes change */
/* takes the place of a job that has not started */
void place_lose(struct sched *s, uint32_t job, uint32_t by);
/* Gives guaranteed jobs that lost their places to the above another one in time, before any
 * other job is placed. Without one the guarantee is lost. */
void places_again(struct sched *s);

/* extend.c: restores the full time of jobs if an outage is cancelled or postponed. */
void extend_after_outage(struct sched *s);

/* history.c */
double history_predict(const struct sched *s, const struct job *job);	    /* policy easy++ */
double history_predict_mixed(const struct sched *s, const struct job *job); /* for due.c */
bool history_is_small(const struct history *h, double area);
void history_wait(struct sched *s, const struct job *job, double pred); /* the job begins to wait */
/* the job stops waiting */
void history_unwait(struct sched *s, const struct job *job, double pred);
void history_start(struct sched *s, const struct job *job);
void history_finish(struct sched *s, const struct job *job); /* the job ends at s->now */
void history_fini(struct history *h);

/* special.c: starving, QoS and emergency jobs */
/* Makes reserved jobs candidates again if the cycle is so late that their slot can no longer
 * hold their walltime. */
void special_drop_missed(struct sched *s);
/* turns common jobs that waited too long into starving ones */
void special_starve(struct sched *s);
bool special_full(const struct sched *s); /* the maximum number of jobs is starving */
/* a special job waits for a place and was not tried yet */
bool special_asks(const struct sched *s);
void special_place(struct sched *s); /* places every candidate that can have a place */
/* moves reserved QoS and emergency jobs to now, where room is left */
void special_to_now(struct sched *s);
/* Ends a transaction in which `by` was placed, and emits the effects on other jobs: removed ones
 * are candidates again, pushed ones have new nodes. */
void special_tell(struct sched *s, plan_mark mark, uint32_t by);

/* Returns the jobs that an emergency job may remove by the powers that the administrator
 * granted. */
unsigned special_granted(const struct job *job);
/* Gives a guaranteed job that was taken out of the plan the latest place in time. Returns false
 * if there is none. */
bool special_replace(struct sched *s, uint32_t id);
/* Gives a job the place at which it was just inserted. */
void special_allocate(struct sched *s, uint32_t id, int64_t start, plan_mark mark);

/* victims.c: running jobs whose places emergency jobs need */
/* the job's planned end was changed */
void victims_note(struct sched *s, uint32_t job, uint32_t by, int64_t before);
/* Returns true if all running jobs that were cut short since the mark, to make room at `at`, can
 * have ended by then: only that can be promised. */
bool victims_in_time(const struct sched *s, plan_mark mark, int64_t at);
/* in a transaction: lets victims run to their ends again where there is room */
void victims_release(struct sched *s);
void victims_review(struct sched *s); /* spares victims whose places are no longer needed */
void victims_stop(struct sched *s);   /* stops victims whose time has come */
bool victims_has(const struct sched *s, uint32_t job);
/* when a running job would end if it were not stopped */
int64_t victims_end(const struct sched *s, uint32_t job);
void victims_full(struct sched *s, uint32_t job, int64_t full); /* the job has another walltime */
int64_t victims_wake(const struct sched *s);
void victims_restore(struct sched *s, const struct job *job);

/* items.c: kept places (policy.position) */
/* equal if the job's fragments are on the same nodes */
uint64_t places_hash(const struct sched *s, uint32_t job);
void places_tell(struct sched *s); /* emits events for places that have changed */
/* withdraws the announced place of a job, if there is one */
void place_forget(struct sched *s, uint32_t job);

/* displace.c: unbooks all restarts, before nodes are booked for something else; the next pass
 * books them again around it */
void restarts_forget(struct sched *s);

/* migrate.c */
bool migrate_for(struct sched *s, uint32_t job, int64_t length);
/* stops the jobs that were moved in this cycle, and starts them elsewhere */
void migrate_start(struct sched *s);

/* Returns what the job takes of its limits. */
static inline struct limit_need sched_need(const struct sched *s, const struct job *job)
{
	return limit_need_job(s->c, job, sched_cpus(s, job->id));
}

/* Returns true if the job's limits allow it a place. */
static inline bool sched_may(const struct sched *s, uint32_t job)
{
	const struct job *x = cluster_job(s->c, job);
	struct limit_need need;

	if (!s->limits || !limits_any(s->limits))
		return true;
	need = sched_need(s, x);
	/* only hard limits apply to jobs that reserve by right */
	if (s->line.yields || x->kind != KIND_COMMON)
		return limits_allow_hard(s->limits, x->limits, &need);
	return limits_allow(s->limits, x->limits, &need);
}

static inline int64_t sched_length(const struct sched *s, const struct job *job)
{
	return cluster_length(s->c, job);
}

/* Returns the seconds by which the job's place is longer than its walltime. */
static inline int64_t sched_overhead(const struct sched *s, const struct job *job)
{
	return sched_length(s, job) - job->walltime;
}

#endif
