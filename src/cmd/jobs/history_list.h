/*
 * history_list.h - a table of ended jobs; the elements of an array share a line unless they are
 * requested one by one.
 */
#ifndef CMD_HISTORY_LIST_H
#define CMD_HISTORY_LIST_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/names.h"
#include "base/vec.h"

/* A job, or the ended elements of an array. */
struct history_line {
	json_t *job;	  /* the first row read */
	int64_t elements; /* 0: not an array */
	json_t *states;	  /* array only: number of elements by final state */
	bool same_exit;
	int64_t submitted, started, ended; /* earliest, earliest or 0, latest */
	int64_t ran_ms, peak_kib;	   /* maximum */
	int64_t could_ms, cpu_ms;	   /* CPU time available and used; total */
};

/* {0} is empty. */
struct history_list {
	bool expand; /* one line per element */
	VEC(struct history_line) lines;
	struct names arrays; /* ids of arrays */
	VEC(size_t) array_line;
};

void history_list_add(struct history_list *l, json_t *row); /* rows come newest first */
/* Prints the table, oldest first. `users`: with a column for the user. */
void history_list_print(const struct history_list *l, bool users);
void history_list_fini(struct history_list *l);

#endif
