/*
 * qmgr.c - cuts a command into words, then parses them. A word remembers whether it was quoted,
 * since "=" in quotes is not an operator.
 */
#include "client/qmgr.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "base/vec.h"

#define BLANKS " \t\r\f\v"
#define VERBS "create, delete, set, unset, list, print, active, help or quit"

static const char *const verb_name[] = {"create", "delete", "set", "unset", "list", "print", "active", "help", "quit"};
static const char *const object_names[QMGR_KIND][2] = {
	{"", ""}, {"server", "servers"}, {"queue", "queues"}, {"node", "nodes"}};

#define OBJECTS "server, queue, node, partition, class, user, group, account, qos or reservation"

const char *qmgr_verb_name(enum qmgr_verb verb)
{
	return verb_name[verb];
}

const char *qmgr_object_name(enum qmgr_object object)
{
	return object < QMGR_KIND ? object_names[object][0] : object_table[object - QMGR_KIND].name;
}

const char *qmgr_object_plural(enum qmgr_object object)
{
	return object < QMGR_KIND ? object_names[object][1] : object_table[object - QMGR_KIND].plural;
}

void qmgr_quote(const char *value, struct strbuf *out)
{
	bool plain = value[0] && !strpbrk(value, BLANKS "\n,;#\"'\\=+") && value[0] != '-';

	if (plain) {
		strbuf_puts(out, value);
		return;
	}
	strbuf_puts(out, "\"");
	for (; *value; value++) {
		if (*value == '"' || *value == '\\')
			strbuf_puts(out, "\\");
		/* A command is one line. */
		strbuf_add(out, *value == '\n' ? " " : value, 1);
	}
	strbuf_puts(out, "\"");
}

enum token_kind {
	TOKEN_WORD,
	TOKEN_COMMA,
	TOKEN_OP,
};

struct token {
	const char *text;
	enum token_kind kind;
	enum qmgr_op op;
};

struct tokens {
	VEC(struct token) list;
	size_t at; /* next token to parse */
	struct arena *arena;
};

/* Returns the length of the operator at `p`; 0: none. Only "-=" and "+=" count: '-' and '+' occur
 * in names. */
static int op_at(const char *p, const char *end, enum qmgr_op *ret)
{
	if (*p == '=') {
		*ret = QMGR_IS;
		return 1;
	}
	if ((*p == '+' || *p == '-') && p + 1 < end && p[1] == '=') {
		*ret = *p == '+' ? QMGR_PLUS : QMGR_MINUS;
		return 2;
	}
	return 0;
}

/* Returns the length of a backslash and newline at `p`; 0: none. */
static int continuation_at(const char *p, const char *end)
{
	if (*p != '\\' || p + 1 >= end)
		return 0;
	if (p[1] == '\n')
		return 2;
	return p[1] == '\r' && p + 2 < end && p[2] == '\n' ? 3 : 0;
}

static bool blank(char c)
{
	return c && strchr(BLANKS, c);
}

static void blanks_skip(const char **at, const char *end)
{
	while (*at < end && (blank(**at) || continuation_at(*at, end)))
		*at += blank(**at) ? 1 : continuation_at(*at, end);
}

/* Cuts one word. A value may contain '=' ("nodes = 1:ppn=2"): with `value`, operators are ordinary
 * characters. */
static int word_cut(const char **at, const char *end, bool value, struct tokens *t, struct err *err)
{
	struct strbuf word = {0};
	enum qmgr_op op;
	char quote = '\0';
	const char *p = *at;

	for (; p < end; p++) {
		if (*p == '\0' || *p == '\n' || continuation_at(p, end))
			break;
		if (!quote && (strchr(BLANKS ";,", *p) || (!value && op_at(p, end, &op))))
			break;
		if (*p == '\\' && quote != '\'' && p + 1 < end && p[1] && (!quote || strchr("\"\\", p[1])))
			strbuf_add(&word, ++p, 1);
		else if (quote && *p == quote)
			quote = '\0';
		else if (!quote && (*p == '"' || *p == '\''))
			quote = *p;
		else
			strbuf_add(&word, p, 1);
	}
	bool nul = p < end && *p == '\0';
	struct token token = {arena_strndup(t->arena, strbuf_text(&word), word.n), TOKEN_WORD, QMGR_NAMED};
	strbuf_fini(&word);
	*at = p;
	if (nul)
		return err_set(err, -EINVAL, "there is a NUL byte in it");
	if (quote)
		return err_set(err, -EINVAL, "a quote (%c) is not closed", quote);
	vec_push(&t->list, token);
	return 0;
}

/* Returns true if "name op" stands at `p`: a comma before it begins another attribute. */
static bool attribute_at(const char *p, const char *end)
{
	enum qmgr_op op;
	const char *begin;

	blanks_skip(&p, end);
	for (begin = p; p < end && *p && !strchr(BLANKS "\n;,\"'=:+@/", *p) && !op_at(p, end, &op); p++)
		;
	if (p == begin)
		return false;
	blanks_skip(&p, end);
	return p < end && *p && op_at(p, end, &op) > 0;
}

