/*
 * news.c - news as frames of an agent, and as items of its inventory. Both ends use these rows.
 */
#include "engine/news.h"

#include <jansson.h>
#include <string.h>

#include "base/codec.h"
#include "base/json.h"

#define REASON_MAX 4096 /* maximum bytes of a host's reason, which is stored and shown */

enum { FRAME = 1 << 0, ITEM = 1 << 1, BOTH = FRAME | ITEM, NESTED = 1 << 2 };

struct told {
	enum report report;
	const char *tag, *reason;
	pid_t pid;
	bool unclear;
	int64_t cpu_ms, memory_kib;
	struct result result;
	struct saves saves;
};

/* NESTED members are read separately: the end of an attempt counts even if its result can't be
 * read. */
static const struct field rows[] = {
	{"t", .in = FRAME | ALWAYS, .words = "started|ready|saved|used|refused|ended|lost",
	 MEMBER_AS(FORM_CHOICE, struct told, report)},
	{"state", .in = ITEM | ALWAYS, .words = "runs|ready|saved|used|refused|ended|lost",
	 MEMBER_AS(FORM_CHOICE, struct told, report)},
	{"tag", .in = BOTH, MEMBER(struct told, tag)},
	{"pid", .in = BOTH, MEMBER(struct told, pid)},
	{"reason", .in = BOTH, MEMBER(struct told, reason)},
	{"unclear", .in = BOTH, MEMBER(struct told, unclear)},
	{"cpu_ms", .in = BOTH, .most = RESULT_USE_MAX, MEMBER(struct told, cpu_ms)},
	{"memory_kib", .in = BOTH, .most = RESULT_USE_MAX, MEMBER(struct told, memory_kib)},
	{"result", .in = NESTED, .of = &result_schema, MEMBER_AS(FORM_RECORD, struct told, result)},
	{"saves", .in = NESTED, .of = &saves_schema, MEMBER_AS(FORM_RECORD, struct told, saves)},
	{0},
};

static struct told told_of(const struct news *n)
{
	struct told t = {.report = n->report, .tag = n->tag, .reason = n->reason, .pid = n->pid, .unclear = n->unclear};

	if (n->report == SAYS_ENDED && n->r)
		t.result = *n->r;
	if (n->report == SAYS_USED) {
		t.cpu_ms = n->r->cpu_ms;
		t.memory_kib = n->r->memory_kib;
	}
	if (n->saves)
		t.saves = *n->saves;
	return t;
}

void news_frame(const struct news *n, struct strbuf *out)
{
	struct told t = told_of(n);

	record_store_text(rows, FRAME | NESTED, &t, NULL, out);
}

void news_item(const struct news *n, struct json *j)
{
	struct told t = told_of(n);

	json_open_object(j, NULL);
	record_store(rows, ITEM | NESTED, &t, NULL, j);
	json_close_object(j);
}

static const char *reason_cut(const char *reason, struct arena *a)
{
	return !reason || strlen(reason) <= REASON_MAX ? reason : arena_strndup(a, reason, REASON_MAX);
}

bool news_read(const json_t *o, struct arena *a, struct result *r, struct news *ret)
{
	struct told t;

	if (record_load(rows, json_object_get(o, "state") ? ITEM : FRAME, o, &t, NULL, NULL) < 0)
		return false;
	if (t.report == SAYS_SAVED && saves_load(json_object_get(o, "saves"), &r->saves) < 0)
		return false;
	if (t.report == SAYS_USED) {
		r->cpu_ms = t.cpu_ms;
		r->memory_kib = t.memory_kib;
	}
	if (t.report == SAYS_ENDED) {
		if (result_load(json_object_get(o, "result"), a, r, NULL) < 0 || r->how == RESULT_RUNS)
			/* it is over, and nothing more will be known about it */
			t.report = SAYS_LOST;
		else
			r->reason = reason_cut(r->reason, a);
	}
	*ret = (struct news){.report = t.report,
			     .pid = t.pid,
			     .reason = reason_cut(t.reason, a),
			     .unclear = t.unclear,
			     .r = r,
			     .saves = &r->saves};
	return true;
}
