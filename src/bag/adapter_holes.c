/*
 * adapter_holes.c - free processors over time, as consecutive spans.
 */
#include "bag/adapter_internal.h"

void holes_copy(span_vec *ret, const struct adapter_view *v)
{
	vec_clear(ret);
	for (size_t i = 0; i < v->nfree; i++) {
		struct adapter_span s = v->free[i];

		if (s.end <= v->now)
			continue;
		s.start = most(s.start, v->now);
		vec_push(ret, s);
	}
	if (!ret->n) {
		struct adapter_span none = {v->now, TIME_NEVER, 0};
		vec_push(ret, none);
	}
}

/* Splits the span that contains `at` there; returns the index of the span that begins there. */
static size_t holes_cut(span_vec *s, int64_t at)
{
	size_t i = 0;

	while (i < s->n && s->v[i].end <= at)
		i++;
	if (i == s->n || s->v[i].start >= at)
		return i;

	struct adapter_span right = {at, s->v[i].end, s->v[i].procs};

	s->v[i].end = at;
	vec_insert(s, i + 1, right);
	return i + 1;
}

void holes_take(span_vec *s, int64_t start, int64_t end, int64_t procs)
{
	if (end <= start)
		return;
	for (size_t i = holes_cut(s, start), last = holes_cut(s, end); i < last; i++)
		s->v[i].procs = most(0, s->v[i].procs - procs);
}

int64_t holes_horizon(const span_vec *s)
{
	return s->v[s->n - 1].start;
}

int64_t holes_earliest(const span_vec *s, int64_t procs, int64_t time, int64_t *ret_end)
{
	for (size_t i = 0; i < s->n; i++) {
		size_t k = i;

		while (k < s->n && s->v[k].procs >= procs)
			k++;
		if (k == i)
			continue;
		if (s->v[k - 1].end - s->v[i].start >= time || s->v[k - 1].end == TIME_NEVER) {
			*ret_end = s->v[k - 1].end;
			return s->v[i].start;
		}
		i = k; /* skip the span that is too narrow; the next start may be behind it */
	}
	return TIME_NEVER;
}

/* Extends a rectangle from each span on; it gets narrower as it gets longer. A rectangle that
 * could begin earlier is not listed again. */
void holes_list(const span_vec *s, const struct adapter_limits *limits, candidate_vec *ret)
{
	for (size_t i = 0; i + 1 < s->n; i++) {
		int64_t before = i ? s->v[i - 1].procs : 0, width = s->v[i].procs;

		for (size_t k = i; k < s->n && width > before; k++) {
			bool last = k + 1 == s->n || s->v[k].end - s->v[i].start >= limits->time;
			struct candidate c = {s->v[i].start, least(width, limits->procs), limits->time};

			if (!last && s->v[k + 1].procs >= width)
				continue;
			if (!last)
				c.time = s->v[k].end - s->v[i].start;
			vec_push(ret, c);
			if (last)
				break;
			width = s->v[k + 1].procs;
		}
	}
}
