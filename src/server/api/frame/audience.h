/*
 * audience.h - who is shown what happens: streams of events, readers of output, terminals.
 */
#ifndef SERVER_AUDIENCE_H
#define SERVER_AUDIENCE_H

#include <stdint.h>

#include "base/vec.h"

/* What lists say of every waiting job, and what is worked out once for many of them. */
struct idle_cpus {
	int64_t cpus;
	uint64_t turn, version; /* of the server and of the plan, for which it holds ... */
	int64_t now_us;		/* ... and until the clock is read again */
};

struct audience {
	struct idle_cpus idle;	 /* job_reason.c */
	struct event_ring *ring; /* events.c */
	VEC(struct stream *) streams;
	VEC(struct waiter *) waiters;		  /* output.c */
	VEC(struct usage_reader *) usage_readers; /* api_job_usage.c */
	uint64_t waiter_ids;
	struct files *files;	    /* files.c */
	int uploads;		    /* that are under way */
	int asking;		    /* api_clusters.c: programs that ask other clusters */
	struct offline *offline;    /* offline.c */
	struct spool *spool;	    /* spool.c */
	struct views *views;	    /* view.c */
	struct journal *journal;    /* journal.c */
	struct terminal *terminals; /* terminal.c */
	struct terminals *terminal_socket;
	uint64_t terminal_numbers;
};

#endif
