/*
 * overview.c - see overview.h.
 *
 * It must cost the same with a million jobs that have ended: running jobs are found in the plan, waiting ones in the scheduler's order, the caller's own by
 * their chain (entry.before), and blocked ones by looking at the newest entries only.
 */
#include "server/api/overview.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/map.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "core/cluster.h"
#include "net/http.h"
#include "plan/plan.h"
#include "sched/order.h"
#include "server/api/api.h"
#include "server/api/call.h"
#include "server/api/counts.h"
#include "server/api/machine.h"
#include "server/api/schemas.h"
#include "server/api/show.h"
#include "server/base/words.h"
#include "server/job/entry.h"
#include "server/job/jobs.h"
#include "server/job/spec.h"
#include "server/life/foresee.h"
#include "server/server.h"
#include "server/site/who.h"
#include "store/store.h"

#define ROWS 30	     /* of each list of jobs */
#define OWN 12	     /* of the caller's own */
#define PEOPLE 12    /* users */
#define LOOKED 20000 /* entries that are looked at for own jobs, and for blocked ones: the newest */

#define JOB_FIELDS                                                                                                                   \
	"id,name,owner,queue,state,type,cpus,nodect,walltime,created,started,ended,exit_status,cause,comment,reason,expected_start," \
	"expected_end,planned_start,deadline,guaranteed,no_estimate,array_counts"

static const struct field person_fields[] = {
	{"user", .is = REQUIRED | IS_TEXT},
	{"running", .is = REQUIRED | IS_INT},
	{"cpus", .is = REQUIRED | IS_INT, "of running jobs"},
	{"waiting", .is = REQUIRED | IS_INT, "jobs that could start if there were room"},
	{0},
};
static const struct schema person = {.fields = person_fields};
static const struct field overview_fields[] = {
	{"user", .is = REQUIRED | IS_TEXT, "who asks"},
	{"role", .is = REQUIRED | IS_TEXT, .words = "user|operator|manager"},
	{"machine", .is = REQUIRED | IS_OBJECT, .of = &machine_answer},
	{"cpus_used", .is = REQUIRED | IS_INT},
	{"running", .is = REQUIRED | IS_INT, "jobs of all users"},
	{"waiting", .is = REQUIRED | IS_INT, "the same; with those that are held"},
	{"running_jobs", .is = REQUIRED | IS_LIST, "at most 30, by their planned end", .of = &job_schema,
	 .item = IS_OBJECT},
	{"waiting_jobs", .is = REQUIRED | IS_LIST, "at most 30, in the scheduler's order; then blocked ones",
	 .of = &job_schema, .item = IS_OBJECT},
	{"own_jobs", .is = REQUIRED | IS_LIST, "the caller's newest, at most 12; an array is one", .of = &job_schema,
	 .item = IS_OBJECT},
	{"users", .is = REQUIRED | IS_LIST, "at most 12, those with the most CPUs first", .of = &person,
	 .item = IS_OBJECT},
	{0},
};
const struct schema overview_answer = {"Overview", .fields = overview_fields};

struct active {
	int64_t end;
	uint32_t job;
};

struct person {
	uint32_t user; /* word */
	int64_t running, cpus, waiting;
};

struct overview {
	struct server *s;
	const struct asker *who;
	struct field_list fields;
	VEC(struct active) running;
	job_vec waiting; /* in the scheduler's order */
	VEC(struct person) people;
	struct map person_of; /* word -> index + 1 */
};

static int by_end(const void *a, const void *b)
{
	const struct active *x = a, *y = b;

	if (x->end != y->end)
		return x->end < y->end ? -1 : 1;
	return x->job < y->job ? -1 : x->job > y->job;
}

static int by_cpus(const void *a, const void *b)
{
	const struct person *x = a, *y = b;

	if (x->cpus != y->cpus)
		return x->cpus > y->cpus ? -1 : 1;
	if (x->waiting != y->waiting)
		return x->waiting > y->waiting ? -1 : 1;
	return x->user < y->user ? -1 : x->user > y->user;
}

static struct person *person_of(struct overview *o, uint32_t user)
{
	uint64_t *at = map_at(&o->person_of, user);

	if (!*at) {
		vec_push(&o->people, (struct person){.user = user});
		*at = o->people.n;
	}
	return &o->people.v[*at - 1];
}

/* A job on several nodes is counted where its first fragment is. */
static void running_collect(struct overview *o)
{
	struct server *s = o->s;

	for (uint32_t n = 0; n < s->plan->nnodes; n++)
		for (size_t i = 0; i < s->plan->node[n].pieces.n; i++) {
			const struct piece *x = &s->plan->node[n].pieces.v[i];
			const struct entry *e = &s->jobs->entries.v[x->job];
			if (x->frag != 0 || !e->spec || !entry_running(s, x->job))
				continue;
			vec_push(&o->running, (struct active){x->end, x->job});
			if (may_see(s, o->who, e->spec)) {
				struct person *p = person_of(o, e->spec->owner);
				p->running++;
				p->cpus += request_cpus(cluster_job_request(s->cluster, entry_job(s, x->job)));
			}
		}
	if (o->running.n > 1)
		qsort(o->running.v, o->running.n, sizeof *o->running.v, by_end);
}

