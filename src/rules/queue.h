/*
 * queue.h - queues as plain data: what is set of them (attr.h), and what follows from it for limits.
 */
#ifndef RULES_QUEUE_H
#define RULES_QUEUE_H

#include "base/vec.h"
#include "core/cluster.h"
#include "rules/attr.h"
#include "rules/limit.h"
#include "rules/object.h"

/* The limits on running jobs that attributes set: of the server, or of the queue that limits know by this number. */
void limits_of_server(struct limits *l, const struct attrs *server);
void limits_of_queue(struct limits *l, uint32_t number, const struct attrs *queue);
/* Those of a user, group, account or QoS that limits know by this number; of all without their own by 0. `a` NULL: it has none of its own any more. */
void limits_of_object(struct limits *l, enum object_kind kind, uint32_t number, const struct attrs *a);

/* The nodes that a queue's jobs may use (its attribute nodes: names and features), in partitions or without those; NODES_ALL: any. Names of nodes that there are not
 * (yet) count as none. */
uint32_t queue_nodes(struct cluster *c, const struct attrs *queue, bool partitions);

/* The settings of the scheduler that the server's attributes are. */
void settings_of_server(struct settings *x, const struct attrs *server);

/* The rules of a site, as the simulator has them: the server's attributes, queues by name, and the other objects. */
struct ruleset_queue {
	char *name;
	struct attrs attrs;
};

struct ruleset {
	struct attrs attrs;
	VEC(struct ruleset_queue) queues; /* a queue's number among limits is its index + 1 */
	struct objects objects;
};

void ruleset_init(struct ruleset *s);
void ruleset_fini(struct ruleset *s);
/* The index of a queue; -ENOENT: there is none. */
int ruleset_find(const struct ruleset *s, const char *name);
int ruleset_add(struct ruleset *s, const char *name); /* the index; -EEXIST */

#endif
