/*
 * api_again.c - shows a job as it would be submitted, and submits it again.
 *
 * What is submitted again goes the way of any submission: hooks see all of it, and limits, quotas
 * and credits count it.
 */
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/strbuf.h"
#include "core/array.h"
#include "net/http.h"
#include "server/api/frame/api.h"
#include "server/api/frame/call.h"
#include "server/api/frame/request.h"
#include "server/api/frame/schemas.h"
#include "server/api/jobs/counts.h"
#include "server/api/jobs/submit_work.h"
#include "server/api/jobs/submitted.h"
#include "server/base/asker.h"
#include "server/base/words.h"
#include "server/job/entry.h"
#include "server/job/jobs.h"
#include "server/job/spec.h"
#include "server/job/submission.h"
#include "server/server.h"
#include "server/site/who.h"

/* Appends the elements of an array that have failed, as -t takes them. */
static void failed_format(const struct server *s, const struct array *a, struct strbuf *out)
{
	struct strbuf by[ELEMENT_STATES] = {0};

	array_elements(s, a, by);
	strbuf_puts(out, strbuf_text(&by[ELEMENT_FAILED]));
	if (out->n && a->limit)
		strbuf_printf(out, "%%%lld", (long long)a->limit);
	for (int i = 0; i < ELEMENT_STATES; i++)
		strbuf_fini(&by[i]);
}

/* Leaves only what has failed. CODE_REFUSED: nothing has. */
static int failed_only(const struct server *s, const struct call *c, uint32_t id, const struct array *a, json_t *job,
		       struct err *err)
{
	struct strbuf text = {0};
	int rc = 0;

	if (a)
		failed_format(s, a, &text);
	if (a && !text.n)
		rc = err_code(err, CODE_REFUSED, "no element of %.100s has failed", c->name);
	else if (!a && !entry_failed(s, id))
		rc = err_code(err, CODE_REFUSED, "job %.100s has not failed", c->name);
	else if (text.n > ARRAY_TEXT_MAX)
		rc = err_code(err, CODE_REFUSED,
			      "the elements of %.100s that have failed are too many to name: submit all of them again",
			      c->name);
	else if (a)
		json_object_set_new(job, "array", json_string(text.text));
	strbuf_fini(&text);
	return rc;
}

/* Finds a job of the user's own that is to be submitted again, and describes it as it was
 * submitted. */
static int again_read(struct server *s, const struct call *c, uint32_t *ret_id, struct array **ret_array, json_t **ret,
		      struct err *err)
{
	int rc = job_seen(s, c->w, c->name, ret_id, ret_array, err);

	if (rc == -ENOENT)
		return err_code(
			err, CODE_UNKNOWN_JOB,
			"job %.100s does not exist, or the server no longer keeps it and its script (keep_completed)",
			c->name);
	if (rc < 0)
		return rc;

	const struct spec *p = entry_get(s, *ret_id)->spec;

	if (!asker_may(s, c->w, ACT_READ, p))
		return err_code(err, CODE_FORBIDDEN,
				"only its owner and managers may read how job %.100s was submitted", c->name);
	rc = submission_whole(s, *ret_id, 0, ret, err);
	if (rc < 0)
		return rc;
	if (*ret_array)
		json_object_set_new(*ret, "array", json_string(p->array_text));
	/* what it has now, and where it came from, was not submitted */
	json_object_del(*ret, "hold");
	json_object_del(*ret, "site");
	return 0;
}

void api_submission(struct server *s, const struct call *c)
{
	struct array *a;
	struct err err;
	json_t *job;
	uint32_t id;

	if (again_read(s, c, &id, &a, &job, &err) < 0)
		api_refuse(c->r, &err);
	else
		api_answer(c->r, 200, job);
}

/* Makes the new submission. */
static int again_make(struct server *s, const struct call *c, json_t **ret, struct err *err)
{
	json_t *job = NULL;
	struct array *a;
	uint32_t id;
	int rc = schema_check_names(&again_body, c->body, err);

	if (rc == 0)
		rc = again_read(s, c, &id, &a, &job, err);
	if (rc == 0 && entry_get(s, id)->spec->uid != c->w->uid)
		rc = err_code(err, CODE_FORBIDDEN, "job %.100s is not yours: only %s can submit it again", c->name,
			      word_text(s, entry_get(s, id)->spec->owner));
	if (rc == 0 && entry_get(s, id)->spec->interactive)
		rc = err_code(err, CODE_REFUSED, "job %.100s was interactive: it needs a terminal (qsub -I)", c->name);
	if (rc == 0 && strcmp(json_string_value(json_object_get(c->body, "only")) ?: "all", "failed") == 0)
		rc = failed_only(s, c, id, a, job, err);
	if (rc == 0) {
		json_object_del(c->body, "only");
		rc = submission_update(job, c->body, err);
	}
	if (rc == 0)
		*ret = job;
	else
		json_decref(job);
	return rc;
}

void api_again(struct server *s, const struct call *c)
{
	/* a repetition is answered by its key, even if the server has forgotten the job since */
	bool repeated = submit_repeats(s, c->r, c->w);
	json_t *job = NULL;
	struct err err;

	if (!repeated && again_make(s, c, &job, &err) < 0)
		api_refuse(c->r, &err);
	else
		submit_start(s, c, job ? job : json_object());
}
