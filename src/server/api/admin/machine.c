/*
 * machine.c - see machine.h.
 */
#include "server/api/admin/machine.h"

#include <stdint.h>

#include "base/codec.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "core/cluster.h"
#include "core/partition.h"
#include "net/http.h"
#include "rules/attr.h"
#include "rules/partition.h"
#include "server/api/frame/api.h"
#include "server/api/frame/call.h"
#include "server/base/clock.h"
#include "server/base/instance.h"
#include "server/life/world/outage.h"
#include "server/life/world/world.h"
#include "server/node/nodes.h"
#include "server/server.h"
#include "server/site/who.h"

/* Argument of the getters in this file: the machine, or one of its partitions. */
struct subject {
	const struct server *s;
	uint32_t partition; /* number, from 1 */
};

static void nodes_inside(const struct subject *x, struct json *j)
{
	const struct cluster *c = x->s->cluster;

	for (uint32_t n = 0; n < c->nodes.n; n++)
		if (c->nodes.v[n].partition == x->partition)
			json_text(j, NULL, names_get(&c->node_names, n));
}

struct part_shown {
	struct subject x;
	const char *name;
	int64_t cpus;
};

static const struct schema part = {
	FIELDS({"name", .is = REQUIRED | IS_TEXT, MEMBER(struct part_shown, name)},
	       {"cpus", .is = REQUIRED | IS_INT, MEMBER(struct part_shown, cpus)},
	       {"nodes", .is = REQUIRED | IS_LIST, .item = IS_TEXT, .inside = nodes_inside})};

static void partitions_inside(const struct subject *x, struct json *j)
{
	const struct cluster *c = x->s->cluster;

	for (uint32_t i = 0; i < c->partitions.n; i++) {
		const struct partition *p = &c->partitions.v[i];
		schema_show(&part, NULL, &(struct part_shown){{x->s, i + 1}, cluster_partition_name(c, p), p->procs},
			    NULL, j);
	}
}

static void get_shutdown(const struct subject *x, struct value *v)
{
	const struct outage *o = world_expects(x->s);

	if (o->kind == OUTAGE_NONE)
		return;
	record_show_text(outage_schema.fields, 0, o, NULL, &v->scratch);
	v->text = strbuf_text(&v->scratch);
	v->kind = VALUE_JSON;
}

struct machine {
	struct subject x;
	const char *name, *policy;
	bool up, scheduling, all_jobs;
	int64_t now, nodes, nodes_up, cpus, shared, processors;
};

const struct schema machine_answer = {
	"Machine",
	FIELDS({"name", .is = REQUIRED | IS_TEXT, MEMBER(struct machine, name)},
	       {"now", .is = REQUIRED | IS_INSTANT, MEMBER(struct machine, now)},
	       {"up", .is = REQUIRED | IS_BOOL, "false only in what commands show while the server is down",
		MEMBER(struct machine, up)},
	       {"scheduling", .is = REQUIRED | IS_BOOL, "whether jobs are started", MEMBER(struct machine, scheduling)},
	       {"policy", .is = REQUIRED | IS_TEXT, MEMBER(struct machine, policy)},
	       {"nodes", .is = REQUIRED | IS_INT, MEMBER(struct machine, nodes)},
	       {"nodes_up", .is = REQUIRED | IS_INT, MEMBER(struct machine, nodes_up)},
	       {"cpus", .is = REQUIRED | IS_INT, MEMBER(struct machine, cpus)},
	       {"partitions", .is = REQUIRED | IS_LIST, "by name", .of = &part, .item = IS_OBJECT,
		.inside = partitions_inside},
	       {"shared", .is = REQUIRED | IS_INT, "CPUs of nodes that are in none", MEMBER(struct machine, shared)},
	       {"processors", .is = REQUIRED | IS_INT | IS_NULL,
		"those of a job that names neither their number nor a partition; null: it has to name one of them",
		MEMBER(struct machine, processors)},
	       {"shutdown", .is = REQUIRED | IS_OBJECT | IS_NULL, "that was announced, or has begun",
		.of = &outage_schema, .get = get_shutdown},
	       {"all_jobs", .is = REQUIRED | IS_BOOL, "the client sees the jobs of all users",
		MEMBER(struct machine, all_jobs)})};

void machine_write(const struct server *s, struct json *j, bool all_jobs)
{
	const struct cluster *c = s->cluster;
	struct machine x = {
		.x.s = s,
		.name = s->instance->name,
		.now = s->clock->now,
		.up = true,
		.scheduling = attrs_bool(s->attrs, SET_SCHEDULING),
		.policy = attrs_text(s->attrs, SET_POLICY),
		.processors = partition_usual(c),
		.all_jobs = all_jobs,
	};

	for (uint32_t n = 0; n < c->nodes.n; n++) {
		int64_t cpus = node_cpus(&c->nodes.v[n]);
		if (node_gone(&s->hosts->nodes.v[n].life))
			continue;
		x.nodes++;
		x.cpus += cpus;
		x.nodes_up += c->nodes.v[n].up;
		x.shared += c->nodes.v[n].partition == PARTITION_NONE ? cpus : 0;
	}
	record_show(machine_answer.fields, 0, &x, NULL, j);
}

void api_machine(struct server *s, const struct call *c)
{
	struct strbuf out = {0};
	struct json j;

	json_begin(&j, &out);
	machine_write(s, &j, may_see_all(s, c->w));
	json_close_object(&j);
	http_reply_strbuf(c->r, 200, "application/json", &out);
}
