/*
 * reason.c - the reasons why a job waits, one row each: its name for programs and its sentence.
 */
#include <stdlib.h>

#include "base/amount.h"
#include "base/hostlist.h"
#include "rules/credit.h"
#include "sched/explain_internal.h"
#include "sched/sched_internal.h"

/* A sentence being written. */
struct telling {
	const struct sched *s;
	uint32_t id;
	const struct job *job;
	const struct reason *r;
	job_namer name;
	void *context;
	struct strbuf *out;
};

/* Writes a duration between two texts. */
static void text_time(const struct telling *t, const char *before, int64_t seconds, const char *after)
{
	char text[32];

	strbuf_printf(t->out, "%s%s%s", before, duration_human(seconds, text, sizeof text), after);
}

/* Writes the time until the reason begins. */
static void text_start(const struct telling *t, const char *before, const char *after)
{
	text_time(t, before, t->r->by_start - t->s->now, after);
}

static void text_job(const struct telling *t, const char *before, uint32_t job)
{
	strbuf_puts(t->out, before);
	if (t->name)
		t->name(t->context, job, t->out);
	else
		strbuf_printf(t->out, "%u", job);
}

static const char *are(int64_t n)
{
	return n == 1 ? "is" : "are";
}

static const char *dim_name(const struct sched *s, enum res_dim d, int64_t n)
{
	switch (d) {
	case RES_CPU:
		return n == 1 ? "CPU" : "CPUs";
	case RES_GPU:
		return n == 1 ? "GPU" : "GPUs";
	case RES_SHARE:
		return "thousandths of a shared node's CPU";
	default:
		return names_get(&s->c->res_names, (uint32_t)d - RES_NAMED);
	}
}

/* Writes the most of each resource that a single node has free for as long as the job takes. */
static void node_most(const struct sched *s, uint32_t job, struct res *ret)
{
	const struct nodeset *on = cluster_job_nodes(s->c, cluster_job(s->c, job));
	int64_t length = cluster_length(s->c, cluster_job(s->c, job));

	*ret = (struct res){0};
	for (uint32_t n = 0; n < s->p->nnodes; n++) {
		struct res least = {0};
		if (!s->c->nodes.v[n].up || !sched_node_open(s, n) || (on && !nodeset_has(on, n)))
			continue;
		timeline_least(&s->p->node[n].line, s->now, s->now + length, &least);
		for (int d = 0; d < s->c->nres; d++)
			if (least.v[d] > ret->v[d])
				ret->v[d] = least.v[d];
	}
}

/* Names the resource, other than CPUs, of which no single node has enough, if there is one. */
static void text_scattered(const struct telling *t)
{
	const struct sched *s = t->s;
	const struct request *q = cluster_job_request(s->c, t->job);
	struct res most, need = {0};
	char asked[32], free[32];

	strbuf_puts(t->out, "enough is free in total, but not enough on single nodes");
	node_most(s, t->id, &most);
	for (uint32_t i = 0; i < (q->uniform ? 1 : q->nfrags); i++)
		for (int d = 0; d < s->c->nres; d++)
			if (s->c->shapes.v[q->frag[i].shape].need.v[d] > need.v[d])
				need.v[d] = s->c->shapes.v[q->frag[i].shape].need.v[d];
	for (int d = 0; d < s->c->nres; d++) {
		if (need.v[d] <= most.v[d] || d == RES_CPU || d == RES_SHARE)
			continue;
		if (res_kib(d))
			strbuf_printf(t->out, ": one node must have %s of %s, and the most that is free on one is %s",
				      memory_format(need.v[d], asked, sizeof asked), res_kib(d),
				      memory_format(most.v[d], free, sizeof free));
		else
			strbuf_printf(t->out, ": one node must have %lld %s, and the most that is free on one is %lld",
				      (long long)need.v[d], dim_name(s, (enum res_dim)d, need.v[d]),
				      (long long)most.v[d]);
		return;
	}
}

