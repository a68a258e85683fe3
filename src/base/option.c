/*
 * option.c - parses options by their rows: "--name value", "--name=value", and with a letter "-l
 * value", "-lvalue"; letters of flags may be joined as in "-fx". Options and operands may be mixed;
 * after "--" all words are operands.
 */
#include "base/option.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/strbuf.h"
#include "base/suggest.h"
#include "base/timetext.h"

static const struct option *option_find(const struct options *g, const char *name, size_t n)
{
	for (const struct option *o = g->rows; o && o->name; o++)
		if (option_long(o) && strlen(o->name) == n && strncmp(o->name, name, n) == 0)
			return o;
	for (const struct option *o = g->common; o && o->name; o++)
		if (strlen(o->name) == n && strncmp(o->name, name, n) == 0)
			return o;
	return NULL;
}

static const struct option *letter_find(const struct options *g, char letter)
{
	for (const struct option *o = g->rows; o && o->name; o++)
		if (o->letter && o->letter == letter)
			return o;
	return NULL;
}

bool option_word_in(const char *words, const char *word)
{
	size_t n = strlen(word);

	for (const char *p = words; p && *p; p += strcspn(p, " "), p += strspn(p, " "))
		if (strcspn(p, " ") == n && strncmp(p, word, n) == 0 && n > 0)
			return true;
	return false;
}

static int word_check(const char *words, const char *word, struct err *err)
{
	char near[SUGGEST_SIZE];

	if (option_word_in(words, word))
		return 0;
	if (suggest_word(word, words, near))
		return err_set(err, -EINVAL, "\"%.60s\" is not known: did you mean %s? It may be one of %.300s", word,
			       near, words);
	return err_set(err, -EINVAL, "\"%.60s\" is not one of %.300s", word, words);
}

static int number_parse(const struct option *o, const char *text, int64_t *ret, struct err *err)
{
	char *end;

	errno = 0;
	long long n = strtoll(text, &end, 10);
	if (end == text || *end || errno || n < o->min || n > o->max)
		return err_set(err, -EINVAL, "\"%.60s\" must be a whole number from %lld to %lld", text,
			       (long long)o->min, (long long)o->max);
	*ret = n;
	return 0;
}

static int seconds_parse(const char *text, int64_t *ret, struct err *err)
{
	int rc = duration_parse(text, ret, err);

	return rc < 0 ? err_prefix(err, rc, "\"%.60s\"", text) : 0;
}

void texts_push(struct texts *t, const char *text)
{
	t->v = mem_realloc(t->v, (size_t)t->n + 1, sizeof *t->v);
	t->v[t->n++] = text;
}

/* Finds a name in a list of alternating names and texts. */
static const char **texts_find(const struct texts *t, const char *name)
{
	for (int i = 0; i < t->n; i += 2)
		if (strcmp(t->v[i], name) == 0)
			return &t->v[i + 1];
	return NULL;
}

const char *texts_value(const struct texts *t, const char *name)
{
	const char **text = texts_find(t, name);

	return text ? *text : NULL;
}

static void texts_put(struct texts *t, const char *name, const char *text)
{
	const char **before = texts_find(t, name);

	if (before) {
		*before = text;
	} else {
		texts_push(t, name);
		texts_push(t, text);
	}
}

static int option_set(const struct options *g, const struct option *o, const char *text, char *arguments,
		      struct err *err)
{
	void *at = arguments + o->at;
	int64_t number = 0;
	int rc = 0;

	switch (o->kind) {
	case OPTION_FLAG:
		*(bool *)at = true;
		return 0;
	case OPTION_TEXTS:
		texts_push(at, text);
		return 0;
	case OPTION_NUMBER:
		return number_parse(o, text, at, err);
	case OPTION_INT:
		rc = number_parse(o, text, &number, err);
		*(int *)at = rc < 0 ? *(int *)at : (int)number;
		return rc;
	case OPTION_SECONDS:
		return seconds_parse(text, at, err);
	case OPTION_CHARS:
		if (strlen(text) >= (size_t)o->max)
			return err_set(err, -EINVAL, "at most %lld characters", (long long)o->max - 1);
		strcpy(at, text);
		return 0;
	case OPTION_MEMBER:
		rc = o->words ? word_check(o->words, text, err) : 0;
		if (rc == 0)
			texts_put(at, o->name, text);
		return rc;
	case OPTION_WORD:
		rc = word_check(o->words, text, err);
		break;
	case OPTION_POLICIES:
		rc = g->check ? g->check(text, err) : 0;
		break;
	default:
		break;
	}
	if (rc == 0)
		*(const char **)at = text;
	return rc;
}

void options_init(const struct options *g, void *arguments)
{
	for (const struct option *o = g->rows; o && o->name; o++)
		if (o->initial)
			option_set(g, o, o->initial, arguments, NULL);
		else if (o->kind == OPTION_NUMBER || o->kind == OPTION_SECONDS)
			*(int64_t *)((char *)arguments + o->at) = -1;
}

void options_fini(const struct options *g, void *arguments)
{
	for (const struct option *o = g->rows; o && o->name; o++)
		if (o->kind == OPTION_TEXTS || o->kind == OPTION_MEMBER) {
			struct texts *t = (struct texts *)((char *)arguments + o->at);
			free(t->v);
			/* Two options may share a place. */
			*t = (struct texts){0};
		}
}

