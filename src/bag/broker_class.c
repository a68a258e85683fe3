/*
 * broker_class.c - the needs of tasks at a cluster: classes, the shape of requests, and what the
 * cluster refuses.
 */
#include <inttypes.h>

#include "bag/cluster_internal.h"
#include "base/amount.h"
#include "base/timetext.h"

#define NUMBERS 10000 /* numbers of requests per cluster; see cluster_of() */

void cluster_warn(void *arg, const char *text)
{
	const struct broker *b = ((struct cluster *)arg)->broker;

	if (b->options->warn)
		b->options->warn(b->options->arg, text);
}

int allocation_of(const struct cluster *c, int id)
{
	return c->number * NUMBERS + id;
}

struct cluster *cluster_of(const struct broker *b, int allocation, int *ret_id)
{
	size_t at = (size_t)(allocation / NUMBERS);

	*ret_id = allocation % NUMBERS;
	return allocation > 0 && at < b->clusters.n ? b->clusters.v[at] : NULL;
}

void allocation_joined(const struct broker *b, int allocation, int64_t *ret_procs, int64_t *ret_tasks)
{
	*ret_procs = *ret_tasks = 0;
	for (size_t i = 0; i < b->peers.n; i++) {
		const struct peer *p = b->peers.v[i];
		if (p && p->worker && p->request == allocation) {
			*ret_procs += p->cpus / BAG_CPU;
			*ret_tasks += (int64_t)p->flights.n;
		}
	}
}

static int bits(int64_t n)
{
	int k = 0;

	for (; n > 0; n = n > 1 ? (n + 1) / 2 : 0)
		k++;
	return k;
}

static int64_t whole_cpus(const struct bag_need *need)
{
	return (need->cpus + BAG_CPU - 1) / BAG_CPU;
}

static int64_t memory_each(const struct bag_need *need)
{
	return need->memory ? need->memory / whole_cpus(need) + 1 : 0;
}

struct class need_class(const struct bag_need *need)
{
	return (struct class){need->gpus, bits(whole_cpus(need)), bits(memory_each(need)), bits(need->seconds)};
}

bool class_same(const struct class *a, const struct class *b)
{
	return a->gpus == b->gpus && a->cpus == b->cpus && a->memory == b->memory && a->seconds == b->seconds;
}

bool need_suits(const struct bag_need *need, bool gpus, int64_t processors, int64_t seconds)
{
	return need->cpus <= processors * BAG_CPU && (gpus || need->gpus == 0) &&
	       (seconds < 0 || need->seconds <= seconds);
}

bool cluster_serves(const struct cluster *c, size_t need)
{
	return c->served[need] && need_suits(&c->broker->bag.needs.v[need], c->gpus, c->limits.procs, c->limits.time);
}

/* Returns true if the shape must hold tasks with that need. */
static bool shapes(const struct cluster *c, size_t need)
{
	return cluster_serves(c, need) && queue_waits(c->broker->queue, (uint32_t)need) > 0;
}

void cluster_reshape(struct cluster *c)
{
	const struct broker *b = c->broker;
	bool any = false;

	c->shape = (struct provider_shape){.each = 1};
	for (size_t i = 0; i < b->bag.needs.n && !(any && c->exact); i++) {
		const struct bag_need *need = &b->bag.needs.v[i];
		if (!shapes(c, i))
			continue;
		int64_t cpus = whole_cpus(need), memory = memory_each(need);
		c->shape.each = cpus > c->shape.each ? cpus : c->shape.each;
		c->shape.gpus = need->gpus > c->shape.gpus ? need->gpus : c->shape.gpus;
		c->shape.memory = memory > c->shape.memory ? memory : c->shape.memory;
		any = true;
	}
	if (c->provider && c->provider->kind->reshape)
		c->provider->kind->reshape(c->provider, &c->shape);
}

