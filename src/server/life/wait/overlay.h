/*
 * overlay.h - what overlays are for: which jobs could run on their nodes, how many are wanted, and what becomes of those that are there.
 */
#ifndef SERVER_LIFE_OVERLAY_H
#define SERVER_LIFE_OVERLAY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "server/settings/overlays.h"

struct server;
struct spec;
struct strbuf;

typedef VEC(int64_t) overlay_sizes;

/* Nodes of an overlay that a request takes; 0: it could not run there. */
int64_t overlay_needs(const struct server *s, const struct overlay *o, uint32_t request, uint32_t allowed);
/* Whether the nodes of some overlay could hold it if they came. */
bool overlays_could_hold(const struct server *s, uint32_t request, uint32_t allowed);
/* The longest job that a new node has time for, seconds. */
int64_t overlay_longest(const struct server *s, const struct overlay *o);
/* Of a job that waits and could run there, but for its time: why not, as the end of a sentence; nothing if that is not so. */
void overlays_why(const struct server *s, uint32_t id, struct strbuf *out);

/* Allocations that waiting jobs want, by their numbers of nodes, besides what is idle. `ret_keep`: idle nodes are wanted, too. */
void overlay_wants(struct server *s, struct overlay *o, overlay_sizes *ret, bool *ret_keep);

/* The name of the node in a slot, from 0. */
void overlay_node_name(const struct overlay *o, size_t slot, char ret[64]);
/* The node in a slot, if there is one. */
bool overlay_node(const struct server *s, const struct overlay *o, size_t slot, uint32_t *ret);

#endif
