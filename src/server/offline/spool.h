/*
 * spool.h - changes delivered by agents: commands left them on the agents' hosts while the server
 * was down (client/tray.h, docs/protocol.md).
 *
 * With each welcome an agent gets a lease, under which its host may accept changes once the server
 * is gone. The lease proves by itself that this cluster issued it, so the server keeps no copy. A
 * user's login token seals each change for one lease: the agent carries it, but can neither forge
 * nor alter one. A change that was made leaves its seal in the store as a mark, so that it is not
 * made again when the agent repeats it because the answer was lost, nor later. Once the agent has
 * delivered everything under earlier leases, their marks are removed and these leases are closed.
 */
#ifndef SERVER_SPOOL_H
#define SERVER_SPOOL_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct server;

/* Returns, for a host's welcome, a new lease with its numbers for use while the server is gone. {}:
 * no lease, but changes the host already holds are accepted. */
json_t *spool_lease(struct server *s, uint32_t node);
/* Handles a frame of an agent: `kept`, which is a piece of a change, or `emptied`. */
void spool_frame(struct server *s, uint32_t node, const json_t *head, const char *data, size_t n);
void spool_turn(struct server *s);
/* microseconds of the clock at which it has work to do; TIME_NEVER: none */
int64_t spool_next(const struct server *s);

/* Restore the objects `spooled` (a mark) and `spool` (a host) at recovery. */
int spool_restore_mark(struct server *s, const char *seal, const json_t *o, struct err *err);
int spool_restore_host(struct server *s, const char *join, const json_t *o, struct err *err);

#endif