/* Returns the equivalent of another system's option. NULL: not known. */
static const char *hint_find(const struct options *g, const char *word, size_t n)
{
	for (const char *const *h = g->hints; h && *h; h += 2)
		if (strlen(h[0]) == n && strncmp(h[0], word, n) == 0)
			return h[1];
	return NULL;
}

static int option_unknown(const struct options *g, const char *name, size_t n, struct err *err)
{
	const char *hint = hint_find(g, name - 2, n + 2);
	char near[SUGGEST_SIZE], word[64];
	struct strbuf all = {0};

	snprintf(word, sizeof word, "%.*s", (int)n, name);
	if (hint)
		return err_set(err, -EINVAL, "unknown option --%s: %s", word, hint);
	strbuf_puts(&all, "help");
	for (const struct option *o = g->rows; o && o->name; o++)
		if (option_long(o))
			strbuf_printf(&all, " %s", o->name);
	for (const struct option *o = g->common; o && o->name; o++)
		strbuf_printf(&all, " %s", o->name);
	bool found = suggest_word(word, all.text, near);
	strbuf_fini(&all);
	return err_set(err, -EINVAL, "unknown option --%s%s%s%s", word, found ? ": did you mean --" : "",
		       found ? near : "", found ? "?" : "");
}

/* Parses one option at argv[*at], which begins with "--", and moves past it. */
static int long_parse(const struct options *g, int argc, char **argv, int *at, char *arguments, struct err *err)
{
	const char *name = argv[*at] + 2;
	size_t n = strcspn(name, "=");
	const struct option *o = option_find(g, name, n);
	const char *text = NULL;

	if (!o)
		return option_unknown(g, name, n, err);
	if (o->kind == OPTION_FLAG) {
		if (name[n])
			return err_set(err, -EINVAL, "--%s takes no value", o->name);
	} else if (name[n]) {
		text = name + n + 1;
	} else {
		if (*at + 1 >= argc)
			return err_set(err, -EINVAL, "--%s needs a value: --%s %s", o->name, o->name, o->value);
		text = argv[++*at];
	}
	++*at;
	if (o == g->common) {
		g->take(text);
		return 0;
	}
	int rc = option_set(g, o, text, arguments, err);
	return rc < 0 ? err_prefix(err, rc, "--%s", o->name) : 0;
}

static int letter_unknown(const struct options *g, const char *word, char letter, struct err *err)
{
	const char *hint = hint_find(g, word, strlen(word));
	bool any = false;

	for (const struct option *o = g->rows; o && o->name && !any; o++)
		any = o->letter;
	if (hint)
		return err_set(err, -EINVAL, "unknown option %.60s: %s", word, hint);
	if (!any)
		return err_set(err, -EINVAL, "%.60s: options are written out, as in --help", word);
	return err_set(err, -EINVAL, "unknown option -%c", letter);
}

/* Parses the letters at argv[*at], which begins with one '-'. Moves past them and the last one's
 * value. */
static int letters_parse(const struct options *g, int argc, char **argv, int *at, char *arguments, struct err *err)
{
	const char *word = argv[*at];
	int rc = 0;

	++*at;
	for (const char *p = word + 1; *p && rc == 0; p++) {
		const struct option *o = letter_find(g, *p);
		if (!o)
			return letter_unknown(g, word, *p, err);
		if (o->kind == OPTION_FLAG) {
			rc = option_set(g, o, NULL, arguments, err);
			continue;
		}
		if (!p[1] && *at >= argc)
			return err_set(err, -EINVAL, "-%c needs a value: -%c %s", *p, *p, o->value);
		rc = option_set(g, o, p[1] ? p + 1 : argv[(*at)++], arguments, err);
		return rc < 0 ? err_prefix(err, rc, "-%c", *p) : 0;
	}
	return rc;
}

/* Returns nonzero if the word asks for the help or the version instead. */
static int word_asks(const struct options *g, const char *word)
{
	if (strcmp(word, "--help") == 0 || (!g->own && strcmp(word, "-h") == 0 && !letter_find(g, 'h')))
		return OPTIONS_HELP;
	return g->own && strcmp(word, "--version") == 0 ? OPTIONS_VERSION : 0;
}

int options_read(const struct options *g, int argc, char **argv, void *arguments, char **operands, int *ret_n,
		 struct err *err)
{
	bool only_operands = false;
	int rc = 0;

	*ret_n = 0;
	for (int i = 0; i < argc && rc == 0;) {
		if (only_operands || argv[i][0] != '-' || argv[i][1] == '\0') {
			operands[(*ret_n)++] = argv[i++];
		} else if (strcmp(argv[i], "--") == 0) {
			only_operands = true;
			i++;
		} else if (word_asks(g, argv[i])) {
			return word_asks(g, argv[i]);
		} else if (argv[i][1] == '-') {
			rc = long_parse(g, argc, argv, &i, arguments, err);
		} else {
			rc = letters_parse(g, argc, argv, &i, arguments, err);
		}
	}
	return rc;
}

int options_main(const struct options *g, const char *program, const char *usage, int argc, char **argv,
		 void *arguments, char **operands, int *ret_n)
{
	struct err err = {.text = ""};
	int rc = options_read(g, argc, argv, arguments, operands, ret_n, &err);

	if (rc == OPTIONS_HELP)
		fputs(usage, stdout);
	if (rc < 0)
		fprintf(stderr, "%s: %s\n%s", program, err.text, usage);
	return rc;
}
