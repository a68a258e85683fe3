/*
 * terms.c - see terms.h.
 */
#include "sim/terms.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "plan/insert.h"
#include "rules/reservation.h"
#include "rules/weigh.h"

#define DAY 86400 /* seconds of a day, UTC */

static const struct wterms *terms_of(const struct terms *t, const struct wjob *j)
{
	static const struct wterms none = {0};

	return j->terms ? &t->w->terms.v[j->terms - 1] : &none;
}

/* Returns the number of a group, an account or a QoS in `limits`; 0: none. */
static uint32_t party_number(struct terms *t, const char *name)
{
	return name ? names_add(&t->parties, name) + 1 : 0;
}

static void object_limits(struct terms *t, const struct object *x)
{
	bool all = strcmp(x->name, OBJECT_DEFAULT) == 0;
	uint32_t number = 0;

	if (!object_table[x->kind].defaults)
		return;
	if (!all && x->kind == OBJECT_USER && !names_find(&t->w->users, x->name, &number))
		return;
	number = all ? 0 : x->kind == OBJECT_USER ? number + 1 : party_number(t, x->name);
	limits_of_object(t->limits, x->kind, number, &x->attrs);
	if (x->kind == OBJECT_ACCOUNT && number)
		limits_parent(t->limits, number, party_number(t, attrs_text(&x->attrs, SET_PARENT)));
}

static uint32_t account_number(void *context, const char *account)
{
	return party_number(context, account);
}

int terms_init(struct terms *t, const struct workload *w, const struct ruleset *site, struct sched *sched,
	       struct err *err)
{
	*t = (struct terms){
		.w = w, .site = site, .gate = gate_create(), .limits = limits_create(), .arena = arena_create()};
	t->sched = sched;
	t->lays = TIME_NEVER;
	if (site)
		limits_of_server(t->limits, &site->attrs);
	for (size_t i = 0; site && i < site->queues.n; i++)
		limits_of_queue(t->limits, (uint32_t)i + 1, &site->queues.v[i].attrs);
	for (int k = 0; site && k < OBJECT_KINDS; k++)
		for (size_t i = 0; i < site->objects.of[k].n; i++)
			object_limits(t, site->objects.of[k].v[i]);
	if (site || w->terms.n) /* otherwise there are no limits */
		sched_limit(sched, t->limits);
	return bank_open(&t->bank, w, site, t->limits, account_number, t, err);
}

void terms_prioritize(struct terms *t, struct cluster *c, const struct priority_settings *x)
{
	t->c = c;
	t->priority = *x;
	if (x->order == PRIORITY_POLICY || x->weight[FACTOR_FAIRSHARE] == 0)
		return;
	t->shares = shares_create();
	fairshare_settings_of(&t->fairshare, &t->site->attrs);
	shares_aim(t->shares, &t->site->objects);
}

void terms_fini(struct terms *t)
{
	bank_close(&t->bank);
	gate_destroy(t->gate);
	limits_destroy(t->limits);
	map_fini(&t->by_id);
	map_fini(&t->array_at);
	names_fini(&t->parties);
	map_fini(&t->counts);
	heap_fini(&t->releases);
	vec_free(&t->queues);
	vec_free(&t->access);
	vec_free(&t->runs);
	vec_free(&t->members);
	vec_free(&t->set);
	vec_free(&t->cpus);
	shares_destroy(t->shares);
	arena_destroy(t->arena);
}

/* ---- the site, in the form rules/admit.h expects ---- */

static bool site_queue(void *context, const char *name, struct admit_queue *ret)
{
	const struct terms *t = context;
	int at = ruleset_find(t->site, name);

	if (at >= 0)
		*ret = (struct admit_queue){.name = t->site->queues.v[at].name, .attrs = &t->site->queues.v[at].attrs};
	return at >= 0;
}

static uint64_t count_key(uint32_t queue, uint32_t user)
{
	return (uint64_t)queue << 32 | user;
}

