/*
 * case.h - a random cluster with random jobs and accidents, as plain data: made from a seed,
 * printed, made smaller.
 */
#ifndef TESTS_CASE_H
#define TESTS_CASE_H

#include <stdbool.h>
#include <stdint.h>

#include "sched/policy.h"

#define CASE_NODES 6
#define CASE_JOBS 16
#define CASE_FRAGS 4
#define CASE_ACCIDENTS 3
#define CASE_FENCES 4
#define CASE_KEYS 2
#define NOT_AT_ALL (-1)

struct case_amounts {
	int64_t cpus, mem, gpus, disk;
	unsigned features; /* 2 bits */
};

struct case_frag {
	struct case_amounts need;
	bool exclusive;
	int node; /* NODE_ANY, or where it must be */
};

struct case_job {
	int64_t submit, walltime, runtime;
	int64_t over;	  /* seconds that it is there longer than it may; -1: it ends by itself, after runtime */
	int64_t deadline; /* TIME_NEVER unless kind is QOS or EMERGENCY */
	int kind;
	unsigned powers;
	int64_t hold, release, delete; /* instants, or NOT_AT_ALL */
	int failures;		       /* how many of its first starts fail */
	int whole;		       /* enum wholeness */
	unsigned keys;		       /* bit i: it passes fences of id i */
	uint32_t bound;		       /* 0: it is not */
	int nfrags;
	struct case_frag frag[CASE_FRAGS];
};

struct case_accident {
	int node;
	int64_t down, up;
};

/* A node that only some jobs may use, from the beginning on. */
struct case_fence {
	int node;
	uint32_t id;
	int64_t start, end;
};

struct tcase {
	uint64_t seed;
	int nnodes, njobs, naccidents, nfences;
	struct case_amounts node[CASE_NODES];
	bool beside[CASE_NODES]; /* on the same machine as the node before it */
	struct case_job job[CASE_JOBS];
	struct case_accident accident[CASE_ACCIDENTS];
	struct case_fence fence[CASE_FENCES];
	int64_t tolerance, starve_after, kill_delay;
	int64_t ending; /* maximum seconds that the end of a job may take */
	int max_deallocations;
	bool ends_first; /* at one instant ends come before submissions; else as in the simulator */
	bool batch;	 /* one cycle per instant, else one after each thing that happens */
	bool slow_start; /* a start is confirmed one second later */
};

/* What a case may have in it. */
enum flavour {
	WITH_KINDS = 1 << 0, /* QoS and emergency jobs */
	WITH_STARVING = 1 << 1,
	WITH_ACCIDENTS = 1 << 2, /* nodes go down, starts fail */
	WITH_ADMIN = 1 << 3,	 /* holds and deletions */
	WITH_MIXED = 1 << 4,	 /* fragments of several shapes in one job, fixed ones */
	WITH_MORE = 1 << 5,	 /* memory, GPUs, disk, features */
	WITH_EARLY = 1 << 6,	 /* jobs that end before their walltime */
	WITH_NODES = 1 << 7,	 /* more than one node */
	WITH_WHOLE = 1 << 8,	 /* jobs with whole nodes or machines, machines of several nodes */
	WITH_ALL = (1 << 9) - 1,
	WITH_FENCES = 1 << 9,	/* and reservations */
	WITH_OVERRUN = 1 << 10, /* and jobs that have to be ended, which takes a while */
};

void case_random(struct tcase *t, uint64_t seed, unsigned flavour);
void case_print(const struct tcase *t);
/* Every fragment fits some empty node, and the one it names: what cluster_request() would let
 * in. */
bool case_valid(const struct tcase *t);

/* NULL, or what is wrong. */
typedef const char *(*case_property)(const struct tcase *t, const struct policy *policy);

/* Tries the property on `count` cases; the first that fails is made smaller, printed, and fails
 * the test. An assert of the code under test counts as a failure of the property. */
void case_check(case_property property, unsigned flavour, const struct policy *policy, int count);
/* Tries it on the case of one seed. */
void case_check_seed(case_property property, unsigned flavour, const struct policy *policy, uint64_t seed);

/* A copy of a policy with another push depth; -1: as it is. Static, up to 32 of them. */
const struct policy *case_policy(const char *name, int push_depth);

#endif
