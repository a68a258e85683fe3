/*
 * api_partitions.c - partitions: defined, changed, shown.
 */
#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/err.h"
#include "base/hostlist.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "core/cluster.h"
#include "core/job.h"
#include "core/partition.h"
#include "net/http.h"
#include "plan/plan.h"
#include "server/api/api.h"
#include "server/api/call.h"
#include "server/api/request.h"
#include "server/api/schemas.h"
#include "server/base/asker.h"
#include "server/base/log.h"
#include "server/base/post.h"
#include "server/job/jobs.h"
#include "server/job/spec.h"
#include "server/life/layout.h"
#include "server/node/nodes.h"
#include "server/node/partitions.h"
#include "server/node/world_node.h"
#include "server/server.h"
#include "server/settings/setting.h"
#include "server/site/who.h"
#include "store/store.h"

static const struct field partition_fields[] = {
	{"name", .is = REQUIRED | IS_TEXT},
	{"nodes", .is = REQUIRED | IS_LIST, "in their order in the cluster", .item = IS_TEXT},
	{"cpus", .is = REQUIRED | IS_INT, "of its nodes, up or not"},
	{"cpus_up", .is = REQUIRED | IS_INT, "of those that are in service"},
	{"state", .is = REQUIRED | IS_TEXT, "down: none of its nodes is in service", .words = "free|busy|down|empty"},
	{"job", .is = REQUIRED | IS_TEXT | IS_NULL, "the job that runs in it, if the user may see it"},
	{"waiting", .is = REQUIRED | IS_INT, "jobs that wait and that it suits"},
	{"attributes", .is = REQUIRED | IS_OBJECT},
	{0},
};
const struct schema partition_answer = {"Partition", .fields = partition_fields};
static const struct field partitions_fields[] = {
	{"partitions", .is = REQUIRED | IS_LIST, "by name", .of = &partition_answer, .item = IS_OBJECT},
	{"shared", .is = REQUIRED | IS_LIST, "nodes that are in none", .item = IS_TEXT},
	{0},
};
const struct schema partitions_answer = {.fields = partitions_fields};

/* ---- showing ---- */

/* By partition, its index plus one: jobs that wait and that it suits. */
static int64_t *count_waiting(const struct server *s)
{
	const struct cluster *c = s->cluster;
	int64_t *count = mem_zalloc((c->partitions.n + 1) * sizeof *count);
	int64_t *by_set = mem_zalloc((c->nodesets.n + 1) * sizeof *by_set);

	for (uint32_t id = 1; id < s->jobs->entries.n; id++) {
		const struct entry *e = &s->jobs->entries.v[id];
		if (e->spec && entry_job(s, id)->state <= STATE_ALLOCATED && e->spec->allowed != NODES_ALL)
			by_set[e->spec->allowed]++;
	}
	for (uint32_t k = 0; k < c->nodesets.n; k++)
		for (size_t i = 0; i < c->partitions.n && by_set[k]; i++)
			if (nodeset_has(&c->nodesets.v[k], (uint32_t)c->partitions.v[i].first))
				count[i + 1] += by_set[k];
	free(by_set);
	return count;
}

/* The job that runs on a node of a partition; JOB_NONE: none does. */
static uint32_t job_on(const struct server *s, uint32_t node)
{
	const piece_vec *v = &s->plan->node[node].pieces;

	for (size_t i = 0; i < v->n; i++) {
		const struct job *job = entry_job(s, v->v[i].job);
		if (job->state == STATE_NOW || job->state == STATE_RUNNING)
			return job->id;
	}
	return JOB_NONE;
}

