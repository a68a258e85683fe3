/*
 * crew.h - the tasks of one attempt, as its shepherd has them (task.h says what is spoken): who asks, which process, what is still to be told.
 */
#ifndef RUN_CREW_H
#define RUN_CREW_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "run/launch.h"

typedef VEC(struct pollfd) poll_list;

struct member; /* a connection and its task */

struct crew {
	const struct launch *how; /* what all tasks have in common; its descriptors don't count */
	int listener;		  /* -1: this attempt takes none */
	char *path;
	VEC(struct member *) members;
	int64_t accept_at; /* boot_us(): there were no descriptors for another */
};

/* Listens at LIVE/.task-TAG, with the rights of the server's account. */
int crew_open(struct crew *c, const struct launch *how, const char *live, struct err *err);
/* What to poll for; then what came, with those same entries at `fds`. `open`: new tasks may be started. */
void crew_fds(struct crew *c, int64_t now, poll_list *ret);
void crew_turn(struct crew *c, const struct pollfd *fds, size_t n, bool open);
bool crew_reaped(struct crew *c, pid_t pid, int status); /* false: it is none of them */
int64_t crew_next(const struct crew *c);		 /* when to crew_look() */
void crew_look(struct crew *c, int64_t now);		 /* kills what was asked to end and did not */
void crew_close(struct crew *c);			 /* none runs any more */

#endif
