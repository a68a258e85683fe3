/*
 * rows.h - rows numbered from 0 whose numbers are never used again, such as the jobs since a
 * server's start, in pages. A page is freed when all of its rows have been dropped; they then read
 * as zeros, and must not be written.
 *
 * Tables that are numbered alike, with one for each part of a job, are released together: one of
 * them counts what is dropped (rows_drop), the others follow (rows_release).
 */
#ifndef BASE_ROWS_H
#define BASE_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifndef ROWS_PAGE
#define ROWS_PAGE 256u /* rows of a page; a small one finds what reads behind it */
#endif
#define ROWS_WIDEST 160 /* maximum bytes of a row */

struct scratch;

/* A zeroed one is empty. All rows of a table have one size, which its owner passes each time: a
 * constant is faster than a member. */
struct rows {
	char **page;
	uint16_t *dropped; /* number of dropped rows of each page; NULL: none yet */
	uint32_t n;	   /* number of rows, including those that are gone */
	uint32_t first;	   /* all pages before this one are gone */
	uint32_t gone;	   /* number of pages that are gone */
	uint32_t borrowed; /* number of first pages that are in a scratch */
	size_t cap;	   /* pages there is room for */
};

extern const char rows_nothing[ROWS_PAGE * ROWS_WIDEST]; /* page of rows that are gone */

static inline void *rows_at(const struct rows *r, uint32_t i, size_t size)
{
	return r->page[i / ROWS_PAGE] + i % ROWS_PAGE * size;
}

/* Returns true if the row's page was freed. */
static inline bool rows_gone(const struct rows *r, uint32_t i)
{
	return r->page[i / ROWS_PAGE] == rows_nothing;
}

/* Appends a row of zeros and returns it. */
void *rows_add(struct rows *r, size_t size);
/* Appends rows of zeros until there are at least `n`. Pages that are gone in `like`, a table with
 * the same numbers (NULL: none), are gone from the beginning. */
void rows_reach(struct rows *r, uint32_t n, size_t size, const struct rows *like);
/* Counts a row that is not used any more, once for each row. Returns true if it was the last one of
 * its page: the caller then releases the page. */
bool rows_drop(struct rows *r, uint32_t i);
/* Frees the row's page. */
void rows_release(struct rows *r, uint32_t i);
/* Frees the pages that are gone in `like`. */
void rows_follow(struct rows *r, const struct rows *like);
/* Returns the first row from `i` on that is not gone, or a number from `n` on. */
uint32_t rows_next_page(const struct rows *r, uint32_t i);
static inline uint32_t rows_next(const struct rows *r, uint32_t i)
{
	return i < r->n && !rows_gone(r, i) ? i : rows_next_page(r, i);
}

/* Walks through all rows that are not gone. */
#define ROWS_EACH(r, i) for (uint32_t i = rows_next(r, 0); i < (r)->n; i = rows_next(r, i + 1))
/* Makes a copy, whose pages are taken from `scratch` unless it is NULL; `to` must be empty. */
void rows_copy(struct rows *to, const struct rows *from, size_t size, struct scratch *scratch);
/* Returns an upper bound of what rows_copy() takes from a scratch. */
size_t rows_bytes(const struct rows *r, size_t size);
/* Returns the number of rows that are not gone. */
static inline uint32_t rows_left(const struct rows *r)
{
	return r->n - r->gone * ROWS_PAGE;
}
void rows_free(struct rows *r);

#endif
