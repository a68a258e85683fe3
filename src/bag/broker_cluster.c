/*
 * broker_cluster.c - workers from clusters that give processors on request: when to request more,
 * when to release them, and how to leave no request behind.
 *
 * Tasks with similar needs form a class, and each class has requests of its own, with a shape that
 * holds its largest task: a few large tasks do not make all requests large. The workers of any
 * request take every task that fits. A place has a struct cluster for each class.
 *
 * The tag of all requests is in the journal before the first one is made, and is closed after they
 * were cancelled. A broker that finds an open tag, because the broker before it was killed, cancels
 * its requests first.
 */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bag/adapter.h"
#include "bag/broker_internal.h"
#include "bag/filler.h"
#include "base/amount.h"
#include "base/text.h"
#include "base/timetext.h"

enum {
	WAIT_US = 1000000,  /* tasks that have waited less long find a worker by themselves */
	JOIN_SECONDS = 120, /* time in which the workers of a running request join */
	PAUSE_MOST = 600,
	FILLER_GUESS = 60, /* assumed seconds of a task before one has finished */
	NUMBERS = 10000,   /* numbers per cluster; see cluster_of() */
	/* a worker that leaves this shortly before its end leaves because of it */
	END_US = 30 * 1000000,
	CLASSES_MOST = 8, /* classes of needs at one place; further needs share the last one */
};

/* Needs in the same class differ by less than a factor of two: powers of two of CPUs, of memory for
 * each of them, and of seconds. */
struct class
{
	int64_t gpus;
	int cpus, memory, seconds;
};

/* What a request has achieved. */
struct account {
	double used;	    /* processor-seconds of tasks finished there */
	int64_t idle_since; /* microseconds; 0: it is in use */
	bool told;	    /* its end is in the journal */
	bool yielded;	    /* it was given back for another job */
	bool cut;	    /* a task was cut off by its end */
	bool released;	    /* it was given back because it had no task */
};

struct cluster {
	struct broker *broker;
	const char *place;
	int number; /* index among the clusters */
	struct class class;
	uint8_t *mine;	   /* by need: 1: it is in this class */
	uint8_t *served;   /* by need: 1: its tasks can be requested for; 0: others do that, or it is too large */
	struct strbuf why; /* words of the cluster when it last refused a need; empty: it did not */
	struct provider_user user;
	struct provider *provider;
	struct adapter *adapter;
	struct adapter_limits limits; /* limits given to the adapter; time -1: no end */
	bool elastic;
	bool gpus; /* GPUs can be requested there */
	struct provider_shape shape;
	/* each need has its own shape, since the cluster refused that of several together */
	bool exact;
	char tag[TAG_SIZE];
	VEC(struct account) accounts; /* by request - 1 */
	int64_t waiting;	      /* since when tasks wait; 0: none waits */
	int64_t decided;	      /* time of the adapter's last decision */
	uint64_t digest;	      /* digest of the requests' states at that time */
	/* after an allocation that finished no task: length of the pause in seconds, and its end by
	 * the clock of broker.now */
	int64_t pause, until;
	int64_t read; /* time of the plan that a filler used last */
};

static void warn(void *arg, const char *text)
{
	const struct broker *b = ((struct cluster *)arg)->broker;

	if (b->options->warn)
		b->options->warn(b->options->arg, text);
}

/* Numbers the requests of all clusters together, from 1; 0 is a worker invited by hand. */
static int allocation_of(const struct cluster *c, int id)
{
	return c->number * NUMBERS + id;
}

static struct cluster *cluster_of(const struct broker *b, int allocation, int *ret_id)
{
	size_t at = (size_t)(allocation / NUMBERS);

	*ret_id = allocation % NUMBERS;
	return allocation > 0 && at < b->clusters.n ? b->clusters.v[at] : NULL;
}

static int prepare(void *arg, const struct provider_request *r, int64_t nodes, const char *key, struct strbuf *command,
		   struct err *err)
{
	struct cluster *c = arg;
	struct broker *b = c->broker;

