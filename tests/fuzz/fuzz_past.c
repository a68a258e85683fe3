/*
 * fuzz_past.c - any bytes as an accounting file of PBS or as the output of sacct: they give
 * plausible rows, or are refused.
 */
#include <assert.h>

#include "base/lines.h"
#include "convert/past.h"

static int row(void *context, const struct past_row *x, const char *file, int64_t line)
{
	(void)context;
	(void)file;
	assert(*x->id && *x->user && *x->state && x->group && x->queue && x->name && x->resources && x->hosts &&
	       x->text);
	assert(line > 0 && x->ended > 0 && x->submitted > 0 && x->started >= 0);
	assert(x->cpus > 0 && x->cpus <= 1000000 && x->nodes > 0 && x->nodes <= 1000000 && x->gpus >= 0);
	assert(x->memory_kib >= 0 && x->walltime >= 0 && x->ran_ms >= 0 && x->cpu_ms >= 0 && x->peak_kib >= 0);
	return 0;
}

static void bad(void *context, const char *file, int64_t line, const char *why)
{
	(void)context;
	(void)file;
	assert(line > 0 && *why);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct past_events e = {row, bad, NULL};
	struct past_reader *r = past_create("old", &e);
	struct lines *in = lines_over(data, size);
	struct err err;

	if (past_read(r, "file", in, &err) == 0)
		past_finish(r);
	lines_close(in);
	past_destroy(r);
	return 0;
}
