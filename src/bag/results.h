/*
 * results.h - the state of a bag as its directory shows it, without its broker: the same fold over
 * the journal with which a broker begins.
 */
#ifndef BAG_RESULTS_H
#define BAG_RESULTS_H

#include "bag/bagfile.h"
#include "bag/journal.h"
#include "bag/queue.h"

/* A fold over records. Tasks are numbered from 1. */
struct fold {
	uint32_t tasks;
	uint64_t hash;	   /* hash of the tasks' text */
	uint8_t *state;	   /* enum task_state */
	uint8_t *failures; /* failures since the last retry */
	/* offset + 1 of the record that finished the task; 0: none. NULL: not wanted */
	uint64_t *at;
	bool other;	/* the journal belongs to other tasks */
	bool cancelled; /* cancelled and not run since */
	uint64_t twice; /* records of tasks that were already done; must be 0 */
	int64_t began;	/* start of the last run, microseconds since 1970 */
};
void fold_init(struct fold *f, const struct bag *bag, bool want_at);
void fold_fini(struct fold *f);
void fold_record(struct fold *f, const struct record *r, uint64_t offset);

struct results {
	struct bag bag;
	struct journal_view view;
	struct fold fold;
	uint32_t done, aside;
};
/* Opens a bag's directory. -ENOENT: it is not one. */
int results_open(const char *dir, struct results *ret, struct err *err);
void results_close(struct results *r);
/* Returns the record that finished a task; false: it is not finished. */
bool results_get(const struct results *r, uint32_t task, struct record *ret);

#endif
