/*
 * cluster.c - nodes, interned shapes and requests, the table of jobs.
 */
#include "core/cluster.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"

void settings_default(struct settings *s)
{
	*s = (struct settings){
		.tolerance = 0,
		.fixed_factor = 1.5,
		.starve_after = STARVE_AUTO,
		.max_deallocations = 3,
		.long_saving = TIME_NEVER,
		.migrate_cost = -1,
	};
}

struct cluster *cluster_create(void)
{
	struct cluster *c = mem_zalloc(sizeof *c);

	c->nres = 1;
	settings_default(&c->settings);
	cluster_nodeset(c, NULL, 0, true); /* NODES_ALL */
	return c;
}

void cluster_destroy(struct cluster *c)
{
	if (!c)
		return;
	names_fini(&c->node_names);
	names_fini(&c->feature_names);
	features_fini(&c->features);
	names_fini(&c->user_names);
	names_fini(&c->partition_names);
	names_fini(&c->reservation_names);
	names_fini(&c->res_names);
	names_fini(&c->amount_names);
	vec_free(&c->amounts);
	topology_free(c->topology);
	vec_free(&c->nodes);
	vec_free(&c->partitions);
	vec_free(&c->shapes);
	vec_free(&c->spare_shapes);
	vec_free(&c->spare_requests);
	for (size_t i = 0; i < c->requests.n; i++) {
		free(c->requests.v[i].frag);
		free(c->requests.v[i].portion);
	}
	vec_free(&c->requests);
	map_fini(&c->shape_index);
	map_fini(&c->request_index);
	for (size_t i = 0; i < c->nodesets.n; i++)
		free(c->nodesets.v[i].word);
	vec_free(&c->nodesets);
	map_fini(&c->nodeset_index);
	rows_free(&c->jobs);
	free(c);
}

void cluster_count(struct cluster *c, const struct res *r)
{
	for (int i = c->nres; i < RES_MAX; i++)
		if (r->v[i])
			c->nres = i + 1;
}

/* Starts counting a node's resources, except disk and swap, which count once a job requests
 * them. */
static void node_count(struct cluster *c, const struct res *total)
{
	struct res r = *total;

	r.v[RES_DISK] = r.v[RES_SWAP] = 0;
	cluster_count(c, &r);
}

int cluster_add_node(struct cluster *c, const char *name, const struct res *total, struct err *err)
{
	uint32_t id;

	if (names_find(&c->node_names, name, &id))
		return err_set(err, -EEXIST, "node %s: there is one of that name", name);
	id = names_add(&c->node_names, name);
	vec_push(&c->nodes, (struct node){.name = id,
					  .total = *total,
					  .peer = (int32_t)id,
					  .ring = id,
					  .speed = SPEED_USUAL,
					  .leaf = topology_leaf(c->topology, name),
					  .up = true});
	node_count(c, total);
	res_add(&c->total, total);
	c->nodes_version++;
	return 0;
}

void cluster_set_topology(struct cluster *c, struct topology *t)
{
	topology_free(c->topology);
	c->topology = t;
	for (uint32_t n = 0; n < c->nodes.n; n++)
		c->nodes.v[n].leaf = topology_leaf(t, names_get(&c->node_names, n));
}

void cluster_make_ring(struct cluster *c, const bool *has)
{
	int32_t first = -1, last = -1;

	for (int32_t n = 0; n < (int32_t)c->nodes.n; n++) {
		if (!has[n])
			continue;
		if (first < 0)
			first = n;
		else
			c->nodes.v[last].peer = n;
		c->nodes.v[n].ring = (uint32_t)first;
		c->nodes.v[n].peer = first;
		last = n;
	}
}

void cluster_resize_node(struct cluster *c, uint32_t node, const struct res *total)
{
	struct node *n = &c->nodes.v[node];

	if (n->up) {
		res_sub(&c->total, &n->total);
		res_add(&c->total, total);
	}
	n->total = *total;
	node_count(c, total);
	c->nodes_version++;
}

