/*
 * usage.c - see usage.h.
 */
#include "server/job/usage.h"

#include <stdlib.h>

#include "base/mem.h"
#include "core/job.h"
#include "server/base/clock.h"
#include "server/job/attempt.h"
#include "server/job/jobs.h"
#include "server/server.h"

static void thin(struct usage *u)
{
	for (uint32_t i = 0; i < USAGE_MOST / 2; i++)
		u->v[i] = u->v[2 * i];
	u->n = USAGE_MOST / 2;
}

void usage_note(struct server *s, struct attempt *t, int64_t cpu_ms, int64_t memory_kib)
{
	struct usage *u = t->usage;

	if (!u) {
		u = t->usage = mem_zalloc(sizeof *u);
		u->key = entry_get(s, t->job)->key;
		u->attempt = t->attempt;
	}
	if (u->n == USAGE_MOST)
		thin(u);
	if (u->n && u->v[u->n - 1].cpu_ms > cpu_ms) /* a host restarted its count or has left */
		cpu_ms = u->v[u->n - 1].cpu_ms;
	u->v[u->n++] = (struct usage_sample){s->clock->now, cpu_ms, memory_kib};
	u->added++;
	if (memory_kib > u->peak_kib)
		u->peak_kib = memory_kib;
}

void usage_close(struct server *s, struct attempt *t)
{
	if (!t->usage)
		return;
	if (s->jobs->usages.n == USAGE_PAST) {
		free(s->jobs->usages.v[0]);
		vec_remove(&s->jobs->usages, 0);
	}
	vec_push(&s->jobs->usages, t->usage);
	t->usage = NULL;
}

const struct usage *usage_of(const struct server *s, uint32_t id)
{
	uint32_t last = entry_job(s, id)->attempt;
	const struct attempt *t = attempt_find(s, id, last);

	if (t)
		return t->usage;
	for (size_t i = s->jobs->usages.n; i-- > 0;)
		if (s->jobs->usages.v[i]->key == entry_get(s, id)->key && s->jobs->usages.v[i]->attempt == last)
			return s->jobs->usages.v[i];
	return NULL;
}
