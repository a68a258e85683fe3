/*
 * overview.c - see overview.h.
 *
 * The cost must not grow with jobs that have ended or wait, even with a million of them: they are
 * counted by the census, running ones are found in the plan, the first waiting ones in the
 * scheduler's order, the caller's own by their chain (entry.before), and blocked ones by examining
 * only the newest entries.
 */
#include "server/api/page/overview.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/codec.h"
#include "base/json.h"
#include "base/map.h"
#include "base/vec.h"
#include "core/cluster.h"
#include "net/http.h"
#include "plan/plan.h"
#include "sched/order.h"
#include "server/api/admin/machine.h"
#include "server/api/frame/api.h"
#include "server/api/frame/call.h"
#include "server/api/frame/request.h"
#include "server/api/frame/schemas.h"
#include "server/api/jobs/show.h"
#include "server/base/words.h"
#include "server/job/census.h"
#include "server/job/entry.h"
#include "server/job/jobs.h"
#include "server/job/spec.h"
#include "server/life/wait/foresee.h"
#include "server/server.h"
#include "server/site/who.h"
#include "store/store.h"

#define ROWS 30	     /* maximum rows of each list of jobs */
#define OWN 12	     /* maximum rows of the caller's own jobs */
#define PEOPLE 12    /* maximum users shown */
#define LOOKED 20000 /* newest entries searched for own and for blocked jobs */

#define JOB_FIELDS                                                                                                                   \
	"id,name,owner,queue,state,type,cpus,nodect,walltime,created,started,ended,exit_status,cause,comment,reason,expected_start," \
	"expected_end,planned_start,deadline,guaranteed,no_estimate,array_counts"

struct active {
	int64_t end;
	uint32_t job;
};

struct person {
	uint32_t user; /* word */
	int64_t running, cpus, waiting;
};

static const struct schema person = {
	FIELDS({"user", .is = REQUIRED | IS_TEXT, MEMBER_AS(FORM_WORD, struct person, user)},
	       {"running", .is = REQUIRED | IS_INT, MEMBER(struct person, running)},
	       {"cpus", .is = REQUIRED | IS_INT, "of running jobs", MEMBER(struct person, cpus)},
	       {"waiting", .is = REQUIRED | IS_INT, "jobs that could start if there were room",
		MEMBER(struct person, waiting)})};

/* The answer in progress. */
struct subject {
	struct server *s;
	const struct asker *who;
	const char *user, *role;
	int64_t used, nrunning, nwaiting; /* used: CPUs; the others: jobs of all users */
	int64_t eligible;		  /* jobs that could start if there were room and the caller may see */
	struct field_list fields;
	VEC(struct active) running; /* the first to end */
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

static struct person *person_of(struct subject *o, uint32_t user)
{
	uint64_t *at = map_at(&o->person_of, user);

