/*
 * hooks.c - see hooks.h.
 *
 * A file has a version in force, and the version last found on disk (stamp, problem). All files
 * that changed in a scan of the directory are tried first, and then come into force together, in
 * one message to each process (`version`).
 */
#include "server/site/hooks.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "base/codec.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "hooks/frames.h"
#include "rules/attr.h"
#include "server/base/clock.h"
#include "server/base/instance.h"
#include "server/base/log.h"
#include "server/base/turn.h"
#include "server/job/jobs.h"
#include "server/server.h"
#include "server/settings/conf.h"
#include "server/site/hookfiles.h"
#include "server/site/hookworker.h"

#define LOOK_MS 2000 /* interval between two scans of the directory */

#define DIRECTORY "(directory)" /* name that stands for all files of an unusable directory */

struct loaded {
	struct hook_file file; /* version in force; text NULL and broken NULL: none */
	char stamp[96];	       /* stamp of the version on disk that was last looked at */
	/* problem of that version, if it is not the one in force; else NULL */
	char *problem;
	bool found;		/* found in this scan */
	struct hook_ask *trial; /* trial of the new version; NULL: none */
	char *text;		/* text of the new version */
	size_t n;
	char *failure; /* last failure */
	uint64_t calls, failures;
	int64_t us, us_max;
};

struct hooks {
	struct server *s;
	char *directory;
	struct hook_crew crew;
	VEC(struct loaded *) files; /* by name */
	char *trouble;
	int trials;
	bool first;   /* the first scan is not complete: everything waits */
	bool looking; /* a scan is running on a thread */
	bool changed; /* there are changes to bring into force after the last trial */
	bool stopped;
	uv_timer_t timer;
	uv_work_t work;
	struct hookdir look;
};

/* ---- versions in force ---- */

static bool in_force(const struct loaded *f)
{
	return f->file.source.text || f->file.broken;
}

static void loaded_free(struct loaded *f)
{
	hook_ask_free(f->trial);
	free((char *)f->file.source.name);
	free((char *)f->file.source.text);
	free(f->file.broken);
	free(f->problem);
	free(f->text);
	free(f->failure);
	free(f);
}

static struct loaded *loaded_find(const struct hooks *h, const char *name)
{
	for (size_t i = 0; i < h->files.n; i++)
		if (strcmp(h->files.v[i]->file.source.name, name) == 0)
			return h->files.v[i];
	return NULL;
}

static struct loaded *loaded_get(struct hooks *h, const char *name)
{
	struct loaded *f = loaded_find(h, name);
	size_t at = 0;

	if (f)
		return f;
	f = mem_zalloc(sizeof *f);
	f->file.source.name = mem_strdup(name);
	while (at < h->files.n && strcmp(h->files.v[at]->file.source.name, name) < 0)
		at++;
	vec_insert(&h->files, at, f);
	return f;
}

/* Passes the files in force to the processes. */
static void files_send(struct hooks *h)
{
	VEC(struct hook_file) files = {0};
	struct strbuf head = {0}, texts = {0};

	for (size_t i = 0; i < h->files.n; i++) {
		const struct hook_file *f = &h->files.v[i]->file;
		if (!in_force(h->files.v[i]))
			continue;
		vec_push(&files, *f);
		strbuf_add(&texts, f->source.text ? f->source.text : "", f->source.n);
	}
	struct hook_request q = {.what = HOOK_DO_FILES, .files = files.v, .nfiles = (int)files.n};
	record_store_text(hook_request_rows, 0, &q, NULL, &head);
	hook_crew_files(&h->crew, &head, &texts);
	vec_free(&files);
}

static void broken_set(struct loaded *f, const char *why, bool first)
{
	free(f->problem);
	f->problem = mem_strdup(why);
	if (!f->file.source.text && (first || f->file.broken)) {
		free(f->file.broken);
		f->file.broken = mem_strdup(why);
		f->file.events = (1u << HOOK_EVENTS) - 1;
	}
}

