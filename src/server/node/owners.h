/*
 * owners.h - workstations: nodes whose owner has precedence.
 *
 * Kept here: the policy that the administrator gave the node, and what its agent has counted and
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
	char *why;    /* reason of the present or last claim, or NULL */
	/* units: seconds of processor time, seconds, seconds of processor time, times, parts of
	 * jobs */
	int64_t given, claimed, lost, stops, left;
	uint64_t gpus;	    /* bit set of GPUs used by the owner's programs: jobs get the others */
	struct habit habit; /* in local time */
	struct habit utc;   /* in UTC, for the plan */
};

/* Makes a node a workstation, or changes its policy; NULL or "": it is not one any more. The
 * text is already checked. */
void owner_policy_set(struct node_info *n, const char *policy);
/* Returns the policy; "": not a workstation. */
const char *owner_policy(const struct node_info *n);
/* Takes over what its agent reports, except the claim. */
void owner_take(struct node_owner *o, const json_t *news);
/* Parses a list of indexes below 64. */
uint64_t owner_gpus_read(const json_t *list);
/* Returns the owner's GPUs among the first `gpus`. */
uint64_t owner_gpus_of(const struct node_info *n, int64_t gpus);
/* Puts the hours in which the owner will want the machine into the plan. To be called whenever
 * owner data has changed. */
void owner_plan(struct server *s, uint32_t node);
/* Drops the owner of a node that is removed. */
void owner_forget(struct server *s, uint32_t node);

/* Writes its members of the node's record. */
void owner_store(const struct node_info *n, struct json *j);
void owner_restore(struct node_info *n, const json_t *record);
extern const struct schema owner_answer;
/* Writes the members of owner_answer; nothing if it has no owner. */
void owner_show(const struct node_info *n, struct json *j);

#endif
