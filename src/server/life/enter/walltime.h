/* walltime.h - changes the walltime of a running job. */
#ifndef SERVER_WALLTIME_H
#define SERVER_WALLTIME_H

#include <stdbool.h>
#include <stdint.h>

struct arena;
struct asker;
struct err;
struct server;

/* Checks the new walltime. Operators may always extend it, but need `force` if that breaks
 * guaranteed deadlines. */
int walltime_check(struct server *s, uint32_t id, const struct asker *w, int64_t walltime, bool force, struct err *err);
/* Returns a description of the change for the log. */
const char *walltime_words(int64_t before, int64_t after, struct arena *a);
/* Updates the plan and the hosts after the spec got the new walltime. */
void walltime_changed(struct server *s, uint32_t id);
/* Informs its hosts, after the commit. */
void walltime_tell(struct server *s, uint32_t id, uint32_t attempt);

#endif
