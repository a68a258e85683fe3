/*
 * shadow.h - EASY on the same submissions, followed at a distance.
 *
 * The shadow knows how long a job runs only when the job has ended in reality, so it stops before
 * an instant at which a job that it runs could have ended unseen. Its schedule is that of EASY on
 * a machine with as many CPUs, late by as much as jobs start later in reality than in the shadow.
 * The sums over the jobs that have ended in both show what the real order gains and loses.
 */
#ifndef SCHED_SHADOW_H
#define SCHED_SHADOW_H

#include <stdbool.h>
#include <stdint.h>

struct shadow;

struct shadow *shadow_create(void);
void shadow_destroy(struct shadow *h); /* NULL: nothing */

/* The job begins to wait. */
void shadow_wait(struct shadow *h, uint32_t job, int64_t when, int64_t cpus, int64_t length);
void shadow_start(struct shadow *h, uint32_t job, int64_t when);
void shadow_finish(struct shadow *h, uint32_t job, int64_t when);
/* Forgets a job that was deleted, held or stopped. */
void shadow_leave(struct shadow *h, uint32_t job);

/* Lets the shadow run on a machine of `cpus` CPUs as far as it can, a few events at a time. Returns
 * true if there are more. */
bool shadow_advance(struct shadow *h, int64_t now, int64_t cpus);

/* Sums over the jobs that have ended in reality and in the shadow. */
struct shadow_sums {
	double turnaround; /* seconds */
	double slowdown;   /* bounded by run times of 10 seconds */
	double area;	   /* turnaround weighted by CPU-seconds */
	double longest;	   /* longest wait, seconds */
};

/* Returns the sums of the shadow's own schedule, and writes the number of jobs. */
struct shadow_sums shadow_easy(const struct shadow *h, int64_t *ret_jobs);

/* Returns the real sums divided by those of the shadow, drawn towards 1 while few jobs have
 * ended; 1 if there are none. The longest wait is the shadow's own. Writes the number of jobs. */
struct shadow_sums shadow_ratios(const struct shadow *h, int64_t *ret_jobs);

#endif
