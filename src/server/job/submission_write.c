/*
 * submission_write.c - writes a job's description as a client would submit it: for hooks, other
 * sites, restarts and undoing.
 */
#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/err.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/timetext.h"
#include "core/jobschema.h"
#include "server/base/words.h"
#include "server/job/body.h"
#include "server/job/entry.h"
#include "server/job/jobs.h"
#include "server/job/spec.h"
#include "server/job/submission.h"
#include "server/server.h"
#include "store/store.h"

void submission_put(const struct server *s, const struct spec *p, uint32_t in, json_t *o)
{
	struct value v = {0};

	for (const struct field *f = job_members; f->name; f++)
		if (f->in & in && f->in & AT_SUBMIT && f->form != FORM_NONE) {
			field_get(f, spec_part(p, f), s->words, &v);
			if (v.kind != VALUE_NULL)
				json_object_set_new(o, f->name, value_json(&v));
		}
	strbuf_fini(&v.scratch);
}

json_t *submission_resources(const struct server *s, const struct spec *p, bool here)
{
	json_t *list = json_array();

	if (p->resources)
		json_array_append_new(list, json_string(word_text(s, p->resources)));
	json_array_append_new(list, json_sprintf("walltime=%lld", (long long)p->walltime));
	if (p->qos && here)
		json_array_append_new(list, json_sprintf("qos=%s", word_text(s, p->qos)));
	if (p->reservation && here)
		json_array_append_new(list, json_sprintf("advres=%s", word_text(s, p->reservation)));
	return list;
}

json_t *as_submission(struct server *s, uint32_t id, const json_t *body, uint32_t without)
{
	const struct entry *e = entry_get(s, id);
	const struct spec *p = e->spec;
	struct strbuf holds = {0};
	json_t *o = json_deep_copy(body);

	submission_put(s, p, AT_SUBMIT, o);
	letters_format(JOB_HOLDS, e->holds, &holds); /* its current holds */
	json_object_set_new(o, "hold", json_string(strbuf_text(&holds)));
	strbuf_fini(&holds);
	submission_put_kind(p, o);
	json_object_set_new(o, "resources", submission_resources(s, p, !(without & HERE)));
	if (p->rare->libra.estimate) {
		json_object_set_new(o, "estimate", json_integer(p->rare->libra.estimate));
		json_object_set_new(o, "budget", json_integer(p->rare->libra.budget));
	}
	for (const struct field *f = job_members; f->name; f++)
		if (f->in & without && f->in & (AT_SUBMIT | IN_BODY))
			json_object_del(o, f->name);
	return o;
}

/* Returns true if two items of -l, each NAME=VALUE, are about the same: -l ncpus replaces nodes. */
static bool same_resource(const char *a, const char *b)
{
	static const char *const places[] = {"nodes", "ncpus", "procs", "select"};
	size_t n = strcspn(a, "="), m = strcspn(b, "=");
	int found = 0;

	for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
		size_t k = strlen(places[i]);
		found += (n == k && strncmp(a, places[i], k) == 0) + (m == k && strncmp(b, places[i], k) == 0);
	}
	return found == 2 || (n == m && strncmp(a, b, n) == 0);
}

/* Returns the item of a list that is about the same as `item`; NULL: none is. */
static const char *item_find(const char *list, const char *item)
{
	for (const char *at = list; *at; at += strcspn(at, ","), at += *at == ',')
		if (same_resource(item, at))
			return at;
	return NULL;
}

/* Appends the items of `old` that no item of `given` replaces. */
static void items_keep(const char *old, const char *given, struct strbuf *out)
{
	char *text = mem_strdup(old), *rest = text, *item;

	while ((item = strsep(&rest, ",")))
		if (*item && !item_find(given, item))
			strbuf_printf(out, "%s%s", out->n ? "," : "", item);
	free(text);
}

