/*
 * url.h - parses the target of a request: "/v1/jobs/12%5B%5D?fields=id,name".
 *
 * Parts are split before they are decoded, so that an encoded '/', '&' or '=' is an ordinary
 * character. %00 and broken escapes are refused: a decoded text is a C string.
 */
#ifndef NET_URL_H
#define NET_URL_H

#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/vec.h"

#define URL_QUERY_MAX 64 /* parameters */

struct url_parameter {
	const char *name, *value;
};

struct url {
	const char *path;
	VEC(struct url_parameter) query; /* in order */
};

/* Strings belong to the arena. -EINVAL with a message. */
int url_parse(const char *target, struct arena *a, struct url *ret, struct err *err);
void url_fini(struct url *u);
/* Returns the value of the first parameter of this name, or NULL. */
const char *url_query(const struct url *u, const char *name);

/* Decodes `n` characters of `text`; in a query '+' is a blank. Returns NULL if an escape is
 * broken or stands for NUL. */
char *url_decode(const char *text, size_t n, int in_query, struct arena *a);

#endif
