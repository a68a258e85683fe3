/*
 * limit.h - how many jobs may run at once: of all, of a user, of an array, of a queue, of a user in a queue.
 *
 * A limit is a rule (how many) and a counter for each party that it counts (who). Jobs of one user, queue and array count against the same limits: they are
 * one *class*, by whose number a job carries its limits (job.limits).
 *
 * A job counts from the moment it is given a place that is remembered, a start or a reservation that was promised (ALLOCATE), until it loses the place or
 * ends. A job that merely waits counts nowhere, however long it waits: so a wide job takes no slot from a narrow one behind the same limit. Since places are
 * events, who has a slot is the same after a restart.
 *
 * Jobs that find their limit reached wait in *lines*, one for each class and shape of request. When a slot is free, as many as may start leave each line,
 * by rank: whether one of a line fits holds for those behind it, and the scheduler's order decides between lines.
 */
#ifndef RULES_LIMIT_H
#define RULES_LIMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LIMITS_NONE 0 /* the class of jobs without limits */

enum limit_kind { LIMIT_ALL, LIMIT_USER, LIMIT_ARRAY, LIMIT_QUEUE, LIMIT_QUEUE_USER, LIMIT_KINDS };

/* Whose job it is. */
struct limit_party {
	uint32_t user, queue;
	uint64_t array; /* its number; 0: none */
};

struct limits;
struct limits *limits_create(void);
struct limits *limits_clone(const struct limits *l);
void limits_destroy(struct limits *l);

/* How many may run at once; below 0: any number. `of`: the array's number, or the queue; else 0. */
void limits_set(struct limits *l, enum limit_kind kind, uint64_t of, int64_t most);
/* The class of a party, made if new. */
uint32_t limits_class(struct limits *l, const struct limit_party *party);
/* An array is forgotten, and so is its class. None of its jobs counts or waits. */
void limits_drop_array(struct limits *l, const struct limit_party *party);

/* How many more of a class may start now; INT64_MAX: any number. */
int64_t limits_room(const struct limits *l, uint32_t class);
/* The limit that a class has reached, with its number; false: another may start. */
bool limits_reached(const struct limits *l, uint32_t class, enum limit_kind *ret_kind, int64_t *ret_most);
/* A job is given a slot (1), or gives it back (-1). */
void limits_count(struct limits *l, uint32_t class, int sign);
/* Nobody counts, and nobody waits. */
void limits_clear(struct limits *l);

/* A job waits until its limits allow another. `shape`: a hash of what it asks for. */
void limits_wait(struct limits *l, uint32_t class, uint64_t shape, int64_t rank, uint32_t job);
/* Asks those who may leave their lines, by rank. `leave` says false for a job that does not wait there any more. */
void limits_offer(struct limits *l, bool (*leave)(void *context, uint32_t job), void *context);

#endif
