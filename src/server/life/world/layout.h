/*
 * layout.h - partitions that are changed while jobs wait and run.
 *
 * A partition is not changed under a running job: that is refused. Jobs that wait are asked again which partitions suit them; one that none suits any more is
 * held, and its comment has the reason, until a partition suits it again.
 */
#ifndef SERVER_LAYOUT_H
#define SERVER_LAYOUT_H

#include <stdbool.h>

struct err;
struct server;

/* Whether no running job has any of the nodes that are marked, or another of its machine. -EINVAL: the sentence names the job. */
int layout_check(struct server *s, const bool *nodes, struct err *err);
/* Those nodes are in other partitions than before, by the definitions (node/partitions.h). */
void layout_change(struct server *s, const bool *nodes);

#endif
