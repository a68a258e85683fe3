/*
 * reserve.h - disk space reserved for an SQLite store.
 *
 * When the disk is full, the reserve still lets jobs be deleted and end, which frees more space.
 * One reserve lies behind the end of the store's log (FALLOC_FL_KEEP_SIZE), where only the store
 * can use it; while it is incomplete, no jobs are accepted. The log is removed when the server
 * stops. So there is a second reserve, a file beside the store, which is removed when a store
 * cannot be opened or a commit still finds no space.
 */
#ifndef SERVER_RESERVE_H
#define SERVER_RESERVE_H

#include <stdbool.h>

struct server;

/* Prepares the reserve; called before the store at this URL is opened. */
void reserve_open(struct server *s, const char *url);
/* Gives the reserved space to the store. Returns false if there was none. */
bool reserve_release(struct server *s);
/* Returns true while the disk is too full for new jobs. Restores the reserve once there is
 * space. */
bool reserve_lacks(struct server *s);

#endif
