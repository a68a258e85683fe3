/*
 * broker_cluster.c - workers from clusters that give processors on request: their start, when to
 * release them, and how to leave no request behind.
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

#include "bag/cluster_internal.h"
#include "base/text.h"

enum {
	PAUSE_MOST = 600,
	/* a worker that leaves this shortly before its end leaves because of it */
	END_US = 30 * 1000000,
	CLASSES_MOST = 8, /* classes of needs at one place; further needs share the last one */
};

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

/* The page of a Shunt server reads it again (page/src/bags.tsx). */
static void progress(void *arg, char ret[PROGRESS_SIZE])
{
	const struct broker *b = ((struct cluster *)arg)->broker;
	const struct broker_summary *s = &b->summary;
	int n = snprintf(ret, PROGRESS_SIZE, "%u/%zu done, %u failed, %u running, %.*f/s", s->counts.done,
			 b->bag.tasks.n, s->counts.aside, s->running, s->rate < 100, s->rate);

	if (n < PROGRESS_SIZE && s->left >= 0)
		n += snprintf(ret + n, PROGRESS_SIZE - (size_t)n, ", %" PRId64 " s", s->left);
	if (n >= PROGRESS_SIZE)
		ret[0] = '\0';
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
		cluster_warn(&(struct cluster){.broker = b}, err.text);
	}
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
					 .refused = cluster_refused,
					 .progress = progress,
					 .warn = cluster_warn,
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
		struct class class = need_class(&b->bag.needs.v[i]);
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
		cluster_reshape(b->clusters.v[i]);
	return rc < 0 ? rc : journal_flush(b->journal, err);
}

/* Writes one request as `shunt allocations` shows it. */
static void request_put(const struct cluster *c, const struct provider_request *r, int64_t now, struct json *j)
{
	static const char *const states[] = {"requested", "running", "ended", "failed"};
	int64_t procs, tasks, until = r->ended ? r->ended : now;
	bool ran = r->started || r->joined;

	allocation_joined(c->broker, allocation_of(c, r->id), &procs, &tasks);
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

	if (!r->joined || a->used > 0 || cluster_demand(c) == 0 || !c->elastic || a->yielded)
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
	cluster_warn(c, text.text);
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

/* Releases what is not needed: an allocation without a task for a while, since no task fits into
 * it, and a waiting request when no task waits. */
static void release(struct cluster *c)
{
	struct broker *b = c->broker;
	struct provider_request r;
	bool wanted = cluster_demand(c) > 0;

	for (int id = 1; c->provider->kind->look(c->provider, id, &r); id++) {
		struct account *a = &c->accounts.v[id - 1];
		int64_t procs, tasks;
		if (r.state == REQUEST_ENDED || r.state == REQUEST_FAILED)
			continue;
		allocation_joined(b, allocation_of(c, id), &procs, &tasks);
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
		requests_tell(c, false); /* may begin a pause */
		if (b->options->filler)
			cluster_fill(c);
		else
			cluster_decide(c);
		if (c->elastic)
			release(c);
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
			cluster_warn(c, err.text);
			cluster_warn(c, "its requests may still be there: the next run of this bag cancels them");
		}
		vec_free(&c->accounts);
		strbuf_fini(&c->why);
		free(c->mine);
		free(c->served);
		free(c);
	}
	vec_free(&b->clusters);
}
