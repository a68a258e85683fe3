/*
 * recorded.c - see recorded.h.
 */
#include "golden/recorded.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/file.h"
#include "support/site.h"

#define SHOWN 20 /* lines that differ and are printed */

bool recorded_anew(void)
{
	const char *golden = getenv("SHUNT_GOLDEN");

	return golden && strcmp(golden, "write") == 0;
}

/* Returns the length of a random part with what is before it, which `ret` gets; 0: none. */
static size_t random_part(const char *text, const char **ret)
{
	static const struct {
		const char *before;
		size_t digits; /* at least */
	} parts[] = {{"-x", 8}, {"-", 12}, {":sb", 8}};

	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
		size_t n = strlen(parts[i].before),
		       m = strncmp(text, parts[i].before, n) == 0 ? strspn(text + n, "0123456789abcdef") : 0;
		*ret = parts[i].before;
		if (m >= parts[i].digits)
			return n + m;
	}
	return 0;
}

void recorded_put(struct strbuf *out, const struct site *site, const char *text)
{
	const char *before;

	for (size_t n; *text; text += n) {
		if (strncmp(text, site->dir, strlen(site->dir)) == 0) {
			n = strlen(site->dir);
			strbuf_puts(out, "DIR");
		} else if (strncmp(text, SHUNT_VERSION, strlen(SHUNT_VERSION)) == 0) {
			n = strlen(SHUNT_VERSION);
			strbuf_puts(out, "VERSION");
		} else if ((n = random_part(text, &before))) {
			strbuf_printf(out, "%s...", before);
		} else {
			n = 1;
			strbuf_add(out, text, 1);
		}
	}
}

void recorded_compare(const char *path, const char *head, const struct strbuf *text)
{
	struct strbuf recorded = {0};
	char above[200] = "", first[900] = "";
	int line = 1, differ = 0;

	if (recorded_anew()) {
		assert_int_equal(file_replace(path, 0644, text->text, text->n, 0), 0);
		return;
	}
	assert_int_equal(file_read(path, 0, 4 << 20, &recorded), 0);
	for (const char *now = strbuf_text(text), *then = strbuf_text(&recorded); *now || *then; line++) {
		size_t n = strcspn(now, "\n"), m = strcspn(then, "\n");
		if (strncmp(now, head, strlen(head)) == 0)
			snprintf(above, sizeof above, "%.*s", (int)n, now);
		bool same = n == m && memcmp(now, then, n) == 0;
		if (!same && differ == 0)
			snprintf(first, sizeof first, "line %d, %.100s: recorded %.*s, now %.*s", line, above,
				 (int)(m < 360 ? m : 360), then, (int)(n < 360 ? n : 360), now);
		if (!same && differ++ < SHOWN)
			print_error("%s line %d, %s: recorded \"%.*s\", now \"%.*s\"\n", path, line, above, (int)m,
				    then, (int)n, now);
		now += n + (now[n] == '\n');
		then += m + (then[m] == '\n');
	}
	strbuf_fini(&recorded);
	assert_string_equal(first, ""); /* what a summary shows of a failure */
}
