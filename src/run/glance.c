/*
 * glance.c - see glance.h.
 */
#include "run/glance.h"

#include <errno.h>
#include <string.h>

/* A place in the text, which ends at `end`. */
struct cursor {
	const char *at, *end;
};

/* A value, or the name of a member, as written. */
struct word {
	const char *text;
	size_t n;
};

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Returns the next character that is not a space, without taking it; 0 at the end. */
static char next_char(struct cursor *c)
{
	while (c->at < c->end && is_space(*c->at))
		c->at++;
	return c->at < c->end ? *c->at : '\0';
}

static bool char_take(struct cursor *c, char wanted)
{
	if (next_char(c) != wanted)
		return false;
	c->at++;
	return true;
}

/* Moves behind the string at the cursor. */
static bool string_skip(struct cursor *c)
{
	for (c->at++; c->at < c->end && *c->at != '"'; c->at++)
		if (*c->at == '\\')
			c->at++;
	if (c->at >= c->end)
		return false;
	c->at++;
	return true;
}

/* Moves behind a list or object, however deep: only strings can hide brackets. */
static bool nested_skip(struct cursor *c)
{
	for (int depth = 0; c->at < c->end;) {
		char x = *c->at;
		if (x == '"') {
			if (!string_skip(c))
				return false;
			continue;
		}
		c->at++;
		depth += (x == '{' || x == '[') - (x == '}' || x == ']');
		if (depth == 0)
			return true;
	}
	return false;
}

static bool value_take(struct cursor *c, struct word *ret)
{
	char first = next_char(c);
	bool good = true;

	ret->text = c->at;
	if (first == '"')
		good = string_skip(c);
	else if (first == '{' || first == '[')
		good = nested_skip(c);
	else
		while (c->at < c->end && !strchr(",}] \t\n\r", *c->at))
			c->at++;
	ret->n = (size_t)(c->at - ret->text);
	return good && ret->n > 0;
}

/* ---- members ---- */

static bool is_named(const struct word *name, const char *wanted)
{
	size_t n = strlen(wanted);

	return name->n == n + 2 && memcmp(name->text + 1, wanted, n) == 0;
}

static int text_read(const struct word *w, struct arena *a, const char **ret)
{
	if (w->n < 2 || w->text[0] != '"' || memchr(w->text, '\\', w->n) || memchr(w->text, '\0', w->n))
		return -EINVAL;
	*ret = arena_strndup(a, w->text + 1, w->n - 2);
	return 0;
}

static int number_read(const struct word *w, int64_t *ret)
{
	bool minus = w->text[0] == '-';
	int64_t value = 0;

	if (w->n > 15 || w->n == (size_t)minus)
		return -EINVAL;
	for (size_t i = minus; i < w->n; i++) {
		if (w->text[i] < '0' || w->text[i] > '9')
			return -EINVAL;
		value = value * 10 + w->text[i] - '0';
	}
	*ret = minus ? -value : value;
	return 0;
}

static int flag_read(const struct word *w, bool *ret)
{
	*ret = w->n == 4 && memcmp(w->text, "true", 4) == 0;
	return *ret || (w->n == 5 && memcmp(w->text, "false", 5) == 0) ? 0 : -EINVAL;
}

static int member_read(const struct word *name, const struct word *value, struct arena *a, struct order_glance *g,
		       int64_t *uid, int64_t *gid)
{
	if (memchr(name->text, '\\', name->n))
		return -EINVAL;
	if (is_named(name, "tag"))
		return text_read(value, a, &g->tag);
	if (is_named(name, "user"))
		return text_read(value, a, &g->user);
	if (is_named(name, "uid"))
		return number_read(value, uid);
	if (is_named(name, "gid"))
		return number_read(value, gid);
	if (is_named(name, "lease"))
		return number_read(value, &g->lease);
	if (is_named(name, "grace"))
		return number_read(value, &g->grace);
	if (is_named(name, "by_name"))
		return flag_read(value, &g->by_name);
	return is_named(name, "look_up") ? flag_read(value, &g->look_up) : 0;
}

static bool is_id(int64_t id)
{
	return id >= 0 && id < UINT32_MAX;
}

static bool is_tag(const char *tag)
{
	return tag && *tag && *tag != '.' && !strchr(tag, '/') && strlen(tag) <= 200;
}

int order_glance(const char *text, size_t n, struct arena *a, struct order_glance *ret)
{
	struct cursor c = {text, text + n};
	struct word name, value;
	int64_t uid = -1, gid = -1;
	bool more = char_take(&c, '{');

	*ret = (struct order_glance){0};
	if (!more)
		return -EINVAL;
	while (more) {
		if (next_char(&c) != '"' || !value_take(&c, &name) || !char_take(&c, ':') || !value_take(&c, &value) ||
		    member_read(&name, &value, a, ret, &uid, &gid))
			return -EINVAL;
		more = char_take(&c, ',');
	}
	if (!char_take(&c, '}') || next_char(&c) || !is_tag(ret->tag) || !ret->user || !*ret->user || !is_id(uid) ||
	    !is_id(gid))
		return -EINVAL;
	ret->uid = (uid_t)uid;
	ret->gid = (gid_t)gid;
	return 0;
}
