/*
 * tried.h - what a request makes the server intern stays only if the request is accepted (base/trial.h).
 */
#ifndef SERVER_TRIED_H
#define SERVER_TRIED_H

#include <stdbool.h>

#include "base/trial.h"
#include "core/cluster.h"
#include "rules/limit.h"

struct server;

/* Words, shapes, requests and classes of limits that are there because of a request that is not accepted yet; {0} at first. */
struct trial {
	trial_vec words;
	struct cluster_trial cluster;
	struct limits_trial limits;
};

void trial_enter(struct server *s, struct trial *t); /* until trial_leave() it holds what is interned */
void trial_leave(struct server *s);
/* The request was accepted (keep), or is over, and no spec of it is left. */
void trial_end(struct server *s, struct trial *t, bool keep);

#endif
