/*
 * spec.c - a job's description: creating, copying and storing it, and resolving its request in the
 * current cluster.
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
/* shared by all servers of this process, and dense because lists read specs in sequence */
static struct slab specs;

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

	json_begin(&j, out);
	spec_store(p, s->words, &j);
	json_close_object(&j);
}

/* Makes a job with a share request that instead of CPUs, on nodes outside partitions. If no node is
 * shared any more, it still does and fits nowhere. */
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

/* Finds what the cluster in its current layout has for a spec. A job that no partition suits any
 * more keeps its request, which its events refer to, but may use no node. */
static void spec_resolve(struct server *s, const struct reqtext *text, struct spec *p)
{
	struct reqtext full = *text;
	struct err err;

	p->request = UINT32_MAX;
	p->layout = s->hosts->layout;
	amounts_keep(s->cluster, text);
	for (uint32_t i = s->plan ? (uint32_t)s->plan->amount.n : UINT32_MAX; i < s->cluster->amounts.n; i++)
		plan_set_amount(s->plan, i);
	full.estimate = p->rare->libra.estimate; /* the job's own text has no estimate */
	partition_resolve(s->cluster, &full, &p->request, &p->allowed, &err);
	request_divide(s, &full, p);
	if (s->plan)
		plan_widen(s->plan);
}

/* Rewrites the request in its current form, if it can be read. If the nodes have changed, the text
 * is kept and the job is held (block_begin). */
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
	if (p->rank == 0) /* older servers did not store it */
		p->rank = (double)p->created;
	p->legacy = p->eligible == UINT32_MAX;
	p->array = p->array_text;
	if (p->walltime < 1)
		p->walltime = 1;
	resources_restore(s, p);
	*ret = p;
	return 0;
}

/* ---- the request ---- */

bool shares_offered(const struct server *s)
{
	for (size_t i = 0; i < s->cluster->nodes.n; i++)
		if (node_divided(&s->cluster->nodes.v[i]))
			return true;
	return false;
}

const struct request *spec_asked(const struct server *s, const struct spec *p)
{
	return &s->cluster->requests.v[p->request == UINT32_MAX ? s->jobs->fallback : p->request];
}

/* Returns true if a queue may lead to another site. Circles end at the depth at which jobs are no
 * longer routed. */
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
	const char *list = attrs_text(&q->attrs, SET_ROUTE_DESTINATIONS);
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
	/* another site may have such nodes */
	if (rc < 0 && !full.estimate && spec_may_leave(s, spec)) {
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
