/*
 * api_admin.c - the server itself: attributes, queues, plan, metrics, log, shutdown.
 */
#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/codec.h"
#include "base/err.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "core/job.h"
#include "net/http.h"
#include "net/protocol.h"
#include "plan/plan.h"
#include "rules/admit.h"
#include "rules/attr.h"
#include "sched/sched.h"
#include "server/api/admin/metrics.h"
#include "server/api/frame/api.h"
#include "server/api/frame/attributes.h"
#include "server/api/frame/call.h"
#include "server/api/frame/query.h"
#include "server/api/frame/request.h"
#include "server/api/frame/schemas.h"
#include "server/api/jobs/counts.h"
#include "server/base/asker.h"
#include "server/base/clock.h"
#include "server/base/instance.h"
#include "server/base/log.h"
#include "server/base/post.h"
#include "server/base/stats.h"
#include "server/base/turn.h"
#include "server/book/audit.h"
#include "server/job/entry.h"
#include "server/job/jobs.h"
#include "server/life/enter/queues.h"
#include "server/life/wait/foresee.h"
#include "server/life/world/block.h"
#include "server/life/world/guarantees.h"
#include "server/life/world/lives.h"
#include "server/life/world/outage.h"
#include "server/life/world/world.h"
#include "server/link/agents.h"
#include "server/server.h"
#include "server/settings/objects.h"
#include "server/site/realm.h"
#include "store/store.h"

#define VERSION_TEXT SHUNT_VERSION

/* Argument of the getters in this file: the server, or a queue. */
struct subject {
	const struct server *s;
	const struct attrs *attrs;
	const int64_t *counts; /* jobs by state */
};

static void counts_inside(const struct subject *x, struct json *j)
{
	for (const char *p = "QRHWSEC"; *p; p++)
		json_int(j, (char[]){*p, '\0'}, x->counts[(unsigned char)*p]);
}

static void attributes_inside(const struct subject *x, struct json *j)
{
	attrs_write(x->attrs, j);
}

static void defaults_inside(const struct subject *x, struct json *j)
{
	attrs_write_defaults(x->attrs->owner, j);
}

static void peers_inside(const struct subject *x, struct json *j)
{
	realm_roles(x->s, j);
}

/* Accuracy of predicted starts since the server started. */
struct forecast_error {
	int64_t made, starts, late, error;
};

static const struct schema forecast = {FIELDS(
	{"made", .is = REQUIRED | IS_INSTANT | IS_NULL, "the instant of the last one; null: none was asked for",
	 MEMBER(struct forecast_error, made)},
	{"starts", .is = REQUIRED | IS_INT, "jobs that started and whose start had been foreseen",
	 MEMBER(struct forecast_error, starts)},
	{"late", .is = REQUIRED | IS_INT, "those that started later than foreseen first",
	 MEMBER(struct forecast_error, late)},
	{"error", .is = REQUIRED | IS_INT | IS_NULL, "mean difference between start and first forecast, in seconds",
	 .missing = -1, MEMBER(struct forecast_error, error)})};

static struct forecast_error forecast_errors(const struct server *s)
{
	const struct stats *x = s->stats;

	return (struct forecast_error){
		.made = foresee_last(s),
		.starts = (int64_t)x->foreseen,
		.late = (int64_t)x->foreseen_late,
		.error = x->foreseen > 0 ? (int64_t)(x->foreseen_error / (double)x->foreseen) : -1,
	};
}

struct amount_use {
	const char *name;
	int64_t total, used, elsewhere, free;
};

static const struct schema amount = {FIELDS(
	{"name", .is = REQUIRED | IS_TEXT, MEMBER(struct amount_use, name)},
	{"total", .is = REQUIRED | IS_INT, MEMBER(struct amount_use, total)},
	{"used", .is = REQUIRED | IS_INT, "by running jobs", MEMBER(struct amount_use, used)},
	{"elsewhere", .is = REQUIRED | IS_INT, "in use outside the cluster", MEMBER(struct amount_use, elsewhere)},
	{"free", .is = REQUIRED | IS_INT, MEMBER(struct amount_use, free)})};

static struct amount_use amount_of(const struct server *s, uint32_t i)
{
	const struct amount *a = &s->cluster->amounts.v[i];
	int64_t free = plan_amount_free(s->plan, i, s->clock->now, s->clock->now + 1);

