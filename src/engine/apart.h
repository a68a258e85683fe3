/*
 * apart.h - processes apart: forked from this one, which they outlive, to go on with one connection. That a program is killed or upgraded
 * does not end what was parted from it.
 */
#ifndef ENGINE_APART_H
#define ENGINE_APART_H

#include <stdbool.h>
#include <sys/types.h>
#include <uv.h>

#include "base/err.h"

struct apart; /* those that were forked here and have not ended, counted by user */

struct apart *apart_create(uv_loop_t *loop);
void apart_free(struct apart *a); /* they go on; NULL is none */

/* 1 in the new process, which has the descriptor `keep`, standard error and no other of this one's, and calls nothing of this one's loop; 0
 * here; -errno. `title` is what ps shows, if apart_titles() was called and apart_kill() finds it by. */
int apart_fork(struct apart *a, uid_t uid, int keep, const char *title, struct err *err);
int apart_count(const struct apart *a);
int apart_count_of(const struct apart *a, uid_t uid);

/* Ends those whose title is asked for: also those of an agent before this one, which are nobody's children any more, and of others on this machine. */
void apart_kill(bool (*is_one)(void *context, const char *title), void *context);

/* Once, at the beginning of main(): the memory of the command line is where ps finds a title. */
void apart_titles(char **argv);

#endif
