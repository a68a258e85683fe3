/* health.h - records of jobs that could not be started on a node. life/world/failures.c decides
 * on the consequences. */
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
	bool unclear;  /* the job or its user may be at fault */
	bool disputed; /* it failed on another node as well, and has not been started since */
};

/* Failures on a node since a job last ran there; NULL: none. */
struct node_health {
	VEC(struct strike) strikes;
	int64_t since; /* instant at which it was last taken out of service */
	int64_t until; /* instant until which it is out of service; 0: in service */
	uint32_t step; /* number of times in a row it was taken out of service */
	char *reason;  /* reason of the last failure */
};

/* Returns true if the node is out of service. */
bool health_out(const struct node_info *n);
void health_store(const struct server *s, const struct node_info *n,
		  struct json *j); /* writes a member of the node's record */
/* Reads it from the node's record. */
int health_restore(struct server *s, uint32_t node, const json_t *o, struct err *err);
void health_free(struct node_health *h);

#endif
