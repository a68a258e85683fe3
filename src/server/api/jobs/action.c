/*
 * action.c - an action on many jobs: selects the jobs, acts on one after the other, and reports
 * each result.
 *
 * It is a work (work.h). First the jobs that the ids or the filter select are looked up, then each
 * is changed in its turn, then the answer is written. A job's state at its turn counts: it may have
 * ended by then, and one that no longer fits the filter is left alone. Jobs are kept by core ids,
 * which do not change while the server runs.
 */
#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/codec.h"
#include "base/err.h"
#include "base/json.h"
#include "base/jsonwrite.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/phrase.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "core/job.h"
#include "net/http.h"
#include "plan/plan.h"
#include "server/api/frame/api.h"
#include "server/api/frame/call.h"
#include "server/api/frame/request.h"
#include "server/api/frame/route.h"
#include "server/api/frame/schemas.h"
#include "server/api/jobs/acted.h"
#include "server/api/jobs/audit_jobs.h"
#include "server/api/jobs/change.h"
#include "server/base/post.h"
#include "server/base/words.h"
#include "server/base/work.h"
#include "server/book/accounting.h"
#include "server/job/entry.h"
#include "server/job/jobs.h"
#include "server/job/keys.h"
#include "server/job/spec.h"
#include "server/life/peers/away.h"
#include "server/life/run/hooked.h"
#include "server/server.h"
#include "server/site/hooks.h"
#include "server/site/who.h"

#define NAMED_MAX 1000000	/* maximum jobs that the ids of one request may name */
#define BYTES_MOST (128u << 20) /* maximum of a request's arguments times its jobs: each keeps them */
#define SCAN 256		/* jobs examined in one step */

/* A result in the answer: for an id as given, or for a job that fits the filter. */
struct item {
	const char *text; /* the id in the body; NULL: that of the job with `key` */
	uint64_t key;	  /* used if `text` is NULL */
	uint64_t array;	  /* number of the array whose elements are all meant; 0: none */
	enum code code;	  /* CODE_NONE: no error */
	char *message;	  /* error message, or NULL */
	char *form;	  /* format string of the message, or NULL */
	unsigned short begins;
	uint32_t jobs, done;
	bool skipped; /* it no longer fits the filter */
};

struct target {
	uint32_t job, item;
	bool done;
};

struct action {
	struct work work;
	struct http_request *r;
	struct asker who;
	const struct action_kind *kind;
	struct change c;
	json_t *body;
	const json_t *ids, *filter; /* one of them is set, borrowed from the body */
	/* members of the filter, NULL: any */
	struct {
		const char *user, *queue, *state, *name;
		bool own; /* the user's own jobs */
	} chosen;
	json_t *one; /* ids, if the path named the job */
	/* does a step; returns false after the last one of its phase */
	bool (*phase)(struct action *a);
	size_t at; /* position in the list that the phase goes through */
	uint32_t scan_end;
	size_t named; /* number of jobs named by the ids read so far */
	size_t size;  /* arguments for each job, bytes */
	VEC(struct item) items;
	VEC(struct target) targets;
	/* Spec that the last element of the current item was altered to, and its key if known for
	 * certain. */
	struct spec *altered;
	uint64_t altered_as;
	/* Question to the hooks about one job, shared by the following jobs with the same spec. */
	struct {
		struct hook_ask *ask; /* NULL: none */
		struct spec *of;
		char *text;
		json_t *args; /* arguments with the hooks' changes; NULL: unchanged */
		bool said;    /* the hooks' mails were sent */
	} hook;
	bool begun; /* some job was changed */
	/* with a key: results, including those of earlier requests; NULL: it has no key */
	struct acted *acted;
	bool repeats;	   /* there were results of earlier requests when it began */
	struct map before; /* done_hash() -> index + 1 in acted->done */
	/* identical requests of the same user, which get the same answer */
	VEC(struct http_request *) also;
	struct strbuf out;
	struct json j;
};

