/*
 * submitted.c - see submitted.h.
 */
#include "server/api/jobs/submitted.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/amount.h"
#include "base/codec.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/timetext.h"
#include "core/cluster.h"
#include "core/job.h"
#include "core/res.h"
#include "net/http.h"
#include "rules/attr.h"
#include "server/api/frame/request.h"
#include "server/api/frame/schemas.h"
#include "server/base/asker.h"
#include "server/base/clock.h"
#include "server/base/instance.h"
#include "server/base/post.h"
#include "server/base/words.h"
#include "server/book/quotas.h"
#include "server/job/entry.h"
#include "server/job/jobs.h"
#include "server/job/keys.h"
#include "server/job/spec.h"
#include "server/job/submission.h"
#include "server/node/nodes.h"
#include "server/server.h"
#include "server/settings/remotes.h"

/* Argument of the getters in this file: the first member of what is shown of a new job. */
struct subject {
	struct server *s;
	const struct spec *p; /* NULL: the job has been forgotten */
	const char *warning;  /* may be NULL */
};

/* Warns if a job requests more memory than the machine has for a virtual node, whose memory is
 * whatever the configuration says. */
static void memory_warn(const struct server *s, const struct spec *p, struct json *j)
{
	const struct request *r = spec_asked(s, p);
	int64_t real, most = 0, nodes = 0;
	char need[32], share[32], text[200];

	for (uint32_t i = 0; i < r->nfrags; i++) {
		int64_t n = s->cluster->shapes.v[r->frag[i].shape].need.v[RES_MEM];
		most = n > most ? n : most;
	}
	/* the usual case; the rest takes a system call and a pass over all nodes */
	if (s->instance->real || most == 0 || queue_is_remote(word_text(s, p->queue)))
		return;
	real = (int64_t)sysconf(_SC_PHYS_PAGES) * (sysconf(_SC_PAGESIZE) / 1024);
	for (size_t i = 0; i < s->hosts->nodes.n; i++)
		nodes += !node_joined(&s->hosts->nodes.v[i].life);
	if (nodes == 0 || most <= real / nodes)
		return;
	snprintf(text, sizeof text,
		 "it requests %s of memory on one node, but the share of a virtual node of this machine is %s",
		 memory_format(most, need, sizeof need),
		 memory_format(real / nodes / 1024 * 1024, share, sizeof share));
	json_text(j, NULL, text);
}

static void warnings_inside(const struct subject *x, struct json *j)
{
	char low[200];

	if (!x->p)
		return;
	memory_warn(x->s, x->p, j);
	if (x->warning)
		json_text(j, NULL, x->warning);
	if (quotas_low(x->s, x->p, low, sizeof low))
		json_text(j, NULL, low);
}

struct submitted {
	struct subject x;
	const char *id;
	uint64_t number;
	int16_t guaranteed; /* -1: it has no deadline */
	int64_t planned, patience;
};

static const struct schema submitted = {
	"Submitted",
	FIELDS({"id", .is = REQUIRED | IS_TEXT, .example = "12.host", MEMBER(struct submitted, id)},
	       {"number", .is = REQUIRED | IS_INT, MEMBER(struct submitted, number)},
	       {"guaranteed", .is = REQUIRED | IS_BOOL | IS_NULL, "null without a deadline", .missing = -1,
		MEMBER(struct submitted, guaranteed)},
	       {"planned_start", .is = REQUIRED | IS_INSTANT | IS_NULL, MEMBER(struct submitted, planned)},
	       {"patience", .is = SPARSE | IS_INT, "of an interactive job: seconds for which it waits for its terminal",
		.missing = -1, MEMBER(struct submitted, patience)},
	       {"warnings", .is = REQUIRED | IS_LIST, .item = IS_TEXT, .inside = warnings_inside})};
static const struct schema all_submitted = {
	FIELDS({"jobs", .is = REQUIRED | IS_LIST, .of = &submitted, .item = IS_OBJECT})};
const struct schema submitted_answer = {.base = &submitted, .either = &all_submitted};

