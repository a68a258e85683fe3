/*
 * walltime.h - another walltime for a job that runs.
 */
#ifndef SERVER_WALLTIME_H
#define SERVER_WALLTIME_H

#include <stdbool.h>
#include <stdint.h>

struct arena;
struct asker;
struct err;
struct server;

/* Operators may extend it in any case, but what breaks guaranteed deadlines only with `force`. */
int walltime_check(struct server *s, uint32_t id, const struct asker *w, int64_t walltime, bool force, struct err *err);
const char *walltime_words(int64_t before, int64_t after, struct arena *a); /* for the log */
void walltime_changed(struct server *s, uint32_t id);			    /* its spec has it now */
void walltime_tell(struct server *s, uint32_t id, uint32_t attempt);	    /* its hosts, after the commit */

#endif
