/*
 * apart.h - detached processes: forked from this one to continue with one connection, and outliving
 * it. Killing or upgrading a program does not end the processes that it detached.
 */
#ifndef ENGINE_APART_H
#define ENGINE_APART_H

#include <stdbool.h>
#include <sys/types.h>
#include <uv.h>

#include "base/err.h"

struct apart; /* the processes that were forked here and have not ended, counted by user */

struct apart *apart_create(uv_loop_t *loop);
void apart_free(struct apart *a); /* the processes keep running; NULL is allowed */

/* Returns 1 in the new process, which has the descriptor `keep` and standard error but no other of
 * the parent's, and must not use the parent's loop; 0 in the parent; or -errno. `title` is what ps
 * shows (if apart_titles() was called) and what apart_kill() looks for. */
int apart_fork(struct apart *a, uid_t uid, int keep, const char *title, struct err *err);
int apart_count(const struct apart *a);
int apart_count_of(const struct apart *a, uid_t uid);

/* Ends those whose title `is_one` accepts, including processes of an earlier agent, which are not
 * our children any more, and of other agents on this machine. */
void apart_kill(const struct apart *a, bool (*is_one)(void *context, const char *title), void *context);

/* Call it once, at the beginning of main(): ps finds titles in the memory of the command line. */
void apart_titles(char **argv);

#endif
