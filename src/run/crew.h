/*
 * crew.h - the tasks of one attempt in its shepherd: connections, processes, and answers to send
 * (task.h has the protocol).
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
	const struct launch *how; /* settings that all tasks share; its descriptors are not used */
	int listener;		  /* -1: this attempt takes no tasks */
	char *path;
	VEC(struct member *) members;
	int64_t accept_at; /* boot_us() of the next accept, after descriptors ran out */
};

/* Listens at LIVE/.task-TAG, with the rights of the server's account. */
int crew_open(struct crew *c, const struct launch *how, const char *live, struct err *err);
/* crew_fds() adds what to poll for; crew_turn() handles the events, with the same entries at `fds`.
 * `open`: new tasks may be started. */
void crew_fds(struct crew *c, int64_t now, poll_list *ret);
void crew_turn(struct crew *c, const struct pollfd *fds, size_t n, bool open);
/* Returns false if the process is not a task. */
bool crew_reaped(struct crew *c, pid_t pid, int status);
int64_t crew_next(const struct crew *c);     /* returns when to call crew_look() */
void crew_look(struct crew *c, int64_t now); /* kills tasks that were asked to end and did not */
void crew_close(struct crew *c);	     /* called when no task is running any more */

#endif
