/*
 * queue.h - queues as plain data: their attributes (attr.h), and the limits and settings that
 * follow.
 */
#ifndef RULES_QUEUE_H
#define RULES_QUEUE_H

#include "base/vec.h"
#include "core/cluster.h"
#include "rules/attr.h"
#include "rules/limit.h"
#include "rules/object.h"

/* Set the limits on running jobs from the attributes of the server, or of the queue with this
 * number. */
void limits_of_server(struct limits *l, const struct attrs *server);
void limits_of_queue(struct limits *l, uint32_t number, const struct attrs *queue);
/* Sets the limits of the user, group, account or QoS with this number; 0: of all without their
 * own. `a` NULL: removes its own limits. */
void limits_of_object(struct limits *l, enum object_kind kind, uint32_t number, const struct attrs *a);

/* Returns the nodes that a queue's jobs may use (attribute nodes: names and features), inside or
 * outside partitions; NODES_ALL: any. Names of nodes that do not exist (yet) match none. */
uint32_t queue_nodes(struct cluster *c, const struct attrs *queue, bool partitions);

/* Sets the scheduler's settings from the server's attributes. */
void settings_of_server(struct settings *x, const struct attrs *server);

/* A site's rules, as the simulator keeps them: the server's attributes, queues by name, and the
 * other objects. */
struct ruleset_queue {
	char *name;
	struct attrs attrs;
};

struct ruleset {
	struct attrs attrs;
	VEC(struct ruleset_queue) queues; /* a queue's number in limits is its index + 1 */
	struct objects objects;
};

void ruleset_init(struct ruleset *s);
void ruleset_fini(struct ruleset *s);
/* Returns the index of a queue, or -ENOENT. */
int ruleset_find(const struct ruleset *s, const char *name);
int ruleset_add(struct ruleset *s, const char *name); /* returns the index, or -EEXIST */

#endif
