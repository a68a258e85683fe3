/*
 * query.c - the parameters of requests, checked against the table of their route before a handler
 * sees them.
 */
#include "server/api/frame/query.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "net/http.h"
#include "server/api/frame/route.h"

/* Returns NULL if the route has no such parameter. */
static const struct field *field_find(const struct route *route, const char *name)
{
	const struct field *f = route->query;

	while (f && f->name && strcmp(f->name, name) != 0)
		f++;
	return f && f->name ? f : NULL;
}

static const char *value_of(const struct field *f, const struct http_request *r)
{
	const char *text = f->header ? request_header(r, f->header) : NULL;

	return text ? text : request_query(r, f->name);
}

int query_check(const struct route *route, const struct http_request *r, struct err *err)
{
	const char *dry = request_query(r, "dry_run");

	for (const struct field *f = route->query; f && f->name; f++) {
		const char *text = value_of(f, r);
		int rc = text		    ? field_check_text(f, text, err)
			 : f->is & REQUIRED ? err_set(err, -EINVAL, "%s is missing", f->name)
					    : 0;
		if (rc < 0)
			return rc;
	}
	/* Unknown parameters are ignored; not this one, which says that nothing must change. */
	if (route->changes && dry && *dry && strcmp(dry, "false") != 0 && !field_find(route, "dry_run"))
		return err_set(err, -EINVAL, "dry_run: this change can't be tried, only made");
	return 0;
}

int64_t query_number(const struct call *c, const char *name, int64_t none)
{
	const struct field *f = field_find(c->route, name);

	if (!f)
		return none;

	const char *text = value_of(f, c->r);

	if (!text)
		text = f->otherwise;
	return text ? strtoll(text, NULL, 10) : none;
}
