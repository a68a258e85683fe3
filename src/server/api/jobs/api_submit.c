/*
 * api_submit.c - accepts submissions: one job, or thousands at once.
 */
#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/json.h"
#include "base/jsonwrite.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "core/depend.h"
#include "core/job.h"
#include "core/kind.h"
#include "net/http.h"
#include "rules/libra.h"
#include "server/api/frame/api.h"
#include "server/api/frame/call.h"
#include "server/api/frame/request.h"
#include "server/api/frame/schemas.h"
#include "server/api/jobs/guarantee.h"
#include "server/api/jobs/joblist.h"
#include "server/api/jobs/refused.h"
#include "server/api/jobs/submit_work.h"
#include "server/api/jobs/submitted.h"
#include "server/base/post.h"
#include "server/base/turn.h"
#include "server/base/users.h"
#include "server/base/words.h"
#include "server/base/work.h"
#include "server/book/quotas.h"
#include "server/job/jobs.h"
#include "server/job/keys.h"
#include "server/job/spec.h"
#include "server/job/submission.h"
#include "server/life/enter/intake.h"
#include "server/life/enter/submit.h"
#include "server/life/run/hooked.h"
#include "server/life/run/restart.h"
#include "server/life/wait/order.h"
#include "server/life/world/decide.h"
#include "server/life/world/dispatch.h"
#include "server/life/world/entrance.h"
#include "server/server.h"
#include "server/site/hooks.h"
#include "server/site/tokens.h"
#include "store/store.h"

#define BULK_MAX 10000
#define LARGE 65536 /* bytes of a list of jobs, from which on it is read in slices */
#define WIDE 2000   /* jobs and elements of arrays, from which on they are accepted in slices */

/* ---- one request ---- */

static void submit_free(struct server *s, struct submit_work *w)
{
	for (size_t i = 0; i < w->jobs.n; i++) {
		if (w->phase != SUBMIT_BEGIN && w->phase != SUBMIT_WRITE)
			total_count(s, w->jobs.v[i].spec, -submission_count(&w->jobs.v[i]));
		submission_fini(&w->jobs.v[i]);
	}
	trial_end(s, &w->trial, false);
	vec_free(&w->jobs);
	hook_ask_free(w->hook);
	json_decref(w->body);
	strbuf_fini(&w->out);
	if (s->slices->submitting == w)
		s->slices->submitting = NULL;
	free(w);
}

/* Refuses and ends the submission. Always returns false. */
static bool submit_refuse(struct server *s, struct submit_work *w, const struct err *err)
{
	if (request_number(w->r) && json_is_object(w->body) && err->code != CODE_UNAVAILABLE)
		refused_keep(s, w, err);
	api_refuse(w->r, err);
	submit_free(s, w);
	return false;
}

static int read_one(struct server *s, struct submit_work *w, json_t *job, struct err *err)
{
	struct submission x = {0};
	struct restart from;

	if (w->hook && w->jobs.n < w->hook->answers.n)
		hook_changes_apply(job, w->hook->answers.v[w->jobs.n].changes);
	if (schema_check_names(&whatif_body, job, err) < 0)
		return w->bulk ? err_prefix(err, -EINVAL, "jobs[%zu]", w->jobs.n) : -EINVAL;
	if (w->who.by == BY_SITE && json_is_object(job)) {
		const struct token_record *t = token_find(s, w->who.token);
		json_object_set_new(job, "site", json_string(t ? t->name : "unknown"));
	}
	trial_enter(s, &w->trial);
	int rc = restart_read(s, &w->who, job, request_arena(w->r), &from, err);

	if (rc == 0)
		rc = submission_read(s, &w->who, from.job, !from.key, request_arena(w->r), &x, err);
	json_decref(from.job); /* its script is in the request's body or in the arena */
	if (rc == 0)
		submission_date(w->r, x.spec);
	if (rc == 0)
		rc = restart_apply(&x, &from, err);
	if (rc == 0)
		rc = submit_check(s, &w->who, &x, request_arena(w->r), err);
	if (rc == 0 && x.spec->rare->libra.estimate && x.spec->rare->libra.budget == LIBRA_NO_BUDGET)
		rc = err_set(err, -EINVAL,
			     "an estimate needs a budget as well: -l budget=HOURS ('shunt whatif' shows the price)");
	if (rc == 0)
		rc = quotas_bill(s, &w->bill, x.spec, submission_count(&x), &x.warning, err);
	trial_leave(s);
	if (rc == 0 && w->bulk && x.spec->now)
		rc = err_code(err, CODE_REFUSED, "an interactive job starts at once: submit it by itself");
	if (rc == 0 && x.warning && x.guarantee)
		rc = err_code(
			err, CODE_REFUSED,
			"the deadline can't be guaranteed: the priority quota is too small ('shunt quota' shows it)");
	if (rc < 0) {
		submission_fini(&x);
		return w->bulk ? err_prefix(err, rc, "jobs[%zu]", w->jobs.n) : rc;
	}
	total_count(s, x.spec, submission_count(&x));
	vec_push(&w->jobs, x);
	return 0;
}