int cluster_add_feature(struct cluster *c, uint32_t node, const char *feature, struct err *err)
{
	struct node *n = &c->nodes.v[node];
	uint32_t known;

	if (c->feature_names.n >= FEATURES_MAX && !names_find(&c->feature_names, feature, &known))
		return err_set(err, -ENOSPC, "feature %s: a cluster can have at most %d different features", feature,
			       FEATURES_MAX);
	n->features = features_add(&c->features, n->features, names_add(&c->feature_names, feature));
	c->nodes_version++;
	return 0;
}

void cluster_drop_features(struct cluster *c, uint32_t node)
{
	c->nodes.v[node].features = FEATURES_NONE;
	c->nodes_version++;
}

int cluster_resource(struct cluster *c, const char *name, struct err *err)
{
	uint32_t id;

	if (!names_find(&c->res_names, name, &id)) {
		if (RES_NAMED + c->res_names.n >= RES_MAX)
			return err_set(err, -ENOSPC, "resource %s: a cluster can have at most %d named resources", name,
				       RES_MAX - RES_NAMED);
		id = names_add(&c->res_names, name);
	}
	return RES_NAMED + id;
}

bool cluster_find_amount(const struct cluster *c, const char *name, uint32_t *ret)
{
	for (uint32_t i = 0; i < c->amounts.n; i++)
		if (strcasecmp(names_get(&c->amount_names, i), name) == 0) {
			*ret = i;
			return true;
		}
	return false;
}

int cluster_amount(struct cluster *c, const char *name, struct err *err)
{
	uint32_t id;

	if (cluster_find_amount(c, name, &id))
		return (int)id;
	if (names_find(&c->res_names, name, &id))
		return err_set(err, -EEXIST, "%s: nodes have a resource of that name", name);
	if (c->amounts.n == AMOUNTS_MAX)
		return err_set(err, -ENOSPC, "%s: a site can have at most %d named amounts", name, AMOUNTS_MAX);
	char *lower = mem_strdup(name); /* attribute names are lower case */
	for (char *p = lower; *p; p++)
		*p = (char)tolower((unsigned char)*p);
	vec_push(&c->amounts, (struct amount){0});
	id = names_add(&c->amount_names, lower);
	free(lower);
	return (int)id;
}

int64_t request_portion(const struct request *r, uint32_t amount)
{
	for (uint32_t i = 0; i < r->nportions; i++)
		if (r->portion[i].amount == amount)
			return r->portion[i].count;
	return 0;
}

bool requests_share(const struct request *a, const struct request *b)
{
	for (uint32_t i = 0; i < a->nportions; i++)
		if (request_portion(b, a->portion[i].amount))
			return true;
	return false;
}

/* Records that a shape was interned. A permanent shape makes its features permanent. */
static void shape_note(struct cluster *c, uint32_t id, bool fresh)
{
	trial_note(c->trial ? &c->trial->shapes : NULL, id, fresh, &c->shapes.v[id].held);
	if (!c->trial)
		features_keep(&c->features, c->shapes.v[id].features);
}

uint32_t cluster_shape(struct cluster *c, const struct shape *shape)
{
	struct shape key = {.need = shape->need,
			    .features = shape->features,
			    .exclusive = shape->exclusive,
			    .whole = shape->whole,
			    .divided = shape->divided};
	/* Hash the features themselves: the set's number may be reused later, and plans remember
	 * shapes by this hash. */
	uint64_t hash = hash_bytes(&key.need, sizeof key.need) ^ features_hash(&c->features, key.features) ^
			(key.exclusive ? 0x9e37 : 0) ^ (uint64_t)key.whole << 20 ^ (uint64_t)key.divided << 24,
		 id;

	while (map_get(&c->shape_index, hash, &id)) {
		const struct shape *s = &c->shapes.v[id];
		if (res_equal(&s->need, &key.need) && s->features == key.features && s->exclusive == key.exclusive &&
		    s->whole == key.whole && s->divided == key.divided) {
			shape_note(c, (uint32_t)id, false);
			return id;
		}
		hash++;
	}
	id = c->spare_shapes.n ? c->spare_shapes.v[--c->spare_shapes.n] : c->shapes.n;
	if (id == c->shapes.n)
		vec_push(&c->shapes, key);
	key.hash = hash;
	c->shapes.v[id] = key;
	map_set(&c->shape_index, hash, id);
	shape_note(c, (uint32_t)id, true);
	cluster_count(c, &key.need);
	return (uint32_t)id;
}

