/*
 * books.h - what is written down of jobs beside their events.
 */
#ifndef SERVER_BOOKS_H
#define SERVER_BOOKS_H

#include <stdbool.h>
#include <stdint.h>

#include "server/book/retention.h"

/* audit.h */
struct audit {
	int64_t keep; /* seconds that were last heard of; -1: for ever */
	int64_t due;  /* when old records are looked for again */
};

struct books {
	struct outbox *outbox;	/* accounting records on their way to their files */
	struct outbox *journal; /* lines of the event log, the same */
	struct mailer *mailer;
	struct retention retention;
	struct audit audit;
	bool history;		 /* the store has one */
	int64_t filing_us;	 /* CLOCK_REALTIME: when rows of the history are filed; 0: there are none */
	struct credits *credits; /* what accounts pay with */
	struct quotas *quotas;	 /* what users may use in a month */
	struct sharing *sharing; /* who has used how much of late */
};

#endif
