/*
 * meet.h - how the ranks of a program find each other: the PMIx server of one host, seen without PMIx.
 *
 * The library works in a thread of its own. What it wants from us is queued, and meet_fd() is readable: then meet_next() until there is none. What it
 * hands over with a question is kept here under an id, until the answer is given. One program, one server: the library's state is the process's, and so is ours.
 */
#ifndef PMIX_MEET_H
#define PMIX_MEET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"
#include "pmix/layout.h"

enum meet_type {
	MEET_FENCE, /* all ranks of `who` that are here wait, with `data` for the others: meet_answer() with everybody's data */
	MEET_ASK,	/* somebody here wants what `rank`, elsewhere, has to tell: meet_answer() */
	MEET_TOLD,	/* what meet_tell() asked for: `id` and `status` and `data` */
	MEET_ABORT,	/* `rank` wants all to end, with `status` */
	MEET_SPAWN,	/* `rank` wants more ranks, which it can't have */
	MEET_CONNECTED, /* `rank` is a program that speaks PMIx */
	MEET_FINALIZED, /* it has said good-bye: what it ends with is its own affair */
};

struct meet_event {
	enum meet_type type;
	uint64_t id;
	uint32_t rank;
	int status;
	char *who; /* "*": all ranks, or "0,2,3" */
	char *data;
	size_t n;
};

/* Whether this was built with PMIx; without it ranks run, but don't find each other. */
bool meet_possible(void);
/* `dir`: of our own, for its files. It takes most of a start's time. */
int meet_start(const struct layout *l, const char *dir, struct err *err);
/* Adds what a rank needs to know to its environment, whose entries are freed by free(). */
typedef VEC(char *) meet_env;
int meet_prepare(const struct layout *l, uint32_t rank, meet_env *env, struct err *err);

int meet_fd(void);
/* False: there is none. The event's texts are the caller's: meet_event_fini(). */
bool meet_next(struct meet_event *ret);
void meet_event_fini(struct meet_event *e);
void meet_answer(uint64_t id, int status, const char *data, size_t n);
/* Asks a rank that is here what it has to tell; MEET_TOLD follows with the same id, when it has told it. */
void meet_tell(uint64_t id, const struct layout *l, uint32_t rank);

#endif
