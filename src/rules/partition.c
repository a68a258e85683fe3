/*
 * partition.c - see partition.h.
 */
#include "rules/partition.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hostlist.h"
#include "base/strbuf.h"

bool partition_wanted(const struct cluster *c, const struct partition_ask *ask)
{
	bool shared = false;

	if (c->partitions.n == 0)
		return ask->name || ask->any; /* choosing will refuse it */
	for (size_t i = 0; i < c->nodes.n && !shared; i++)
		shared = c->nodes.v[i].partition == PARTITION_NONE;
	return !shared || ask->name || ask->any;
}

/* Appends "A, B and C". */
static void names_list(const struct cluster *c, struct strbuf *out)
{
	size_t n = c->partitions.n;

	for (size_t i = 0; i < n; i++)
		strbuf_printf(out, "%s%s",
			      i == 0	   ? ""
			      : i + 1 == n ? " and "
					   : ", ",
			      cluster_partition_name(c, &c->partitions.v[i]));
}

static int refuse_unknown(const struct cluster *c, const char *name, struct err *err)
{
	struct strbuf known = {0};
	int rc;

	names_list(c, &known);
	if (c->partitions.n)
		rc = err_set(err, -EINVAL, "partition %.60s does not exist: there %s %.400s", name,
			     c->partitions.n == 1 ? "is" : "are", strbuf_text(&known));
	else
		rc = err_set(
			err, -EINVAL,
			"partition %.60s does not exist: the nodes are not divided into partitions (-q names a queue)",
			name);
	strbuf_fini(&known);
	return rc;
}

/* Returns the smallest partition size that is at least `procs`, or 0. Stores the largest
 * partition in *ret_largest. */
static int64_t size_for(const struct cluster *c, int64_t procs, const struct partition **ret_largest)
{
	int64_t best = 0;

	*ret_largest = NULL;
	for (size_t i = 0; i < c->partitions.n; i++) {
		const struct partition *p = &c->partitions.v[i];
		if (p->procs >= procs && (best == 0 || p->procs < best))
			best = p->procs;
		if (!*ret_largest || p->procs > (*ret_largest)->procs)
			*ret_largest = p;
	}
	return best;
}

int64_t partition_usual(const struct cluster *c)
{
	const struct partition *largest;
	int64_t least = size_for(c, 0, &largest);

	return least && least == largest->procs && partition_wanted(c, &(struct partition_ask){0}) ? least : 0;
}

/* Returns the nodes of all partitions of one size. */
static uint32_t set_of_size(struct cluster *c, int64_t size)
{
	bool *has = mem_zalloc((c->nodes.n + 1) * sizeof *has);
	uint32_t set;

	for (size_t i = 0; i < c->nodes.n; i++) {
		uint32_t p = c->nodes.v[i].partition;
		has[i] = p && c->partitions.v[p - 1].procs == size;
	}
	set = cluster_nodeset(c, has, (uint32_t)c->nodes.n, false);
	free(has);
	return set;
}

/* Chooses the partition that the job names. */
static int choose_named(const struct cluster *c, const struct partition_ask *ask, struct partition_choice *ret,
			struct err *err)
{
	const struct partition *p = cluster_partition(c, ask->name);

	if (!p)
		return refuse_unknown(c, ask->name, err);
	if (ask->procs > p->procs)
		return err_set(err, -EINVAL, "partition %.60s has %lld processors, and the job requests %lld",
			       ask->name, (long long)p->procs, (long long)ask->procs);
	*ret = (struct partition_choice){ask->procs ? ask->procs : p->procs, p->set};
	return 0;
}

int partition_choose(struct cluster *c, const struct partition_ask *ask, struct partition_choice *ret, struct err *err)
{
	const struct partition *largest;
	int64_t size, procs = ask->procs;

	if (!partition_wanted(c, ask)) {
		*ret = (struct partition_choice){procs, NODES_ALL};
		return 0;
	}
	if (ask->name)
		return choose_named(c, ask, ret, err);
	if (c->partitions.n == 0)
		return err_set(err, -EINVAL, "the nodes are not divided into partitions");
	size = size_for(c, procs, &largest);
	if (procs == 0 && size != largest->procs)
		return err_set(
			err, -EINVAL,
			"the number of processors is missing: partitions have from %lld to %lld of them; name it, or a partition",
			(long long)size, (long long)largest->procs);
	if (size == 0)
		return err_set(err, -EINVAL, "it requests %lld processors, and the largest partition (%s) has %lld",
			       (long long)procs, cluster_partition_name(c, largest), (long long)largest->procs);
	*ret = (struct partition_choice){procs ? procs : size, set_of_size(c, size)};
	return 0;
}