	if (!*at) {
		vec_push(&o->people, (struct person){.user = user});
		*at = o->people.n;
	}
	return &o->people.v[*at - 1];
}

/* Adds a running job if it is one of the first to end, which are kept sorted. */
static void running_add(struct subject *o, struct active x)
{
	size_t at = o->running.n;

	if (at == ROWS && by_end(&x, &o->running.v[at - 1]) > 0)
		return;
	while (at > 0 && by_end(&x, &o->running.v[at - 1]) < 0)
		at--;
	if (o->running.n == ROWS)
		o->running.n--;
	vec_insert(&o->running, at, x);
}

/* Finds the running jobs that are shown. A job on several nodes is met at its first fragment. */
static void running_collect(struct subject *o)
{
	const struct server *s = o->s;

	for (uint32_t n = 0; n < s->plan->nnodes; n++)
		for (size_t i = 0; i < s->plan->node[n].pieces.n; i++) {
			const struct piece *x = &s->plan->node[n].pieces.v[i];
			const struct entry *e = entry_get(s, x->job);
			if (x->frag == 0 && e->spec && entry_running(s, x->job) && may_see(s, o->who, e->spec))
				running_add(o, (struct active){x->end, x->job});
		}
}

static void row_count(void *context, const struct census_row *r)
{
	struct subject *o = context;
	struct spec job = {.uid = r->uid, .queue = r->queue, .account = r->account};
	struct person *p;

	o->nrunning += r->running ? r->jobs : 0;
	if ((!r->running && !r->eligible) || !may_see(o->s, o->who, &job))
		return;
	p = person_of(o, r->owner);
	p->running += r->running ? r->jobs : 0;
	p->waiting += r->eligible ? r->jobs : 0;
	o->eligible += r->eligible ? r->jobs : 0;
	p->cpus += r->cpus;
}

static bool job_write(const struct subject *o, struct json *j, uint32_t id, const struct array *a)
{
	const struct entry *e = entry_get(o->s, id);

	if (!e->spec || !may_see(o->s, o->who, e->spec))
		return false;
	json_open_object(j, NULL);
	show_members(o->s, j, id, a, &o->fields, NULL);
	json_close_object(j);
	return true;
}

static void machine_inside(const struct subject *o, struct json *j)
{
	machine_write(o->s, j, may_see_all(o->s, o->who));
}

static void running_inside(const struct subject *o, struct json *j)
{
	for (size_t i = 0; i < o->running.n; i++)
		job_write(o, j, o->running.v[i].job, NULL);
}

static uint32_t newest(const struct server *s)
{
	uint32_t n = s->jobs->entries.n;

	return n > LOOKED ? n - LOOKED : 1;
}

/* The list of waiting jobs in progress. */
struct waiting_list {
	const struct subject *o;
	struct json *j;
	struct map listed; /* those of the newest entries */
	int left;
	int64_t eligible; /* not yet written */
};

static bool waiting_write(void *context, uint32_t id)
{
	struct waiting_list *l = context;

	bool seen = job_write(l->o, l->j, id, NULL);

	l->left -= seen;
	l->eligible -= seen;
	if (id >= newest(l->o->s))
		map_set(&l->listed, id, 1);
	return l->left > 0 && l->eligible > 0;
}

static void waiting_inside(const struct subject *o, struct json *j)
{
	struct server *s = o->s;
	struct waiting_list l = {.o = o, .j = j, .left = ROWS, .eligible = o->eligible};

	if (l.eligible)
		sched_order_each(s->sched, waiting_write, &l);
	for (uint32_t id = newest(s); id < s->jobs->entries.n && l.left > 0; id++) {
		uint64_t is;
		if (entry_get(s, id)->spec && !entry_ended(s, id) && !entry_running(s, id) &&
		    !map_get(&l.listed, id, &is))
			l.left -= job_write(o, j, id, NULL);
	}
	map_fini(&l.listed);
}

/* Lists the caller's own jobs. */
static void own_inside(const struct subject *o, struct json *j)
{
	struct server *s = o->s;
	uint32_t id = tally_of(s, word_add(s, o->who->user), 0)->newest;
	int left = OWN, looked = 0;

	for (; id && left > 0 && looked++ < LOOKED; id = entry_get(s, id)->before) {
		const struct entry *e = entry_get(s, id);
		const struct array *a =
			e->spec && job_key_index(e->key) >= 0 ? array_find(s, job_key_number(e->key)) : NULL;
		if (a)
			id = entry_run(s, id, a->first);
		if (e->spec && e->spec->uid == o->who->uid && (!a || id == a->first))
			left -= job_write(o, j, id, a);
	}
}

static void people_inside(const struct subject *o, struct json *j)
{
	for (size_t i = 0; i < o->people.n && i < PEOPLE; i++)
		schema_show(&person, NULL, &o->people.v[i], o->s->words, j);
}

const struct schema overview_answer = {
	"Overview",
	FIELDS({"user", .is = REQUIRED | IS_TEXT, "the caller", MEMBER(struct subject, user)},
	       {"role", .is = REQUIRED | IS_TEXT, .words = "user|operator|manager", MEMBER(struct subject, role)},
	       {"machine", .is = REQUIRED | IS_OBJECT, .of = &machine_answer, .inside = machine_inside},
	       {"cpus_used", .is = REQUIRED | IS_INT, MEMBER(struct subject, used)},
	       {"running", .is = REQUIRED | IS_INT, "jobs of all users", MEMBER(struct subject, nrunning)},
	       {"waiting", .is = REQUIRED | IS_INT, "the same; with those that are held",
		MEMBER(struct subject, nwaiting)},
	       {"running_jobs", .is = REQUIRED | IS_LIST, "at most 30, by their planned end", .of = &job_schema,
		.item = IS_OBJECT, .inside = running_inside},
	       {"waiting_jobs", .is = REQUIRED | IS_LIST, "at most 30, in the scheduler's order; then blocked ones",
		.of = &job_schema, .item = IS_OBJECT, .inside = waiting_inside},
	       {"own_jobs", .is = REQUIRED | IS_LIST, "the caller's newest, at most 12; an array is one",
		.of = &job_schema, .item = IS_OBJECT, .inside = own_inside},
	       {"users", .is = REQUIRED | IS_LIST, "at most 12, those with the most CPUs first", .of = &person,
		.item = IS_OBJECT, .inside = people_inside})};

void api_overview(struct server *s, const struct call *c)
{
	static const char *const role[] = {"user", "operator", "manager"};
	struct subject o = {.s = s, .who = c->w, .user = c->w->user, .role = role[c->w->role]};
	int64_t nodes, cpus;

	show_fields_parse(JOB_FIELDS, &o.fields, NULL);
	o.fields.sparse = true;
	foresee_update(s);
	cluster_sum(s, &nodes, &cpus, &o.used);
	running_collect(&o);
	census_each(s, row_count, &o);
	o.nwaiting = s->jobs->total - o.nrunning;
	if (o.people.n > 1)
		qsort(o.people.v, o.people.n, sizeof *o.people.v, by_cpus);
	api_show(s, c->r, &overview_answer, &o);
	vec_free(&o.running);
	vec_free(&o.people);
	map_fini(&o.person_of);
}