/* Writes amounts in hours of the unit, at the full price. */
static void credit_text(const struct limit_reached *r, int64_t asked, struct strbuf *out)
{
	struct credit_tariff t = {(enum credit_unit)(r->measure - LIMIT_CREDIT), 100};
	char most[40], used[40], need[40];

	strbuf_printf(
		out,
		"its account, or one above it, has too few credits (%s): the job may use %s; of %s, other jobs hold %s",
		credit_unit_name(t.unit), duration_format(credit_price(&t, asked), need, sizeof need),
		duration_format(credit_price(&t, r->most), most, sizeof most),
		duration_format(credit_price(&t, r->used), used, sizeof used));
}

/* "the limit of 64 CPUs of its user is reached (max_cpus): it asks for 8, and 60 are in use" */
static void limit_text(const struct limit_reached *r, int64_t asked, struct strbuf *out)
{
	bool users = r->kind == LIMIT_USER || r->kind == LIMIT_QUEUE_USER, many = r->most != 1;
	const char *soft = r->soft ? "soft " : "", *attr = r->soft ? "soft_" : "", *whose = limit_whose(r->kind);
	char most[32], used[32], need[32];

	if (r->measure >= LIMIT_CREDIT) {
		credit_text(r, asked, out);
		return;
	}
	if (r->measure == LIMIT_JOBS)
		strbuf_printf(out, "the %slimit of %lld running %s%s %s is reached (%s%s)", soft, (long long)r->most,
			      r->kind == LIMIT_ARRAY ? "element" : "job", many ? "s" : "", whose, attr,
			      r->kind == LIMIT_ARRAY ? "%, qsub -t"
			      : users		     ? "max_user_run"
						     : "max_running");
	else if (r->measure == LIMIT_CPUS)
		strbuf_printf(
			out,
			"the %slimit of %lld CPU%s %s is reached (%smax_cpus): it asks for %lld, and %lld are in use",
			soft, (long long)r->most, many ? "s" : "", whose, attr, (long long)asked, (long long)r->used);
	else if (r->measure == LIMIT_CPU_SECONDS)
		strbuf_printf(
			out,
			"the %slimit of %lld CPU-seconds %s is reached (%smax_cpu_seconds): it asks for %lld, and running jobs have %lld left",
			soft, (long long)r->most, whose, attr, (long long)asked, (long long)r->used);
	else
		strbuf_printf(
			out,
			"the %slimit of %s of memory %s is reached (%smax_memory): it asks for %s, and %s are in use",
			soft, memory_format(r->most, most, sizeof most), whose, attr,
			memory_format(asked, need, sizeof need), memory_format(r->used, used, sizeof used));
	if (r->soft)
		strbuf_puts(out, "; it starts when no other job can use the CPUs that it needs");
}

/* Returns the kept amount by which a reservation keeps too much from the job, or NULL. */
static const struct kept_amount *kept_by(const struct sched *s, uint32_t id, uint32_t reservation)
{
	const struct job *job = cluster_job(s->c, id);
	const struct request *q = cluster_job_request(s->c, job);
	const struct kept_amount *k;

	for (uint32_t i = 0; i < q->nportions; i++)
		if (plan_amount_open(s->p, id, q->portion[i].amount, s->now, s->now + cluster_length(s->c, job), &k) <
			    q->portion[i].count &&
		    k && k->fence.id == reservation)
			return k;
	return NULL;
}

