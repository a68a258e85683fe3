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
	int unheard; /* a signal for which it had no handler yet; 0: none */
};

struct ranks {
	const struct layout *l;
	VEC(struct rank) rank; /* of this host, in the order of layout_host.rank */
	size_t alive;
	int in; /* of rank 0, if it is here; -1: not, or closed */
	struct pmi1 pmi1;
	int file; /* the layout's; -1: none */
	char **argv;
};

/* Starts them all, or none: those that were started are killed then. `ret_code`: what the launcher shall end with, 126 or 127 as shells have it. */
int ranks_start(const struct layout *l, struct ranks *ret, int *ret_code, struct err *err);
void ranks_signal(struct ranks *r, int signal);
/* Passes a signal on to those of a rank's processes that have a handler for it: a shell that runs the program would die of it. A rank that has none yet
 * gets it by ranks_retry(). */
void ranks_pass(struct ranks *r, int signal);
bool ranks_retry(struct ranks *r); /* false: there is none left that waits for one */
/* Takes the status of one that has ended; NULL: there is none at the moment. */
struct rank *ranks_reap(struct ranks *r);
struct rank *ranks_find(struct ranks *r, uint32_t rank);
void ranks_fini(struct ranks *r);

#endif
