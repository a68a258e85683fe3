/*
 * audience.h - clients that are shown what happens: streams of events, readers of output,
 * terminals.
 */
#ifndef SERVER_AUDIENCE_H
#define SERVER_AUDIENCE_H

#include <stdint.h>

#include "base/vec.h"

struct audience {
	struct event_ring *ring; /* events.c */
	VEC(struct stream *) streams;
	int64_t streams_us;			  /* they are sent nothing before this instant */
	VEC(struct waiter *) waiters;		  /* output.c */
	VEC(struct usage_reader *) usage_readers; /* api_job_usage.c */
	uint64_t waiter_ids;
	struct files *files;		/* files.c */
	VEC(struct upload *) uploads;	/* upload.c: those in progress */
	VEC(struct reading *) readings; /* beside.c: bodies to be read; the first is under way */
	struct answer *answering;	/* answer.c: the one being computed; NULL: none */
	VEC(struct told *) told;	/* answer.c: recent ones */
	int asking;			/* api_clusters.c: processes that query other clusters */
	struct offline *offline;	/* offline.c */
	struct spool *spool;		/* spool.c */
	struct views *views;		/* view.c */
	struct journal *journal;	/* journal.c */
	struct terminal *terminals;	/* terminal.c */
	struct entered *entered;	/* enter.c */
	struct terminals *terminal_socket;
	uint64_t terminal_numbers;
};

#endif
