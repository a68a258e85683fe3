/*
 * joblist.h - the text {"jobs": [ ... ]}, read job by job, so that a large one does not hold the loop.
 */
#ifndef SERVER_JOBLIST_H
#define SERVER_JOBLIST_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct err;

/* Whether a text of n bytes is one, with a job at least; *at is then where that begins. Any other is to be read as a whole. */
bool joblist_begins(const char *text, size_t n, size_t *at);
/* The job at *at, which moves behind it; `jobs` came before. NULL: it is not JSON. */
json_t *joblist_next(const char *text, size_t n, size_t *at, size_t jobs, struct err *err);
/* 1: another follows. 0: these `jobs` are all, and the rest of the text is as it should be. -EINVAL. */
int joblist_more(const char *text, size_t n, size_t *at, size_t jobs, struct err *err);

#endif
