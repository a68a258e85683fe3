/*
 * launch_map.c - places ranks. A node has as many places as lines in the node file, or --per-node.
 * block fills a node before the next; cyclic deals ranks out one by one. If there are more ranks
 * than places, placement starts again at the first node.
 */
#include <errno.h>

#include "cmd/launch/launch.h"

/* The nodes of the job, in order, with their numbers of lines. */
typedef VEC(uint32_t) count_vec;

static void nodes_read(const struct jobhosts *hosts, struct layout *l, count_vec *lines)
{
	for (size_t i = 0; i < hosts->line.n; i++) {
		if (jobhosts_find(hosts, hosts->line.v[i]) == (int)i) {
			vec_push(&l->node, arena_printf(l->arena, "%s", hosts->line.v[i]));
			vec_push(lines, 0);
		}
		lines->v[jobhosts_number(hosts, (int)i)]++;
	}
}

static void places_fill(struct layout *l, const count_vec *places, bool cyclic)
{
	uint32_t next = 0, *used = arena_alloc(l->arena, places->n * sizeof *used);

	while (next < l->size) {
		uint32_t before = next;
		for (uint32_t node = 0; node < places->n && next < l->size; node++)
			while (used[node] < places->v[node] && next < l->size) {
				l->rank[next++].node = node;
				used[node]++;
				if (cyclic)
					break;
			}
		if (next == before) /* all are taken */
			memset(used, 0, places->n * sizeof *used);
	}
}

/* Assigns hosts: nodes on this machine share one, each other node is one; nodes without a rank have
 * none. */
static void hosts_find(struct layout *l, const count_vec *lines)
{
	int64_t here = -1, *host = arena_alloc(l->arena, l->node.n * sizeof *host);

	for (uint32_t node = 0; node < l->node.n; node++)
		host[node] = -1;
	for (uint32_t r = 0; r < l->size; r++) {
		uint32_t node = l->rank[r].node;
		bool local = jobhosts_here(l->node.v[node]);
		if (host[node] < 0 && local && here >= 0) {
			host[node] = here;
		} else if (host[node] < 0) {
			host[node] = (int64_t)l->host.n;
			here = local ? host[node] : here;
			vec_push(&l->host, (struct layout_host){.name = l->node.v[node]});
		}
		l->rank[r].host = (uint32_t)host[node];
	}
	/* the job's CPUs there, including nodes without a rank */
	for (uint32_t node = 0; node < l->node.n; node++)
		if (host[node] >= 0)
			l->host.v[host[node]].cpus += lines->v[node];
		else if (here >= 0 && jobhosts_here(l->node.v[node]))
			l->host.v[here].cpus += lines->v[node];
}

int launch_map(const struct jobhosts *hosts, const struct launch_arguments *a, struct layout *l, struct err *err)
{
	count_vec lines = {0}, places = {0};
	int64_t all = 0, size;
	int rc = 0;

	nodes_read(hosts, l, &lines);
	for (size_t i = 0; i < lines.n; i++) {
		vec_push(&places, a->per_node > 0 ? (uint32_t)a->per_node : lines.v[i]);
		all += places.v[i];
	}
	size = a->ranks > 0 ? a->ranks : all;
	if (a->per_node > 0 && size > all) {
		rc = err_set(err, -EINVAL, "%lld ranks are too many for %zu node%s with %lld each", (long long)size,
			     lines.n, lines.n == 1 ? "" : "s", (long long)a->per_node);
	} else {
		l->size = (uint32_t)size;
		l->rank = arena_alloc(l->arena, l->size * sizeof *l->rank);
		places_fill(l, &places, strcmp(a->map, "cyclic") == 0);
		hosts_find(l, &lines);
		layout_derive(l);
	}
	vec_free(&lines);
	vec_free(&places);
	return rc;
}
