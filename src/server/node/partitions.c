/*
 * partitions.c - see partitions.h.
 */
#include "server/node/partitions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/err.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "core/cluster.h"
#include "core/partition.h"
#include "server/base/log.h"
#include "server/node/nodes.h"
#include "server/server.h"
#include "server/settings/conf.h"
#include "server/settings/setting.h"
#include "store/store.h"

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

struct partition_def *partition_find(const struct server *s, const char *name)
{
	for (size_t i = 0; i < s->hosts->partitions.n; i++)
		if (strcmp(s->hosts->partitions.v[i]->name, name) == 0)
			return s->hosts->partitions.v[i];
	return NULL;
}

static struct partition_def *def_add(struct server *s, const char *name)
{
	struct partition_def *d = mem_zalloc(sizeof *d);
	size_t at = 0;

	d->name = mem_strdup(name);
	attrs_init(&d->attrs, ATTR_PARTITION);
	while (at < s->hosts->partitions.n && strcmp(s->hosts->partitions.v[at]->name, name) < 0)
		at++;
	vec_insert(&s->hosts->partitions, at, d);
	return d;
}

int partition_create(struct server *s, const char *name, struct err *err)
{
	if (strlen(name) > PARTITION_NAME_MAX || !*name || !strchr(LETTERS, *name) ||
	    name[strspn(name, LETTERS "0123456789_.-")] || strcasecmp(name, PARTITION_WORD_ANY) == 0)
		return err_set(
			err, -EINVAL,
			"partition %.80s: a name has up to %d letters, digits, '_', '.' and '-', begins with a letter, and is not \"%s\"",
			name, PARTITION_NAME_MAX, PARTITION_WORD_ANY);
	if (partition_find(s, name))
		return err_code(err, CODE_BAD_STATE, "there is a partition %s already", name);
	if (s->hosts->partitions.n >= PARTITIONS_MAX)
		return err_code(err, CODE_BAD_STATE, "there are %d partitions, which is the most there can be",
				PARTITIONS_MAX);
	def_add(s, name);
	return 0;
}

void partition_destroy(struct server *s, struct partition_def *d)
{
	for (size_t i = 0; i < s->hosts->partitions.n; i++)
		if (s->hosts->partitions.v[i] == d)
			vec_remove(&s->hosts->partitions, i);
	attrs_fini(&d->attrs);
	free(d->name);
	free(d);
}

int partition_restore(struct server *s, const char *name, const json_t *o, struct err *err)
{
	struct partition_def *d = partition_find(s, name);

	return attrs_read(&(d ? d : def_add(s, name))->attrs, o, err);
}

void partition_store(struct server *s, const struct partition_def *d)
{
	struct strbuf text = {0};
	struct json j;

	json_init(&j, &text, false);
	json_open_object(&j, NULL);
	attrs_write(&d->attrs, &j);
	json_close_object(&j);
	store_put_object(s->store, "partition", d->name, text.text);
	strbuf_fini(&text);
}

void partitions_configure(struct server *s)
{
	struct conf_nodes nodes;
	struct err err;

	if (conf_nodes_parse(s->conf->nodes, &nodes, &err) < 0)
		return;
	for (size_t i = 0; i < nodes.node.n; i++) {
		const struct conf_node *n = &nodes.node.v[i];
		struct partition_def *d = n->partition ? partition_find(s, n->partition) : NULL;
		if (!n->partition || (d && d->fixed))
			continue;
		struct strbuf list = {0};
		for (size_t k = i; k < nodes.node.n; k++)
			if (nodes.node.v[k].partition && strcmp(nodes.node.v[k].partition, n->partition) == 0)
				strbuf_printf(&list, "%s%s", list.n ? "," : "", nodes.node.v[k].name);
		if (!d)
			d = def_add(s, n->partition);
		d->fixed = true;
		if (attrs_change(&d->attrs, ATTR_SET, "nodes", list.text, &err) < 0)
			server_say(s, "partition %s: %s", d->name, err.text);
		strbuf_fini(&list);
	}
	conf_nodes_fini(&nodes);
}

int partition_nodes(const struct server *s, const struct partition_def *d, bool *has, struct err *err)
{
	const char *list = attrs_text(&d->attrs, "nodes");
	char *copy = mem_strdup(list ? list : ""), *rest = copy, *name;
	int rc = 0;

	while (rc == 0 && (name = strsep(&rest, ","))) {
		const struct partition_def *other = NULL;
		uint32_t node;
		bool found = *name && names_find(&s->cluster->node_names, name, &node);
		if (!*name || (!found && !err))
			continue;
		if (found)
			other = partition_of_node(s, node);
		if (!found)
			rc = err_set(err, -EINVAL, "nodes: there is no node %.100s ('shunt nodes' lists them)", name);
		else if (err && other && strcmp(other->name, d->name) != 0)
			rc = err_set(err, -EINVAL, "nodes: node %.100s is in partition %s", name, other->name);
		else
			has[node] = true;
	}
	free(copy);
	return rc;
}

const struct partition_def *partition_of_node(const struct server *s, uint32_t node)
{
	uint32_t p = s->cluster->nodes.v[node].partition;

	return p == PARTITION_NONE ? NULL : partition_find(s, names_get(&s->cluster->partition_names, p - 1));
}

static void def_lay(struct server *s, const struct partition_def *d, bool *has)
{
	VEC(uint32_t) nodes = {0};
	struct err err;

	memset(has, 0, s->cluster->nodes.n * sizeof *has);
	partition_nodes(s, d, has, NULL);
	for (uint32_t i = 0; i < s->cluster->nodes.n; i++)
		if (has[i])
			vec_push(&nodes, i);
	if (nodes.n && cluster_add_partition(s->cluster, d->name, nodes.v, (uint32_t)nodes.n, &err) < 0)
		server_say(s, "%s", err.text);
	vec_free(&nodes);
}

void partitions_lay(struct server *s)
{
	bool *has = mem_zalloc((s->cluster->nodes.n + 1) * sizeof *has);
	int64_t first = NODE_ANY;

	if (s->hosts->layout && !s->hosts->partitions.n && !s->cluster->partitions.n) {
		free(has);
		return;
	}
	s->hosts->layout++;
	cluster_drop_partitions(s->cluster);
	for (size_t i = 0; i < s->hosts->partitions.n; i++)
		def_lay(s, s->hosts->partitions.v[i], has);
	for (uint32_t i = 0; i < s->hosts->here; i++) { /* virtual nodes share this machine */
		if (s->cluster->nodes.v[i].partition != PARTITION_NONE)
			continue;
		if (first == NODE_ANY)
			first = i;
		else
			cluster_share_host(s->cluster, (uint32_t)first, i);
	}
	free(has);
}
