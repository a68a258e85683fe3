/*
 * jobhosts.h - the nodes of the job in which a command runs; for pbs_rsh, pbsdsh and `shunt
 * launch`.
 */
#ifndef CMD_JOBHOSTS_H
#define CMD_JOBHOSTS_H

#include "base/vec.h"
#include "cmd/lib/command.h"

/* The lines of the node file, one per CPU, in order. */
struct jobhosts {
	struct arena *arena; /* owns the names */
	VEC(const char *) line;
};

/* Reads $PBS_NODEFILE. Returns -ENOENT outside a job, or another -errno if the file cannot be
 * read. */
int jobhosts_read(struct jobhosts *ret, struct err *err);
void jobhosts_fini(struct jobhosts *h);

/* Returns the first line that names the host; -1: none. */
int jobhosts_find(const struct jobhosts *h, const char *host);
/* Returns the index of a line's host among the distinct hosts, from 0. */
int jobhosts_number(const struct jobhosts *h, int line);
/* Returns true if a node is on this host: those that $SHUNT_HERE names; all if it is not set. */
bool jobhosts_here(const char *node);
/* Returns this process's environment for a program of the job on another host, without variables
 * about this host. In the arena, NULL-terminated, with room for `more` further entries. */
char **jobhosts_env(struct arena *a, size_t more, size_t *ret_n);

#endif
