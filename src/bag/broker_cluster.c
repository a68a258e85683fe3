/*
 * broker_cluster.c - workers from a cluster that gives processors on request: when to request more, and that nothing is left.
 *
 * The tag of all requests is in the journal before the first one is made, and closed after they were cancelled: a broker that finds an open one, since the one
 * before it was killed, cancels its requests first.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bag/adapter.h"
#include "bag/broker_internal.h"
#include "bag/slurm.h"
#include "base/timetext.h"

enum {
	WAIT_US = 1000000, /* tasks that wait shorter find a worker by themselves */
};

struct cluster {
	struct provider *provider;
	struct adapter *adapter;
	char tag[TAG_SIZE];
	int64_t each;	 /* processors of the largest task */
	int64_t mean;	 /* thousandths of a task */
	int64_t waiting; /* since when tasks wait, microseconds; 0: none does */
	int requests;	 /* that were made */
};

static void warn(void *arg, const char *text)
{
	const struct broker *b = arg;

	if (b->options->warn)
		b->options->warn(b->options->arg, text);
}

static int invite(void *arg, const char *path, int64_t workers, int id, struct err *err)
{
	return remote_invite(arg, path, workers, id, err);
}

static void uninvite(void *arg, int id)
{
	remote_uninvite(arg, id);
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
	if (r->last || strncmp(tag, "shunt-bag-", 10) != 0)
		free(tag);
	else
		vec_push(&b->tags, tag);
}

/* Files that a broker left when it was killed: credentials, which nobody honours any more, and scripts. */
static void files_remove(const struct broker *b, const char *tag)
{
	static const char *const suffixes[] = {"key", "sh"};
	struct strbuf path = {0};

	for (int id = 1, gone = 0; gone < 100; id++) { /* numbers have gaps */
		bool any = false;
		for (int i = 0; i < 2; i++) {
			strbuf_clear(&path);
			strbuf_printf(&path, "%s/%s-%d.%s", b->options->dir, tag, id, suffixes[i]);
			any = unlink(path.text) == 0 || any;
		}
		gone = any ? 0 : gone + 1;
	}
	if (b->remote_listener < 0) {
		strbuf_clear(&path);
		strbuf_printf(&path, "%s/gate", b->options->dir);
		unlink(path.text);
	}
	strbuf_fini(&path);
}

/* Those of brokers that were killed. */
static void tags_clear(struct broker *b)
{
	struct err err;

	for (size_t i = b->tags.n; i-- > 0;) {
		if (slurm_clear(b->tags.v[i], &err) == 0) {
			tag_add(b, b->tags.v[i], true);
			files_remove(b, b->tags.v[i]);
			free(b->tags.v[i]);
			vec_remove(&b->tags, i);
		} else {
			struct strbuf text = {0};
			strbuf_printf(&text, "requests of an earlier run may still be there: %s", err.text);
			warn(b, text.text);
			strbuf_fini(&text);
		}
	}
}

int cluster_open(struct broker *b, const struct provider_broker *where, struct err *err)
{
	const struct broker_options *o = b->options;
	char secret[SECRET_SIZE];
	const char *pace = getenv("SHUNT_BAG_PACE");

	tags_clear(b);
	if (!o->slurm.requests)
		return journal_flush(b->journal, err);
	struct cluster *c = b->cluster = mem_zalloc(sizeof *c);
	c->each = 1;
	for (size_t i = 0; i < b->bag.tasks.n; i++) {
		int64_t cpus = b->bag.needs.v[b->bag.tasks.v[i].need].cpus;
		c->each = (cpus + BAG_CPU - 1) / BAG_CPU > c->each ? (cpus + BAG_CPU - 1) / BAG_CPU : c->each;
		c->mean += cpus;
	}
	c->mean = b->bag.tasks.n ? c->mean / (int64_t)b->bag.tasks.n + 1 : BAG_CPU;
	secret_make(secret);
	snprintf(c->tag, sizeof c->tag, "shunt-bag-%.12s", secret);
	tag_add(b, c->tag, false);
	int rc = journal_sync(b->journal, err);
	if (rc < 0)
		return rc;
	struct slurm_options s = {.dir = o->dir,
				  .tag = c->tag,
				  .words = o->slurm.words,
				  .requests = o->slurm.requests,
				  .processors = o->slurm.processors,
				  .seconds = o->slurm.seconds,
				  .each = c->each,
				  .pace = pace && atoi(pace) > 0 ? atoi(pace) : 10,
				  .invite = invite,
				  .uninvite = uninvite,
				  .warn = warn,
				  .arg = b};
	c->provider = provider_slurm(where, &s);
	struct adapter_limits limits = {.requests = (int)s.requests, .procs = s.processors, .time = s.seconds};
	c->adapter = adapter_create(ADAPTER_STATIC, &limits, (int64_t)time(NULL));
	return 0;
}

