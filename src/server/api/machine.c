/*
 * machine.c - see machine.h.
 */
#include "server/api/machine.h"

#include <stdint.h>

#include "base/json.h"
#include "base/strbuf.h"
#include "core/cluster.h"
#include "core/partition.h"
#include "net/http.h"
#include "rules/attr.h"
#include "rules/partition.h"
#include "server/api/api.h"
#include "server/api/call.h"
#include "server/base/clock.h"
#include "server/base/instance.h"
#include "server/life/outage.h"
#include "server/node/nodes.h"
#include "server/server.h"
#include "server/site/who.h"

static const struct field outage_fields[] = {
	{"kind", .is = REQUIRED | IS_TEXT, .words = "quick|delay|immediate|kill"},
	{"begin", .is = REQUIRED | IS_INSTANT},
	{"until", .is = REQUIRED | IS_INSTANT | IS_NULL, "when the machine is expected to be back"},
	{"who", .is = REQUIRED | IS_TEXT},
	{0},
};
static const struct schema outage = {.fields = outage_fields};
static const struct field part_fields[] = {
	{"name", .is = REQUIRED | IS_TEXT},
	{"cpus", .is = REQUIRED | IS_INT},
	{"nodes", .is = REQUIRED | IS_LIST, .item = IS_TEXT},
	{0},
};
static const struct schema part = {.fields = part_fields};
static const struct field machine_fields[] = {
	{"name", .is = REQUIRED | IS_TEXT},
	{"now", .is = REQUIRED | IS_INSTANT},
	{"up", .is = REQUIRED | IS_BOOL, "false only in what commands show while the server is down"},
	{"scheduling", .is = REQUIRED | IS_BOOL, "whether jobs are started"},
	{"policy", .is = REQUIRED | IS_TEXT},
	{"nodes", .is = REQUIRED | IS_INT},
	{"nodes_up", .is = REQUIRED | IS_INT},
	{"cpus", .is = REQUIRED | IS_INT},
	{"partitions", .is = REQUIRED | IS_LIST, "by name", .of = &part, .item = IS_OBJECT},
	{"shared", .is = REQUIRED | IS_INT, "CPUs of nodes that are in none"},
	{"processors", .is = REQUIRED | IS_INT | IS_NULL,
	 "those of a job that names neither their number nor a partition; null: it has to name one of them"},
	{"shutdown", .is = REQUIRED | IS_OBJECT | IS_NULL, "that was announced, or has begun", .of = &outage},
	{"all_jobs", .is = REQUIRED | IS_BOOL, "the client sees the jobs of all users"},
	{0},
};
const struct schema machine_answer = {"Machine", .fields = machine_fields};

static void partitions_write(const struct server *s, struct json *j)
{
	const struct cluster *c = s->cluster;
	int64_t shared = 0;

	json_open_array(j, "partitions");
	for (size_t i = 0; i < c->partitions.n; i++) {
		const struct partition *p = &c->partitions.v[i];
		json_open_object(j, NULL);
		json_text(j, "name", cluster_partition_name(c, p));
		json_int(j, "cpus", p->procs);
		json_open_array(j, "nodes");
		for (uint32_t n = 0; n < c->nodes.n; n++)
			if (c->nodes.v[n].partition == i + 1)
				json_text(j, NULL, names_get(&c->node_names, n));
		json_close_array(j);
		json_close_object(j);
	}
	json_close_array(j);
	for (uint32_t n = 0; n < c->nodes.n; n++)
		if (c->nodes.v[n].partition == PARTITION_NONE && !node_gone(&s->hosts->nodes.v[n].life))
			shared += node_cpus(&c->nodes.v[n]);
	json_int(j, "shared", shared);
	if (partition_usual(c))
		json_int(j, "processors", partition_usual(c));
	else
		json_text(j, "processors", NULL);
}

void machine_write(const struct server *s, struct json *j, const char *key, bool all_jobs)
{
	int64_t nodes, cpus, used, up = 0;

	cluster_sum(s, &nodes, &cpus, &used);
	for (uint32_t i = 0; i < s->hosts->nodes.n; i++)
		up += !node_gone(&s->hosts->nodes.v[i].life) && s->cluster->nodes.v[i].up;
	json_open_object(j, key);
	json_text(j, "name", s->instance->name);
	json_int(j, "now", s->clock->now);
	json_bool(j, "up", true);
	json_bool(j, "scheduling", attrs_bool(s->attrs, "scheduling"));
	json_text(j, "policy", attrs_text(s->attrs, "policy"));
	json_int(j, "nodes", nodes);
	json_int(j, "nodes_up", up);
	json_int(j, "cpus", cpus);
	partitions_write(s, j);
	outage_write(s, j, "shutdown");
	json_bool(j, "all_jobs", all_jobs);
	json_close_object(j);
}

void api_machine(struct server *s, const struct call *c)
{
	struct strbuf out = {0};
	struct json j;

	json_init(&j, &out, false);
	machine_write(s, &j, NULL, may_see_all(s, c->w));
	http_reply_strbuf(c->r, 200, "application/json", &out);
	strbuf_fini(&out);
}
