/*
 * history_list.h - a table of jobs that have ended; the elements of an array are one line unless
 * they are wanted one by one.
 */
#ifndef CMD_HISTORY_LIST_H
#define CMD_HISTORY_LIST_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/names.h"
#include "base/vec.h"

/* A job, or the elements of an array that have ended. */
struct history_line {
	json_t *job;	  /* the row of the history that came first */
	int64_t elements; /* 0: not an array */
	json_t *states;	  /* of an array: how many ended how */
	bool same_exit;
	int64_t submitted, started, ended; /* the first, the first or 0, the last */
	int64_t ran_ms, peak_kib;	   /* the most */
	int64_t could_ms, cpu_ms;	   /* CPU time that there was, and that was used; of all */
};

/* {0} is empty. */
struct history_list {
	bool expand; /* elements are lines of their own */
	VEC(struct history_line) lines;
	struct names arrays; /* their ids */
	VEC(size_t) array_line;
};

void history_list_add(struct history_list *l, json_t *row); /* rows come newest first */
/* Oldest first. `users`: with a column for them. */
void history_list_print(const struct history_list *l, bool users);
void history_list_fini(struct history_list *l);

#endif
