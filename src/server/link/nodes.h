/*
 * nodes.h - the life of nodes with an agent: joined, connected, silent, lost, removed.
 */
#ifndef SERVER_LINK_NODES_H
#define SERVER_LINK_NODES_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "server/node/nodes.h"

/* Adds a node that has just been given a certificate, or renews its facts. *join: its previous
 * number; 0: a new one is assigned. CODE_BAD_STATE: the name belongs to a node of the
 * configuration, a connected node, or one on which jobs may still run. */
int nodes_join(struct server *s, const char *name, const json_t *facts, const char *by, uint64_t *join,
	       struct err *err);
enum removal {
	REMOVE_IDLE,  /* refused while jobs run on the node */
	REMOVE_ENDED, /* its jobs are ended first; on a silent node they end with their leases */
	/* like REMOVE_ENDED, but the caller vouches that nothing runs on a silent node */
	REMOVE_DEAD,
};
/* Removes a node, or lets it leave first. CODE_BAD_STATE: jobs run on it (REMOVE_IDLE). */
int nodes_remove(struct server *s, uint32_t node, enum removal how, const char *by, struct err *err);
/* Returns true if the node did not end its jobs in time for its removal. */
bool node_expelled(const struct server *s, uint32_t node);
void nodes_turn(struct server *s); /* handles nodes that have been silent for too long */
int64_t nodes_next(const struct server *s);
/* Stores that leases are suspended, before agents are informed that the server stops. */
void nodes_farewell(struct server *s);
/* Returns true if no attempt is left but those on nodes that do not answer. A pending SIGKILL is
 * waited for. */
bool nodes_emptied(struct server *s);
/* Checks facts about a node. -EINVAL: they are impossible. */
int facts_check(const json_t *facts, struct err *err);
/* Takes over checked facts. */
void node_facts(struct server *s, uint32_t node, const json_t *facts);
/* Updates a node whose hello was accepted. */
void node_arrived(struct server *s, uint32_t node, const json_t *facts, bool moved);
/* Handles a ping; health NULL or "": it is well. */
void node_heard(struct server *s, uint32_t node, const char *health);
/* Stores the expiry of the certificate that a node was just given. */
void node_certified(struct server *s, uint32_t node);
/* Returns the resources of a joined node for jobs, from its facts and limits. */
struct res node_size(const struct node_info *n);
/* Applies its facts and the administrator's limits. */
void node_resize(struct server *s, uint32_t node);
/* Returns the words of docs/cluster.md, joined by commas; borrowed until the next call. */
/* Words of a node's state, in the order in which they are shown. */
enum node_word {
	WORD_FREE,
	WORD_BUSY,
	WORD_OFFLINE,
	WORD_DRAINING,
	WORD_DOWN,
	WORD_JOINING,
	WORD_UNHEALTHY,
	WORD_CLAIMED,
	WORD_COUNT,
};
/* Returns those that hold, one bit each; at least one. */
unsigned node_words(const struct server *s, uint32_t node);
const char *node_word_name(enum node_word word_);
const char *node_state(const struct server *s, uint32_t node);
bool node_plain(const struct server *s, uint32_t node); /* its state is "free" or "busy" */

#endif