	return (struct amount_use){
		.name = names_get(&s->cluster->amount_names, i),
		.total = a->total,
		.used = a->total - a->elsewhere - free,
		.elsewhere = a->elsewhere,
		.free = free > 0 ? free : 0,
	};
}

static int amounts_compare(const void *a, const void *b)
{
	return strcmp(((const struct amount_use *)a)->name, ((const struct amount_use *)b)->name);
}

/* Shows them by name: the order in which they became known changes with a restart. */
static void amounts_inside(const struct subject *x, struct json *j)
{
	VEC(struct amount_use) all = {0};

	for (uint32_t i = 0; i < x->s->cluster->amounts.n; i++) {
		const struct amount_use a = amount_of(x->s, i);
		if (a.total || a.used) /* the site has some, or jobs still hold some it had */
			vec_push(&all, a);
	}
	if (all.n)
		qsort(all.v, all.n, sizeof *all.v, amounts_compare);
	for (size_t i = 0; i < all.n; i++)
		schema_show(&amount, NULL, &all.v[i], NULL, j);
	vec_free(&all);
}

struct server_shown {
	struct subject x;
	const char *name, *version, *state, *policy, *store, *trouble, *host, *home, *directory, *log;
	bool multi;
	int32_t protocol, pid;
	int64_t started, now, ahead, nodes, cpus, used;
	struct forecast_error forecast;
};

const struct schema server_answer = {
	"Server",
	FIELDS({"name", .is = REQUIRED | IS_TEXT, MEMBER(struct server_shown, name)},
	       {"version", .is = REQUIRED | IS_TEXT, MEMBER(struct server_shown, version)},
	       {"protocol", .is = REQUIRED | IS_INT, "what it speaks with agents: docs/protocol.md",
		MEMBER(struct server_shown, protocol)},
	       {"state", .is = REQUIRED | IS_TEXT, .words = "active|idle|terminating",
		MEMBER(struct server_shown, state)},
	       {"policy", .is = REQUIRED | IS_TEXT, MEMBER(struct server_shown, policy)},
	       {"store", .is = REQUIRED | IS_TEXT, "sqlite or postgres", MEMBER(struct server_shown, store)},
	       {"trouble", .is = REQUIRED | IS_TEXT | IS_NULL, "why it can't write its store",
		MEMBER(struct server_shown, trouble)},
	       {"multiuser", .is = REQUIRED | IS_BOOL, MEMBER(struct server_shown, multi)},
	       {"started", .is = REQUIRED | IS_INSTANT, MEMBER(struct server_shown, started)},
	       {"now", .is = REQUIRED | IS_INSTANT, MEMBER(struct server_shown, now)},
	       {"clock_ahead", .is = REQUIRED | IS_INT,
		"seconds by which the server's time is ahead of a clock that was set back",
		MEMBER(struct server_shown, ahead)},
	       {"pid", .is = REQUIRED | IS_INT, MEMBER(struct server_shown, pid)},
	       {"host", .is = REQUIRED | IS_TEXT, MEMBER(struct server_shown, host)},
	       {"home", .is = REQUIRED | IS_TEXT | IS_NULL, "SHUNT_HOME", MEMBER(struct server_shown, home)},
	       {"state_directory", .is = REQUIRED | IS_TEXT, MEMBER(struct server_shown, directory)},
	       {"log", .is = REQUIRED | IS_TEXT, MEMBER(struct server_shown, log)},
	       {"servers", .is = REQUIRED | IS_LIST, "the servers of this cluster, the one that leads first",
		.of = &peer_schema, .item = IS_OBJECT, .inside = peers_inside},
	       {"nodes", .is = REQUIRED | IS_INT, MEMBER(struct server_shown, nodes)},
	       {"cpus", .is = REQUIRED | IS_INT, MEMBER(struct server_shown, cpus)},
	       {"cpus_used", .is = REQUIRED | IS_INT, MEMBER(struct server_shown, used)},
	       {"forecast", .is = REQUIRED | IS_OBJECT,
		"the forecast of starts, and how it differed from the starts since the server started", .of = &forecast,
		MEMBER_AS(FORM_RECORD, struct server_shown, forecast)},
	       {"counts", .is = REQUIRED | IS_OBJECT, "jobs by state", .item = IS_INT, .inside = counts_inside},
	       {"amounts", .is = REQUIRED | IS_LIST, "what the site has of something that jobs use wherever they run",
		.of = &amount, .item = IS_OBJECT, .inside = amounts_inside},
	       {"attributes", .is = REQUIRED | IS_OBJECT, .inside = attributes_inside},
	       {"defaults", .is = REQUIRED | IS_OBJECT, .inside = defaults_inside})};

