/*
 * api_nodes.c - nodes: showing them, and changing what administrators set.
 */
#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/codec.h"
#include "base/err.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/names.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "base/timetext.h"
#include "base/vec.h"
#include "core/cluster.h"
#include "core/feature.h"
#include "core/res.h"
#include "net/http.h"
#include "net/protocol.h"
#include "plan/plan.h"
#include "server/api/frame/api.h"
#include "server/api/frame/call.h"
#include "server/api/frame/query.h"
#include "server/api/frame/request.h"
#include "server/api/frame/schemas.h"
#include "server/base/asker.h"
#include "server/base/clock.h"
#include "server/base/instance.h"
#include "server/base/post.h"
#include "server/base/stats.h"
#include "server/book/audit.h"
#include "server/job/attempt.h"
#include "server/job/failures.h"
#include "server/job/jobs.h"
#include "server/life/world/guarantees.h"
#include "server/life/world/lives.h"
#include "server/life/world/world.h"
#include "server/link/claims.h"
#include "server/link/nodes.h"
#include "server/node/health.h"
#include "server/node/nodes.h"
#include "server/node/owners.h"
#include "server/node/partitions.h"
#include "server/node/world_node.h"
#include "server/server.h"
#include "station/owner.h"

/* Sums up nodes and CPUs. Nodes that only wait for their last jobs to end no longer count. */
void cluster_sum(const struct server *s, int64_t *ret_nodes, int64_t *ret_cpus, int64_t *ret_used)
{
	*ret_nodes = *ret_cpus = *ret_used = 0;
	for (uint32_t i = 0; i < s->hosts->nodes.n; i++) {
		*ret_nodes += !node_gone(&s->hosts->nodes.v[i].life);
		*ret_cpus += node_gone(&s->hosts->nodes.v[i].life) ? 0 : node_cpus(&s->cluster->nodes.v[i]);
		*ret_used += world_cpus_used(s, i);
	}
}

/* Writes the numbers of nodes by state, of which the first word counts, and sums up CPUs. */
void nodes_metrics(const struct server *s, struct strbuf *out, int64_t *ret_cpus, int64_t *ret_used)
{
	int64_t count[WORD_COUNT] = {0}, connected = 0;

	*ret_cpus = *ret_used = 0;
	for (uint32_t i = 0; i < s->hosts->nodes.n; i++) {
		connected += agent_connected(&s->hosts->nodes.v[i]);
		*ret_cpus += node_gone(&s->hosts->nodes.v[i].life) ? 0 : node_cpus(&s->cluster->nodes.v[i]);
		*ret_used += world_cpus_used(s, i);
		if (!world_node_past(s, i))
			count[__builtin_ctz(node_words(s, i))]++;
	}
	strbuf_puts(out, "# HELP shunt_nodes Nodes by state.\n# TYPE shunt_nodes gauge\n");
	for (enum node_word k = 0; k < WORD_CLAIMED; k++)
		strbuf_printf(out, "shunt_nodes{state=\"%s\"} %lld\n", node_word_name(k), (long long)count[k]);
	strbuf_printf(out,
		      "# HELP shunt_agents_connected Agents that are connected.\n# TYPE shunt_agents_connected gauge\n"
		      "shunt_agents_connected %lld\n"
		      "# HELP shunt_hosts_lost_total Hosts whose jobs were given up.\n"
		      "# TYPE shunt_hosts_lost_total counter\nshunt_hosts_lost_total %llu\n",
		      (long long)connected, (unsigned long long)s->stats->hosts_lost);
}

/* ---- showing ---- */

static int piece_cmp(const void *a, const void *b)
{
	const struct piece *x = a, *y = b;

	return x->job != y->job ? (x->job < y->job ? -1 : 1) : x->frag < y->frag ? -1 : x->frag > y->frag;
}

struct job_part {
	const char *id;
	int *cpus, *gpus;
	int ncpus, ngpus;
};
static const struct schema node_job = {FIELDS(
	{"id", .is = REQUIRED | IS_TEXT, .example = "12.host", MEMBER(struct job_part, id)},
	{"cpus", .is = REQUIRED | IS_LIST, "numbers", .item = IS_INT, .in = ALWAYS,
	 MEMBER_LIST(FORM_INTS, struct job_part, cpus, ncpus)},
	{"gpus", .is = IS_LIST, "numbers", .item = IS_INT, MEMBER_LIST(FORM_INTS, struct job_part, gpus, ngpus)})};

