/*
 * scripts.h - the scripts of jobs: identical scripts of one user are kept once.
 */
#ifndef SERVER_SCRIPTS_H
#define SERVER_SCRIPTS_H

#include <jansson.h>
#include <stddef.h>

struct arena;
struct err;
struct server;
struct submission;

/* Reads the script of a submission into the arena; NULL if there is none. */
int script_read(const json_t *job, struct arena *a, const char **ret, size_t *ret_n, struct err *err);
/* Keeps the script of an accepted submission. `before`: another submission of the same request, or
 * NULL. */
void submission_keep_script(struct server *s, struct submission *x, const struct submission *before);

#endif
