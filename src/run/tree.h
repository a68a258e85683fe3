/*
 * tree.h - all descendants of a process. A shepherd reaps its job's orphans
 * (PR_SET_CHILD_SUBREAPER), so whatever the job started is below it, including daemons.
 */
#ifndef RUN_TREE_H
#define RUN_TREE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/vec.h"

typedef VEC(pid_t) pid_list;
static inline bool pid_list_has(const pid_list *l, pid_t pid)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->v[i] == pid)
			return true;
	return false;
}

/* Lists all descendants of `root` without itself, parents before children. */
void tree_list(pid_t root, pid_list *ret);
void tree_signal(pid_t root, int signal);
/* Signals only those that have a handler for it, or wait for it with the signal blocked: it would
 * kill a shell that runs the program. `but` gets none. Returns how many got it. */
int tree_signal_heard(pid_t root, pid_t but, int signal);
int process_signal_heard(pid_t pid, int signal); /* the same for one process: returns 1 or 0 */
/* Stops what it finds until nothing new appears, then sends SIGKILL to all: not even a fork bomb
 * escapes. */
void tree_kill(pid_t root);
/* Returns true if a living descendant of `root` other than the group's leader is in that process
 * group. */
bool tree_group(pid_t root, pid_t group);
/* Returns the KiB of memory that they hold. Shared pages are counted once for each process unless
 * `exact`, which costs more. */
int64_t tree_memory(pid_t root, bool exact);

/* Returns the milliseconds of CPU time that they and their ended children have used. */
int64_t tree_cpu(pid_t root);

/* Sends SIGKILL to every process whose environment has SHUNT_TAG=TAG@INSTANCE (a host may run
 * several instances), or which is in the session (0: none). Returns how many there were, including
 * processes in the middle of an exec, whose environment can't be read: so 0 is reliable. */
int tree_kill_tagged(const char *tag, const char *instance, pid_t session);

#endif
