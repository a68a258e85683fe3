/*
 * broker_request.c - when a broker requests more from a cluster: by the adapter or, if it fills
 * holes only, by the plan of the server.
 */
#include <errno.h>
#include <inttypes.h>
#include <time.h>

#include "bag/cluster_internal.h"
#include "bag/filler.h"
#include "base/timetext.h"

enum {
	WAIT_US = 1000000,  /* tasks that have waited less long find a worker by themselves */
	JOIN_SECONDS = 120, /* time in which the workers of a running request join */
	FILLER_GUESS = 60,  /* assumed seconds of a task before one has finished */
};

/* The requests that are out. */
struct view {
	struct adapter_request request[ADAPTER_REQUESTS];
	size_t n;
	int64_t coming; /* processors that have not joined yet */
	int64_t flying; /* tasks at their workers */
	uint64_t digest;
};

int64_t cluster_demand(const struct cluster *c)
{
	const struct broker *b = c->broker;
	int64_t sum = 0;

	for (size_t i = 0; i < b->bag.needs.n; i++)
		if (cluster_serves(c, i))
			sum += queue_waits(b->queue, (uint32_t)i) * b->bag.needs.v[i].cpus;
	return (sum + BAG_CPU - 1) / BAG_CPU;
}

static void requests_look(struct cluster *c, int64_t now, struct view *ret)
{
	struct provider_request r;

	*ret = (struct view){0};
	for (int id = 1; c->provider->kind->look(c->provider, id, &r) && ret->n < ADAPTER_REQUESTS; id++) {
		ret->digest += (uint64_t)id * 7 + (uint64_t)r.state * 1000003 * (uint64_t)id;
		if (r.state == REQUEST_ENDED || r.state == REQUEST_FAILED)
			continue;
		int64_t procs, tasks;
		bool running = r.state == REQUEST_RUNNING || r.joined;
		allocation_joined(c->broker, allocation_of(c, id), &procs, &tasks);
		if (!running || (r.started && now - r.started < JOIN_SECONDS))
			ret->coming += r.processors > procs ? r.processors - procs : 0;
		ret->flying += tasks;
		int64_t start = r.started ? r.started : running ? now : r.planned > now ? r.planned : now + 60;
		ret->request[ret->n++] = (struct adapter_request){.id = id,
								  .procs = r.processors,
								  .time = r.seconds,
								  .start = start,
								  .busy = tasks,
								  .running = running};
	}
}

/* Builds the adapter's view of the cluster; without a plan, all of it counts as free. Returns
 * false while the plan is being read. */
static bool view_of(struct cluster *c, const struct view *out, int64_t now, struct adapter_span *guess,
		    struct adapter_view *ret)
{
	struct provider_plan plan = {0};
	struct err err;

	*guess = (struct adapter_span){now, TIME_NEVER, c->limits.procs * c->limits.requests};
	*ret = (struct adapter_view){
		.now = now, .free = guess, .nfree = 1, .request = out->request, .nrequests = out->n};
	int rc = c->provider->kind->plan(c->provider, &plan, &err);
	if (rc == 0 && cluster_nodes(c, &plan))
		return false; /* there is less to request now */
	if (rc == 0) {
		ret->free = plan.free;
		ret->nfree = plan.nfree;
		ret->queued = plan.queued;
		return true;
	}
	/* only static and static-max need no plan */
	return rc != -EAGAIN || c->broker->options->adapter == ADAPTER_STATIC ||
	       c->broker->options->adapter == ADAPTER_STATIC_MAX;
}

/* Warns that the limits found at the cluster are too small for some tasks, which wait for other
 * workers. */
static void outgrown(struct cluster *c, const struct bag_need *need, const struct adapter_limits *now)
{
	struct strbuf text = {0}, words = {0};
	char most[32];

	need_format(need, &words);
	strbuf_printf(&text, "%s: tasks that need %s can't run there: it grants %" PRId64 " CPU%s for %s at most",
		      c->place, strbuf_text(&words), now->procs, now->procs == 1 ? "" : "s",
		      duration_human(now->time, most, sizeof most));
	cluster_warn(c, text.text);
	strbuf_fini(&text);
	strbuf_fini(&words);
}

