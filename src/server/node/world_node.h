/*
 * world_node.h - one node in the plan and in the store.
 */
#ifndef SERVER_WORLD_NODE_H
#define SERVER_WORLD_NODE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct err;
struct res;
struct server;

int world_node_restore(struct server *s, const char *name, const json_t *o, struct err *err);
void world_node_store(struct server *s, uint32_t node);
int world_node_add(struct server *s, const char *name, const struct res *total, struct err *err); /* -EEXIST */
void world_node_size(struct server *s, uint32_t node, const struct res *total); /* it has more, or less, than before */
int world_node_features(struct server *s, uint32_t node, struct err *err);	/* features and class anew; -ENOSPC */
void world_node_gate(struct server *s, uint32_t node); /* lets the scheduler use it, or not, by its state */
int64_t world_cpus_used(const struct server *s, uint32_t node);
int64_t world_gpus_used(const struct server *s, uint32_t node);
bool world_node_past(const struct server *s, uint32_t node); /* only history knows it */

#endif
