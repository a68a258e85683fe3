/*
 * counts.c - numbers of jobs by state: of all, of queues, of arrays.
 */
#include "server/api/jobs/counts.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/names.h"
#include "server/base/words.h"
#include "server/job/entry.h"
#include "server/job/jobs.h"
#include "server/job/spec.h"
#include "server/server.h"

void array_counts(const struct server *s, const struct array *a, int64_t counts[256])
{
	memset(counts, 0, 256 * sizeof *counts);
	for (uint32_t i = 0; i < a->count; i++)
		if (s->jobs->entries.v[a->first + i].spec)
			counts[(unsigned char)entry_state(s, a->first + i)]++;
}

char array_state(const struct server *s, const struct array *a)
{
	int64_t n[256];

	if (a->ended >= a->count)
		return 'C';
	array_counts(s, a, n);
	if (n['R'] || n['E'] || n['S'] || a->ended)
		return 'B';
	return n['Q'] ? 'Q' : n['H'] ? 'H' : 'W';
}

void count_states(const struct server *s, const struct queue *q, int64_t counts[256])
{
	memset(counts, 0, 256 * sizeof *counts);
	for (uint32_t id = 1; id < s->jobs->entries.n; id++)
		if (s->jobs->entries.v[id].spec && (!q || queue_of(s, s->jobs->entries.v[id].spec->queue) == q))
			counts[(unsigned char)entry_state(s, id)]++;
}

int64_t (*count_queues(const struct server *s))[256]
{
	int64_t(*counts)[256] = mem_zalloc((s->jobs->queues.n + 1) * sizeof *counts);
	/* index + 1; 0: not a queue */
	uint32_t *row = mem_zalloc((s->jobs->queue_by_word.n + 1) * sizeof *row);

	for (uint32_t i = 0, at; i < s->jobs->queues.n; i++)
		if (names_find(s->words, s->jobs->queues.v[i]->name, &at))
			row[at] = i + 1;
	for (uint32_t id = 1; id < s->jobs->entries.n; id++) {
		const struct spec *p = s->jobs->entries.v[id].spec;
		if (p && p->queue < s->jobs->queue_by_word.n && row[p->queue])
			counts[row[p->queue] - 1][(unsigned char)entry_state(s, id)]++;
	}
	free(row);
	return counts;
}