/* Values shown for a node in addition to its records. */
struct subject {
	const struct server *s;
	uint32_t node;
	const char *name, *kind, *state, *workstation, *note, *health;
	int64_t cpus, cpus_used, memory, disk, disk_used, swap, swap_used, gpus_used;
	double speed, share_used, load;
	int64_t clock_ahead, outdated;
	bool connected;
};

/* Shows the running jobs by id, since their order in the plan depends on its history. */
static void jobs_show(const struct subject *x, struct json *j)
{
	const struct server *s = x->s;
	const struct plan_node *n = &s->plan->node[x->node];
	VEC(struct piece) pieces = {0};
	struct strbuf id = {0};

	for (size_t i = 0; i < n->pieces.n; i++)
		if (n->pieces.v[i].running)
			vec_push(&pieces, n->pieces.v[i]);
	if (pieces.n)
		qsort(pieces.v, pieces.n, sizeof *pieces.v, piece_cmp);
	for (size_t i = 0; i < pieces.n; i++) {
		const struct piece *p = &pieces.v[i];
		struct attempt *t = attempt_find(s, p->job, entry_job(s, p->job)->attempt);
		if (!t || p->frag >= t->nfrags)
			continue;
		strbuf_clear(&id);
		entry_id(s, p->job, &id);
		struct job_part part = {id.text, t->cpu[p->frag], t->gpu[p->frag], t->ncpus[p->frag],
					t->ngpus[p->frag]};
		json_open_object(j, NULL);
		record_store(node_job.fields, 0, &part, NULL, j);
		json_close_object(j);
	}
	strbuf_fini(&id);
	vec_free(&pieces);
}

static void features_show(const struct subject *x, struct json *j)
{
	const struct cluster *c = x->s->cluster;

	for (uint32_t i = 0; (i = features_next(&c->features, c->nodes.v[x->node].features, i)) < FEATURES_MAX; i++)
		json_text(j, NULL, names_get(&c->feature_names, i));
}

static void node_owner_show(const struct subject *x, struct json *j)
{
	owner_show(&x->s->hosts->nodes.v[x->node], j);
}

static double load_of(const struct server *s, uint32_t node)
{
	const struct node_info *n = &s->hosts->nodes.v[node];
	double load[3];

	if (n->agent)
		return n->agent->state.load;
	return s->instance->real && getloadavg(load, 3) == 3 ? load[0] : (double)world_cpus_used(s, node);
}

/* Which struct a row is a member of: struct subject (for all nodes, or only for those with an
 * agent), struct node, node_info or agent. */
enum { OF_SUBJECT = 1 << 0, WITH_AGENT = 1 << 1, OF_NODE = 1 << 2, OF_INFO = 1 << 3, OF_AGENT = 1 << 4 };
#define HAS(member) .in = OF_SUBJECT, MEMBER(struct subject, member)
#define HAS_REAL(member) .in = OF_SUBJECT, MEMBER_AS(FORM_REAL, struct subject, member)
#define KNOWS(member) .in = WITH_AGENT, MEMBER(struct subject, member)
#define NODE(member) .in = OF_NODE, MEMBER(struct node, member)
#define INFO(member) .in = OF_INFO, MEMBER(struct node_info, member)
#define AGENT(member) .in = OF_AGENT, MEMBER(struct agent, member)
#define AGENT_CHARS(member) .in = OF_AGENT, MEMBER_AS(FORM_CHARS, struct agent, member)