static void text_reservation(const struct telling *t)
{
	const struct sched *s = t->s;
	const struct reason *r = t->r;
	uint32_t bound = t->job->bound, id = r->reservation || bound == BOUND_NOWHERE ? r->reservation : bound;
	const char *name = id ? names_get(&s->c->reservation_names, id - 1) : NULL;
	const struct kept_amount *k;

	name = name ? name : "?";
	if (bound == BOUND_NOWHERE) {
		strbuf_puts(t->out, "it is bound to a reservation that does not admit it");
	} else if (bound && !r->reservation) {
		strbuf_printf(t->out, "it is bound to reservation %s, which is over, or too far ahead to be planned",
			      name);
	} else if (bound) {
		strbuf_printf(t->out, "it is bound to reservation %s, which ", name);
		if (r->by_start <= s->now)
			text_time(t, "ends in ", r->by_end - s->now, ", before the job would");
		else
			text_start(t, "begins in ", "");
	} else if (r->by_start > s->now) {
		strbuf_printf(t->out, "it would still be running when reservation %s begins", name);
		text_start(t, " in ", "");
	} else {
		if ((k = kept_by(s, t->id, r->reservation)))
			strbuf_printf(t->out, "reservation %s keeps %lld of %lld %s from it", name, (long long)k->count,
				      (long long)s->c->amounts.v[k->amount].total,
				      names_get(&s->c->amount_names, k->amount));
		else
			strbuf_printf(t->out, "reservation %s blocks nodes that it needs", name);
		if (r->by_end != TIME_NEVER)
			text_time(t, " for another ", r->by_end - s->now, "");
	}
}

static void text_holders(const struct telling *t)
{
	const job_vec *v = &t->r->holders;

	strbuf_printf(t->out, "; held by job%s", v->n > 1 ? "s" : "");
	for (size_t i = 0; i < v->n && i < 5; i++)
		text_job(t, i ? ", " : " ", v->v[i]);
	if (v->n > 5)
		strbuf_printf(t->out, " and %zu more", v->n - 5);
	/* Holders are sorted by their ends. */
	int64_t end = plan_piece(t->s->p, v->v[v->n - 1], 0)->end;
	if (end > t->s->now) {
		strbuf_puts(t->out, v->n > 1 ? ", the last of which" : ", which");
		text_time(t, " is planned to end in ", end - t->s->now, "");
	}
}

/* "it needs 2 matlab and 1 of 20 is free: 1 is missing (5 are in use outside the cluster)" */
static void text_amount(const struct telling *t)
{
	const struct sched *s = t->s;
	const struct reason *r = t->r;
	const struct amount *a = &s->c->amounts.v[r->amount];
	const struct kept_amount *k;

	strbuf_printf(t->out, "it needs %lld %s and %lld of %lld %s free: %lld %s missing", (long long)r->needed,
		      names_get(&s->c->amount_names, r->amount), (long long)r->free, (long long)a->total, are(r->free),
		      (long long)r->missing, are(r->missing));
	if (a->elsewhere > 0)
		strbuf_printf(t->out, " (%lld %s in use outside the cluster)", (long long)a->elsewhere,
			      are(a->elsewhere));
	plan_amount_open(s->p, t->id, r->amount, s->now, s->now + cluster_length(s->c, t->job), &k);
	if (k)
		strbuf_printf(t->out, " (%lld %s kept for reservation %s)", (long long)k->count, are(k->count),
			      names_get(&s->c->reservation_names, k->fence.id - 1));
}

static void text_nodes(const struct telling *t)
{
	name_list names = {0};

	for (size_t i = 0; i < t->r->nodes.n; i++)
		vec_push(&names, mem_strdup(names_get(&t->s->c->node_names, t->r->nodes.v[i])));
	hostlist_format(names.v, names.n, t->out);
	name_list_free(&names);
}

static void text_not(const struct telling *t)
{
	strbuf_printf(t->out, "it does not wait: it is %s", job_state_name(t->job->state));
}

static void text_never(const struct telling *t)
{
	const char *usable = t->job->allowed == NODES_ALL ? "are up" : "it may use";
	const struct reason *r = t->r;

	if (r->site)
		strbuf_printf(t->out, "it asks for %lld %s and the site has %lld", (long long)r->needed,
			      names_get(&t->s->c->amount_names, r->amount), (long long)r->free);
	else if (r->missing)
		strbuf_printf(t->out, "it asks for %lld %s and the nodes that %s have %lld", (long long)r->needed,
			      dim_name(t->s, r->dim, r->needed), usable, (long long)r->free);
	else
		strbuf_printf(t->out, "the nodes that %s could not hold it even if they were empty", usable);
}

