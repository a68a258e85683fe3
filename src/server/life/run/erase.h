/*
 * erase.h - checkpoint directories of jobs that are forgotten: nothing can be restarted from them any more.
 *
 * Which are to be deleted is in the store until that is done, so that a crash leaves none behind; what could not be deleted is tried again at the next start. A job
 * that succeeds has deleted its own (run/saving.h).
 */
#ifndef SERVER_ERASE_H
#define SERVER_ERASE_H

#include <jansson.h>
#include <stdint.h>

struct err;
struct server;

void erase_add(struct server *s, uint32_t id); /* the job is about to be forgotten */
int erase_restore(struct server *s, const char *name, const json_t *o, struct err *err);
void erase_send(struct server *s); /* after the commit, a few at a time */
/* The engine's answer. reason: it is there still. */
void erase_done(struct server *s, const char *name, const char *reason);

#endif
