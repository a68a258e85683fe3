/*
 * copy.h - all of a store in another one: the way from SQLite to PostgreSQL and back.
 */
#ifndef STORE_COPY_H
#define STORE_COPY_H

#include <stdint.h>

#include "base/err.h"

#define COPY_TABLES 15

struct store_copied {
	char from[320], to[320]; /* their names */
	char id[33];
	uint64_t epoch; /* the copy's: not below the original's */
	struct {
		const char *name;      /* of the table */
		const char *one, *all; /* what a row is called: "job", "jobs" */
		uint64_t rows, hash;
	} table[COPY_TABLES];
};

/* What it does ("reading", "copying", "comparing"), with which rows, and how far it is; total 0: not known yet. */
typedef void (*copy_progress)(void *context, const char *step, const char *rows, uint64_t done, uint64_t total);

/* Copies `from`, which no server may lead, to `to`, which must be new, or the target of a copy that was not finished: that one is started
 * over. An older schema of `from` is brought up to date first. Until the last commit `to` is marked as incomplete, and no server opens it.
 * In the end all tables of both are read, and were found to be the same.
 * -EINVAL: what is given can't be copied; -EBUSY: a server leads one of them; -EEXIST: `to` is in use; -ESTALE: a server has written to
 * `from` or taken `to` meanwhile; -EIO: they differ; others as store_open() and store_commit(). */
int store_copy(const char *from, const char *to, copy_progress progress, void *context, struct store_copied *ret,
	       struct err *err);

#endif
