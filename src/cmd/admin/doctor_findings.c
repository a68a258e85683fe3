/*
 * doctor_findings.c - shared by the checks of `shunt doctor`: findings, answers of the API,
 * attributes.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/hostlist.h"
#include "base/mem.h"
#include "cmd/admin/doctor.h"
#include "cmd/lib/object.h"

/* ---- findings ---- */

static char *finding_format(const char *fmt, va_list args)
{
	char *text;

	if (vasprintf(&text, fmt, args) < 0)
		abort();
	return text;
}

void doctor_find(struct doctor *d, enum level level, const char *check, const char *advice, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vec_push(&d->findings, (struct finding){.level = level,
						.check = check,
						.what = finding_format(fmt, args),
						.advice = mem_strdup(advice)});
	va_end(args);
}

void doctor_fine(struct doctor *d, const char *check, const char *fmt, ...)
{
	va_list args;

	for (size_t i = 0; i < d->findings.n; i++)
		if (strcmp(d->findings.v[i].check, check) == 0)
			return;
	va_start(args, fmt);
	vec_push(&d->findings, (struct finding){.level = LEVEL_OK,
						.check = check,
						.what = finding_format(fmt, args),
						.advice = mem_strdup("")});
	va_end(args);
}

void doctor_collect(json_t *groups, enum level level, const char *advice, const char *name, const char *fmt, ...)
{
	json_t *g, *found = NULL;
	va_list args;
	size_t i;

	va_start(args, fmt);
	char *what = finding_format(fmt, args);
	va_end(args);
	json_array_foreach(groups, i, g)
	{
		if (strcmp(object_text(g, "what"), what) == 0)
			found = g;
	}
	if (!found) {
		found = json_pack("{s:s,s:s,s:i,s:[]}", "what", what, "advice", advice, "level", (int)level, "names");
		json_array_append_new(groups, found);
	}
	json_array_append_new(json_object_get(found, "names"), json_string(name));
	free(what);
}

void doctor_collected(struct doctor *d, const char *check, json_t *groups)
{
	json_t *g, *name;
	size_t i, k;

	json_array_foreach(groups, i, g)
	{
		VEC(char *) names = {0};
		struct strbuf text = {0};
		json_array_foreach(json_object_get(g, "names"), k, name)
			vec_push(&names, (char *)json_string_value(name));
		hostlist_format(names.v, names.n, &text);
		doctor_find(d, (enum level)object_number(g, "level", 0), check, object_text(g, "advice"), "%s: %s",
			    strbuf_text(&text), object_text(g, "what"));
		strbuf_fini(&text);
		vec_free(&names);
	}
	json_decref(groups);
}

/* ---- answers ---- */

json_t *doctor_get(struct doctor *d, const char *path)
{
	struct reply r = {0};
	struct err err;
	json_t *answer = NULL;

	if (client_ask(d->client, "GET", path, NULL, 0, &r, &err) == 0)
		answer = json_incref(r.json);
	else if (strcmp(client_code(d->client), "forbidden") != 0)
		doctor_find(d, LEVEL_PROBLEM, "server",
			    "run 'shunt doctor' again; if this stays, look into the server's log", "GET %s failed: %s",
			    path, err.text);
	reply_fini(&r);
	return answer;
}

const json_t *doctor_attr(const json_t *of, const char *name)
{
	const json_t *v = json_object_get(json_object_get(of, "attributes"), name);

	return v ? v : json_object_get(json_object_get(of, "defaults"), name);
}

bool doctor_attr_is(const json_t *of, const char *name, bool value)
{
	const json_t *v = doctor_attr(of, name);

	return json_is_boolean(v) && json_is_true(v) == value;
}
