/*
 * lives.h - events of nodes and queues: folded, stored, shown and streamed.
 *
 * A node's life (core/node.h) changes here and nowhere else: node_happens() applies an event and
 * passes it to the store, and recovery folds the same events again. It starts from the node's
 * *base*, its life before the first stored event, since only about the last LIFE_KEPT are kept.
 */
#ifndef SERVER_LIVES_H
#define SERVER_LIVES_H

#include "base/strbuf.h"
#include "core/node.h"
#include "store/store.h"

struct server;

#define BY_SERVER "the server"
/* Events kept for a queue or a removed node. An existing node is trimmed to this number when it
 * has twice as many. */
#define LIFE_KEPT 500

/* Who caused an event, why, and for when; each may be missing. */
struct cause {
	const char *who, *reason;
	int64_t at;
};

/* Applies an event to a node. -EINVAL: it is not legal now, and nothing has changed. The caller
 * informs the scheduler (world_node_gate, world_changed). */
int node_happens(struct server *s, uint32_t node, enum node_event_type type, const struct cause *why, struct err *err);
/* Applies the event if it is legal; returns true if it was. */
bool node_maybe(struct server *s, uint32_t node, enum node_event_type type, const struct cause *why);

/* Stores and streams an event of a node or a queue. */
void life_record(struct server *s, const char *kind, const char *name, const char *type, const struct cause *why);
/* Writes an event in plain words: "taken offline by ana: new disk". */
void life_words(const struct store_life *e, struct strbuf *out);

/* At recovery: life_restore() takes each event in order; lives_settle() then applies what
 * changed while the server was down. */
int life_restore(struct server *s, const struct store_life *e, struct err *err);
void lives_settle(struct server *s);
/* Takes a node out of service whose time has come. */
void life_due(struct server *s, uint32_t node);

#endif