/* Returns true if every partition of the set can hold `procs` CPUs in fragments of `cpus`. */
static bool cut_fits(const struct cluster *c, const struct nodeset *set, int64_t procs, int64_t cpus)
{
	for (size_t i = 0; i < c->partitions.n; i++) {
		const struct partition *p = &c->partitions.v[i];
		int64_t room = 0;
		int32_t n = p->first;
		if (!nodeset_has(set, (uint32_t)p->first))
			continue;
		do {
			room += c->nodes.v[n].total.v[RES_CPU] / cpus;
			n = c->nodes.v[n].peer;
		} while (n != p->first);
		if (room < (procs + cpus - 1) / cpus)
			return false;
	}
	return true;
}

/* Returns the number of CPUs per fragment when a request is cut for its partitions; the last
 * fragment may have fewer. */
static int64_t cut_of(const struct cluster *c, const struct partition_choice *choice)
{
	const struct nodeset *set = &c->nodesets.v[choice->allowed];
	int64_t least = INT64_MAX;

	for (uint32_t i = 0; i < c->nodes.n; i++)
		if (nodeset_has(set, i) && c->nodes.v[i].total.v[RES_CPU] < least)
			least = c->nodes.v[i].total.v[RES_CPU];
	return least < 1 || !cut_fits(c, set, choice->procs, least) ? 1 : least;
}

uint32_t partition_request(struct cluster *c, const struct partition_choice *choice)
{
	int64_t least = cut_of(c, choice), procs = choice->procs;
	VEC(struct frag) frags = {0};
	uint32_t id;

	while (procs > 0) {
		int64_t n = procs < least ? procs : least;
		struct shape s = {.need = {.v = {n}}, .whole = WHOLE_HOST};
		vec_push(&frags, (struct frag){cluster_shape(c, &s), NODE_ANY});
		procs -= n;
	}
	id = cluster_intern(c, frags.v, (uint32_t)frags.n);
	vec_free(&frags);
	return id;
}

/* Extracts what a text says about partitions. */
static struct partition_ask partition_ask_of(const struct reqtext *text)
{
	bool any = text->partition && strcmp(text->partition, PARTITION_WORD_ANY) == 0;

	return (struct partition_ask){.name = any ? NULL : text->partition, .any = any};
}

int partition_complete(struct cluster *c, struct reqtext *text, struct arena *arena, struct err *err)
{
	struct partition_ask ask = partition_ask_of(text);
	struct partition_choice choice;
	struct chunk *chunk;
	int64_t cut;
	int rc;

	if (text->nchunks || !partition_wanted(c, &ask))
		return 0;
	rc = partition_choose(c, &ask, &choice, err);
	if (rc < 0)
		return rc;
	chunk = arena_alloc(arena, 2 * sizeof *chunk);
	cut = cut_of(c, &choice);
	if (choice.procs >= cut)
		chunk[text->nchunks++] = (struct chunk){.count = choice.procs / cut, .need = {.v = {cut}}};
	if (choice.procs % cut)
		chunk[text->nchunks++] = (struct chunk){.count = 1, .need = {.v = {choice.procs % cut}}};
	text->chunk = chunk;
	return 0;
}

int partition_resolve(struct cluster *c, const struct reqtext *text, uint32_t *ret_request, uint32_t *ret_allowed,
		      struct err *err)
{
	struct partition_ask ask = partition_ask_of(text);
	struct partition_choice choice;
	uint32_t request;
	int rc = cluster_request(c, text, &request, err);

	*ret_allowed = NODES_ALL;
	if (rc < 0)
		return rc;
	if (partition_wanted(c, &ask)) {
		ask.procs = c->requests.v[request].total.v[RES_CPU];
		rc = partition_choose(c, &ask, &choice, err);
		request = cluster_request_whole(c, request, WHOLE_HOST);
		*ret_allowed = rc == 0 ? choice.allowed : cluster_nodeset(c, NULL, 0, false);
	}
	*ret_request = request;
	return rc;
}

static int site_partition(struct cluster *c, const char *name, const char *list, struct err *err)
{
	VEC(uint32_t) nodes = {0};
	name_list names = {0};
	int rc = hostlist_parse(list, &names, err);

	for (size_t i = 0; i < names.n && rc == 0; i++) {
		uint32_t node;
		if (names_find(&c->node_names, names.v[i], &node))
			vec_push(&nodes, node);
		else
			rc = err_set(err, -EINVAL, "partition %.60s: unknown node %.60s", name, names.v[i]);
	}
	if (rc == 0)
		rc = cluster_add_partition(c, name, nodes.v, (uint32_t)nodes.n, err);
	vec_free(&nodes);
	name_list_free(&names);
	return rc;
}

int partitions_of_site(struct cluster *c, const struct ruleset *site, struct err *err)
{
	int rc = 0;

	for (size_t i = 0; i < site->objects.of[OBJECT_PARTITION].n && rc == 0; i++) {
		const struct object *x = site->objects.of[OBJECT_PARTITION].v[i];
		const char *list = attrs_text(&x->attrs, SET_NODES);
		if (list && *list)
			rc = site_partition(c, x->name, list, err);
	}
	return rc;
}
