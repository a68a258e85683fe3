/*
 * sched.h - the scheduler: receives events and decides what starts.
 *
 * It is pure: `now` is an argument, nothing is read or written elsewhere, and the same calls give
 * the same decisions. The server and the simulator call the same functions. Everything it does to a
 * job is an event, applied to the job and handed to the listener.
 */
#ifndef SCHED_SCHED_H
#define SCHED_SCHED_H

#include <stdint.h>

#include "core/cluster.h"
#include "plan/plan.h"
#include "sched/policy.h"

struct sched;
struct limits; /* rules/limit.h */

/* Called with every event after it was applied; the event and its nodes are borrowed for the
 * call. */
typedef void (*sched_listener)(void *context, const struct event *event);

/* Creates a scheduler on the cluster's jobs and the plan, which are borrowed. */
struct sched *sched_create(struct cluster *c, struct plan *p, const struct policy *policy);
void sched_destroy(struct sched *s);
void sched_listen(struct sched *s, sched_listener listener, void *context);

/* Sets the limits (job.limits) that places must respect; only sched_run() ignores them. They are
 * borrowed. sched_restore() initialises their counts, which are maintained from then on. Call
 * sched_refresh() when the limits change. */
void sched_limit(struct sched *s, struct limits *limits);
/* Returns true if a reached limit keeps a waiting job from getting a place now. */
bool sched_limited(const struct sched *s, uint32_t job);
/* Returns true if the job was put in line behind a limit: it is not considered meanwhile. */
bool sched_in_line(const struct sched *s, uint32_t job);
/* Has jobs marked that come into such a line or leave it; a copy marks none. The marks are
 * borrowed. */
struct marks;
void sched_watch(struct sched *s, struct marks *marks);

/* Returns the maximum seconds that a running job takes to end once it is stopped. Without a
 * callback: 0. */
typedef int64_t (*sched_delay)(void *context, uint32_t job);
void sched_on_delay(struct sched *s, sched_delay delay, void *context);

/* Returns the seconds lost when a running job is stopped and started elsewhere from its
 * checkpoint; < 0: the job must not be moved. Without a callback no job is moved, unless
 * settings.migrate_cost says otherwise. */
typedef int64_t (*sched_move)(void *context, uint32_t job);
void sched_on_move(struct sched *s, sched_move move, void *context);

/* Returns the priority of a common job: the highest comes first, also in backfill; ties go to
 * the job submitted first. It replaces the policy's order. Set it before there are jobs, and not
 * for a policy by position. With `drifts`, time alone changes the order: priorities are then
 * requested again when something is freed, at least ten seconds after the last time. */
typedef double (*sched_weigh)(void *context, uint32_t job, int64_t now);
/* Called before the priorities of all jobs are requested. NULL: no preparation. */
typedef void (*sched_prepare)(void *context, int64_t now);
void sched_on_weigh(struct sched *s, sched_weigh weigh, sched_prepare prepare, bool drifts, void *context);
/* something other than time has changed the priorities */
void sched_reweigh(struct sched *s, bool drifts);

/* Called, for experiments, where a common job could not start although the sum of free CPUs was
 * enough. The plan is as it was at that point and may be read. NULL: not called. */
typedef void (*sched_blocked)(void *context, const struct plan *p, uint32_t job, int64_t length);
void sched_on_blocked(struct sched *s, sched_blocked blocked, void *context);

/* Reports of what happened. Each is an event of the job; decisions follow in the next cycle.
 * `detail` is handed to the listener as the event's detail. */
/* Submits a job in STATE_NEW, filled in. `when` may be in the past: the job was submitted while
 * no server was running. */