static int64_t shape_cpus(const struct cluster *c, uint32_t shape)
{
	return c->shapes.v[shape].need.v[RES_CPU];
}

/* Equal fragments in a row. */
struct frag_run {
	uint32_t first, n;
};

static bool precedes(const struct cluster *c, const struct frag *a, const struct frag *b)
{
	bool free_a = a->node == NODE_ANY, free_b = b->node == NODE_ANY;

	return free_a != free_b ? free_b : shape_cpus(c, a->shape) < shape_cpus(c, b->shape);
}

/* Sorts runs by their fragments; equal ones keep their order (merge sort). */
static void runs_sort(const struct cluster *c, const struct frag *f, struct frag_run *v, size_t n,
		      struct frag_run *spare)
{
	size_t half = n / 2, i = 0, j = half, k = 0;

	if (n < 2)
		return;
	runs_sort(c, f, v, half, spare);
	runs_sort(c, f, v + half, n - half, spare);
	while (i < half && j < n)
		spare[k++] = precedes(c, &f[v[j].first], &f[v[i].first]) ? v[j++] : v[i++];
	while (i < half)
		spare[k++] = v[i++];
	memcpy(v, spare, k * sizeof *v);
}

/* Sorts fixed before free fragments, then by CPUs, ascending; equal ones keep their order. A
 * request for a million nodes has few runs. */
static void frags_sort(const struct cluster *c, struct frag *f, uint32_t n)
{
	VEC(struct frag_run) runs = {0};

	for (uint32_t i = 0; n > 1 && i < n; i++)
		if (i > 0 && memcmp(&f[i], &f[i - 1], sizeof *f) == 0)
			runs.v[runs.n - 1].n++;
		else
			vec_push(&runs, (struct frag_run){i, 1});
	if (runs.n > 1) {
		struct frag_run *spare = mem_alloc(runs.n * sizeof *spare);
		struct frag *sorted = mem_alloc(n * sizeof *sorted), *at = sorted;
		runs_sort(c, f, runs.v, runs.n, spare);
		for (size_t i = 0; i < runs.n; at += runs.v[i++].n)
			memcpy(at, f + runs.v[i].first, runs.v[i].n * sizeof *f);
		memcpy(f, sorted, n * sizeof *f);
		free(sorted);
		free(spare);
	}
	vec_free(&runs);
}

static bool request_is(const struct request *r, const struct frag *frag, uint32_t nfrags, const struct portion *portion,
		       uint32_t nportions)
{
	if (r->nfrags != nfrags || r->nportions != nportions || memcmp(r->frag, frag, nfrags * sizeof *frag) != 0)
		return false;
	for (uint32_t i = 0; i < nportions; i++)
		if (r->portion[i].amount != portion[i].amount || r->portion[i].count != portion[i].count)
			return false;
	return true;
}

/* Like cluster_intern(), with portions of site-wide resources, ascending by amount. */
static uint32_t cluster_intern_with(struct cluster *c, struct frag *frag, uint32_t nfrags,
				    const struct portion *portion, uint32_t nportions)
{
	frags_sort(c, frag, nfrags);

	uint64_t hash = hash_bytes(frag, nfrags * sizeof *frag), id;

	for (uint32_t i = 0; i < nportions; i++)
		hash = (hash ^ (uint64_t)portion[i].count << 8 ^ portion[i].amount) * UINT64_C(0x9e3779b97f4a7c15);
	for (; map_get(&c->request_index, hash, &id); hash++)
		if (request_is(&c->requests.v[id], frag, nfrags, portion, nportions)) {
			trial_note(c->trial ? &c->trial->requests : NULL, (uint32_t)id, false, &c->requests.v[id].held);
			return id;
		}
	struct request r = {.hash = hash, .nfrags = nfrags, .uniform = true, .whole = c->shapes.v[frag[0].shape].whole};
	r.frag = mem_alloc(nfrags * sizeof *frag);
	memcpy(r.frag, frag, nfrags * sizeof *frag);
	if (nportions) {
		r.portion = mem_alloc(nportions * sizeof *portion);
		memcpy(r.portion, portion, nportions * sizeof *portion);
		r.nportions = nportions;
	}
	for (uint32_t i = 0; i < nfrags; i++) {
		int64_t cpus = shape_cpus(c, frag[i].shape);
		bool fixed = frag[i].node != NODE_ANY;
		r.nfixed += fixed;
		*(fixed ? &r.cpus_fixed : &r.cpus_free) += cpus;
		r.uniform &= !fixed && frag[i].shape == frag[0].shape;
		r.apart |= c->shapes.v[frag[i].shape].exclusive;
		assert(c->shapes.v[frag[i].shape].whole == r.whole);
		res_add(&r.total, &c->shapes.v[frag[i].shape].need);
		r.divided += c->shapes.v[frag[i].shape].divided;
	}
	id = c->spare_requests.n ? c->spare_requests.v[--c->spare_requests.n] : c->requests.n;
	if (id == c->requests.n)
		vec_push(&c->requests, r);
	c->requests.v[id] = r;
	map_set(&c->request_index, hash, id);
	trial_note(c->trial ? &c->trial->requests : NULL, (uint32_t)id, true, &c->requests.v[id].held);
	return (uint32_t)id;
}

