/*
 * words.h - command lines as tests compare them.
 */
#ifndef SUPPORT_WORDS_H
#define SUPPORT_WORDS_H

#include "bag/batch.h"

/* Compares words with a line, and frees them. Shell scripts, which have several lines, are left
 * out. */
static inline void words_check(name_list *w, const char *wanted)
{
	struct strbuf line = {0};

	for (size_t i = 0; i < w->n; i++) {
		if (!strchr(w->v[i], '\n'))
			strbuf_printf(&line, "%s%s", line.n ? " " : "", w->v[i]);
		free(w->v[i]);
	}
	vec_clear(w);
	assert_string_equal(strbuf_text(&line), wanted);
	strbuf_fini(&line);
}

#endif
