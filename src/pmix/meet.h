/*
 * meet.h - the PMIx server of one host, through which the ranks of a program find each other,
 * behind an interface without PMIx types.
 *
 * The library works in a thread of its own. Its requests are queued and make meet_fd() readable;
 * call meet_next() until it returns false. What the library passes with a request is kept here
 * under an id until the answer is given. The library's state is global to the process, and so is
 * ours: one program, one server.
 */
#ifndef PMIX_MEET_H
#define PMIX_MEET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/hostlist.h"
#include "base/vec.h"
#include "pmix/layout.h"

enum meet_type {
	/* all ranks of `who` on this host wait, with `data` for the others: meet_answer() with
	 * everybody's data */
	MEET_FENCE,
	MEET_ASK,	/* a rank here requests the data of `rank`, on another host: meet_answer() */
	MEET_TOLD,	/* reply to meet_tell(): `id`, `status` and `data` */
	MEET_ABORT,	/* `rank` requests that all ranks end, with `status` */
	MEET_SPAWN,	/* `rank` requests more ranks, which is not supported */
	MEET_CONNECTED, /* `rank` is a program that uses PMIx */
	MEET_FINALIZED, /* `rank` has left PMIx: its exit status no longer ends the others */
};

struct meet_event {
	enum meet_type type;
	uint64_t id;
	uint32_t rank;
	int status;
	char *who; /* "*": all ranks, or a list such as "0,2,3" */
	char *data;
	size_t n;
};

/* Starts the server; `dir` is a private directory for its files. This takes most of a program's
 * start time. */
int meet_start(const struct layout *l, const char *dir, struct err *err);
/* Adds the variables that a rank needs to its environment; free the entries with free(). */
int meet_prepare(const struct layout *l, uint32_t rank, name_list *env, struct err *err);

int meet_fd(void);
/* Takes the next event; returns false if there is none. The caller owns its strings:
 * meet_event_fini(). */
bool meet_next(struct meet_event *ret);
void meet_event_fini(struct meet_event *e);
void meet_answer(uint64_t id, int status, const char *data, size_t n);
/* Requests the data of a rank on this host; MEET_TOLD follows with the same id once the rank has
 * provided it. */
void meet_tell(uint64_t id, const struct layout *l, uint32_t rank);

#endif
