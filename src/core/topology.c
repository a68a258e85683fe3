/*
 * topology.c - reads lines into switches, then orders the leaves so that those below one switch are
 * adjacent.
 */
#include "core/topology.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/hostlist.h"
#include "base/lines.h"

#define SHOWN 60

/* State while reading a file. */
struct reading {
	struct topology *t;
	struct names parents;	 /* names of switches that are below another one */
	VEC(uint32_t) parent_of; /* the switch above each of `parents`, by the same index */
	VEC(bool) is_leaf;
};

void topology_free(struct topology *t)
{
	if (!t)
		return;
	names_fini(&t->switches);
	names_fini(&t->nodes);
	vec_free(&t->v);
	vec_free(&t->leaf);
	vec_free(&t->of_node);
	free(t);
}

static int nodes_add(struct reading *r, uint32_t sw, const char *list, struct err *err)
{
	name_list names = {0};
	int rc = hostlist_parse(list, &names, err);

	for (size_t i = 0; i < names.n && rc == 0; i++) {
		if (names_add(&r->t->nodes, names.v[i]) < r->t->of_node.n)
			rc = err_set(err, -EINVAL, "node %.*s is connected to two switches", SHOWN, names.v[i]);
		else
			/* the switch for now; its index among the leaves later */
			vec_push(&r->t->of_node, sw);
	}
	name_list_free(&names);
	return rc;
}

static int children_add(struct reading *r, uint32_t sw, const char *list, struct err *err)
{
	name_list names = {0};
	int rc = hostlist_parse(list, &names, err);

	for (size_t i = 0; i < names.n && rc == 0; i++) {
		if (names_add(&r->parents, names.v[i]) < r->parent_of.n)
			rc = err_set(err, -EINVAL, "switch %.*s is below two others", SHOWN, names.v[i]);
		else
			vec_push(&r->parent_of, sw);
	}
	name_list_free(&names);
	return rc;
}

static int line_read(struct reading *r, char *line, struct err *err)
{
	char *save = NULL, *name = NULL, *nodes = NULL, *children = NULL;

	line[strcspn(line, "#")] = '\0';
	for (char *word = strtok_r(line, " \t\r", &save); word; word = strtok_r(NULL, " \t\r", &save)) {
		char *value = strchr(word, '=');
		if (value)
			*value++ = '\0';
		if (value && strcasecmp(word, "SwitchName") == 0)
			name = value;
		else if (value && strcasecmp(word, "Nodes") == 0)
			nodes = value;
		else if (value && strcasecmp(word, "Switches") == 0)
			children = value;
		else if (!value || strcasecmp(word, "LinkSpeed") != 0)
			return err_set(err, -EINVAL,
				       "\"%.*s\" is not known: use SwitchName=NAME with Nodes=LIST or Switches=LIST",
				       SHOWN, word);
	}
	if (!name && !nodes && !children)
		return 0;
	if (!name || !*name || !nodes == !children)
		return err_set(
			err, -EINVAL,
			"a switch needs a name and nodes or other switches, such as SwitchName=s1 Nodes=n[1-16]");
	if (r->t->v.n == TOPOLOGY_SWITCHES_MAX)
		return err_set(err, -EINVAL, "more than %d switches", TOPOLOGY_SWITCHES_MAX);
	if (names_add(&r->t->switches, name) < r->t->v.n)
		return err_set(err, -EINVAL, "switch %.*s is defined twice", SHOWN, name);
	vec_push(&r->t->v, (struct switch_){0});
	vec_push(&r->is_leaf, nodes != NULL);
	return nodes ? nodes_add(r, (uint32_t)r->t->v.n - 1, nodes, err)
		     : children_add(r, (uint32_t)r->t->v.n - 1, children, err);
}

