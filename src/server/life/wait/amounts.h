/*
 * amounts.h - site-wide resources that jobs use on any node (rules/amounts.h), as reported by a
 * program of the site. Amounts set as attributes: world.c.
 *
 * The program (amounts.program in the configuration file) is run every amounts.every seconds,
 * beside the loop, and is killed if it takes longer than amounts.timeout. Its last report is stored
 * and holds until the next one, also over a restart.
 */
#ifndef SERVER_LIFE_AMOUNTS_H
#define SERVER_LIFE_AMOUNTS_H

#include <stddef.h>

#include "base/err.h"

struct json_t;
struct server;

/* Takes over the program's output. -EINVAL: it could not be parsed, and nothing is changed. */
int amounts_reported(struct server *s, const char *text, size_t n, struct err *err);
/* Restores the last report, at the start. */
int amount_restore(struct server *s, const char *name, const struct json_t *o, struct err *err);

/* Runs the program from now on, if one is configured. */
void amounts_start(struct server *s);

#endif
