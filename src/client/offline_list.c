/*
 * offline_list.c - lists jobs as the server would: selects rows and fields, as JSON or lines.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/members.h"
#include "base/strbuf.h"
#include "client/offline.h"

/* A parsed query; texts are decoded. */
struct selection {
	char *ids, *user, *queue, *state, *name, *completed, *fields;
	/* with ids: an object with the wanted ids, without the server's name, as keys */
	json_t *wanted;
};

static void selection_read(const char *query, struct selection *x)
{
	const struct {
		const char *name;
		char **to;
	} known[] = {{"ids", &x->ids},	 {"user", &x->user},	       {"queue", &x->queue},  {"state", &x->state},
		     {"name", &x->name}, {"completed", &x->completed}, {"fields", &x->fields}};

	for (const char *p = query; *p;) {
		size_t n = strcspn(p, "&"), k = strcspn(p, "=");
		for (size_t i = 0; i < sizeof known / sizeof *known && k < n; i++)
			if (strlen(known[i].name) == k && strncmp(known[i].name, p, k) == 0 && !*known[i].to)
				*known[i].to = url_unquote(p + k + 1, n - k - 1);
		p += n + (p[n] == '&');
	}
}

static void selection_fini(struct selection *x)
{
	free(x->ids);
	json_decref(x->wanted);
	free(x->user);
	free(x->queue);
	free(x->state);
	free(x->name);
	free(x->completed);
	free(x->fields);
}

static bool in_list(const char *list, const char *word, size_t n)
{
	for (const char *p = list; *p;) {
		size_t k = strcspn(p, ",");
		if (k == n && strncmp(p, word, n) == 0)
			return true;
		p += k + (p[k] == ',');
	}
	return false;
}

static json_t *ids_read(const char *list)
{
	json_t *all = json_object();

	for (const char *p = list; *p;) {
		size_t n = strcspn(p, ",");
		char *id = strndup(p, strcspn(p, ",."));
		json_object_set_new(all, id, json_true());
		free(id);
		p += n + (p[n] == ',');
	}
	return all;
}

static bool is_selected(const struct selection *x, const char *key, const json_t *job)
{
	const char *state = member_text(job, "state"), *queue = member_text(job, "queue");

	if (x->wanted)
		return json_object_get(x->wanted, key) != NULL;
	if (x->user && !in_list(x->user, member_text(job, "owner"), strlen(member_text(job, "owner"))))
		return false;
	if (x->queue && !in_list(x->queue, queue, strlen(queue)))
		return false;
	if (x->name && strcmp(x->name, member_text(job, "name")) != 0)
		return false;
	if (x->completed && strcmp(x->completed, "1") != 0 && *state == 'C')
		return false;
	return !x->state || (*state && strchr(x->state, *state));
}

static void cell_text(struct strbuf *out, const char *text)
{
	for (; *text; text++)
		if (*text == '\t' || *text == '\n' || *text == '\\')
			strbuf_puts(out, *text == '\t' ? "\\t" : *text == '\n' ? "\\n" : "\\\\");
		else
			strbuf_add(out, text, 1);
}

static void cell_write(struct strbuf *out, const json_t *value)
{
	char *text;

	if (json_is_string(value)) {
		cell_text(out, json_string_value(value));
	} else if (json_is_integer(value)) {
		strbuf_printf(out, "%lld", (long long)json_integer_value(value));
	} else if (json_is_boolean(value)) {
		strbuf_puts(out, json_is_true(value) ? "1" : "0");
	} else if (value && !json_is_null(value) && (text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY))) {
		cell_text(out, text);
		free(text);
	}
}

static void row_write(struct strbuf *out, const json_t *job, const char *fields)
{
	char name[64];

	for (const char *p = fields; *p;) {
		size_t n = strcspn(p, ",");
		snprintf(name, sizeof name, "%.*s", (int)n, p);
		cell_write(out, json_object_get(job, name));
		p += n;
		strbuf_puts(out, *p ? "\t" : "\n");
		p += *p == ',';
	}
}

/* Returns a job of the answer; unknown fields are null. */
static json_t *object_select(json_t *job, const char *fields)
{
	char name[64];

	if (!fields)
		return json_incref(job);
	json_t *some = json_object();
	for (const char *p = fields; *p;) {
		size_t n = strcspn(p, ",");
		snprintf(name, sizeof name, "%.*s", (int)n, p);
		json_t *value = json_object_get(job, name);
		json_object_set_new(some, name, value ? json_incref(value) : json_null());
		p += n + (p[n] == ',');
	}
	return some;
}

int offline_list(const json_t *jobs, const char *query, bool tsv, struct strbuf *out, json_t **ret_json,
		 struct err *err)
{
	struct selection x = {0};
	json_t *list = json_array(), *job;
	const char *key;

	selection_read(query, &x);
	x.wanted = x.ids ? ids_read(x.ids) : NULL;
	if (tsv && !x.fields)
		x.fields = mem_strdup("id");
	json_object_foreach((json_t *)jobs, key, job)
	{
		if (!is_selected(&x, key, job))
			continue;
		if (tsv)
			row_write(out, job, x.fields);
		else
			json_array_append_new(list, object_select(job, x.fields));
	}
	json_t *answer = json_pack("{s:o, s:n}", "jobs", list, "next");
	char *text = tsv ? NULL : json_dumps(answer, JSON_COMPACT);
	if (text)
		strbuf_puts(out, text);
	free(text);
	*ret_json = tsv ? NULL : json_incref(answer);
	json_decref(answer);
	selection_fini(&x);
	return 0;
}
