/*
 * ranks.h - the processes of a program on this host: started, fed, listened to, ended.
 */
#ifndef PMIX_RANKS_H
#define PMIX_RANKS_H

#include <poll.h>
#include <sys/types.h>

#include "pmix/layout.h"
#include "pmix/meet.h"
#include "pmix/pmi1.h"

struct rank {
	uint32_t rank;
	pid_t pid;    /* 0: it has ended */
	int out, err; /* what it writes; -1: the end was read */
	int code, signal;
	bool connected, finalized;
};

struct ranks {
	const struct layout *l;
	VEC(struct rank) rank; /* of this host, in the order of layout_host.rank */
	size_t alive;
	int in; /* of rank 0, if it is here; -1: not, or closed */
	struct pmi1 pmi1;
};

/* Starts them all, or none: those that were started are killed then. `ret_code`: what the launcher shall end with, 126 or 127 as shells have it. */
int ranks_start(const struct layout *l, struct ranks *ret, int *ret_code, struct err *err);
void ranks_signal(struct ranks *r, int signal);
/* Takes the status of one that has ended; NULL: there is none at the moment. */
struct rank *ranks_reap(struct ranks *r);
struct rank *ranks_find(struct ranks *r, uint32_t rank);
void ranks_fini(struct ranks *r);

#endif
