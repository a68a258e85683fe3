/*
 * door.h - the socket at which `shunt owner` asks and orders: a line in ("show", "pause SECONDS", "pause", "resume"), an object out. Everybody may connect: who may order is decided by who
 * answers. Connections that somebody keeps open keep nobody out.
 */
#ifndef STATION_DOOR_H
#define STATION_DOOR_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <uv.h>

#include "base/err.h"

struct door;

/* What is answered to a line; the door's then. `who`: pid 0 if that is not known. */
typedef json_t *(*door_answer)(void *context, const char *line, const struct ucred *who);

int door_open(uv_loop_t *loop, const char *path, door_answer answer, void *context, struct door **ret, struct err *err);
void door_close(struct door *d); /* clients that wait go with it; NULL is nothing */

/* Reads an order: true and 0 for "resume", the seconds for "pause SECONDS", INT64_MAX for "pause". */
bool door_order(const char *line, int64_t *ret_seconds);

#endif
