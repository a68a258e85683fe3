/*
 * world.h - a cluster, its plan and a scheduler in virtual time, with a record of every event: what tests of the
 * scheduler stand on.
 */
#ifndef TESTS_WORLD_H
#define TESTS_WORLD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "plan/plan.h"
#include "sched/explain.h"
#include "sched/sched.h"

/* An event as it was told; its nodes are world.nodes.v[first] and on. */
struct record {
	struct event e;
	size_t first;
};

struct world {
	struct cluster *c;
	struct plan *p;
	struct sched *s;
	struct policy policy; /* a copy, to be altered before world_open() */
	VEC(struct record) record;
	VEC(int32_t) nodes;
	uint32_t limits_of_next; /* job.limits of those that are submitted */
	int64_t ending_of_next;	 /* and job.ending */
	size_t confirmed;	 /* records whose START was answered */
};

/* A world of one policy, without tolerance or starving, and without nodes. */
void world_init(struct world *w, const char *policy);
void world_add_nodes(struct world *w, int count, int64_t cpus); /* named n1, n2, ... */
void world_open(struct world *w); /* nodes and settings stand: plan and scheduler are made */
void world_fini(struct world *w);

/* Submits a job as after -l; fails the test when the request is refused. */
uint32_t world_submit(struct world *w, int64_t now, enum job_kind kind, const char *request, int64_t walltime,
		      int64_t deadline, unsigned powers);
uint32_t world_common(struct world *w, int64_t now, const char *request, int64_t walltime);

/* A cycle; then every invariant is checked. world_cycle() answers each START with STARTED. */
void world_decide(struct world *w, int64_t now);
void world_confirm(struct world *w, int64_t now);
void world_cycle(struct world *w, int64_t now);

struct job *world_job(const struct world *w, uint32_t job);
/* Asserts why it waits, and the sentence that says so. */
void world_because(const struct world *w, uint32_t job, enum why why, const char *text);
/* The node, from 1, of a fragment of a job that has a place; 0: it has none. */
int world_node(const struct world *w, uint32_t job, uint32_t frag);
/* How many events of a type a job has had; and the last of them. */
int world_count(const struct world *w, uint32_t job, enum event_type type);
const struct event *world_last(const struct world *w, uint32_t job, enum event_type type);

#endif
