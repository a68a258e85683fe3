/*
 * world.c - see world.h.
 */
#include "support/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static void on_event(void *context, const struct event *e)
{
	struct world *w = context;

	vec_push(&w->record, (struct record){*e, w->nodes.n});
	for (uint32_t i = 0; i < e->nnodes; i++)
		vec_push(&w->nodes, e->nodes[i]);
}

void world_init(struct world *w, const char *policy)
{
	*w = (struct world){0};
	assert_non_null(policy_find(policy));
	w->policy = *policy_find(policy);
	w->c = cluster_create();
	w->c->settings.tolerance = 0;
	w->c->settings.starve_after = TIME_NEVER;
}

void world_add_nodes(struct world *w, int count, int64_t cpus)
{
	struct res total = {.v = {cpus}};
	char name[16];

	for (int i = 0; i < count; i++) {
		snprintf(name, sizeof name, "n%zu", w->c->nodes.n + 1);
		assert_int_equal(cluster_add_node(w->c, name, &total, NULL), 0);
	}
}

void world_open(struct world *w)
{
	w->p = plan_create(w->c);
	w->s = sched_create(w->c, w->p, &w->policy);
	sched_listen(w->s, on_event, w);
}

void world_fini(struct world *w)
{
	sched_destroy(w->s);
	plan_destroy(w->p);
	cluster_destroy(w->c);
	vec_free(&w->record);
	vec_free(&w->nodes);
}

uint32_t world_submit(struct world *w, int64_t now, enum job_kind kind, const char *request, int64_t walltime,
		      int64_t deadline, unsigned powers)
{
	struct arena *arena = arena_create();
	struct reqtext text;
	struct err err;
	uint32_t id = 0;

	reqtext_init(&text);
	if (reqtext_parse(&text, request, arena, &err) != 0 || cluster_request(w->c, &text, &id, &err) != 0)
		fail_msg("%s: %s", request, err.text);
	arena_destroy(arena);

	struct job *job = cluster_add_job(w->c);

	job->request = id;
	job->walltime = walltime;
	job->kind = (uint8_t)kind;
	job->deadline = deadline;
	job->powers = (uint8_t)powers;
	job->limits = w->limits_of_next;
	job->ending = w->ending_of_next;
	sched_submit(w->s, job->id, now);
	return job->id;
}

uint32_t world_common(struct world *w, int64_t now, const char *request, int64_t walltime)
{
	return world_submit(w, now, KIND_COMMON, request, walltime, TIME_NEVER, 0);
}

void world_decide(struct world *w, int64_t now)
{
	sched_cycle(w->s, now);
	plan_check(w->p);
	for (uint32_t i = 0; i < w->c->jobs.n; i++)
		job_check(cluster_job(w->c, i));
}

void world_confirm(struct world *w, int64_t now)
{
	for (; w->confirmed < w->record.n; w->confirmed++) {
		const struct event *e = &w->record.v[w->confirmed].e;
		if (e->type == EVENT_START && world_job(w, e->job)->state == STATE_NOW)
			sched_started(w->s, e->job, now);
	}
}

void world_cycle(struct world *w, int64_t now)
{
	world_decide(w, now);
	world_confirm(w, now);
}

void world_because(const struct world *w, uint32_t job, enum why why, const char *text)
{
	struct strbuf out = {0};
	struct reason r;

	sched_explain(w->s, job, &r);
	plan_check(w->p);
	reason_text(w->s, job, &r, NULL, NULL, &out);
	assert_string_equal(why_name(r.why), why_name(why));
	assert_string_equal(strbuf_text(&out), text);
	reason_fini(&r);
	strbuf_fini(&out);
}

struct job *world_job(const struct world *w, uint32_t job)
{
	return cluster_job(w->c, job);
}

int world_node(const struct world *w, uint32_t job, uint32_t frag)
{
	return plan_holds(w->p, job) ? plan_place(w->p, job, frag)->node + 1 : 0;
}

int world_count(const struct world *w, uint32_t job, enum event_type type)
{
	int n = 0;

	for (size_t i = 0; i < w->record.n; i++)
		n += w->record.v[i].e.job == job && w->record.v[i].e.type == type;
	return n;
}

const struct event *world_last(const struct world *w, uint32_t job, enum event_type type)
{
	const struct event *last = NULL;

	for (size_t i = 0; i < w->record.n; i++)
		if (w->record.v[i].e.job == job && w->record.v[i].e.type == type)
			last = &w->record.v[i].e;
	assert_non_null(last);
	return last;
}