static void new_force(struct hooks *h, struct loaded *f, unsigned events)
{
	server_log(h->s, SEVERITY_NOTICE, "hook %s: %s", f->file.source.name,
		   in_force(f) ? "the new version is in force" : "in force");
	free((char *)f->file.source.text);
	free(f->file.broken);
	free(f->problem);
	f->problem = f->file.broken = NULL;
	f->file.source.text = f->text;
	f->file.source.n = f->n;
	f->file.events = events;
	f->text = NULL;
}

static void problem_say(const struct hooks *h, const struct loaded *f, const char *why)
{
	server_log(h->s, SEVERITY_ERROR, "hook %s: %s; %s", f->file.source.name, why,
		   f->file.source.text ? "the version before it stays in force"
		   : f->file.broken    ? "as long as that is so, it counts as failing"
				       : "it is not used");
}

/* ---- new versions ---- */

static void settle(struct hooks *h)
{
	if (h->trials)
		return;
	h->first = false;
	if (h->changed)
		files_send(h);
	h->changed = false;
	hook_crew_go(&h->crew);
}

static void on_tried(struct server *s, void *context)
{
	struct loaded *f = context;
	struct hooks *h = s->hooks;
	struct hook_ask *a = f->trial;

	h->trials--;
	if (a->error) {
		broken_set(f, a->error, h->first);
		problem_say(h, f, a->error);
		free(f->text);
		f->text = NULL;
		h->changed |= f->file.broken != NULL;
	} else {
		new_force(h, f, a->events);
		h->changed = true;
	}
	f->trial = NULL;
	hook_ask_free(a);
	settle(h);
}

static void version_try(struct hooks *h, struct loaded *f, struct hookfile *x)
{
	snprintf(f->stamp, sizeof f->stamp, "%s", x->stamp);
	f->text = x->text;
	f->n = x->n;
	x->text = NULL;
	f->trial = hook_crew_check(&h->crew, f->file.source.name, f->text, f->n, on_tried, f);
	h->trials++;
}

static void file_look(struct hooks *h, struct hookfile *x)
{
	struct loaded *f = loaded_get(h, x->name);

	f->found = true;
	if (f->trial ||
	    (strcmp(f->stamp, x->stamp) == 0 && (!x->problem || (f->problem && strcmp(f->problem, x->problem) == 0))))
		return;
	if (!x->problem) {
		version_try(h, f, x);
		return;
	}
	snprintf(f->stamp, sizeof f->stamp, "%s", x->stamp);
	broken_set(f, x->problem, h->first);
	problem_say(h, f, x->problem);
	h->changed |= f->file.broken != NULL;
}

static void file_gone(struct hooks *h, size_t i)
{
	struct loaded *f = h->files.v[i];

	if (strcmp(f->file.source.name, DIRECTORY) != 0)
		server_log(h->s, SEVERITY_NOTICE, "hook %s was removed with its file", f->file.source.name);
	h->trials -= f->trial != NULL;
	h->changed = true;
	loaded_free(f);
	vec_remove(&h->files, i);
}

/* Handles an unusable directory: at the start it counts as a failing hook; later the old hooks
 * stay. */
static void directory_trouble(struct hooks *h, const char *why)
{
	if (h->trouble && strcmp(h->trouble, why) == 0)
		return;
	server_log(h->s, SEVERITY_ERROR, "hooks: %s", why);
	free(h->trouble);
	h->trouble = mem_strdup(why);
	if (h->first) {
		broken_set(loaded_get(h, DIRECTORY), why, true);
		h->changed = true;
	}
}