static void text_short(const struct telling *t)
{
	const struct reason *r = t->r;
	char needed[32], free[32], missing[32];

	if (res_kib(r->dim))
		strbuf_printf(t->out, "it needs %s of %s and %s is free: %s is missing",
			      memory_human(r->needed, needed, sizeof needed), res_kib(r->dim),
			      memory_human(r->free, free, sizeof free),
			      memory_human(r->missing, missing, sizeof missing));
	else
		strbuf_printf(t->out, "it needs %lld %s and %lld %s free: %lld %s missing", (long long)r->needed,
			      dim_name(t->s, r->dim, r->needed), (long long)r->free, are(r->free),
			      (long long)r->missing, are(r->missing));
}

static void text_whole(const struct telling *t)
{
	bool machines = cluster_job_request(t->s->c, t->job)->whole == WHOLE_HOST;

	if (plan_in_partition(t->s->p, t->id))
		strbuf_puts(t->out, "it needs a partition to itself, and no suitable one is free");
	else
		strbuf_printf(t->out, "it needs %lld empty %s%s and %lld %s", (long long)t->r->needed,
			      machines ? "machine" : "node", t->r->needed == 1 ? "" : "s", (long long)t->r->free,
			      are(t->r->free));
}

static void text_reserved(const struct telling *t)
{
	text_job(t, "it would delay job ", t->r->by);
	text_start(t, ", which has a reservation in ", "");
}

static void text_turn(const struct telling *t)
{
	text_job(t, "job ", t->r->by);
	strbuf_puts(t->out, " comes first and nothing may pass it");
}

static void text_limit(const struct telling *t)
{
	limit_text(&t->r->limit, t->r->needed, t->out);
}

static void text_leaves(const struct telling *t)
{
	strbuf_printf(t->out, "node %s goes out of service", names_get(&t->s->c->node_names, t->r->node));
	text_start(t, " in ", ", before the job would end");
}

static void text_hours(const struct telling *t)
{
	text_start(
		t,
		"its checkpoints take long, so it runs only in the hours for such jobs (long_checkpoint_hours); the next that suffice begin in ",
		"");
}

static void text_booked(const struct telling *t)
{
	strbuf_puts(t->out, "nodes that it needs are kept free of jobs ");
	if (t->r->by_start > t->s->now)
		text_start(t, "in ", ", before it would end: ");
	else
		strbuf_puts(t->out, "now: ");
}

static void text_order(const struct telling *t)
{
	bool one = t->r->needed == 1;

	strbuf_printf(
		t->out,
		"%lld other waiting job%s compete%s with it, and the order in which jobs are considered favors them",
		(long long)t->r->needed, one ? "" : "s", one ? "s" : "");
	if (t->r->by != JOB_NONE)
		text_job(t, "; the first is job ", t->r->by);
}

/* The reasons. Nodes, holders and a walltime with which the job would start follow the sentence. */
static const struct {
	const char *name;
	bool of_nodes;
	const char *text; /* the sentence; or */
	void (*write)(const struct telling *t);
} rows[WHY_COUNT] = {
	[WHY_NOT] = {"not", false, NULL, text_not},
	[WHY_NEXT] = {"next", false, "nothing blocks it: it starts in the next cycle", NULL},
	[WHY_HELD] = {"held", false, "it is held; release it", NULL},
	[WHY_NEVER] = {"never", true, NULL, text_never},
	[WHY_SHORT] = {"short", true, NULL, text_short},
	[WHY_SCATTERED] = {"scattered", true, NULL, text_scattered},
	[WHY_WHOLE] = {"whole", true, NULL, text_whole},
	[WHY_RESERVED_FOR] = {"reserved", false, NULL, text_reserved},
	[WHY_TURN] = {"turn", false, NULL, text_turn},
	[WHY_LIMIT] = {"limit", false, NULL, text_limit},
	[WHY_LEAVES] = {"leaves", false, NULL, text_leaves},
	[WHY_RESERVATION] = {"reservation", false, NULL, text_reservation},
	[WHY_HOURS] = {"hours", false, NULL, text_hours},
	[WHY_AMOUNT] = {"amount", false, NULL, text_amount},
	[WHY_NODES] = {"nodes", true, "nodes that it needs are down or do not accept jobs: ", NULL},
	[WHY_AVOIDED] = {"avoided", false, "it avoids nodes where it failed: ", NULL},
	[WHY_BOOKED] = {"booked", false, NULL, text_booked},
	[WHY_ORDER] = {"order", false, NULL, text_order},
};