static void limits_set(struct cluster *c, const struct provider_limits *l)
{
	struct adapter_limits now = {.requests = (int)l->pending, .procs = l->processors, .time = l->seconds};

	if (now.requests == c->limits.requests && now.procs == c->limits.procs && now.time == c->limits.time)
		return;
	for (size_t i = 0; i < c->broker->bag.needs.n; i++)
		if (cluster_serves(c, i) && !need_suits(&c->broker->bag.needs.v[i], c->gpus, now.procs, now.time) &&
		    queue_waits(c->broker->queue, (uint32_t)i))
			outgrown(c, &c->broker->bag.needs.v[i], &now);
	c->limits = now;
	adapter_limit(c->adapter, &now);
}

/* Rounds up to a multiple of the largest waiting task, so that no part of a request is too small
 * for any task. */
static int64_t whole(const struct cluster *c, int64_t procs)
{
	int64_t each = c->shape.each;

	procs = (procs + each - 1) / each * each;
	return procs > c->limits.procs ? c->limits.procs / each * each : procs;
}

/* Returns the seconds of a request that an adapter wants: at least what the longest waiting task
 * states. */
static int64_t long_enough(const struct cluster *c, int64_t seconds)
{
	const struct broker *b = c->broker;

	for (size_t i = 0; i < b->bag.needs.n; i++)
		if (cluster_serves(c, i) && queue_waits(b->queue, (uint32_t)i) && b->bag.needs.v[i].seconds > seconds)
			seconds = b->bag.needs.v[i].seconds;
	return seconds;
}

static void orders_do(struct cluster *c, const struct adapter_order *orders, int n, int64_t lacking)
{
	struct provider_request r;
	struct err err;

	for (int i = 0; i < n; i++) {
		const struct adapter_order *o = &orders[i];
		if (o->what == ADAPTER_CANCEL || o->what == ADAPTER_RELEASE) {
			if (o->what == ADAPTER_CANCEL && c->provider->kind->look(c->provider, (int)o->id, &r))
				lacking += r.processors;
			c->provider->kind->cancel(c->provider, (int)o->id);
		} else if (o->what == ADAPTER_SHRINK && c->provider->kind->shrink) {
			c->provider->kind->shrink(c->provider, (int)o->id, whole(c, o->procs));
		} else if (o->what == ADAPTER_SUBMIT && lacking > 0) {
			int64_t procs = whole(c, o->procs);
			if (c->provider->kind->request(c->provider, procs, long_enough(c, o->time), &err) < 0)
				return;
			vec_push(&c->accounts, (struct account){0});
			lacking -= procs;
		}
	}
}

/* Uses hosts, which need not be requested. */
static void hosts_use(struct cluster *c, int64_t free)
{
	struct err err;

	while (free-- > 0 && c->provider->kind->request(c->provider, 1, -1, &err) > 0)
		vec_push(&c->accounts, (struct account){0});
}

static int64_t requests_out(const struct cluster *c)
{
	struct provider_request r;
	int64_t n = 0;

	for (int id = 1; c->provider->kind->look(c->provider, id, &r); id++)
		n += r.state == REQUEST_PENDING || r.state == REQUEST_RUNNING;
	return n;
}

/* Returns how many of a place's requests this class may have out: all that the others do not have,
 * and if it has one itself, not those that others lack. */
static int64_t share(const struct cluster *c, int64_t all)
{
	const struct broker *b = c->broker;
	bool has = requests_out(c) > 0;

	for (size_t i = 0; i < b->clusters.n; i++) {
		const struct cluster *other = b->clusters.v[i];
		int64_t out = other != c && other->place == c->place ? requests_out(other) : 0;
		if (other == c || other->place != c->place)
			continue;
		all -= out ? out : has && cluster_demand(other) > 0;
	}
	return all;
}

/* Returns how long ago the oldest unfinished task was given to a worker, microseconds; 0: no worker
 * has a task. */
static int64_t peers_oldest(const struct broker *b)
{
	int64_t oldest = b->now;

	for (size_t i = 0; i < b->peers.n; i++)
		if (b->peers.v[i] && b->peers.v[i]->flights.n && b->peers.v[i]->flights.v[0].since < oldest)
			oldest = b->peers.v[i]->flights.v[0].since;
	return b->now - oldest;
}