static void partition_show(struct server *s, const struct asker *w, const struct partition_def *d,
			   const int64_t *waiting, struct json *j)
{
	bool *has = mem_zalloc((s->cluster->nodes.n + 1) * sizeof *has);
	int64_t cpus = 0, up = 0, n = 0;
	const struct partition *p = cluster_partition(s->cluster, d->name);
	uint32_t runs = JOB_NONE;
	struct strbuf id = {0};

	partition_nodes(s, d, has, NULL);
	json_open_object(j, NULL);
	json_text(j, "name", d->name);
	json_open_array(j, "nodes");
	for (uint32_t i = 0; i < s->cluster->nodes.n; i++) {
		if (!has[i])
			continue;
		json_text(j, NULL, names_get(&s->cluster->node_names, i));
		n++;
		cpus += s->cluster->nodes.v[i].total.v[RES_CPU];
		if (!node_gone(&s->hosts->nodes.v[i].life) && !s->hosts->nodes.v[i].drained)
			up += s->cluster->nodes.v[i].total.v[RES_CPU];
		if (runs == JOB_NONE)
			runs = job_on(s, i);
	}
	json_close_array(j);
	json_int(j, "cpus", cpus);
	json_int(j, "cpus_up", up);
	json_text(j, "state", n == 0 ? "empty" : runs != JOB_NONE ? "busy" : up == 0 ? "down" : "free");
	if (runs != JOB_NONE && may_see(s, w, s->jobs->entries.v[runs].spec))
		entry_id(s, runs, &id);
	json_text(j, "job", id.n ? id.text : NULL);
	json_int(j, "waiting", p ? waiting[p->name + 1] : 0);
	json_open_object(j, "attributes");
	attrs_write(&d->attrs, j);
	json_close_object(j);
	json_close_object(j);
	strbuf_fini(&id);
	free(has);
}

void api_partitions(struct server *s, const struct call *c)
{
	int64_t *waiting = count_waiting(s);
	struct strbuf out = {0};
	struct json j;

	json_init(&j, &out, false);
	json_open_object(&j, NULL);
	json_open_array(&j, "partitions");
	for (size_t i = 0; i < s->hosts->partitions.n; i++)
		partition_show(s, c->w, s->hosts->partitions.v[i], waiting, &j);
	json_close_array(&j);
	json_open_array(&j, "shared");
	for (uint32_t i = 0; i < s->cluster->nodes.n; i++)
		if (s->cluster->nodes.v[i].partition == PARTITION_NONE && !world_node_past(s, i))
			json_text(&j, NULL, names_get(&s->cluster->node_names, i));
	json_close_array(&j);
	json_close_object(&j);
	http_reply_strbuf(c->r, 200, "application/json", &out);
	strbuf_fini(&out);
	free(waiting);
}

/* The partition that the path names; NULL: it was answered. */
static struct partition_def *def_find(struct server *s, const struct call *c)
{
	struct partition_def *d = partition_find(s, c->name);

	if (!d)
		http_error(c->r, CODE_NOT_FOUND, "There is no partition %.60s.", c->name);
	return d;
}

void api_partition(struct server *s, const struct call *c)
{
	const struct partition_def *d = def_find(s, c);
	struct strbuf out = {0};
	int64_t *waiting;
	struct json j;

	if (!d)
		return;
	waiting = count_waiting(s);
	json_init(&j, &out, false);
	partition_show(s, c->w, d, waiting, &j);
	http_reply_strbuf(c->r, 200, "application/json", &out);
	strbuf_fini(&out);
	free(waiting);
}

/* ---- changing ---- */

static void done(struct server *s, const struct call *c, int status)
{
	struct strbuf out = {0};

	strbuf_puts(&out, "{}");
	reply_later(s, c->r, status, &out);
}

void api_partition_create(struct server *s, const struct call *c)
{
	struct err err;

	if (partition_create(s, c->name, &err) < 0) {
		api_refuse(c->r, &err);
		return;
	}
	partition_store(s, partition_find(s, c->name));
	server_say(s, "partition %s was created by %s", c->name, c->w->user);
	done(s, c, 201);
}

/* n[1-4] are four nodes. */
static int value_expand(const char *value, struct strbuf *out, struct err *err)
{
	name_list names = {0};
	int rc = *value ? hostlist_parse(value, &names, err) : 0;

	for (size_t i = 0; i < names.n; i++)
		strbuf_printf(out, "%s%s", i ? "," : "", names.v[i]);
	name_list_free(&names);
	return rc;
}

