/*
 * tree.h - all descendants of a process. A shepherd is the reaper of its job's orphans (PR_SET_CHILD_SUBREAPER), so whatever
 * the job started is below it, also what has made itself a daemon.
 */
#ifndef RUN_TREE_H
#define RUN_TREE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/vec.h"

typedef VEC(pid_t) pid_list;

/* All descendants of `root` without itself, parents before children. */
void tree_list(pid_t root, pid_list *ret);
void tree_signal(pid_t root, int signal);
/* Only to those that have a handler for it, or wait for it with the signal blocked: a shell that runs the program would die of it. Returns how many got it. */
int tree_signal_heard(pid_t root, int signal);
int process_signal_heard(pid_t pid, int signal); /* the same, to one process: 1, or 0 */
/* Stops what it finds until nothing new appears, then SIGKILL to all: also a bomb of forks gets no further. */
void tree_kill(pid_t root);
/* KiB of memory that they hold. Pages that processes share are counted in each of them unless `exact`, which costs more. */
int64_t tree_memory(pid_t root, bool exact);

/* Milliseconds of processor time that they have used, with their children that have ended. */
int64_t tree_cpu(pid_t root);

/* SIGKILL to every process whose environment holds SHUNT_TAG=TAG@INSTANCE (several instances may run on a host), or which is in that
 * session (0: none). Returns how many, and counts those that are in the middle of an exec, whose environment does not show: 0 is certain. */
int tree_kill_tagged(const char *tag, const char *instance, pid_t session);

#endif