uint32_t cluster_intern(struct cluster *c, struct frag *frag, uint32_t nfrags)
{
	return cluster_intern_with(c, frag, nfrags, NULL, 0);
}

void cluster_trial_end(struct cluster *c, struct cluster_trial *t, bool keep)
{
	for (size_t i = 0; i < t->requests.n; i++) {
		struct request *r = &c->requests.v[t->requests.v[i]];
		if (!trial_release(&r->held, keep))
			continue;
		map_remove(&c->request_index, r->hash);
		free(r->frag);
		free(r->portion);
		*r = (struct request){0};
		c->trials++;
		vec_push(&c->spare_requests, t->requests.v[i]);
	}
	for (size_t i = 0; i < t->shapes.n; i++) {
		struct shape *s = &c->shapes.v[t->shapes.v[i]];
		if (!trial_release(&s->held, keep))
			continue;
		map_remove(&c->shape_index, s->hash);
		vec_push(&c->spare_shapes, t->shapes.v[i]);
	}
	vec_free(&t->requests);
	vec_free(&t->shapes);
	features_end(&c->features, &t->features, keep);
}

struct nodeset nodeset_make(const bool *has, uint32_t n, bool rest)
{
	struct nodeset s = {.word = mem_zalloc((n / 64 + 1) * sizeof *s.word), .nwords = n / 64 + 1, .rest = rest};

	for (uint32_t i = 0; i < s.nwords * 64; i++)
		if (i < n ? has[i] : rest)
			s.word[i / 64] |= UINT64_C(1) << i % 64;
	/* trim, so that equal sets are represented equally */
	while (s.nwords && s.word[s.nwords - 1] == (rest ? UINT64_MAX : 0))
		s.nwords--;
	return s;
}

uint32_t cluster_nodeset(struct cluster *c, const bool *has, uint32_t n, bool rest)
{
	struct nodeset s = nodeset_make(has, n, rest);
	uint64_t hash, id;

	hash = hash_bytes(s.word, s.nwords * sizeof *s.word) ^ (rest ? 0x9e37 : 0);
	for (; map_get(&c->nodeset_index, hash, &id); hash++) {
		const struct nodeset *x = &c->nodesets.v[id];
		if (x->nwords == s.nwords && x->rest == rest &&
		    memcmp(x->word, s.word, s.nwords * sizeof *s.word) == 0) {
			free(s.word);
			return (uint32_t)id;
		}
	}
	map_set(&c->nodeset_index, hash, c->nodesets.n);
	vec_push(&c->nodesets, s);
	return (uint32_t)c->nodesets.n - 1;
}

uint32_t cluster_nodeset_both(struct cluster *c, uint32_t a, uint32_t b)
{
	bool *has;
	uint32_t set;

	if (a == NODES_ALL || b == NODES_ALL || a == b)
		return a == NODES_ALL ? b : a;
	has = mem_zalloc((c->nodes.n + 1) * sizeof *has);
	for (uint32_t i = 0; i < c->nodes.n; i++)
		has[i] = nodeset_has(&c->nodesets.v[a], i) && nodeset_has(&c->nodesets.v[b], i);
	set = cluster_nodeset(c, has, (uint32_t)c->nodes.n, false);
	free(has);
	return set;
}

