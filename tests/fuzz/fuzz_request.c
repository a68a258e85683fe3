/*
 * fuzz_request.c - whatever parses must format to a text that parses to the same: requests,
 * durations, memory, host lists; and cleaned text is clean. The input's first byte selects the
 * kind.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hostlist.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "base/timetext.h"
#include "base/utf8.h"
#include "core/reqtext.h"

#define YEAR_10000 INT64_C(253402300800)

static void must(int holds, const char *text, const char *again)
{
	if (holds)
		return;
	fprintf(stderr, "\"%s\"\n\"%s\"\n", text, again);
	abort();
}

static void request(const char *text)
{
	struct arena *arena = arena_create();
	struct strbuf one = {0}, two = {0};
	struct reqtext r;
	struct err err;

	reqtext_init(&r);
	if (reqtext_parse(&r, text, arena, &err) == 0) {
		reqtext_format(&r, &one);
		reqtext_init(&r);
		int rc = reqtext_parse(&r, strbuf_text(&one), arena, &err);
		/* A tersely written request can grow beyond the bound. */
		must(rc == 0 || one.n > REQTEXT_MAX, text, strbuf_text(&one));
		if (rc == 0) {
			reqtext_format(&r, &two);
			must(strcmp(strbuf_text(&one), strbuf_text(&two)) == 0, strbuf_text(&one), strbuf_text(&two));
		}
	}
	strbuf_fini(&one);
	strbuf_fini(&two);
	arena_destroy(arena);
}

static void duration(const char *text)
{
	int64_t s, back = -1;
	struct err err;
	char buf[64];

	if (duration_parse(text, &s, &err) == 0)
		must(s >= 0 && s <= DURATION_MAX &&
			     duration_parse(duration_format(s, buf, sizeof buf), &back, &err) == 0 && s == back,
		     text, buf);
	/* An offset can move an instant out of the range of years that text supports. */
	if (instant_parse(text, 1000, &s, &err) == 0 && s >= 0 && s < YEAR_10000) {
		instant_format(s, buf, sizeof buf);
		must(instant_parse(buf, 1000, &back, &err) == 0 && s == back, text, buf);
	}
}

static void memory(const char *text)
{
	int64_t kib, back = -1;
	char buf[64];

	if (memory_parse(text, &kib, NULL) == 0)
		must(kib >= 0 && kib <= MEMORY_MAX &&
			     memory_parse(memory_format(kib, buf, sizeof buf), &back, NULL) == 0 && kib == back,
		     text, buf);
}

/* Checks that cleaned text is clean and printable, and stays the same when cleaned again. */
static void cleaned(const char *text, size_t n)
{
	struct strbuf once = {0}, twice = {0};

	for (int shape = TEXT_LINE; shape <= TEXT_LINES; shape++) {
		strbuf_clear(&once);
		strbuf_clear(&twice);
		text_clean(&once, text, n, (enum text_shape)shape);
		must(text_is_clean(strbuf_text(&once), once.n, (enum text_shape)shape), text, strbuf_text(&once));
		text_clean(&twice, strbuf_text(&once), once.n, (enum text_shape)shape);
		must(once.n == twice.n && strcmp(strbuf_text(&once), strbuf_text(&twice)) == 0, strbuf_text(&once),
		     strbuf_text(&twice));
		for (size_t i = 0; i < once.n; i++)
			must((unsigned char)once.text[i] >= ' ' ||
				     (shape == TEXT_LINES && strchr("\n\t", once.text[i])),
			     text, strbuf_text(&once));
	}
	must(utf8_unfinished(text, n) <= 3 && utf8_unfinished(text, n) <= n, text, "");
	strbuf_fini(&once);
	strbuf_fini(&twice);
}

static void hostlist(const char *text)
{
	name_list names, again = {0};
	struct strbuf b = {0};
	struct err err;

	if (hostlist_parse(text, &names, &err) == 0) {
		hostlist_format(names.v, names.n, &b);
		must(hostlist_parse(strbuf_text(&b), &again, &err) == 0 && again.n == names.n, text, strbuf_text(&b));
		for (size_t i = 0; i < names.n; i++)
			must(strcmp(names.v[i], again.v[i]) == 0, names.v[i], again.v[i]);
		name_list_free(&names);
	}
	name_list_free(&again);
	strbuf_fini(&b);
}

/* Uses UTC: ambiguous local times would not read back the same. */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	return setenv("TZ", "UTC", 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const target[])(const char *) = {request, duration, memory, hostlist};

	if (size == 0)
		return 0;
	char *text = mem_alloc(size);
	memcpy(text, data + 1, size - 1);
	text[size - 1] = '\0';
	target[data[0] % 4](text);
	cleaned((const char *)data, size);
	free(text);
	return 0;
}
