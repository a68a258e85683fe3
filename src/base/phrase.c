/*
 * phrase.c - see phrase.h.
 */
#include "base/phrase.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/code.h"
#include "base/codec.h"
#include "base/err.h"
#include "base/strbuf.h"

#define VALUES_MOST 9

struct span {
	const char *at;
	size_t n;
};

struct phrase {
	struct strbuf template;
	struct span value[VALUES_MOST];
	size_t nvalues;
	bool words; /* the template has words of its own */
};

/* Returns the length of a conversion such as "%.60s" or "%lld". */
static size_t conversion(const char *p)
{
	size_t n = 1 + strspn(p + 1, "-+ #'0123456789.*hlLqjzt");

	return p[n] ? n + 1 : n;
}

/* Copies the words up to the next conversion or the end, with "%%" as "%". */
static const char *words_take(const char *p, struct strbuf *ret)
{
	strbuf_clear(ret);
	for (; *p && (*p != '%' || p[1] == '%'); p++) {
		if (*p == '%')
			p++;
		strbuf_add(ret, p, 1);
	}
	return p;
}

static bool has_letter(const struct strbuf *words)
{
	for (size_t i = 0; i < words->n; i++)
		if (isalpha((unsigned char)words->text[i]))
			return true;
	return false;
}

/* Finds the next occurrence of the words; at the end of the form they must be the end of the
 * text. */
static const char *words_find(const char *text, const struct strbuf *words, bool last)
{
	size_t n = strlen(text);

	if (last)
		return n >= words->n && strcmp(text + n - words->n, strbuf_text(words)) == 0 ? text + n - words->n
											     : NULL;
	/* two adjacent values cannot be separated */
	return words->n ? strstr(text, words->text) : NULL;
}

static bool form_match(const char *form, const char *text, struct phrase *ret)
{
	struct strbuf words = {0};
	const char *p = words_take(form, &words);
	bool good = strncmp(text, strbuf_text(&words), words.n) == 0;

	text += good ? words.n : 0;
	ret->words = has_letter(&words);
	strbuf_add(&ret->template, strbuf_text(&words), words.n);
	while (good && *p) {
		p = words_take(p + conversion(p), &words);
		const char *end = ret->nvalues < VALUES_MOST ? words_find(text, &words, *p == '\0') : NULL;
		if (!(good = end))
			break;
		ret->value[ret->nvalues++] = (struct span){text, (size_t)(end - text)};
		strbuf_printf(&ret->template, "{%zu}%s", ret->nvalues, strbuf_text(&words));
		ret->words = ret->words || has_letter(&words);
		text = end + words.n;
	}
	strbuf_fini(&words);
	return good && *text == '\0';
}

/* ---- JSON ---- */

enum { SENTENCE = 1 << 0, PHRASE = 1 << 1 }; /* parts of an error */

/* An error, as the subject of its schema. */
struct subject {
	const char *code, *message, *where, *template;
	const struct phrase *phrase;
};

static void values_inside(const struct subject *x, struct json *j)
{
	struct strbuf value = {0};

	for (size_t i = 0; i < x->phrase->nvalues; i++) {
		strbuf_clear(&value);
		strbuf_add(&value, x->phrase->value[i].at, x->phrase->value[i].n);
		json_text(j, NULL, strbuf_text(&value));
	}
	strbuf_fini(&value);
}

const struct schema error_schema = {
	FIELDS({"code", .is = REQUIRED | IS_TEXT, .in = SENTENCE, MEMBER(struct subject, code)},
	       {"message", .is = REQUIRED | IS_TEXT, "a sentence", .in = SENTENCE, MEMBER(struct subject, message)},
	       {"where", .is = IS_TEXT, "what the sentence is about, if the message begins with it", .in = SENTENCE,
		MEMBER(struct subject, where)},
	       {"template", .is = IS_TEXT,
		"the sentence with `{1}`, `{2}` for the values, for clients that make sentences in another language",
		.in = PHRASE, MEMBER(struct subject, template)},
	       {"values", .is = IS_LIST, .item = IS_TEXT, .in = PHRASE | ALWAYS, .inside = values_inside})};

void phrase_json(struct json *j, const char *form, const char *text)
{
	struct phrase x = {0};

	if (form && form_match(form, text, &x) && x.words)
		record_show(error_schema.fields, PHRASE,
			    &(struct subject){.template = strbuf_text(&x.template), .phrase = &x}, NULL, j);
	strbuf_fini(&x.template);
}

void error_json(struct json *j, enum code code, const char *text, const char *form, size_t begins)
{
	bool formed = form && begins < strlen(text);
	struct strbuf where = {0};

	if (formed && begins > 2) /* the prefix ends in ": " */
		strbuf_add(&where, text, begins - 2);
	record_show(error_schema.fields, SENTENCE,
		    &(struct subject){.code = code_row(code)->word, .message = text, .where = where.text}, NULL, j);
	if (formed)
		phrase_json(j, form, text + begins);
	strbuf_fini(&where);
}

void err_json(struct json *j, const struct err *err)
{
	error_json(j, err->code, err->text, err->form, err->begins);
}
