/*
 * offline_pools.c - usage of the machine over time while the server is down: see
 * offline_internal.h.
 */
#include <string.h>

#include "base/members.h"
#include "base/timetext.h"
#include "client/offline_internal.h"

/* Returns the first step that does not begin before `at`. */
static size_t step_find(const steps *v, int64_t at)
{
	size_t low = 0, high = v->n;

	while (low < high) {
		size_t mid = (low + high) / 2;
		if (v->v[mid].at < at)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* Returns the index of the step that begins at `at`; inserts it if needed. */
static size_t step_at(steps *v, int64_t at)
{
	size_t i = step_find(v, at);

	if (i == v->n || v->v[i].at != at)
		vec_insert(v, i, (struct step){at, i ? v->v[i - 1].used : 0});
	return i;
}

void steps_use(steps *v, int64_t start, int64_t end, int64_t amount)
{
	if (start >= end)
		return;
	size_t from = step_at(v, start), to = step_at(v, end);

	for (size_t i = from; i < to; i++)
		v->v[i].used += amount;
}

/* Reads the server's steps, shifted by `late` seconds. */
static void steps_read(const json_t *list, int64_t late, steps *to)
{
	const json_t *x;
	int64_t at = 0, used = 0;
	size_t i;

	json_array_foreach(list, i, x)
	{
		int64_t next = json_integer_value(json_array_get(x, 0)) + late;
		if (used)
			steps_use(to, at, next, used);
		at = next;
		used = json_integer_value(json_array_get(x, 1));
	}
}

int64_t steps_gap(const steps *v, int64_t size, int64_t from, int64_t length, int64_t amount)
{
	size_t i = step_find(v, from);

	for (i -= i > 0; i < v->n && v->v[i].at - length < from; i++) {
		int64_t end = i + 1 < v->n ? v->v[i + 1].at : from;
		if (end > from && v->v[i].used + amount > size)
			from = end;
	}
	return from;
}

bool steps_cover(const steps *v, int64_t start, int64_t end, int64_t amount)
{
	size_t i = step_find(v, start);

	if (i == v->n || v->v[i].at != start)
		return false;
	while (i < v->n && v->v[i].at < end && v->v[i].used >= amount)
		i++;
	return i < v->n && v->v[i].at >= end;
}

/* Blocks an announced shutdown for jobs, unless it leaves running jobs alone. */
static void outage_use(struct pool *p, const json_t *outage, int64_t base)
{
	int64_t begin = member_number(outage, "begin"), until = member_number(outage, "until");

	if (begin > base && strcmp(member_text(outage, "kind"), "quick") != 0)
		steps_use(&p->used, begin, until ? until : TIME_NEVER, p->size);
}

static const json_t *partition_find(const json_t *machine, const char *name)
{
	const json_t *x;
	size_t i;

	json_array_foreach(json_object_get(machine, "partitions"), i,
			   x) if (strcmp(member_text(x, "name"), name) == 0) return x;
	return NULL;
}

void pools_read(pool_vec *ret, const json_t *plan, const json_t *machine, int64_t base, int64_t late)
{
	const json_t *x;
	size_t i;

	json_array_foreach(json_object_get(plan, "pools"), i, x)
	{
		const char *name = json_string_value(json_object_get(x, "partition"));
		struct pool p = {.partition = name};
		p.procs = name ? member_number(partition_find(machine, name), "cpus") : member_number(plan, "shared");
		p.size = name ? 1 : p.procs;
		steps_read(json_object_get(x, "runs"), 0, &p.used);
		steps_read(json_object_get(x, "waits"), late, &p.used);
		steps_read(json_object_get(x, "waits"), late, &p.waits);
		outage_use(&p, json_object_get(machine, "shutdown"), base);
		if (member_number(plan, "after"))
			p.from = member_number(plan, "after") + late;
		vec_push(ret, p);
	}
}

void pools_fini(pool_vec *pools)
{
	for (size_t i = 0; i < pools->n; i++) {
		vec_free(&pools->v[i].used);
		vec_free(&pools->v[i].waits);
	}
	vec_free(pools);
}