static const char *state_word(const struct server *s)
{
	if (s->turn->terminating || s->turn->emptying)
		return "terminating";
	return attrs_bool(s->attrs, SET_SCHEDULING) ? "active" : "idle";
}

void api_server(struct server *s, const struct call *c)
{
	const struct instance *i = s->instance;
	int64_t counts[256];
	struct server_shown x = {
		.x = {s, s->attrs, counts},
		.name = i->name,
		.version = VERSION_TEXT,
		.protocol = PROTOCOL,
		.state = state_word(s),
		.policy = attrs_text(s->attrs, SET_POLICY),
		.store = store_kind(s->store),
		.trouble = s->turn->trouble,
		.multi = i->multi,
		.started = s->stats->began,
		.now = s->clock->now,
		.ahead = s->clock->skew,
		.pid = getpid(),
		.host = i->host,
		.home = i->where.home,
		.directory = i->where.state,
		.log = i->where.log,
		.forecast = forecast_errors(s),
	};

	cluster_sum(s, &x.nodes, &x.cpus, &x.used);
	count_states(s, NULL, counts);
	api_show(s, c->r, &server_answer, &x);
}

/* Applies changed attributes. */
static void server_changed(struct server *s)
{
	attrs_store(s, "server", "server", s->attrs);
	world_settings(s);
	agents_settings(s);
	block_limits(s);
	queues_route(s);
}

static bool forced(const json_t *body)
{
	return json_is_true(json_object_get(body, "force"));
}

/* Undoes a change of attributes that would break guaranteed deadlines, such as a longer tolerance
 * or kill_delay. */
static int settings_keep(struct server *s, const json_t *body, struct attrs *now, const struct attrs *before,
			 struct err *err)
{
	int rc = 0;

	if (attrs_number(now, SET_KILL_DELAY) != attrs_number(before, SET_KILL_DELAY) ||
	    (now == s->attrs && attrs_number(now, SET_TOLERANCE) != attrs_number(before, SET_TOLERANCE)))
		rc = guarantees_check(s, &(struct risk){.kind = RISK_SETTINGS}, forced(body), err);
	if (rc < 0) {
		attrs_fini(now);
		attrs_copy(now, before);
	}
	return rc;
}

void api_server_change(struct server *s, const struct call *c)
{
	struct attrs before;
	struct err err;

	attrs_copy(&before, s->attrs);
	if (changes_apply(s, s->attrs, c->body, &err) < 0 || settings_keep(s, c->body, s->attrs, &before, &err) < 0) {
		attrs_fini(&before);
		api_refuse(c->r, &err);
		return;
	}
	audit_attrs(s, c->w, "server", s->instance->name, &before, s->attrs);
	attrs_fini(&before);
	server_changed(s);
	reply_empty(s, c->r, 200);
}

static void table_inside(const struct subject *x, struct json *j)
{
	attr_table_write(j);
}

const struct schema attributes_answer = {FIELDS(
	{"attributes", .is = REQUIRED | IS_LIST, .of = &attribute_schema, .item = IS_OBJECT, .inside = table_inside})};

void api_attributes(struct server *s, const struct call *c)
{
	api_show(s, c->r, &attributes_answer, NULL);
}

static void servers_inside(const struct subject *x, struct json *j)
{
	realm_servers(x->s, j);
}

struct cluster_shown {
	struct subject x;
	const char *name, *fingerprint, *ca, *version, *leader;
	uint64_t epoch;
};

