/*
 * partitions.c - see partitions.h.
 */
#include "server/node/partitions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "core/cluster.h"
#include "core/partition.h"
#include "server/base/log.h"
#include "server/node/nodes.h"
#include "server/server.h"
#include "server/settings/conf.h"

void partitions_configure(struct server *s)
{
	struct conf_nodes nodes;
	struct err err;

	if (conf_nodes_parse(s->conf->nodes, &nodes, &err) < 0)
		return;
	for (size_t i = 0; i < nodes.node.n; i++) {
		const struct conf_node *n = &nodes.node.v[i];
		struct object *d = n->partition ? object_find(s->objects, OBJECT_PARTITION, n->partition) : NULL;
		if (!n->partition || (d && d->fixed))
			continue;
		struct strbuf list = {0};
		for (size_t k = i; k < nodes.node.n; k++)
			if (nodes.node.v[k].partition && strcmp(nodes.node.v[k].partition, n->partition) == 0)
				strbuf_printf(&list, "%s%s", list.n ? "," : "", nodes.node.v[k].name);
		if (!d)
			d = object_make(s->objects, OBJECT_PARTITION, n->partition);
		d->fixed = true;
		if (attrs_change(&d->attrs, ATTR_SET, "nodes", list.text, &err) < 0)
			server_log(s, SEVERITY_ERROR, "partition %s: %s", d->name, err.text);
		strbuf_fini(&list);
	}
	conf_nodes_fini(&nodes);
}

int partition_nodes(const struct server *s, const struct object *d, bool *has, struct err *err)
{
	const char *list = attrs_text(&d->attrs, SET_NODES);
	char *copy = mem_strdup(list ? list : ""), *rest = copy, *name;
	int rc = 0;

	while (rc == 0 && (name = strsep(&rest, ","))) {
		const struct object *other = NULL;
		uint32_t node;
		bool found = *name && names_find(&s->cluster->node_names, name, &node);
		if (!*name || (!found && !err))
			continue;
		if (found)
			other = partition_of_node(s, node);
		if (!found)
			rc = err_set(err, -EINVAL, "nodes: unknown node %.100s ('shunt nodes' lists them)", name);
		else if (err && other && strcmp(other->name, d->name) != 0)
			rc = err_set(err, -EINVAL, "nodes: node %.100s is in partition %s", name, other->name);
		else
			has[node] = true;
	}
	free(copy);
	return rc;
}

const struct object *partition_of_node(const struct server *s, uint32_t node)
{
	uint32_t p = s->cluster->nodes.v[node].partition;

	return p == PARTITION_NONE
		       ? NULL
		       : object_find(s->objects, OBJECT_PARTITION, names_get(&s->cluster->partition_names, p - 1));
}

static void def_lay(struct server *s, const struct object *d, bool *has)
{
	VEC(uint32_t) nodes = {0};
	struct err err;

	memset(has, 0, s->cluster->nodes.n * sizeof *has);
	partition_nodes(s, d, has, NULL);
	for (uint32_t i = 0; i < s->cluster->nodes.n; i++)
		if (has[i])
			vec_push(&nodes, i);
	if (nodes.n && cluster_add_partition(s->cluster, d->name, nodes.v, (uint32_t)nodes.n, &err) < 0)
		server_log(s, SEVERITY_ERROR, "%s", err.text);
	vec_free(&nodes);
}

void partitions_lay(struct server *s)
{
	bool *has = mem_zalloc((s->cluster->nodes.n + 1) * sizeof *has);

	if (s->hosts->layout && !s->objects->of[OBJECT_PARTITION].n && !s->cluster->partitions.n) {
		free(has);
		return;
	}
	s->hosts->layout++;
	cluster_drop_partitions(s->cluster);
	for (size_t i = 0; i < s->objects->of[OBJECT_PARTITION].n; i++)
		def_lay(s, s->objects->of[OBJECT_PARTITION].v[i], has);
	/* virtual nodes share this machine */
	for (uint32_t i = 0; i < s->cluster->nodes.n; i++)
		has[i] = i < s->hosts->here && s->cluster->nodes.v[i].partition == PARTITION_NONE;
	cluster_make_ring(s->cluster, has);
	free(has);
}