/* Returns true if the text after a comma still belongs to the value. */
static bool value_goes_on(const char *p, const char *end)
{
	if (attribute_at(p, end))
		return false;
	blanks_skip(&p, end);
	return p < end && *p != ';' && *p != '\n';
}

/* Cuts a value: words and the commas between them that no attribute follows. */
static int value_cut(const char **at, const char *end, struct tokens *t, struct err *err)
{
	struct strbuf value = {0};
	int rc = 0;

	for (;;) {
		blanks_skip(at, end);
		rc = word_cut(at, end, true, t, err);
		if (rc < 0)
			break;
		strbuf_puts(&value, t->list.v[--t->list.n].text);
		if (*at >= end || **at != ',' || !value_goes_on(*at + 1, end))
			break;
		strbuf_puts(&value, ",");
		++*at;
	}
	struct token token = {arena_strndup(t->arena, strbuf_text(&value), value.n), TOKEN_WORD, QMGR_NAMED};
	strbuf_fini(&value);
	if (rc == 0)
		vec_push(&t->list, token);
	return rc;
}

/* Cuts one command into tokens, from *at to its end. */
static int tokens_cut(const char **at, const char *end, struct tokens *t, struct err *err)
{
	enum qmgr_op op;
	int rc = 0, n;

	for (blanks_skip(at, end); rc == 0 && *at < end && **at != ';' && **at != '\n'; blanks_skip(at, end)) {
		if (**at == '#') {
			while (*at < end && **at != '\n')
				++*at;
		} else if (**at == ',') {
			vec_push(&t->list, (struct token){",", TOKEN_COMMA, QMGR_NAMED});
			++*at;
		} else if ((n = op_at(*at, end, &op)) > 0) {
			vec_push(&t->list, (struct token){"=", TOKEN_OP, op});
			*at += n;
			rc = value_cut(at, end, t, err);
		} else {
			rc = word_cut(at, end, false, t, err);
		}
	}
	return rc;
}

static const struct token *token_look(const struct tokens *t)
{
	return t->at < t->list.n ? &t->list.v[t->at] : NULL;
}

/* Returns the index of the word that `text` is or abbreviates; -1: none. */
static int word_index(const char *text, const char *const *words, int n)
{
	for (int i = 0; i < n; i++)
		if (words[i][0] && text[0] && strncasecmp(words[i], text, strlen(text)) == 0)
			return i;
	return -1;
}

static int verb_read(struct tokens *t, struct qmgr_command *ret, struct err *err)
{
	const struct token *word = &t->list.v[t->at++];
	int i = word_index(word->text, verb_name, QMGR_QUIT + 1);

	if (strcmp(word->text, "?") == 0)
		i = QMGR_HELP;
	if (strcasecmp(word->text, "exit") == 0)
		i = QMGR_QUIT;
	if (i < 0 || word->kind != TOKEN_WORD)
		return err_set(err, -EINVAL, "\"%.60s\" is not a command: a line begins with " VERBS, word->text);
	ret->verb = (enum qmgr_verb)i;
	return 0;
}

static int object_read(struct tokens *t, struct qmgr_command *ret, struct err *err)
{
	const struct token *word = token_look(t);
	const char *names[QMGR_OBJECTS];
	int i;

	for (int k = 0; k < QMGR_OBJECTS; k++)
		names[k] = qmgr_object_name((enum qmgr_object)k);
	i = word ? word_index(word->text, names, QMGR_OBJECTS) : -1;

	ret->object = QMGR_NONE;
	if (!word && (ret->verb == QMGR_ACTIVE || ret->verb == QMGR_LIST || ret->verb == QMGR_PRINT))
		return 0;
	if (!word)
		return err_set(err, -EINVAL, "%s what? Say " OBJECTS, verb_name[ret->verb]);
	for (int k = QMGR_QUEUE; k < QMGR_OBJECTS && i < 0; k++)
		if (strcasecmp(word->text, qmgr_object_plural((enum qmgr_object)k)) == 0)
			i = k;
	if (i < 0 || word->kind != TOKEN_WORD)
		return err_set(err, -EINVAL, "%s \"%.60s\": say " OBJECTS, verb_name[ret->verb], word->text);
	ret->object = (enum qmgr_object)i;
	t->at++;
	return 0;
}

/* Returns true if the token at `at` is an attribute's name before an operator. */
static bool change_begins(const struct tokens *t, size_t at)
{
	return at + 1 < t->list.n && t->list.v[at].kind == TOKEN_WORD && t->list.v[at + 1].kind == TOKEN_OP;
}

/* Reads the names of queues, nodes or objects, separated by commas. Skips the server's name and
 * "@server": there is only one. */