const struct schema cluster_answer = {FIELDS(
	{"name", .is = REQUIRED | IS_TEXT, MEMBER(struct cluster_shown, name)},
	{"servers", .is = REQUIRED | IS_LIST, "host:port, the one that leads first; none if no port is open",
	 .item = IS_TEXT, .inside = servers_inside},
	{"fingerprint", .is = REQUIRED | IS_TEXT, "SHA-256 of the authority's certificate",
	 MEMBER(struct cluster_shown, fingerprint)},
	{"ca", .is = REQUIRED | IS_TEXT, "the authority's certificate, PEM", MEMBER(struct cluster_shown, ca)},
	{"version", .is = REQUIRED | IS_TEXT, MEMBER(struct cluster_shown, version)},
	{"leader", .is = REQUIRED | IS_TEXT | IS_NULL, MEMBER(struct cluster_shown, leader)},
	{"epoch", .is = REQUIRED | IS_INT, "grows with every server that leads", MEMBER(struct cluster_shown, epoch)})};

void api_cluster(struct server *s, const struct call *c)
{
	const struct authority *a = &s->realm->authority;

	api_show(s, c->r, &cluster_answer,
		 &(struct cluster_shown){
			 .x.s = s,
			 .name = s->instance->name,
			 .fingerprint = a->fingerprint,
			 .ca = a->cert,
			 .version = VERSION_TEXT,
			 .leader = realm_address(s),
			 .epoch = s->realm->epoch,
		 });
}

/* ---- queues ---- */

struct queue_shown {
	struct subject x;
	const char *name;
};

const struct schema queue_answer = {
	"Queue",
	FIELDS({"name", .is = REQUIRED | IS_TEXT, MEMBER(struct queue_shown, name)},
	       {"attributes", .is = REQUIRED | IS_OBJECT, .inside = attributes_inside},
	       {"defaults", .is = REQUIRED | IS_OBJECT, .inside = defaults_inside},
	       {"counts", .is = REQUIRED | IS_OBJECT, "jobs by state", .item = IS_INT, .inside = counts_inside})};

static void queues_inside(const struct subject *x, struct json *j)
{
	const struct server *s = x->s;
	int64_t(*counts)[256] = count_queues(s);

	for (size_t i = 0; i < s->jobs->queues.n; i++) {
		const struct queue *q = s->jobs->queues.v[i];
		schema_show(&queue_answer, NULL, &(struct queue_shown){{s, &q->attrs, counts[i]}, q->name}, NULL, j);
	}
	free(counts);
}

const struct schema queues_answer = {
	FIELDS({"queues", .is = REQUIRED | IS_LIST, .of = &queue_answer, .item = IS_OBJECT, .inside = queues_inside})};

static void queue_drop(struct server *s, struct queue *q, const struct asker *w)
{
	life_record(s, "queue", q->name, "deleted", &(struct cause){.who = w->user});
	audit_attrs(s, w, "queue", q->name, &q->attrs, NULL);
	store_drop_object(s->store, "queue", q->name);
	queue_destroy(s, q);
}

/* Records the changes as events. Starting and enabling a queue are events of their own. */
static void queue_record(struct server *s, const struct queue *q, const json_t *body, bool started, bool enabled,
			 const char *who)
{
	struct strbuf text = {0};
	const json_t *v;
	size_t i;

	json_array_foreach(json_object_get(body, "changes"), i, v)
	{
		const char *op = json_string_value(json_object_get(v, "op")),
			   *name = json_string_value(json_object_get(v, "name")),
			   *value = json_string_value(json_object_get(v, "value"));
		if (strcasecmp(name, "started") != 0 && strcasecmp(name, "enabled") != 0)
			strbuf_printf(&text, "%s%s %s%s%s", text.n ? ", " : "", op, name, value ? " = " : "",
				      value ? value : "");
	}
	if (text.n)
		life_record(s, "queue", q->name, "altered", &(struct cause){.who = who, .reason = text.text});
	if (attrs_bool(&q->attrs, SET_ENABLED) != enabled)
		life_record(s, "queue", q->name, enabled ? "disabled" : "enabled", &(struct cause){.who = who});
	if (attrs_bool(&q->attrs, SET_STARTED) != started)
		life_record(s, "queue", q->name, started ? "stopped" : "started", &(struct cause){.who = who});
	strbuf_fini(&text);
}

void api_queues(struct server *s, const struct call *c)
{
	api_show(s, c->r, &queues_answer, &(struct subject){.s = s});
}

