/*
 * submission_write.c - writes a job's description as a client would submit it: for hooks, other
 * sites, restarts and undoing.
 */
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "base/strbuf.h"
#include "core/jobschema.h"
#include "server/base/words.h"
#include "server/job/entry.h"
#include "server/job/jobs.h"
#include "server/job/spec.h"
#include "server/job/submission.h"
#include "server/server.h"

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

/* Returns the resources requested, in the form used with -l. */
static json_t *resources_of(const struct server *s, const struct spec *p, bool here)
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
	const struct entry *e = &s->jobs->entries.v[id];
	const struct spec *p = e->spec;
	struct strbuf holds = {0};
	json_t *o = json_deep_copy(body);

	submission_put(s, p, AT_SUBMIT, o);
	letters_format("uosn", e->holds, &holds); /* its current holds */
	json_object_set_new(o, "hold", json_string(strbuf_text(&holds)));
	strbuf_fini(&holds);
	submission_put_kind(p, o);
	json_object_set_new(o, "resources", resources_of(s, p, !(without & HERE)));
	if (p->rare->libra.estimate) {
		json_object_set_new(o, "estimate", json_integer(p->rare->libra.estimate));
		json_object_set_new(o, "budget", json_integer(p->rare->libra.budget));
	}
	for (const struct field *f = job_members; f->name; f++)
		if (f->in & without && f->in & (AT_SUBMIT | IN_BODY))
			json_object_del(o, f->name);
	return o;
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
