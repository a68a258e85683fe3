/*
 * door.h - a socket of a test's server (site.h), by which programs reach it: commands run to their
 * end while the server answers them, as a user that the test chooses.
 */
#ifndef SUPPORT_DOOR_H
#define SUPPORT_DOOR_H

#include "base/strbuf.h"
#include "support/site.h"

struct door;

/* A program that has ended. The caller owns the texts. */
struct visit {
	int status; /* exit status; 128 + N after signal N */
	struct strbuf out, err;
	struct strbuf changes; /* its requests that were not GET, with their bodies indented */
};

/* Opens it where commands look for it if SHUNT_HOME is the site's directory. */
struct door *door_open(struct site *site);
void door_close(struct door *d);

/* Changes what the next program gets for requests of a path, whatever their query: this status, and
 * the members of `json` over those of the real answer, or a text (a JSON string) in its place, or
 * "rows", an array of objects, as the table of the fields that it asks for.
 * `times` requests, -1: all; what is said of later ones comes in a later call. Status 0: the
 * connection ends instead; -N: the program gets signal N, and the real answer.
 * For what can't be brought about: a full disk, a certificate that expires. Returns false if `json`
 * is neither. */
bool door_alter(struct door *d, const char *path, int status, int times, const char *json);

/* Plays a daemon at a socket for the next program: what it answers to a line or a frame (actor.h).
 * What it is asked is in `changes`. */
void door_cue(struct door *d, const char *path, const char *cue, const char *answer);

/* Lets the next program have a terminal of this width and 24 lines, on which its input was typed
 * and is not echoed; what it prints on it is `out`. */
void door_terminal(struct door *d, int columns);

/* Runs a program that is linked with ready.c, with these words and this environment, which ends
 * with NULL, in the directory that was the current one at the first run. `user` asks what it asks;
 * `input` is its standard input. */
void door_run(struct door *d, uid_t user, const char *program, char *const *argv, char *const *env, const char *input,
	      struct visit *ret);
void visit_fini(struct visit *v);

#endif