const struct schema node_answer = {
	"Node",
	FIELDS({"name", .is = REQUIRED | IS_TEXT, HAS(name)},
	       {"kind", .is = REQUIRED | IS_TEXT, .words = "configured|joined", HAS(kind)},
	       {"state", .is = REQUIRED | IS_TEXT,
		"of free, busy, offline, draining, down, joining, unhealthy, claimed, joined by commas", HAS(state)},
	       {"cpus", .is = REQUIRED | IS_INT, HAS(cpus)}, {"cpus_used", .is = REQUIRED | IS_INT, HAS(cpus_used)},
	       {"memory", .is = REQUIRED | IS_INT | IS_NULL, "KiB", .missing = -1, HAS(memory)},
	       {"memory_used", .is = REQUIRED | IS_INT, "KiB that jobs have asked for", INFO(used.memory)},
	       {"disk", .is = IS_INT | SPARSE, "KiB, of a node that has some for jobs", .missing = -1, HAS(disk)},
	       {"disk_used", .is = IS_INT | SPARSE, "KiB that jobs have asked for", .missing = -1, HAS(disk_used)},
	       {"swap", .is = IS_INT | SPARSE, "KiB, of a node that has some for jobs", .missing = -1, HAS(swap)},
	       {"swap_used", .is = IS_INT | SPARSE, "KiB that jobs have asked for", .missing = -1, HAS(swap_used)},
	       {"gpus", .is = REQUIRED | IS_INT, NODE(total.v[RES_GPU])},
	       {"gpus_used", .is = REQUIRED | IS_INT, HAS(gpus_used)},
	       {"speed", .is = REQUIRED | IS_REAL, "beside a usual node", HAS_REAL(speed)},
	       {"shared", .is = REQUIRED | IS_BOOL, "its CPUs are divided among jobs with a budget", INFO(shared)},
	       {"share_used", .is = IS_REAL | SPARSE, "CPUs of a shared node that jobs have shares of", .missing = -1,
		HAS_REAL(share_used)},
	       {"features", .is = REQUIRED | IS_LIST, .item = IS_TEXT, .in = OF_SUBJECT, .inside = features_show},
	       {"class", .is = REQUIRED | IS_TEXT | IS_NULL, INFO(class)},
	       {"workstation", .is = REQUIRED | IS_TEXT | IS_NULL, "the policy for its owner: docs/workstations.md",
		HAS(workstation)},
	       {"owner", .is = IS_OBJECT, "of a workstation", .of = &owner_answer, .in = OF_SUBJECT,
		.inside = node_owner_show},
	       {"drain_at", .is = REQUIRED | IS_INSTANT | IS_NULL, INFO(life.at)},
	       {"note", .is = REQUIRED | IS_TEXT | IS_NULL, HAS(note)},
	       {"health", .is = REQUIRED | IS_TEXT | IS_NULL, "what its health check says is wrong", HAS(health)},
	       {"jobs", .is = REQUIRED | IS_LIST, "those that run there", .of = &node_job, .item = IS_OBJECT,
		.in = OF_SUBJECT, .inside = jobs_show},
	       {"load", .is = REQUIRED | IS_REAL | IS_NULL, .missing = -1, HAS_REAL(load)},
	       {"memory_free", .is = IS_INT | SPARSE, "KiB by its agent", .missing = -1, AGENT(state.memory_free)},
	       {"disk_free", .is = IS_INT | SPARSE, "KiB on the file system where its agent keeps its state",
		.missing = -1, AGENT(state.disk_free)},
	       {"clock_ahead", .is = IS_INT | SPARSE,
		"seconds by which its clock is ahead of the server's; less than 0: behind", .missing = INT64_MIN,
		KNOWS(clock_ahead)},
	       {"certified_until", .is = IS_INSTANT, "when its certificate expires", INFO(certified)},
	       {"address", .is = IS_TEXT | IS_NULL, "its agent's", AGENT_CHARS(address)},
	       {"version", .is = IS_TEXT | IS_NULL, "its agent's", AGENT_CHARS(version)},
	       {"protocol", .is = IS_INT | SPARSE, "its agent's: docs/protocol.md", AGENT(protocol)},
	       {"outdated", .is = IS_BOOL | SPARSE,
		"its agent has an older protocol than the server: some jobs can't run there", .missing = -1,
		KNOWS(outdated)},
	       {"heard", .is = IS_INSTANT, "when its agent was heard last", AGENT(heard)},
	       {"since", .is = IS_INSTANT, "when its agent was connected, or lost", AGENT(since)},
	       {"connected", .is = IS_BOOL, "its agent", KNOWS(connected)},
	       {"facts", .is = IS_OBJECT, "what its agent found: docs/protocol.md", AGENT(facts)})};

