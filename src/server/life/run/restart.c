/*
 * restart.c - see restart.h.
 */
#include "server/life/run/restart.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/map.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "core/array.h"
#include "core/jobschema.h"
#include "server/base/asker.h"
#include "server/base/words.h"
#include "server/job/body.h"
#include "server/job/entry.h"
#include "server/job/jobs.h"
#include "server/job/spec.h"
#include "server/job/submission.h"
#include "server/life/run/save.h"
#include "server/server.h"
#include "store/store.h"

/* Finds the job that a text names, if it can be restarted from. */
static int find(struct server *s, const struct asker *who, const char *text, uint32_t *ret, struct err *err)
{
	const struct job_saves *v;
	struct array *array = NULL;
	job_vec ids = {0};
	struct err why;
	int rc = jobs_named(s, text, &ids, &array, &why);
	bool one = rc == 0 && ids.n == 1 && !array;

	*ret = one ? ids.v[0] : 0;
	vec_free(&ids);
	if (rc < 0)
		return err_code(err, CODE_REFUSED,
				"restart: there is no job %.60s, or it was forgotten together with its checkpoints",
				text);
	if (!one)
		return err_code(err, CODE_REFUSED, "restart: %.60s is several jobs: name one, such as 12[3]", text);

	const struct entry *e = entry_get(s, *ret);

	if (e->spec->uid != who->uid)
		return err_code(err, CODE_REFUSED, "restart: job %.60s is not yours: only %s can use its checkpoints",
				text, word_text(s, e->spec->owner));
	if (!entry_ended(s, *ret))
		return err_code(err, CODE_REFUSED, "restart: job %.60s has not ended: it restarts by itself", text);
	if (e->cause == END_ITSELF && e->exit_status == 0)
		return err_code(err, CODE_REFUSED, "restart: job %.60s succeeded, and its checkpoints were deleted",
				text);
	v = e->outcome ? e->outcome->saves : NULL;
	if (!v || !v->last.number || v->from_start)
		return err_code(err, CODE_REFUSED, "restart: job %.60s has no checkpoint to restart from", text);
	return 0;
}

static int merge(struct server *s, uint32_t id, json_t *given, struct restart *ret, struct err *err)
{
	const struct spec *p = entry_get(s, id)->spec;
	int rc = body_read(s, id, &ret->job, err);

	if (rc < 0)
		return rc;
	json_object_del(ret->job, "comment");
	submission_put(s, p, AGAIN, ret->job);
	json_object_set_new(ret->job, "resources", submission_resources(s, p, true));
	rc = submission_update(ret->job, given, err);
	json_object_del(ret->job, "restart");
	return rc;
}

int restart_read(struct server *s, const struct asker *who, json_t *job, struct arena *a, struct restart *ret,
		 struct err *err)
{
	const json_t *from = json_object_get(job, "restart");
	uint32_t id = 0;
	char *text;
	int rc;

	*ret = (struct restart){0};
	if (!from || json_is_null(from)) {
		ret->job = json_incref(job);
		return 0;
	}
	if (!json_is_string(from) || strlen(json_string_value(from)) != json_string_length(from))
		return err_code(err, CODE_BAD_REQUEST, "restart must be a text: the id of a job");
	rc = find(s, who, json_string_value(from), &id, err);
	if (rc == 0)
		rc = merge(s, id, job, ret, err);
	if (rc < 0)
		return rc;
	ret->key = entry_get(s, id)->key;
	if (json_object_get(job, "script") || json_object_get(job, "script_base64"))
		return 0;
	rc = store_get_script(s->store, entry_get(s, id)->spec->script, &text, &ret->script_n, err);
	if (rc < 0)
		return rc;
	ret->script = memcpy(arena_alloc(a, ret->script_n + 1), text, ret->script_n);
	free(text);
	return 0;
}

int restart_apply(struct submission *x, const struct restart *r, struct err *err)
{
	if (!r->key)
		return 0;
	if (!x->spec->checkpoint)
		return err_code(err, CODE_REFUSED,
				"restart: a job that restarts from a checkpoint must make checkpoints (-c)");
	if (x->spec->array)
		return err_code(err, CODE_REFUSED, "restart: an array can't restart from a checkpoint");
	spec_rare(x->spec)->restart = r->key;
	if (r->script) {
		x->script = r->script;
		x->script_n = r->script_n;
	}
	return 0;
}

const char *restart_directory(const struct server *s, uint32_t id, struct arena *a)
{
	uint64_t key = entry_get(s, id)->spec->rare->restart;
	const char *path = NULL;
	uint32_t other;

	if (!key)
		return NULL;
	if (entry_find(s, job_key_number(key), job_key_index(key), &other))
		path = save_directory(s, other, a);
	/* Without it the job must not start from the beginning: it fails with a message about
	 * what is missing. */
	return path ? path
		    : arena_printf(a, "/nonexistent/checkpoints of job %llu", (unsigned long long)job_key_number(key));
}

bool restart_awaits(const struct server *s, uint64_t number)
{
	uint64_t id;

	return map_get(&s->jobs->restarts, number, &id) && entry_get(s, id)->spec &&
	       entry_get(s, id)->spec->rare->restart && !entry_ended(s, (uint32_t)id);
}
