/*
 * log.h - the server's log: lines on standard error, the last of which are kept for `shunt log
 * --server`.
 */
#ifndef SERVER_LOG_H
#define SERVER_LOG_H

#include <stdint.h>

#include "base/logline.h"

#define LOG_KEPT 1000 /* lines */

struct server;

struct log_kept {
	int64_t time; /* seconds since 1970 */
	enum severity severity;
	char *text;
};

struct log {
	enum severity least;		/* what is less severe is not written */
	uint64_t n;			/* number of lines ever kept */
	struct log_kept line[LOG_KEPT]; /* the last of them; line i is at i % LOG_KEPT */
};

/* Allocates an empty log that takes lines of at least that severity. */
struct log *log_create(enum severity least);
void log_destroy(struct log *l);
/* Keeps the last lines that earlier servers wrote to the file, if this one writes to it. */
void log_restore(struct log *l, const char *path);
/* Writes a line and keeps it. `s` or its log may be NULL: nothing is kept, and debug is not
 * written. */
void server_log(const struct server *s, enum severity severity, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Returns the oldest kept line from number *at on that is at least this severe, and moves *at past
 * it; NULL: none. */
const struct log_kept *log_next(const struct log *l, enum severity least, uint64_t *at);

#endif
