/*
 * world_node.h - one node in the plan and in the store.
 */
#ifndef SERVER_WORLD_NODE_H
#define SERVER_WORLD_NODE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct err;
struct node_info;
struct res;
struct server;

/* Of a node that is here for a time: seconds between the end of its last job and its own. */
#define LEAVES_EARLY 15

int world_node_restore(struct server *s, const char *name, const json_t *o, struct err *err);
void world_node_store(struct server *s, uint32_t node);
int world_node_add(struct server *s, const char *name, const struct res *total, struct err *err); /* -EEXIST */
void world_node_size(struct server *s, uint32_t node, const struct res *total); /* it has more, or less, than before */
void world_node_total(const struct node_info *n, int64_t cpus, struct res *total); /* its CPUs, whole or divided */
/* Its CPUs are divided from now on, or whole again; the caller calls world_changed(). Error code BAD_STATE: it has jobs, or is in a partition. */
int world_node_share(struct server *s, uint32_t node, bool shared, struct err *err);
int64_t world_share_used(const struct server *s, uint32_t node);	   /* thousandths of a CPU */
int world_node_features(struct server *s, uint32_t node, struct err *err); /* features and class anew; -ENOSPC */
void world_node_gate(struct server *s, uint32_t node); /* lets the scheduler use it, or not, by its state */
int64_t world_cpus_used(const struct server *s, uint32_t node);
int64_t world_gpus_used(const struct server *s, uint32_t node);
bool world_node_past(const struct server *s, uint32_t node); /* only history knows it */

#endif