/* Keeps the hooks' message with the job; for an array, with its first element. */
static void hook_note(struct server *s, uint64_t number, const struct hook_answer *answer)
{
	const struct array *a = array_find(s, number);
	uint32_t id = a ? a->first : 0;

	if (a || entry_find(s, number, -1, &id))
		hooked_note(s, id, answer);
}

/* Checks that the hooks have seen what was read, rather than, for example, the first of two lists
 * in the same body. */
static int hook_covers(const struct submit_work *w, struct err *err)
{
	if (!w->hook || w->hook->unheard || w->hook->answers.n == w->jobs.n)
		return 0;
	return err_set(err, -EINVAL,
		       "the site's hooks can't read the body: a member is there twice, or a job is not an object");
}

/* Finishes a submission all of whose jobs exist. */
static void accepted(struct server *s, struct submit_work *w)
{
	trial_end(s, &w->trial, true);
	for (size_t i = 0; i < w->jobs.n; i++) {
		w->special |= w->jobs.v[i].spec->kind != KIND_COMMON || w->jobs.v[i].spec->now;
		s->jobs->priorities |= w->jobs.v[i].spec->priority != 0;
	}
	if (s->jobs->priorities)
		reorder_later(s, word_add(s, w->who.user));
	if (w->special) { /* the answer includes whether its deadline is guaranteed */
		dispatch_settle(s);
		scheduler_decide(s);
	}
	json_init(&w->j, &w->out, false);
	if (w->bulk) {
		json_open_object(&w->j, NULL);
		json_open_array(&w->j, "jobs");
	}
	w->phase = SUBMIT_WRITE;
}

static bool is_before(const struct spec *p)
{
	struct depends d = {0};
	bool found = false;

	if (p->depend && depends_parse(p->depend, &d, NULL) == 0)
		for (uint32_t i = 0; i < d.n; i++)
			found |= depend_is_before(d.v[i].type);
	depends_fini(&d);
	return found;
}

/* Checks again what other requests may have taken or started since the submission was read, and
 * takes its quota. `before`: dependencies are checked as well. */
static int confirm(struct server *s, const struct submit_work *w, bool before, struct err *err)
{
	for (size_t i = 0; i < w->jobs.n && before; i++) {
		const struct spec *p = w->jobs.v[i].spec;
		size_t depend = p->depend ? strlen(p->depend) : 0;
		int rc = depend_check(s, &w->who, w->jobs.v[i].spec, submission_count(&w->jobs.v[i]), err);
		if (rc < 0)
			return w->bulk ? err_prefix(err, rc, "jobs[%zu]", i) : rc;
		/* dependencies already satisfied were dropped */
		if (i < w->staged && depend != (p->depend ? strlen(p->depend) : 0))
			intake_record(s, w->first + i, &w->jobs.v[i]);
	}
	int rc = before ? before_check(s, w->jobs.v, w->jobs.n, err) : 0;
	if (rc < 0)
		return rc;
	return quotas_take(s, &w->bill, job_key(w->first, -1), err);
}

/* Accepts all jobs at once. Returns false if the submission was refused, which ends it. */
static bool accept_all(struct server *s, struct submit_work *w)
{
	bool before = false;
	struct err err;

	for (size_t i = 0; i < w->jobs.n; i++)
		before |= is_before(w->jobs.v[i].spec);
	w->first = number_for(s, request_number(w->r));
	if (confirm(s, w, before, &err) < 0)
		return submit_refuse(s, w, &err);
	for (size_t i = 0; i < w->jobs.n; i++)
		submission_accept(s, w->first + i, &w->jobs.v[i], i ? &w->jobs.v[i - 1] : NULL);
	if (w->keyed)
		submitted_key(s, w->r, &w->who, w->key, w->jobs.v, w->jobs.n, w->first);
	accepted(s, w);
	return true;
}