static int64_t site_jobs(void *context, const char *queue, const char *user)
{
	const struct terms *t = context;
	uint32_t number = 0;
	uint64_t n = 0;

	if (user && names_find(&t->w->users, user, &number))
		number++;
	map_get(&t->counts, count_key(queue ? (uint32_t)ruleset_find(t->site, queue) + 1 : 0, number), &n);
	return (int64_t)n;
}

static void count(struct terms *t, uint32_t queue, uint32_t user, int64_t change)
{
	uint64_t keys[] = {count_key(0, 0), count_key(0, user), count_key(queue, 0), count_key(queue, user)}, n;

	for (int i = 0; i < (queue ? 4 : 2); i++) {
		n = 0;
		map_get(&t->counts, keys[i], &n);
		map_set(&t->counts, keys[i], n + (uint64_t)change);
	}
}

static const struct attrs *queue_of(const struct terms *t, uint32_t job)
{
	uint32_t number = job < t->queues.n ? t->queues.v[job] : 0;

	return number ? &t->site->queues.v[number - 1].attrs : NULL;
}

/* Returns true if the user may submit emergency jobs, by the site's lists; without any list,
 * operators are unknown and every user may. */
static bool may_emergency(const struct attrs *a, const char *user, const char *host)
{
	return (!attrs_is_set(a, SET_MANAGERS) && !attrs_is_set(a, SET_OPERATORS)) || strcmp(user, "root") == 0 ||
	       attrs_list_has(a, SET_MANAGERS, user, host) || attrs_list_has(a, SET_OPERATORS, user, host);
}

int terms_admit(struct terms *t, const struct wjob *j, const struct reqtext *text, admit_fits fits, void *context,
		struct taken_in *ret, struct err *err)
{
	const struct wterms *x = terms_of(t, j);
	const struct attrs *a = &t->site->attrs;
	const char *queue = x->queue ? x->queue : attrs_text(a, SET_DEFAULT_QUEUE);
	struct admit_site site = {a, site_queue, site_jobs, t};
	struct admit_job job = {.by = {names_get(&t->w->users, j->user), x->host, x->groups},
				.text = text,
				.count = x->array.count ? x->array.count : 1,
				.array = x->array.count > 0,
				.fits = fits,
				.context = context,
				.interactive = j->interactive};
	struct admitted in;
	int rc;

	if (!queue)
		return err_set(err, -EPERM, "it names no queue, and the site has no default_queue");
	if (j->kind == KIND_EMERGENCY && !may_emergency(a, job.by.user, x->host))
		return err_set(err, -EPERM, "emergency jobs are for operators and managers: use type=Q for a deadline");
	if (++t->asked % 1024 == 0) {
		arena_destroy(t->arena);
		t->arena = arena_create();
	}
	rc = job_admit(&site, queue, &job, t->arena, &in, err);
	if (rc < 0)
		return rc;

	struct access_party party = {.by = job.by,
				     .group = x->groups ? x->groups[0] : NULL,
				     .queue = in.queue.attrs,
				     .queue_name = in.queue.name,
				     .server = a,
				     .now = j->submit};
	const struct object *q;

	*ret = (struct taken_in){
		(uint32_t)ruleset_find(t->site, in.queue.name) + 1, in.text, {x->account, x->qos, x->reservation}};
	rc = access_resolve(&t->site->objects, &party, &ret->access, err);
	q = rc == 0 && ret->access.qos ? object_find(&t->site->objects, OBJECT_QOS, ret->access.qos) : NULL;
	if (q && attrs_bool(&q->attrs, SET_DEDICATED) && ret->text.whole == WHOLE_NOT)
		ret->text.whole = WHOLE_NODE;
	return rc;
}

/* ---- submitting ---- */

static int64_t set_of(const struct terms *t, enum object_kind kind, const char *name)
{
	return name ? objects_number(&t->site->objects, kind, name, SET_PRIORITY, 0) : 0;
}

