/*
 * show.c - formats jobs as JSON, lists of chosen fields and tab-separated rows, all from the same
 * table (job_fields.c).
 */
#include "server/api/jobs/show.h"

#include <errno.h>
#include <jansson.h>
#include <stdint.h>
#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "server/api/jobs/show_internal.h"
#include "server/job/entry.h"
#include "server/job/jobs.h"
#include "server/server.h"
#include "server/site/who.h"

#define FIELDS_MOST ((int)(sizeof((struct field_list *)NULL)->v / sizeof(const struct field *)))

static const struct field *field_named(const char *name, size_t n)
{
	const struct field *f = job_field_next(NULL);

	while (f && (strncmp(f->name, name, n) != 0 || f->name[n]))
		f = job_field_next(f);
	return f;
}

int show_fields_parse(const char *text, struct field_list *ret, struct err *err)
{
	*ret = (struct field_list){0};
	if (!text) {
		for (const struct field *f = job_field_next(NULL); f; f = job_field_next(f))
			if (!job_field_of_body(f))
				ret->v[ret->n++] = f;
		return 0;
	}
	for (const char *p = text; *p;) {
		size_t n = strcspn(p, ",");
		const struct field *f = field_named(p, n);
		if (!f)
			return err_set(err, -EINVAL, "a job has no field \"%.*s\"", n > 40 ? 40 : (int)n, p);
		if (ret->n >= FIELDS_MOST)
			return err_set(err, -EINVAL, "too many fields: at most %d", FIELDS_MOST);
		ret->whole |= job_field_of_body(f);
		ret->v[ret->n++] = f;
		p += n + (p[n] == ',');
	}
	return ret->n ? 0 : err_set(err, -EINVAL, "fields is empty");
}

void show_fields_describe(struct field_list *ret)
{
	for (const struct field *f = job_field_next(NULL); f; f = job_field_next(f))
		if (!f->get && !job_field_of_body(f))
			ret->v[ret->n++] = f;
}

static struct subject subject_of(const struct server *s, uint32_t id, const struct array *a, const json_t *body)
{
	return (struct subject){
		.s = s,
		.id = id,
		.a = a,
		.e = entry_get(s, id),
		.p = a ? a->spec : entry_get(s, id)->spec,
		.job = entry_job(s, id),
		.body = body,
	};
}

void show_members(const struct server *s, struct json *j, uint32_t id, const struct array *a,
		  const struct field_list *f, const json_t *body)
{
	struct subject x = subject_of(s, id, a, body);
	struct value v = {0};

	for (int i = 0; i < f->n; i++) {
		job_field_get(f->v[i], &x, &v);
		if (v.kind != VALUE_NULL || !f->sparse)
			value_write(&v, f->v[i]->name, j);
	}
	strbuf_fini(&v.scratch);
}

void show_whole(struct field_list *ret)
{
	*ret = (struct field_list){0};
	for (const struct field *f = job_field_next(NULL); f; f = job_field_next(f))
		ret->v[ret->n++] = f;
}

static void escape(struct strbuf *out, const char *text)
{
	char *p = strbuf_room(out, 2 * strlen(text)); /* byte by byte: most texts are short */

	for (; *text; text++) {
		char c = *text;
		if (c == '\t' || c == '\n' || c == '\\') {
			*p++ = '\\';
			c = (char)(c == '\t' ? 't' : c == '\n' ? 'n' : c);
		}
		*p++ = c;
	}
	*p = '\0';
	out->n = (size_t)(p - out->text);
}

void show_row(const struct server *s, struct strbuf *out, uint32_t id, const struct array *a,
	      const struct field_list *f, struct strbuf *scratch)
{
	struct subject x = subject_of(s, id, a, NULL);
	struct value v = {.scratch = *scratch};

	for (int i = 0; i < f->n; i++) {
		job_field_get(f->v[i], &x, &v);
		if (i)
			strbuf_char(out, '\t');
		if (v.kind == VALUE_INT || v.kind == VALUE_BOOL)
			strbuf_int(out, v.number);
		else if (v.kind != VALUE_NULL)
			escape(out, v.text);
	}
	strbuf_char(out, '\n');
	*scratch = v.scratch;
}

/* Removes qsub's arguments, which are as private as the environment: -v is among them. */
void show_close(const struct server *s, const struct asker *w, uint32_t id, json_t *body)
{
	if (!asker_may(s, w, ACT_READ, entry_get(s, id)->spec))
		json_object_del(body, "submit_args");
}
