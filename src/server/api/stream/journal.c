/*
 * journal.c - see journal.h.
 */
#include "server/api/stream/journal.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/jsonread.h"
#include "base/logline.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/timetext.h"
#include "base/vec.h"
#include "core/cluster.h"
#include "core/job.h"
#include "rules/attr.h"
#include "run/checkpoint.h"
#include "server/api/frame/audience.h"
#include "server/base/clock.h"
#include "server/base/words.h"
#include "server/book/books.h"
#include "server/book/outbox.h"
#include "server/job/entry.h"
#include "server/job/jobs.h"
#include "server/job/spec.h"
#include "server/life/wait/foresee.h"
#include "server/life/world/outage.h"
#include "server/life/world/world.h"
#include "server/server.h"
#include "store/quota.h"
#include "store/store.h"

/* An event that is logged once the turn has decided, when its job's start can be predicted. */
struct later {
	struct store_event e;
	char *data;
};

/* Owned by the server's audience. */
struct journal {
	VEC(struct later) events;
	struct strbuf out;
	bool closing, closed; /* the first and the last line of the shutdown were added */
};

static struct journal *journal_of(struct server *s)
{
	if (!s->audience->journal)
		s->audience->journal = mem_zalloc(sizeof *s->audience->journal);
	return s->audience->journal;
}

/* Returns true if log_events names this kind. */
static bool wanted(const struct server *s, const char *kind)
{
	const char *list = attrs_text(s->attrs, SET_LOG_EVENTS);
	size_t n = strlen(kind);

	for (const char *p = list; p && *p;) {
		size_t k = strcspn(p, ", ");
		if ((k == n && strncmp(p, kind, n) == 0) || (k == 3 && strncmp(p, "all", 3) == 0))
			return true;
		p += k;
		p += strspn(p, ", ");
	}
	return false;
}

/* ---- a line ---- */

struct line {
	struct strbuf *out;
	struct json j;
	bool json;
};

static void line_begin(const struct server *s, struct line *l, struct strbuf *out, int64_t time, const char *kind)
{
	const char *format = attrs_text(s->attrs, SET_LOG_FORMAT);
	char when[40];

	*l = (struct line){.out = out, .json = format && strcmp(format, "json") == 0};
	if (l->json) {
		json_begin(&l->j, out);
		json_int(&l->j, "time", time);
		json_text(&l->j, "event", kind);
	} else {
		strbuf_printf(out, "%s %s", instant_format(time, when, sizeof when), kind);
	}
}

static void line_end(struct line *l)
{
	if (l->json)
		json_close_object(&l->j);
	strbuf_puts(l->out, "\n");
}

/* Adds a text, unless it is missing. In text format, plain words are written unquoted and
 * everything else as in JSON. */