/* Writes the result of one job. Returns true if there are more; otherwise the answer was sent. */
static bool write_one(struct server *s, struct submit_work *w)
{
	uint64_t number = w->first + w->written++;

	if (w->hook && w->written <= w->hook->answers.n)
		hook_note(s, number, &w->hook->answers.v[w->written - 1]);
	entrance_settle(s, number);
	const struct array *a = array_find(s, number);
	uint32_t id;

	if ((a && a->spec) || (!a && entry_find(s, number, -1, &id)))
		submitted_write(s, &w->j, number, w->jobs.v[w->written - 1].warning);
	else
		forgotten_write(s, &w->j, number, a != NULL);
	if (json_is_array(w->body)) /* freed one by one, since there may be many */
		json_array_set_new(w->body, w->written - 1, json_null());
	submission_fini(&w->jobs.v[w->written - 1]);
	if (w->written < w->jobs.n)
		return true;
	if (w->bulk) {
		json_close_array(&w->j);
		json_close_object(&w->j);
	}
	reply_later(s, w->r, 201, &w->out);
	submit_free(s, w);
	return false;
}

/* ---- large submissions, in slices ---- */

/* Reads the next job. 1: there are more; 0: it was the last one; -EINVAL. */
static int read_next(struct server *s, struct submit_work *w, struct err *err)
{
	json_t *job = joblist_next(w->text, w->ntext, &w->at, w->jobs.n, err);
	int rc = -EINVAL;

	if (!job)
		return rc;
	if (w->jobs.n == BULK_MAX)
		err_set(err, rc, "jobs must hold 1 to %d jobs, and there are more", BULK_MAX);
	else
		rc = read_one(s, w, job, err);
	json_array_append_new(w->body, job); /* keeps its script */
	return rc < 0 ? rc : joblist_more(w->text, w->ntext, &w->at, w->jobs.n, err);
}

/* Writes the record of one more job; returns false if there is none. */
static bool record_next(struct server *s, struct submit_work *w)
{
	size_t i = w->staged;

	if (i == w->jobs.n)
		return false;
	if (i == 0) {
		w->first = number_for(s, request_number(w->r));
		intake_open(s, w->first, w->jobs.v, w->jobs.n, &w->id);
	}
	w->before |= is_before(w->jobs.v[i].spec);
	intake_stage(s, w->first + i, &w->jobs.v[i], i ? &w->jobs.v[i - 1] : NULL);
	w->staged++;
	return true;
}

static void begin_next(struct server *s, struct submit_work *w)
{
	const struct submission *x = &w->jobs.v[w->begun];

	if (!intake_begin(s, w->first + w->begun, x, w->id, &w->done)) {
		w->id += (uint32_t)submission_count(x);
		w->done = 0;
		w->begun++;
	}
	if (w->begun < w->jobs.n)
		return;
	s->slices->accepted = false;
	s->slices->submitting = NULL;
	accepted(s, w);
}

/* Accepts all jobs as of this turn's commit. */
static void accept_staged(struct server *s, struct submit_work *w)
{
	if (confirm(s, w, w->before, &w->err) < 0) {
		w->phase = SUBMIT_UNDO;
		return;
	}
	intake_close(s, w->first);
	if (w->keyed)
		submitted_key(s, w->r, &w->who, w->key, w->jobs.v, w->jobs.n, w->first);
	w->phase = SUBMIT_BEGIN;
	s->slices->accepted = true;
	while (w->before && w->phase == SUBMIT_BEGIN) /* other jobs wait for these from now on */
		begin_next(s, w);
}

/* Undoes one record. Returns true until the last one is done. */
static bool undo_next(struct server *s, struct submit_work *w)
{
	if (w->staged > 0) {
		w->staged--;
		intake_unstage(s, w->first + w->staged, &w->jobs.v[w->staged]);
		return true;
	}
	intake_refuse(s, w->first, w->jobs.v, w->jobs.n, w->id);
	return submit_refuse(s, w, &w->err);
}

/* Returns true for few submissions with many jobs. */
static bool is_wide(const struct server *s, const struct submit_work *w)
{
	int64_t count = 0;

	for (size_t i = 0; i < w->jobs.n; i++)
		count += submission_count(&w->jobs.v[i]);
	return count > (s->slices->slice_steps ? 1 : WIDE);
}

