/*
 * counts.h - numbers of jobs by state.
 */
#ifndef SERVER_COUNTS_H
#define SERVER_COUNTS_H

#include <stdint.h>

#include "base/strbuf.h"

struct array;
struct queue;
struct server;

/* The arrays are indexed by the letter of the state. */
/* Counts the jobs of a queue; q NULL: of all queues. */
void count_states(const struct server *s, const struct queue *q, int64_t counts[256]);
/* Counts for all queues in one pass: a row for each, in their order. The caller frees it. */
int64_t (*count_queues(const struct server *s))[256];
void array_counts(const struct server *s, const struct array *a, int64_t counts[256]);
char array_state(const struct server *s, const struct array *a); /* letter of an array as a whole */

/* States of an array's elements, for people. */
enum element_state {
	ELEMENT_WAITING,
	ELEMENT_HELD,
	ELEMENT_RUNNING,
	ELEMENT_SUCCEEDED,
	ELEMENT_FAILED,
	ELEMENT_CANCELLED,
	ELEMENT_STATES,
};
/* Appends the indices of the elements in each state, as -t takes them: "1-9,12". */
void array_elements(const struct server *s, const struct array *a, struct strbuf ret[ELEMENT_STATES]);

#endif
