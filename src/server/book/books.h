/* books.h - records of jobs kept in addition to their events. */
#ifndef SERVER_BOOKS_H
#define SERVER_BOOKS_H

#include <stdbool.h>
#include <stdint.h>

#include "server/book/ledger.h"
#include "server/book/past.h"
#include "server/book/retention.h"

/* audit.h */
struct audit {
	int64_t keep; /* last known keep_audit, seconds; -1: forever */
	int64_t due;  /* time of the next search for old records */
};

struct books {
	struct outbox *outbox;	/* accounting records on their way to their files */
	struct outbox *journal; /* lines of the event log on their way to their file */
	struct mailer *mailer;
	struct retention retention;
	struct audit audit;
	struct ledger_instant last_end;
	struct past_pairs past; /* empty until the first job ends */
	bool history;		/* the store has a history */
	/* CLOCK_REALTIME at which rows of the history are filed; 0: none are waiting */
	int64_t filing_us;
	struct credits *credits; /* credits of accounts */
	struct quotas *quotas;	 /* monthly quotas of users */
	struct sharing *sharing; /* recent usage, for fairshare */
};

#endif
