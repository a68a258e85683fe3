/*
 * workload.h - what a simulation is fed: jobs with their submission times, from a
 * trace (SWF), from our own workload file, or from a generator.
 *
 * A job asks either for a number of processors (traces), which the machine cuts
 * into fragments, or for a request as a user would write it.
 */
#ifndef SIM_WORKLOAD_H
#define SIM_WORKLOAD_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/names.h"
#include "base/timetext.h"
#include "base/vec.h"
#include "core/array.h"
#include "core/kind.h"
#include "core/reqtext.h"

struct wjob {
	int64_t id;	    /* as the trace numbers it; unique */
	int64_t submit;	    /* seconds */
	int64_t runtime;    /* seconds it would run if never killed */
	int64_t walltime;   /* seconds the user asked for */
	int64_t deadline;   /* instant, or TIME_NEVER */
	int64_t nice;	    /* instant until which later jobs may pass it; 0: they may not */
	int64_t checkpoint; /* seconds that a checkpoint of it takes; 0: it makes none */
	int32_t procs;	    /* processors; 0 when `text` says it, or when its partition does */
	int32_t text;	    /* index into workload.texts, or -1 */
	uint32_t user;	    /* index into workload.users */
	uint32_t line;	    /* of the file it was read from; 0: none */
	uint8_t kind;	    /* enum job_kind: COMMON, QOS or EMERGENCY */
	uint8_t powers;	    /* enum job_power, emergency only */
	bool assumed;	    /* the walltime is not said: it is the run time, unless a site has a default */
	bool interactive;   /* an emergency job that starts at once or not at all */
	uint32_t partition; /* index + 1 into workload.partitions; 0: none is named; PARTITION_ANY */
	uint32_t terms;	    /* index + 1 into workload.terms; 0: none */
	uint32_t element;   /* of an array: its place among the elements, from 0 */
};

#define PARTITION_ANY UINT32_MAX /* any one that suits the job */

/* What the rules of a site go by, of the jobs of one line: docs/workload-format.md. */
struct wterms {
	const char *queue;			 /* NULL: none is named; in the arena, as all texts here */
	const char *depend;			 /* as after -W depend=, with the ids of the workload; or NULL */
	struct array_spec array;		 /* count 0: no array. Elements follow each other, and their ids do */
	int64_t start;				 /* not before this instant; 0: at once */
	int64_t release;			 /* held until then; 0: not held; TIME_NEVER: for good */
	int exit;				 /* status that it ends with */
	int priority;				 /* among its user's jobs */
	const char *host;			 /* it is submitted from; NULL: not said */
	const char *const *groups;		 /* of its user, NULL at the end; NULL: not said */
	const char *account, *qos, *reservation; /* NULL: not said */
	int64_t estimate;			 /* of a job with a price: seconds; 0: not said */
	int64_t budget;				 /* ... unit-seconds that it may cost */
};

/* Credits that an account is given. */
struct wdeposit {
	const char *account; /* in the arena */
	int64_t at;	     /* instant */
	int64_t amount;	     /* unit-seconds */
	int64_t expires;     /* instant, or TIME_NEVER */
};

/* Why lines or jobs were left out. */
enum drop {
	DROP_SYNTAX,   /* the line is not a job */
	DROP_PROCS,    /* no processors, or more than the machine has */
	DROP_RUNTIME,  /* run time missing or <= 0 */
	DROP_ESTIMATE, /* estimate missing or <= 0 (rules sc15) */
	DROP_SUBMIT,   /* submit time missing or negative */
	DROP_NOT_RUN,  /* of an earlier run: it never started, so that nobody knows its run time */
	DROP_COUNT
};

