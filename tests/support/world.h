/*
 * world.h - a cluster, its plan and a scheduler in virtual time, with a record of every event: the
 * basis of the scheduler's tests.
 */
#ifndef TESTS_WORLD_H
#define TESTS_WORLD_H

#include <stdint.h>

#include "base/vec.h"
#include "plan/plan.h"
#include "sched/explain.h"
#include "sched/sched.h"

/* An event as reported; its nodes begin at world.nodes.v[first]. */
struct record {
	struct event e;
	size_t first;
};

struct world {
	struct cluster *c;
	struct plan *p;
	struct sched *s;
	struct policy policy; /* a copy, which may be altered before world_open() */
	VEC(struct record) record;
	VEC(int32_t) nodes;
	uint32_t limits_of_next; /* job.limits of the jobs submitted from now on */
	int64_t ending_of_next;	 /* job.ending of the jobs submitted from now on */
	size_t confirmed;	 /* number of records whose START was answered */
};

/* Initializes a world with one policy, without tolerance or starving, and without nodes. */
void world_init(struct world *w, const char *policy);
void world_add_nodes(struct world *w, int count, int64_t cpus); /* named n1, n2, ... */
/* Creates the plan and the scheduler; nodes and settings are final. */
void world_open(struct world *w);
void world_fini(struct world *w);

/* Submits a job with a request as after -l; fails the test if it is refused. */
uint32_t world_submit(struct world *w, int64_t now, enum job_kind kind, const char *request, int64_t walltime,
		      int64_t deadline, unsigned powers);
uint32_t world_common(struct world *w, int64_t now, const char *request, int64_t walltime);

/* Run a cycle and check every invariant. world_cycle() answers each START with STARTED. */
void world_decide(struct world *w, int64_t now);
void world_confirm(struct world *w, int64_t now);
void world_cycle(struct world *w, int64_t now);

struct job *world_job(const struct world *w, uint32_t job);
/* Asserts why a job waits, and the message that explains it. */
void world_because(const struct world *w, uint32_t job, enum why why, const char *text);
/* Returns the node, from 1, of a fragment of a placed job; 0: it has no place. */
int world_node(const struct world *w, uint32_t job, uint32_t frag);
/* Return the number of events of a type that a job has had, and the last of them. */
int world_count(const struct world *w, uint32_t job, enum event_type type);
const struct event *world_last(const struct world *w, uint32_t job, enum event_type type);

#endif