/* ---- guarantees ---- */

/* Checks one guarantee. The step that checks the last one also accepts the jobs, or begins to. */
static bool ask_step(struct server *s, struct submit_work *w)
{
	struct err err;
	int rc = guarantee_ask(s, w, &err);

	if (rc < 0)
		return submit_refuse(s, w, &err);
	if (rc > 0)
		return true;
	w->phase = SUBMIT_STAGE;
	if (json_is_array(w->body) || is_wide(s, w))
		return true;
	s->slices->submitting = NULL;
	return accept_all(s, w);
}

/* ---- steps ---- */

static bool read_step(struct server *s, struct submit_work *w)
{
	struct err err;
	int rc = read_next(s, w, &err);

	if (rc == 0)
		rc = hook_covers(w, &err);
	if (rc < 0)
		return submit_refuse(s, w, &err);
	if (rc == 0)
		w->phase = guarantee_wanted(w) ? SUBMIT_ASK : SUBMIT_STAGE;
	return true;
}

static bool phase_step(struct server *s, struct submit_work *w)
{
	const struct submission_key *known = w->keyed ? submitted_find(s, &w->who, w->key) : NULL;

	if (s->slices->submitting != w && w->phase <= SUBMIT_STAGE) {
		/* it may have the same key, and memory is budgeted for one */
		if (s->slices->submitting) {
			w->work.waits = true;
			return true;
		}
		s->slices->submitting = w;
	}
	if (known && w->phase <= SUBMIT_STAGE) {
		submitted_again(s, w->r, known, w->bulk);
		submit_free(s, w);
		return false;
	}
	switch (w->phase) {
	case SUBMIT_HOOK:
		break;
	case SUBMIT_READ:
		return read_step(s, w);
	case SUBMIT_ASK:
		return ask_step(s, w);
	case SUBMIT_STAGE:
		if (!record_next(s, w))
			accept_staged(s, w);
		return true;
	case SUBMIT_BEGIN:
		begin_next(s, w);
		return true;
	case SUBMIT_WRITE:
		w->work.waits = w->special && s->turn->undecided;
		return w->work.waits || write_one(s, w);
	case SUBMIT_UNDO:
		return undo_next(s, w);
	}
	return false;
}

static bool hook_step(struct server *s, struct submit_work *w);

static bool submit_step(struct server *s, struct work *work)
{
	struct submit_work *w = (struct submit_work *)work;

	return w->phase == SUBMIT_HOOK ? hook_step(s, w) : phase_step(s, w);
}
/* Ends a submission at shutdown. If it was not accepted its mark stays, and recovery drops the
 * records it covers. */
static void submit_stop(struct server *s, struct work *work, const char *why)
{
	struct submit_work *w = (struct submit_work *)work;

	while (w->phase == SUBMIT_BEGIN) /* these are accepted: create the rest */
		begin_next(s, w);
	if (w->phase != SUBMIT_WRITE)
		http_error(w->r, CODE_UNAVAILABLE, "Nothing was submitted (%s). Try again later.", why);
	else
		http_error(
			w->r, CODE_OUTCOME_UNKNOWN,
			"The jobs were accepted, but the answer could not be given (%s). A submission with an Idempotency-Key can be repeated safely.",
			why);
	submit_free(s, w);
}

static const struct work_kind submit_kind = {.step = submit_step, .stop = submit_stop};

/* ---- small submissions, at once ---- */

static bool same_is_read(const struct server *s, const struct submit_work *w)
{
	return w->keyed && s->slices->submitting && s->slices->submitting->keyed &&
	       s->slices->submitting->who.uid == w->who.uid && strcmp(s->slices->submitting->key, w->key) == 0;
}

