/*
 * workload.h - the input of a simulation: jobs with their submission times, from a trace (SWF),
 * from our own workload file, or from a generator.
 *
 * A job requests either a number of processors (traces), which the machine cuts into fragments, or
 * states a request as a user would write it.
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
	int64_t id;	    /* number in the trace; unique */
	int64_t submit;	    /* seconds */
	int64_t runtime;    /* seconds it would run if never killed */
	int64_t walltime;   /* seconds the user requested */
	int64_t deadline;   /* instant, or TIME_NEVER */
	int64_t nice;	    /* instant until which later jobs may overtake it; 0: they may not */
	int64_t checkpoint; /* seconds that a checkpoint of it takes; 0: it makes none */
	int32_t procs;	    /* processors; 0 if `text` or its partition determines them */
	int32_t text;	    /* index into workload.texts, or -1 */
	uint32_t user;	    /* index into workload.users */
	/* line of the file it was read from, or index + 1 into workload.names; 0: neither */
	uint32_t line;
	uint8_t kind;	  /* enum job_kind: COMMON, QOS or EMERGENCY */
	uint8_t powers;	  /* enum job_power, emergency only */
	bool assumed;	  /* no walltime is stated: it is the run time, unless a site has a default */
	bool interactive; /* an emergency job that starts at once or not at all */
	/* index + 1 into workload.partitions; 0: none is named; PARTITION_ANY */
	uint32_t partition;
	uint32_t terms;	  /* index + 1 into workload.terms; 0: none */
	uint32_t element; /* index among the elements of its array, from 0 */
};

#define PARTITION_ANY UINT32_MAX /* any partition that suits the job */

/* What a site's rules need to know of the jobs of one line: docs/workload-format.md. */
struct wterms {
	const char *queue;	 /* NULL: none is named; in the arena, like all strings here */
	const char *depend;	 /* argument of -W depend=, with the ids of the workload; or NULL */
	struct array_spec array; /* count 0: not an array. Elements and their ids are consecutive */
	int64_t start;		 /* earliest start, instant; 0: at once */
	/* instant at which its hold ends; 0: not held; TIME_NEVER: held for good */
	int64_t release;
	int exit;				 /* exit status */
	int priority;				 /* among its user's jobs */
	const char *host;			 /* host it is submitted from; NULL: not stated */
	const char *const *groups;		 /* groups of its user, NULL-terminated; NULL: not stated */
	const char *account, *qos, *reservation; /* NULL: not stated */
	int64_t estimate;			 /* expected seconds of a job with a price; 0: not stated */
	int64_t budget;				 /* maximum unit-seconds that a job with a price may cost */
};

/* A deposit of credits to an account. */
struct wdeposit {
	const char *account; /* in the arena */
	int64_t at;	     /* instant */
	int64_t amount;	     /* unit-seconds */
	int64_t expires;     /* instant, or TIME_NEVER */
};

/* Reasons for which lines or jobs are skipped. */
enum drop {
	DROP_SYNTAX,   /* the line is not a job */
	DROP_PROCS,    /* no processors, or more than the machine has */
	DROP_RUNTIME,  /* run time missing or <= 0 */
	DROP_ESTIMATE, /* estimate missing or <= 0 (rules sc15) */
	DROP_SUBMIT,   /* submit time missing or negative */
	DROP_NOT_RUN,  /* from an earlier run: the job never started, so its run time is unknown */
	DROP_COUNT
};

struct workload {
	char *name;
	struct arena *arena;   /* owns the strings */
	VEC(struct wjob) jobs; /* sorted by (submit, position in the file) */
	VEC(struct wterms) terms;
	VEC(struct wdeposit) deposits; /* sorted by `at` */
	VEC(struct reqtext) texts;     /* distinct requests; walltimes are kept in the jobs */
	struct names requests;	       /* the canonical text of each request, with the same index */
	struct names users, partitions;
	/* "nodes:40x8", "parts:8,8" or "flat:338", if the source states it; else NULL */
	char *machine;
	/* processors of the machine, from the header (MaxProcs, else MaxNodes); 0: not stated */
	int64_t procs;
	int64_t nodes; /* MaxNodes; 0: not stated */
	int64_t begin; /* the instant that is second 0 of a history; 0: not stated */
	/* run times are for a node of speed 1, and are scaled by the speed of others */
	bool speeds;
	int64_t dropped[DROP_COUNT];
	const char *unit;	 /* name of what is skipped, if it is not a line */
	VEC(const char *) names; /* how a history names its jobs, instead of lines; in the arena */
	VEC(char *) notes;	 /* "line 17: run time -1: skipped", the first 20 */
};

