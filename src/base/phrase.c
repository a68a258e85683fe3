/*
 * phrase.c - see phrase.h.
 */
#include "base/phrase.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/code.h"
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
	bool words; /* it has some of its own */
};

/* The length of a conversion such as "%.60s" or "%lld". */
static size_t conversion(const char *p)
{
	size_t n = 1 + strspn(p + 1, "-+ #'0123456789.*hlLqjzt");

	return p[n] ? n + 1 : n;
}

/* The words from here to the next conversion or the end, with "%%" as "%". */
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

/* Where the words are next; at the end of the form they must be the end of the text. */
static const char *words_find(const char *text, const struct strbuf *words, bool last)
{
	size_t n = strlen(text);

	if (last)
		return n >= words->n && strcmp(text + n - words->n, strbuf_text(words)) == 0 ? text + n - words->n
											     : NULL;
	return words->n ? strstr(text, words->text) : NULL; /* two values side by side can't be told apart */
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

void phrase_json(struct json *j, const char *form, const char *text)
{
	struct phrase x = {0};
	struct strbuf value = {0};

	if (form && form_match(form, text, &x) && x.words) {
		json_text(j, "template", strbuf_text(&x.template));
		json_open_array(j, "values");
		for (size_t i = 0; i < x.nvalues; i++) {
			strbuf_clear(&value);
			strbuf_add(&value, x.value[i].at, x.value[i].n);
			json_text(j, NULL, strbuf_text(&value));
		}
		json_close_array(j);
	}
	strbuf_fini(&value);
	strbuf_fini(&x.template);
}

void sentence_json(struct json *j, const char *text, const char *form, size_t begins)
{
	struct strbuf where = {0};

	json_text(j, "message", text);
	if (!form || begins >= strlen(text))
		return;
	if (begins > 2) { /* it ends in ": " */
		strbuf_add(&where, text, begins - 2);
		json_text(j, "where", where.text);
	}
	phrase_json(j, form, text + begins);
	strbuf_fini(&where);
}

void err_json(struct json *j, const struct err *err)
{
	json_text(j, "code", code_row(err->code)->word);
	sentence_json(j, err->text, err->form, err->begins);
}