void sched_submit(struct sched *s, uint32_t job, int64_t when);
void sched_started(struct sched *s, uint32_t job, int64_t now);
void sched_start_failed(struct sched *s, uint32_t job, int64_t now, const void *detail);
/* the job ran from job->start to now */
void sched_finish(struct sched *s, uint32_t job, int64_t now, const void *detail);
/* Requeues a running job that was stopped. */
void sched_requeue(struct sched *s, uint32_t job, int64_t now, const void *detail);
/* Reports that a job still runs although its planned end has come. It keeps its resources until
 * `until`, and jobs reserved there meanwhile are candidates again. Must be called before a
 * cycle; otherwise the scheduler takes a planned end for an end. Returns false if the job was
 * cut short for another job, which keeps its place: the next cycle stops the overrunning one. */
bool sched_overrun(struct sched *s, uint32_t job, int64_t until, int64_t now);
#define SCHED_OVERRUN 2 /* seconds by which an overrunning job is extended at a time */
/* Changes the planned end of a running or starting job to `until`, which is after now; the
 * caller has changed job->walltime. Reserved jobs that now fit on no nodes at their time lose
 * their places. */
void sched_set_end(struct sched *s, uint32_t job, int64_t until, int64_t now);
/* Returns true if that would delay no job that has a place in the plan. Otherwise *ret is the
 * job delayed and the instant until which the extension is possible. Nothing is changed. */
struct obstacle {
	uint32_t job; /* JOB_NONE: the node is needed, but by no particular job */
	int64_t until;
};
bool sched_may_extend(struct sched *s, uint32_t job, int64_t until, int64_t now, struct obstacle *ret);
void sched_delete(struct sched *s, uint32_t job, int64_t now, const void *detail);
void sched_hold(struct sched *s, uint32_t job, int64_t now);
void sched_release(struct sched *s, uint32_t job, int64_t now);
/* Take a waiting job out of the queue, so that what the scheduler knows of it can be changed,
 * and put it back. The job loses its place. */
void sched_withdraw(struct sched *s, uint32_t job, int64_t now);
void sched_readmit(struct sched *s, uint32_t job, int64_t now);
/* Does the same as sched_withdraw() before a change of rank. A guaranteed job keeps its place,
 * which does not depend on the rank. */
void sched_rank_begin(struct sched *s, uint32_t id, int64_t now);
/* after a change of rank: all waiting jobs are put in order again */
void sched_rank(struct sched *s);
/* Changes the set of nodes that a job may use (cluster_nodeset). A place on any other node is
 * taken away. */
void sched_allow(struct sched *s, uint32_t job, uint32_t allowed, int64_t now);
/* Starts a waiting job at once if there is room, before its turn. `on` is a set of nodes, which
 * need not be among those the job may use otherwise; NODES_ALL: where it may. Returns false if
 * there is no room. */
bool sched_run(struct sched *s, uint32_t job, uint32_t on, int64_t now);
/* Takes over a job whose events were folded elsewhere (job_apply, plan_apply), at recovery. Call
 * it in the order of submission for waiting jobs and in the order of their ends for ended ones,
 * whose run times are remembered. */
void sched_restore(struct sched *s, uint32_t job, int64_t now);
/* Reports that a node went down (its jobs become candidates again) or came up. */
void sched_node(struct sched *s, uint32_t node, bool up, int64_t now);
/* Drains a node, or opens it again: nothing new starts there, running jobs continue. */
void sched_drain(struct sched *s, uint32_t node, bool drain, int64_t now);
/* Pauses placement on a node, or resumes it. Unlike a drained node, a paused one keeps its
 * reservations. */
void sched_pause(struct sched *s, uint32_t node, bool pause, int64_t now);

/* Sets the instant at which a node leaves; TIME_NEVER: it stays. No job is placed there that
 * would last longer. Running jobs continue; jobs reserved there for longer lose their places. */
void sched_leaves(struct sched *s, uint32_t node, int64_t at, int64_t now);

/* Announces a shutdown of the machine from `begin` (TIME_NEVER: none) to `until` (TIME_NEVER:
 * unknown). No job is placed that would run into it. With `saves`, jobs that make checkpoints
 * are saved then and continue afterwards, so one that has no place before the shutdown may start
 * nevertheless. */