static uint32_t item_number(const struct action *a, const struct item *x)
{
	return a->filter ? ITEM_FILTER : (uint32_t)(x - a->items.v);
}

static void item_error(struct item *x, enum code code, const char *message, const char *form, unsigned short begins)
{
	x->code = code;
	x->message = mem_strdup(message);
	x->form = form ? mem_strdup(form) : NULL;
	x->begins = begins;
}

/* Notes an error of one job of the item, or of the item as a whole (key 0). */
static void item_fail(struct action *a, struct item *x, uint64_t key, const struct err *err)
{
	item_error(x, err->code ? err->code : CODE_BAD_REQUEST, err->text, err->form, err->begins);
	if (a->acted)
		acted_add(a->acted, item_number(a, x), key, err);
}

/* ---- results of earlier requests with the same key ---- */

static uint64_t done_hash(uint32_t item, uint64_t key)
{
	uint64_t of[2] = {item, key};

	return hash_bytes(of, sizeof of);
}

static const struct acted_job *done_before(const struct action *a, uint32_t item, uint64_t key)
{
	uint64_t at;

	return map_get(&a->before, done_hash(item, key), &at) ? &a->acted->done.v[at - 1] : NULL;
}

/* Reads the results of earlier requests. An error is also entered for its item as a whole. */
static void before_read(struct action *a)
{
	a->repeats = a->acted->parts > 0;
	for (size_t i = 0; i < a->acted->done.n; i++) {
		const struct acted_job *d = &a->acted->done.v[i];
		map_set(&a->before, done_hash(d->item, d->key), i + 1);
		if (d->code && d->item != ITEM_FILTER)
			map_set(&a->before, done_hash(d->item, 0), i + 1);
		if (d->item != ITEM_FILTER)
			continue;
		vec_push(&a->items, (struct item){.key = d->key});
		if (d->code)
			item_error(&a->items.v[a->items.n - 1], d->code, d->message, d->form, d->begins);
		vec_push(&a->targets, (struct target){.item = (uint32_t)a->items.n - 1, .done = true});
	}
}

/* ---- selecting jobs ---- */

/* Checks that the user may do all of this to the job. Only the body is checked, since hooks may add
 * anything. */
static int permit(const struct action *a, const struct spec *p, const char *id, struct err *err)
{
	const struct server *s = a->c.s;
	int rc = may_do(s, &a->who, a->kind->act, p, id, err);
	const char *key;
	json_t *value;

	if (rc < 0 || a->kind->act != ACT_ALTER || asker_may(s, &a->who, ACT_ALTER_FILES, p))
		return rc;
	json_object_foreach(a->body, key, value)
	{
		char what[200];
		snprintf(what, sizeof what, "Job %.100s is not yours: changing %.60s", id, key);
		if (!role_key_is_harmless(key))
			return may_check(s, &a->who, ACT_ALTER_FILES, p, what, err);
	}
	return 0;
}

/* Checks the rights for all jobs named by one id. An array is changed as a whole or not at all;
 * some elements may be in other queues. */
static int named_check(const struct action *a, const uint32_t *v, size_t n, const char *text, struct err *err)
{
	const struct spec *last = NULL;
	int rc = 0;

	if (n == 0 || !may_see(a->c.s, &a->who, entry_get(a->c.s, v[0])->spec))
		return err_code(err, CODE_UNKNOWN_JOB, "There is no job %.100s.", text);
	for (size_t i = 0; i < n && rc == 0; i++) {
		const struct spec *p = entry_get(a->c.s, v[i])->spec;
		if (p && p != last) {
			last = p;
			rc = permit(a, last, text, err);
		}
	}
	return rc;
}

/* Returns the size of the arguments, which every job is given. */
static size_t arguments_size(const json_t *body)
{
	json_t *rest = json_copy((json_t *)body);
	struct strbuf text = {0};

	json_object_del(rest, "ids");
	json_object_del(rest, "filter");
	json_write(rest, &text);
	json_decref(rest);
	size_t n = text.n;
	strbuf_fini(&text);
	return n;
}

