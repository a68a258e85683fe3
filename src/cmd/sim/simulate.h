/*
 * simulate.h - what the two files of `shunt simulate` share: simulate.c decides what is run,
 * simulate_report.c tells what came of it.
 */
#ifndef CMD_SIMULATE_H
#define CMD_SIMULATE_H

#include "cmd/lib/command.h"
#include "cmd/sim/runs.h"
#include "cmd/sim/simulate_site.h"

struct simulate_arguments {
	const char *policy, *machine, *rules, *starts, *chart, *starve_after, *generate, *model, *save, *from_history,
		*config, *allocation, *topology;
	bool json, live, over_time;
	int64_t shake, seed, limit, push, migrate, tolerance, overrun, jobs, cores;
};

/* What was simulated, and what came of it. */
struct simulation {
	const struct command *command;
	const struct simulate_arguments *a;
	struct workload *workload;
	char *machine;	    /* its text */
	char *machine_name; /* ... for people */
	int64_t procs;
	const struct policy **policy;
	int npolicies;
	struct runs runs;
	struct simulate_site site; /* --config */
};

/* What could not be read of the workload, on standard error; before anything runs. */
void simulation_tell_dropped(const struct simulation *s);
/* Jobs that did not run, on standard error. -EFAULT when they should have. */
int simulation_tell_refused(const struct simulation *s, struct err *err);
void simulation_print(const struct simulation *s, FILE *out);
void simulation_json(const struct simulation *s, FILE *out);
/* What a picture of the runs shows: of the whole in "over_time", ... */
void simulation_times_json(const struct simulation *s, struct json *j);
/* ... and members of a run. */
void simulation_run_json(const struct simulation *s, const struct run *run, struct json *j);
/* Writes a file by that function. */
int file_write(const char *path, void (*write)(const void *what, FILE *out), const void *what, struct err *err);
/* The jobs of every policy, and the picture of all. */
int simulation_starts(const struct simulation *s, struct err *err);
int simulation_chart(const struct simulation *s, struct err *err);

#endif