static void names_read(struct tokens *t, struct qmgr_command *ret)
{
	bool more = ret->object >= QMGR_QUEUE;
	const struct token *word = token_look(t);

	ret->name = arena_alloc(t->arena, (t->list.n + 1) * sizeof *ret->name);
	if (!more && word && word->text[0] == '@')
		t->at++;
	while (more && (word = token_look(t)) && word->kind == TOKEN_WORD && !change_begins(t, t->at)) {
		size_t n = strcspn(word->text, "@");
		if (n)
			ret->name[ret->nnames++] = arena_strndup(t->arena, word->text, n);
		t->at++;
		word = token_look(t);
		more = word && word->kind == TOKEN_COMMA;
		t->at += more;
	}
}

static int changes_read(struct tokens *t, struct qmgr_command *ret, struct err *err)
{
	bool named = ret->verb == QMGR_LIST || ret->verb == QMGR_PRINT || ret->verb == QMGR_UNSET;
	const struct token *word;

	ret->change = arena_alloc(t->arena, (t->list.n + 1) * sizeof *ret->change);
	while ((word = token_look(t))) {
		struct qmgr_change change = {word->text, QMGR_NAMED, ""};
		bool op = change_begins(t, t->at);
		if (word->kind != TOKEN_WORD || !word->text[0])
			return err_set(err, -EINVAL, "the name of an attribute is missing before \"%.60s\"",
				       word->text);
		if (!named && !op)
			return err_set(err, -EINVAL,
				       "\"%.60s\" needs a value: %.60s = VALUE (a value with blanks needs quotes)",
				       word->text, word->text);
		if (named && op)
			return err_set(err, -EINVAL, "%s takes names of attributes only, no values",
				       verb_name[ret->verb]);
		t->at++;
		if (op) {
			change.op = t->list.v[t->at].op;
			change.value = t->list.v[t->at + 1].text;
			t->at += 2;
		}
		ret->change[ret->nchanges++] = change;
		word = token_look(t);
		if (word && word->kind == TOKEN_COMMA && ++t->at >= t->list.n)
			return err_set(err, -EINVAL, "the name of an attribute is missing after the last comma");
	}
	return 0;
}

static int command_check(const struct qmgr_command *c, struct err *err)
{
	const char *verb = verb_name[c->verb], *object = qmgr_object_name(c->object);

	if (c->object == QMGR_SERVER && (c->verb == QMGR_CREATE || c->verb == QMGR_DELETE))
		return err_set(err, -EINVAL, "%s server: there is always exactly one; name another kind of object",
			       verb);
	if ((c->verb == QMGR_CREATE || c->verb == QMGR_DELETE) && c->nnames == 0)
		return err_set(err, -EINVAL, "%s %s: its name is missing: %s %s NAME", verb, object, verb, object);
	if ((c->verb == QMGR_DELETE || c->verb == QMGR_ACTIVE) && c->nchanges)
		return err_set(err, -EINVAL, "%s %s takes names only: \"%.60s\" is too much", verb, object,
			       c->change[0].name);
	if ((c->verb == QMGR_SET || c->verb == QMGR_UNSET) && c->nchanges == 0)
		return err_set(err, -EINVAL, "%s %s: an attribute is missing: %s %s%s NAME%s", verb, object, verb,
			       object, c->object == QMGR_SERVER ? "" : " WHICH", c->verb == QMGR_SET ? " = VALUE" : "");
	return 0;
}

static int command_read(struct tokens *t, struct qmgr_command *ret, struct err *err)
{
	int rc = verb_read(t, ret, err);

	if (rc == 0 && ret->verb != QMGR_HELP && ret->verb != QMGR_QUIT)
		rc = object_read(t, ret, err);
	else if (rc == 0)
		t->at = t->list.n; /* "help set" */
	if (rc == 0)
		names_read(t, ret);
	if (rc == 0)
		rc = changes_read(t, ret, err);
	return rc < 0 ? rc : command_check(ret, err);
}

int qmgr_parse(const char *text, size_t n, size_t *at, struct arena *arena, struct qmgr_command *ret, struct err *err)
{
	const char *p = text + *at, *end = text + n, *begin = p;
	struct tokens t = {.arena = arena};
	int rc = 0;

	*ret = (struct qmgr_command){0};
	while (rc == 0 && t.list.n == 0 && p < end) {
		begin = p;
		rc = tokens_cut(&p, end, &t, err);
		if (rc == 0 && p < end)
			p++;
	}
	if (rc == 0 && t.list.n) {
		size_t length = (size_t)(p - begin);
		while (length && strchr(BLANKS "\n;", begin[length - 1]))
			length--;
		ret->text = arena_strndup(arena, begin, length);
		rc = command_read(&t, ret, err);
		rc = rc < 0 ? rc : 1;
	} else if (rc < 0) {
		/* The rest of this line cannot be trusted. */
		while (p < end && *p != '\n')
			p++;
	}
	*at = (size_t)(p - text);
	vec_free(&t.list);
	return rc;
}
