/*
 * submission.c - reads a submission field by field into a job.
 */
#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/members.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "core/array.h"
#include "core/depend.h"
#include "core/jobschema.h"
#include "rules/attr.h"
#include "rules/checkpoint.h"
#include "rules/gate.h"
#include "server/base/asker.h"
#include "server/base/clock.h"
#include "server/base/instance.h"
#include "server/base/users.h"
#include "server/base/words.h"
#include "server/job/body.h"
#include "server/job/classes.h"
#include "server/job/jobs.h"
#include "server/job/scripts.h"
#include "server/job/spec.h"
#include "server/job/submission.h"
#include "server/job/submission_internal.h"
#include "server/server.h"
#include "server/settings/remotes.h"

int read_name(const json_t *job, const char **ret, struct err *err)
{
	int rc = member_read_text(job, "name", JOB_NAME_MOST, ret, err);
	const char *name = *ret;

	if (rc < 0 || !name)
		return rc;
	if (!*name)
		return err_set(err, -EINVAL, "name is empty: a job's name has 1 to %d characters", JOB_NAME_MOST);
	for (const unsigned char *p = (const unsigned char *)name; *p; p++)
		if (*p <= ' ' || *p == 127 || *p == '/')
			return err_set(err, -EINVAL, "name \"%.60s\" has a blank, a '/' or a control character in it",
				       name);
	return 0;
}

int throttle_get(const json_t *job, int64_t *ret, struct err *err)
{
	return member_read_number(job, "max_run_subjobs", 0, ARRAY_COUNT_MAX, ret, err);
}

static int read_array(struct server *s, const json_t *job, struct submission *ret, struct err *err)
{
	const char *text;
	int64_t limit = -1;
	int rc = member_read_text(job, "array", ARRAY_TEXT_MAX, &text, err);

	if (rc == 0)
		rc = throttle_get(job, &limit, err);
	if (rc == 0 && !text && limit >= 0)
		rc = err_set(err, -EINVAL, "max_run_subjobs is for arrays: -t 1-10 or -J 1-10 makes one");
	if (rc < 0 || !text)
		return rc;
	rc = array_parse(text, &ret->array, err);
	if (rc < 0)
		return rc;
	if (limit >= 0)
		ret->array.limit = (uint32_t)limit;

	struct strbuf canonical = {0};

	array_format(&ret->array, &canonical);
	ret->spec->array = true;
	ret->spec->array_text = mem_strdup(canonical.text);
	strbuf_fini(&canonical);
	return 0;
}

int read_depend(const json_t *job, struct spec *p, struct err *err)
{
	const char *text;
	struct depends d = {0};
	struct strbuf canonical = {0};
	int rc = member_read_text(job, "depend", DEPEND_TEXT_MAX, &text, err);

	if (rc == 0 && text && *text)
		rc = depends_parse(text, &d, err);
	if (rc < 0)
		return rc;
	free(p->depend);
	p->depend = NULL;
	p->share = (struct gate_share){0};
	depends_format(&d, &canonical);
	if (canonical.n)
		p->depend = mem_strdup(canonical.text);
	strbuf_fini(&canonical);
	depends_fini(&d);
	return 0;
}

/* Keeps what is stored of the job's owner or derived from it, so that the user database is not
 * needed again while the job exists. */
static void owner_keep(struct server *s, struct spec *p)
{
	const struct user *u = user_known(s, p->uid);

	p->group = word_add(s, user_group(s, p->uid, p->gid));
	if (u)
		p->home = word_add(s, u->home);
}

static int read_class(struct server *s, const json_t *job, struct spec *p, struct err *err)
{
	struct strbuf all = {0};
	const char *name = NULL;
	int rc = member_read_text(job, "class", 64, &name, err);

	if (rc < 0 || !name || !*name)
		return rc;
	const char *meant = class_meant(s, name);
	p->class = word_add(s, meant ? meant : name);
	if (meant)
		return 0;
	strbuf_puts(&all, "script, spmd");
	for (size_t i = 0; i < s->objects->of[OBJECT_CLASS].n; i++) {
		const char *other = s->objects->of[OBJECT_CLASS].v[i]->name;
		if (strcasecmp(other, "script") && strcasecmp(other, "spmd"))
			strbuf_printf(&all, ", %s", other);
	}
	rc = err_set(err, -EINVAL, "class: unknown class %.60s (known: %.300s)", name, strbuf_text(&all));
	strbuf_fini(&all);
	return rc;
}

static bool class_lacks_saver(const struct server *s, const struct spec *p)
{
	const struct attrs *class = class_attrs(s, p);

	return strcmp(attrs_text(class, SET_METHOD), "script") == 0 && !attrs_text(class, SET_SAVER);
}

/* Reads the checkpoint options. Interactive jobs make no checkpoints. */
int read_checkpoint(struct server *s, const json_t *job, struct spec *p, struct err *err)
{
	struct arena *a = arena_create();
	struct checkpoint_wish w = {0};
	int64_t longest = class_number(s, p, SET_CHECKPOINT_DURATION_MAX);
	const char *text = NULL;
	int rc = member_read_text(job, "checkpoint", JOB_TEXT_MOST, &text, err);

	if (rc == 0)
		rc = checkpoint_parse(text, a, &w, err);
	if (rc == 0 && w.duration > longest)
		rc = err_set(err, -EINVAL, "checkpoint: duration=%lld: the server allows %lld seconds",
			     (long long)w.duration, (long long)longest);
	if (rc == 0 && w.makes && !w.saver && class_lacks_saver(s, p))
		rc = err_set(
			err, -EINVAL,
			"checkpoint: jobs of class %.60s are saved by a program, and the class has none: give one with saver=PATH",
			word_text(s, p->class));
	if (rc == 0)
		p->checkpoint = w.makes && !p->interactive ? word_add(s, text) : 0;
	arena_destroy(a);
	return rc;
}