struct workload {
	char *name;
	struct arena *arena;   /* owns what texts point to */
	VEC(struct wjob) jobs; /* sorted by (submit, position in the file) */
	VEC(struct wterms) terms;
	VEC(struct wdeposit) deposits; /* sorted by `at` */
	VEC(struct reqtext) texts;     /* distinct requests, their walltime left to the jobs */
	struct names requests;	       /* the canonical text of each, by the same index */
	struct names users, partitions;
	char *machine; /* "nodes:40x8", "parts:8,8" or "flat:338", where the source says it; else NULL */
	int64_t procs; /* of the machine, by the header (MaxProcs, else MaxNodes); 0: not said */
	int64_t nodes; /* MaxNodes; 0: not said */
	int64_t begin; /* the instant that is second 0 of a history; 0: not said */
	bool speeds;   /* run times are those of a usual node, and others take them shorter or longer */
	int64_t dropped[DROP_COUNT];
	const char *unit;  /* what is left out, when it is not a line */
	VEC(char *) notes; /* "line 17: run time -1: skipped", the first 20 */
};

enum rules {
	RULES_SITE, /* as the server would: killed at walltime; a missing estimate is the run time */
	RULES_SC15, /* as the literature: run times cut at the estimate, jobs without one left out (unless
		     * no job of the trace has one) */
};

struct workload *workload_create(const char *name);
void workload_destroy(struct workload *w);
/* Counts what was left out, and notes the first ones: "line 17: " and the sentence; the sentence alone if there is no line (0). */
void workload_drop(struct workload *w, enum drop why, int64_t line, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* The index in `texts` of a request as after -l, new or known. *ret_walltime is what it says of it, else -1. */
int workload_request(struct workload *w, const char *text, int32_t *ret_text, int64_t *ret_walltime, struct err *err);
/* Whether a partition may say how many processors the job has. */
bool workload_parted(const struct workload *w, const struct wjob *j);
/* Requests become numbers of CPUs, for a machine of one large node, to which names and fragments mean nothing. */
void workload_flatten(struct workload *w);
/* Takes the machine from its text: sets machine, nodes and procs. */
int workload_set_machine(struct workload *w, const char *text, struct err *err);
/* Sorts by submit time, keeping the file's order among equals. */
void workload_sort(struct workload *w);
/* Moves every submission by a whole number of seconds in -range..range (not below 0), and sorts again. */
void workload_shake(struct workload *w, int64_t range, uint64_t seed);

/* A view of `w` whose jobs are the caller's to move, and to free (vec_free(&view.jobs)); the rest is w's. */
struct workload workload_borrow(const struct workload *w);

/* Reads a trace, a workload file or the per-job CSV of an earlier run, recognised by content; `limit` 0: all, else
 * the first so many jobs that the rules keep. -EINVAL when it is none of them, saying why. */
int workload_read(const char *path, enum rules rules, int64_t limit, struct workload **ret, struct err *err);

/* The file of a trace in a directory, whatever version and packing its name ends with. */
bool trace_find(const char *dir, const char *begin, char *path, size_t size);

/* The same over lines already opened; what was read goes to `w`, which is fresh. */
struct lines;
int workload_read_lines(struct lines *in, enum rules rules, int64_t limit, struct workload *w, struct err *err);

/* Writes a workload file (docs/workload-format.md), which reads back identically. */
void workfile_write(const struct workload *w, FILE *out);

/* Generators. */
/* The sizes of jobs, beside which everything is alike. */
enum mix {
	MIX_SOURCE, /* those of the model */
	MIX_POWERS, /* of one node: 1, 2, 4 and 8 CPUs */
	MIX_ODD,    /* of one node: 3, 5 and 6 CPUs */
	MIXES
};

struct oscar_model {
	char model;	    /* 'A' or 'C' (docs/simulator.md) */
	int jobs;	    /* 318 */
	double mean_gap;    /* seconds between arrivals */
	int fixed_gap;	    /* arrivals exactly mean_gap apart, else exponential */
	int qos, emergency; /* how many jobs become QoS (deadline 3 x walltime) or emergency (1.5 x) */
	uint64_t seed;
	enum mix mix;
};
struct workload *generate_oscar(const struct oscar_model *m); /* on 40 nodes x 8 named n1..n40 */
double generate_work(enum mix mix); /* CPU-seconds of a job on average; of MIX_POWERS and MIX_ODD */
/* Lublin and Feitelson 2003, batch jobs; walltime = run time. */
struct workload *generate_lublin(int64_t procs, int64_t jobs, uint64_t seed);

#endif
