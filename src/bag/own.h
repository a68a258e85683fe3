/*
 * own.h - children of a broker that are not local workers: its gate, and commands of clusters.
 * local.c reaps all children and kills strays; it spares these, and notes here how they ended.
 * There is one broker per process.
 */
#ifndef BAG_OWN_H
#define BAG_OWN_H

#include <stdbool.h>
#include <sys/types.h>

/* Starts a program by its path, or through PATH if its name has no slash. `in` becomes its
 * descriptor 0 (-1: /dev/null), `out` its descriptors 1 and 2 (-1: inherited). Returns its pid
 * or -errno. */
pid_t own_start(const char *program, char *const *words, int in, int out);
bool own_has(pid_t pid);
/* Notes the status from another waitpid(); returns false if the process is not one of these. */
bool own_note(pid_t pid, int status);
/* Returns true if the process has ended, with its status; it is forgotten then. */
bool own_ended(pid_t pid, int *ret_status);
void own_kill(pid_t pid); /* kills it and waits for its end, at most a second */

#endif
