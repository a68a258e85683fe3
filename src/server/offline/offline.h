/*
 * offline.h - changes that commands left in the spool while no server was running (client/tray.h).
 * The next start carries them out in the order of their numbers, before it schedules anything or
 * answers other requests.
 *
 * A change goes through api_handle() as if its owner had sent it, with a key, so that a change made
 * before a crash and still in the spool after it is not made again. It leaves the spool once it is
 * committed. A refused submission leaves a note in the store, so that its id is known.
 */
#ifndef SERVER_OFFLINE_H
#define SERVER_OFFLINE_H

#include <stdint.h>

#include "base/err.h"

struct server;

/* Offers commands a new tray and prepares to process the contents of the others, once the server
 * listens and before it answers anyone. Does nothing where the store is shared with other
 * servers. */
int offline_begin(struct server *s, struct err *err);
/* Writes the first number for commands into the offer, right after offline_begin(), and the view
 * that they read once the server is gone. */
int offline_open(struct server *s, struct err *err);
void offline_turn(struct server *s);
/* Microseconds of the clock at which it has work to do; TIME_NEVER: none. */
int64_t offline_next(const struct server *s);
/* Raises the number the spool counts from, before a commit, above the numbers of jobs in that
 * commit. */
int offline_offer(struct server *s, struct err *err);
void offline_end(struct server *s); /* called when the server no longer listens */

#endif
