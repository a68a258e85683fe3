/*
 * fuzz_quota.c - any bytes as a quota file: they are read, or refused with a message, and quotas
 * read the same after being written.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "rules/quota_file.h"

static int again(void *context, const struct quota_line *line)
{
	const struct quota_line *first = context;

	if (strcmp(line->user, first->user) != 0 || memcmp(line->limit, first->limit, sizeof line->limit) != 0 ||
	    line->end != first->end)
		abort();
	return 0;
}

static int one(void *context, const struct quota_line *line)
{
	struct strbuf text = {0};
	struct quota_line copy = *line;
	struct lines *in;
	struct err err = {.text = ""};

	(void)context;
	quota_file_head(&text);
	quota_file_line(line, &text);
	in = lines_over(text.text, text.n);
	if (quota_file_read(in, again, &copy, &err) < 0)
		abort();
	lines_close(in);
	strbuf_fini(&text);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct lines *in = lines_over(data, size);
	struct err err = {.text = ""};

	if (quota_file_read(in, one, NULL, &err) < 0 && !err.text[0])
		abort();
	lines_close(in);
	return 0;
}
