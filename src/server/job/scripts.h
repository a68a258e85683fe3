/*
 * scripts.h - the scripts of jobs: the same text of the same user is kept once.
 */
#ifndef SERVER_SCRIPTS_H
#define SERVER_SCRIPTS_H

#include <jansson.h>
#include <stddef.h>

struct arena;
struct err;
struct server;
struct submission;

/* The script of a job that is submitted, into the arena; NULL when there is none. */
int script_read(const json_t *job, struct arena *a, const char **ret, size_t *ret_n, struct err *err);
/* Once it is accepted. `before`: one that came with it, or NULL. */
void submission_keep_script(struct server *s, struct submission *x, const struct submission *before);

#endif
