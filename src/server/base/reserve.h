/*
 * reserve.h - room on the disk of an SQLite store, kept for when that is full: jobs can still be deleted and end, which frees more.
 *
 * One reserve is behind the end of the store's log (FALLOC_FL_KEEP_SIZE), where nobody but the store can use it up: while it is not whole, no jobs
 * are accepted. The log goes when the server stops. So there is another, a file beside the store: removed when a store can't be opened, or a commit finds
 * no room all the same.
 */
#ifndef SERVER_RESERVE_H
#define SERVER_RESERVE_H

#include <stdbool.h>

struct server;

/* Before the store at this URL is opened. */
void reserve_open(struct server *s, const char *url);
/* Gives the room to the store. Returns false if it had none to give. */
bool reserve_release(struct server *s);
/* Returns true while the disk is too full for new jobs. Makes the reserve again as soon as there is room. */
bool reserve_lacks(struct server *s);

#endif