static int size_check(const struct action *a, size_t more, struct err *err)
{
	if (a->size * (a->targets.n + more) <= BYTES_MOST)
		return 0;
	return err_set(
		err, -E2BIG,
		"one request gives its jobs at most %u MB in all, and this one has %zu bytes for each: name fewer jobs",
		BYTES_MOST >> 20, a->size);
}

static void lookup_id(struct action *a, const char *text)
{
	struct server *s = a->c.s;
	uint32_t number = (uint32_t)a->items.n;
	const struct acted_job *failed = done_before(a, number, 0);
	struct array *array = NULL;
	struct item *x;
	job_vec v = {0};
	struct err err;
	int rc;

	vec_push(&a->items, (struct item){.text = text ? text : ""});
	x = &a->items.v[number];
	if (failed)
		item_error(x, failed->code, failed->message, failed->form, failed->begins);
	if (failed || (a->repeats && a->acted->complete))
		return;
	if (a->named > NAMED_MAX)
		rc = err_set(&err, -EINVAL, "one request names at most %d jobs: the rest is for another one",
			     NAMED_MAX);
	else
		rc = text ? jobs_named_of_many(s, text, &v, &array, &a->named, &err)
			  : err_set(&err, -EINVAL, "an id must be a string");
	x->array = array ? array->number : 0;
	if (rc == 0)
		rc = named_check(a, v.v, v.n, text, &err);
	if (rc == 0)
		rc = size_check(a, v.n, &err);
	if (rc < 0)
		item_fail(a, x, 0, &err);
	for (size_t i = 0; i < v.n && rc == 0; i++) {
		bool done = done_before(a, number, entry_get(s, v.v[i])->key);
		vec_push(&a->targets, (struct target){.job = v.v[i], .item = number, .done = done});
		x->done += done;
	}
	x->jobs = rc == 0 ? (uint32_t)v.n : 0;
	vec_free(&v);
}

static bool lookup_ids(struct action *a)
{
	if (a->at < json_array_size(a->ids))
		lookup_id(a, json_string_value(json_array_get(a->ids, a->at++)));
	return a->at < json_array_size(a->ids);
}

static bool filter_fits(const struct action *a, uint32_t id)
{
	const struct server *s = a->c.s;
	const struct spec *p = entry_get(s, id)->spec;

	if (!p || entry_ended(s, id) || !asker_may(s, &a->who, a->kind->act, p) ||
	    (a->chosen.own && a->who.uid != p->uid))
		return false;
	return (!a->chosen.user || strcmp(a->chosen.user, word_text(s, p->owner)) == 0) &&
	       (!a->chosen.queue || strcmp(a->chosen.queue, word_text(s, p->queue)) == 0) &&
	       (!a->chosen.state || strchr(a->chosen.state, entry_state(s, id))) &&
	       (!a->chosen.name || strcmp(a->chosen.name, p->name) == 0);
}

static void filter_read(struct action *a)
{
	a->chosen.user = json_string_value(json_object_get(a->filter, "user"));
	a->chosen.queue = json_string_value(json_object_get(a->filter, "queue"));
	a->chosen.state = json_string_value(json_object_get(a->filter, "state"));
	a->chosen.name = json_string_value(json_object_get(a->filter, "name"));
	/* For a coordinator "all" means their own jobs, unless the filter names a user or queue. */
	a->chosen.own = json_is_true(json_object_get(a->filter, "mine")) ||
			(!a->chosen.user && !a->chosen.queue && a->who.role < ROLE_OPERATOR);
}

