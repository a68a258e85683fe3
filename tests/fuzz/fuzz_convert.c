/*
 * fuzz_convert.c - any bytes as a configuration of each supported system: they become comments, and
 * directives that the same reader accepts without a remark.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "convert/convert.h"

static void read_as(enum convert_from from, const char *text, struct strbuf *out)
{
	struct conversion *c = conversion_new();

	conversion_read(c, from, "x", text);
	conversion_print(c, out);
	conversion_free(c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = mem_alloc(size + 1);

	memcpy(text, data, size);
	text[size] = '\0';
	for (int k = 0; k < CONVERT_KINDS; k++) {
		struct strbuf once = {0}, twice = {0};
		read_as((enum convert_from)k, text, &once);
		for (const char *line = strbuf_text(&once); *line; line = strchr(line, '\n') + 1)
			if (strncmp(line, "set ", 4) && strncmp(line, "create ", 7) && *line != '#')
				abort();
		read_as(CONVERT_QMGR, strbuf_text(&once), &twice);
		/* The same directives, and no remark. */
		size_t n = (size_t)(strstr(strbuf_text(&once), "# ") - once.text);
		if (strncmp(once.text, strbuf_text(&twice), n) != 0 || !strstr(twice.text, ", 0 remarks\n"))
			abort();
		strbuf_fini(&once);
		strbuf_fini(&twice);
	}
	free(text);
	return 0;
}