static struct limit_party party_of(struct terms *t, const struct wjob *j, uint32_t queue, const struct access *access,
				   uint64_t array)
{
	const struct wterms *x = terms_of(t, j);

	return (struct limit_party){.user = j->user + 1,
				    .queue = queue,
				    .array = array,
				    .group = party_number(t, x->groups ? x->groups[0] : NULL),
				    .account = party_number(t, access->account),
				    .qos = party_number(t, access->qos)};
}

int terms_limits(struct terms *t, const struct wjob *j, uint32_t queue, const struct access *access,
		 const struct limit_need *need, struct err *err)
{
	struct limit_party party = party_of(t, j, queue, access, 0);

	return limits_admit(t->limits, &party, need, err);
}

/* Sets which reservations a job may use, and the one that it is bound to. */
static void keys_give(struct terms *t, const struct wjob *j, uint32_t queue, const struct access *access,
		      struct job *job)
{
	const struct wterms *x = terms_of(t, j);
	char number[24];
	struct reservation_party p = {.user = names_get(&t->w->users, j->user),
				      .host = x->host,
				      .group = x->groups ? x->groups[0] : NULL,
				      .account = access->account,
				      .queue = queue ? t->site->queues.v[queue - 1].name : NULL,
				      .qos = access->qos,
				      .job = number};
	const struct object *r =
		access->reservation ? object_find(&t->site->objects, OBJECT_RESERVATION, access->reservation) : NULL;

	snprintf(number, sizeof number, "%lld", (long long)j->id);
	job->keys = reservations_keys(&t->site->objects, t->c, &p);
	if (r)
		job->bound = !reservation_admits(r, &p) ? BOUND_NOWHERE
			     : reservation_binds(r)	? reservation_id(t->c, r->name)
							: 0;
}

void terms_lay(struct terms *t, int64_t now)
{
	node_fence_vec fences = {0};

	if (!t->site || !t->site->objects.of[OBJECT_RESERVATION].n)
		return;
	reservations_fences(&t->site->objects, t->c, now, &fences);
	sched_fences(t->sched, fences.v, fences.n, now);
	vec_free(&fences);
	t->lays = reservations_next(&t->site->objects, now);
}

void terms_fill(struct terms *t, const struct wjob *j, uint32_t queue, const struct access *access, struct job *job)
{
	const struct wterms *x = terms_of(t, j);
	uint64_t array = x->array.count ? (uint64_t)(j->id - j->element) : 0;
	struct limit_party party = party_of(t, j, queue, access, array);

	map_set(&t->by_id, (uint64_t)j->id, job->id + 1);
	while (t->queues.n <= job->id)
		vec_push(&t->queues, 0);
	t->queues.v[job->id] = queue;
	while (t->access.n <= job->id)
		vec_push(&t->access, (struct access){0});
	t->access.v[job->id] = *access;
	if (t->site)
		count(t, queue, j->user + 1, 1);
	if (array && j->element == 0) {
		gate_array(t->gate, job->id, x->array.count);
		map_set(&t->array_at, array, j->terms);
		limits_set(t->limits, LIMIT_ARRAY, array, x->array.limit ? (int64_t)x->array.limit : -1);
	}
	if (t->site || j->terms)
		job->limits = limits_class(t->limits, &party);
	if (t->site)
		access_preempt(&t->site->objects, access->qos, &job->kind, &job->powers);
	if (t->site && t->priority.order != PRIORITY_POLICY) {
		while (t->set.n <= job->id)
			vec_push(&t->set, (struct set_priorities){0});
		t->set.v[job->id] = (struct set_priorities){set_of(t, OBJECT_USER, names_get(&t->w->users, j->user)),
							    set_of(t, OBJECT_GROUP, x->groups ? x->groups[0] : NULL),
							    set_of(t, OBJECT_ACCOUNT, access->account),
							    set_of(t, OBJECT_QOS, access->qos)};
	}
	if (t->shares) {
		while (t->members.n <= job->id)
			vec_push(&t->members, 0);
		t->members.v[job->id] =
			shares_member(t->shares, access->account ? access->account : "",
				      x->groups && *x->groups ? *x->groups : "", names_get(&t->w->users, j->user));
	}
	if (t->site && t->site->objects.of[OBJECT_RESERVATION].n)
		keys_give(t, j, queue, access, job);
	struct libra_terms price = bank_terms(&t->bank, j);

	job->has_price = price.estimate > 0;
	job->priced = price.estimate ? libra_seconds(&price) : 0;
	job->rank = weigh_rank(queue_of(t, job->id), (double)j->submit);
}

