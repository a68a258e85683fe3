/*
 * instance.h - the server of this instance, for `shunt up`, `shunt down` and `shunt status`.
 */
#ifndef CMD_INSTANCE_H
#define CMD_INSTANCE_H

#include <jansson.h>
#include <stdbool.h>

#include "client/client.h"
#include "client/where.h"
#include "cmd/lib/command.h"

#define LOOK_MS 20 /* ms between two checks of something awaited */

/* Finds a program of ours that is not a command, such as shuntd: beside this one, in the build
 * directory or where it is installed; else in $PATH. */
bool program_find(const char *name, struct strbuf *ret_path);
/* Becomes another program of Shunt: with these words, up to a NULL, and with the options of `c`
 * that were given in `arguments`, unless that is NULL. Returns only if it fails: the exit code. */
int program_become(const struct command *c, const char *name, const char *const *words, const void *arguments);
int where_get(bool system, struct where *ret, struct err *err);
/* Connects to this instance's server, regardless of others. */
int server_open(const struct where *w, struct client **ret, struct err *err);
/* Asks the server for its description. Returns false with *err if nobody answers. The caller frees
 * the reply in both cases. */
bool server_ask(const struct where *w, struct reply *ret, struct err *err);
/* Returns true if the server's process exists, even if it does not answer. */
bool server_lives(const struct where *w);
/* Prints the server's state for people. */
void server_print(const json_t *server);
void page_print(const struct where *w); /* prints a link to the page, if there is one */

#endif