	strbuf_puts(command, "exec ");
	text_quote(b->options->program, command);
	strbuf_printf(command,
		      " bag worker --credential \"$SHUNT_KEY\" --number \"$SHUNT_NODE\" --name "
		      "\"%.*s-$SHUNT_ALLOCATION-$SHUNT_NODE\" ${SHUNT_CPUS:+--milli-cpus ${SHUNT_CPUS}000} "
		      "${SHUNT_MEMORY:+--memory \"$SHUNT_MEMORY\"} "
		      "${SHUNT_END:+--end \"$SHUNT_END\"} ${CUDA_VISIBLE_DEVICES:+--gpus \"$(echo "
		      "\"$CUDA_VISIBLE_DEVICES\" | tr , '\\n' | grep -c .)\"}",
		      (int)strcspn(c->place, ":"), c->place);
	if (b->options->filler) /* without a broker nothing else gives the nodes back */
		strbuf_printf(command, " --patience %" PRId64, c->user.pace);
	return remote_invite(b, key, nodes, allocation_of(c, r->id), err);
}

static void uninvite(void *arg, int id)
{
	struct cluster *c = arg;

	remote_uninvite(c->broker, allocation_of(c, id));
}

static bool alive(void *arg, int id)
{
	struct cluster *c = arg;
	const struct broker *b = c->broker;

	for (size_t i = 0; i < b->peers.n; i++)
		if (b->peers.v[i] && b->peers.v[i]->worker && b->peers.v[i]->request == allocation_of(c, id))
			return true;
	return false;
}

static void tag_add(struct broker *b, const char *tag, bool last)
{
	journal_add(b->journal,
		    &(struct record){.kind = RECORD_REQUESTS, .last = last, .worker = tag, .nworker = strlen(tag)});
}

void cluster_known(struct broker *b, const struct record *r)
{
	char *tag = mem_zalloc(r->nworker + 1);

	memcpy(tag, r->worker, r->nworker);
	for (size_t i = b->tags.n; r->last && i-- > 0;)
		if (strcmp(b->tags.v[i], tag) == 0) {
			free(b->tags.v[i]);
			vec_remove(&b->tags, i);
		}
	if (r->last || r->nworker >= TAG_SIZE)
		free(tag);
	else
		vec_push(&b->tags, tag);
}

/* Removes files left by a killed broker: credentials, which are no longer accepted, scripts and
 * outputs. */
static void files_remove(const struct broker *b, const char *tag)
{
	const char *colon = strchr(tag, ':'), *name = colon ? colon + 1 : tag;
	DIR *d = opendir(b->options->dir);

	for (const struct dirent *e; d && (e = readdir(d)) != NULL;)
		if (strncmp(e->d_name, name, strlen(name)) == 0)
			unlinkat(dirfd(d), e->d_name, 0);
	if (d && b->remote_listener < 0)
		unlinkat(dirfd(d), "gate", 0);
	if (d)
		closedir(d);
}

static void tag_drop(struct broker *b, size_t at)
{
	tag_add(b, b->tags.v[at], true);
	files_remove(b, b->tags.v[at]);
	free(b->tags.v[at]);
	vec_remove(&b->tags, at);
}

