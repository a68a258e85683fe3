/*
 * api_get.c - a single job with all fields, and its script.
 */
#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/jsonwrite.h"
#include "base/strbuf.h"
#include "core/job.h"
#include "net/http.h"
#include "server/api/frame/api.h"
#include "server/api/frame/call.h"
#include "server/api/frame/request.h"
#include "server/api/jobs/show.h"
#include "server/base/asker.h"
#include "server/job/body.h"
#include "server/job/entry.h"
#include "server/job/jobs.h"
#include "server/job/spec.h"
#include "server/life/wait/foresee.h"
#include "server/server.h"
#include "server/site/who.h"
#include "store/store.h"

/* Returns true if the user may read the job's private parts; otherwise answers the request. */
static bool is_private_to(struct server *s, struct http_request *r, const struct asker *w, uint32_t id)
{
	if (asker_may(s, w, ACT_READ, entry_get(s, id)->spec))
		return true;
	http_error(r, CODE_FORBIDDEN, "Only its owner and managers may read that.");
	return false;
}

void api_get(struct server *s, const struct call *c)
{
	struct field_list f = {0};
	struct strbuf out = {0};
	struct array *a;
	json_t *body = NULL;
	struct json j;
	struct err err;
	uint32_t id;
	int rc = job_seen(s, c->w, c->name, &id, &a, &err);

	/* possibly a job of another system */
	if (rc == -ENOENT || (rc < 0 && strchr(c->name, ':'))) {
		api_past_job(s, c->r, c->w, c->name);
		return;
	}
	if (rc < 0) {
		api_refuse(c->r, &err);
		return;
	}
	if (a || entry_job(s, id)->state < STATE_NOW)
		foresee_update(s);
	show_whole(&f);
	body_read(s, id, &body, NULL);
	show_close(s, c->w, id, body);
	json_begin(&j, &out);
	show_members(s, &j, id, a, &f, body);
	if (asker_may(s, c->w, ACT_READ, entry_get(s, id)->spec) && json_object_get(body, "environment")) {
		struct strbuf environment = {0};
		json_write(json_object_get(body, "environment"), &environment);
		json_raw(&j, "environment", environment.text);
		strbuf_fini(&environment);
	}
	json_close_object(&j);
	json_decref(body);
	http_reply_strbuf(c->r, 200, "application/json", &out);
}

void api_script(struct server *s, const struct call *c)
{
	struct array *a;
	struct err err;
	char *script;
	size_t n;
	uint32_t id;

	if (!api_job(s, c->r, c->w, c->name, &id, &a) || !is_private_to(s, c->r, c->w, id))
		return;
	if (store_get_script(s->store, entry_get(s, id)->spec->script, &script, &n, &err) < 0) {
		http_error(c->r, CODE_NOT_FOUND, "Job %.100s has no script.", c->name);
		return;
	}
	http_reply(c->r, 200, "text/plain; charset=utf-8", script, n);
	free(script);
}