/* Selects among the jobs that existed when the action began. */
static bool lookup_filter(struct action *a)
{
	uint32_t end;
	struct err err;

	a->at = rows_next(&a->c.s->jobs->entries, (uint32_t)a->at);
	end = a->at + SCAN > a->scan_end ? a->scan_end : (uint32_t)a->at + SCAN;
	for (; a->at < end; a->at++)
		if (filter_fits(a, (uint32_t)a->at) && !done_before(a, ITEM_FILTER, entry_get(a->c.s, a->at)->key)) {
			uint64_t key = entry_get(a->c.s, a->at)->key;
			bool fits = size_check(a, 1, &err) == 0;
			if (fits)
				vec_push(&a->targets,
					 (struct target){.job = (uint32_t)a->at, .item = (uint32_t)a->items.n});
			vec_push(&a->items, (struct item){.key = key, .jobs = fits});
			if (!fits)
				item_fail(a, &a->items.v[a->items.n - 1], key, &err);
		}
	return a->at < a->scan_end;
}

/* ---- changing jobs ---- */

static void hook_forget(struct action *a)
{
	hook_ask_free(a->hook.ask);
	spec_unref(a->hook.of);
	free(a->hook.text);
	json_decref(a->hook.args);
	memset(&a->hook, 0, sizeof a->hook);
}

static int hook_begin(struct action *a, uint32_t id, struct err *err)
{
	static const char *const roles[] = {
		[ROLE_USER] = "user", [ROLE_OPERATOR] = "operator", [ROLE_MANAGER] = "manager"};
	struct server *s = a->c.s;
	json_t *subject, *facts;
	int rc = change_subject(&a->c, id, &subject, err);

	if (rc < 0)
		return rc;
	hook_forget(a);
	a->hook.of = entry_get(s, id)->spec;
	a->hook.of->refs++;
	a->hook.text = json_dumps(subject, JSON_COMPACT);
	facts = hook_facts(s, id);
	json_object_set_new(facts, "by", json_string(a->who.user));
	json_object_set_new(facts, "role", json_string(roles[a->who.role]));
	a->hook.ask = hooks_ask(s, HOOK_MODIFY, facts, a->hook.text, strlen(a->hook.text), NULL, NULL);
	json_decref(subject);
	return 0;
}

/* Asks the site's hooks about the change of a job. 0: they accept it; 1: try again later; < 0:
 * refused. */
static int hook_see(struct action *a, uint32_t id, struct err *err)
{
	struct server *s = a->c.s;
	bool known = a->hook.ask && a->hook.of == entry_get(s, id)->spec;

	if (!a->kind->hooked || !hooks_want(s, HOOK_MODIFY) || entry_ended(s, id))
		return 0;
	if (!known) {
		int rc = hook_begin(a, id, err);
		if (rc < 0)
			return rc;
	}
	if (!a->hook.ask->over) {
		a->work.sleeps = true;
		return 1;
	}
	const struct hook_answer *answer = a->hook.ask->answers.n ? a->hook.ask->answers.v : NULL;
	if (answer && answer->result != HOOK_ACCEPTED) {
		if (!a->hook.said)
			hooked_mails(s, answer);
		a->hook.said = true;
		return err_code(err, CODE_REFUSED, "%s", answer->message);
	}
	if (answer && answer->changes && !a->hook.args) {
		a->hook.args = json_deep_copy(a->body);
		hook_changes_apply(a->hook.args, answer->changes);
	}
	return 0;
}

/* Makes the change, with the hooks' modifications. An array is recorded once, as a whole. */
static int change_run(struct action *a, const struct item *x, uint32_t id, struct err *err)
{
	struct audit_job before;
	const json_t *args = a->c.args;
	bool seen = a->hook.ask && a->hook.of == entry_get(a->c.s, id)->spec;
	int rc;

	if (seen && a->hook.args)
		a->c.args = a->hook.args;
	bool noted = x->done == 0 && audit_job_begin(&a->c, a->kind, id, &before);
	if (entry_away(entry_get(a->c.s, id)) && a->kind->act != ACT_DELETE && a->kind->act != ACT_MOVE &&
	    !entry_ended(a->c.s, id))
		rc = away_refuse(a->c.s, id, err);
	else
		rc = a->kind->run(&a->c, id, err);
	if (noted && rc == 0)
		audit_job_end(&a->c, a->kind, id, x->array ? x->text : NULL, a->c.args, &before);
	if (noted)
		audit_job_free(&before);
	a->c.args = args;
	if (rc == 0 && seen && a->hook.ask->answers.n && !a->hook.said) {
		hooked_note(a->c.s, id, a->hook.ask->answers.v);
		a->hook.said = true;
	}
	return rc;
}

