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

/* Seconds between the end of the last job and the leaving of a temporary node. */
#define LEAVES_EARLY 15

int world_node_restore(struct server *s, const char *name, const json_t *o, struct err *err);
void world_node_store(struct server *s, uint32_t node);
/* Adds a node. -EEXIST: there is one of that name. */
int world_node_add(struct server *s, const char *name, const struct res *total, struct err *err);
/* Sets the resources of a node. */
void world_node_size(struct server *s, uint32_t node, const struct res *total);
/* Sets its CPUs, whole or divided. */
void world_node_total(const struct node_info *n, int64_t cpus, struct res *total);
/* Divides its CPUs, or makes them whole again; the caller calls world_changed(). Error code
 * BAD_STATE: it has jobs, or is in a partition. */
int world_node_share(struct server *s, uint32_t node, bool shared, struct err *err);
int64_t world_share_used(const struct server *s, uint32_t node); /* thousandths of a CPU */
/* Sets features and class again; -ENOSPC. */
int world_node_features(struct server *s, uint32_t node, struct err *err);
/* Opens a node to the scheduler or closes it, by the node's state. */
void world_node_gate(struct server *s, uint32_t node);
/* Marks CPUs as used or free. */
void world_cpus_mark(struct node_info *n, const int32_t *cpu, int32_t count, bool used);
int64_t world_cpus_used(const struct server *s, uint32_t node);
int64_t world_gpus_used(const struct server *s, uint32_t node);
/* Returns true if only the history refers to the node. */
bool world_node_past(const struct server *s, uint32_t node);

#endif
