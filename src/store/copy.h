/*
 * copy.h - copies a whole store, as in a move from SQLite to PostgreSQL or back.
 */
#ifndef STORE_COPY_H
#define STORE_COPY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

#define COPY_TABLES 15

struct store_copied {
	char from[320], to[320]; /* names of the stores */
	char id[33];
	uint64_t epoch; /* epoch of the copy: not below the original's */
	struct {
		const char *name;      /* table name */
		const char *one, *all; /* words for a row and for several: "job", "jobs" */
		uint64_t rows, hash;
	} table[COPY_TABLES];
};

/* Called with the step ("reading", "copying", "comparing"), the kind of rows and the progress;
 * total 0: not known yet. */
typedef void (*copy_progress)(void *context, const char *step, const char *rows, uint64_t done, uint64_t total);

/* Copies `from`, which no server may lead unless it is `live`, to `to`, which must be new or the
 * target of an unfinished copy; such a copy starts over. An older schema of `from` is migrated
 * first; if it is live, it is refused. What a live store holds at one instant is copied. Until the
 * last commit `to` is marked as incomplete, and no server opens it. Finally all tables of both are
 * read and compared.
 * -EINVAL: these stores cannot be copied; -EBUSY: a server leads one of them; -EEXIST: `to` is
 * in use; -ESTALE: a server has written to `from` or taken `to` meanwhile; -EIO: they differ;
 * others as store_open() and store_commit(). */
int store_copy(const char *from, const char *to, bool live, copy_progress progress, void *context,
	       struct store_copied *ret, struct err *err);

#endif