static void node_show(const struct server *s, uint32_t node, struct json *j)
{
	const struct node *n = &s->cluster->nodes.v[node];
	const struct node_info *info = &s->hosts->nodes.v[node];
	const struct agent *a = info->agent;
	bool disk = n->total.v[RES_DISK] || info->used.disk, swap = n->total.v[RES_SWAP] || info->used.swap;
	struct strbuf health = {0};

	if (health_out(info))
		node_failures_text(info, &health);
	struct subject x = {
		.s = s,
		.node = node,
		.name = names_get(&s->cluster->node_names, node),
		.kind = node_joined(&info->life) ? "joined" : "configured",
		.state = node_state(s, node),
		.workstation = owner_policy(info),
		.note = node_gone(&info->life) ? "not in the configuration any more" : info->note,
		.health = info->unwell ? info->unwell : health.text,
		.cpus = node_cpus(n),
		.cpus_used = world_cpus_used(s, node),
		.memory = n->total.v[RES_MEM] < INT64_C(1) << 40 ? n->total.v[RES_MEM] : -1,
		.disk = disk ? n->total.v[RES_DISK] : -1,
		.disk_used = disk ? info->used.disk : -1,
		.swap = swap ? n->total.v[RES_SWAP] : -1,
		.swap_used = swap ? info->used.swap : -1,
		.gpus_used = world_gpus_used(s, node),
		.speed = (double)n->speed / SPEED_USUAL,
		.share_used = info->shared ? (double)world_share_used(s, node) / SHARE_CPU : -1,
		.load = load_of(s, node),
		.clock_ahead = a && a->timed ? a->ahead : INT64_MIN,
		.outdated = a && a->protocol ? a->protocol < PROTOCOL : -1,
		.connected = agent_connected(info),
	};
	json_open_object(j, NULL);
	record_show(node_answer.fields, a ? OF_SUBJECT | WITH_AGENT : OF_SUBJECT, &x, NULL, j);
	record_show(node_answer.fields, OF_NODE, n, NULL, j);
	record_show(node_answer.fields, OF_INFO, info, NULL, j);
	if (a)
		record_show(node_answer.fields, OF_AGENT, a, NULL, j);
	json_close_object(j);
	strbuf_fini(&health);
}

/* ---- changing ---- */

static bool word_good(const char *text)
{
	size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-");

	return n > 0 && n < 64 && !text[n];
}

/* The requested changes, checked first and then made all at once. */
struct node_change {
	const json_t *note;
	int offline;		/* -1: unchanged */
	struct strbuf features; /* joined by commas */
	bool has_features;
	const json_t *class;	   /* text or null */
	int64_t cpus, gpus;	   /* -1: all the node has; -2: unchanged */
	int64_t drain;		   /* instant; 0: not at all; -1: unchanged */
	uint32_t speed;		   /* 0: unchanged */
	int shared;		   /* -1: unchanged */
	bool force;		   /* even if guaranteed deadlines break */
	const json_t *workstation; /* text or null */
};

static void offline_read(const json_t *body, struct node_change *c)
{
	const char *state = json_string_value(json_object_get(body, "state"));
	const json_t *offline = json_object_get(body, "offline");

	c->offline = -1;
	if (state)
		c->offline = strcmp(state, "offline") == 0;
	if (json_is_boolean(offline))
		c->offline = json_is_true(offline);
}

/* Reads an array of words, or one text of words joined by commas. */
static int features_read(const json_t *v, struct node_change *c, struct err *err)
{
	struct strbuf text = {0};
	const json_t *x;
	char *rest, *word_;
	int count = 0, rc = 0;
	size_t i;

	if (json_is_string(v))
		strbuf_puts(&text, json_string_value(v));
	json_array_foreach(v, i, x) strbuf_printf(&text, "%s%s", i ? "," : "", json_string_value(x));
	rest = text.text;
	while (rest && (word_ = strsep(&rest, ",")) && rc == 0) {
		if (!*word_)
			continue;
		if (!word_good(word_) || ++count > NODE_FEATURES_MAX)
			rc = err_set(
				err, -EINVAL,
				"\"%.60s\" can't be one of a node's features: at most %d, each of up to 63 letters, "
				"digits, '.', '-' and '_'",
				word_, NODE_FEATURES_MAX);
		strbuf_printf(&c->features, "%s%s", c->features.n ? "," : "", word_);
	}
	c->has_features = true;
	strbuf_fini(&text);
	return rc;
}