static void look_take(struct hooks *h, struct hookdir *d)
{
	if (d->problem) {
		directory_trouble(h, d->problem);
		settle(h);
		return;
	}
	free(h->trouble);
	h->trouble = NULL;
	for (size_t i = 0; i < h->files.n; i++)
		h->files.v[i]->found = false;
	for (size_t i = 0; i < d->files.n; i++)
		file_look(h, &d->files.v[i]);
	for (size_t i = h->files.n; i-- > 0;)
		if (!h->files.v[i]->found)
			file_gone(h, i);
	settle(h);
}

static void on_look(uv_work_t *work)
{
	struct hooks *h = work->data;

	hookdir_read(h->directory, &h->look);
}

static void on_looked(uv_work_t *work, int status)
{
	struct hooks *h = work->data;

	h->looking = false;
	if (!h->stopped)
		look_take(h, &h->look);
	hookdir_fini(&h->look);
}

static void on_timer(uv_timer_t *t)
{
	struct hooks *h = t->data;

	if (h->looking || h->stopped)
		return;
	h->looking = true;
	uv_queue_work(h->s->loop, &h->work, on_look, on_looked);
}

/* ---- questions ---- */

static void ran_count(struct hooks *h, const struct hook_answer *a)
{
	const json_t *x;
	size_t i;

	json_array_foreach(a->ran, i, x)
	{
		struct loaded *f = loaded_find(h, json_string_value(json_object_get(x, "file")));
		const char *failed = json_string_value(json_object_get(x, "failed"));
		int64_t us = json_integer_value(json_object_get(x, "us"));
		if (!f)
			continue;
		f->calls++;
		f->us += us;
		f->us_max = us > f->us_max ? us : f->us_max;
		if (!failed)
			continue;
		server_log(h->s, SEVERITY_ERROR, "hook %s failed: %s", f->file.source.name, failed);
		f->failures++;
		free(f->failure);
		f->failure = mem_strdup(failed);
	}
}

static void on_answer(void *context, struct hook_ask *a, const struct hook_answer *x)
{
	struct hooks *h = context;
	const char *user = json_string_value(json_object_get(a->facts, "user"));
	const json_t *line;
	size_t i;

	ran_count(h, x);
	/* otherwise it is in the job's events */
	if (a->event == HOOK_SUBMIT && x->result != HOOK_ACCEPTED)
		json_array_foreach(x->log, i, line)
			server_log(h->s, SEVERITY_NOTICE, "hook %s (submit of %s): %s",
				   json_string_value(json_object_get(line, "file")), user ? user : "?",
				   json_string_value(json_object_get(line, "text")));
}

static struct hook_terms terms_now(void *context)
{
	const struct hooks *h = context;
	const struct attrs *a = h->s->attrs;

	return (struct hook_terms){.time_ms = attrs_number(a, SET_HOOK_TIME),
				   .memory_kib = attrs_number(a, SET_HOOK_MEMORY),
				   .refuses = strcmp(attrs_text(a, SET_HOOK_FAILURE), "refuse") == 0};
}

/* Builds the global `site`. */
static json_t *site_now(void *context)
{
	const struct server *s = ((const struct hooks *)context)->s;
	const char *queue = attrs_text(s->attrs, SET_DEFAULT_QUEUE);
	json_t *queues = json_object();

	for (size_t i = 0; i < s->jobs->queues.n; i++) {
		const struct queue *q = s->jobs->queues.v[i];
		json_object_set_new(queues, q->name,
				    json_pack("{s:s, s:b, s:b}", "type", attrs_text(&q->attrs, SET_QUEUE_TYPE),
					      "enabled", attrs_bool(&q->attrs, SET_ENABLED), "started",
					      attrs_bool(&q->attrs, SET_STARTED)));
	}
	return json_pack("{s:s, s:I, s:s?, s:o}", "name", s->instance->name, "now", (json_int_t)s->clock->now,
			 "default_queue", queue && *queue ? queue : NULL, "queues", queues);
}