bool cluster_refused(void *arg, const char *why)
{
	struct cluster *c = arg;
	const struct broker *b = c->broker;
	bool any = false, several = false;

	for (size_t i = 0; i < b->bag.needs.n; i++) {
		const struct bag_need *need = &b->bag.needs.v[i];
		if (!shapes(c, i))
			continue;
		if (whole_cpus(need) != c->shape.each || need->gpus != c->shape.gpus ||
		    memory_each(need) != c->shape.memory) {
			several = true;
			continue;
		}
		c->served[i] = 0;
		any = true;
	}
	if (any) {
		strbuf_clear(&c->why);
		strbuf_printf(&c->why, "%s: %s", c->place, why);
	}
	c->exact = c->exact || several;
	cluster_reshape(c);
	return any || several;
}

bool cluster_nodes(struct cluster *c, const struct provider_plan *plan)
{
	const struct broker *b = c->broker;
	struct provider_node most = {0};
	bool any = false;
	char part[32];

	for (size_t k = 0; k < plan->nnodes; k++)
		if (plan->nodes[k].cpus > most.cpus ||
		    (plan->nodes[k].cpus == most.cpus && plan->nodes[k].memory > most.memory))
			most = plan->nodes[k];
	for (size_t i = 0; plan->nnodes && i < b->bag.needs.n; i++) {
		const struct bag_need *need = &b->bag.needs.v[i];
		bool held = !shapes(c, i);
		for (size_t k = 0; k < plan->nnodes && !held; k++)
			held = need->cpus <= plan->nodes[k].cpus * BAG_CPU && need->gpus <= plan->nodes[k].gpus &&
			       need->memory <= plan->nodes[k].memory;
		if (held)
			continue;
		c->served[i] = 0;
		any = true;
	}
	if (!any)
		return false;
	strbuf_clear(&c->why);
	strbuf_printf(&c->why, "the largest node of %s has %" PRId64 " CPU%s", c->place, most.cpus,
		      most.cpus == 1 ? "" : "s");
	if (most.gpus != INT64_MAX)
		strbuf_printf(&c->why, ", %" PRId64 " GPU%s", most.gpus, most.gpus == 1 ? "" : "s");
	if (most.memory != INT64_MAX)
		strbuf_printf(&c->why, " and %s of memory", memory_human(most.memory, part, sizeof part));
	cluster_reshape(c);
	return true;
}

/* Returns true if all hosts are in use and none of their workers could run the task. */
static bool hosts_lack(const struct cluster *c, const struct bag_need *need)
{
	const struct broker *b = c->broker;
	struct provider_limits limits;
	struct provider_request r;

	if (need->gpus > 0)
		return true;
	c->provider->kind->limits(c->provider, &limits);
	for (int id = 1; c->provider->kind->look(c->provider, id, &r); id++)
		if (r.state == REQUEST_RUNNING && !r.joined)
			return false;
	for (size_t i = 0; i < b->peers.n; i++) {
		const struct peer *p = b->peers.v[i];
		int id;
		if (p && p->worker && cluster_of(b, p->request, &id) == c && need->cpus <= p->cpus &&
		    (p->memory < 0 || need->memory <= p->memory))
			return false;
	}
	return limits.hosts > 0 && limits.hosts == limits.used;
}

bool cluster_holds(const struct broker *b, uint32_t at, struct strbuf *why)
{
	const struct bag_need *need = &b->bag.needs.v[at];
	char most[32];

	for (size_t i = 0; i < b->clusters.n; i++) {
		const struct cluster *c = b->clusters.v[i];
		if (c->elastic ? cluster_serves(c, at) : !hosts_lack(c, need))
			return true;
		bool small = c->elastic && !need_suits(need, c->gpus, c->limits.procs, c->limits.time);
		if (!c->elastic)
			strbuf_printf(why, "; no host of %s has that", c->place);
		else if (small && c->mine[at])
			strbuf_printf(why,
				      "; a request to %s has at most %" PRId64
				      " CPUs, for %s (see --request-cpus and --request-time)",
				      c->place, c->limits.procs, duration_human(c->limits.time, most, sizeof most));
		else if (c->mine[at] && c->why.n)
			strbuf_printf(why, "; %s", c->why.text);
	}
	return false;
}