int cluster_request_procs(struct cluster *c, int64_t procs, uint32_t *ret, struct err *err)
{
	int64_t largest = 0;
	VEC(struct frag) frags = {0};

	for (size_t i = 0; i < c->nodes.n; i++)
		if (c->nodes.v[i].total.v[RES_CPU] > largest)
			largest = c->nodes.v[i].total.v[RES_CPU];
	if (procs <= 0 || procs > c->total.v[RES_CPU])
		return err_set(err, -EINVAL, "%lld processors: the machine has %lld", (long long)procs,
			       (long long)c->total.v[RES_CPU]);
	while (procs > 0) {
		int64_t n = procs < largest ? procs : largest;
		struct shape s = {.need = {.v = {n}}};
		vec_push(&frags, (struct frag){cluster_shape(c, &s), NODE_ANY});
		procs -= n;
	}
	*ret = cluster_intern(c, frags.v, frags.n);
	vec_free(&frags);
	return 0;
}

uint32_t cluster_request_whole(struct cluster *c, uint32_t request, enum wholeness whole)
{
	const struct request *r = &c->requests.v[request];
	VEC(struct frag) frags = {0};
	uint32_t id;

	for (uint32_t i = 0; i < r->nfrags; i++) {
		struct shape s = c->shapes.v[r->frag[i].shape];
		s.whole = (uint8_t)whole;
		vec_push(&frags, (struct frag){cluster_shape(c, &s), r->frag[i].node});
	}
	id = cluster_intern_with(c, frags.v, (uint32_t)frags.n, r->portion, r->nportions);
	vec_free(&frags);
	return id;
}

uint32_t cluster_request_divided(struct cluster *c, uint32_t request, int64_t share)
{
	const struct request *r = &c->requests.v[request];
	struct shape s = c->shapes.v[r->frag[0].shape];
	struct frag f = {.node = NODE_ANY};

	if (r->nfrags != 1 || r->nfixed || r->whole || s.divided)
		return UINT32_MAX;
	s.divided = s.need.v[RES_CPU];
	s.need.v[RES_CPU] = 0;
	s.need.v[RES_SHARE] = share;
	f.shape = cluster_shape(c, &s);
	return cluster_intern_with(c, &f, 1, r->portion, r->nportions);
}

static int unknown_resource(const struct cluster *c, const char *name, struct err *err)
{
	struct strbuf own = {0};

	for (size_t i = 0; i < c->res_names.n; i++)
		strbuf_printf(&own, "%s%s", i ? " " : "", c->res_names.name[i]);
	for (uint32_t i = 0; i < c->amounts.n; i++)
		if (c->amounts.v[i].total)
			strbuf_printf(&own, "%s%s", own.n ? " " : "", names_get(&c->amount_names, i));
	int rc = resource_unknown(name, strbuf_text(&own), err);
	strbuf_fini(&own);
	return rc;
}

/* Builds the shape of one chunk and looks up its names. */
static int chunk_shape(struct cluster *c, const struct reqtext *text, const struct chunk *k, int64_t nfrags,
		       struct shape *ret, struct err *err)
{
	*ret = (struct shape){.need = k->need, .exclusive = k->exclusive, .whole = (uint8_t)text->whole};
	for (int i = 0; i < RES_MAX; i++)
		ret->need.v[i] += (text->job.v[i] + nfrags - 1) / nfrags;
	ret->need.v[RES_MEM] += text->pmem * k->need.v[RES_CPU];
	for (int i = 0; i < k->nnamed + text->nnamed; i++) {
		const struct named_amount *a = i < k->nnamed ? &k->named[i] : &text->named[i - k->nnamed];
		uint32_t id;
		if (cluster_find_amount(c, a->name, &id))
			continue; /* a site-wide resource: see text_portions() */
		if (!names_find(&c->res_names, a->name, &id))
			return unknown_resource(c, a->name, err);
		ret->need.v[RES_NAMED + id] += i < k->nnamed ? a->amount : (a->amount + nfrags - 1) / nfrags;
	}
	for (int i = 0; i < k->nfeatures; i++) {
		uint32_t bit;
		if (!names_find(&c->feature_names, k->feature[i], &bit))
			return err_set(err, -EINVAL, "no node has the feature '%s' ('shunt nodes' lists features)",
				       k->feature[i]);
		ret->features = features_add(&c->features, ret->features, bit);
	}
	return 0;
}

