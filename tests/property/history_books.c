/*
 * history_books.c - the history, the ledger and the accounting files tell the same of every job.
 */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/names.h"
#include "base/vec.h"
#include "property/history.h"
#include "server/book/ledger.h"
#include "server/job/jobs.h"
#include "server/loop.h"
#include "server/server.h"
#include "store/history.h"

struct usage_books {
	struct map ends;     /* job's number -> rows that say how it, or an element of it, ended */
	struct names places; /* rows of the ledger: a day, a user, ..., and which of its numbers */
	VEC(int64_t) sums;   /* sum of each: by the history, less the ledger's own */
};

static void entry_sum(struct usage_books *b, const struct ledger_row *x, int64_t sign)
{
	const int64_t v[] = {x->attempts, x->used.ran_ms, x->used.alloc_ms, x->used.gpu_ms, x->used.cpu_ms};
	char text[400];

	for (int i = 0; i < 5; i++) {
		snprintf(text, sizeof text, "%lld %s %s %s %s: %d", (long long)x->day, x->user, x->group, x->account,
			 x->queue, i);
		uint32_t at = names_add(&b->places, text);
		if (at == b->sums.n)
			vec_push(&b->sums, 0);
		b->sums.v[at] += sign * v[i];
	}
}

static void day_sum(void *context, const struct ledger_row *x)
{
	entry_sum(context, x, 1);
}

static int entry_take(void *context, const struct ledger_row *x)
{
	entry_sum(context, x, -1);
	return 0;
}

static int row_take(void *context, const struct history_row *row)
{
	struct usage_books *b = context;

	ledger_split(&(struct ledger_instant){0}, row, day_sum, b);
	*map_at(&b->ends, job_key_number(row->key)) += row->last;
	return 0;
}

static int row_count(void *context, const struct history_row *row)
{
	*(int *)context += row->last;
	return 0;
}

/* Each job that was accepted has ended, once, and the ledger is what the history adds up to. */
bool books_balance(struct history *h)
{
	struct usage_books b = {0};
	struct err err;
	uint64_t value;
	bool good = history_read(h->s->store, &(struct history_filter){.attempts = true}, row_take, &b, &err) == 0 &&
		    ledger_read(h->s->store, 0, INT64_MAX, entry_take, &b, &err) == 0;

	for (uint64_t n = 1; n <= h->submitted && good; n++)
		if (map_get(&h->accepted, n, &value) && (!map_get(&b.ends, n, &value) || value == 0)) {
			printf("# job %llu is not in the history\n", (unsigned long long)n);
			good = false;
		}
	for (uint32_t id = 1; id < h->s->jobs->entries.n && good; id++) {
		int rows = 0;
		if (entry_get(h->s, id)->spec &&
		    (history_job(h->s->store, entry_get(h->s, id)->key, row_count, &rows, &err) < 0 ||
		     (job_key_index(entry_get(h->s, id)->key) >= 0 && rows != 1))) {
			printf("# %d ends of one job\n", rows);
			good = false;
		}
	}
	for (uint32_t i = 0; i < b.sums.n && good; i++)
		if (b.sums.v[i]) {
			printf("# the ledger differs by %lld: %s\n", (long long)b.sums.v[i], names_get(&b.places, i));
			good = false;
		}
	map_fini(&b.ends);
	names_fini(&b.places);
	vec_free(&b.sums);
	return good;
}

/* What the accounting files say. */
struct line_books {
	struct map ends, queued; /* key, or number -> lines */
	uint64_t lines, rows;	 /* ends of jobs: there, and in the history */
	bool good;
};

static int end_compare(void *context, const struct history_row *row)
{
	struct line_books *b = context;
	uint64_t n = *map_at(&b->ends, row->key);

	b->rows++;
	if (n != 1) {
		printf("# %llu accounting lines that job %llu[%lld] ended\n", (unsigned long long)n,
		       (unsigned long long)job_key_number(row->key), (long long)job_key_index(row->key));
		b->good = false;
	}
	return 0;
}

/* "11/15/2026 06:42:53;E;12[3].bare;user=..." */
static void line_take(struct line_books *b, const char *line)
{
	unsigned long long number;
	long long index = -1;
	int used = 0;
	char type;

	if (sscanf(line, "%*2d/%*2d/%*4d %*2d:%*2d:%*2d;%c;%llu%n", &type, &number, &used) != 2 ||
	    !strchr(line, '\n')) {
		printf("# not a whole accounting line: %s\n", line);
		b->good = false;
		return;
	}
	sscanf(line + used, "[%lld]", &index);
	if (type == 'Q')
		++*map_at(&b->queued, number);
	if (type != 'E' && type != 'D')
		return;
	++*map_at(&b->ends, job_key(number, index));
	b->lines++;
}

static void lines_read(const struct history *h, struct line_books *b)
{
	char pattern[128], *line = NULL;
	size_t size = 0;
	glob_t g;

	snprintf(pattern, sizeof pattern, "%s/accounting/*", h->dir);
	if (glob(pattern, 0, NULL, &g) != 0)
		return;
	for (size_t i = 0; i < g.gl_pathc; i++) {
		FILE *f = fopen(g.gl_pathv[i], "r");
		while (f && getline(&line, &size, f) > 0)
			line_take(b, line);
		if (f)
			fclose(f);
	}
	free(line);
	globfree(&g);
}

/* The accounting files have each job's submission and end, once. */
bool lines_balance(struct history *h)
{
	struct line_books b = {.good = true};
	uint64_t n = 0;
	struct err err;

	server_turn(h->s); /* what a restart found missing */
	lines_read(h, &b);
	if (history_read(h->s->store, &(struct history_filter){0}, end_compare, &b, &err) < 0 || b.rows != b.lines)
		b.good = false;
	for (uint64_t k = 1; k <= h->submitted && b.good; k++)
		if (map_get(&h->accepted, k, &n) && (!map_get(&b.queued, k, &n) || n != 1)) {
			printf("# %llu accounting lines that job %llu was queued\n", (unsigned long long)n,
			       (unsigned long long)k);
			b.good = false;
		}
	map_fini(&b.ends);
	map_fini(&b.queued);
	return b.good;
}