static int limit_read(const json_t *body, const char *name, int64_t min, const struct agent *a, int64_t *ret,
		      struct err *err)
{
	const json_t *v = json_object_get(body, name);
	int64_t most = a ? json_integer_value(json_object_get(a->facts, name)) : 0;

	*ret = json_is_null(v) ? -1 : -2;
	if (!v || json_is_null(v))
		return 0;
	if (json_integer_value(v) < min || json_integer_value(v) > most)
		return err_set(err, -EINVAL, "%s must be a whole number from %lld to %lld, which the node has, or null",
			       name, (long long)min, (long long)most);
	*ret = json_integer_value(v) == most ? -1 : json_integer_value(v);
	return 0;
}

/* Reads when the node is to go out of service; null: it stays. */
static int drain_read(const struct server *s, const struct node_info *n, const json_t *body, struct node_change *c,
		      struct err *err)
{
	const json_t *v = json_object_get(body, "drain_at");

	c->drain = json_is_null(v) ? 0 : -1;
	if (!v || json_is_null(v))
		return 0;
	if (json_integer_value(v) <= s->clock->now)
		return err_set(err, -EINVAL, "drain_at must be an instant after now (%lld), or null",
			       (long long)s->clock->now);
	if (!node_may(&n->life, NODE_DRAIN))
		return err_set(err, -EINVAL, "the node is %s already", node_service_name(n->life.service));
	c->drain = json_integer_value(v);
	return 0;
}

static int change_read(const struct server *s, const struct node_info *n, const json_t *body, struct node_change *c,
		       struct err *err)
{
	static const char *const agents[] = {"features", "class", "cpus", "gpus", "workstation"};
	const json_t *features = json_object_get(body, "features"), *speed = json_object_get(body, "speed"),
		     *shared = json_object_get(body, "shared");
	int rc = 0;

	offline_read(body, c);
	c->force = json_is_true(json_object_get(body, "force"));
	c->shared = shared ? json_is_true(shared) : -1;
	for (int i = 0; i < 5 && rc == 0; i++)
		if (!node_joined(&n->life) && json_object_get(body, agents[i]))
			rc = err_set(err, -EINVAL,
				     "%s can't be set: this node is in the server's configuration, change it there",
				     agents[i]);
	c->note = json_object_get(body, "note");
	c->class = json_object_get(body, "class");
	c->workstation = json_object_get(body, "workstation");
	if (rc == 0 && json_is_string(c->workstation) && *json_string_value(c->workstation))
		rc = owner_rules_parse(json_string_value(c->workstation), &(struct owner_rules){0}, err);
	if (rc == 0 && json_is_string(c->class) && *json_string_value(c->class) &&
	    !word_good(json_string_value(c->class)))
		rc = err_set(err, -EINVAL, "class must be of up to 63 letters, digits, '.', '-' and '_'");
	if (rc == 0 && features)
		rc = features_read(features, c, err);
	if (rc == 0)
		rc = drain_read(s, n, body, c, err);
	if (rc == 0)
		rc = limit_read(body, "cpus", 1, n->agent, &c->cpus, err);
	if (rc == 0)
		rc = limit_read(body, "gpus", 0, n->agent, &c->gpus, err);
	if (rc == 0 && json_is_number(speed))
		rc = speed_of(json_number_value(speed), &c->speed, err);
	else if (json_is_null(speed))
		c->speed = SPEED_USUAL;
	return rc;
}

static char *text_or_null(const json_t *v)
{
	return json_is_string(v) && *json_string_value(v) ? mem_strdup(json_string_value(v)) : NULL;
}