static bool node_can(const struct cluster *c, const struct node *n, const struct shape *s)
{
	return features_cover(&c->features, n->features, s->features) && res_covers(&n->total, &s->need);
}

/* Returns true if a job with an estimate could have a share of this node instead. */
static bool node_could_share(const struct cluster *c, const struct node *n, const struct shape *s)
{
	struct res need = s->need;

	need.v[RES_CPU] = 0;
	return node_divided(n) && features_cover(&c->features, n->features, s->features) &&
	       res_covers(&n->total, &need);
}

static bool coming_can(const struct cluster *c, const struct shape *s)
{
	return c->coming.v[RES_CPU] > 0 && s->features == FEATURES_NONE && res_covers(&c->coming, &s->need);
}

/* Explains why no node could ever hold this shape. */
static int shape_refuse(const struct cluster *c, const struct shape *s, struct err *err)
{
	struct res most = s->features == FEATURES_NONE ? c->coming : (struct res){0};

	for (size_t i = 0; i < c->nodes.n; i++)
		for (int d = 0; d < RES_MAX; d++)
			if (c->nodes.v[i].total.v[d] > most.v[d] &&
			    features_cover(&c->features, c->nodes.v[i].features, s->features))
				most.v[d] = c->nodes.v[i].total.v[d];
	for (int d = 0; d < RES_MAX; d++) {
		char need[32], have[32];
		if (most.v[d] >= s->need.v[d])
			continue;
		if (res_kib(d))
			return err_set(err, -EINVAL, "it needs %s of %s on one node; the largest suitable node has %s",
				       memory_format(s->need.v[d], need, sizeof need), res_kib(d),
				       memory_format(most.v[d], have, sizeof have));
		return err_set(err, -EINVAL, "it needs %lld %s on one node; the largest suitable node has %lld",
			       (long long)s->need.v[d],
			       d == RES_CPU	? "CPUs"
			       : d == RES_GPU	? s->need.v[d] == 1 ? "GPU" : "GPUs"
			       : d == RES_SHARE ? "thousandths of a CPU"
						: names_get(&c->res_names, d - RES_NAMED),
			       (long long)most.v[d]);
	}
	return err_set(err, -EINVAL, "no single node has everything that is requested of one node");
}

static void portion_add(const struct cluster *c, const struct named_amount *a, int64_t times, struct portion *portion,
			uint32_t *n)
{
	uint32_t id, i = 0;

	if (!a->amount || !cluster_find_amount(c, a->name, &id))
		return;
	while (i < *n && portion[i].amount < id)
		i++;
	if (i == *n || portion[i].amount != id) {
		memmove(portion + i + 1, portion + i, (*n - i) * sizeof *portion);
		portion[i] = (struct portion){.amount = id};
		++*n;
	}
	portion[i].count += times * a->amount;
}

/* Collects the site-wide resources that a text requests. */
static uint32_t text_portions(const struct cluster *c, const struct reqtext *text, struct portion portion[AMOUNTS_MAX])
{
	uint32_t n = 0;

	for (int i = 0; i < text->nchunks; i++)
		for (int k = 0; k < text->chunk[i].nnamed; k++)
			portion_add(c, &text->chunk[i].named[k], text->chunk[i].node ? 1 : text->chunk[i].count,
				    portion, &n);
	for (int k = 0; k < text->nnamed; k++)
		portion_add(c, &text->named[k], 1, portion, &n);
	return n;
}

