/*
 * terms.h - the rules of a site (src/rules) in a simulation: queues, limits, arrays, dependencies, holds and -a, by the functions that the server calls.
 */
#ifndef SIM_TERMS_H
#define SIM_TERMS_H

#include "base/heap.h"
#include "base/map.h"
#include "core/cluster.h"
#include "rules/gate.h"
#include "rules/queue.h"
#include "sched/sched.h"
#include "sim/workload.h"

struct terms {
	const struct workload *w;
	const struct ruleset *site; /* NULL: no queue has attributes */
	struct gate *gate;
	struct limits *limits;
	struct map by_id;     /* id of the workload -> core id + 1 */
	struct map array_at;  /* the same of an array -> its terms, index + 1 */
	struct heap releases; /* (when, core id): holds that end */
};

void terms_init(struct terms *t, const struct workload *w, const struct ruleset *site, struct sched *sched);
void terms_fini(struct terms *t);

/* Whether its queue takes a job. -EPERM, with why not. */
int terms_accept(const struct terms *t, const struct wjob *j, struct err *err);
/* A core job in STATE_NEW gets its limits and its rank. Of an array all elements, before the first is submitted. */
void terms_fill(struct terms *t, const struct wjob *j, struct job *job);
/* It was submitted: whether it may be considered, or can never be. */
enum depend_state terms_enter(struct terms *t, const struct wjob *j, uint32_t job, int64_t now);
/* The next job that may be considered from now on (1), or can't any more (-1); 0: none. */
int terms_news(struct terms *t, int64_t now, uint32_t *ret_job);
int64_t terms_next(const struct terms *t); /* when time alone changes something; TIME_NEVER: never */

#endif
