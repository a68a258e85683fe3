/* depend.h - dependencies between jobs. */
#ifndef SERVER_DEPEND_H
#define SERVER_DEPEND_H

#include <stdint.h>

#include "core/depend.h"

struct server;

/* Keeps the jobs it depends on from being forgotten until depend_unwatch(): it has ended, or its
 * spec is about to be replaced. */
void depend_watch(struct server *s, uint32_t id);
void depend_unwatch(struct server *s, uint32_t id);
/* Looks up the end of a forgotten job in the history; `gone`: the history does not have it
 * either. `context` is the server (rules/gate.h). */
struct depend_fate depend_past(void *context, const struct jobid *id);
/* Does the same for a job of that user; NULL: of any user. */
struct depend_fate depend_past_of(const struct server *s, const struct jobid *id, const char *user);

#endif
