/*
 * sched.h - the scheduler: told what happened, it decides what starts.
 *
 * It is pure: `now` is an argument, nothing is read or written elsewhere, and the same calls give the same decisions. The
 * server and the simulator call the same functions. Everything it does to a job is an event, applied to the job and
 * handed to the listener.
 */
#ifndef SCHED_SCHED_H
#define SCHED_SCHED_H

#include <stdint.h>

#include "core/cluster.h"
#include "plan/plan.h"
#include "sched/policy.h"

struct sched;
struct limits; /* rules/limit.h */

/* Called with every event after it was applied; the event and its nodes are borrowed for the call. */
typedef void (*sched_listener)(void *context, const struct event *event);

/* Works on the cluster's jobs and the plan, which are borrowed. */
struct sched *sched_create(struct cluster *c, struct plan *p, const struct policy *policy);
void sched_destroy(struct sched *s);
void sched_listen(struct sched *s, sched_listener listener, void *context);

/* No job gets a place beyond these limits (job.limits), but by sched_run(). They are borrowed; what they count is set by sched_restore() and kept from then
 * on. When they are changed: sched_refresh(). */
void sched_limit(struct sched *s, struct limits *limits);
/* A waiting job could not be given a place now since a limit is reached. */
bool sched_limited(const struct sched *s, uint32_t job);

/* Asked how many seconds a running job takes to end, at most, once it is stopped; NULL: none. */
typedef int64_t (*sched_delay)(void *context, uint32_t job);
void sched_on_delay(struct sched *s, sched_delay delay, void *context);

/* Asked how many seconds are lost when a running job is stopped and started elsewhere from its checkpoint; < 0: it stays where it is. NULL: so do all, unless
 * settings.migrate_cost says otherwise. */
typedef int64_t (*sched_move)(void *context, uint32_t job);
void sched_on_move(struct sched *s, sched_move move, void *context);

/* Asked for the priority of a common job: the highest comes first, in backfill too, and of equals the one submitted first. It takes the place of the policy's order; to be set
 * before there are jobs, and not for a policy by position. If it `drifts`, time alone changes who comes first: then it is asked for again when something was freed, ten seconds after the last time or later. */
typedef double (*sched_weigh)(void *context, uint32_t job, int64_t now);
/* Called before it asks for the priorities of all jobs; NULL: nothing is to be prepared. */
typedef void (*sched_prepare)(void *context, int64_t now);
void sched_on_weigh(struct sched *s, sched_weigh weigh, sched_prepare prepare, bool drifts, void *context);
void sched_reweigh(struct sched *s, bool drifts); /* something else than time has changed the priorities */

/* Called where a common job could not start although the sum of free CPUs was enough, with the plan as it then is, which
 * it may read: for experiments. NULL: nobody is told. */
typedef void (*sched_blocked)(void *context, const struct plan *p, uint32_t job, int64_t length);
void sched_on_blocked(struct sched *s, sched_blocked blocked, void *context);

/* What happened. Each is an event of the job; decisions follow at the next cycle. `detail` is handed to the listener as the
 * event's: what else is known of it. */
/* A job in STATE_NEW, filled in. `when` may be in the past: it was submitted while nobody was there to take it. */
void sched_submit(struct sched *s, uint32_t job, int64_t when);
void sched_started(struct sched *s, uint32_t job, int64_t now);
void sched_start_failed(struct sched *s, uint32_t job, int64_t now, const void *detail);
void sched_finish(struct sched *s, uint32_t job, int64_t now, const void *detail); /* it ran job->start .. now */
/* A running job was stopped and is to run again. */
void sched_requeue(struct sched *s, uint32_t job, int64_t now, const void *detail);
/* It is still there although its planned end has come: it holds what it has until `until`, and whoever was reserved there
 * meanwhile is a candidate again. To be told before a cycle; the scheduler takes a planned end for an end otherwise. False: it was cut short for another, which keeps its
 * place, and the next cycle stops it. */
bool sched_overrun(struct sched *s, uint32_t job, int64_t until, int64_t now);
#define SCHED_OVERRUN 2 /* seconds by which it is prolonged at a time */
/* A running job, or one that is being started, has another walltime (job->walltime, changed before) and is planned to end at `until`, which is after now.
 * Reserved jobs that this leaves no room for at their time, on whichever nodes, lose their places. */
void sched_set_end(struct sched *s, uint32_t job, int64_t until, int64_t now);
/* Whether that would delay nobody who has a place in the plan. If it would: for whom, and until when it may run all the same. Nothing is changed. */
struct obstacle {
	uint32_t job; /* JOB_NONE: its node is needed by nobody in particular */
	int64_t until;
};
bool sched_may_extend(struct sched *s, uint32_t job, int64_t until, int64_t now, struct obstacle *ret);
void sched_delete(struct sched *s, uint32_t job, int64_t now, const void *detail);
void sched_hold(struct sched *s, uint32_t job, int64_t now);
void sched_release(struct sched *s, uint32_t job, int64_t now);
/* A waiting job is taken out of the queue, so that what the scheduler knows of it can be changed, and put back. It loses the
 * place it had. */
void sched_withdraw(struct sched *s, uint32_t job, int64_t now);
void sched_readmit(struct sched *s, uint32_t job, int64_t now);
/* As sched_withdraw() before another rank, which a guaranteed job's place does not depend on: it keeps that. */
void sched_rank_begin(struct sched *s, uint32_t id, int64_t now);
void sched_rank(struct sched *s); /* ... with another rank: all that wait are put in order again */
/* A job may use the nodes of a set from now on (cluster_nodeset). A place on another node is taken from it. */
void sched_allow(struct sched *s, uint32_t job, uint32_t allowed, int64_t now);
/* A waiting job starts at once where there is room for it, before its turn; on the nodes of the set `on`, whatever it may use otherwise; NODES_ALL: where
 * it may. False: there is no room. */