void terms_leave(struct terms *t, const struct wjob *j, uint32_t job)
{
	if (t->site)
		count(t, t->queues.v[job], j->user + 1, -1);
}

void terms_refuse(struct terms *t, const struct wjob *j, uint32_t job)
{
	map_remove(&t->by_id, (uint64_t)j->id);
	terms_leave(t, j, job);
}

void terms_charge(struct terms *t, const struct cluster *c, uint32_t job, int64_t ran)
{
	if (t->bank.accounts.n)
		bank_charge(&t->bank, c, cluster_job(c, job), t->access.v[job].account, t->cpus.v[job], ran);
}

int64_t terms_delay(const struct terms *t, uint32_t job)
{
	const struct attrs *q = queue_of(t, job);
	int64_t own = q ? attrs_number(q, SET_KILL_DELAY) : -1;

	return own >= 0 ? own : t->site ? attrs_number(&t->site->attrs, SET_KILL_DELAY) : 0;
}

/* Adds the CPU time of a job in [start, end) to the days on which it was used. */
static void use_split(const struct terms *t, uint32_t job, int64_t start, int64_t end,
		      void (*add)(struct shares *x, uint32_t member, int64_t day, int64_t ms))
{
	while (start < end) {
		int64_t day = start / DAY - (start % DAY < 0), until = (day + 1) * DAY < end ? (day + 1) * DAY : end;
		add(t->shares, t->members.v[job], day, (until - start) * 1000 * t->cpus.v[job]);
		start = until;
	}
}

void terms_started(struct terms *t, const struct plan *p, uint32_t job)
{
	if (!t->shares && !t->bank.accounts.n)
		return;
	while (t->cpus.n <= job)
		vec_push(&t->cpus, 0);
	t->cpus.v[job] = (uint32_t)plan_cpus(p, job);
	if (t->shares)
		vec_push(&t->runs, (struct share_run){job, cluster_job(t->c, job)->attempt});
}

void terms_stopped(struct terms *t, uint32_t job, int64_t started, int64_t now)
{
	if (t->shares && started >= 0)
		use_split(t, job, started, now, shares_use);
}

void terms_prepare(void *context, int64_t now)
{
	struct terms *t = context;
	size_t kept = 0;

	shares_settle(t->shares);
	for (size_t i = 0; i < t->runs.n; i++) {
		const struct job *job = cluster_job(t->c, t->runs.v[i].job);
		if (job->attempt != t->runs.v[i].attempt || (job->state != STATE_RUNNING && job->state != STATE_NOW))
			continue;
		t->runs.v[kept++] = t->runs.v[i];
		if (job->state == STATE_RUNNING)
			use_split(t, job->id, job->start, now, shares_run);
	}
	t->runs.n = kept;
	shares_rank(t->shares, &t->fairshare, now / DAY);
}

double terms_weigh(void *context, uint32_t job, int64_t now)
{
	const struct terms *t = context;
	const struct attrs *q = queue_of(t, job);
	struct prioritized x;
	struct weighing w;

	prioritized_of(&x, t->c, cluster_job(t->c, job));
	if (q)
		x.queue = attrs_number(q, SET_PRIORITY);
	if (job < t->set.n) {
		x.user = t->set.v[job].user;
		x.group = t->set.v[job].group;
		x.account = t->set.v[job].account;
		x.qos = t->set.v[job].qos;
	}
	if (t->shares) {
		if (shares_stale(t->shares))
			terms_prepare(context, now);
		x.fairshare = shares_standing(t->shares, t->members.v[job]);
	}
	priority_weigh(&t->priority, &x, now, &w);
	return w.priority;
}