/* Handles a submission at once. Returns true if it continues as a work. */
static bool submit_now(struct server *s, struct submit_work *w)
{
	struct err err;
	const json_t *list;
	json_t *job;
	size_t i;
	int rc = 0;

	if (!w->body)
		w->body = api_body(w->r, &err);
	list = json_object_get(w->body, "jobs");
	w->bulk = json_is_array(list);
	if (!w->body) {
		submit_refuse(s, w, &err);
	} else if (w->keyed && submitted_find(s, &w->who, w->key)) {
		submitted_again(s, w->r, submitted_find(s, &w->who, w->key), w->bulk);
		submit_free(s, w);
	} else if (w->bulk && (json_array_size(list) == 0 || json_array_size(list) > BULK_MAX)) {
		err_set(&err, -EINVAL, "jobs must hold 1 to %d jobs, and there are %zu", BULK_MAX,
			json_array_size(list));
		submit_refuse(s, w, &err);
	} else {
		rc = w->bulk ? schema_check_names(submission_body.either, w->body, &err)
			     : read_one(s, w, w->body, &err);
		json_array_foreach((json_t *)list, i, job) if (w->bulk && rc == 0) rc = read_one(s, w, job, &err);
		if (rc == 0)
			rc = hook_covers(w, &err);
		if (rc < 0)
			return submit_refuse(s, w, &err);
		if (is_wide(s, w) || guarantee_wanted(w)) {
			w->phase = guarantee_wanted(w) ? SUBMIT_ASK : SUBMIT_STAGE;
			return true;
		}
		if (!accept_all(s, w))
			return false;
		if (w->special && s->turn->undecided) /* deciding takes another turn */
			return true;
		while (write_one(s, w))
			;
	}
	return false;
}

/* Begins a submission; a large one is read in slices. Returns true if it continues as a work. */
static bool submit_begin(struct server *s, struct submit_work *w)
{
	size_t most = s->slices->slice_steps ? 0 : LARGE;

	if ((w->ntext <= most && !same_is_read(s, w)) || !joblist_begins(w->text, w->ntext, &w->at))
		return submit_now(s, w);
	w->bulk = true;
	w->body = json_array();
	w->phase = SUBMIT_READ;
	return true;
}

/* ---- hooks ---- */

static void hook_begin(struct server *s, struct submit_work *w)
{
	static const char *const roles[] = {
		[ROLE_USER] = "user", [ROLE_OPERATOR] = "operator", [ROLE_MANAGER] = "manager"};
	const char *group = user_group(s, w->who.uid, w->who.gid);

	w->hook = hooks_ask(
		s, HOOK_SUBMIT,
		json_pack("{s:s, s:s?, s:s}", "user", w->who.user, "group", group, "role", roles[w->who.role]), w->text,
		w->ntext, NULL, NULL);
}

/* Waits for the hooks. Their changes are applied when the jobs are read. */
static bool hook_step(struct server *s, struct submit_work *w)
{
	const struct hook_answer *last = w->hook->answers.n ? &w->hook->answers.v[w->hook->answers.n - 1] : NULL;
	struct err err;

	if (!w->hook->over) {
		w->work.sleeps = true;
		return true;
	}
	w->phase = SUBMIT_READ;
	if (!last || last->result == HOOK_ACCEPTED)
		return submit_begin(s, w);
	hooked_mails(s, last);
	/* needed for the record of the refused job */
	if (!w->body && request_number(w->r))
		w->body = api_body(w->r, &err);
	int rc = err_code(&err, CODE_REFUSED, "%s", last->message);
	if (w->hook->answers.n > 1)
		err_prefix(&err, rc, "jobs[%zu]", w->hook->answers.n - 1);
	return submit_refuse(s, w, &err);
}

/* Writes a job that was made here into the request's memory, for the hooks. */
static void job_write(struct submit_work *w)
{
	struct strbuf text = {0};

	json_write(w->body, &text);
	w->text = arena_strndup(request_arena(w->r), text.text, text.n);
	w->ntext = text.n;
	strbuf_fini(&text);
}

void submit_start(struct server *s, const struct call *c, json_t *job)
{
	struct submit_work *w = mem_zalloc(sizeof *w);
	struct err err;
	int keyed = subkey_given(c->r, w->key, &err);

	w->r = c->r;
	w->who = *c->w;
	w->body = job;
	w->text = job ? "" : request_body(c->r, &w->ntext);
	w->keyed = keyed > 0;
	w->phase = SUBMIT_READ;
	if (keyed < 0) {
		submit_refuse(s, w, &err);
	} else if (hooks_want(s, HOOK_SUBMIT) && !(w->keyed && submitted_find(s, &w->who, w->key))) {
		w->phase = SUBMIT_HOOK;
		if (job)
			job_write(w);
		hook_begin(s, w);
		work_add(s, &w->work, &submit_kind);
	} else if (submit_begin(s, w)) {
		work_add(s, &w->work, &submit_kind);
	}
}

void api_submit(struct server *s, const struct call *c)
{
	submit_start(s, c, NULL);
}
