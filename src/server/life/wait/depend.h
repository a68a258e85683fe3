/*
 * depend.h - dependencies: who waits for whom.
 */
#ifndef SERVER_DEPEND_H
#define SERVER_DEPEND_H

#include <stdint.h>

#include "core/depend.h"

struct server;

/* Keeps the jobs that it depends on from being forgotten, until depend_unwatch(): it has ended, or its spec is about to be replaced. */
void depend_watch(struct server *s, uint32_t id);
void depend_unwatch(struct server *s, uint32_t id);
/* What became of a job that is forgotten, by the history; `gone`: that does not have it either. `context` is the server (rules/gate.h). */
struct depend_fate depend_past(void *context, const struct jobid *id);
/* The same, of a job of that user; NULL: of anybody. */
struct depend_fate depend_past_of(const struct server *s, const struct jobid *id, const char *user);

#endif
