/*
 * chain.c - see chain.h.
 */
#include "hooks/chain.h"

#include <stdlib.h>

#include "base/mem.h"

void hook_answer_fini(struct hook_answer *a)
{
	free(a->message);
	json_decref(a->changes);
	json_decref(a->log);
	json_decref(a->mails);
	json_decref(a->ran);
	*a = (struct hook_answer){0};
}

/* ---- calls ---- */

static void add(json_t **list, json_t *x)
{
	if (!*list)
		*list = json_array();
	json_array_append_new(*list, x);
}

static void changes_add(struct hook_answer *a, json_t *job, const json_t *changes)
{
	if (!changes)
		return;
	hook_changes_apply(job, changes);
	if (!a->changes)
		a->changes = json_object();
	hook_changes_apply(a->changes, changes);
}

static void verdict_add(struct hook_answer *a, const char *file, const struct hook_verdict *v)
{
	const json_t *x;
	size_t i;

	json_array_foreach(v->log, i, x) add(&a->log, json_pack("{s:s, s:O}", "file", file, "text", x));
	json_array_foreach(v->mails, i, x) add(&a->mails, json_incref((json_t *)x));
}

/* Takes one file's verdict. Returns true if the next file is to be called. */
static bool verdict_take(const struct hook_chain *c, const char *file, struct hook_verdict *v, json_t *job,
			 enum hook_event event, struct hook_answer *a)
{
	bool decides = event == HOOK_SUBMIT || event == HOOK_MODIFY;
	struct err err;

	if (v->result == HOOK_FAILED && !(decides && c->failure_refuses))
		return true;
	if (v->result == HOOK_ACCEPTED) {
		changes_add(a, job, v->changes);
		verdict_add(a, file, v);
		return true;
	}
	verdict_add(a, file, v);
	a->result = v->result;
	if (v->result == HOOK_REFUSED)
		err_set(&err, 0, "%s", v->message);
	else
		err_set(&err, 0,
			"the site's hook %.100s failed, so nothing is accepted now; inform the administrator: %s", file,
			v->message);
	a->message = mem_strdup(err.text);
	json_decref(a->changes);
	a->changes = NULL;
	return false;
}

static void file_call(const struct hook_chain *c, size_t i, const struct hook_subject *subject,
		      struct hook_verdict *ret)
{
	if (!c->file[i].broken) {
		hook_call(&c->file[i].source, &c->limits, subject, ret);
		return;
	}
	ret->result = HOOK_FAILED;
	ret->message = mem_strdup(c->file[i].broken);
}

void hook_chain_call(const struct hook_chain *c, const struct hook_subject *subject, struct hook_answer *ret)
{
	struct hook_subject x = *subject;
	bool asks = subject->event == HOOK_MODIFY, more = true;
	json_t *own = json_deep_copy(asks ? subject->asked : subject->job);

	*ret = (struct hook_answer){0};
	if (asks)
		x.asked = own;
	else
		x.job = own;
	for (size_t i = 0; i < c->n && more; i++) {
		const char *name = c->file[i].source.name;
		struct hook_verdict v = {0};
		if (!c->file[i].broken && !(c->file[i].events & 1u << subject->event))
			continue;
		if (c->begins)
			c->begins(c->context, i);
		int64_t begin = c->clock_us ? c->clock_us(c->context) : 0;
		file_call(c, i, &x, &v);
		int64_t end = c->clock_us ? c->clock_us(c->context) : 0;
		add(&ret->ran, json_pack("{s:s, s:I, s:s?}", "file", name, "us", (json_int_t)(end - begin), "failed",
					 v.result == HOOK_FAILED ? v.message : NULL));
		more = verdict_take(c, name, &v, own, subject->event, ret);
		hook_verdict_fini(&v);
	}
	json_decref(own);
}

/* Calls the hooks for one job. Returns true if the next job is to be handled. */
static bool job_call(const struct hook_chain *c, const struct hook_inquiry *q, const json_t *job, const json_t *asked)
{
	struct hook_subject x = {.event = q->event, .job = job, .asked = asked, .facts = q->facts, .site = q->site};
	struct hook_answer a;
	bool accepted;

	hook_chain_call(c, &x, &a);
	accepted = a.result == HOOK_ACCEPTED;
	return q->tell(q->context, &a) && accepted;
}

size_t hook_chain_body(const struct hook_chain *c, const struct hook_inquiry *q)
{
	const json_t *list = json_object_get(q->body, "jobs"), *asked = json_object_get(q->body, "asked"), *job;
	size_t answered = 0;

	if (!json_is_object(q->body))
		return 0;
	if (q->event == HOOK_SUBMIT && json_is_array(list)) {
		for (bool more = true; more && json_is_object(job = json_array_get(list, answered)); answered++)
			more = job_call(c, q, job, asked);
		return answered;
	}
	job = q->event == HOOK_SUBMIT ? q->body : json_object_get(q->body, "job");
	if (!json_is_object(job) || (q->event == HOOK_MODIFY && !json_is_object(asked)))
		return 0;
	job_call(c, q, job, asked);
	return 1;
}
