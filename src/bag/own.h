/*
 * own.h - children of a broker that are not local workers: its gate, and commands of clusters. local.c reaps all children and kills strays; it leaves these
 * alone, and notes here how they ended. One broker per process.
 */
#ifndef BAG_OWN_H
#define BAG_OWN_H

#include <stdbool.h>
#include <sys/types.h>

/* Starts a program by its path, or by PATH if there is no slash in it; `in`, `out`: its descriptors 0, and 1 and 2 (-1: nothing, and as ours). -errno. */
pid_t own_start(const char *program, char *const *words, int in, int out);
bool own_has(pid_t pid);
/* Another waitpid() found that it ended; false: it is not one of these. */
bool own_note(pid_t pid, int status);
/* Whether it has ended, and how; then it is forgotten. */
bool own_ended(pid_t pid, int *ret_status);
void own_kill(pid_t pid); /* and waits for its end, a second at most */

#endif
