/*
 * show_internal.h - the fields of a job (job_fields.c), for what is made of them (show.c).
 */
#ifndef SERVER_SHOW_INTERNAL_H
#define SERVER_SHOW_INTERNAL_H

#include <jansson.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "base/schema.h"

struct array;
struct entry;
struct job;
struct server;
struct spec;

enum value_kind { VALUE_NULL, VALUE_INT, VALUE_BOOL, VALUE_TEXT, VALUE_JSON };

struct value {
	enum value_kind kind;
	int64_t number;
	const char *text; /* borrowed, or in `scratch` */
	struct strbuf scratch;
};

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

extern const struct field job_fields[]; /* each has get() */
extern const int job_nfields;

#endif