const char *why_name(enum why why)
{
	return rows[why].name;
}

bool reason_of_nodes(enum why why)
{
	return rows[why].of_nodes;
}

void reason_fini(struct reason *r)
{
	vec_free(&r->holders);
	vec_free(&r->nodes);
}

bool sched_too_late(const struct sched *s, uint32_t id)
{
	const struct job *job = cluster_job(s->c, id);

	return job->state == STATE_CANDIDATE && job->deadline != TIME_NEVER && !s->policy->position &&
	       cluster_latest(s->c, job) >= s->now && sched_may(s, id);
}

bool reason_too_late(const struct sched *s, uint32_t job, const struct reason *r)
{
	return r->why != WHY_NEXT && r->why != WHY_NEVER && r->why != WHY_LIMIT && sched_too_late(s, job);
}

static void text_sentence(const struct telling *t)
{
	const struct reason *r = t->r;

	strbuf_puts(t->out, rows[r->why].text ? rows[r->why].text : "");
	if (rows[r->why].write)
		rows[r->why].write(t);
	if (r->nodes.n)
		text_nodes(t);
	if (r->holders.n)
		text_holders(t);
	if (r->shorter > 0)
		text_time(t, "; with a walltime of ", r->shorter, " or less it would start now");
}

void reason_text(const struct sched *s, uint32_t id, const struct reason *r, job_namer name, void *context,
		 struct strbuf *out)
{
	const struct job *job = cluster_job(s->c, id);
	struct telling t = {s, id, job, r, name, context, out};

	text_sentence(&t);
	if (reason_too_late(s, id, r))
		text_time(&t, "; as planned that is too late for its deadline, and it expires unless it starts within ",
			  cluster_latest(s->c, job) - s->now, "");
	if (s->policy->position && job_waits(job) && job->nice > s->now)
		text_time(&t, "; for another ", job->nice - s->now, " it is nice, and jobs submitted later go first");
	if (!r->allocated || r->when == TIME_NEVER)
		return;
	if (job->deadline == TIME_NEVER)
		text_time(&t, "; it has a reservation in ", r->when - s->now, "");
	else if (job->guaranteed)
		text_time(&t, "; its slot in ", r->when - s->now,
			  " is the latest that meets its deadline, and it starts earlier if it can");
	else
		text_time(&t, "; its deadline can't be met, so it starts as soon as it can, in ", r->when - s->now, "");
}

bool sched_bound_text(const struct sched *s, uint32_t id, struct fence *ret, struct strbuf *out)
{
	const struct job *job = cluster_job(s->c, id);
	struct reason r = {.why = WHY_RESERVATION, .by_start = TIME_NEVER, .by_end = TIME_NEVER};
	struct fence f;

	*ret = (struct fence){
		.id = job->bound == BOUND_NOWHERE ? 0 : job->bound, .start = TIME_NEVER, .end = TIME_NEVER};
	if (!job->bound || !job_waits(job))
		return false;
	if (fences_find(s, id, sched_length(s, job), &f)) {
		*ret = f;
		r.reservation = f.id;
		r.by_start = f.start;
		r.by_end = f.end;
	}
	if (r.by_start <= s->now && sched_length(s, job) <= r.by_end - s->now)
		return false; /* the reservation is in force and long enough */
	text_sentence(&(struct telling){.s = s, .id = id, .job = job, .r = &r, .out = out});
	return true;
}

bool sched_limit_text(const struct sched *s, uint32_t id, struct limit_reached *ret, int64_t *ret_asked,
		      struct strbuf *out)
{
	if (!limit_explain(s, cluster_job(s->c, id), ret, ret_asked))
		return false;
	limit_text(ret, *ret_asked, out);
	return true;
}