/* Changes features and class; leaves both unchanged if the cluster can't hold more words. */
static int words_change(struct server *s, uint32_t node, struct node_change *c, struct err *err)
{
	struct node_info *n = &s->hosts->nodes.v[node];
	char *features = n->features, *class = n->class;
	int rc;

	if (c->has_features)
		n->features = c->features.n ? mem_strdup(c->features.text) : NULL;
	if (c->class)
		n->class = text_or_null(c->class);
	rc = world_node_features(s, node, err);
	if (rc == 0) {
		if (c->has_features)
			free(features);
		if (c->class)
			free(class);
		world_changed(s);
		return 0;
	}
	if (c->has_features)
		free(n->features);
	if (c->class)
		free(n->class);
	n->features = features;
	n->class = class;
	world_node_features(s, node, &(struct err){.text = ""});
	return rc;
}

/* Puts a node in or out of service, now or later. */
static void service_change(struct server *s, uint32_t node, const struct node_change *c, const char *who)
{
	const struct node_life *life = &s->hosts->nodes.v[node].life;
	struct cause why = {.who = who, .reason = json_string_value(c->note)};
	bool changed = false;

	if (c->offline == 0)
		health_forget(s, node);
	if (c->offline == 0 || (c->drain == 0 && life->service == SERVICE_CLOSING))
		changed |= node_maybe(s, node, NODE_ONLINE, &why);
	if (c->offline == 1)
		changed |= node_maybe(s, node, NODE_OFFLINE, &why);
	why.at = c->drain;
	if (c->drain > 0)
		changed |= node_maybe(s, node, NODE_DRAIN, &why);
	if (changed)
		world_node_gate(s, node);
}

/* Records all other changes as an event: "class=big cpus=4". */
static void alter_record(struct server *s, uint32_t node, const struct node_change *c, const char *who)
{
	struct strbuf text = {0};
	char speed[16];

	if (c->speed)
		strbuf_printf(&text, " speed=%s", speed_format(c->speed, speed, sizeof speed));
	if (c->shared >= 0)
		strbuf_printf(&text, " shared=%s", c->shared ? "true" : "false");
	if (c->has_features)
		strbuf_printf(&text, " features=%s", strbuf_text(&c->features));
	if (c->class)
		strbuf_printf(&text, " class=%s", json_is_string(c->class) ? json_string_value(c->class) : "");
	if (c->workstation)
		strbuf_printf(&text, " workstation=%s",
			      json_is_string(c->workstation) ? json_string_value(c->workstation) : "");
	if (c->cpus != -2)
		strbuf_printf(&text, " cpus=%s", c->cpus < 0 ? "all" : "");
	if (c->cpus >= 0)
		strbuf_printf(&text, "%lld", (long long)c->cpus);
	if (c->gpus != -2)
		strbuf_printf(&text, " gpus=%s", c->gpus < 0 ? "all" : "");
	if (c->gpus >= 0)
		strbuf_printf(&text, "%lld", (long long)c->gpus);
	if (c->note && c->offline < 0 && c->drain < 0)
		strbuf_printf(&text, " note=%s", json_is_string(c->note) ? json_string_value(c->note) : "");
	if (text.n)
		node_maybe(s, node, NODE_ALTER, &(struct cause){.who = who, .reason = text.text + 1});
	strbuf_fini(&text);
}

/* Checks that guaranteed deadlines are kept with the node out of service, now or later, or with its
 * new limits of CPUs and GPUs. */
static int change_keeps(struct server *s, uint32_t node, const struct node_change *c, struct err *err)
{
	const struct node_info *n = &s->hosts->nodes.v[node];
	struct node_info next = *n;
	struct risk x = {.kind = RISK_SIZE, .node = node, .at = c->drain};

	if (n->drained)
		return 0;
	if (c->offline == 1 || c->drain > 0) {
		x.kind = c->offline == 1 ? RISK_OFFLINE : RISK_DRAIN;
		return guarantees_check(s, &x, c->force, err);
	}
	if (!node_joined(&n->life) || (c->cpus == -2 && c->gpus == -2))
		return 0;
	next.cpus_limit = c->cpus == -2 ? n->cpus_limit : c->cpus;
	next.gpus_limit = c->gpus == -2 ? n->gpus_limit : c->gpus;
	x.total = node_size(&next);
	return guarantees_check(s, &x, c->force, err);
}

