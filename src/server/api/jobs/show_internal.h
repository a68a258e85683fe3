/*
 * show_internal.h - the fields of a job (job_fields.c), for what is made of them (show.c).
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

/* What a field is taken from: a job, or an array as a whole (then `id` is its first element). */
struct subject {
	const struct server *s;
	uint32_t id;
	const struct array *a; /* NULL: a job */
	const struct entry *e;
	const struct spec *p;
	const struct job *job;
	const json_t *body; /* or NULL */
};

/* Why a job waits (job_reason.c). The sentence is borrowed, or in `out`; as JSON it comes with a word for it, and its values. */
const char *job_reason_text(const struct subject *x, struct strbuf *out);
void job_reason_json(const struct subject *x, struct strbuf *out);

const struct field *job_field_next(const struct field *f); /* NULL: the first; the last has none behind it */
bool job_field_of_body(const struct field *f);		   /* only of one job, since it needs the job's body */
void job_field_get(const struct field *f, const struct subject *x, struct value *v);

#endif