void cluster_decide(struct cluster *c)
{
	struct broker *b = c->broker;
	struct adapter_order orders[ADAPTER_ORDERS];
	struct provider_limits limits;
	struct adapter_view v;
	struct adapter_span guess;
	struct view out;
	int64_t now = (int64_t)time(NULL), demand = cluster_demand(c);

	c->waiting = demand == 0 ? 0 : c->waiting ? c->waiting : b->now;
	if (demand == 0 || b->now - c->waiting < WAIT_US || b->now - c->decided < WAIT_US)
		return;
	c->provider->kind->limits(c->provider, &limits);
	if (limits.pending == 0 || b->now < c->until)
		return;
	if (!c->elastic) {
		hosts_use(c, limits.pending);
		return;
	}
	limits.pending = share(c, limits.pending);
	if (limits.pending <= 0)
		return;
	limits_set(c, &limits);
	cluster_reshape(c);
	demand = cluster_demand(c); /* without the tasks that can't run there any more */
	if (demand == 0)
		return;
	requests_look(c, now, &out);
	bool open = out.coming < demand && (int)out.n < c->limits.requests, changed = out.digest != c->digest;
	if (!open && !(adapter_reviews(c->adapter) && (changed || adapter_next(c->adapter, now) <= now)))
		return;
	if (!view_of(c, &out, now, &guess, &v))
		return;
	v.pending = demand + out.flying;
	v.idle = demand;
	v.oldest = peers_oldest(b) / 1000000;
	orders_do(c, orders, adapter_decide(c->adapter, &v, orders), demand - out.coming);
	requests_look(c, now, &out);
	c->digest = out.digest;
	c->decided = b->now;
}

/* ---- a filler ---- */

/* Gives back everything, or only waiting requests, whose hole is gone. */
static void filler_yield(struct cluster *c, bool all)
{
	struct provider_request r;

	for (int id = 1; c->provider->kind->look(c->provider, id, &r); id++) {
		bool waits = r.state == REQUEST_PENDING && !r.joined && r.submitted;
		if (r.state == REQUEST_ENDED || r.state == REQUEST_FAILED || (!all && !waits))
			continue;
		c->accounts.v[id - 1].yielded = true;
		c->provider->kind->cancel(c->provider, id);
	}
}

static bool filler_waits(const struct filler_plan *p)
{
	for (size_t i = 0; i < p->pieces.n; i++)
		if (p->pieces.v[i].own && !p->pieces.v[i].running)
			return true;
	return false;
}

static void filler_request(struct cluster *c, const struct filler_plan *p, int64_t now)
{
	int64_t demand = cluster_demand(c);
	struct provider_limits limits;
	struct err err;

	c->provider->kind->limits(c->provider, &limits);
	if (demand == 0 || limits.pending == 0 || c->broker->now < c->until)
		return;
	cluster_reshape(c);
	struct filler_wish w = {.each = c->shape.each,
				.task = c->broker->nusual ? adapter_estimate(c->adapter) : FILLER_GUESS,
				.tasks = demand,
				.cpus = limits.processors,
				.seconds = limits.seconds};
	w.task = w.task > w.seconds ? w.seconds : w.task;
	struct filler_hole hole = filler_hole(p, now, &w);
	if (hole.cpus > 0 && c->provider->kind->request(c->provider, hole.cpus, hole.seconds, &err) > 0)
		vec_push(&c->accounts, (struct account){0});
}

void cluster_fill(struct cluster *c)
{
	struct provider_plan plan = {0};
	int64_t now = (int64_t)time(NULL);
	struct err err;

	if (c->provider->kind->plan(c->provider, &plan, &err) < 0 || !plan.places || plan.read == c->read ||
	    cluster_nodes(c, &plan))
		return;
	c->read = plan.read;
	if (filler_in_the_way(plan.places, now))
		filler_yield(c, true);
	else if (filler_waits(plan.places))
		filler_yield(c, false);
	else
		filler_request(c, plan.places, now);
}