/* Returns the queue that the path names; NULL: the request was answered. */
static struct queue *queue_find(struct server *s, const struct call *c)
{
	struct queue *q = queue_named(s, c->name);

	if (!q)
		http_error(c->r, CODE_UNKNOWN_QUEUE, "Unknown queue %.60s.", c->name);
	return q;
}

void api_queue(struct server *s, const struct call *c)
{
	const struct queue *q = queue_find(s, c);
	int64_t counts[256];

	if (!q)
		return;
	count_states(s, q, counts);
	api_show(s, c->r, &queue_answer, &(struct queue_shown){{s, &q->attrs, counts}, q->name});
}

void api_queue_create(struct server *s, const struct call *c)
{
	struct queue *q = queue_named(s, c->name);

	if (q) {
		http_error(c->r, CODE_BAD_STATE, "There is a queue %s already.", c->name);
	} else if (!name_is_good(c->name)) {
		http_error(c->r, CODE_BAD_REQUEST, "A queue's name is of up to 64 letters, digits, '_', '.' and '-'.");
	} else {
		q = queue_create(s, c->name);
		attrs_store(s, "queue", c->name, &q->attrs);
		life_record(s, "queue", c->name, "created", &(struct cause){.who = c->w->user});
		audit_attrs(s, c->w, "queue", q->name, NULL, &q->attrs);
		reply_empty(s, c->r, 201);
	}
}

void api_queue_change(struct server *s, const struct call *c)
{
	struct queue *q = queue_find(s, c);
	bool started = q && attrs_bool(&q->attrs, SET_STARTED), enabled = q && attrs_bool(&q->attrs, SET_ENABLED);
	struct attrs before;
	struct err err;

	if (!q)
		return;
	attrs_copy(&before, &q->attrs);
	if (changes_admit(s, ATTR_QUEUE, q->name, c->body, c->w, &err) < 0 ||
	    changes_apply(s, &q->attrs, c->body, &err) < 0 || settings_keep(s, c->body, &q->attrs, &before, &err) < 0) {
		attrs_fini(&before);
		api_refuse(c->r, &err);
		return;
	}
	audit_attrs(s, c->w, "queue", q->name, &before, &q->attrs);
	bool routed = admit_routes(&before), routes = admit_routes(&q->attrs);
	attrs_fini(&before);
	attrs_store(s, "queue", q->name, &q->attrs);
	queue_record(s, q, c->body, started, enabled, c->w->user);
	if (attrs_bool(&q->attrs, SET_STARTED) != started || routes != routed)
		queue_toggled(s, q);
	if (queues_lay(s))
		world_changed(s);
	else if (routed || routes)
		block_ways(s);
	world_endings(s);
	block_limits(s);
	queues_route(s);
	reply_empty(s, c->r, 200);
}

void api_queue_delete(struct server *s, const struct call *c)
{
	struct queue *q = queue_find(s, c);

	if (!q)
		return;
	if (q->total) {
		http_error(c->r, CODE_BAD_STATE, "Queue %s has %lld job%s: move or delete %s first.", q->name,
			   (long long)q->total, q->total == 1 ? "" : "s", q->total == 1 ? "it" : "them");
		return;
	}
	queue_drop(s, q, c->w);
	block_ways(s);
	reply_empty(s, c->r, 200);
}

/* ---- the rest ---- */

