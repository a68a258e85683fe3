/*
 * courier.h - the process that talks to other sites for the server (docs/sites.md): asks the server
 * for work, does it, and reports. It keeps no state.
 *
 * Another site may answer anything: a report contains only what an answer states for certain.
 * Everything else is trouble, after which the same request is repeated.
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
	struct client *home; /* this site's server */
	VEC(struct peer_site) sites;
	bool moved; /* something changed: the next round comes soon */
};

/* Handles all jobs once. Returns how many of the server's answers had any; -errno if it does not
 * answer. */
int64_t courier_round(struct courier *k);
void courier_fini(struct courier *k);

#endif
