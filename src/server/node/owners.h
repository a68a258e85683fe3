/*
 * owners.h - workstations: nodes with an owner who comes first. What is kept of them: the policy that the administrator gave the node, and what its agent has counted and
 * learned. Whether the owner has the machine now is in the node's life.
 */
#ifndef SERVER_OWNERS_H
#define SERVER_OWNERS_H

#include <jansson.h>
#include <stdint.h>

#include "core/habit.h"

struct json;
struct node_info;
struct schema;
struct server;

struct node_owner {
	char *policy; /* station/owner.h; never NULL */
	char *why;    /* of the claim, or of the last one; or NULL */
	int64_t given, claimed, lost, stops,
		left;	    /* seconds of processor time, seconds, seconds of processor time, times, parts of jobs */
	uint64_t gpus;	    /* that the owner's programs use, a bit each: jobs get the others */
	struct habit habit; /* in local time, */
	struct habit utc;   /* ... and as the plan has it */
};

/* Makes a node a workstation, or changes its policy; NULL or "": it is none any more. The text is checked already. */
void owner_policy_set(struct node_info *n, const char *policy);
const char *owner_policy(const struct node_info *n); /* "": it is none */
/* What its agent says of it, without the claim. */
void owner_take(struct node_owner *o, const json_t *news);
uint64_t owner_gpus_read(const json_t *list);			 /* a list of indexes below 64 */
uint64_t owner_gpus_of(const struct node_info *n, int64_t gpus); /* of the first so many */
/* The plan learns the hours in which its owner will want it. To be called whenever the above have changed. */
void owner_plan(struct server *s, uint32_t node);
void owner_forget(struct server *s, uint32_t node); /* a node that goes */

void owner_store(const struct node_info *n, struct json *j); /* its members of the node's record */
void owner_restore(struct node_info *n, const json_t *record);
extern const struct schema owner_answer;
void owner_show(const struct node_info *n, struct json *j); /* what is in such an object; nothing: it has no owner */

#endif
