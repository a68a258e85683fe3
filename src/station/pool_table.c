/*
 * pool_table.c - see pool_table.h.
 */
#include "station/pool_table.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/amount.h"
#include "base/mem.h"

#define IDLE_BAND 0.1

int pool_need_parse(const char *text, struct pool_need *ret, struct err *err)
{
	struct pool_need need = {0};

	for (const char *p = text; *p;) {
		size_t n = strcspn(p, ",");
		char word[64];
		if (n >= sizeof word)
			return err_set(err, -EINVAL, "%s: a word has at most %zu characters", text, sizeof word - 1);
		memcpy(word, p, n);
		word[n] = '\0';
		if (strncmp(word, "arch=", 5) == 0 && word[5] && strlen(word + 5) < sizeof need.arch)
			strcpy(need.arch, word + 5);
		else if (strncmp(word, "mem=", 4) != 0 || memory_parse(word + 4, &need.memory, err) < 0 ||
			 need.memory <= 0)
			return err_set(err, -EINVAL, "%s: allowed are arch=NAME and mem=SIZE (as in mem=2gb)", word);
		p += n + (p[n] == ',');
	}
	*ret = need;
	return 0;
}

void pool_table_fini(struct pool_table *t)
{
	vec_free(&t->entries);
}

/* Returns the index at which a name is, or would be inserted. */
static size_t place_of(const struct pool_table *t, const char *name)
{
	size_t low = 0, high = t->entries.n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		if (strcmp(t->entries.v[mid].member.name, name) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

struct pool_entry *pool_table_find(struct pool_table *t, const char *name)
{
	size_t i = place_of(t, name);

	return i < t->entries.n && strcmp(t->entries.v[i].member.name, name) == 0 ? &t->entries.v[i] : NULL;
}

struct pool_entry *pool_table_add(struct pool_table *t, const char *name, const char *where)
{
	size_t i = place_of(t, name);
	struct pool_entry e = {.heard = INT64_MIN / 2};

	if (i < t->entries.n && strcmp(t->entries.v[i].member.name, name) == 0)
		return &t->entries.v[i];
	snprintf(e.member.name, sizeof e.member.name, "%s", name);
	snprintf(e.member.where, sizeof e.member.where, "%s", where);
	vec_insert(&t->entries, i, e);
	return &t->entries.v[i];
}

bool pool_table_report(struct pool_entry *e, const struct peer_report *r, int64_t now)
{
	if (r->run == e->report.run && r->seq <= e->report.seq)
		return false;
	e->report = *r;
	e->heard = now;
	e->placed = 0;
	return true;
}

static bool suits(const struct pool_entry *e, const struct pool_need *need)
{
	return (!need->arch[0] || strcmp(need->arch, e->report.arch) == 0) && need->memory <= e->report.memory;
}

bool pool_table_has(const struct pool_table *t, const struct pool_need *need)
{
	for (size_t i = 0; i < t->entries.n; i++)
		if (suits(&t->entries.v[i], need))
			return true;
	return false;
}

bool pool_entry_usable(const struct pool_entry *e, const struct pool_need *need, int64_t now, int64_t interval)
{
	return e->linked && !e->removed && e->report.run && !e->report.closed &&
	       now - e->heard <= POOL_SILENT * interval && suits(e, need);
}

/* Returns the load of one of its processors, which the policies work with. A report may be older
 * than our last tasks there, so it counts at least the tasks that we know of. */
static struct load load_of(const struct pool_table *t, const struct pool_entry *e)
{
	struct load l = e->report.load;
	int least = place_counts(t->rule.policy) ? e->own : 0;

	l.ours += e->placed;
	l.ours = (l.ours > least ? l.ours : least) / e->report.cpus;
	l.interactive /= e->report.cpus;
	l.batch /= e->report.cpus;
	return l;
}

struct pool_entry *pool_table_choose(struct pool_table *t, const struct pool_need *need, int64_t now, int64_t interval)
{
	size_t n = t->entries.n;
	struct load *loads = mem_realloc(NULL, n + 1, sizeof *loads);
	bool *usable = mem_realloc(NULL, n + 1, sizeof *usable);
	struct pool_entry *e = NULL;
	int i;

	for (size_t k = 0; k < n; k++) {
		usable[k] = pool_entry_usable(&t->entries.v[k], need, now, interval);
		loads[k] = usable[k] ? load_of(t, &t->entries.v[k]) : (struct load){.speed = 1};
	}
	i = n ? place_choose(&t->rule, loads, usable, (int)n, &t->turn) : PLACE_NOWHERE;
	if (i != PLACE_NOWHERE) {
		e = &t->entries.v[i];
		e->placed += place_counts(t->rule.policy);
	}
	free(loads);
	free(usable);
	return e;
}

void pool_table_ended(struct pool_table *t, struct pool_entry *e)
{
	if (place_counts(t->rule.policy))
		e->placed--;
}

bool pool_band_left(const struct peer_report *last, const struct peer_report *now)
{
	const struct load *a = &last->load, *b = &now->load;

	return last->run != now->run || last->closed != now->closed || last->cpus != now->cpus || a->ours != b->ours ||
	       a->interactive != b->interactive || a->batch != b->batch || fabs(a->idle - b->idle) > IDLE_BAND ||
	       fabs(a->free - b->free) > IDLE_BAND || fabs(a->speed - b->speed) > 0.1 * a->speed;
}
