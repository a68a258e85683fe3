/*
 * outbox.h - lines from the events that cause them to their file: accounting to that of the day, the event log to its one; a crash loses none and repeats none.
 *
 *	outbox_add -> outbox_commit, before the turn's commit: a row of the store -> outbox_turn, after it: the file -> now and then the file is
 *	synced -> outbox_commit: the cursor is stored, and the rows that it has passed are removed
 *
 * The cursor says how far the files are known to be complete: the last row, its file, and the size that the file had then. What follows it in the files
 * may be there or not: after a start, and after a write that failed, it is compared with the rows, and what is missing is written.
 *
 * While the files can't be written (full disk, directory gone) the rows stay in the store, and writing is tried again once a second.
 */
#ifndef SERVER_BOOK_OUTBOX_H
#define SERVER_BOOK_OUTBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "base/err.h"
#include "store/outbox.h"

struct outbox;

struct outbox_host {
	uv_loop_t *loop;	     /* NULL: nothing is synced before outbox_settle */
	void (*wake)(void *context); /* outbox_turn is to be called */
	void *context;
};

struct outbox_place {
	enum outbox_kind kind;
	const char *dir, *name; /* NULL: files are named after days */
};

/* Makes the directory if it is not there (0750), and looks at what the store has; files are first touched by outbox_turn. */
int outbox_open(struct store *store, const struct outbox_place *place, const struct outbox_host *host,
		struct outbox **ret, struct err *err);
void outbox_close(struct outbox *o); /* accepts NULL */

void outbox_add(struct outbox *o, int64_t instant, const char *lines,
		size_t n); /* whole lines, of that instant's day */
/* Remembers this turn's lines, and the cursor if it has moved, to be committed with whatever else is. */
void outbox_commit(struct outbox *o);
/* Writes what was committed. 0: there is nothing to say; -errno: it fails, or fails for another reason than before, with the sentence for the log;
 * 1: with a sentence, too: it works again, or lines were written again to be safe. */
int outbox_turn(struct outbox *o, struct err *err);
/* The server is about to stop: the files are synced. Whether there is more to commit. */
bool outbox_settle(struct outbox *o);

#endif
