/*
 * erase.h - deletes checkpoint directories of forgotten jobs, which nothing can restart from any
 * more.
 *
 * The store lists the directories to delete until that is done, so that a crash leaves none behind;
 * failed deletions are retried at the next start. A job that succeeds has deleted its own
 * (run/saving.h).
 */
#ifndef SERVER_ERASE_H
#define SERVER_ERASE_H

#include <jansson.h>
#include <stdint.h>

struct err;
struct server;

/* Adds the directory of a job that is about to be forgotten. */
void erase_add(struct server *s, uint32_t id);
int erase_restore(struct server *s, const char *name, const json_t *o, struct err *err);
/* Sends deletions to the engine, after the commit, a few at a time. */
void erase_send(struct server *s);
/* Handles the engine's answer. reason: why the directory still exists; NULL: it was deleted. */
void erase_done(struct server *s, const char *name, const char *reason);

#endif
