/*
 * alteration.c - applies an alteration to a copy of the job's description, reading only the members
 * that were given.
 */
#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/amount.h"
#include "base/err.h"
#include "core/jobschema.h"
#include "core/kind.h"
#include "core/reqtext.h"
#include "core/res.h"
#include "server/base/asker.h"
#include "server/base/words.h"
#include "server/job/body.h"
#include "server/job/entry.h"
#include "server/job/jobs.h"
#include "server/job/spec.h"
#include "server/job/submission.h"
#include "server/job/submission_internal.h"
#include "server/server.h"

/* Returns true for members of the request that select the jobs. */
static bool is_selection(const char *key)
{
	return strcmp(key, "ids") == 0 || strcmp(key, "filter") == 0 || strcmp(key, "force") == 0;
}

static const struct schema alterable = {.fields = job_members, .in = AT_ALTER};

static int members_check(const json_t *args, bool running, struct err *err)
{
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)args, key, value)
	{
		const struct field *f = field_find(job_members, AT_ALTER, key, NULL);
		if (is_selection(key))
			continue;
		if (!f && !field_find(job_members, AT_SUBMIT, key, NULL))
			return schema_refuse_name(&alterable, key, err);
		if (running && !(f && f->in & RUNNING))
			return err_code(err, CODE_BAD_STATE, "%s of a running job can't be changed", key);
		if (!f)
			return err_code(err, CODE_BAD_REQUEST, "%s can't be changed", key);
	}
	return 0;
}

/* Reads the given members. JSON null resets one to its default. */
static int members_change(struct server *s, const json_t *args, struct spec *p, struct err *err)
{
	int rc = 0;

	for (const struct field *f = job_members; f->name && rc == 0; f++) {
		const json_t *v = f->in & AT_ALTER ? json_object_get(args, f->name) : NULL;
		if (!v || f->in & JUDGED || f->form == FORM_NONE || f->form == FORM_INLINE)
			continue;
		rc = spec_read(s, f, v, p, err);
	}
	return rc;
}

/* Changes the type. A different type gives a deadline another meaning or none, and only emergency
 * jobs have powers. */
static int kind_change(struct server *s, const struct asker *who, const json_t *args, struct submission *ret,
		       struct err *err)
{
	struct spec *p = ret->spec;
	const json_t *type = json_object_get(args, "type"), *deadline = json_object_get(args, "deadline");
	const char *to = json_string_value(type), *from = submission_type(p);
	bool same = !to || strcmp(from, to) == 0;
	json_t *o;
	int rc;

	if (!type && !deadline && !ret->text.deadline)
		return 0;
	o = json_object();
	submission_put_kind(p, o);
	/* its QoS made it an emergency job, and will again */
	if (p->kind == KIND_EMERGENCY && p->qos && who->role < ROLE_OPERATOR)
		json_object_set_new(o, "type", json_string("Q"));
	if (!same && (*to == 'C' || *to == 'N' || *from == 'N'))
		json_object_del(o, "deadline");
	if (!same)
		json_object_del(o, "powers");
	if (type)
		json_object_set(o, "type", (json_t *)type);
	if (deadline)
		json_object_set(o, "deadline", (json_t *)deadline);
	p->powers = 0;
	rc = read_kind(s, who, o, ret, err);
	json_decref(o);
	return rc;
}

/* Reads the resources requested, on top of the previous request. */
static int request_change(struct server *s, const json_t *args, struct arena *a, struct submission *ret,
			  struct err *err)
{
	struct spec *p = ret->spec;
	const struct spec_rare *rare = p->rare;
	bool given = json_object_get(args, "resources") || json_object_get(args, "exclusive");
	int rc = spec_request(s, p, a, &ret->text, err);

