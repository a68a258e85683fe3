/*
 * outbox.h - carries lines from events to their files: accounting lines to the file of the day,
 * event log lines to its single file. A crash neither loses nor repeats a line.
 *
 *	outbox_add
 *	-> outbox_commit, before the turn's commit: a row of the store
 *	-> outbox_turn, after it: the file
 *	-> now and then the file is synced
 *	-> outbox_commit: the cursor is stored, and the rows it has passed are removed
 *
 * The cursor records how far the files are known to be complete: the last row, its file, and the
 * file's size at that time. Lines after it may or may not be in the files: after a start, and after
 * a failed write, the files are compared with the rows, and missing lines are written. While the
 * files cannot be written (full disk, missing directory), the rows stay in the store, and the write
 * is retried once a second.
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
	void (*wake)(void *context); /* asks for a call of outbox_turn */
	void *context;
};

struct outbox_place {
	enum outbox_kind kind;
	const char *dir, *name; /* NULL: files are named by day */
};

/* Creates the directory if it is missing (0750) and reads the store's rows; outbox_turn first
 * touches the files. */
int outbox_open(struct store *store, const struct outbox_place *place, const struct outbox_host *host,
		struct outbox **ret, struct err *err);
void outbox_close(struct outbox *o); /* accepts NULL */

/* Adds whole lines, for the day of that instant. */
void outbox_add(struct outbox *o, int64_t instant, const char *lines, size_t n);
/* Stores this turn's lines, and the cursor if it has moved, as part of the current transaction. */
void outbox_commit(struct outbox *o);
/* Writes the committed lines. Returns 0 if there is nothing to report; -errno with a sentence
 * for the log if writing fails, or fails for a new reason; 1 with a sentence if it works again,
 * or if lines were written again to be safe. */
int outbox_turn(struct outbox *o, struct err *err);
/* Syncs the files before the server stops. Returns true if there is more to commit. */
bool outbox_settle(struct outbox *o);

#endif