static void put_text(struct line *l, const char *key, const char *value)
{
	struct json j;

	if (!value || !*value)
		return;
	if (l->json) {
		json_text(&l->j, key, value);
		return;
	}
	strbuf_printf(l->out, " %s=", key);
	if (value[strspn(value, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:@/+,[]-")] == '\0') {
		strbuf_puts(l->out, value);
		return;
	}
	json_init(&j, l->out, false);
	json_text(&j, NULL, value);
}

static void put_int(struct line *l, const char *key, int64_t n)
{
	if (l->json)
		json_int(&l->j, key, n);
	else
		strbuf_printf(l->out, " %s=%lld", key, (long long)n);
}

static void put_instant(struct line *l, const char *key, int64_t at)
{
	char when[40];

	if (at <= 0 || at == TIME_NEVER)
		return;
	if (l->json)
		json_int(&l->j, key, at);
	else
		put_text(l, key, instant_format(at, when, sizeof when));
}

static void put_duration(struct line *l, const char *key, int64_t seconds)
{
	char text[40];

	if (l->json)
		json_int(&l->j, key, seconds);
	else
		put_text(l, key, duration_format(seconds, text, sizeof text));
}

static void put_job(const struct server *s, struct line *l, uint32_t id)
{
	struct strbuf text = {0};

	entry_id(s, id, &text);
	put_text(l, "job", text.text);
	strbuf_fini(&text);
}

/* Adds the jobs that have processes, joined by commas. */
static void put_running(const struct server *s, struct line *l)
{
	struct strbuf text = {0};

	JOBS_EACH(s, id)
		if (entry_get(s, id)->spec && entry_running(s, id)) {
			strbuf_puts(&text, text.n ? "," : "");
			entry_id(s, id, &text);
		}
	put_text(l, "jobs", strbuf_text(&text));
	strbuf_fini(&text);
}

/* ---- jobs ---- */

static void put_submitted(const struct server *s, struct line *l, uint32_t id)
{
	const struct spec *p = entry_get(s, id)->spec;
	const struct job *job = entry_job(s, id);
	int64_t start;

	put_text(l, "user", word_text(s, p->owner));
	put_text(l, "program", p->program ? p->program : p->name);
	put_text(l, "class", p->class ? word_text(s, p->class) : "script");
	put_text(l, "type",
		 p->interactive		     ? "interactive"
		 : p->kind == KIND_QOS	     ? "priority"
		 : p->kind == KIND_EMERGENCY ? "emergency"
		 : p->nice		     ? "nice"
					     : "normal");
	put_text(l, "resources", word_text(s, p->resources));
	put_int(l, "processors", request_cpus(cluster_job_request(s->cluster, job)));
	put_duration(l, "run_time", p->walltime);
	put_instant(l, "deadline", p->deadline);
	put_instant(l, "nice_until", p->nice ? p->nice : TIME_NEVER);
	put_text(l, "checkpoint", word_text(s, p->checkpoint));
	if (entry_running(s, id)) {
		put_instant(l, "start", job->start);
		put_instant(l, "completion", job->start + p->walltime);
	} else if (foresee_start(s, id, &start)) {
		put_instant(l, "start", start);
		put_instant(l, "completion", start + p->walltime);
	}
}

static void put_finished(const struct server *s, struct line *l, uint32_t id)
{
	const struct entry *e = entry_get(s, id);
	const struct outcome *o = e->outcome;

	put_instant(l, "started", o ? o->started_us / 1000000 : 0);
	put_instant(l, "ended", o ? o->ended_us / 1000000 : 0);
	put_duration(l, "run_time", e->spec->walltime);
	put_duration(l, "ran", o ? o->ran_ms / 1000 : 0);
	put_int(l, "exit_status", e->exit_status);
	put_text(l, "cause", cause_name(e->cause));
}

static void put_saved(struct line *l, const struct saves *v)
{
	static const char *const states[] = {"none", "begun", "good", "failed"};

	put_text(l, "checkpoint", v->cause == SAVE_PERIODIC || v->cause == SAVE_ASKED ? "periodic" : "final");
	put_text(l, "cause", save_words[v->cause]);
	put_text(l, "state", states[v->state]);
}

/* Returns the kind of an event; NULL: it is not logged. */
static const char *kind_of(const struct later *x, const struct payload *p)
{
	switch (x->e.type) {
	case EVENT_SUBMIT:
		return "jobsubmit";
	case EVENT_STARTED:
		return "jobstart";
	case EVENT_FINISH:
		return "jobfinish";
	case EVENT_DELETE:
	case EVENT_EXPIRE:
		return "jobremove";
	case EVENT_RANK:
		return "jobmove";
	case EVENT_SAVED:
		return p->saves.last.state != SAVE_NONE ? "checkpoint" : NULL;
	default:
		return NULL;
	}
}

static void event_write(struct server *s, struct journal *n, const struct later *x)
{
	json_t *data = x->data ? json_read(x->data, strlen(x->data), 0, NULL) : NULL;
	const char *kind;
	struct payload p;
	struct line l;
	uint32_t id;

	payload_glance(x->e.type, data, &p);
	kind = kind_of(x, &p);
	if (kind && wanted(s, kind) && entry_find(s, job_key_number(x->e.job), job_key_index(x->e.job), &id) &&
	    entry_get(s, id)->spec) {
		line_begin(s, &l, &n->out, x->e.time, kind);
		put_job(s, &l, id);
		if (x->e.type == EVENT_SUBMIT)
			put_submitted(s, &l, id);
		else if (x->e.type == EVENT_FINISH)
			put_finished(s, &l, id);
		else if (x->e.type == EVENT_SAVED)
			put_saved(&l, &p.saves.last);
		else if (x->e.type == EVENT_RANK)
			put_text(&l, "text", p.text);
		else if (x->e.type == EVENT_STARTED) {
			put_int(&l, "attempt", entry_job(s, id)->attempt);
			put_instant(&l, "completion", x->e.time + entry_get(s, id)->spec->walltime);
		}
		put_text(&l, "by", p.who);
		line_end(&l);
	}
	json_decref(data);
}

void journal_event(struct server *s, const struct store_event *e)
{
	const char *list = attrs_text(s->attrs, SET_LOG_EVENTS);
	struct later x = {.e = *e, .data = e->data ? mem_strdup(e->data) : NULL};

	if (!list || !*list) {
		free(x.data);
		return;
	}
	x.e.nodes = x.e.data = NULL;
	vec_push(&journal_of(s)->events, x);
}

/* ---- other events ---- */

void journal_move(struct server *s, const struct store_move *m)
{
	struct strbuf id = {0};
	struct line l;

	if (!wanted(s, "quota"))
		return;
	line_begin(s, &l, &journal_of(s)->out, m->time, "quota");
	put_text(&l, "user", m->user);
	put_text(&l, "type", m->type);
	put_text(&l, "cause", m->cause);
	if (m->job) {
		key_id(s, m->job, &id);
		put_text(&l, "job", id.text);
	}
	put_int(&l, "seconds", m->seconds);
	line_end(&l);
	strbuf_fini(&id);
}

void journal_heard(struct server *s, enum severity severity, const char *text)
{
	struct line l;

	if (!s->audience || !s->attrs || !wanted(s, "error"))
		return;
	line_begin(s, &l, &journal_of(s)->out, s->clock->now, "error");
	put_text(&l, "level", severity_names[severity]);
	put_text(&l, "text", text);
	line_end(&l);
}

void journal_startup(struct server *s)
{
	struct line l;

	if (!wanted(s, "startup"))
		return;
	line_begin(s, &l, &journal_of(s)->out, s->clock->now, "startup");
	put_running(s, &l);
	line_end(&l);
}

bool journal_shutdown(struct server *s, bool complete)
{
	struct journal *n = journal_of(s);
	struct line l;

	if (!wanted(s, "shutdown") || (complete ? n->closed : n->closing))
		return false;
	n->closing = true;
	n->closed = complete;
	line_begin(s, &l, &n->out, s->clock->now, "shutdown");
	put_text(&l, "state", complete ? "complete" : "begun");
	if (complete)
		put_running(s, &l);
	else
		put_instant(&l, "until", s->world->outage.kind ? s->world->outage.until : 0);
	line_end(&l);
	return true;
}

bool journal_waits(const struct server *s)
{
	const struct journal *n = s->audience->journal;

	return n && (n->events.n || n->out.n);
}

void journal_commit(struct server *s)
{
	struct journal *n = s->audience->journal;
	bool submitted = false;

	if (!journal_waits(s))
		return;
	for (size_t i = 0; i < n->events.n; i++)
		submitted |= n->events.v[i].e.type == EVENT_SUBMIT;
	if (submitted && wanted(s, "jobsubmit"))
		foresee_update(s);
	for (size_t i = 0; i < n->events.n; i++) {
		event_write(s, n, &n->events.v[i]);
		free(n->events.v[i].data);
	}
	vec_clear(&n->events);
	if (n->out.n)
		outbox_add(s->books->journal, s->clock->now, n->out.text, n->out.n);
	strbuf_clear(&n->out);
}