static void waiting_collect(struct overview *o)
{
	struct server *s = o->s;

	sched_order(s->sched, &o->waiting);
	for (size_t i = 0; i < o->waiting.n; i++) {
		const struct spec *p = s->jobs->entries.v[o->waiting.v[i]].spec;
		if (p && may_see(s, o->who, p))
			person_of(o, p->owner)->waiting++;
	}
}

static bool job_write(struct overview *o, struct json *j, uint32_t id, const struct array *a)
{
	const struct entry *e = &o->s->jobs->entries.v[id];

	if (!e->spec || !may_see(o->s, o->who, e->spec))
		return false;
	json_open_object(j, NULL);
	show_members(o->s, j, id, a, &o->fields, NULL);
	json_close_object(j);
	return true;
}

static void running_write(struct overview *o, struct json *j)
{
	int left = ROWS;

	json_open_array(j, "running_jobs");
	for (size_t i = 0; i < o->running.n && left > 0; i++)
		left -= job_write(o, j, o->running.v[i].job, NULL);
	json_close_array(j);
}

static uint32_t newest(const struct server *s)
{
	uint32_t n = (uint32_t)s->jobs->entries.n;

	return n > LOOKED ? n - LOOKED : 1;
}

static void waiting_write(struct overview *o, struct json *j)
{
	struct server *s = o->s;
	struct map listed = {0};
	int left = ROWS;

	json_open_array(j, "waiting_jobs");
	for (size_t i = 0; i < o->waiting.n && left > 0; i++) {
		left -= job_write(o, j, o->waiting.v[i], NULL);
		map_set(&listed, o->waiting.v[i], 1);
	}
	for (uint32_t id = newest(s); id < s->jobs->entries.n && left > 0; id++) {
		uint64_t is;
		if (s->jobs->entries.v[id].spec && !entry_ended(s, id) && !entry_running(s, id) &&
		    !map_get(&listed, id, &is))
			left -= job_write(o, j, id, NULL);
	}
	json_close_array(j);
	map_fini(&listed);
}

/* An array is passed over in one step: its elements came one after the other. */
static void own_write(struct overview *o, struct json *j)
{
	struct server *s = o->s;
	uint32_t id = tally_of(s, word_add(s, o->who->user), 0)->newest;
	int left = OWN, looked = 0;

	json_open_array(j, "own_jobs");
	for (; id && left > 0 && looked++ < LOOKED; id = s->jobs->entries.v[id].before) {
		const struct entry *e = &s->jobs->entries.v[id];
		const struct array *a =
			e->spec && job_key_index(e->key) >= 0 ? array_find(s, job_key_number(e->key)) : NULL;
		if (a)
			id = a->first;
		if (e->spec && e->spec->uid == o->who->uid)
			left -= job_write(o, j, id, a);
	}
	json_close_array(j);
}

static void people_write(struct overview *o, struct json *j)
{
	if (o->people.n > 1)
		qsort(o->people.v, o->people.n, sizeof *o->people.v, by_cpus);
	json_open_array(j, "users");
	for (size_t i = 0; i < o->people.n && i < PEOPLE; i++) {
		json_open_object(j, NULL);
		json_text(j, "user", word(o->s, o->people.v[i].user));
		json_int(j, "running", o->people.v[i].running);
		json_int(j, "cpus", o->people.v[i].cpus);
		json_int(j, "waiting", o->people.v[i].waiting);
		json_close_object(j);
	}
	json_close_array(j);
}

void api_overview(struct server *s, const struct call *c)
{
	static const char *const role[] = {"user", "operator", "manager"};
	struct overview o = {.s = s, .who = c->w};
	int64_t nodes, cpus, used;
	struct strbuf out = {0};
	struct json j;

	show_fields_parse(JOB_FIELDS, &o.fields, NULL);
	o.fields.sparse = true;
	foresee(s);
	cluster_sum(s, &nodes, &cpus, &used);
	running_collect(&o);
	waiting_collect(&o);
	json_init(&j, &out, false);
	json_open_object(&j, NULL);
	json_text(&j, "user", c->w->user);
	json_text(&j, "role", role[c->w->role]);
	machine_write(s, &j, "machine", may_see_all(s, c->w));
	json_int(&j, "cpus_used", used);
	json_int(&j, "running", (int64_t)o.running.n);
	json_int(&j, "waiting", s->jobs->total - (int64_t)o.running.n);
	running_write(&o, &j);
	waiting_write(&o, &j);
	own_write(&o, &j);
	people_write(&o, &j);
	json_close_object(&j);
	vec_free(&o.running);
	vec_free(&o.waiting);
	vec_free(&o.people);
	map_fini(&o.person_of);
	http_reply_strbuf(c->r, 200, "application/json", &out);
}