static int parents_set(struct reading *r, struct err *err)
{
	for (uint32_t i = 0; i < r->parents.n; i++) {
		uint32_t sw;
		if (!names_find(&r->t->switches, names_get(&r->parents, i), &sw))
			return err_set(err, -EINVAL, "switch %.*s is listed below %.*s but is not defined", SHOWN,
				       names_get(&r->parents, i), SHOWN, names_get(&r->t->switches, r->parent_of.v[i]));
		r->t->v.v[sw].parent = r->parent_of.v[i] + 1;
	}
	for (uint32_t i = 0; i < r->t->v.n; i++) {
		uint32_t at = i, steps = 0;
		while (r->t->v.v[at].parent && steps++ <= r->t->v.n)
			at = r->t->v.v[at].parent - 1;
		if (r->t->v.v[at].parent)
			return err_set(err, -EINVAL, "switch %.*s is below itself", SHOWN,
				       names_get(&r->t->switches, i));
	}
	return 0;
}

/* A leaf's path from the root: paths with equal beginnings are adjacent when sorted. */
struct path {
	uint32_t leaf, depth, *up; /* up[0] is the root */
};

static int path_cmp(const void *a, const void *b)
{
	const struct path *x = a, *y = b;

	for (uint32_t i = 0; i < x->depth && i < y->depth; i++)
		if (x->up[i] != y->up[i])
			return x->up[i] < y->up[i] ? -1 : 1;
	return x->depth < y->depth ? -1 : x->depth > y->depth;
}

static uint32_t depth_of(const struct topology *t, uint32_t sw)
{
	uint32_t n = 1;

	while (t->v.v[sw].parent) {
		sw = t->v.v[sw].parent - 1;
		n++;
	}
	return n;
}

/* Orders the leaves, and sets the range of leaves and the level of each switch. */
static void leaves_sort(struct reading *r)
{
	struct topology *t = r->t;
	VEC(struct path) paths = {0};

	for (uint32_t i = 0; i < t->v.n; i++) {
		struct path p = {.leaf = i};
		if (!r->is_leaf.v[i])
			continue;
		p.depth = depth_of(t, i);
		p.up = mem_alloc(p.depth * sizeof *p.up);
		for (uint32_t at = i, k = p.depth; k-- > 0; at = t->v.v[at].parent - 1)
			p.up[k] = at;
		vec_push(&paths, p);
	}
	if (paths.n)
		qsort(paths.v, paths.n, sizeof *paths.v, path_cmp);
	for (uint32_t i = 0; i < paths.n; i++) {
		const struct path *p = &paths.v[i];
		for (uint32_t k = 0; k < p->depth; k++) {
			struct switch_ *x = &t->v.v[p->up[k]];
			if (x->to == 0)
				x->from = i;
			x->to = i + 1;
			if (x->level < p->depth - 1 - k)
				x->level = p->depth - 1 - k;
		}
		vec_push(&t->leaf, p->leaf);
		free(p->up);
	}
	vec_free(&paths);
	for (size_t i = 0; i < t->of_node.n; i++)
		t->of_node.v[i] = t->v.v[t->of_node.v[i]].from;
}

int topology_read(struct lines *in, const char *name, struct topology **ret, struct err *err)
{
	struct reading r = {.t = mem_zalloc(sizeof *r.t)};
	char *line;
	int rc;

	while ((rc = lines_next(in, &line, err)) == 1) {
		rc = line_read(&r, line, err);
		if (rc < 0) {
			rc = err_prefix(err, rc, "%s line %lld", name, (long long)lines_number(in));
			break;
		}
	}
	if (rc == 0) {
		rc = parents_set(&r, err);
		if (rc == 0 && r.t->nodes.n == 0)
			rc = err_set(err, -EINVAL, "no switch has nodes");
		if (rc < 0)
			rc = err_prefix(err, rc, "%s", name);
	}
	if (rc == 0)
		leaves_sort(&r);
	names_fini(&r.parents);
	vec_free(&r.parent_of);
	vec_free(&r.is_leaf);
	if (rc < 0) {
		topology_free(r.t);
		return rc;
	}
	*ret = r.t;
	return 0;
}

int topology_open(const char *path, struct topology **ret, struct err *err)
{
	struct lines *in;
	int rc = lines_open(path, &in, err);

	if (rc < 0)
		return rc;
	rc = topology_read(in, path, ret, err);
	lines_close(in);
	return rc;
}

uint32_t topology_leaf(const struct topology *t, const char *node)
{
	uint32_t id;

	return t && names_find(&t->nodes, node, &id) ? t->of_node.v[id] + 1 : 0;
}
