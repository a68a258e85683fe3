/* overlay.h - demand for overlay nodes: which jobs could run there, how many nodes are wanted,
 * and what happens to existing ones. */
#ifndef SERVER_LIFE_OVERLAY_H
#define SERVER_LIFE_OVERLAY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "server/settings/overlays.h"

struct server;
struct strbuf;

typedef VEC(int64_t) overlay_sizes;

/* Returns true if nodes of some overlay could hold it. */
bool overlays_could_hold(const struct server *s, uint32_t request, uint32_t allowed);
/* Appends why a waiting job that fits an overlay except for its walltime cannot run there, as
 * the end of a sentence; nothing in other cases. */
void overlays_why(const struct server *s, uint32_t id, struct strbuf *out);

/* Computes the allocations that waiting jobs need beyond idle nodes, by number of nodes.
 * `ret_keep`: idle nodes are needed. */
void overlay_wants(struct server *s, struct overlay *o, overlay_sizes *ret, bool *ret_keep);

/* Writes the name of the node in a slot; slots count from 0. */
void overlay_node_name(const struct overlay *o, size_t slot, char ret[64]);
/* Finds the node in a slot; false: none. */
bool overlay_node(const struct server *s, const struct overlay *o, size_t slot, uint32_t *ret);

#endif
