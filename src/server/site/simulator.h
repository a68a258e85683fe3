/*
 * simulator.h - simulates the past under other policies: `shunt simulate --from-history`, run
 * beside the server as a client of its socket.
 *
 * One simulation runs at a time, with the lowest priority and a time limit; a few wait for it. The
 * last results are kept in memory, and answer the same question for an hour. A restart forgets
 * them.
 */
#ifndef SERVER_SITE_SIMULATOR_H
#define SERVER_SITE_SIMULATOR_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct server;

#define SIMULATION_SECONDS 300 /* time limit, seconds */
#define SIMULATION_POLICIES 4
#define SIMULATION_DAYS 366

struct simulation_wish {
	int64_t days;
	char policies[200]; /* known names, joined by commas */
	bool again;	    /* run again even if a result is kept */
};

/* A result. Owned by the simulator. */
struct simulated_past {
	uint64_t id; /* counted from the start of the server */
	int64_t days;
	char policies[200];
	int64_t asked, made; /* instants */
	json_t *result;	     /* output of `shunt simulate --json`; NULL: not yet */
};

/* Called once, at once or later, in the loop: x->result, or NULL with an error. */
typedef void (*simulation_told)(void *context, const struct simulated_past *x, const struct err *err);

/* Requests a simulation. -EBUSY with CODE_TOO_MANY: too many wait. */
int simulator_ask(struct server *s, const struct simulation_wish *w, simulation_told told, void *context,
		  struct err *err);
/* Returns the i-th kept result, newest first; NULL: no more. */
const struct simulated_past *simulator_kept(const struct server *s, size_t i);
/* Returns the running simulation; NULL: none. */
const struct simulated_past *simulator_running(const struct server *s);
void simulator_end(struct server *s);

#endif
