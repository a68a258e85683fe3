/*
 * counts.c - numbers of jobs by state: of all, of queues, of arrays.
 */
#include "server/api/jobs/counts.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/names.h"
#include "server/job/census.h"
#include "server/job/entry.h"
#include "server/job/jobs.h"
#include "server/job/spec.h"
#include "server/server.h"
#include "store/store.h"

void array_counts(const struct server *s, const struct array *a, int64_t counts[256])
{
	memset(counts, 0, 256 * sizeof *counts);
	for (uint32_t i = 0; i < a->count; i++)
		if (entry_get(s, a->first + i)->spec)
			counts[(unsigned char)entry_state(s, a->first + i)]++;
}

char array_state(const struct server *s, const struct array *a)
{
	bool seen[256] = {0};

	if (a->ended)
		return a->ended >= a->count ? 'C' : 'B';
	for (uint32_t i = 0; i < a->count; i++) {
		uint32_t id = a->first + i;
		char state = entry_get(s, id)->spec ? entry_state(s, id) : 0;
		if (state == 'R' || state == 'E' || state == 'S')
			return 'B';
		seen[(unsigned char)state] = true;
	}
	return seen['Q'] ? 'Q' : seen['H'] ? 'H' : 'W';
}

static enum element_state element_state(const struct server *s, uint32_t id)
{
	switch (entry_state(s, id)) {
	case 'H':
		return ELEMENT_HELD;
	case 'R':
	case 'E':
	case 'S':
		return ELEMENT_RUNNING;
	case 'C':
		if (entry_failed(s, id))
			return ELEMENT_FAILED;
		return entry_get(s, id)->cause == END_DELETED ? ELEMENT_CANCELLED : ELEMENT_SUCCEEDED;
	default:
		return ELEMENT_WAITING;
	}
}

static int64_t index_of(const struct server *s, uint32_t id)
{
	return job_key_index(entry_get(s, id)->key);
}

void array_elements(const struct server *s, const struct array *a, struct strbuf ret[ELEMENT_STATES])
{
	const uint32_t after = a->first + a->count;

	for (uint32_t id = a->first, end; id < after; id = end) {
		end = id + 1;
		if (!entry_get(s, id)->spec)
			continue;

		enum element_state state = element_state(s, id);
		struct strbuf *out = &ret[state];

		while (end < after && entry_get(s, end)->spec && index_of(s, end) == index_of(s, end - 1) + 1 &&
		       element_state(s, end) == state)
			end++;
		strbuf_printf(out, "%s%lld", out->n ? "," : "", (long long)index_of(s, id));
		if (end > id + 1)
			strbuf_printf(out, "-%lld", (long long)index_of(s, end - 1));
	}
}

struct sums {
	const struct server *s;
	const struct queue *only; /* NULL: all queues */
	int64_t *counts;
};

static void state_add(void *context, const struct census_row *r)
{
	const struct sums *x = context;

	if (!x->only || queue_of(x->s, r->queue) == x->only)
		x->counts[(unsigned char)r->state] += r->jobs;
}

void count_states(const struct server *s, const struct queue *q, int64_t counts[256])
{
	memset(counts, 0, 256 * sizeof *counts);
	census_each(s, state_add, &(struct sums){s, q, counts});
}

struct queue_sums {
	int64_t (*counts)[256];
	uint32_t *row; /* by word: index + 1; 0: not a queue */
	size_t n;      /* length of row */
};

static void queue_add(void *context, const struct census_row *r)
{
	const struct queue_sums *x = context;

	if (r->queue < x->n && x->row[r->queue])
		x->counts[x->row[r->queue] - 1][(unsigned char)r->state] += r->jobs;
}

int64_t (*count_queues(const struct server *s))[256]
{
	int64_t(*counts)[256] = mem_zalloc((s->jobs->queues.n + 1) * sizeof *counts);
	size_t n = s->jobs->queue_by_word.n;
	uint32_t *row = mem_zalloc((n + 1) * sizeof *row);

	for (uint32_t i = 0, at; i < s->jobs->queues.n; i++)
		if (names_find(s->words, s->jobs->queues.v[i]->name, &at))
			row[at] = i + 1;
	census_each(s, queue_add, &(struct queue_sums){counts, row, n});
	free(row);
	return counts;
}
