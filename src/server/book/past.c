/*
 * past.c - see past.h.
 */
#include "server/book/past.h"

#include <assert.h>
#include <jansson.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/codec.h"
#include "base/json.h"
#include "base/jsonread.h"
#include "base/strbuf.h"
#include "core/jobschema.h"
#include "core/spec.h"

#define HAS(member) MEMBER(struct history_row, member)

const struct field past_members[] = {
	{"id", .is = REQUIRED | IS_TEXT, .in = AS_ROW | AS_JOB, HAS(id)},
	{"attempt", .is = REQUIRED | IS_INT, "0: it ended while it waited", .in = AS_ROW | AS_JOB, HAS(attempt)},
	{"last", .is = REQUIRED | IS_BOOL, "false: another attempt followed", .in = AS_ROW, HAS(last)},
	{"name", .is = REQUIRED | IS_TEXT, .in = AS_ROW | AS_JOB, HAS(name)},
	{"owner", .is = REQUIRED | IS_TEXT, .in = AS_ROW | AS_JOB, HAS(user)},
	{"group", .is = REQUIRED | IS_TEXT, .in = AS_ROW, HAS(group)},
	{"account", .is = REQUIRED | IS_TEXT | IS_NULL, .in = AS_ROW | AS_JOB, HAS(account)},
	{"project", .is = REQUIRED | IS_TEXT | IS_NULL, .in = AS_ROW | AS_JOB, HAS(project)},
	{"qos", .is = REQUIRED | IS_TEXT | IS_NULL, .in = AS_ROW | AS_JOB, HAS(qos)},
	{"queue", .is = REQUIRED | IS_TEXT, .in = AS_ROW | AS_JOB, HAS(queue)},
	{"state", .is = REQUIRED | IS_TEXT, .words = HISTORY_STATES, .in = AS_ROW, HAS(state)},
	{"exit_status", .is = REQUIRED | IS_INT, .in = AS_ROW | AS_JOB, HAS(exit_status)},
	{"submitted", .is = REQUIRED | IS_INSTANT, .in = AS_ROW, HAS(submitted)},
	{"created", .is = REQUIRED | IS_INSTANT, .in = AS_JOB, HAS(submitted)},
	{"queued", .is = REQUIRED | IS_INSTANT, .in = AS_JOB, HAS(submitted)},
	{"started", .is = REQUIRED | IS_INSTANT | IS_NULL, .in = AS_ROW | AS_JOB, HAS(started)},
	{"ended", .is = REQUIRED | IS_INSTANT, .in = AS_ROW | AS_JOB, HAS(ended)},
	{"modified", .is = REQUIRED | IS_INSTANT, .in = AS_JOB, HAS(ended)},
	{"resources", .is = REQUIRED | IS_TEXT, .in = AS_ROW | AS_JOB, HAS(resources)},
	{"hosts", .is = REQUIRED | IS_TEXT | IS_NULL, .in = AS_ROW, HAS(hosts)},
	{"exec_host", .is = REQUIRED | IS_TEXT | IS_NULL, .in = AS_JOB, HAS(hosts)},
	{"nodes", .is = REQUIRED | IS_INT, .in = AS_ROW, HAS(nodes)},
	{"nodect", .is = REQUIRED | IS_INT, .in = AS_JOB, HAS(nodes)},
	{"cpus", .is = REQUIRED | IS_INT, .in = AS_ROW | AS_JOB, HAS(cpus)},
	{"gpus", .is = REQUIRED | IS_INT, .in = AS_ROW, HAS(gpus)},
	{"gpus", .is = REQUIRED | IS_INT | IS_NULL, .in = AS_JOB, HAS(gpus)},
	{"memory_kib", .is = REQUIRED | IS_INT, "requested; 0: nothing was said", .in = AS_ROW, HAS(memory_kib)},
	{"memory", .is = REQUIRED | IS_INT | IS_NULL, .in = AS_JOB, HAS(memory_kib)},
	{"walltime", .is = REQUIRED | IS_INT, "requested", .in = AS_ROW | AS_JOB, HAS(walltime)},
	{"ran_ms", .is = REQUIRED | IS_INT, .in = AS_ROW, HAS(ran_ms)},
	{"cpu_ms", .is = REQUIRED | IS_INT, .in = AS_ROW, HAS(cpu_ms)},
	{"peak_kib", .is = REQUIRED | IS_INT, "the most memory that it had at once", .in = AS_ROW, HAS(peak_kib)},
	{"lost_ms", .is = REQUIRED | IS_INT, "of ran_ms: what was in no checkpoint when it was stopped", .in = AS_ROW,
	 HAS(lost_ms)},
	{"comment", .is = REQUIRED | IS_TEXT | IS_NULL, .in = AS_ROW | AS_JOB, HAS(text)},
	{0},
};

void past_pairs_find(struct past_pairs *ret)
{
	ret->n = 0;
	for (const struct field *f = job_members; f->name; f++) {
		if (!(f->in & IN_HISTORY))
			continue;
		const struct field *to = field_find(past_members, 0, f->name, NULL);
		assert(to && (to->form == FORM_LENT || to->form == FORM_I64));
		assert(ret->n < (int)(sizeof ret->v / sizeof *ret->v));
		ret->v[ret->n].from = f;
		ret->v[ret->n++].to = to;
	}
}

void past_describe(const struct past_pairs *pairs, struct history_row *row, const struct spec *p,
		   const struct names *words)
{
	for (int i = 0; i < pairs->n; i++) {
		const struct field *f = pairs->v[i].from, *to = pairs->v[i].to;
		void *at = (char *)row + to->at;
		if (to->form == FORM_I64) {
			*(int64_t *)at = field_number(f, spec_part(p, f));
		} else {
			const char *text = field_text(f, spec_part(p, f), words);
			*(const char **)at = text || to->is & IS_NULL ? text : "";
		}
	}
}

/* ---- members without a column ---- */

const struct schema past_more = {.fields = job_members, .in = IN_MORE};

const char *past_more_store(const struct spec *p, const struct names *words, struct strbuf *out)
{
	struct json j;
	size_t empty;

	json_begin(&j, out);
	empty = out->n;
	for (const struct field *f = schema_next(&past_more, NULL); f; f = schema_next(&past_more, f))
		field_store(f, spec_part(p, f), words, &j);
	if (out->n == empty)
		return NULL;
	json_close_object(&j);
	return out->text;
}

void past_more_show(const struct history_row *row, struct json *j)
{
	json_t *members = row->members ? json_read(row->members, strlen(row->members), 0, NULL) : NULL;

	for (const struct field *f = schema_next(&past_more, NULL); f; f = schema_next(&past_more, f)) {
		const json_t *value = json_object_get(members, f->name);
		char *text = value ? json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
		if (text)
			json_raw(j, f->name, text);
		else
			json_text(j, f->name, NULL);
		free(text);
	}
	json_decref(members);
}
