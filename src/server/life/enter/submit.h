/* submit.h - checks and accepts submissions. */
#ifndef SERVER_SUBMIT_H
#define SERVER_SUBMIT_H

#include <stdbool.h>
#include <stdint.h>

#include "server/life/enter/move.h"

struct arena;
struct array;
struct array_spec;
struct asker;
struct err;
struct server;
struct spec;
struct submission;

/* Accepts a submission: SUBMIT, holds, dependencies. `before`: the submission accepted before it
 * with the same request, or NULL. `number`: from number_for(). */
void submission_accept(struct server *s, uint64_t number, struct submission *x, const struct submission *before);
/* Returns the number of jobs, or of elements of its array. */
int64_t submission_count(const struct submission *x);
/* The steps of submission_accept(), for intake.h. submission_settle() keeps the script and
 * computes the rank; submission_fill() adds the jobs in STATE_NEW, from core id `first` on;
 * submission_begun() is called once they have begun to wait. */
void submission_settle(struct server *s, struct submission *x, const struct submission *before);
void submission_fill(struct server *s, uint64_t number, const struct submission *x, uint32_t first);
void submission_begun(struct server *s, uint64_t number, const struct spec *p, uint32_t first, uint32_t count);
uint32_t entry_add(struct server *s, uint64_t key, struct spec *p);
/* Does the same in two steps. Reserved core ids look like forgotten jobs until they are filled. */
uint32_t entries_reserve(struct server *s, int64_t count);
/* Adds an array whose elements have the core ids from `first` on. */
struct array *array_add(struct server *s, uint64_t number, struct spec *p, const struct array_spec *spec,
			uint32_t first);
/* Checks that the job's dependencies can be waited for. Removes from its text the relations to
 * forgotten jobs that the history shows as met. `count`: number of jobs that share its spec. */
int depend_check(struct server *s, const struct asker *who, struct spec *p, int64_t count, struct err *err);
/* Checks that the jobs of a request may go before those they name: no job would wait for itself,
 * and the work fits into a turn. */
int before_check(struct server *s, const struct submission *x, size_t n, struct err *err);
/* Checks a new job against the rules, chooses its queue and applies defaults to its spec. */
int submit_check(struct server *s, const struct asker *who, struct submission *x, struct arena *a, struct err *err);
/* Returns a job's owner as a client. */
struct asker owner_of(const struct server *s, const struct spec *p);
/* Does the same for a job that moves to another queue: x->spec is as it was there. `by` names
 * the checks that are skipped (move.h). */
int move_check(struct server *s, const struct asker *owner, struct submission *x, const char *queue, enum mover by,
	       struct arena *a, struct err *err);
/* Checks that a waiting job may change to x->spec in its present queue. */
int alter_check(struct server *s, const struct asker *owner, uint32_t id, const struct submission *x, bool exempt,
		struct arena *a, struct err *err);
/* Multiplies the memory that a waiting job requests, within the limits of its queue (alter.c). */
int job_grow(struct server *s, uint32_t id, double factor, struct err *err);
/* Chooses a job's account and QoS: those its spec names if the owner may use them, else the
 * defaults. Sets them in the spec. */
int job_access(struct server *s, const struct asker *owner, struct spec *p, struct arena *a, struct err *err);
/* Checks a new walltime against resources_max of queue and server, and against the limits of the
 * job's parties. */
int walltime_allowed(struct server *s, const struct spec *p, int64_t walltime, struct err *err);

#endif
