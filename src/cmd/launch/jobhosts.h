/*
 * jobhosts.h - the nodes of the job that a command is called in: what pbs_rsh, pbsdsh and `shunt
 * launch` share.
 */
#ifndef CMD_JOBHOSTS_H
#define CMD_JOBHOSTS_H

#include "base/vec.h"
#include "cmd/lib/command.h"

/* A line of the node file for each CPU, in its order. */
struct jobhosts {
	struct arena *arena; /* owns the names */
	VEC(const char *) line;
};

/* Reads $PBS_NODEFILE. -ENOENT: this is no job; another -errno: the file can't be read. */
int jobhosts_read(struct jobhosts *ret, struct err *err);
void jobhosts_fini(struct jobhosts *h);

/* The first line that names the host; -1: none does. */
int jobhosts_find(const struct jobhosts *h, const char *host);
/* Which of the different hosts a line names, from 0. */
int jobhosts_number(const struct jobhosts *h, int line);
/* Whether a node is on this host. $SHUNT_HERE names those that are; where it is not set, all
 * are. */
bool jobhosts_here(const char *node);
/* This process's environment for a program of the job on another host, without what is about this
 * host. In the arena; ends with NULL. `more` further entries can be added. */
char **jobhosts_env(struct arena *a, size_t more, size_t *ret_n);

#endif