/* Those that are out, and how many processors are still to come from them. */
static size_t requests_out(struct cluster *c, struct adapter_request *ret, int64_t *ret_coming)
{
	struct provider_request r;
	size_t n = 0;

	*ret_coming = 0;
	for (int id = 1; id <= c->requests && n < ADAPTER_REQUESTS; id++) {
		if (!c->provider->kind->look(c->provider, id, &r) || r.state == REQUEST_ENDED ||
		    r.state == REQUEST_FAILED)
			continue;
		bool running = r.state == REQUEST_RUNNING;
		if (!slurm_has_joined(c->provider, id))
			*ret_coming += r.processors;
		ret[n++] = (struct adapter_request){.id = id,
						    .procs = r.processors,
						    .time = r.seconds,
						    .start = running ? r.started : TIME_NEVER,
						    .running = running};
	}
	return n;
}

/* Free workers take what fits them before anybody looks here: so what has waited for a while needs more of them. */
static void decide(struct broker *b, struct cluster *c)
{
	struct adapter_request out[ADAPTER_REQUESTS];
	struct adapter_order orders[ADAPTER_ORDERS];
	struct provider_limits limits;
	struct err err;
	uint32_t waiting = queue_counts(b->queue).waiting;

	c->waiting = waiting == 0 ? 0 : c->waiting ? c->waiting : b->now;
	if (waiting == 0 || b->now - c->waiting < WAIT_US)
		return;
	c->provider->kind->limits(c->provider, &limits);
	if (limits.pending == 0)
		return;
	int64_t coming;
	struct adapter_view v = {.now = (int64_t)time(NULL), .request = out};
	v.nrequests = requests_out(c, out, &coming);
	v.pending = v.idle = ((int64_t)waiting * c->mean + BAG_CPU - 1) / BAG_CPU - coming;
	if (v.pending <= 0)
		return;
	int n = adapter_decide(c->adapter, &v, orders);
	for (int i = 0; i < n && v.pending > 0; i++) {
		if (orders[i].what != ADAPTER_SUBMIT)
			continue;
		int64_t procs = (orders[i].procs + c->each - 1) / c->each * c->each;
		if (c->provider->kind->request(c->provider, procs, orders[i].time, &err) < 0)
			return;
		c->requests++;
		v.pending -= procs;
	}
	c->waiting = b->now; /* not again at once */
}

void cluster_look(struct broker *b)
{
	struct cluster *c = b->cluster;

	if (!c || !c->provider)
		return;
	c->provider->kind->poll(c->provider, (int64_t)time(NULL));
	decide(b, c);
}

void cluster_joined(struct broker *b, int id)
{
	if (b->cluster && id > 0)
		slurm_joined(b->cluster->provider, id);
}

void cluster_close(struct broker *b)
{
	struct cluster *c = b->cluster;
	struct err err;

	if (c && c->provider) {
		c->provider->kind->destroy(c->provider);
		adapter_destroy(c->adapter);
		if (c->requests > 0)
			vec_push(&b->tags, mem_strdup(c->tag));
		else
			tag_add(b, c->tag, true);
		for (size_t i = b->tags.n; c->requests > 0 && i-- > 0;) {
			if (strcmp(b->tags.v[i], c->tag) != 0)
				continue;
			if (slurm_clear(c->tag, &err) == 0) {
				tag_add(b, c->tag, true);
				free(b->tags.v[i]);
				vec_remove(&b->tags, i);
			} else {
				warn(b, err.text);
				warn(b, "its requests may still be there: the next run of this bag cancels them");
			}
		}
	}
	free(c);
	b->cluster = NULL;
}
