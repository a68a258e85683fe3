/*
 * joblist.h - reads the text {"jobs": [ ... ]} job by job, so that a large one does not block the
 * event loop.
 */
#ifndef SERVER_JOBLIST_H
#define SERVER_JOBLIST_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct err;

/* Returns true if a text of n bytes has this form, with at least one job; *at is where that begins.
 * Other texts are to be read as a whole. */
bool joblist_begins(const char *text, size_t n, size_t *at);
/* Reads the job at *at and advances *at past it; `jobs` were read before. NULL: it is not JSON. */
json_t *joblist_next(const char *text, size_t n, size_t *at, size_t jobs, struct err *err);
/* Moves on to the next job. 1: another job follows. 0: these `jobs` are all, and the rest of the
 * text is valid. -EINVAL. */
int joblist_more(const char *text, size_t n, size_t *at, size_t jobs, struct err *err);

#endif
