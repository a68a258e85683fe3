/*
 * script.c - reads the directives of a script: joins continued lines, then splits them into words.
 */
#include "client/script.h"

#include <errno.h>
#include <string.h>

#include "base/strbuf.h"

#define BLANKS " \t\r\f\v"

static bool blank(char c)
{
	return c && strchr(BLANKS, c) != NULL;
}

/* Reads one word at *at into `word` and moves past it. */
static int word_read(const char *text, size_t n, size_t *at, struct strbuf *word, struct err *err)
{
	char quote = '\0';
	size_t i = *at;

	strbuf_clear(word);
	for (; i < n && (quote || (!blank(text[i]) && text[i] != '\n')); i++) {
		char c = text[i];
		bool escapes = i + 1 < n && (!quote || (quote == '"' && strchr("\"\\$`", text[i + 1])));
		if (c == '\0')
			return err_set(err, -EINVAL, "there is a NUL byte in it");
		if (c == '\\' && quote != '\'' && escapes)
			strbuf_add(word, &text[++i], 1);
		else if (c == quote)
			quote = '\0';
		else if (!quote && (c == '\'' || c == '"'))
			quote = c;
		else
			strbuf_add(word, &c, 1);
	}
	if (quote)
		return err_set(err, -EINVAL, "a quote (%c) is not closed", quote);
	*at = i;
	return 0;
}

int words_split(const char *text, size_t n, bool comments, struct arena *arena, struct words *ret, struct err *err)
{
	VEC(char *) list = {0};
	struct strbuf word = {0};
	int rc = 0;

	for (size_t i = 0; rc == 0;) {
		while (i < n && (blank(text[i]) || text[i] == '\n'))
			i++;
		if (i >= n || (comments && text[i] == '#'))
			break;
		rc = word_read(text, n, &i, &word, err);
		if (rc == 0)
			vec_push(&list, arena_strndup(arena, strbuf_text(&word), word.n));
	}
	if (rc == 0) {
		ret->n = (int)list.n;
		ret->v = arena_alloc(arena, (list.n + 1) * sizeof *ret->v);
		if (list.n)
			memcpy(ret->v, list.v, list.n * sizeof *ret->v);
	}
	strbuf_fini(&word);
	vec_free(&list);
	return rc;
}

/* A line of the script, without its newline. */
struct line {
	const char *text;
	size_t n;
	int number;
};

/* Reads the next line of [*at, end); returns false at the end. */
static bool line_next(const char **at, const char *end, struct line *l)
{
	if (*at >= end)
		return false;
	const char *stop = memchr(*at, '\n', (size_t)(end - *at));
	l->text = *at;
	l->n = (size_t)((stop ? stop : end) - *at);
	l->number++;
	*at = stop ? stop + 1 : end;
	while (l->n && l->text[l->n - 1] == '\r')
		l->n--;
	while (l->n && blank(l->text[0]))
		l->text++, l->n--;
	return true;
}

/* Returns true if a line begins with this word; *rest is what follows. "#PBS-N x" matches, "#PBSX"
 * is another word. */
static bool line_begins(const struct line *l, const char *prefix, struct line *rest)
{
	size_t n = strlen(prefix);

	if (n == 0 || l->n < n || memcmp(l->text, prefix, n) != 0 ||
	    (l->n > n && !blank(l->text[n]) && l->text[n] != '-'))
		return false;
	if (rest) {
		rest->text = l->text + n;
		rest->n = l->n - n;
	}
	return true;
}

static bool line_continues(const struct line *l)
{
	size_t backslashes = 0;

	while (backslashes < l->n && l->text[l->n - 1 - backslashes] == '\\')
		backslashes++;
	return backslashes % 2 == 1;
}

/* Adds the directive that begins with `l`, with its continuation lines. */
static int directive_add(struct line *l, const char **at, const char *end, const char *prefix, struct arena *arena,
			 struct directives *ret, struct err *err)
{
	struct directive d = {.line = l->number};
	struct strbuf text = {0};
	struct line part = *l;

	line_begins(l, prefix, &part);
	while (line_continues(&part)) {
		strbuf_add(&text, part.text, part.n - 1);
		if (!line_next(at, end, l)) {
			part.n = 0;
			break;
		}
		part = *l;
		line_begins(l, prefix, &part);
	}
	strbuf_add(&text, part.text, part.n);
	int rc = words_split(strbuf_text(&text), text.n, true, arena, &d.words, err);
	strbuf_fini(&text);
	if (rc < 0)
		return err_prefix(err, rc, "line %d", d.line);
	if (ret->list.n >= SCRIPT_DIRECTIVES_MAX)
		return err_set(err, -EINVAL, "line %d: more than %d directives", d.line, SCRIPT_DIRECTIVES_MAX);
	if (d.words.n)
		vec_push(&ret->list, d);
	return 0;
}

/* Notes comments that may have been meant as directives. */
static void comment_look(const struct line *l, struct directives *ret)
{
	struct line rest;

	if (!ret->foreign && line_begins(l, "#SBATCH", NULL))
		ret->foreign = l->number;
	if (!ret->spaced && l->n > 4 && l->text[0] == '#' && blank(l->text[1])) {
		rest = (struct line){l->text + 1, l->n - 1, 0};
		while (rest.n && blank(rest.text[0]))
			rest.text++, rest.n--;
		if (rest.n > 4 && memcmp(rest.text, "PBS", 3) == 0 && blank(rest.text[3]) &&
		    memchr(rest.text, '-', rest.n))
			ret->spaced = l->number;
	}
}

int directives_read(const char *text, size_t n, const char *prefix, struct arena *arena, struct directives *ret,
		    struct err *err)
{
	const char *at = text, *end = text + n;
	struct line l = {0};
	int rc = 0;

	*ret = (struct directives){0};
	if (prefix[0] == '\0')
		return 0;
	while (rc == 0 && line_next(&at, end, &l)) {
		if (line_begins(&l, prefix, NULL))
			rc = directive_add(&l, &at, end, prefix, arena, ret, err);
		else if (l.n && l.text[0] == '#')
			comment_look(&l, ret);
		/* an old convention: a first line ":" is for the shell */
		else if (l.n && !(l.number == 1 && l.text[0] == ':'))
			break;
	}
	while (rc == 0 && !ret->late && line_next(&at, end, &l))
		if (line_begins(&l, prefix, NULL))
			ret->late = l.number;
	return rc;
}

void directives_fini(struct directives *d)
{
	vec_free(&d->list);
}
