/*
 * depend.h - dependencies: who waits for whom.
 */
#ifndef SERVER_DEPEND_H
#define SERVER_DEPEND_H

#include <stdint.h>

#include "core/depend.h"

struct server;

void depend_watch(struct server *s, uint32_t id); /* those it depends on are not forgotten before it has ended */
/* What became of a job that is forgotten, by the history; `gone`: that does not have it either. `context` is the server (rules/gate.h). */
struct depend_fate depend_past(void *context, const struct jobid *id);

#endif
