/*
 * amounts.h - what the site has of things that jobs use wherever they run (rules/amounts.h), as a program of the site reports it; as it is set: world.c.
 *
 * The program (amounts.program in the configuration file) is run every amounts.every seconds, beside the loop, and is killed if it takes longer than amounts.timeout.
 * What it reported last is stored, and holds until it reports something else, also over a restart.
 */
#ifndef SERVER_LIFE_AMOUNTS_H
#define SERVER_LIFE_AMOUNTS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct json_t;
struct server;

/* Takes over what the program has printed. -EINVAL: it is not understood, and nothing is changed. */
int amounts_reported(struct server *s, const char *text, size_t n, struct err *err);
/* At the start: what was reported before. */
int amount_restore(struct server *s, const char *name, const struct json_t *o, struct err *err);

/* Runs the program from now on, if there is one. */
void amounts_start(struct server *s);

#endif