int cluster_request(struct cluster *c, const struct reqtext *text, uint32_t *ret, struct err *err)
{
	struct portion portion[AMOUNTS_MAX];
	uint32_t nportions = text_portions(c, text, portion);
	static const struct chunk one = {.count = 1, .need = {.v = {1}}};
	const struct chunk *chunk = text->nchunks ? text->chunk : &one;
	int nchunks = text->nchunks ? text->nchunks : 1, rc = 0;
	int64_t nfrags = 0;
	VEC(struct frag) frags = {0};

	for (int i = 0; i < nchunks; i++)
		nfrags += chunk[i].node ? 1 : chunk[i].count;
	struct shape packed = {.whole = (uint8_t)text->whole};
	for (int i = 0; i < nchunks && rc == 0; i++) {
		const struct chunk *k = &chunk[i];
		struct shape s;
		struct frag f = {.node = NODE_ANY};
		rc = chunk_shape(c, text, k, nfrags, &s, err);
		if (rc)
			break;
		if (k->node) {
			uint32_t id, bit;
			if (names_find(&c->node_names, k->node, &id)) {
				f.node = (int32_t)id;
				if (!node_can(c, &c->nodes.v[id], &s)) {
					rc = err_set(err, -EINVAL, "node %s does not have the requested resources",
						     k->node);
					break;
				}
			} else if (names_find(&c->feature_names, k->node, &bit)) {
				/* TORQUE allows a property in place of a name */
				s.features = features_add(&c->features, s.features, bit);
			} else {
				rc = err_set(err, -EINVAL, "%s: no node and no feature has that name", k->node);
				break;
			}
		}
		bool possible = f.node != NODE_ANY || coming_can(c, &s);
		for (size_t n = 0; n < c->nodes.n && !possible; n++)
			possible = node_can(c, &c->nodes.v[n], &s) ||
				   (text->estimate > 0 && node_could_share(c, &c->nodes.v[n], &s));
		if (!possible) {
			rc = shape_refuse(c, &s, err);
			break;
		}
		f.shape = cluster_shape(c, &s);
		for (int64_t n = k->node ? 1 : k->count; n > 0; n--) {
			vec_push(&frags, f);
			res_add(&packed.need, &s.need);
			packed.features = features_union(&c->features, packed.features, s.features);
		}
	}
	if (rc == 0 && text->pack && frags.n > 1) {
		struct frag f = {.node = frags.v[0].node};
		bool possible = coming_can(c, &packed);
		for (size_t n = 0; n < c->nodes.n && !possible; n++)
			possible = node_can(c, &c->nodes.v[n], &packed);
		if (!possible)
			rc = shape_refuse(c, &packed, err);
		f.shape = cluster_shape(c, &packed);
		vec_clear(&frags);
		vec_push(&frags, f);
	}
	if (rc == 0)
		*ret = cluster_intern_with(c, frags.v, (uint32_t)frags.n, portion, nportions);
	vec_free(&frags);
	return rc;
}

/* A fragment before sorting. */
struct origin {
	int64_t cpus;
	int chunk;
	uint32_t written; /* position in the text */
	bool fixed;
};

/* Compares like frags_sort(). */
static int origin_cmp(const void *a, const void *b)
{
	const struct origin *x = a, *y = b;

	if (x->fixed != y->fixed)
		return x->fixed ? -1 : 1;
	if (x->cpus != y->cpus)
		return x->cpus < y->cpus ? -1 : 1;
	return x->written < y->written ? -1 : x->written > y->written;
}

int cluster_request_chunks(const struct cluster *c, const struct reqtext *text, const struct request *r, int *ret)
{
	VEC(struct origin) v = {0};
	int rc;

	if (text->pack && r->nfrags == 1) {
		ret[0] = -1;
		return 0;
	}
	for (int i = 0; i < text->nchunks; i++) {
		const struct chunk *k = &text->chunk[i];
		uint32_t id;
		struct origin x = {.cpus = k->need.v[RES_CPU],
				   .chunk = i,
				   .fixed = k->node && names_find(&c->node_names, k->node, &id)};
		for (int64_t n = k->node ? 1 : k->count; n > 0 && v.n <= r->nfrags; n--) {
			x.written = (uint32_t)v.n;
			vec_push(&v, x);
		}
	}
	if (v.n > 1)
		qsort(v.v, v.n, sizeof *v.v, origin_cmp);
	rc = v.n == r->nfrags ? 0 : -EINVAL;
	for (size_t i = 0; i < v.n && rc == 0; i++)
		ret[i] = v.v[i].chunk;
	vec_free(&v);
	return rc;
}