enum rules {
	RULES_SITE, /* like the server: killed at walltime; a missing estimate is the run time */
	/* like the literature: run times cut at the estimate, jobs without one skipped (unless
	 * no job of the trace has one) */
	RULES_SC15,
};

struct workload *workload_create(const char *name);
void workload_destroy(struct workload *w);
/* Counts a skipped line or job, and notes the first ones: "line 17: " and the message; the
 * message alone if line is 0. */
void workload_drop(struct workload *w, enum drop why, int64_t line, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* Returns the index in `texts` of a request as after -l, new or known. *ret_walltime is its
 * walltime, else -1. */
int workload_request(struct workload *w, const char *text, int32_t *ret_text, int64_t *ret_walltime, struct err *err);
/* Returns the estimate of a job with a price, in seconds; 0: it has no price. */
int64_t workload_estimate(const struct workload *w, const struct wjob *j);
/* Returns true if the job's partition may determine its number of processors. */
bool workload_parted(const struct workload *w, const struct wjob *j);
/* Turns requests into numbers of CPUs, for a machine of one large node, where names and
 * fragments do not matter. */
void workload_flatten(struct workload *w);
/* Sets machine, nodes and procs from the text of a machine. */
int workload_set_machine(struct workload *w, const char *text, struct err *err);
/* Sorts by submit time, keeping the file's order among equals. */
void workload_sort(struct workload *w);
/* Moves every submission by a whole number of seconds in -range..range (not below 0), and sorts
 * again. */
void workload_shake(struct workload *w, int64_t range, uint64_t seed);
/* Returns the work submitted, as a share of what `procs` processors do from the first submission
 * to the last; 0 if all are submitted at once. */
double workload_load(const struct workload *w, int64_t procs);
/* Multiplies the distances of all submissions from the first. */
void workload_stretch(struct workload *w, double factor);
/* Replaces every walltime by a round one as people state them: the next of 5, 10, 15, 30 minutes,
 * 1, 2, 3, 4, 6, 8, 12, 18, 24, 36, 48 hours, 3 days and so on after 1 to 5 times the run time. */
void workload_round(struct workload *w, uint64_t seed);

/* Returns a view of `w` whose jobs the caller may change and must free (vec_free(&view.jobs));
 * the rest belongs to w. */
struct workload workload_borrow(const struct workload *w);

/* Reads a trace, a workload file or the per-job CSV of an earlier run, recognised by content.
 * `limit`: at most that many jobs that the rules keep; 0: all. -EINVAL with the reason if it is
 * none of them. */
int workload_read(const char *path, enum rules rules, int64_t limit, struct workload **ret, struct err *err);

/* Finds the file of a trace in a directory, whatever version and compression its name ends with. */
bool trace_find(const char *dir, const char *begin, char *path, size_t size);

/* Does the same for lines already opened; reads into `w`, which must be empty. */
struct lines;
int workload_read_lines(struct lines *in, enum rules rules, int64_t limit, struct workload *w, struct err *err);

/* Writes a workload file (docs/workload-format.md), which reads back identically. */
void workfile_write(const struct workload *w, FILE *out);

/* Generators. */
/* Sizes of jobs; everything else is the same. */
enum mix {
	MIX_SOURCE, /* those of the model */
	MIX_POWERS, /* on one node: 1, 2, 4 and 8 CPUs */
	MIX_ODD,    /* on one node: 3, 5 and 6 CPUs */
	MIXES
};

struct oscar_model {
	char model;	 /* 'A' or 'C' (docs/simulator.md) */
	int jobs;	 /* 318 in the source */
	double mean_gap; /* seconds between arrivals */
	int fixed_gap;	 /* arrivals exactly mean_gap apart, else exponential */
	/* number of QoS jobs (deadline 3 x walltime) and emergency jobs (1.5 x) */
	int qos, emergency;
	uint64_t seed;
	enum mix mix;
};
/* Generates jobs for 40 nodes x 8, named n1 to n40. */
struct workload *generate_oscar(const struct oscar_model *m);
double generate_work(enum mix mix); /* mean CPU-seconds of a job; for MIX_POWERS and MIX_ODD */
/* Generates batch jobs by Lublin and Feitelson 2003; walltime = run time. */
struct workload *generate_lublin(int64_t procs, int64_t jobs, uint64_t seed);

#endif
