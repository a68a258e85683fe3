/*
 * url.c - parses and decodes the target of a request.
 */
#include "net/url.h"

#include <errno.h>
#include <string.h>

static int hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

char *url_decode(const char *text, size_t n, int in_query, struct arena *a)
{
	char *out = arena_alloc(a, n + 1), *to = out;

	for (size_t i = 0; i < n; i++) {
		if (text[i] != '%') {
			*to++ = in_query && text[i] == '+' ? ' ' : text[i];
			continue;
		}
		int high = n - i > 2 ? hex(text[i + 1]) : -1, low = n - i > 2 ? hex(text[i + 2]) : -1;
		if (high < 0 || low < 0 || (high | low) == 0)
			return NULL;
		*to++ = (char)(high << 4 | low);
		i += 2;
	}
	*to = '\0';
	return out;
}

static int parameter_parse(const char *text, size_t n, struct arena *a, struct url_parameter *ret)
{
	const char *equals = memchr(text, '=', n);
	size_t name = equals ? (size_t)(equals - text) : n;

	ret->name = url_decode(text, name, 1, a);
	ret->value = equals ? url_decode(equals + 1, n - name - 1, 1, a) : "";
	return ret->name && ret->value ? 0 : -EINVAL;
}

int url_parse(const char *target, struct arena *a, struct url *ret, struct err *err)
{
	size_t n = strcspn(target, "?#");
	const char *query = target[n] == '?' ? target + n + 1 : "";

	*ret = (struct url){.path = url_decode(target, n, 0, a)};
	if (!ret->path || ret->path[0] != '/')
		return err_set(
			err, -EINVAL,
			"The path of the request must begin with '/', and a '%%' in it be followed by two digits (%%01 to %%FF).");
	while (*query && *query != '#') {
		struct url_parameter p;
		size_t part = strcspn(query, "&#");
		if (ret->query.n == URL_QUERY_MAX)
			return err_set(err, -EINVAL, "The request has more than %d parameters.", URL_QUERY_MAX);
		if (part > 0) {
			if (parameter_parse(query, part, a, &p) < 0)
				return err_set(
					err, -EINVAL,
					"In the request's parameters a '%%' must be followed by two digits (%%01 to %%FF).");
			vec_push(&ret->query, p);
		}
		query += part + (query[part] == '&');
	}
	return 0;
}

void url_fini(struct url *u)
{
	vec_free(&u->query);
}

const char *url_query(const struct url *u, const char *name)
{
	for (size_t i = 0; i < u->query.n; i++)
		if (strcmp(u->query.v[i].name, name) == 0)
			return u->query.v[i].value;
	return NULL;
}
