/*
 * submit.h - a submission is checked and taken over.
 */
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

/* Takes a submission over: SUBMIT, holds, dependencies. `before`: the one that was taken over before it with the same request, or NULL. `number`: number_for(). */
void submission_accept(struct server *s, uint64_t number, struct submission *x, const struct submission *before);
int64_t submission_count(const struct submission *x); /* jobs, or elements of its array */
/* The steps of that, for intake.h: its script is kept, and its rank is known; its jobs are there, in STATE_NEW, from the core id `first` on; they have begun
 * to wait. */
void submission_settle(struct server *s, struct submission *x, const struct submission *before);
void submission_fill(struct server *s, uint64_t number, const struct submission *x, uint32_t first);
void submission_begun(struct server *s, uint64_t number, const struct spec *p, uint32_t first, uint32_t count);
uint32_t entry_add(struct server *s, uint64_t key, struct spec *p);
/* The same in two steps: core ids, which are as if their jobs were forgotten until they are filled. */
uint32_t entries_reserve(struct server *s, int64_t count);
void entry_fill(struct server *s, uint32_t id, uint64_t key, struct spec *p);
/* Its elements have the core ids from `first` on. */
struct array *array_add(struct server *s, uint64_t number, struct spec *p, const struct array_spec *spec,
			uint32_t first);
/* What it depends on can be waited for. Relations to forgotten jobs that are kept, by the history, are taken out of its text. */
/* `count`: jobs that share its spec. */
int depend_check(struct server *s, const struct asker *who, struct spec *p, int64_t count, struct err *err);
/* Whether the jobs of a request may go before those that they name: no job would wait for itself, and it is not too much for a turn. */
int before_check(struct server *s, const struct submission *x, size_t n, struct err *err);
/* Whether the rules take a new job, in which queue and with which defaults: its spec is made so. */
int submit_check(struct server *s, const struct asker *who, struct submission *x, struct arena *a, struct err *err);
struct asker owner_of(const struct server *s, const struct spec *p); /* a job's, as one who asks */
/* The same of a job that waits in another queue: x->spec is as it was there. `by`: what does not count (move.h). */
int move_check(struct server *s, const struct asker *owner, struct submission *x, const char *queue, enum mover by,
	       struct arena *a, struct err *err);
/* Whether a job that waits may become what x->spec asks for, in the queue where it is. */
int alter_check(struct server *s, const struct asker *owner, uint32_t id, const struct submission *x, bool exempt,
		struct arena *a, struct err *err);
/* Which account and QoS a job has: what its spec names, if its owner may use it, else the defaults. Its spec is made so. */
int job_access(struct server *s, const struct asker *owner, struct spec *p, struct arena *a, struct err *err);
/* Checks another walltime against resources_max of queue and server, and against the limits of the job's parties. */
int walltime_allowed(struct server *s, const struct spec *p, int64_t walltime, struct err *err);

#endif
