/*
 * rows.c - see rows.h.
 */
#include "base/rows.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/scratch.h"

const char rows_nothing[ROWS_PAGE * ROWS_WIDEST];

static char *nothing(void)
{
	return (char *)rows_nothing; /* rows that are gone are only read */
}

static uint32_t pages_of(const struct rows *r)
{
	return (r->n + ROWS_PAGE - 1) / ROWS_PAGE;
}

static void page_add(struct rows *r, char *page)
{
	uint32_t at = pages_of(r);

	if (at == r->cap) {
		r->cap = r->cap ? r->cap * 2 : 8;
		r->page = mem_realloc(r->page, r->cap, sizeof *r->page);
		r->dropped = mem_realloc(r->dropped, r->cap, sizeof *r->dropped);
	}
	r->page[at] = page;
	r->dropped[at] = 0;
}

void *rows_add(struct rows *r, size_t size)
{
	assert(size <= ROWS_WIDEST);
	if (r->n % ROWS_PAGE == 0)
		page_add(r, mem_zalloc(ROWS_PAGE * size));
	r->n++;
	return rows_at(r, r->n - 1, size);
}

void rows_reach(struct rows *r, uint32_t n, size_t size, const struct rows *like)
{
	while (r->n < n)
		if (like && r->n % ROWS_PAGE == 0 && r->n < like->n && rows_gone(like, r->n)) {
			page_add(r, nothing());
			r->n += ROWS_PAGE;
			r->gone++;
		} else {
			rows_add(r, size);
		}
}

bool rows_drop(struct rows *r, uint32_t i)
{
	assert(i < r->n && !rows_gone(r, i));
	return ++r->dropped[i / ROWS_PAGE] == ROWS_PAGE;
}

void rows_release(struct rows *r, uint32_t i)
{
	uint32_t at = i / ROWS_PAGE;

	assert(at < r->n / ROWS_PAGE && at >= r->borrowed);
	if (r->page[at] == nothing())
		return;
	free(r->page[at]);
	r->page[at] = nothing();
	r->gone++;
	while (r->first < pages_of(r) && r->page[r->first] == nothing())
		r->first++;
}

void rows_follow(struct rows *r, const struct rows *like)
{
	for (uint32_t i = r->first * ROWS_PAGE; i + ROWS_PAGE <= r->n && i < like->n; i += ROWS_PAGE)
		if (rows_gone(like, i))
			rows_release(r, i);
}

uint32_t rows_next_page(const struct rows *r, uint32_t i)
{
	if (i < r->first * ROWS_PAGE)
		i = r->first * ROWS_PAGE;
	while (i < r->n && rows_gone(r, i))
		i = (i / ROWS_PAGE + 1) * ROWS_PAGE;
	return i;
}

size_t rows_bytes(const struct rows *r, size_t size)
{
	return (size_t)(pages_of(r) - r->gone) * (ROWS_PAGE * size + SCRATCH_ALIGN);
}

void rows_copy(struct rows *to, const struct rows *from, size_t size, struct scratch *scratch)
{
	while (to->n < from->n) {
		uint32_t at = pages_of(to);
		bool gone = rows_gone(from, to->n);
		char *page = gone      ? nothing()
			     : scratch ? scratch_take(scratch, ROWS_PAGE * size)
				       : mem_alloc(ROWS_PAGE * size);
		if (!gone)
			memcpy(page, from->page[at], ROWS_PAGE * size);
		page_add(to, page);
		to->n += ROWS_PAGE;
	}
	to->n = from->n;
	to->first = from->first;
	to->gone = from->gone;
	to->borrowed = scratch ? pages_of(to) : 0;
}

void rows_free(struct rows *r)
{
	for (uint32_t i = r->borrowed; i < pages_of(r); i++)
		if (r->page[i] != nothing())
			free(r->page[i]);
	free(r->page);
	free(r->dropped);
	*r = (struct rows){0};
}
