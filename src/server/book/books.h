/*
 * books.h - what is written down of jobs beside their events.
 */
#ifndef SERVER_BOOKS_H
#define SERVER_BOOKS_H

#include "base/strbuf.h"
#include "server/book/retention.h"

struct books {
	struct strbuf book; /* accounting records of this turn */
	struct accounting *accounting;
	struct mailer *mailer;
	struct retention retention;
};

#endif
