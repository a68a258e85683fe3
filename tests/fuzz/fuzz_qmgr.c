/*
 * fuzz_qmgr.c - any bytes as commands of qmgr: reading always ends, and a value that was read is
 * the same after quoting and reading it again.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/qmgr.h"

static void check(const struct qmgr_change *change, struct arena *arena)
{
	struct strbuf text = {0};
	struct qmgr_command c;
	struct err err;
	size_t at = 0;

	if (change->op == QMGR_NAMED)
		return;
	strbuf_puts(&text, "set server x = ");
	qmgr_quote(change->value, &text);
	if (qmgr_parse(text.text, text.n, &at, arena, &c, &err) != 1 || c.nchanges != 1 ||
	    strcmp(c.change[0].value, change->value) != 0) {
		fprintf(stderr, "%s\n", text.text);
		abort();
	}
	strbuf_fini(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena *arena = arena_create();
	struct qmgr_command c;
	struct err err;
	int rc;

	for (size_t at = 0, before = 0; (rc = qmgr_parse((const char *)data, size, &at, arena, &c, &err)) != 0;
	     before = at) {
		if (at <= before || at > size)
			abort();
		for (int i = 0; rc > 0 && i < c.nchanges; i++)
			check(&c.change[i], arena);
	}
	arena_destroy(arena);
	return 0;
}