bool sched_run(struct sched *s, uint32_t job, uint32_t on, int64_t now);
/* A job whose events were folded by others (job_apply, plan_apply), at recovery: it is taken over as it is. In the order of
 * submission for those that wait and of their ends for those that have ended, whose run times are remembered. */
void sched_restore(struct sched *s, uint32_t job, int64_t now);
/* A node goes down (its jobs go back to the candidates) or comes up. */
void sched_node(struct sched *s, uint32_t node, bool up, int64_t now);
/* Nothing new starts on a node (its running jobs go on), or may again. */
void sched_drain(struct sched *s, uint32_t node, bool drain, int64_t now);
/* Nothing new is placed on a node for the moment, or may be again; unlike one that is drained, it keeps what is reserved there. */
void sched_pause(struct sched *s, uint32_t node, bool pause, int64_t now);

/* A node leaves at an instant, or stays after all (TIME_NEVER): no job is placed there that would last longer. What runs there goes on;
 * what is reserved there for longer loses its place. */
void sched_leaves(struct sched *s, uint32_t node, int64_t at, int64_t now);

/* The machine is down from an instant on (TIME_NEVER: it is not) until another (TIME_NEVER: nobody knows when): no job is placed anywhere that would last into it. `saves`:
 * jobs that make checkpoints are saved then and go on afterwards: one that has no place before may start all the same. */
void sched_outage(struct sched *s, int64_t begin, int64_t until, bool saves, int64_t now);

/* Nodes that only some jobs may use over an interval (plan/fence.h), in the place of those that were there before; sorted or not, those of a node apart from each other. Jobs that
 * run go on; those that are reserved where they may not be lose their places. */
void sched_fences(struct sched *s, const struct node_fence *fences, size_t n, int64_t now);
/* The keys of a job to them, and the one that it is bound to. Whether it has more of what is kept for others now is asked by sched_fences(), which follows. */
void sched_keys(struct sched *s, uint32_t job, uint32_t keys, uint32_t bound, int64_t now);

/* The site has another amount of something (cluster_amount) than it had, or others use another part of it. What runs goes on; what is reserved and has no room
 * any more loses its place. */
void sched_amount(struct sched *s, uint32_t amount, const struct amount *a, int64_t now);

/* Places have other lengths than before, since the settings or job->ending have changed: what is reserved gets a place of its new length. What has no room any more loses
 * its place. */
void sched_resize(struct sched *s, int64_t now);

/* Whether it is up, and neither drained nor paused. */
bool sched_node_open(const struct sched *s, uint32_t node);

/* Decides. START events are orders; report what became of them with sched_started() or sched_start_failed(). False: it has ended early
 * (sched_pace), and the next one, which is due at once, goes on. */
bool sched_cycle(struct sched *s, int64_t now);
/* A cycle ends early when its insertions have looked at this many nodes; 0: none does. Before it does, at least one job more was placed,
 * or found to have no place. Cycles that end early decide together what a whole one would, but for pushes: common jobs that a part has started run, and don't
 * make way any more when a reserved job is brought forward at the end, as those would that are only placed. It starts later then, never later than
 * reserved. */
void sched_pace(struct sched *s, uint64_t work);
/* Returns true if the last cycle ended before it had asked about all special jobs. */
bool sched_specials_left(const struct sched *s);
/* Whether a job with a deadline that came now would have it guaranteed: a job in STATE_NEW, filled in, and a cycle was finished. Nothing is changed. The search
 * looks at `work` nodes (0: any number): if that was not enough it is KEEP_UNKNOWN, and goes on below *until, which is the deadline at first. */
enum keep { KEEP_NO, KEEP_YES, KEEP_UNKNOWN };
enum keep sched_would_keep(struct sched *s, uint32_t job, int64_t now, uint64_t work, int64_t *until);
/* When such a job could be completed at the earliest, with a guarantee, if it can be paid; TIME_NEVER: its limits leave no room, or a search of that length finds
 * nothing. */
int64_t sched_soonest(struct sched *s, uint32_t job, int64_t now, uint64_t work);
/* Forgets what earlier cycles learnt, so that the next one asks about every job: for timers and tests. */
void sched_refresh(struct sched *s);

/* Returns the CPUs that a job is charged for: those that it has since its start, before that the most that it can have. */
int64_t sched_cpus(const struct sched *s, uint32_t job);

/* When the next cycle is due if nothing happens before; TIME_NEVER: not at all. */
int64_t sched_next_wake(const struct sched *s);

/* When a waiting job is planned to start; TIME_NEVER: it has no place. A promise by policies that keep places. */
int64_t sched_planned(const struct sched *s, uint32_t job);

/* Whether it has a place that it was told of (EVENT_KEEP): one that survives it all but its cause. */
bool sched_kept(const struct sched *s, uint32_t job);

struct sched_stats {
	uint64_t cycles, full_passes;
	uint64_t rescued;    /* jobs that could start only because fragments were pushed */
	uint64_t migrations; /* running jobs moved */
	uint64_t blocked;    /* attempts to start that failed although the sum of free CPUs was enough */
};
const struct sched_stats *sched_stats(const struct sched *s);
size_t sched_waiting(const struct sched *s); /* jobs without a place */

#endif
