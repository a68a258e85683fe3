/*
 * fuzz_artaras.c - any bytes as a file of settings or classes: they become directives that qmgr can
 * read, or are refused with a message.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "convert/artaras.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct lines *in = lines_over(data, size);
	struct strbuf out = {0};
	struct err err = {.text = ""};
	int rc = artaras_convert(in, &out, &err);

	if (rc < 0 && (!err.text[0] || out.n))
		abort();
	for (const char *line = strbuf_text(&out); rc == 0 && *line; line = strchr(line, '\n') + 1)
		if (strncmp(line, "set ", 4) && strncmp(line, "create class ", 13) && *line != '#')
			abort();
	strbuf_fini(&out);
	lines_close(in);
	return 0;
}
