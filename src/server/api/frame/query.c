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

static const char *value_of(const struct field *f, const struct http_request *r)
{
	const char *text = f->header ? request_header(r, f->header) : NULL;

	return text ? text : request_query(r, f->name);
}

int query_check(const struct route *route, const struct http_request *r, struct err *err)
{
	const char *dry = request_query(r, "dry_run");
	bool tried = false;

	for (const struct field *f = route->query; f && f->name; f++) {
		const char *text = value_of(f, r);
		int rc = text		    ? field_check_text(f, text, err)
			 : f->is & REQUIRED ? err_set(err, -EINVAL, "%s is missing", f->name)
					    : 0;
		if (rc < 0)
			return rc;
		tried = tried || strcmp(f->name, "dry_run") == 0;
	}
	/* Unknown parameters are ignored; not this one, which says that nothing must change. */
	if (route->changes && !tried && dry && *dry && strcmp(dry, "false") != 0)
		return err_set(err, -EINVAL, "dry_run: this change can't be tried, only made");
	return 0;
}

int64_t query_number(const struct call *c, const char *name, int64_t none)
{
	const struct field *f = c->route->query;

	while (f && f->name && strcmp(f->name, name) != 0)
		f++;
	if (!f || !f->name)
		return none;

	const char *text = value_of(f, c->r);

	if (!text)
		text = f->otherwise;
	return text ? strtoll(text, NULL, 10) : none;
}
