/*
 * api_audit.c - answers with the audit log, read from the store by another thread.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/codec.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "net/http.h"
#include "server/api/frame/api.h"
#include "server/api/frame/call.h"
#include "server/api/frame/query.h"
#include "server/api/frame/schemas.h"
#include "server/base/reader.h"
#include "server/server.h"
#include "store/audit.h"

#define PAGE 500 /* maximum records in one answer */

#define HAS(member) MEMBER(struct store_audit, member)

static const struct schema record = {
	"AuditRecord",
	FIELDS({"seq", .is = REQUIRED | IS_INT, "numbered with the events of jobs", HAS(seq)},
	       {"time", .is = REQUIRED | IS_INSTANT, HAS(time)},
	       {"who", .is = REQUIRED | IS_TEXT, "the user who made the change", HAS(who)},
	       {"kind", .is = REQUIRED | IS_TEXT,
		"of what was changed: server, queue, node, job, token, template, or a kind of named object", HAS(kind)},
	       {"name", .is = REQUIRED | IS_TEXT, "of what was changed", HAS(name)},
	       {"action", .is = REQUIRED | IS_TEXT,
		"created, changed, deleted, revoked, removed, or the action on a job", HAS(action)},
	       {"change", .is = REQUIRED | IS_TEXT | IS_NULL, "what was changed, for people", HAS(change)},
	       {"undo", .is = REQUIRED | IS_TEXT | IS_NULL,
		"the command that restores the old state; null if no command can", HAS(undo)})};
const struct schema audit_answer = {FIELDS(
	{"records", .is = REQUIRED | IS_LIST, "in the order in which they were made", .of = &record, .item = IS_OBJECT},
	{"next", .is = REQUIRED | IS_INT | IS_NULL, "more follow: pass this as `after`"})};

struct reading {
	struct read_work work;
	struct http_request *r;
	int64_t since;
	uint64_t after, last;
	char *user, *kind, *name; /* NULL: any */
	size_t n;
	struct strbuf out;
	struct json j;
};

static bool fits(const char *wanted, const char *is)
{
	return !wanted || strcmp(wanted, is) == 0;
}

static int one(void *context, const struct store_audit *a)
{
	struct reading *x = context;

	if (!fits(x->user, a->who) || !fits(x->kind, a->kind) || !fits(x->name, a->name))
		return 0;
	if (x->n++ == PAGE)
		return 1; /* there are more */
	schema_show(&record, NULL, a, NULL, &x->j);
	x->last = a->seq;
	return 0;
}

static int audit_read(struct read_work *w, struct store *store)
{
	struct reading *x = (struct reading *)w;

	json_begin(&x->j, &x->out);
	json_open_array(&x->j, "records");
	int rc = store_get_audit(store, x->since, x->after, one, x, &w->err);
	json_close_array(&x->j);
	if (x->n > PAGE)
		json_int(&x->j, "next", (int64_t)x->last);
	else
		json_text(&x->j, "next", NULL);
	json_close_object(&x->j);
	return rc < 0 ? rc : 0;
}

static void reading_free(struct reading *x)
{
	strbuf_fini(&x->out);
	free(x->user);
	free(x->kind);
	free(x->name);
	free(x);
}

static void audit_done(struct read_work *w)
{
	struct reading *x = (struct reading *)w;

	if (w->rc == 0)
		http_reply_strbuf(x->r, 200, "application/json", &x->out);
	else
		http_error(x->r, CODE_UNAVAILABLE, "The audit log can't be read now: %s", w->err.text);
	reading_free(x);
}

static char *query_copy(const struct call *c, const char *name)
{
	const char *text = request_query(c->r, name);

	return text && *text ? mem_strdup(text) : NULL;
}

void api_audit(struct server *s, const struct call *c)
{
	struct reading *x = mem_zalloc(sizeof *x);

	x->work = (struct read_work){.read = audit_read, .done = audit_done};
	x->r = c->r;
	x->since = query_number(c, "since", 0);
	x->after = (uint64_t)query_number(c, "after", 0);
	x->user = query_copy(c, "user");
	x->kind = query_copy(c, "kind");
	x->name = query_copy(c, "name");
	if (reader_add(s, LANE_LONG, c->w->uid, &x->work))
		return;
	http_header(c->r, "Retry-After", "2");
	http_error(c->r, CODE_UNAVAILABLE, "Too many requests are waiting. Try again later.");
	reading_free(x);
}
