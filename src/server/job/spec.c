/*
 * spec.c - a job as it was submitted: made, copied, and what it asks for in the cluster as it is now.
 *
 * What the server keeps in memory of a job is the spec, stored as its `head`; environment, paths and arguments are the `body`, which only the
 * store has until the job starts.
 */
#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/slab.h"
#include "base/strbuf.h"
#include "core/cluster.h"
#include "core/jobschema.h"
#include "core/kind.h"
#include "core/reqtext.h"
#include "plan/pack.h"
#include "plan/plan.h"
#include "rules/admit.h"
#include "rules/amounts.h"
#include "rules/attr.h"
#include "rules/partition.h"
#include "server/base/words.h"
#include "server/job/jobs.h"
#include "server/job/spec.h"
#include "server/node/nodes.h"
#include "server/server.h"
#include "server/settings/remotes.h"

static const struct spec_rare nothing_rare;
static struct slab specs; /* of all servers of this process: lists read them one after the other */

static size_t spec_size(const char *name)
{
	return sizeof(struct spec) + strlen(name) + 1;
}

struct spec *spec_create(const char *name)
{
	struct spec *p = slab_take(&specs, spec_size(name));

	p->refs = 1;
	p->rare = &nothing_rare;
	strcpy(p->name, name);
	return p;
}

struct spec_rare *spec_rare(struct spec *p)
{
	if (p->rare == &nothing_rare)
		p->rare = mem_zalloc(sizeof *p->rare);
	return (struct spec_rare *)p->rare;
}

void spec_unref(struct spec *p)
{
	if (!p || --p->refs)
		return;
	for (const struct field *f = job_members; f->name; f++)
		if (f->form == FORM_TEXT)
			free((char *)field_text(f, spec_part(p, f), NULL));
	if (p->rare != &nothing_rare)
		free((struct spec_rare *)p->rare);
	slab_give(&specs, p, spec_size(p->name));
}

/* Gives a copied record a text of its own. */
static void text_copy(const struct field *f, char *record)
{
	char **at = (char **)(void *)(record + f->at);

	*at = mem_strdup(*at);
}

struct spec *spec_copy_as(const struct spec *p, const char *name)
{
	struct spec *x = memcpy(slab_take(&specs, spec_size(name)), p, sizeof *p);

	strcpy(x->name, name);
	x->refs = 1;
	x->watchers = 0;
	x->array = false;
	x->array_text = NULL;
	if (p->rare != &nothing_rare) {
		x->rare = &nothing_rare;
		*spec_rare(x) = *p->rare;
	}
	for (const struct field *f = job_members; f->name; f++)
		if (f->form == FORM_TEXT && !field_missing(f, spec_part(x, f)))
			text_copy(f, (char *)spec_part(x, f));
	return x;
}

struct spec *spec_copy(const struct spec *p)
{
	return spec_copy_as(p, p->name);
}

int spec_read(struct server *s, const struct field *f, const json_t *value, struct spec *p, struct err *err)
{
	bool none = !value || json_is_null(value);
	void *record;

	if (f->in & RARE && none && field_missing(f, p->rare))
		return 0;
	record = f->in & RARE ? (void *)spec_rare(p) : p;
	if (!none)
		return field_read(f, value, record, s->words, err);
	if (f->form == FORM_TEXT)
		free((char *)field_text(f, record, NULL));
	field_reset(f, record);
	return 0;
}

bool asks_otherwise(const struct spec *a, const struct spec *b)
{
	return a->request != b->request || spec_differs(a, b, PLANNED);
}

/* ---- in the store ---- */

void spec_head(const struct server *s, const struct spec *p, struct strbuf *out)
{
	struct json j;

	json_init(&j, out, false);
	json_open_object(&j, NULL);
	spec_store(p, s->words, &j);
	json_close_object(&j);
}

/* The request in today's words, if it can be read: if the nodes have changed it is kept, and held (block_begin). */
static void resources_restore(struct server *s, struct spec *p)
{
	struct arena *a = arena_create();
	struct strbuf canonical = {0};
	struct reqtext text;
	struct err err;

	p->request = UINT32_MAX;
	if (spec_request(s, p, a, &text, &err) == 0) {
		spec_resolve(s, &text, p);
		text.walltime = -1;
		reqtext_format(&text, &canonical);
		p->resources = word_add(s, strbuf_text(&canonical));
		strbuf_fini(&canonical);
	}
	arena_destroy(a);
}

int spec_restore(struct server *s, const json_t *head, struct spec **ret, struct err *err)
{
	static const struct spec_rare none;
	const char *name = json_string_value(json_object_get(head, "name"));
	struct spec *p = spec_create(name ? name : "");
	struct spec_rare rare;
	int rc = spec_load(head, p, &rare, s->words, err);

	if (memcmp(&rare, &none, sizeof rare) != 0)
		*spec_rare(p) = rare;
	if (rc < 0) {
		spec_unref(p);
		return rc;
	}
	if (p->rank == 0) /* older servers' did not have it */
		p->rank = (double)p->created;
	p->legacy = p->eligible == UINT32_MAX;
	p->array = p->array_text;
	if (p->walltime < 1)
		p->walltime = 1;
	resources_restore(s, p);
	*ret = p;
	return 0;
}

/* ---- what it asks for ---- */

bool shares_offered(const struct server *s)
{
	for (size_t i = 0; i < s->cluster->nodes.n; i++)
		if (node_divided(&s->cluster->nodes.v[i]))
			return true;
	return false;
}

