/* tried.h - undoes interning for requests that are refused (base/trial.h). */
#ifndef SERVER_TRIED_H
#define SERVER_TRIED_H

#include <stdbool.h>

#include "base/trial.h"
#include "core/cluster.h"
#include "rules/limit.h"

struct server;

/* Words, shapes, requests and limit classes interned for a request that is not accepted yet; {0}
 * at first. */
struct trial {
	trial_vec words;
	struct cluster_trial cluster;
	struct limits_trial limits;
};

/* Collects what is interned until trial_leave(). */
void trial_enter(struct server *s, struct trial *t);
void trial_leave(struct server *s);
/* Ends the trial: keeps what was interned if the request was accepted (`keep`), else removes it;
 * no spec of the request may be left then. */
void trial_end(struct server *s, struct trial *t, bool keep);

#endif
