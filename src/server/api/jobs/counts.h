/*
 * counts.h - numbers of jobs by state.
 */
#ifndef SERVER_COUNTS_H
#define SERVER_COUNTS_H

#include <stdint.h>

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

#endif
