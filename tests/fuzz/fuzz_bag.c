/*
 * fuzz_bag.c - any bytes as a bag file, as a command with placeholders, and as a line of CSV:
 * accepted parts lie within the text, and needs read the same after being written; otherwise there
 * is a message.
 */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "bag/bagfile.h"
#include "bag/expand.h"

static void file(const char *text, size_t n)
{
	struct err err = {.text = ""};
	struct bag b;

	if (bag_parse(text, n, &b, &err) < 0) {
		assert(*err.text);
		return;
	}
	for (size_t i = 0; i < b.tasks.n; i++)
		assert(b.tasks.v[i].n > 0 && b.tasks.v[i].at + b.tasks.v[i].n <= n && b.tasks.v[i].need < b.needs.n);
	for (size_t i = 0; i < b.needs.n; i++) {
		struct strbuf again = {0};
		struct bag_need need;
		need_format(&b.needs.v[i], &again);
		assert(need_parse(strbuf_text(&again), &need, &err) == 0 && need_equal(&need, &b.needs.v[i]));
		need_fini(&need);
		strbuf_fini(&again);
	}
	bag_fini(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct values values = {0};
	struct strbuf out = {0};
	struct err err = {.text = ""};
	char *text = mem_alloc(size + 1);

	memcpy(text, data, size);
	text[size] = '\0';
	file(text, size);
	if (csv_split(text, &values, &err) == 0)
		assert(values.v.n > 0);
	if (expand_command(text, &values, &values, 1, &out, &err) == 0)
		assert(out.n <= BAG_LINE_MOST && !memchr(strbuf_text(&out), '\n', out.n));
	else
		assert(*err.text);
	strbuf_fini(&out);
	values_fini(&values);
	free(text);
	return 0;
}