bool hooks_want(const struct server *s, enum hook_event e)
{
	const struct hooks *h = s->hooks;

	if (!h)
		return false;
	if (h->first)
		return true;
	for (size_t i = 0; i < h->files.n; i++)
		if (in_force(h->files.v[i]) && h->files.v[i]->file.events & 1u << e)
			return true;
	return false;
}

struct hook_ask *hooks_ask(struct server *s, enum hook_event e, json_t *facts, const char *data, size_t n,
			   void (*done)(struct server *s, void *context), void *context)
{
	struct hook_ask *a = mem_zalloc(sizeof *a);

	*a = (struct hook_ask){
		.event = e, .facts = facts, .data = data, .n = n, .done = done, .context = context, .server = s};
	hook_crew_add(&s->hooks->crew, a);
	return a;
}

struct hook_ask *hooks_try(struct server *s, enum hook_event e, json_t *facts, const char *name, const char *data,
			   size_t n, size_t bytes, void (*done)(struct server *s, void *context), void *context)
{
	struct hook_ask *a = mem_zalloc(sizeof *a);

	*a = (struct hook_ask){.event = e,
			       .trial = true,
			       .facts = facts,
			       .file = mem_strdup(name),
			       .data = data,
			       .n = n,
			       .bytes = bytes,
			       .done = done,
			       .context = context,
			       .server = s};
	hook_crew_add(&s->hooks->crew, a);
	return a;
}

void hook_ask_free(struct hook_ask *a)
{
	if (!a)
		return;
	hook_crew_drop(&a->server->hooks->crew, a);
	json_decref(a->facts);
	json_decref(a->values);
	vec_free(&a->answers);
	free(a->file);
	free(a->error);
	free(a);
}

/* ---- beginning and end ---- */

static bool may_begin(void *context)
{
	return !((const struct hooks *)context)->first;
}

void hooks_begin(struct server *s)
{
	struct hooks *h = mem_zalloc(sizeof *h);
	struct strbuf path = {0};
	const char *conf = s->instance->where.conf, *slash = strrchr(conf, '/');
	struct hookdir d;

	if (*s->conf->hook_directory)
		strbuf_puts(&path, s->conf->hook_directory);
	else
		strbuf_printf(&path, "%.*s/hooks", slash ? (int)(slash - conf) : 1, slash ? conf : ".");
	h->s = s;
	h->directory = path.text;
	h->first = true;
	h->work.data = h->timer.data = h;
	s->hooks = h;
	hook_crew_begin(&h->crew, s, &(struct hook_crew_calls){may_begin, terms_now, site_now, on_answer, h});
	uv_timer_init(s->loop, &h->timer);
	uv_timer_start(&h->timer, on_timer, LOOK_MS, LOOK_MS);
	hookdir_read(h->directory, &d);
	look_take(h, &d);
	hookdir_fini(&d);
}

void hooks_end(struct server *s)
{
	struct hooks *h = s->hooks;

	if (!h || h->stopped)
		return;
	h->stopped = true;
	uv_timer_stop(&h->timer);
	hook_crew_end(&h->crew);
}

size_t hooks_count(const struct server *s)
{
	return s->hooks ? s->hooks->files.n : 0;
}

void hooks_show(const struct server *s, size_t i, struct hook_shown *ret)
{
	const struct loaded *f = s->hooks->files.v[i];

	*ret = (struct hook_shown){.name = f->file.source.name,
				   .events = f->file.source.text ? f->file.events : 0,
				   .in_force = f->file.source.text != NULL,
				   .fails = f->file.broken != NULL,
				   .problem = f->problem,
				   .failure = f->failure,
				   .calls = f->calls,
				   .failures = f->failures,
				   .us = f->us,
				   .us_max = f->us_max};
}

const char *hooks_directory(const struct server *s)
{
	return s->hooks ? s->hooks->directory : "";
}

const char *hooks_trouble(const struct server *s)
{
	return s->hooks ? s->hooks->trouble : NULL;
}
