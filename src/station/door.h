/*
 * door.h - the socket that serves `shunt owner`: one line in ("show", "pause SECONDS", "pause",
 * "resume"), one JSON object out. Everybody may connect; the answer callback decides who may give
 * orders. Idle connections do not keep other clients out.
 */
#ifndef STATION_DOOR_H
#define STATION_DOOR_H

#include <jansson.h>
#include <stdint.h>
#include <sys/socket.h>
#include <uv.h>

#include "base/err.h"
#include "base/schema.h"

struct door;

/* Totals since this machine became a workstation; stored across restarts. */
struct owner_book {
	int64_t given_ms;   /* processor time that our tasks used */
	int64_t claimed_ms; /* time in which the owner had the machine */
	int64_t lost_ms;    /* processor time of tasks that had to leave, without what is in checkpoints */
	int64_t stops;	    /* number of times tasks were stopped */
	int64_t left;	    /* number of tasks that had to leave */
};
extern const struct schema owner_book;

/* Answers a line; the door takes the returned object over. `who` has pid 0 if the client is
 * unknown. */
typedef json_t *(*door_answer)(void *context, const char *line, const struct ucred *who);

int door_open(uv_loop_t *loop, const char *path, door_answer answer, void *context, struct door **ret, struct err *err);
void door_close(struct door *d); /* drops waiting clients; NULL is allowed */

#endif
