/*
 * drive.h - runs a case through the scheduler in virtual time, and keeps books of its own from the
 * events alone: what is used on each node, who runs where, who took whose place. What those books
 * do not allow is an error.
 */
#ifndef TESTS_DRIVE_H
#define TESTS_DRIVE_H

#include "base/vec.h"
#include "core/cluster.h"
#include "plan/plan.h"
#include "property/case.h"
#include "sched/sched.h"

/* A reported event with its nodes at nodes.v[first]; or, type EVENT_COUNT, a node (`job`)
 * that went down or up (`at`). */
struct drive_record {
	struct event e;
	size_t first;
};

struct drive_job {
	int of; /* which job of the case */
	bool runs, confirmed;
	int64_t end; /* when it ends, if it runs */
	int64_t confirm;
	int starts;
	bool guaranteed, excused; /* promised; and something that may break promises happened to it */
	int32_t nodes[CASE_FRAGS];
};

struct drive {
	const struct tcase *t;
	const struct policy *policy;
	struct cluster *c;
	struct plan *p;
	struct sched *s;
	int64_t now;
	bool refresh; /* every cycle asks about every job */
	enum drive_pace {
		PACE_HALF,
		PACE_NONE,
		PACE_LEAST
	} pace;		   /* cycles end as early as they can: in half the cases, in none, in all */
	bool weighs;	   /* common jobs are in the order of priorities that change with time */
	int64_t move_cost; /* cost of moving a running job, which three of four allow; 0: none is moved */
	VEC(struct drive_record) record;
	VEC(int32_t) nodes;
	struct drive_job job[CASE_JOBS]; /* by the scheduler's id */
	int id_of[CASE_JOBS];		 /* id of a job of the case; -1: not submitted yet */
	struct res used[CASE_NODES];
	bool accident; /* a node or an administrator is at work: jobs lose their places to nobody */
	uint64_t hash; /* hash of all events */
	char wrong[200];
	void (*after_cycle)(struct drive *d);
	void *context;
};

extern int64_t drive_reserve_depth; /* the setting; 0 unless a test sets it */

/* Runs it to the end. NULL, or the first thing that was wrong (in d->wrong). */
const char *drive_run(struct drive *d, const struct tcase *t, const struct policy *policy);
void drive_fini(struct drive *d);
void drive_wrong(struct drive *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* A cluster with the case's nodes, features and settings; and the interned request of one of its
 * jobs. */
struct cluster *drive_cluster(const struct tcase *t, const struct policy *policy);
uint32_t drive_request(struct cluster *c, const struct case_job *j);
/* How long a job takes to end once it is stopped: some longer than others. */
int64_t drive_delay(void *context, uint32_t job);
/* A job in STATE_NEW like the case's. */
struct job *drive_add_job(struct cluster *c, const struct tcase *t, int i, const struct policy *policy);

#endif