static long memory_kib(void)
{
	long pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	if (f) {
		if (fscanf(f, "%*d %ld", &pages) != 1)
			pages = 0;
		fclose(f);
	}
	return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static void amounts_metrics(const struct server *s, struct strbuf *out)
{
	static const char *const what[][2] = {{"", "What the site has of an amount, such as licences."},
					      {"_used", "What running jobs hold of it."},
					      {"_elsewhere", "What is in use outside the cluster."}};

	for (int k = 0; k < 3 && s->cluster->amounts.n; k++) {
		strbuf_printf(out, "# HELP shunt_amount%s %s\n# TYPE shunt_amount%s gauge\n", what[k][0], what[k][1],
			      what[k][0]);
		for (uint32_t i = 0; i < s->cluster->amounts.n; i++) {
			const struct amount_use a = amount_of(s, i);
			strbuf_printf(out, "shunt_amount%s{name=\"%s\"} %lld\n", what[k][0], a.name,
				      (long long)(k == 0   ? a.total
						  : k == 1 ? a.used
							   : a.elsewhere));
		}
	}
}

void api_metrics(struct server *s, const struct call *c)
{
	const struct sched_stats *sched = sched_stats(s->sched);
	struct http_stats http = http_stats(s->http);
	struct strbuf out = {0};
	int64_t counts[256], used, cpus;

	count_states(s, NULL, counts);
	strbuf_puts(&out, "# HELP shunt_jobs Jobs by state.\n# TYPE shunt_jobs gauge\n");
	for (const char *p = "QRHWSEC"; *p; p++)
		strbuf_printf(&out, "shunt_jobs{state=\"%c\"} %lld\n", *p, (long long)counts[(unsigned char)*p]);
	nodes_metrics(s, &out, &cpus, &used);
	metrics_write(s, &out);
	metric_write(&out, "cpus", "gauge", "CPUs of all nodes.", (double)cpus);
	metric_write(&out, "cpus_used", "gauge", "CPUs that jobs hold.", (double)used);
	amounts_metrics(s, &out);
	metric_write(&out, "jobs_submitted_total", "counter", "Jobs accepted since the server started.",
		     (double)s->stats->submitted);
	metric_write(&out, "jobs_started_total", "counter", "Attempts started since the server started.",
		     (double)s->stats->started);
	metric_write(&out, "jobs_ended_total", "counter", "Jobs ended since the server started.",
		     (double)s->stats->finished);
	metric_write(&out, "cycles_total", "counter", "Scheduling cycles.", (double)sched->cycles);
	metric_write(&out, "full_passes_total", "counter", "Cycles that looked at the whole queue.",
		     (double)sched->full_passes);
	metric_write(&out, "cycle_seconds", "gauge", "Duration of the last scheduling cycle.",
		     (double)s->stats->cycle_us / 1e6);
	metric_write(&out, "cycle_seconds_max", "gauge", "Duration of the longest scheduling cycle.",
		     (double)s->stats->max_cycle_us / 1e6);
	metric_write(&out, "turns_total", "counter", "Turns of the server's loop.", (double)s->stats->turns);
	metric_write(&out, "turns_long_total", "counter",
		     "Turns that kept everything else waiting for more than 50 ms.", (double)s->stats->long_turns);
	metric_write(&out, "turn_seconds_max", "gauge",
		     "Duration of the longest turn since the metrics were read last.",
		     (double)s->stats->turn_max_us / 1e6);
	metric_write(&out, "turn_cpu_seconds_max", "gauge",
		     "Processor time of the turn that used most since the metrics were read last.",
		     (double)s->stats->turn_cpu_max_us / 1e6);
	strbuf_puts(&out, "# HELP shunt_turn_part_cpu_seconds What that turn used it for.\n"
			  "# TYPE shunt_turn_part_cpu_seconds gauge\n");
	for (enum turn_part i = 0; i < TURN_PARTS; i++)
		strbuf_printf(&out, "shunt_turn_part_cpu_seconds{part=\"%s\"} %g\n", turn_part_name(i),
			      (double)s->stats->turn_parts_us[i] / 1e6);
	s->stats->turn_max_us = s->stats->turn_cpu_max_us = 0;
	memset(s->stats->turn_parts_us, 0, sizeof s->stats->turn_parts_us);
	metric_write(&out, "pushed_starts_total", "counter",
		     "Jobs that could start only because planned parts of others were pushed.", (double)sched->rescued);
	metric_write(&out, "starts_foreseen_total", "counter", "Jobs that started and whose start had been foreseen.",
		     (double)s->stats->foreseen);
	metric_write(&out, "start_error_seconds_total", "counter",
		     "By how much those starts differed from what was foreseen first, either way.",
		     s->stats->foreseen_error);
	metric_write(&out, "starts_late_total", "counter", "Of those, how many came later than foreseen.",
		     (double)s->stats->foreseen_late);
	metric_write(&out, "commits_total", "counter", "Commits to the store.", (double)s->stats->commits);
	metric_write(&out, "commit_seconds_total", "counter", "Time spent in commits.",
		     (double)s->stats->commit_us / 1e6);
	metric_write(&out, "commits_failed_total", "counter", "Commits that failed and were tried again.",
		     (double)s->stats->failed_commits);
	metric_write(&out, "requests_total", "counter", "Requests to the API.", (double)http.requests);
	metric_write(&out, "requests_rejected_total", "counter", "Requests refused by a bound.", (double)http.rejected);
	metric_write(&out, "connections", "gauge", "Open connections.", http.connections);
	metric_write(&out, "connections_idle", "gauge", "Open connections that new ones may replace.",
		     http_connections_idle(s->http));
	metric_write(&out, "memory_kib", "gauge", "Resident memory of the server.", (double)memory_kib());
	metric_write(&out, "start_time_seconds", "gauge", "When the server started.", (double)s->stats->began);
	metrics_send(s, c->r, &out, query_number(c, "nodes", 1) != 0);
}

struct shutdown {
	const char *mode;
	int64_t begin, until;
	bool force;
};
#define GIVEN(member) MEMBER(struct shutdown, member)
const struct schema shutdown_body = {FIELDS(
	{"mode", .is = IS_TEXT,
	 "what happens to running jobs. quick: they continue; delay: they make checkpoints where they can, stop, and wait to run again; immediate: the same without checkpoints; kill: they are "
	 "deleted. cancel: a shutdown that was announced is called off",
	 .words = "quick|delay|immediate|kill|cancel", .otherwise = "quick", GIVEN(mode)},
	{"begin", .is = IS_INSTANT, "when; if not given, now", GIVEN(begin)},
	{"until", .is = IS_INSTANT, "when the machine is expected to be back", .missing = TIME_NEVER, GIVEN(until)},
	{"force", .is = IS_BOOL, "do it even if that breaks guaranteed deadlines", .otherwise = "false",
	 GIVEN(force)})};
#undef GIVEN

static int shutdown_read(const struct server *s, const struct call *c, const struct shutdown *x, struct outage *ret,
			 struct err *err)
{
	enum outage_kind kind = OUTAGE_LEAVE;

	if (x->mode && !outage_kind_parse(x->mode, &kind))
		return err_set(err, -EINVAL, "mode: \"%.60s\" is not known", x->mode);
	*ret = (struct outage){.kind = (uint8_t)kind, .begin = x->begin ? x->begin : s->clock->now, .until = x->until};
	snprintf(ret->who, sizeof ret->who, "%s", c->w->user);
	if (ret->until <= (ret->begin > s->clock->now ? ret->begin : s->clock->now))
		return err_set(err, -EINVAL, "until: the end of a shutdown comes after its beginning, and after now");
	if (kind == OUTAGE_NONE && s->world->outage.kind == OUTAGE_NONE)
		return err_code(err, CODE_BAD_STATE, "No shutdown is announced.");
	if (s->world->outage.begun)
		return err_code(err, CODE_BAD_STATE, "The shutdown has begun.");
	return 0;
}

/* Checks that a shutdown keeps guaranteed deadlines. A quick one without a time only restarts the
 * server, which delays starts by as long as it takes; it is not checked. */
static int shutdown_keeps(struct server *s, const struct outage *x, bool force, struct err *err)
{
	bool leaves = x->kind == OUTAGE_LEAVE, timed = x->begin > s->clock->now || x->until != TIME_NEVER;
	struct risk risk = {.kind = leaves ? RISK_PAUSE : RISK_SHUTDOWN,
			    .at = x->begin > s->clock->now ? x->begin : s->clock->now,
			    .until = x->until,
			    .saves = x->kind == OUTAGE_SAVE};

	return x->kind == OUTAGE_NONE || (leaves && !timed) ? 0 : guarantees_check(s, &risk, force, err);
}

void api_shutdown(struct server *s, const struct call *c)
{
	struct shutdown given;
	struct outage x;
	struct err err;

	call_read(c, &given);
	if (shutdown_read(s, c, &given, &x, &err) < 0 || shutdown_keeps(s, &x, given.force, &err) < 0) {
		api_refuse(c->r, &err);
		return;
	}
	outage_set(s, &x);
	if (store_lost(s->store)) /* no commit will come to release the answer */
		http_reply(c->r, 200, "application/json", "{}", 2);
	else
		reply_empty(s, c->r, 200);
}
