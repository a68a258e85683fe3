/*
 * fuzz_workload.c - a workload read from a file, written and read again is the same.
 */
#include <assert.h>

#include "base/lines.h"
#include "sim/workload.h"

static struct workload *read_all(const void *data, size_t size)
{
	struct lines *in = lines_over(data, size);
	struct workload *w = workload_create("fuzz");
	struct err err;
	int rc = workload_read_lines(in, RULES_SITE, 0, w, &err);

	lines_close(in);
	if (rc == 0)
		return w;
	workload_destroy(w);
	return NULL;
}

static void equal_check(const struct workload *a, const struct workload *b)
{
	assert(a->jobs.n == b->jobs.n && a->procs == b->procs);
	for (size_t i = 0; i < a->jobs.n; i++) {
		const struct wjob *x = &a->jobs.v[i], *y = &b->jobs.v[i];
		assert(x->id == y->id && x->submit == y->submit && x->runtime == y->runtime);
		assert(x->walltime == y->walltime && x->deadline == y->deadline && x->procs == y->procs);
		assert(x->kind == y->kind && x->powers == y->powers && x->assumed == y->assumed);
		assert(strcmp(names_get(&a->users, x->user), names_get(&b->users, y->user)) == 0);
		assert((x->text < 0) == (y->text < 0));
		assert(x->text < 0 || strcmp(names_get(&a->requests, (uint32_t)x->text),
					     names_get(&b->requests, (uint32_t)y->text)) == 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct workload *first = read_all(data, size), *again;
	char *text;
	size_t n;

	if (!first || !first->jobs.n) {
		workload_destroy(first);
		return 0;
	}
	FILE *f = open_memstream(&text, &n);
	workfile_write(first, f);
	fclose(f);
	again = read_all(text, n);
	assert(again);
	equal_check(first, again);
	free(text);
	workload_destroy(first);
	workload_destroy(again);
	return 0;
}