int terms_priority(const struct terms *t, const struct wjob *j)
{
	return terms_of(t, j)->priority;
}

/* Returns the position of an index among the elements of an array; -1: it is not an element. */
static int64_t element_place(const struct array_spec *a, int64_t index)
{
	int64_t place = 0;

	for (int64_t i = array_next(a, -1); i >= 0 && i < index; i = array_next(a, i))
		place++;
	return array_has(a, index) ? place : -1;
}

static bool find(void *context, const struct jobid *id, uint32_t *ret_job, bool *ret_whole)
{
	const struct terms *t = context;
	uint64_t array, job;
	int64_t place = 0;

	if (!map_get(&t->by_id, id->number, &job))
		return false;
	*ret_whole = id->kind != JOBID_ELEMENT && map_get(&t->array_at, id->number, &array);
	if (id->kind == JOBID_ELEMENT)
		place = map_get(&t->array_at, id->number, &array)
				? element_place(&t->w->terms.v[array - 1].array, id->index)
				: -1;
	*ret_job = (uint32_t)(job - 1 + (uint64_t)place);
	return place >= 0;
}

int terms_depend(const struct terms *t, const struct wjob *j, struct err *err)
{
	const char *text = terms_of(t, j)->depend;
	struct depends d = {0};
	uint32_t job;
	bool whole;
	int rc = text ? depends_parse(text, &d, err) : 0;

	for (uint32_t i = 0; i < d.n && rc == 0; i++)
		for (uint32_t k = 0; k < d.v[i].nids && rc == 0; k++)
			if (!find((void *)t, &d.v[i].id[k], &job, &whole))
				rc = err_set(err, -ENOENT, "depend: there is no job %llu",
					     (unsigned long long)d.v[i].id[k].number);
	depends_fini(&d);
	return rc;
}

enum depend_state terms_enter(struct terms *t, const struct wjob *j, uint32_t job, int64_t now)
{
	const struct wterms *x = terms_of(t, j);
	struct gate_terms g = {.at = x->start, .depend = x->depend, .find = find, .context = t};
	const struct attrs *q = queue_of(t, job);

	if (!j->terms && !t->site)
		return DEPEND_SATISFIED;
	if (q && !attrs_bool(q, SET_STARTED))
		g.block |= BLOCK_QUEUE;
	if (x->release > now) {
		g.block |= BLOCK_USER;
		if (x->release != TIME_NEVER)
			heap_push(&t->releases, x->release, job, 0);
	}
	return gate_enter(t->gate, job, &g, now, NULL);
}

/* ---- later events ---- */

int terms_news(struct terms *t, int64_t now, uint32_t *ret_job)
{
	struct heap_item x;
	enum gate_news news;

	while ((news = gate_news(t->gate, ret_job, NULL)) != NEWS_NONE) {
		if (news == NEWS_DOOMED)
			return -1;
		if (news == NEWS_FREED && !gate_blocks(t->gate, *ret_job))
			return 1;
	}
	while (gate_due(t->gate, now, ret_job))
		if (!gate_blocks(t->gate, *ret_job))
			return 1;
	while (heap_peek(&t->releases, &x) && x.time <= now) {
		heap_pop(&t->releases, &x);
		*ret_job = (uint32_t)x.tie;
		gate_unblock(t->gate, *ret_job, BLOCK_USER);
		if (!gate_blocks(t->gate, *ret_job))
			return 1;
	}
	return 0;
}

void terms_advance(struct terms *t, int64_t now)
{
	t->now = now;
	if (t->bank.accounts.n)
		bank_advance(&t->bank, now);
}

int64_t terms_next(const struct terms *t)
{
	int64_t next = gate_next(t->gate);
	struct heap_item x;

	if (t->lays < next)
		next = t->lays;
	if (bank_next(&t->bank, t->now) < next)
		next = bank_next(&t->bank, t->now);
	return heap_peek(&t->releases, &x) && x.time < next ? x.time : next;
}
