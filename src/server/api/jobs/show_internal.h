/*
 * show_internal.h - the fields of a job (job_fields.c), for show.c, which formats them.
 */
#ifndef SERVER_SHOW_INTERNAL_H
#define SERVER_SHOW_INTERNAL_H

#include <jansson.h>
#include <stdint.h>

#include "base/codec.h"
#include "base/schema.h"
#include "base/strbuf.h"

struct array;
struct entry;
struct job;
struct server;
struct spec;

/* Source of a field's value: a job, or an array as a whole (then `id` is its first element). */
struct subject {
	const struct server *s;
	uint32_t id;
	const struct array *a; /* NULL: a job */
	const struct entry *e;
	const struct spec *p;
	const struct job *job;
	const json_t *body; /* may be NULL */
};

#define REASON_CODES "misfit|held|depend|time|retry|route|stopped|bound|limit|said|cpus|machines|nodes|turn"
/* Explain why a job waits (job_reason.c). The sentence is borrowed, or in `out`; as JSON it comes
 * with a code and its values. */
const char *job_reason_text(const struct subject *x, struct strbuf *out);
void job_reason_json(const struct subject *x, struct strbuf *out);

/* Returns the field after `f`, the first for NULL, and NULL after the last. */
const struct field *job_field_next(const struct field *f);
/* Returns true if the field is shown for single jobs only, since it needs the job's body. */
bool job_field_of_body(const struct field *f);
void job_field_get(const struct field *f, const struct subject *x, struct value *v);

#endif