/* Checks again that the user may change the job: rights, or the job's queue, may have changed since
 * it was looked up. */
static int still_permitted(const struct action *a, const struct item *x, uint32_t id, struct err *err)
{
	const struct spec *p = entry_get(a->c.s, id)->spec;
	struct strbuf name = {0};
	int rc;

	if (a->kind->act != ACT_ALTER && asker_may(a->c.s, &a->who, a->kind->act, p))
		return 0; /* the name is needed for a refusal only */
	if (!x->text)
		entry_id(a->c.s, id, &name);
	rc = permit(a, p, x->text ? x->text : name.text, err);
	strbuf_fini(&name);
	return rc;
}

/* Changes a job. Returns false if it has to wait for the hooks. */
static bool target_change(struct action *a, struct item *x, uint32_t id)
{
	struct server *s = a->c.s;
	struct err err;
	int rc;

	/* after the first error the other elements are skipped; ended elements are ignored */
	if (x->code || (x->jobs > 1 && (!entry_get(s, id)->spec || entry_ended(s, id))))
		return true;
	if (a->filter && !filter_fits(a, id)) {
		x->skipped = true;
		return true;
	}
	if (entry_get(s, id)->spec) {
		rc = still_permitted(a, x, id, &err);
		if (rc == 0)
			rc = hook_see(a, id, &err);
		if (rc > 0)
			return false;
		a->begun = true;
		rc = rc < 0 ? rc : change_run(a, x, id, &err);
	} else {
		rc = err_code(&err, CODE_UNKNOWN_JOB, "There is no job %.100s.", x->text);
	}
	if (rc < 0) {
		item_fail(a, x, entry_get(s, id)->key, &err);
		return true;
	}
	x->done++;
	if (a->acted)
		acted_add(a->acted, item_number(a, x), entry_get(s, id)->key, NULL);
	if (x->array && a->kind->whole) {
		spec_unref(a->altered);
		a->altered = entry_get(s, id)->spec;
		a->altered->refs++;
		a->altered_as = entry_get(s, id)->key;
	}
	return true;
}

static void item_end(struct action *a, struct item *x)
{
	struct array *array = x->array ? array_find(a->c.s, x->array) : NULL;
	struct err err;

	if (!x->code && x->jobs > 1 && x->done == 0) {
		ended_error(&err);
		item_fail(a, x, 0, &err);
	}
	/* all elements were altered, so the array is shown with the new spec */
	if (!x->code && a->altered && array)
		array_alter(a->c.s, array, a->altered, a->altered_as);
	spec_unref(a->altered);
	a->altered = NULL;
}

static bool change_waiting(struct action *a)
{
	if (a->at == a->targets.n)
		return false;

	struct target *t = &a->targets.v[a->at];

	if (!t->done && entry_get(a->c.s, t->job)->spec && entry_job(a->c.s, t->job)->state <= STATE_ALLOCATED) {
		if (!target_change(a, &a->items.v[t->item], t->job))
			return true;
		t->done = true;
	}
	a->at++;
	return true;
}

static bool change_all(struct action *a)
{
	if (a->at == a->targets.n)
		return false;

	struct target t = a->targets.v[a->at];

	if (!t.done && !target_change(a, &a->items.v[t.item], t.job))
		return true;
	a->at++;
	if (t.done && a->repeats && !a->altered && a->kind->whole && a->items.v[t.item].array &&
	    entry_get(a->c.s, t.job)->spec) {
		/* altered by the request that was interrupted */
		a->altered = entry_get(a->c.s, t.job)->spec;
		a->altered->refs++;
		a->altered_as = 0;
	}
	if (a->at == a->targets.n || a->targets.v[a->at].item != t.item)
		item_end(a, &a->items.v[t.item]);
	return true;
}

/* ---- the answer ---- */

