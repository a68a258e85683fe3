/*
 * ranks.h - the processes of a program on this host: starts them, passes input, output and signals,
 * and ends them.
 */
#ifndef PMIX_RANKS_H
#define PMIX_RANKS_H

#include <sys/types.h>

#include "pmix/layout.h"
#include "pmix/meet.h"
#include "pmix/pmi1.h"

struct rank {
	uint32_t rank;
	pid_t pid;    /* 0: it has ended */
	int out, err; /* read ends of its output; -1: EOF was read */
	int code, signal;
	bool connected, finalized;
	int unheard; /* signal that it had no handler for yet; 0: none */
};

struct ranks {
	const struct layout *l;
	VEC(struct rank) rank; /* ranks of this host, in the order of layout_host.rank */
	size_t alive;
	int in; /* input of rank 0, if it runs here; -1: elsewhere, or closed */
	struct pmi1 pmi1;
	int file; /* copy of the layout's file; -1: none */
	char **argv;
};

/* Starts all ranks or none: on an error it kills those already started, and sets *ret_code to
 * the launcher's exit status, 126 or 127 as in shells. */
int ranks_start(const struct layout *l, struct ranks *ret, int *ret_code, struct err *err);
void ranks_signal(struct ranks *r, int signal);
/* Passes a signal on to those of each rank's processes that have a handler for it: a shell that
 * runs the program would die of it. A rank without a handler gets it later by ranks_retry(). */
void ranks_pass(struct ranks *r, int signal);
bool ranks_retry(struct ranks *r); /* returns false if no rank is waiting for a signal */
/* Collects the status of a rank that has ended; NULL: none has. */
struct rank *ranks_reap(struct ranks *r);
struct rank *rank_find(struct ranks *r, uint32_t rank);

#endif
