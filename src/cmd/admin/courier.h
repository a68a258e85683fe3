/*
 * courier.h - who talks to other sites for the server (docs/sites.md): asks it what there is to do,
 * does it, and reports. It keeps nothing.
 *
 * What another site answers may be anything: a report says only what an answer says for certain,
 * and all else is trouble, after which the same is asked again.
 */
#ifndef CMD_COURIER_H
#define CMD_COURIER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

struct client;

struct peer_site {
	char *name;
	struct client *client; /* NULL: it could not be opened */
};

struct courier {
	struct client *home; /* the server */
	VEC(struct peer_site) sites;
	bool moved; /* something has changed: the next round comes soon */
};

/* All jobs once. How many answers of the server had any; -errno: it does not answer. */
int64_t courier_round(struct courier *k);
void courier_fini(struct courier *k);

#endif
