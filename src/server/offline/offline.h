/*
 * offline.h - what commands have left in the spool while no server ran (client/tray.h) is done at the next start, in the order of its numbers, before
 * anything is scheduled and before others are answered.
 *
 * A change goes through api_handle() as if its owner had sent it, with a key: one that was made before a crash, and is still in the spool after it, is not made
 * again. It is removed from the spool when it has been committed. A submission that is refused leaves a note in the store, so that its id is known.
 */
#ifndef SERVER_OFFLINE_H
#define SERVER_OFFLINE_H

#include <stdint.h>

#include "base/err.h"

struct server;

/* Once it listens, before it answers anybody: the spool is closed, and what is in it is to be done. A server that fails before that leaves it open. It is not closed, nor
 * looked at, where the store is shared with other servers. */
int offline_begin(struct server *s, struct err *err);
/* Right after that: commands may use the spool when it does not any more. */
int offline_open(struct server *s, struct err *err);
void offline_turn(struct server *s);
int64_t offline_next(
	const struct server *s); /* when there is something to do for it, in microseconds of the clock; TIME_NEVER */
/* Before a commit: numbers that jobs have by it are not those of the spool. */
int offline_offer(struct server *s, struct err *err);
void offline_end(struct server *s); /* it does not listen any more */

#endif