void cluster_clear(struct broker *b)
{
	struct err err;

	for (size_t i = b->tags.n; i-- > 0;) {
		if (provider_clear(b->tags.v[i], &err) == 0) {
			tag_drop(b, i);
			continue;
		}
		err_prefix(&err, 0, "requests of an earlier run may still be there");
		warn(&(struct cluster){.broker = b}, err.text);
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

static struct class class_of(const struct bag_need *need)
{
	return (struct class){need->gpus, bits(whole_cpus(need)), bits(memory_each(need)), bits(need->seconds)};
}

static bool class_same(const struct class *a, const struct class *b)
{
	return a->gpus == b->gpus && a->cpus == b->cpus && a->memory == b->memory && a->seconds == b->seconds;
}

/* Returns true if a request of that size could run such a task. */
static bool suits(const struct bag_need *need, bool gpus, int64_t processors, int64_t seconds)
{
	return need->cpus <= processors * BAG_CPU && (gpus || need->gpus == 0) &&
	       (seconds < 0 || need->seconds <= seconds);
}

/* Returns true if requests of this cluster may be made for tasks with that need. */
static bool serves(const struct cluster *c, size_t need)
{
	return c->served[need] && suits(&c->broker->bag.needs.v[need], c->gpus, c->limits.procs, c->limits.time);
}

/* Returns true if the shape must hold tasks with that need. */
static bool shapes(const struct cluster *c, size_t need)
{
	return serves(c, need) && queue_waits(c->broker->queue, (uint32_t)need) > 0;
}

/* Makes requests as large as the largest tasks of the class that wait; if each need has its own
 * shape, as large as the first. */
static void shape_set(struct cluster *c)
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

/* Gives up requesting for tasks with the current shape, which the cluster refuses. A shape of
 * several needs is divided first. */
static bool refused(void *arg, const char *why)
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
	shape_set(c);
	return any || several;
}

/* Gives up requesting for tasks that no node of the plan can hold; returns false if there are
 * none. */
static bool nodes_check(struct cluster *c, const struct provider_plan *plan)
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
	strbuf_printf(&c->why, "the largest node of %s has %" PRId64 " CPUs", c->place, most.cpus);
	if (most.gpus != INT64_MAX)
		strbuf_printf(&c->why, ", %" PRId64 " GPUs", most.gpus);
	if (most.memory != INT64_MAX)
		strbuf_printf(&c->why, " and %s of memory", memory_human(most.memory, part, sizeof part));
	shape_set(c);
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
		if (c->elastic ? serves(c, at) : !hosts_lack(c, need))
			return true;
		bool small = c->elastic && !suits(need, c->gpus, c->limits.procs, c->limits.time);
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

static int cluster_start(struct broker *b, const char *place, const struct class *class, struct err *err)
{
	const struct broker_options *o = b->options;
	const char *pace = getenv("SHUNT_BAG_PACE");
	struct cluster *c = mem_zalloc(sizeof *c);

	*c = (struct cluster){.broker = b,
			      .place = place,
			      .number = (int)b->clusters.n,
			      .class = *class,
			      .gpus = provider_gpus(place),
			      .mine = mem_zalloc(b->bag.needs.n),
			      .served = mem_zalloc(b->bag.needs.n)};
	vec_push(&b->clusters, c);
	provider_tag(place, o->filler, c->tag);
	tag_add(b, c->tag, false);
	int rc = journal_sync(b->journal, err);
	if (rc < 0)
		return rc;
	struct provider_options p = o->request;
	p.filler = o->filler;
	p.shape.each = 1;
	c->user = (struct provider_user){.dir = o->dir,
					 .tag = c->tag,
					 .pace = pace && atoi(pace) > 0 ? atoi(pace) : 10,
					 .prepare = prepare,
					 .over = uninvite,
					 .alive = alive,
					 .refused = refused,
					 .warn = warn,
					 .arg = c};
	c->provider = provider_create(place, &c->user, &p, err);
	if (!c->provider)
		return -EINVAL;
	c->limits = (struct adapter_limits){.requests = (int)p.requests, .procs = p.processors, .time = p.seconds};
	c->adapter = adapter_create(o->adapter, &c->limits, (int64_t)time(NULL));
	struct provider_limits limits;
	c->provider->kind->limits(c->provider, &limits);
	c->elastic = limits.elastic;
	if (!c->elastic) { /* the size of hosts is known when their workers join */
		c->limits.procs = INT32_MAX;
		c->limits.time = -1;
	}
	return 0;
}

/* Finds the cluster of a place for a class, or starts it; the last one if there are too many. Hosts
 * need no requests, and so no classes. */
static struct cluster *cluster_find(struct broker *b, const char *place, const struct class *class, struct err *err)
{
	struct cluster *last = NULL;
	int n = 0;

	for (size_t i = 0; i < b->clusters.n; i++) {
		struct cluster *c = b->clusters.v[i];
		if (c->place != place)
			continue;
		if (!c->elastic || class_same(&c->class, class))
			return c;
		last = c;
		n++;
	}
	if (n >= CLASSES_MOST)
		return last;
	return cluster_start(b, place, class, err) < 0 ? NULL : b->clusters.v[b->clusters.n - 1];
}

static int place_start(struct broker *b, const char *place, struct err *err)
{
	uint8_t *used = mem_zalloc(b->bag.needs.n);
	int rc = 0;

	for (size_t i = 0; i < b->bag.tasks.n; i++)
		used[b->bag.tasks.v[i].need] = 1;
	for (size_t i = 0; rc == 0 && i < b->bag.needs.n; i++) {
		struct class class = class_of(&b->bag.needs.v[i]);
		struct cluster *c = used[i] ? cluster_find(b, place, &class, err) : NULL;
		rc = used[i] && !c ? -EINVAL : 0;
		if (c)
			c->served[i] = c->mine[i] = 1;
	}
	free(used);
	return rc;
}

int cluster_open(struct broker *b, struct err *err)
{
	int rc = 0;

	cluster_clear(b);
	for (int i = 0; rc == 0 && i < b->options->nplaces; i++)
		rc = place_start(b, b->options->places[i], err);
	for (size_t i = 0; rc == 0 && i < b->clusters.n; i++)
		shape_set(b->clusters.v[i]);
	return rc < 0 ? rc : journal_flush(b->journal, err);
}

/* Counts the processors of a request that have joined, and the tasks that they run. */
static void joined_count(const struct broker *b, int allocation, int64_t *ret_procs, int64_t *ret_tasks)
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

/* The requests that are out. */
struct view {
	struct adapter_request request[ADAPTER_REQUESTS];
	size_t n;
	int64_t coming; /* processors that have not joined yet */
	int64_t flying; /* tasks at their workers */
	uint64_t digest;
};

/* Returns the number of processors wanted by waiting tasks that this cluster could run. */
static int64_t demand_of(const struct cluster *c)
{
	const struct broker *b = c->broker;
	int64_t sum = 0;

	for (size_t i = 0; i < b->bag.needs.n; i++)
		if (serves(c, i))
			sum += queue_waits(b->queue, (uint32_t)i) * b->bag.needs.v[i].cpus;
	return (sum + BAG_CPU - 1) / BAG_CPU;
}

/* Writes one request as `shunt allocations` shows it. */
static void request_put(const struct cluster *c, const struct provider_request *r, int64_t now, struct json *j)
{
	static const char *const states[] = {"requested", "running", "ended", "failed"};
	int64_t procs, tasks, until = r->ended ? r->ended : now;
	bool ran = r->started || r->joined;

	joined_count(c->broker, allocation_of(c, r->id), &procs, &tasks);
	double held = r->started ? (double)(until - r->started) * (double)r->processors : 0;
	double used = c->accounts.v[r->id - 1].used;
	json_open_object(j, NULL);
	json_text(j, "place", c->place);
	json_text(j, "id", r->name);
	json_text(j, "state", r->state == REQUEST_PENDING && ran ? "running" : states[r->state]);
	json_int(j, "cpus", r->processors);
	json_int(j, "seconds", r->seconds);
	json_int(j, "submitted", r->submitted);
	json_int(j, "started", r->started);
	json_int(j, "ended", r->ended);
	json_int(j, "workers_cpus", procs);
	json_int(j, "tasks", tasks);
	json_double(j, "held_seconds", held);
	json_double(j, "used_seconds", used);
	json_double(j, "wasted_seconds", held > used ? held - used : 0);
	json_text(j, "reason", c->accounts.v[r->id - 1].yielded ? "given back for other jobs" : r->failure);
	json_close_object(j);
}

/* Pauses after an allocation in which no task finished although some wait: the next one will
 * hardly do better. */
static void fruitless(struct cluster *c, const struct provider_request *r, int64_t now)
{
	const struct account *a = &c->accounts.v[r->id - 1];
	struct strbuf text = {0};
	int64_t held = now - (r->started ? r->started : r->submitted);

	if (!r->joined || a->used > 0 || demand_of(c) == 0 || !c->elastic || a->yielded)
		return;
	bool taken =
		held < r->seconds - END_US / 1000000 && strcmp(r->outcome, "TIMEOUT") != 0 && !a->cut && !a->released;
	c->pause = c->pause && !taken ? c->pause * 2 : c->user.pace;
	c->pause = c->pause > PAUSE_MOST ? PAUSE_MOST : c->pause;
	c->until = c->broker->now + c->pause * 1000000;
	strbuf_printf(&text, "%s: allocation %s finished no task: ", c->place, r->name);
	if (taken)
		strbuf_printf(&text, "it ended after %" PRId64 " s of the %" PRId64 " s that were granted%s%s", held,
			      r->seconds, r->outcome[0] ? ": " : "", r->outcome);
	else
		strbuf_puts(&text, "they need more time than it had (see --request-time and time=)");
	strbuf_printf(&text, "; the next request is made in %" PRId64 " s at the earliest", c->pause);
	warn(c, text.text);
	strbuf_fini(&text);
}

static void request_tell(struct cluster *c, struct provider_request *r, int64_t now)
{
	struct account *a = &c->accounts.v[r->id - 1];
	struct strbuf text = {0};
	struct json j;

	if (a->told || !r->submitted) /* it was never submitted */
		return;
	a->told = true;
	if (r->state == REQUEST_ENDED)
		fruitless(c, r, now);
	r->ended = r->ended ? r->ended : now;
	r->state = r->state == REQUEST_FAILED ? REQUEST_FAILED : REQUEST_ENDED;
	json_init(&j, &text, false);
	request_put(c, r, now, &j);
	journal_add(c->broker->journal, &(struct record){.kind = RECORD_ALLOCATION, .out = text.text, .nout = text.n});
	c->broker->allocations++;
	strbuf_fini(&text);
}

/* Adds ended requests to the journal; with `all`, every request. */
static void requests_tell(struct cluster *c, bool all)
{
	struct provider_request r;

	for (int id = 1; c->provider->kind->look(c->provider, id, &r); id++)
		if (all || r.state == REQUEST_ENDED || r.state == REQUEST_FAILED)
			request_tell(c, &r, (int64_t)time(NULL));
}

void cluster_put(struct broker *b, struct json *j)
{
	struct provider_request r;

	json_open_array(j, "allocations");
	for (size_t i = 0; i < b->clusters.n; i++) {
		struct cluster *c = b->clusters.v[i];
		for (int id = 1; c->provider->kind->look(c->provider, id, &r); id++)
			if (r.state == REQUEST_PENDING || r.state == REQUEST_RUNNING)
				request_put(c, &r, (int64_t)time(NULL), j);
	}
	json_close_array(j);
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
		joined_count(c->broker, allocation_of(c, id), &procs, &tasks);
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
	if (rc == 0 && nodes_check(c, &plan))
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
	strbuf_printf(&text, "%s: tasks that need %s can't run there: it grants %" PRId64 " CPUs for %s at most",
		      c->place, strbuf_text(&words), now->procs, duration_human(now->time, most, sizeof most));
	warn(c, text.text);
	strbuf_fini(&text);
	strbuf_fini(&words);
}

static void limits_set(struct cluster *c, const struct provider_limits *l)
{
	struct adapter_limits now = {.requests = (int)l->pending, .procs = l->processors, .time = l->seconds};

	if (now.requests == c->limits.requests && now.procs == c->limits.procs && now.time == c->limits.time)
		return;
	for (size_t i = 0; i < c->broker->bag.needs.n; i++)
		if (serves(c, i) && !suits(&c->broker->bag.needs.v[i], c->gpus, now.procs, now.time) &&
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
		if (serves(c, i) && queue_waits(b->queue, (uint32_t)i) && b->bag.needs.v[i].seconds > seconds)
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
		all -= out ? out : has && demand_of(other) > 0;
	}
	return all;
}

/* Asks the adapter. Free workers take the tasks that fit them before this is called, so tasks
 * that have waited for a while need more workers. */
static void decide(struct cluster *c)
{
	struct broker *b = c->broker;
	struct adapter_order orders[ADAPTER_ORDERS];
	struct provider_limits limits;
	struct adapter_view v;
	struct adapter_span guess;
	struct view out;
	int64_t now = (int64_t)time(NULL), demand = demand_of(c);

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
	shape_set(c);
	limits_set(c, &limits);
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
	int64_t demand = demand_of(c);
	struct provider_limits limits;
	struct err err;

	c->provider->kind->limits(c->provider, &limits);
	if (demand == 0 || limits.pending == 0 || c->broker->now < c->until)
		return;
	shape_set(c);
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

/* Called after each reading of the plan. */
static void filler_look(struct cluster *c)
{
	struct provider_plan plan = {0};
	int64_t now = (int64_t)time(NULL);
	struct err err;

	if (c->provider->kind->plan(c->provider, &plan, &err) < 0 || !plan.places || plan.read == c->read ||
	    nodes_check(c, &plan))
		return;
	c->read = plan.read;
	if (filler_in_the_way(plan.places, now))
		filler_yield(c, true);
	else if (filler_waits(plan.places))
		filler_yield(c, false);
	else
		filler_request(c, plan.places, now);
}

/* Releases what is not needed: an allocation without a task for a while, since no task fits into
 * it, and a waiting request when no task waits. */
static void release(struct cluster *c)
{
	struct broker *b = c->broker;
	struct provider_request r;
	bool wanted = demand_of(c) > 0;

	for (int id = 1; c->provider->kind->look(c->provider, id, &r); id++) {
		struct account *a = &c->accounts.v[id - 1];
		int64_t procs, tasks;
		if (r.state == REQUEST_ENDED || r.state == REQUEST_FAILED)
			continue;
		joined_count(b, allocation_of(c, id), &procs, &tasks);
		bool idle = procs > 0 ? tasks == 0 : !wanted;
		a->idle_since = !idle ? 0 : a->idle_since ? a->idle_since : b->now;
		a->released = idle && b->now - a->idle_since >= c->user.pace * 1000000;
		if (a->released)
			c->provider->kind->cancel(c->provider, id);
	}
}

void cluster_look(struct broker *b)
{
	for (size_t i = 0; i < b->clusters.n; i++) {
		struct cluster *c = b->clusters.v[i];
		c->provider->kind->poll(c->provider, provider_now());
		if (b->options->filler)
			filler_look(c);
		else
			decide(c);
		if (c->elastic)
			release(c);
		requests_tell(c, false);
	}
}

void cluster_joined(struct broker *b, int allocation)
{
	int id;
	struct cluster *c = cluster_of(b, allocation, &id);

	if (c && c->provider->kind->joined)
		c->provider->kind->joined(c->provider, id);
}

void cluster_done(struct broker *b, int allocation, int64_t took, int64_t cpus)
{
	int id;
	struct cluster *c = cluster_of(b, allocation, &id);

	if (c && id >= 1 && (size_t)id <= c->accounts.n) {
		c->accounts.v[id - 1].used += (double)(took + 1) / 1e6 * (double)cpus / BAG_CPU;
		c->pause = 0;
	}
	for (size_t i = 0; i < b->clusters.n; i++)
		adapter_task_done(b->clusters.v[i]->adapter, (took + 999999) / 1000000);
}

bool cluster_cut(struct broker *b, const struct peer *p, int64_t stay)
{
	int id;
	struct cluster *c = cluster_of(b, p->request, &id);

	if (!c || p->end < 0 || b->now < p->end - END_US)
		return false;
	adapter_task_cut(c->adapter, stay / 1000000);
	if (id >= 1 && (size_t)id <= c->accounts.n)
		c->accounts.v[id - 1].cut = true;
	return true;
}

bool cluster_dropped(const struct broker *b, const struct peer *p)
{
	int id;
	const struct cluster *c = cluster_of(b, p->request, &id);

	return c && id >= 1 && (size_t)id <= c->accounts.n && c->accounts.v[id - 1].yielded;
}

enum request_fate cluster_fate(const struct broker *b, int allocation)
{
	struct provider_request r;
	int id;
	const struct cluster *c = cluster_of(b, allocation, &id);

	return c && c->provider->kind->look(c->provider, id, &r) ? r.fate : FATE_OPEN;
}

int64_t cluster_longest(const struct broker *b)
{
	int64_t longest = 0;

	if (b->options->workers > 0 || b->options->invite > 0)
		return -1;
	for (size_t i = 0; i < b->clusters.n; i++)
		if (!b->clusters.v[i]->elastic)
			return -1;
	for (size_t i = 0; i < b->clusters.n; i++)
		longest = b->clusters.v[i]->limits.time > longest ? b->clusters.v[i]->limits.time : longest;
	return longest;
}

void cluster_close(struct broker *b)
{
	struct err err;

	for (size_t i = 0; i < b->clusters.n; i++) {
		struct cluster *c = b->clusters.v[i];
		if (c->provider) {
			requests_tell(c, true);
			c->provider->kind->destroy(c->provider);
		}
		if (c->adapter)
			adapter_destroy(c->adapter);
		vec_push(&b->tags, mem_strdup(c->tag));
		if (c->accounts.n == 0 || provider_clear(c->tag, &err) == 0) {
			tag_drop(b, b->tags.n - 1);
		} else {
			warn(c, err.text);
			warn(c, "its requests may still be there: the next run of this bag cancels them");
		}
		vec_free(&c->accounts);
		strbuf_fini(&c->why);
		free(c->mine);
		free(c->served);
		free(c);
	}
	vec_free(&b->clusters);
}