/* Appends a given item. A value such as x2 multiplies the old one: 90 (seconds), 1:30:00, 4gb. */
static int item_put(const char *item, const char *old, struct strbuf *out, struct err *err)
{
	size_t name = strcspn(item, "=");
	char *end = NULL, value[64];
	double factor = item[name] && item[name + 1] == 'x' ? strtod(item + name + 2, &end) : 0;
	const char *was = item_find(old, item);
	int64_t seconds;

	strbuf_puts(out, out->n ? "," : "");
	if (!end || end == item + name + 2 || *end) {
		strbuf_puts(out, item);
		return 0;
	}
	if (!(factor > 0 && factor <= 1000))
		return err_set(err, -EINVAL, "%.60s: the factor is above 0 and at most 1000", item);
	if (!was || strncmp(was, item, name + 1) != 0)
		return err_set(err, -EINVAL, "%.60s: the job was submitted without %.*s", item, (int)name, item);
	snprintf(value, sizeof value, "%.*s", (int)strcspn(was + name + 1, ","), was + name + 1);
	if (strchr(value, ':') && duration_parse(value, &seconds, NULL) == 0)
		snprintf(value, sizeof value, "%lld", (long long)seconds);

	long long amount = strtoll(value, &end, 10);

	if (end == value || amount < 0 || amount > INT64_MAX / 1000)
		return err_set(err, -EINVAL, "%.60s: the old value, %.60s, is not a number", item, value);
	strbuf_printf(out, "%.*s%lld%s", (int)name + 1, item, (long long)((double)amount * factor + 0.5), end);
	return 0;
}

static int items_put(const char *given, const char *old, struct strbuf *out, struct err *err)
{
	char *text = mem_strdup(given), *rest = text, *item;
	int rc = 0;

	while (rc == 0 && (item = strsep(&rest, ",")))
		if (*item)
			rc = item_put(item, old, out, err);
	free(text);
	return rc;
}

static void texts_join(const json_t *list, struct strbuf *out)
{
	const json_t *one;
	size_t i;

	json_array_foreach((json_t *)list, i, one) if (json_is_string(one))
		strbuf_printf(out, "%s%s", out->n ? "," : "", json_string_value(one));
}

int submission_update(json_t *job, json_t *changes, struct err *err)
{
	json_t *old = json_incref(json_object_get(job, "resources"));
	const json_t *given = json_object_get(changes, "resources");
	struct strbuf before = {0}, after = {0}, all = {0};
	int rc = 0;

	if (json_object_get(changes, "script") || json_object_get(changes, "script_base64")) {
		json_object_del(job, "script");
		json_object_del(job, "script_base64");
	}
	json_object_update(job, changes);
	if (json_is_array(given)) { /* otherwise submission_read() reports the error */
		texts_join(old, &before);
		texts_join(given, &after);
		items_keep(strbuf_text(&before), strbuf_text(&after), &all);
		rc = items_put(strbuf_text(&after), strbuf_text(&before), &all, err);
		json_object_set_new(job, "resources", json_pack("[s]", strbuf_text(&all)));
	}
	strbuf_fini(&before);
	strbuf_fini(&after);
	strbuf_fini(&all);
	json_decref(old);
	return rc;
}

int submission_whole(struct server *s, uint32_t id, uint32_t without, json_t **ret, struct err *err)
{
	const struct entry *e = entry_get(s, id);
	json_t *body = NULL, *script;
	struct strbuf coded = {0};
	char *text = NULL;
	size_t n;
	int rc = body_read(s, id, &body, err);

	if (rc == 0)
		rc = store_get_script(s->store, e->spec->script, &text, &n, err);
	if (rc == 0) {
		*ret = as_submission(s, id, body, without);
		if (job_key_index(e->key) >= 0)
			json_object_set_new(*ret, "array", json_sprintf("%lld", (long long)job_key_index(e->key)));
		script = memchr(text, '\0', n) ? NULL : json_stringn(text, n); /* NULL: not UTF-8 */
		if (!script)
			base64_encode(text, n, &coded);
		json_object_set_new(*ret, script ? "script" : "script_base64",
				    script ? script : json_string(strbuf_text(&coded)));
	}
	strbuf_fini(&coded);
	free(text);
	json_decref(body);
	return rc;
}

void submission_brief(const struct server *s, const struct spec *p, struct json *j)
{
	struct value v = {0};
	struct strbuf walltime = {0};

	for (const struct field *f = job_members; f->name; f++)
		if (f->in & BRIEF) {
			field_get(f, spec_part(p, f), s->words, &v);
			value_write(&v, f->name, j);
		}
	strbuf_fini(&v.scratch);
	strbuf_printf(&walltime, "walltime=%lld", (long long)p->walltime);
	json_open_array(j, "resources");
	json_text(j, NULL, word_text(s, p->resources));
	json_text(j, NULL, walltime.text);
	json_close_array(j);
	strbuf_fini(&walltime);
}