static int change_make(struct server *s, uint32_t node, struct node_change *c, const char *who, struct err *err)
{
	struct node_info *n = &s->hosts->nodes.v[node];
	int rc = change_keeps(s, node, c, err);

	if (rc < 0)
		return rc;
	if (c->shared >= 0 && n->shared != (bool)c->shared) {
		if (world_node_share(s, node, c->shared, err) < 0)
			return -EBUSY;
		world_changed(s);
	}
	if ((c->has_features || c->class) && words_change(s, node, c, err) < 0)
		return -ENOSPC;
	if (c->workstation && claim_policy(s, node, json_string_value(c->workstation), err) < 0)
		return -EINVAL;
	if (c->cpus != -2)
		n->cpus_limit = c->cpus;
	if (c->gpus != -2)
		n->gpus_limit = c->gpus;
	if (c->speed)
		s->cluster->nodes.v[node].speed = c->speed;
	if (node_joined(&n->life))
		node_resize(s, node);
	if (c->note) {
		free(n->note);
		n->note = text_or_null(c->note);
	}
	service_change(s, node, c, who);
	alter_record(s, node, c, who);
	world_node_store(s, node);
	return 0;
}

/* ---- the list ---- */

/* A list in progress: with very many nodes it takes longer than a turn may. */
struct node_list {
	struct server *s;
	uint32_t next; /* next node */
	bool begun, some, closed;
};

const struct schema nodes_answer = {FIELDS({"nodes", .is = REQUIRED | IS_LIST, .of = &node_answer, .item = IS_OBJECT})};

static int list_fill(void *context, struct strbuf *out, size_t want)
{
	struct node_list *l = context;
	struct server *s = l->s;
	struct json j;

	if (l->closed)
		return -1;
	if (!l->begun)
		strbuf_puts(out, "{\"nodes\":[");
	l->begun = true;
	for (; l->next < s->hosts->nodes.n && out->n < want; l->next++) {
		if (world_node_past(s, l->next))
			continue;
		strbuf_puts(out, l->some ? "," : "");
		l->some = true;
		json_init(&j, out, false);
		node_show(s, l->next, &j);
	}
	l->closed = l->next >= s->hosts->nodes.n;
	if (l->closed)
		strbuf_puts(out, "]}");
	return 1;
}

void api_nodes(struct server *s, const struct call *c)
{
	struct node_list *l = mem_zalloc(sizeof *l);

	l->s = s;
	http_stream(c->r, 200, "application/json", &(struct stream_source){list_fill, free, l});
}

/* Finds the node that the path names; false: the request was answered. */
static bool node_find(struct server *s, const struct call *c, uint32_t *ret)
{
	if (names_find(&s->cluster->node_names, c->name, ret) && !world_node_past(s, *ret))
		return true;
	http_error(c->r, CODE_UNKNOWN_NODE, "There is no node %.60s.", c->name);
	return false;
}

void api_node(struct server *s, const struct call *c)
{
	struct strbuf out = {0};
	struct json j;
	uint32_t node;

	if (!node_find(s, c, &node))
		return;
	json_init(&j, &out, false);
	node_show(s, node, &j);
	http_reply_strbuf(c->r, 200, "application/json", &out);
}

/* ---- the audit log ---- */

/* Settings of a node, as words of 'shunt nodes set'. */
struct node_words {
	struct strbuf text[8];
};

static void words_write(const struct server *s, uint32_t node, struct node_words *w)
{
	const struct node_info *n = &s->hosts->nodes.v[node];
	char speed[16];

	strbuf_printf(&w->text[0], "note=%s", n->note ? n->note : "");
	strbuf_printf(&w->text[1], "features=%s", n->features ? n->features : "");
	strbuf_printf(&w->text[2], "class=%s", n->class ? n->class : "");
	strbuf_printf(&w->text[3], "cpus=%lld", (long long)node_cpus(&s->cluster->nodes.v[node]));
	strbuf_printf(&w->text[4], "gpus=%lld", (long long)s->cluster->nodes.v[node].total.v[RES_GPU]);
	strbuf_printf(&w->text[5], "speed=%s", speed_format(s->cluster->nodes.v[node].speed, speed, sizeof speed));
	strbuf_printf(&w->text[6], "shared=%s", n->shared ? "true" : "false");
	strbuf_printf(&w->text[7], "workstation=%s", owner_policy(n));
}

