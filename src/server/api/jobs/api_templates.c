/*
 * api_templates.c - templates of jobs (settings/templates.h): listing, showing, saving and deleting
 * them. A user's own template comes before the site's of the same name; the site's are changed by
 * managers.
 */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/codec.h"
#include "base/err.h"
#include "net/http.h"
#include "server/api/frame/api.h"
#include "server/api/frame/call.h"
#include "server/api/frame/request.h"
#include "server/api/frame/schemas.h"
#include "server/base/asker.h"
#include "server/base/post.h"
#include "server/book/audit.h"
#include "server/server.h"
#include "server/settings/conf.h"
#include "server/settings/templates.h"

struct subject {
	const struct server *s;
	const struct asker *who;
};

static void templates_show(const struct subject *x, struct json *j)
{
	for (size_t i = 0; i < x->s->templates->list.n; i++) {
		const struct template *t = &x->s->templates->list.v[i];
		if (!t->user || strcmp(t->user, x->who->user) == 0)
			schema_show(&template_shown, NULL, t, NULL, j);
	}
}

const struct schema templates_answer = {FIELDS({"templates", .is = REQUIRED | IS_LIST, "by name", .of = &template_shown,
						.item = IS_OBJECT, .inside = templates_show})};

void api_templates(struct server *s, const struct call *c)
{
	api_show(s, c->r, &templates_answer, &(struct subject){s, c->w});
}

/* Returns the template that a name means to the user; NULL: the request was answered. */
static struct template *template_named(struct server *s, const struct call *c)
{
	struct template *t = template_find(s, c->w->user, c->name);

	if (!t)
		t = template_find(s, NULL, c->name);
	if (!t)
		http_error(c->r, CODE_NOT_FOUND, "There is no template %.60s.", c->name);
	return t;
}

void api_template(struct server *s, const struct call *c)
{
	const struct template *t = template_named(s, c);

	if (t)
		api_show(s, c->r, &template_whole, t);
}

static bool site_may(const struct call *c)
{
	if (c->w->role < ROLE_MANAGER)
		http_error(c->r, CODE_FORBIDDEN, "Templates of the site are for managers to change.");
	return c->w->role >= ROLE_MANAGER;
}

struct template_wish {
	bool site;
	const json_t *job;
};

const struct schema template_body = {
	FIELDS({"site", .is = IS_BOOL, "for everybody; for managers", .otherwise = "false",
		MEMBER(struct template_wish, site)},
	       {"job", .is = REQUIRED | IS_OBJECT, "what `POST /v1/jobs` takes; its `comment` describes the template",
		.of = &whatif_body, MEMBER(struct template_wish, job)})};

void api_template_put(struct server *s, const struct call *c)
{
	struct template t = {.name = (char *)c->name, .by = (char *)c->w->user};
	struct template_wish x;
	struct err err;

	call_read(c, &x);
	if (schema_check_names(&whatif_body, x.job, &err) < 0) {
		err_prefix(&err, -EINVAL, "job");
		api_refuse(c->r, &err);
		return;
	}
	if (!conf_node_name_good(c->name)) {
		http_error(
			c->r, CODE_BAD_REQUEST,
			"A template's name has up to 63 letters, digits, '.', '-' and '_', with a letter or digit first.");
		return;
	}
	t.job = json_dumps(x.job, JSON_COMPACT);
	t.description = (char *)json_string_value(json_object_get(x.job, "comment"));
	t.user = x.site ? NULL : (char *)c->w->user;
	if (strlen(t.job) > TEMPLATE_MAX)
		http_error(c->r, CODE_BAD_REQUEST,
			   "The template has %zu bytes; at most %d are kept. Let its script call another.",
			   strlen(t.job), TEMPLATE_MAX);
	else if (x.site && !site_may(c))
		;
	else if (template_put(s, &t, &err) < 0) {
		api_refuse(c->r, &err);
	} else {
		if (x.site) /* a user's own are not in the audit log */
			audit_record(s, c->w, "template", c->name, "changed", NULL, NULL);
		reply_empty(s, c->r, 201);
	}
	free(t.job);
}

void api_template_delete(struct server *s, const struct call *c)
{
	struct template *t = template_named(s, c);

	if (!t || (!t->user && !site_may(c)))
		return;
	if (!t->user)
		audit_record(s, c->w, "template", c->name, "deleted", NULL, NULL);
	template_drop(s, t);
	reply_empty(s, c->r, 200);
}