	if (rc < 0 || !given)
		return rc;
	ret->text.qos = p->qos ? word_text(s, p->qos) : NULL;
	ret->text.reservation = p->reservation ? word_text(s, p->reservation) : NULL;
	ret->text.estimate = rare->libra.estimate;
	rc = read_text(s, args, a, ret, err);
	if (rc == 0 && (rare->libra.estimate || ret->text.estimate || ret->text.budget) &&
	    (ret->text.estimate != rare->libra.estimate || ret->text.budget))
		rc = price_agreed_refuse(err);
	return rc < 0 ? rc : read_request(s, word_text(s, p->queue), a, ret, err);
}

static bool body_given(const json_t *args)
{
	for (const struct field *f = job_members; f->name; f++)
		if (f->in & IN_BODY && f->in & AT_ALTER && json_object_get(args, f->name))
			return true;
	return false;
}

/* Changes the body. It is only in the store, and is read only if one of its members changes. */
static int body_change(struct server *s, uint32_t id, const json_t *args, struct submission *ret, struct err *err)
{
	json_t *o = NULL;
	int rc;

	if (!body_given(args))
		return 0;
	rc = body_read(s, id, &o, err);
	if (rc < 0)
		return rc;
	for (const struct field *f = job_members; f->name; f++)
		if (f->in & IN_BODY && f->in & AT_ALTER && json_object_get(args, f->name))
			json_object_set(o, f->name, json_object_get(args, f->name));
	rc = body_check(o, err);
	if (rc == 0)
		rc = body_write(o, &ret->body, err);
	json_decref(o);
	return rc;
}

int alteration_grow(struct server *s, uint32_t id, double factor, struct arena *a, struct submission *ret,
		    struct err *err)
{
	const struct entry *e = entry_get(s, id);
	struct reqtext *t = &ret->text;

	*ret = (struct submission){.displace = -1, .spec = spec_copy(e->spec)};
	ret->spec->holds = e->holds;
	int rc = spec_request(s, ret->spec, a, t, err);
	if (rc < 0)
		return rc;
	int64_t *amount[] = {&t->job.v[RES_MEM], &t->pmem};
	for (int i = 0; i < 2 + t->nchunks; i++) {
		int64_t *one = i < 2 ? amount[i] : &t->chunk[i - 2].need.v[RES_MEM];
		double more = ceil((double)*one * factor);
		if (more > (double)MEMORY_MAX)
			return err_set(err, -EINVAL, "more memory than there can be");
		*one = (int64_t)more;
	}
	rc = read_request(s, word_text(s, e->spec->queue), a, ret, err);
	if (rc == 0 && e->spec->rare->libra.estimate && asks_otherwise(e->spec, ret->spec))
		rc = price_agreed_refuse(err);
	return rc;
}

int alteration_read(struct server *s, const struct asker *who, uint32_t id, const json_t *args, struct arena *a,
		    struct submission *ret, struct err *err)
{
	const struct entry *e = entry_get(s, id);
	const struct spec *old = e->spec;
	const char *name = NULL;
	struct spec *p;
	int rc = members_check(args, entry_running(s, id), err);

	*ret = (struct submission){.displace = -1};
	if (rc < 0 || (rc = read_name(args, &name, err)) < 0)
		return rc;
	p = ret->spec = spec_copy_as(old, name ? name : old->name);
	p->holds = e->holds;
	if ((rc = members_change(s, args, p, err)) < 0 || (rc = holds_allowed(p, who, err)) < 0)
		return rc;
	p->rerunnable &= !p->interactive;
	if (json_object_get(args, "checkpoint") && (rc = read_checkpoint(s, args, p, err)) < 0)
		return rc;
	if (json_object_get(args, "depend") && (rc = read_depend(args, p, err)) < 0)
		return rc;
	if ((rc = request_change(s, args, a, ret, err)) < 0 || (rc = kind_change(s, who, args, ret, err)) < 0 ||
	    (rc = body_change(s, id, args, ret, err)) < 0)
		return rc;
	if (old->rare->libra.estimate && asks_otherwise(old, p))
		return price_agreed_refuse(err);
	return start_check(p, err);
}