static void words_fini(struct node_words *w)
{
	for (size_t i = 0; i < 8; i++)
		strbuf_fini(&w->text[i]);
}

/* Writes the command that undoes a change of a node's service. */
static void service_back(const char *name, const struct node_life *was, const char *note, struct strbuf *out)
{
	char at[40];

	if (was->service == SERVICE_IN)
		strbuf_printf(out, "shunt nodes online %s", name);
	else if (was->service == SERVICE_CLOSING)
		strbuf_printf(out, "shunt nodes drain %s --at '%s'", name, instant_format(was->at, at, sizeof at));
	else
		strbuf_printf(out, "shunt nodes offline %s", name);
	strbuf_puts(out, " && shunt nodes set ");
	strbuf_puts(out, name);
	strbuf_puts(out, " ");
	/* online removes the note, and the other commands keep the current one */
	text_quote(note, out);
}

static void node_audit(struct server *s, const struct asker *w, uint32_t node, const struct node_life *was,
		       struct node_words *before)
{
	const char *name = names_get(&s->cluster->node_names, node);
	const struct node_life *life = &s->hosts->nodes.v[node].life;
	bool service = life->service != was->service || life->at != was->at;
	struct strbuf change = {0}, undo = {0}, set = {0};
	struct node_words after = {0};

	words_write(s, node, &after);
	if (service)
		strbuf_printf(&change, "%s (was %s)", node_service_name(life->service),
			      node_service_name(was->service));
	for (size_t i = 0; i < 8; i++)
		if (strcmp(before->text[i].text, after.text[i].text) != 0) {
			strbuf_printf(&change, "%s%s (was %s)", change.n ? ", " : "", after.text[i].text,
				      strchr(before->text[i].text, '=') + 1);
			if (i == 0 && service)
				continue;
			strbuf_puts(&set, " ");
			text_quote(before->text[i].text, &set);
		}
	if (service)
		service_back(name, was, before->text[0].text, &undo);
	else if (set.n)
		strbuf_printf(&undo, "shunt nodes set %s", name);
	strbuf_puts(&undo, strbuf_text(&set));
	if (change.n)
		audit_record(s, w, "node", name, "changed", change.text, undo.n ? undo.text : NULL);
	words_fini(&after);
	strbuf_fini(&change);
	strbuf_fini(&undo);
	strbuf_fini(&set);
}

void api_node_change(struct server *s, const struct call *c)
{
	struct node_change x = {0};
	struct node_words before = {0};
	struct node_life life;
	struct err err;
	uint32_t node;

	if (!node_find(s, c, &node))
		return;
	words_write(s, node, &before);
	life = s->hosts->nodes.v[node].life;
	if (change_read(s, &s->hosts->nodes.v[node], c->body, &x, &err) < 0 ||
	    change_make(s, node, &x, c->w->user, &err) < 0) {
		api_refuse(c->r, &err);
	} else {
		node_audit(s, c->w, node, &life, &before);
		reply_empty(s, c->r, 200);
	}
	strbuf_fini(&x.features);
	words_fini(&before);
}

void api_node_remove(struct server *s, const struct call *c)
{
	struct err err;
	uint32_t node;

	if (!node_find(s, c, &node))
		return;
	if (partition_of_node(s, node)) {
		http_error(
			c->r, CODE_BAD_STATE,
			"Node %.60s is in partition %s: take it out first (qmgr -c 'set partition %s nodes -= %.60s').",
			c->name, partition_of_node(s, node)->name, partition_of_node(s, node)->name, c->name);
		return;
	}
	bool force = query_number(c, "force", 0) != 0;
	struct risk x = {.kind = RISK_OFFLINE, .node = node};

	if (guarantees_check(s, &x, force || s->hosts->nodes.v[node].drained, &err) < 0 ||
	    nodes_remove(s, node, force ? REMOVE_DEAD : REMOVE_IDLE, c->w->user, &err) < 0) {
		api_refuse(c->r, &err);
		return;
	}
	audit_record(s, c->w, "node", c->name, "removed", NULL, NULL);
	reply_empty(s, c->r, 200);
}