/* Result for one id. */
struct subject {
	const struct item *item;
	const char *id;
};

static void error_inside(const struct subject *x, struct json *j)
{
	if (x->item->code)
		error_json(j, x->item->code, x->item->message, x->item->form, x->item->begins);
}

static const struct schema result = {"Result", FIELDS({"id", .is = REQUIRED | IS_TEXT, "as it was given",
						       .example = "12", MEMBER(struct subject, id)},
						      {"error", .is = IS_OBJECT, "why this one was not changed",
						       .of = &error_schema, .inside = error_inside})};
const struct schema results_answer = {
	FIELDS({"results", .is = REQUIRED | IS_LIST, "one for each id, in order", .of = &result, .item = IS_OBJECT}),
	.example =
		"{\"results\": [{\"id\": \"12.host\"}, {\"id\": \"13\", \"error\": {\"code\": \"unknown_job\", \"message\": \"There is no job 13.\"}}]}"};

static void item_write(struct action *a, size_t at)
{
	const struct item *x = &a->items.v[at];
	struct strbuf id = {0};

	if (x->skipped)
		return;
	if (!x->text)
		key_id(a->c.s, x->key, &id);
	schema_show(&result, NULL, &(struct subject){x, x->text ? x->text : id.text}, NULL, &a->j);
	strbuf_fini(&id);
}

static bool write_items(struct action *a)
{
	if (a->at < a->items.n)
		item_write(a, a->at++);
	return a->at < a->items.n;
}

static void action_free(struct action *a)
{
	change_end(&a->c);
	hook_forget(a);
	arena_destroy(a->c.arena);
	for (size_t i = 0; i < a->items.n; i++) {
		free(a->items.v[i].message);
		free(a->items.v[i].form);
	}
	if (a->acted)
		a->acted->running = NULL;
	map_fini(&a->before);
	vec_free(&a->also);
	vec_free(&a->items);
	vec_free(&a->targets);
	spec_unref(a->altered);
	strbuf_fini(&a->out);
	json_decref(a->one);
	json_decref(a->body);
	free(a);
}

static void answer_one(struct action *a, struct http_request *r, bool again)
{
	const struct item *x = a->items.v;
	struct strbuf out = {0};

	if (again)
		http_header(r, "Idempotency-Replayed", "true");
	if (a->one && x->code) {
		struct err err = {.code = x->code, .form = x->form, .begins = x->begins};
		snprintf(err.text, sizeof err.text, "%s", x->message);
		api_refuse(r, &err);
		return;
	}
	if (a->one) {
		reply_empty(a->c.s, r, 200);
		return;
	}
	strbuf_add(&out, a->out.text, a->out.n);
	reply_later(a->c.s, r, 200, &out);
}

static void answer(struct action *a)
{
	if (a->acted)
		acted_keep(a->c.s, a->acted, true);
	json_close_array(&a->j);
	json_close_object(&a->j);
	answer_one(a, a->r, a->repeats);
	for (size_t i = 0; i < a->also.n; i++)
		answer_one(a, a->also.v[i], true);
}

/* ---- steps ---- */

static bool action_step(struct server *s, struct work *w)
{
	struct action *a = (struct action *)w;

	/* some elements of an array being accepted are not yet waiting */
	if (s->slices->accepted) {
		w->waits = true;
		return true;
	}
	if (a->phase(a))
		return true;
	a->at = 0;
	if (a->phase == lookup_ids || a->phase == lookup_filter) {
		a->phase = a->kind->ends ? change_waiting : change_all;
	} else if (a->phase == change_waiting) {
		a->phase = change_all;
	} else if (a->phase == change_all) {
		a->phase = write_items;
	} else {
		answer(a);
		action_free(a);
		return false;
	}
	return true;
}

static void action_pause(struct server *s, struct work *w)
{
	struct action *a = (struct action *)w;

	change_pause(&a->c);
	arena_destroy(a->c.arena);
	a->c.arena = arena_create();
	a->altered_as = 0;
	if (a->acted)
		acted_keep(s, a->acted, a->acted->complete);
}

