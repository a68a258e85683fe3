/*
 * spool.h - changes that agents bring: what commands left on their hosts while the server was down (client/tray.h, docs/protocol.md).
 *
 * An agent gets a lease with each welcome, by which its host may take changes once the server is gone; it is proof that this cluster gave it, and nothing of it is
 * kept. A change is sealed for a lease by its user's login token: the agent carries it, and can neither make one nor alter it. What was made leaves a mark, its
 * seal, in the store, so that it is not made again: not when the agent repeats it, because the answer was lost, nor later. The marks go when the agent has brought all there was
 * under earlier leases, and these are closed from then on.
 */
#ifndef SERVER_SPOOL_H
#define SERVER_SPOOL_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct server;

/* What the host may do when the server is gone, for its welcome: a lease, and its numbers; new. {}: nothing, but what it has is taken. */
json_t *spool_lease(struct server *s, uint32_t node);
/* A frame of an agent: `kept`, a piece of a change, or `emptied`. */
void spool_frame(struct server *s, uint32_t node, const json_t *head, const char *data, size_t n);
void spool_turn(struct server *s);
int64_t
spool_next(const struct server *s); /* when there is something to do, in microseconds of the clock; TIME_NEVER */

/* At recovery: the objects `spooled` (a mark) and `spool` (a host). */
int spool_restore_mark(struct server *s, const char *seal, const json_t *o, struct err *err);
int spool_restore_host(struct server *s, const char *join, const json_t *o, struct err *err);

#endif
