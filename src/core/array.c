/*
 * array.c - array specifications.
 *
 * A text with several ranges is expanded to its elements (after a check of their number), sorted,
 * and folded into ranges again. This handles overlaps, duplicates and order, and the result does
 * not depend on how the text was written. Faulty texts and single ranges are not expanded: a
 * request may have thousands of them.
 */
#include "core/array.h"

#include <errno.h>
#include <string.h>

#include "base/amount.h"
#include "base/mem.h"
#include "base/vec.h"

#define SHOWN 80 /* characters of a faulty text quoted in its message */

typedef VEC(int32_t) index_list;
typedef VEC(struct array_range) range_list;

void array_fini(struct array_spec *a)
{
	free(a->range);
	*a = (struct array_spec){0};
}

/* Reads one "7", "7-9" or "1-9:2". */
static int range_scan(const char **at, range_list *list, int64_t *count, struct err *err)
{
	int64_t first, last, step = 1;

	if (!digits_scan(at, ARRAY_INDEX_MAX, &first))
		return err_set(err, -EINVAL, "an index is a whole number from 0 to %d", ARRAY_INDEX_MAX);
	last = first;
	if (**at == '-') {
		++*at;
		if (!digits_scan(at, ARRAY_INDEX_MAX, &last))
			return err_set(err, -EINVAL, "a range needs two numbers from 0 to %d, as in 1-100",
				       ARRAY_INDEX_MAX);
		if (last < first)
			return err_set(err, -EINVAL, "the range %lld-%lld runs backwards", (long long)first,
				       (long long)last);
		if (**at == ':' && (++*at, !digits_scan(at, ARRAY_INDEX_MAX, &step) || step == 0))
			return err_set(err, -EINVAL, "the step after ':' must be a whole number from 1 to %d",
				       ARRAY_INDEX_MAX);
	}
	*count += (last - first) / step + 1;
	if (*count > ARRAY_COUNT_MAX)
		return err_set(err, -EINVAL, "an array has at most %d elements", ARRAY_COUNT_MAX);
	last -= (last - first) % step;
	vec_push(list, (struct array_range){(int32_t)first, (int32_t)last, first == last ? 1 : (int32_t)step});
	return 0;
}

static int list_scan(const char *at, range_list *list, int64_t *ret_limit, struct err *err)
{
	int64_t count = 0;
	int rc = range_scan(&at, list, &count, err);

	while (rc == 0 && *at == ',') {
		at++;
		rc = range_scan(&at, list, &count, err);
	}
	*ret_limit = 0;
	if (rc == 0 && *at == '%' && (at++, !digits_scan(&at, ARRAY_COUNT_MAX, ret_limit) || *ret_limit == 0))
		rc = err_set(err, -EINVAL, "the limit after '%%' must be a whole number from 1 to %d", ARRAY_COUNT_MAX);
	if (rc == 0 && *at)
		rc = err_set(err, -EINVAL,
			     "\"%.20s\" is not understood; use forms such as 1-100, 1,5,7-9, 1-9:2, 1-100%%5", at);
	return rc;
}

static int index_compare(const void *a, const void *b)
{
	int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;

	return (x > y) - (x < y);
}

static void list_sort(index_list *list)
{
	size_t kept = 0;

	qsort(list->v, list->n, sizeof *list->v, index_compare);
	for (size_t i = 0; i < list->n; i++)
		if (kept == 0 || list->v[kept - 1] != list->v[i])
			list->v[kept++] = list->v[i];
	list->n = kept;
}

/* Folds runs of equal steps into ranges; with a step above 1 a run needs three elements. */
static void list_fold(const index_list *list, struct array_spec *ret)
{
	range_list ranges = {0};

	for (size_t i = 0, end; i < list->n; i = end) {
		struct array_range r = {list->v[i], list->v[i], 1};
		for (end = i + 1; end < list->n && list->v[end] - list->v[end - 1] == list->v[i + 1] - list->v[i];)
			end++;
		if (end - i == 2 && list->v[i + 1] != list->v[i] + 1)
			end = i + 1;
		if (end - i > 1)
			r = (struct array_range){list->v[i], list->v[end - 1], list->v[i + 1] - list->v[i]};
		vec_push(&ranges, r);
	}
	ret->range = ranges.v;
	ret->nranges = (uint32_t)ranges.n;
	ret->count = (uint32_t)list->n;
}

static void ranges_fold(const range_list *ranges, struct array_spec *ret)
{
	const struct array_range *only = ranges->v;
	index_list list = {0};

	if (ranges->n == 1 && (only->step == 1 || only->last - only->first > only->step)) {
		*ret = (struct array_spec){.range = mem_alloc(sizeof *only), .nranges = 1};
		ret->range[0] = *only;
		ret->count = (uint32_t)((only->last - only->first) / only->step + 1);
		return;
	}
	for (size_t k = 0; k < ranges->n; k++)
		for (int32_t i = ranges->v[k].first; i <= ranges->v[k].last; i += ranges->v[k].step)
			vec_push(&list, i);
	list_sort(&list);
	list_fold(&list, ret);
	vec_free(&list);
}

int array_parse(const char *text, struct array_spec *ret, struct err *err)
{
	range_list list = {0};
	int64_t limit;

	if (strlen(text) > ARRAY_TEXT_MAX)
		return err_set(err, -EINVAL, "an array's text is longer than %d characters; use ranges, as in 1-100",
			       ARRAY_TEXT_MAX);
	int rc = list_scan(text, &list, &limit, err);
	if (rc < 0) {
		err_prefix(err, rc, "%.*s", SHOWN, text);
	} else {
		ranges_fold(&list, ret);
		ret->limit = (uint32_t)limit;
	}
	vec_free(&list);
	return rc;
}

void array_format(const struct array_spec *a, struct strbuf *out)
{
	for (uint32_t i = 0; i < a->nranges; i++) {
		const struct array_range *r = &a->range[i];
		strbuf_printf(out, "%s%d", i ? "," : "", r->first);
		if (r->last != r->first)
			strbuf_printf(out, "-%d", r->last);
		if (r->step != 1)
			strbuf_printf(out, ":%d", r->step);
	}
	if (a->limit)
		strbuf_printf(out, "%%%u", a->limit);
}

int64_t array_next(const struct array_spec *a, int64_t after)
{
	uint32_t lo = 0, hi = a->nranges;

	while (lo < hi) { /* find the first range that ends above `after` */
		uint32_t mid = lo + (hi - lo) / 2;
		if (a->range[mid].last <= after)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == a->nranges)
		return -1;

	const struct array_range *r = &a->range[lo];
	return after < r->first ? r->first : r->first + ((after - r->first) / r->step + 1) * r->step;
}

bool array_has(const struct array_spec *a, int64_t index)
{
	return index >= 0 && array_next(a, index - 1) == index;
}
