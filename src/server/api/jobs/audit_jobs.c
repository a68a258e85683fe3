/*
 * audit_jobs.c - see audit_jobs.h.
 */
#include "server/api/jobs/audit_jobs.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "rules/gate.h"
#include "server/api/jobs/change.h"
#include "server/base/asker.h"
#include "server/base/words.h"
#include "server/book/audit.h"
#include "server/job/jobs.h"
#include "server/job/spec.h"
#include "server/server.h"

bool audit_job_begin(struct change *c, const struct action_kind *kind, uint32_t id, struct audit_job *ret)
{
	const struct entry *e = entry_get(c->s, id);
	struct err err;

	*ret = (struct audit_job){0};
	if (!e->spec || e->spec->uid == c->w->uid)
		return false;
	ret->holds = e->holds;
	ret->queue = e->spec->queue;
	/* If it can't be read, `subject` stays NULL and the change can't be undone. */
	if (strcmp(kind->name, "alter") == 0)
		change_subject(c, id, &ret->subject, &err);
	return true;
}

void audit_job_free(struct audit_job *b)
{
	json_decref(b->subject);
}

/* ---- commands that undo an action ---- */

/* Appends "qrls -h uo 12" for the holds that have changed. */
static void holds_back(uint8_t changed, const char *command, const char *name, struct strbuf *out)
{
	if (!changed)
		return;
	strbuf_printf(out, "%s -h %s%s%s ", command, changed & BLOCK_USER ? "u" : "", changed & BLOCK_OTHER ? "o" : "",
		      changed & BLOCK_SYSTEM ? "s" : "");
	text_quote(name, out);
}

/* Returns true if the job's previous request has a value for everything that the alteration names;
 * otherwise it can't be undone. */
static bool resources_known(const json_t *was, const json_t *asked)
{
	struct strbuf all = {0};
	const json_t *x;
	bool known = true;
	size_t i;

	strbuf_puts(&all, ",");
	json_array_foreach(was, i, x) strbuf_printf(&all, "%s,", json_string_value(x));
	json_array_foreach(asked, i, x) for (const char *p = json_string_value(x); p && *p && known;
					     p += strcspn(p, ","), p += *p == ',')
	{
		char name[80];
		snprintf(name, sizeof name, ",%.*s=", (int)strcspn(p, "=,"), p);
		known = strlen(name) < sizeof name - 1 && strstr(all.text, name);
	}
	strbuf_fini(&all);
	return known;
}

/* Appends the option of qalter that restores a member of the job; returns false if there is
 * none. */
static bool option_back(const char *key, const json_t *was, const json_t *asked, struct strbuf *out)
{
	static const char *const options[][2] = {
		{"name", "-N"}, {"output", "-o"},  {"error", "-e"}, {"join", "-j"},    {"keep", "-k"},
		{"mail", "-m"}, {"mail_to", "-M"}, {"shell", "-S"}, {"account", "-A"},
	};
	const json_t *x;
	char text[40];
	size_t i;

	if (strcmp(key, "resources") == 0) {
		if (!resources_known(was, asked))
			return false;
		json_array_foreach(was, i, x)
		{
			strbuf_puts(out, " -l ");
			text_quote(json_string_value(x), out);
		}
		return true;
	}
	if (strcmp(key, "priority") == 0) {
		strbuf_printf(out, " -p %lld", (long long)json_integer_value(was));
		return true;
	}
	if (strcmp(key, "rerunnable") == 0) {
		strbuf_printf(out, " -r %s", json_is_true(was) ? "y" : "n");
		return true;
	}
	if (strcmp(key, "at") == 0 && json_integer_value(was)) {
		time_t at = (time_t)json_integer_value(was);
		struct tm tm;
		strftime(text, sizeof text, " -a %Y%m%d%H%M.%S", localtime_r(&at, &tm));
		strbuf_puts(out, text);
		return true;
	}
	for (i = 0; i < sizeof options / sizeof *options; i++)
		if (strcmp(key, options[i][0]) == 0 && json_string_length(was)) {
			strbuf_printf(out, " %s ", options[i][1]);
			text_quote(json_string_value(was), out);
			return true;
		}
	return false;
}

static void alter_back(const json_t *subject, const json_t *args, const char *name, struct strbuf *out)
{
	const json_t *job = json_object_get(subject, "job");
	const char *key;
	json_t *asked;
	bool all = job != NULL;

	strbuf_puts(out, "qalter");
	json_object_foreach((json_t *)args, key, asked)
	{
		if (strcmp(key, "ids") != 0 && strcmp(key, "filter") != 0)
			all = all && option_back(key, json_object_get(job, key), asked, out);
	}
	strbuf_puts(out, " ");
	text_quote(name, out);
	if (!all)
		strbuf_clear(out);
}

/* ---- records ---- */

/* Writes the arguments in readable form: "holds=u". */
static void asked_write(const json_t *args, struct strbuf *out)
{
	const char *key;
	json_t *v;

	json_object_foreach((json_t *)args, key, v)
	{
		char *text = json_is_string(v) ? NULL : json_dumps(v, JSON_ENCODE_ANY | JSON_COMPACT);
		if (strcmp(key, "ids") != 0 && strcmp(key, "filter") != 0)
			strbuf_printf(out, "%s%s=%.200s", out->n ? ", " : "", key, text ? text : json_string_value(v));
		free(text);
	}
}

void audit_job_end(struct change *c, const struct action_kind *kind, uint32_t id, const char *name, const json_t *args,
		   const struct audit_job *b)
{
	struct server *s = c->s;
	const struct entry *e = entry_get(s, id);
	struct strbuf text = {0}, undo = {0}, change = {0};
	bool resumes = false;

	if (!name) {
		entry_id(s, id, &text);
		name = text.text;
	}
	if (strcmp(kind->name, "hold") == 0)
		holds_back(e->holds & (uint8_t)~b->holds, "qrls", name, &undo);
	else if (strcmp(kind->name, "release") == 0)
		holds_back(b->holds & (uint8_t)~e->holds, "qhold", name, &undo);
	else if (strcmp(kind->name, "move") == 0) {
		strbuf_printf(&undo, "qmove %s ", word_text(s, b->queue));
		text_quote(name, &undo);
	} else if (strcmp(kind->name, "alter") == 0)
		alter_back(b->subject, args, name, &undo);
	else if (strcmp(kind->name, "signal") == 0) {
		const char *signal = json_string_value(json_object_get(args, "signal"));
		resumes = signal && strcasecmp(signal, "resume") == 0;
		if (resumes || (signal && strcasecmp(signal, "suspend") == 0))
			strbuf_printf(&undo, "qsig -s %s %s", resumes ? "suspend" : "resume", name);
	}
	if (e->spec)
		strbuf_printf(&change, "of %s", word_text(s, e->spec->owner));
	asked_write(args, &change);
	audit_record(s, c->w, "job", name, kind->name, change.n ? change.text : NULL, undo.n ? undo.text : NULL);
	strbuf_fini(&text);
	strbuf_fini(&undo);
	strbuf_fini(&change);
}