int64_t cluster_frag_cpus(const struct cluster *c, const struct request *r, const int32_t *nodes, uint32_t i)
{
	int64_t cpus = shape_cpus(c, r->frag[i].shape), left;

	if (!r->whole)
		return cpus;
	left = c->nodes.v[nodes[i]].total.v[RES_CPU];
	for (uint32_t k = 0; k < r->nfrags; k++) {
		if (nodes[k] == nodes[i] && k > i)
			return cpus;
		if (nodes[k] == nodes[i] && k < i)
			left -= shape_cpus(c, r->frag[k].shape);
	}
	return left;
}

/* Returns true if some free fragment of a request suits a node. */
static bool node_suits_some(const struct cluster *c, const struct request *r, const struct node *n)
{
	for (uint32_t i = r->nfixed; i < r->nfrags; i++) {
		const struct shape *x = &c->shapes.v[r->frag[i].shape];
		if (i > r->nfixed && r->frag[i].shape == r->frag[i - 1].shape)
			continue;
		if (res_covers(&n->total, &x->need) && features_cover(&c->features, n->features, x->features))
			return true;
	}
	return false;
}

static int more_first(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return *x < *y ? 1 : *x > *y ? -1 : 0;
}

/* Sums all CPUs of the nodes that the request names and, for each other fragment, of the largest
 * suitable node. */
static int64_t whole_most(const struct cluster *c, const struct request *r, const struct nodeset *set)
{
	bool *named = mem_zalloc(c->nodes.n + 1);
	VEC(int64_t) free_ = {0};
	int64_t cpus = 0;

	for (uint32_t i = 0; i < r->nfixed; i++)
		named[r->frag[i].node] = true;
	for (uint32_t n = 0; n < c->nodes.n; n++)
		if (named[n])
			cpus += c->nodes.v[n].total.v[RES_CPU];
		else if (nodeset_has(set, n) && node_suits_some(c, r, &c->nodes.v[n]))
			vec_push(&free_, c->nodes.v[n].total.v[RES_CPU]);
	if (free_.n > 1)
		qsort(free_.v, free_.n, sizeof *free_.v, more_first);
	for (size_t i = 0; i < free_.n && i < r->nfrags - r->nfixed; i++)
		cpus += free_.v[i];
	vec_free(&free_);
	free(named);
	return cpus > request_cpus(r) ? cpus : request_cpus(r);
}

int64_t cluster_most_cpus(struct cluster *c, uint32_t request, uint32_t allowed)
{
	struct request *r = &c->requests.v[request];

	if (!r->whole)
		return request_cpus(r);
	if (r->most.cpus == 0 || r->most.nodes_version != c->nodes_version || r->most.allowed != allowed) {
		r->most.cpus = whole_most(c, r, &c->nodesets.v[allowed]);
		r->most.nodes_version = c->nodes_version;
		r->most.allowed = allowed;
	}
	return r->most.cpus;
}

struct job *cluster_add_job(struct cluster *c)
{
	struct job *job = rows_add(&c->jobs, sizeof *job);

	*job = (struct job){.id = c->jobs.n - 1, .deadline = TIME_NEVER, .by = JOB_NONE};
	return job;
}

void cluster_release_jobs(struct cluster *c, uint32_t id)
{
	rows_release(&c->jobs, id);
}

double cluster_weight(const struct cluster *c, const struct job *job)
{
	const struct request *r = cluster_job_request(c, job);

	return (double)job->walltime * ((double)r->cpus_free + c->settings.fixed_factor * (double)r->cpus_fixed);
}

/* ---- hours ---- */

bool cluster_nights_short(const struct cluster *c, const struct job *job)
{
	return cluster_nightly(c, job) && cluster_length(c, job) > hours_longest(&c->settings.nights);
}

int64_t cluster_end(const struct cluster *c, const struct job *job, int64_t start)
{
	int64_t end = start + cluster_length(c, job), begin, until;

	if (cluster_nights_short(c, job) && hours_next(&c->settings.nights, start, &begin, &until) && begin <= start &&
	    until < end)
		end = until;
	return end;
}