void sched_outage(struct sched *s, int64_t begin, int64_t until, bool saves, int64_t now);

/* Replaces all fences: nodes that only some jobs may use over an interval (plan/fence.h). They
 * may be unsorted, but those of one node must not overlap. Running jobs continue; jobs reserved
 * where they are not allowed lose their places. */
void sched_fences(struct sched *s, const struct node_fence *fences, size_t n, int64_t now);
/* Sets a job's keys to fences, and the fence it is bound to. sched_fences() must follow: it
 * checks whether the job now uses more of what is kept for others. */
void sched_keys(struct sched *s, uint32_t job, uint32_t keys, uint32_t bound, int64_t now);

/* Changes an amount of the site (cluster_amount), or the part of it used by others. Running jobs
 * continue; reserved jobs that no longer have room lose their places. */
void sched_amount(struct sched *s, uint32_t amount, const struct amount *a, int64_t now);

/* Adapts places to lengths that changed with the settings or job->ending. Reserved jobs get
 * places of their new length; those that no longer fit lose their places. */
void sched_resize(struct sched *s, int64_t now);

/* Returns true if the node is up and neither drained nor paused. */
bool sched_node_open(const struct sched *s, uint32_t node);
/* Returns the CPUs of open nodes that no running job holds. */
int64_t sched_idle_cpus(const struct sched *s);

/* Runs a cycle. START events are orders; report their outcome with sched_started() or
 * sched_start_failed(). Returns false if the cycle ended early (sched_pace); the next one is
 * then due at once and continues it. */
bool sched_cycle(struct sched *s, int64_t now);
/* Makes cycles end early once their insertions have examined `work` nodes; 0: never. At least
 * one more job is placed, or found to have no place, before a cycle ends. The parts together
 * decide what a whole cycle would, except for pushes: common jobs that one part has started run,
 * and no longer make way when a reserved job is brought forward at the end, as jobs that are
 * only placed would. The reserved job then starts later, but never later than reserved. */
void sched_pace(struct sched *s, uint64_t work);
/* Returns true if the last cycle ended before it had considered all special jobs. */
bool sched_specials_left(const struct sched *s);
/* Computes whether the deadline of a job that arrives now would be guaranteed. The job is filled in
 * and in STATE_NEW, and a cycle has been completed. Nothing is changed. The search examines at
 * most `work` nodes (0: no limit). If that is not enough, it returns KEEP_UNKNOWN, and the next
 * call continues below *until, which is initially the deadline. */
enum keep { KEEP_NO, KEEP_YES, KEEP_UNKNOWN };
enum keep sched_would_keep(struct sched *s, uint32_t job, int64_t now, uint64_t work, int64_t *until);
/* Returns the earliest instant at which such a job could be completed with a guarantee, if it
 * can be paid for. Returns TIME_NEVER if its limits leave no room or a search of at most `work`
 * nodes finds nothing. */
int64_t sched_soonest(struct sched *s, uint32_t job, int64_t now, uint64_t work);
/* Forgets what earlier cycles learned, so that the next one considers every job: for timers and
 * tests. */
void sched_refresh(struct sched *s);

/* Returns the CPUs that a job is charged for: those it holds since its start, or before that the
 * most it can get. */
int64_t sched_cpus(const struct sched *s, uint32_t job);

/* Returns when the next cycle is due if nothing happens before, or TIME_NEVER. */
int64_t sched_next_wake(const struct sched *s);

/* Returns when a waiting job is planned to start; TIME_NEVER: it has no place. With policies
 * that keep places this is a promise. */
int64_t sched_planned(const struct sched *s, uint32_t job);

/* Returns true if a candidate has an announced place (EVENT_KEEP), which it keeps unless a job with
 * a deadline comes. */
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