static void stop_one(const struct action *a, struct http_request *r, const char *why)
{
	if (a->begun || a->repeats)
		http_error(
			r, CODE_OUTCOME_UNKNOWN,
			"The request was not completed (%s): some of the jobs may have been changed, and others not. Check before you repeat it; with an Idempotency-Key it can be repeated safely.",
			why);
	else
		http_error(r, CODE_UNAVAILABLE, "Nothing was changed (%s). Try again later.", why);
}

static void action_stop(struct server *s, struct work *w, const char *why)
{
	struct action *a = (struct action *)w;

	stop_one(a, a->r, why);
	for (size_t i = 0; i < a->also.n; i++)
		stop_one(a, a->also.v[i], why);
	action_free(a);
}

/* Looks up the request's key, which may be in progress or known. Returns false if the request was
 * answered, or will be together with the one in progress. */
static bool key_look(struct server *s, struct http_request *r, const struct asker *w, struct acted **ret)
{
	char key[KEY_MAX + 1];
	struct err err;
	int given = subkey_given(r, key, &err);

	*ret = NULL;
	if (given == 0)
		return true;
	if (given < 0) {
		api_refuse(r, &err);
		return false;
	}
	*ret = acted_find(s, w->uid, key);
	if (!*ret) {
		*ret = acted_begin(s, w->uid, key, request_print(r));
		return true;
	}
	if ((*ret)->print != request_print(r)) {
		http_error(r, CODE_KEY_REUSED,
			   "Idempotency-Key: you have sent this key with another request: use a new key for each one.");
		return false;
	}
	if ((*ret)->running)
		vec_push(&(*ret)->running->also, r);
	return !(*ret)->running;
}

static void action_begin(struct server *s, const struct call *c, const char *name, json_t *one)
{
	static const struct work_kind work = {.step = action_step, .pause = action_pause, .stop = action_stop};
	struct action *a;
	struct acted *acted;

	if (!key_look(s, c->r, c->w, &acted)) {
		json_decref(one);
		return;
	}
	a = mem_zalloc(sizeof *a);
	a->r = c->r;
	a->who = *c->w;
	a->kind = action_find(name);
	a->body = json_incref(c->body);
	a->one = one;
	a->ids = one ? one : json_object_get(c->body, "ids");
	a->filter = a->ids ? NULL : json_object_get(c->body, "filter");
	filter_read(a);
	a->size = arguments_size(c->body);
	a->phase = a->ids ? lookup_ids : lookup_filter;
	a->at = a->ids ? 0 : 1;
	a->scan_end = s->jobs->entries.n;
	a->c = (struct change){.s = s, .w = &a->who, .args = c->body, .arena = arena_create()};
	a->acted = acted;
	if (acted) {
		acted->running = a;
		before_read(a);
		if (acted->complete)
			a->scan_end = 1;
	}
	json_begin(&a->j, &a->out);
	json_open_array(&a->j, "results");
	work_add(s, &a->work, &work);
}

void api_action(struct server *s, const struct call *c)
{
	if (!json_object_get(c->body, "ids") && !json_object_get(c->body, "filter"))
		http_error(c->r, CODE_BAD_REQUEST, "ids must be an array of job ids, or filter an object");
	else
		action_begin(s, c, strrchr(c->route->path, '/') + 1, NULL);
}

void api_action_unknown(struct server *s, const struct call *c)
{
	http_error(c->r, CODE_NOT_FOUND, "There is no action \"%.40s\" on jobs.", c->name);
}

/* Begins an action on the job that the path names. */
static void one_begin(struct server *s, const struct call *c, const char *action)
{
	json_t *one = json_array();

	json_array_append_new(one, json_string_nocheck(c->name));
	action_begin(s, c, action, one);
}

void api_alter_one(struct server *s, const struct call *c)
{
	one_begin(s, c, "alter");
}

void api_delete_one(struct server *s, const struct call *c)
{
	one_begin(s, c, "delete");
}
