/*
 * nodes.h - the life of nodes with an agent: joined, connected, silent, lost, removed.
 */
#ifndef SERVER_LINK_NODES_H
#define SERVER_LINK_NODES_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "server/node/nodes.h"

/* A node that has just been given a certificate: made, or its facts renewed. *join: the number that it has from before; 0: it is given one.
 * CODE_BAD_STATE: a node of the configuration has that name, one that is connected, or one on which jobs may still run. */
int nodes_join(struct server *s, const char *name, const json_t *facts, const char *by, uint64_t *join,
	       struct err *err);
enum removal {
	REMOVE_IDLE,  /* refused while jobs run there */
	REMOVE_ENDED, /* its jobs are ended first; those of a node that is not heard end with their leases */
	REMOVE_DEAD,  /* the same, but the caller vouches that nothing runs on a node that is not heard */
};
int nodes_remove(struct server *s, uint32_t node, enum removal how, const char *by,
		 struct err *err); /* -EBUSY: jobs run there */
bool node_expelled(const struct server *s,
		   uint32_t node); /* it was to end its jobs for its removal, and has not in time */
void nodes_turn(struct server *s); /* who has been silent for too long */
int64_t nodes_next(const struct server *s);
void nodes_farewell(struct server *s);		       /* the server is about to stop: written down before it is told */
int facts_check(const json_t *facts, struct err *err); /* -EINVAL: no machine is like that */
void node_facts(struct server *s, uint32_t node, const json_t *facts);		     /* checked ones */
void node_arrived(struct server *s, uint32_t node, const json_t *facts, bool moved); /* its hello was accepted */
void node_heard(struct server *s, uint32_t node, const char *health); /* a ping; NULL or "": it is well */
void node_certified(struct server *s, uint32_t node);		      /* it was given a certificate */
struct res node_size(const struct node_info *n);   /* what a joined node has for jobs, by its facts and its limits */
void node_resize(struct server *s, uint32_t node); /* by its facts and the administrator's limits */
const char *
node_state(const struct server *s,
	   uint32_t node); /* the words of docs/cluster.md, joined by commas; borrowed until the next call */

#endif
