/*
 * instance.h - the server of this instance, for `shunt up`, `shunt down` and `shunt status`.
 */
#ifndef CMD_INSTANCE_H
#define CMD_INSTANCE_H

#include <jansson.h>
#include <stdbool.h>

#include "client/client.h"
#include "client/where.h"

#define LOOK_MS 20 /* between two looks at something that is awaited */

/* A program of ours that is no command, as shuntd: beside this one, in the build directory or where it is installed; else in $PATH. */
bool program_find(const char *name, struct strbuf *ret_path);
int where_get(bool system, struct where *ret, struct err *err);
/* The server's answer to "who are you"; false: nobody answers, *err says why. The reply is the caller's in both
 * cases. */
bool server_ask(const struct where *w, struct reply *ret, struct err *err);
/* Whether its process is there, answering or not. */
bool server_lives(const struct where *w);
/* What it is and does, for people. */
void server_print(const json_t *server);
void page_print(const struct where *w); /* a link to the page, if there is one */

#endif