static int change_apply(struct attrs *a, const json_t *change, size_t i, struct err *err)
{
	const char *name = json_string_value(json_object_get(change, "name")),
		   *value = json_string_value(json_object_get(change, "value"));
	struct strbuf list = {0};
	enum attr_op op;
	int rc = attr_op_parse(json_string_value(json_object_get(change, "op")), &op, err);

	if (rc == 0 && op != ATTR_UNSET && !value)
		rc = err_set(err, -EINVAL, "changes[%zu] needs a value, a text", i);
	if (rc == 0 && op != ATTR_UNSET && strcasecmp(name, "nodes") == 0) {
		rc = value_expand(value, &list, err);
		value = strbuf_text(&list);
	}
	if (rc == 0)
		rc = setting_change(a, op, name, value ? value : "", err);
	strbuf_fini(&list);
	return rc;
}

static int fixed_error(const struct partition_def *d, struct err *err)
{
	return err_code(
		err, CODE_BAD_STATE,
		"the nodes of partition %s are set in the configuration file (nodes =): change them there, and start the server again",
		d->name);
}

/* Whether the definition may become the other one; if its nodes are others, they and those that it had are marked. */
static int def_check(struct server *s, const struct partition_def *d, const struct partition_def *next, bool *ret,
		     bool *ret_moves, struct err *err)
{
	size_t n = s->cluster->nodes.n;
	bool *had = mem_zalloc((n + 1) * sizeof *had);
	int rc = partition_nodes(s, next, ret, err);

	partition_nodes(s, d, had, NULL);
	*ret_moves = memcmp(had, ret, n * sizeof *had) != 0;
	for (size_t i = 0; i < n; i++)
		ret[i] |= had[i];
	free(had);
	if (rc == 0 && *ret_moves && d->fixed)
		return fixed_error(d, err);
	return rc == 0 && *ret_moves ? layout_check(s, ret, err) : rc;
}

void api_partition_change(struct server *s, const struct call *c)
{
	struct partition_def *d = def_find(s, c), next;
	bool *nodes, moves = false;
	const json_t *v;
	struct err err;
	size_t i;
	int rc = 0;

	if (!d)
		return;
	next = (struct partition_def){.name = d->name};
	attrs_copy(&next.attrs, &d->attrs);
	json_array_foreach(json_object_get(c->body, "changes"), i, v) if (rc == 0) rc =
		change_apply(&next.attrs, v, i, &err);
	nodes = mem_zalloc((s->cluster->nodes.n + 1) * sizeof *nodes);
	if (rc == 0)
		rc = def_check(s, d, &next, nodes, &moves, &err);
	if (rc < 0) {
		attrs_fini(&next.attrs);
		api_refuse(c->r, &err);
	} else {
		attrs_fini(&d->attrs);
		d->attrs = next.attrs;
		partition_store(s, d);
		if (moves) {
			const char *list = attrs_text(&d->attrs, "nodes");
			server_say(s, "partition %s has the nodes %s, set by %s", d->name, list ? list : "(none)",
				   c->w->user);
			layout_change(s, nodes);
		}
		done(s, c, 200);
	}
	free(nodes);
}

void api_partition_delete(struct server *s, const struct call *c)
{
	struct partition_def *d = def_find(s, c);
	bool *nodes;
	struct err err;

	if (!d)
		return;
	nodes = mem_zalloc((s->cluster->nodes.n + 1) * sizeof *nodes);
	partition_nodes(s, d, nodes, NULL);
	if ((d->fixed ? fixed_error(d, &err) : layout_check(s, nodes, &err)) < 0) {
		api_refuse(c->r, &err);
	} else {
		server_say(s, "partition %s was deleted by %s", d->name, c->w->user);
		store_drop_object(s->store, "partition", d->name);
		partition_destroy(s, d);
		layout_change(s, nodes);
		done(s, c, 200);
	}
	free(nodes);
}
