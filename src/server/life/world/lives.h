/*
 * lives.h - what happens to nodes and queues: folded, stored, shown and streamed.
 *
 * A node's life (core/node.h) changes here and nowhere else: node_happens() applies an event and remembers it for the store,
 * and at recovery the same events are folded again, on top of the node's *base*: its life before the first of them, since only the last
 * LIFE_KEPT or so are kept.
 */
#ifndef SERVER_LIVES_H
#define SERVER_LIVES_H

#include <jansson.h>

#include "base/strbuf.h"
#include "core/node.h"
#include "store/store.h"

struct server;

#define BY_SERVER "the server"
#define LIFE_KEPT                                                                                                      \
	500 /* events of a queue, or of a node that is gone; of a node that is there, at least: the others go when there are twice as many */

/* Who did it, why, and for when; all may be missing. */
struct cause {
	const char *who, *reason;
	int64_t at;
};

/* An event of a node. -EINVAL, and nothing has changed: it is not legal now. What follows for the scheduler is up to the caller
 * (world_node_gate, world_changed). */
int node_happens(struct server *s, uint32_t node, enum node_event_type type, const struct cause *why, struct err *err);
/* The same, if it is legal. True: it was. */
bool node_maybe(struct server *s, uint32_t node, enum node_event_type type, const struct cause *why);

/* An event of a node or a queue: stored and streamed. */
void life_record(struct server *s, const char *kind, const char *name, const char *type, const struct cause *why);
/* In plain words: "taken offline by ana: new disk". */
void life_words(const struct store_life *e, struct strbuf *out);

/* At recovery: each event, in order; then what has changed while the server was away. */
int life_restore(struct server *s, const struct store_life *e, struct err *err);
void lives_settle(struct server *s);
/* A node whose time has come is out of service. */
void life_due(struct server *s, uint32_t node);

#endif