/* Reads the simple members: all that have a place in the spec and no reader of their own. */
static int read_members(struct server *s, const json_t *job, struct spec *p, struct err *err)
{
	int rc = 0;

	for (const struct field *f = job_members; f->name && rc == 0; f++)
		if (f->in & AT_SUBMIT && !(f->in & JUDGED) && f->form != FORM_NONE && f->form != FORM_INLINE)
			rc = spec_read(s, f, json_object_get(job, f->name), p, err);
	return rc;
}

/* Drops the program's name if it is the same as the job's. */
static void program_keep(struct spec *p)
{
	if (p->program && strcmp(p->program, p->name) == 0) {
		free(p->program);
		p->program = NULL;
	}
}

int holds_allowed(const struct spec *p, const struct asker *who, struct err *err)
{
	uint8_t new = (uint8_t)(p->holds & ~who->holds);

	if ((new &BLOCK_SYSTEM && who->role < ROLE_MANAGER) || (new &BLOCK_OTHER && who->role < ROLE_OPERATOR))
		return err_set(err, -EPERM, "holds of type o are for operators and s for managers: use u");
	return 0;
}

static int read_rest(struct server *s, const struct asker *who, const json_t *job, struct submission *ret,
		     struct err *err)
{
	struct spec *p = ret->spec;
	int rc = read_members(s, job, p, err);

	if (rc == 0)
		rc = member_read_bool(job, "require_guarantee", &ret->guarantee, err);
	if (rc == 0)
		rc = holds_allowed(p, who, err);
	if (rc < 0)
		return rc;
	program_keep(p);
	p->owner = word_add(s, who->user);
	p->uid = who->uid;
	p->gid = who->gid;
	owner_keep(s, p);
	if (!p->host)
		p->host = word_add(s, *who->address ? who->address : s->instance->host);
	if (*who->address)
		spec_rare(p)->from = word_add(s, who->address);
	rc = read_class(s, job, p, err);
	if (rc == 0)
		rc = read_checkpoint(s, job, p, err);
	if (rc < 0)
		return rc;
	if (p->interactive) {
		p->rerunnable = false;
		if (ret->spec->array)
			return err_set(err, -EINVAL, "an array can't be interactive");
		if (p->nice)
			return err_set(err, -EINVAL, "an interactive job can't be nice: it starts at once");
	}
	return 0;
}

int submission_read(struct server *s, const struct asker *who, const json_t *job, bool script_needed, struct arena *a,
		    struct submission *ret, struct err *err)
{
	const char *name, *queue, *script;
	size_t n = 0;
	int rc;

	*ret = (struct submission){0};
	if (!json_is_object(job))
		return err_set(err, -EINVAL, "a job must be a JSON object");
	if ((rc = read_name(job, &name, err)) < 0 || (rc = member_read_text(job, "queue", 255, &queue, err)) < 0)
		return rc;

	struct spec *p = ret->spec = spec_create(name ? name : "STDIN");

	if (queue && (rc = queue_resolve(s, queue, a, &queue, err)) < 0)
		return rc;
	if (!queue || !*queue)
		queue = attrs_text(s->attrs, SET_DEFAULT_QUEUE);
	if (!queue || (!queue_is_remote(queue) && !queue_named(s, queue))) {
		struct strbuf all = {0};
		for (size_t i = 0; i < s->jobs->queues.n; i++)
			strbuf_printf(&all, "%s%s", i ? ", " : "", s->jobs->queues.v[i]->name);
		rc = queue ? err_code(err, CODE_UNKNOWN_QUEUE, "Unknown queue %.60s (known: %.300s).", queue,
				      strbuf_text(&all))
			   : err_code(err, CODE_UNKNOWN_QUEUE,
				      "No queue was named and the server has no default_queue (known: %.300s).",
				      strbuf_text(&all));
		strbuf_fini(&all);
		return rc;
	}
	p->queue = word_add(s, queue);
	p->visitor = json_object_get(job, "site");
	p->created = s->clock->now;
	p->origin = s->instance->origin;
	p->rank = (double)s->clock->now_us / 1e6;
	reqtext_init(&ret->text);
	if ((rc = read_array(s, job, ret, err)) < 0 || (rc = read_rest(s, who, job, ret, err)) < 0 ||
	    (rc = read_text(s, job, a, ret, err)) < 0 || (rc = read_kind(s, who, job, ret, err)) < 0 ||
	    (rc = read_request(s, queue, a, ret, err)) < 0 || (rc = read_depend(job, p, err)) < 0 ||
	    (rc = read_libra(s, job, ret, err)) < 0 || (rc = read_now(s, job, ret, err)) < 0 ||
	    (rc = body_check(job, err)) < 0 || (rc = script_read(job, a, &script, &n, err)) < 0 ||
	    (rc = body_write(job, &ret->body, err)) < 0)
		return rc;
	if (script_needed && !script && !p->interactive)
		return err_set(err, -EINVAL, "script is missing");
	ret->script = script;
	ret->script_n = n;
	return 0;
}

void submission_fini(struct submission *x)
{
	spec_unref(x->spec);
	free(x->body);
	array_fini(&x->array);
	*x = (struct submission){0};
}
