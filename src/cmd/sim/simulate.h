/*
 * simulate.h - shared by the files of `shunt simulate`: simulate.c decides what is run,
 * simulate_report.c reports the results.
 */
#ifndef CMD_SIMULATE_H
#define CMD_SIMULATE_H

#include "cmd/lib/command.h"
#include "cmd/sim/runs.h"
#include "cmd/sim/simulate_site.h"

struct simulate_arguments {
	const char *policy, *machine, *rules, *starts, *chart, *starve_after, *generate, *model, *save, *from_history,
		*config, *allocation, *topology, *walltimes;
	bool json, live, over_time;
	int64_t shake, seed, limit, push, migrate, tolerance, overrun, jobs, cores, load;
};

/* A simulation and its results. */
struct simulation {
	const struct command *command;
	const struct simulate_arguments *a;
	struct workload *workload;
	char *machine;	    /* description of the machine */
	char *machine_name; /* name of the machine for people */
	int64_t procs;
	const struct policy **policy;
	int npolicies;
	struct runs runs;
	struct simulate_site site; /* from --config */
};

/* Reports on standard error what could not be read of the workload, before anything runs. */
void simulation_tell_dropped(const struct simulation *s);
/* Reports on standard error the jobs that did not run. Returns -EFAULT if they should have. */
int simulation_tell_refused(const struct simulation *s, struct err *err);
void simulation_print(const struct simulation *s, FILE *out);
void simulation_json(const struct simulation *s, FILE *out);
/* Writes the data for a picture of the runs: what they share in "over_time". */
void simulation_times_json(const struct simulation *s, struct json *j);
/* Writes the members of one run for that picture. */
void simulation_run_json(const struct simulation *s, const struct run *run, struct json *j);
/* Writes a file with the given function. */
int file_write(const char *path, void (*write)(const void *what, FILE *out), const void *what, struct err *err);
/* Write the jobs of every policy, and the picture of all. */
int simulation_starts(const struct simulation *s, struct err *err);
int simulation_chart(const struct simulation *s, struct err *err);

#endif