/* One with a share asks for that instead of CPUs, and of nodes in no partition. If no node is shared any more it still does, and fits nowhere. */
static void request_divide(struct server *s, const struct reqtext *text, struct spec *p)
{
	struct err err;

	if (!p->rare->share)
		return;
	p->request = UINT32_MAX;
	p->allowed = NODES_ALL;
	if (cluster_request(s->cluster, text, &p->request, &err) == 0)
		p->request = cluster_request_divided(s->cluster, p->request, p->rare->share);
}

const struct request *spec_asked(const struct server *s, const struct spec *p)
{
	return &s->cluster->requests.v[p->request == UINT32_MAX ? s->jobs->fallback : p->request];
}

/* Circles end at the depth at which jobs are not routed on. */
static bool queue_leads_away(const struct server *s, const char *name, int depth)
{
	const char *at = strchr(name, '@');
	char here[256];
	bool away = false;

	if (at && remote_find(s, at + 1))
		return true;
	snprintf(here, sizeof here, "%.*s", at ? (int)(at - name) : (int)strlen(name), name);
	const struct queue *q = (!at || server_is_here(s, at + 1)) ? queue_named(s, here) : NULL;
	if (!q || !admit_routes(&q->attrs) || depth == ADMIT_DEPTH)
		return false;
	const char *list = attrs_text(&q->attrs, "route_destinations");
	for (const char *p = list ? list : ""; *p && !away; p += *p == ',') {
		size_t n = strcspn(p, ",");
		char next[256];
		snprintf(next, sizeof next, "%.*s", (int)n, p);
		away = queue_leads_away(s, next, depth + 1);
		p += n;
	}
	return away;
}

bool spec_may_leave(const struct server *s, const struct spec *p)
{
	struct err err;

	return queue_is_remote(word_text(s, p->queue)) ||
	       (spec_portable(p, &err) == 0 && queue_leads_away(s, word_text(s, p->queue), 0));
}

int spec_fill(struct server *s, const struct reqtext *text, struct spec *spec, struct err *err)
{
	struct strbuf canonical = {0};
	struct reqtext timeless = *text, full = *text;
	int rc;

	full.estimate = text->estimate ? text->estimate : spec->rare->libra.estimate;
	rc = partition_resolve(s->cluster, &full, &spec->request, &spec->allowed, err);
	if (rc < 0 && !full.estimate && spec_may_leave(s, spec)) { /* another site may have such nodes */
		spec->request = UINT32_MAX;
		spec->allowed = NODES_ALL;
		rc = 0;
	}
	if (rc == 0 && spec->rare->share && !shares_offered(s))
		rc = err_set(err, -EINVAL, "no node is shared any more");
	if (rc == 0)
		request_divide(s, &full, spec);
	if (rc == 0 && spec->rare->share && spec->request == UINT32_MAX)
		rc = err_set(err, -EINVAL, "a job with a share has one part, on any node");
	if (s->plan)
		plan_widen(s->plan);

	spec->layout = s->hosts->layout;
	if (rc == 0 && spec->request != UINT32_MAX)
		rc = pack_refuse_amounts(s->cluster, &s->cluster->requests.v[spec->request], err);
	if (rc < 0)
		return rc;
	spec->walltime = text->walltime > 0 ? text->walltime : 1;
	timeless.walltime = -1;
	reqtext_format(&timeless, &canonical);
	spec->resources = word_add(s, strbuf_text(&canonical));
	strbuf_fini(&canonical);
	return 0;
}

int spec_request(struct server *s, const struct spec *spec, struct arena *a, struct reqtext *ret, struct err *err)
{
	const char *resources = word_text(s, spec->resources);
	int rc = 0;

	reqtext_init(ret);
	if (*resources)
		rc = reqtext_parse(ret, resources, a, err);
	ret->walltime = spec->walltime;
	return rc;
}

void spec_resolve(struct server *s, const struct reqtext *text, struct spec *p)
{
	struct reqtext full = *text;
	struct err err;

	p->request = UINT32_MAX;
	p->layout = s->hosts->layout;
	amounts_keep(s->cluster, text);
	for (uint32_t i = s->plan ? (uint32_t)s->plan->amount.n : UINT32_MAX; i < s->cluster->amounts.n; i++)
		plan_set_amount(s->plan, i);
	full.estimate = p->rare->libra.estimate; /* its own text has none */
	partition_resolve(s->cluster, &full, &p->request, &p->allowed, &err);
	request_divide(s, &full, p);
	if (s->plan)
		plan_widen(s->plan);
}

void spec_lay(struct server *s, struct spec *p)
{
	struct arena *a;
	struct reqtext text;
	struct err err;

	if (p->layout == s->hosts->layout && p->request != UINT32_MAX)
		return;
	a = arena_create();
	if (spec_request(s, p, a, &text, &err) == 0)
		spec_resolve(s, &text, p);
	arena_destroy(a);
}

int spec_portable(const struct spec *p, struct err *err)
{
	const char *what = p->interactive	       ? "an interactive job"
			   : p->rare->libra.estimate   ? "a job with a budget"
			   : p->kind == KIND_EMERGENCY ? "an emergency job"
			   : p->rare->restart	       ? "a job that starts from a checkpoint"
			   : p->visitor		       ? "a job that came from another site"
						       : NULL;

	return what ? err_code(err, CODE_REFUSED, "%s can't be handed over to another site: submit it there", what) : 0;
}
