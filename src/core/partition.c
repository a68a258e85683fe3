/*
 * partition.c - see partition.h.
 */
#include "core/partition.h"

#include <errno.h>
#include <stdlib.h>

#include "core/cluster.h"

static const char *node_name(const struct cluster *c, uint32_t node)
{
	return names_get(&c->node_names, c->nodes.v[node].name);
}

/* Checks that the nodes may form a partition, and marks them in `has`. */
static int nodes_check(const struct cluster *c, const char *name, const uint32_t *nodes, uint32_t n, bool *has,
		       struct err *err)
{
	if (n == 0)
		return err_set(err, -EINVAL, "partition %.60s: it needs at least one node", name);
	for (uint32_t i = 0; i < n; i++) {
		const struct node *x = &c->nodes.v[nodes[i]];
		if (has[nodes[i]])
			return err_set(err, -EINVAL, "partition %.60s: node %s is listed twice", name,
				       node_name(c, nodes[i]));
		if (x->partition)
			return err_set(err, -EINVAL, "partition %.60s: node %s is in partition %s", name,
				       node_name(c, nodes[i]), names_get(&c->partition_names, x->partition - 1));
		has[nodes[i]] = true;
	}
	for (uint32_t i = 0; i < n; i++)
		for (int32_t k = c->nodes.v[nodes[i]].peer; k != (int32_t)nodes[i]; k = c->nodes.v[k].peer)
			if (!has[k])
				return err_set(
					err, -EINVAL,
					"partition %.60s: nodes %s and %s are on one machine, which can't be divided",
					name, node_name(c, nodes[i]), node_name(c, (uint32_t)k));
	return 0;
}

int cluster_add_partition(struct cluster *c, const char *name, const uint32_t *nodes, uint32_t n, struct err *err)
{
	bool *has = mem_zalloc((c->nodes.n + 1) * sizeof *has);
	struct partition p = {.nodes = n};
	uint32_t id;
	int rc;

	if (names_find(&c->partition_names, name, &id))
		rc = err_set(err, -EEXIST, "partition %.60s: there is one of that name", name);
	else if (c->partitions.n >= PARTITIONS_MAX)
		rc = err_set(err, -ENOSPC, "partition %.60s: a cluster can have at most %d partitions", name,
			     PARTITIONS_MAX);
	else
		rc = nodes_check(c, name, nodes, n, has, err);
	if (rc == 0) {
		p.name = names_add(&c->partition_names, name);
		p.first = (int32_t)nodes[0];
		p.set = cluster_nodeset(c, has, (uint32_t)c->nodes.n, false);
		for (uint32_t i = 0; i < n; i++) {
			c->nodes.v[nodes[i]].partition = p.name + 1;
			p.procs += c->nodes.v[nodes[i]].total.v[RES_CPU];
			if ((int32_t)nodes[i] < p.first)
				p.first = (int32_t)nodes[i];
		}
		cluster_make_ring(c, has);
		vec_push(&c->partitions, p);
	}
	free(has);
	return rc;
}

void cluster_drop_partitions(struct cluster *c)
{
	names_fini(&c->partition_names);
	c->partition_names = (struct names){0};
	vec_clear(&c->partitions);
	for (uint32_t i = 0; i < c->nodes.n; i++) {
		struct node *n = &c->nodes.v[i];
		n->partition = PARTITION_NONE;
		n->peer = (int32_t)i;
		n->ring = i;
	}
}

const struct partition *cluster_partition(const struct cluster *c, const char *name)
{
	uint32_t id;

	return names_find(&c->partition_names, name, &id) ? &c->partitions.v[id] : NULL;
}

const char *cluster_partition_name(const struct cluster *c, const struct partition *p)
{
	return names_get(&c->partition_names, p->name);
}

const char *partition_letter(uint32_t i, char buf[8])
{
	char *at = buf + 7;

	*at = '\0';
	for (i++; i > 0; i = (i - 1) / 26)
		*--at = (char)('A' + (i - 1) % 26);
	return at;
}
