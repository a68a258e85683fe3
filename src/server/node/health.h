/*
 * health.h - jobs that could not be started on a node: what is kept of that. What follows from it is decided in life/world/failures.c.
 */
#ifndef SERVER_HEALTH_H
#define SERVER_HEALTH_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

struct err;
struct json;
struct node_info;
struct server;

/* A job that failed on a node. */
struct strike {
	uint64_t job; /* its key */
	uint32_t owner;
	int64_t time;
	bool unclear;  /* it may be the job's fault, or its user's */
	bool disputed; /* it failed on another node as well, and has not been started since */
};

/* Of a node where jobs failed since the last one that ran there; NULL: none did. */
struct node_health {
	VEC(struct strike) strikes;
	int64_t since; /* instant when it was taken out of service last */
	int64_t until; /* instant: out of service until then; 0: it is in service */
	uint32_t step; /* how often it was taken out of service in a row */
	char *reason;  /* of the last failure */
};

bool health_out(const struct node_info *n); /* out of service */
void health_store(const struct server *s, const struct node_info *n,
		  struct json *j); /* a member of the node's record */
int health_restore(struct server *s, uint32_t node, const json_t *o, struct err *err); /* from the node's record */
void health_free(struct node_health *h);

#endif