void submitted_write(struct server *s, struct json *j, uint64_t number, const char *warning)
{
	struct array *a = array_find(s, number);
	struct strbuf id = {0};
	uint32_t first = a ? a->first : 0;
	const struct job *job;
	const struct spec *p;

	if (!a)
		entry_find(s, number, -1, &first);
	if (a)
		array_id(s, a, &id);
	else
		entry_id(s, first, &id);
	job = entry_job(s, first);
	p = entry_get(s, first)->spec;
	schema_show(&submitted, NULL,
		    &(struct submitted){
			    .x = {s, p, warning},
			    .id = id.text,
			    .number = number,
			    .guaranteed = job->deadline == TIME_NEVER || job->interactive ? -1 : job->guaranteed,
			    .planned = job->state == STATE_ALLOCATED ? job->start : TIME_NEVER,
			    .patience = p->interactive ? attrs_number(s->attrs, SET_INTERACTIVE_GRACE) : -1,
		    },
		    NULL, j);
	strbuf_fini(&id);
}

void forgotten_write(const struct server *s, struct json *j, uint64_t number, bool array)
{
	char id[512];

	snprintf(id, sizeof id, "%llu%s.%s", (unsigned long long)number, array ? "[]" : "", s->instance->name);
	schema_show(&submitted, NULL, &(struct submitted){.id = id, .number = number, .guaranteed = -1, .patience = -1},
		    NULL, j);
}

const struct submission_key *submitted_find(struct server *s, const struct asker *w, const char *key)
{
	return subkey_find(s, w->by == BY_SITE ? SUBKEY_SITE : w->uid, key);
}

bool submit_repeats(struct server *s, struct http_request *r, const struct asker *w)
{
	const char *path = request_path(r), *rest = strncmp(path, "/v1/jobs", 8) == 0 ? path + 8 : "/";
	bool submits = !*rest || (strlen(rest) > 6 && strcmp(rest + strlen(rest) - 6, "/again") == 0);
	char key[KEY_MAX + 1];

	return strcmp(request_method(r), "POST") == 0 && submits && subkey_given(r, key, NULL) > 0 &&
	       submitted_find(s, w, key);
}

void submitted_again(struct server *s, struct http_request *r, const struct submission_key *k, bool bulk)
{
	struct strbuf out = {0};
	struct json j;

	if (k->lasting && k->count == 0) {
		http_error(r, CODE_REFUSED, "The site that sent this job has withdrawn it.");
		return;
	}
	/* a site sends the job in its current state, so its body may differ */
	if (!k->lasting && k->print != request_print(r)) {
		http_error(
			r, CODE_KEY_REUSED,
			"Idempotency-Key: you have sent this key with another request: use a new key for each submission.");
		return;
	}
	json_init(&j, &out, false);
	if (bulk) {
		json_open_object(&j, NULL);
		json_open_array(&j, "jobs");
	}
	for (uint32_t i = 0; i < k->count; i++) {
		const struct array *a = array_find(s, k->first + i);
		uint32_t id;
		if ((a && a->count && entry_get(s, a->first)->spec) || (!a && entry_find(s, k->first + i, -1, &id)))
			submitted_write(s, &j, k->first + i, NULL);
		else
			forgotten_write(s, &j, k->first + i, k->arrays && k->arrays[i] == 'a');
	}
	if (bulk) {
		json_close_array(&j);
		json_close_object(&j);
	}
	http_header(r, "Idempotency-Replayed", "true");
	reply_later(s, r, 200, &out);
}

void submitted_key(struct server *s, struct http_request *r, const struct asker *w, const char *key,
		   const struct submission *x, size_t n, uint64_t first)
{
	struct submission_key k = {.first = first,
				   .count = (uint32_t)n,
				   .time = s->clock->now,
				   .print = request_print(r),
				   .lasting = w->by == BY_SITE};
	bool arrays = false;

	for (size_t i = 0; i < n; i++)
		arrays |= x[i].spec->array;
	if (arrays) {
		k.arrays = mem_zalloc(n + 1);
		for (size_t i = 0; i < n; i++)
			k.arrays[i] = x[i].spec->array ? 'a' : 'j';
	}
	subkey_add(s, w->uid, key, &k);
	free(k.arrays);
}
