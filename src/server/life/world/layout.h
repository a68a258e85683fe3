/*
 * layout.h - changes partitions while jobs wait and run.
 *
 * A change to a partition with running jobs is refused. For waiting jobs the suitable partitions
 * are computed again; a job without one is held, with the reason in its comment, until a partition
 * suits it again.
 */
#ifndef SERVER_LAYOUT_H
#define SERVER_LAYOUT_H

#include <stdbool.h>

struct err;
struct server;

/* Checks that no running job has any of the marked nodes, or another node of their machine.
 * -EINVAL: the error names the job. */
int layout_check(struct server *s, const bool *nodes, struct err *err);
/* Moves those nodes to other partitions, by the definitions (node/partitions.h). */
void layout_change(struct server *s, const bool *nodes);

#endif
