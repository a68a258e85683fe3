/*
 * pack.c - bin packing with several resources, nodes of any size, features and exclusivity.
 *
 * Nodes are processed one after the other, those with equal free amounts (a *class*) together. For
 * each node a *filling* is chosen: the number of fragments of each kind. Only fillings to which
 * nothing can be added are tried, because a fragment on a later node could as well be here. The
 * result depends only on the fragments left for the later nodes, not on how they came to be left,
 * so a remainder that failed once is not tried again. When all remaining nodes are of one class,
 * the largest remaining fragment can be assumed to be on the first of them.
 *
 * Three things keep the search small: no class needs more nodes than there are fragments; a class
 * is dropped when enough nodes have at least as much; and the remainder must fit by its sums into
 * the remaining nodes, also each kind alone.
 */
#include "plan/pack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define EXACT_FRAGS 16
#define EXACT_KINDS 4
#define EXACT_WORK (UINT64_C(1) << 22)
#define PACK_WORK (UINT64_C(1) << 18)
#define MEMO_MAX (1 << 20) /* maximum states remembered as failed, in one search */
#define FAILED_MAX 4096	   /* maximum searches remembered as failed */
#define FAILED_WORTH 64	   /* minimum steps of a search worth remembering */
/* with more classes, comparing them all would cost more than it saves */
#define DOMINANCE_CLASSES 512

/* Nodes with equal free amounts, open to the same kinds. */
struct class
{
	struct res free;
	uint64_t kinds;
	uint32_t first, n; /* range in the sorted bins */
	int64_t copies[PACK_KINDS];
	/* sums over this class and those after it */
	int64_t rest_copies[PACK_KINDS];
	struct res rest_free;
};

/* A node on the path of the search, and its filling. */
struct level {
	uint32_t class;
	uint32_t bin;
	int solo; /* kind that is here alone; -1: several may share; -2: nothing chosen yet */
	bool any; /* a filling was chosen */
};

struct search {
	struct pack *k;
	VEC(struct class) classes;
	struct level *level;
	uint32_t *fill; /* count per level and kind */
	uint32_t nlevels;
	uint32_t left[PACK_KINDS];
	/* weights that encode left[] as one number; radix[0] = 0: too large, use a hash */
	uint64_t radix[PACK_KINDS];
	struct map memo;
	uint64_t work;
};

void pack_init(struct pack *k, const struct cluster *c, const struct request *r, bool scatter)
{
	*k = (struct pack){.c = c, .r = r};
	for (uint32_t i = 0; i < r->nfrags && k->nkinds >= 0; i++) {
		int n = k->nkinds;
		while (n > 0 && k->kind[n - 1].shape != r->frag[i].shape)
			n--;
		if (n == 0 && k->nkinds == PACK_KINDS) {
			k->nkinds = -1;
			return;
		}
		if (n == 0) {
			const struct shape *s = &c->shapes.v[r->frag[i].shape];
			n = ++k->nkinds;
			k->kind[n - 1] = (struct pack_kind){.need = s->need, .alone = scatter || s->exclusive};
			k->kind[n - 1].shape = r->frag[i].shape;
		}
		k->kind[n - 1].count += r->frag[i].node == NODE_ANY;
	}
}

void pack_fini(struct pack *k)
{
	vec_free(&k->bins);
}

void pack_offer(struct pack *k, int32_t node, const struct res *free, uint64_t kinds)
{
	vec_push(&k->bins, (struct pack_bin){.free = *free, .kinds = kinds, .node = node});
}

/* ---- before the search ---- */

static struct pack_bin *bin_of(struct pack *k, int32_t node)
{
	size_t lo = 0, hi = k->bins.n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (k->bins.v[mid].node < node)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < k->bins.n && k->bins.v[lo].node == node ? &k->bins.v[lo] : NULL;
}

static int kind_of(const struct pack *k, uint32_t shape)
{
	int i = 0;

	while (k->kind[i].shape != shape)
		i++;
	return i;
}

/* Places fragments that name their node. Returns false if one cannot be there. */
static bool place_fixed(struct pack *k, int32_t *ret_nodes)
{
	for (uint32_t i = 0; i < k->r->nfrags; i++) {
		const struct frag *f = &k->r->frag[i];
		if (f->node == NODE_ANY)
			continue;

		int n = kind_of(k, f->shape);
		struct pack_bin *b = bin_of(k, f->node);

		if (!b || !(b->kinds >> n & 1) || b->closed || (b->used && k->kind[n].alone) ||
		    !res_covers(&b->free, &k->kind[n].need))
			return false;
		res_sub(&b->free, &k->kind[n].need);
		b->used = true;
		b->closed = k->kind[n].alone;
		ret_nodes[i] = f->node;
	}
	return true;
}

static int kind_cmp(const void *a, const void *b)
{
	const struct pack_kind *x = a, *y = b;

	if (x->size != y->size)
		return x->size > y->size ? -1 : 1;
	return x->shape < y->shape ? -1 : x->shape > y->shape;
}

/* Sorts kinds by the share of all free resources that they need, largest first, and adapts the
 * masks of the bins. */
static void sort_kinds(struct pack *k)
{
	struct pack_kind old[PACK_KINDS];
	int was[PACK_KINDS];
	double sum[RES_MAX] = {0};

	for (size_t i = 0; i < k->bins.n; i++)
		for (int d = 0; d < k->c->nres; d++)
			sum[d] += (double)k->bins.v[i].free.v[d];
	for (int i = 0; i < k->nkinds; i++)
		for (int d = 0; d < k->c->nres; d++)
			k->kind[i].size += sum[d] > 0 ? (double)k->kind[i].need.v[d] / sum[d] : 0;
	memcpy(old, k->kind, sizeof old);
	qsort(k->kind, (size_t)k->nkinds, sizeof *k->kind, kind_cmp);
	for (int i = 0; i < k->nkinds; i++)
		for (was[i] = 0; old[was[i]].shape != k->kind[i].shape;)
			was[i]++;
	for (size_t b = 0; b < k->bins.n; b++) {
		uint64_t kinds = 0;
		for (int i = 0; i < k->nkinds; i++)
			kinds |= (k->bins.v[b].kinds >> was[i] & 1) << i;
		k->bins.v[b].kinds = kinds;
	}
}

/* Limits each bin to the kinds that fit and to the amounts that all of them together could use;
 * drops useless bins. */
static void trim_bins(struct pack *k)
{
	size_t kept = 0;

	for (size_t b = 0; b < k->bins.n; b++) {
		struct pack_bin x = k->bins.v[b];
		struct res most = {0};
		for (int i = 0; i < k->nkinds; i++) {
			const struct pack_kind *kind = &k->kind[i];
			if (kind->count == 0 || x.closed || (x.used && kind->alone) ||
			    !res_covers(&x.free, &kind->need))
				x.kinds &= ~(UINT64_C(1) << i);
			for (int d = 0; d < k->c->nres && x.kinds >> i & 1; d++)
				most.v[d] += kind->need.v[d] * kind->count;
		}
		for (int d = 0; d < RES_MAX; d++)
			if (x.free.v[d] > most.v[d])
				x.free.v[d] = most.v[d];
		if (x.kinds)
			k->bins.v[kept++] = x;
	}
	k->bins.n = kept;
}

static int64_t copies_in(const struct pack *k, const struct res *free, uint64_t kinds, int i)
{
	int64_t n = k->kind[i].alone ? 1 : k->kind[i].count;

	if (!(kinds >> i & 1))
		return 0;
	for (int d = 0; d < k->c->nres; d++)
		if (k->kind[i].need.v[d] && free->v[d] / k->kind[i].need.v[d] < n)
			n = free->v[d] / k->kind[i].need.v[d];
	return n;
}

/* Returns true if `left` of each kind could fit by the sums alone. */
static bool sums_cover(const struct pack *k, const uint32_t *left, const int64_t *copies, const struct res *free)
{
	struct res need = {0};

	for (int i = 0; i < k->nkinds; i++) {
		if (left[i] > copies[i])
			return false;
		for (int d = 0; d < k->c->nres; d++)
			need.v[d] += k->kind[i].need.v[d] * left[i];
	}
	return res_covers(free, &need);
}

static bool bins_cover(const struct pack *k, const uint32_t *left)
{
	int64_t copies[PACK_KINDS] = {0};
	struct res free = {0};

	for (size_t b = 0; b < k->bins.n; b++) {
		for (int i = 0; i < k->nkinds; i++)
			copies[i] += copies_in(k, &k->bins.v[b].free, k->bins.v[b].kinds, i);
		res_add(&free, &k->bins.v[b].free);
	}
	return sums_cover(k, left, copies, &free);
}

/* ---- classes ---- */

static int res_cmp(const struct res *a, const struct res *b)
{
	for (int d = 0; d < RES_MAX; d++)
		if (a->v[d] != b->v[d])
			return a->v[d] < b->v[d] ? -1 : 1;
	return 0;
}

/* Fewest free CPUs first, so that small fragments go where little else fits. */
static int bin_cmp(const void *a, const void *b)
{
	const struct pack_bin *x = a, *y = b;
	int c = res_cmp(&x->free, &y->free);

	if (c)
		return c;
	if (x->kinds != y->kinds)
		return x->kinds < y->kinds ? -1 : 1;
	return x->node < y->node ? -1 : x->node > y->node;
}

static void find_classes(struct search *s, uint32_t nfree)
{
	struct pack *k = s->k;

	qsort(k->bins.v, k->bins.n, sizeof *k->bins.v, bin_cmp);
	for (size_t b = 0; b < k->bins.n; b++) {
		const struct pack_bin *x = &k->bins.v[b];
		struct class *c = s->classes.n ? &s->classes.v[s->classes.n - 1] : NULL;
		if (!c || !res_equal(&c->free, &x->free) || c->kinds != x->kinds) {
			vec_push(&s->classes, (struct class){.free = x->free, .kinds = x->kinds, .first = (uint32_t)b});
			c = &s->classes.v[s->classes.n - 1];
		}
		c->n += c->n < nfree;
	}
}

/* Drops classes whose nodes are never needed, since nfree others have at least as much. */
static void drop_dominated(struct search *s, uint32_t nfree)
{
	size_t n = s->classes.n, kept = 0;

	if (n > DOMINANCE_CLASSES)
		return;
	for (size_t i = 0; i < n; i++) {
		const struct class *c = &s->classes.v[i];
		uint64_t better = 0;
		for (size_t j = i + 1; j < n && better < nfree; j++) { /* sorted: no earlier class has more */
			const struct class *o = &s->classes.v[j];
			if ((o->kinds & c->kinds) == c->kinds && res_covers(&o->free, &c->free))
				better += o->n;
		}
		if (better < nfree)
			s->classes.v[kept++] = *c;
	}
	s->classes.n = kept;
}

static void sum_classes(struct search *s)
{
	const struct pack *k = s->k;

	for (size_t i = s->classes.n; i-- > 0;) {
		struct class *c = &s->classes.v[i], *next = i + 1 < s->classes.n ? c + 1 : NULL;
		for (int d = 0; d < RES_MAX; d++)
			c->rest_free.v[d] = c->free.v[d] * c->n + (next ? next->rest_free.v[d] : 0);
		for (int n = 0; n < k->nkinds; n++) {
			c->copies[n] = copies_in(k, &c->free, c->kinds, n);
			c->rest_copies[n] = c->copies[n] * c->n + (next ? next->rest_copies[n] : 0);
		}
		s->nlevels += c->n;
	}
}

static void make_levels(struct search *s)
{
	uint32_t n = 0;

	s->level = mem_alloc((s->nlevels + 1) * sizeof *s->level);
	s->fill = mem_alloc(((size_t)s->nlevels + 1) * (size_t)s->k->nkinds * sizeof *s->fill);
	for (size_t i = 0; i < s->classes.n; i++)
		for (uint32_t b = 0; b < s->classes.v[i].n; b++)
			s->level[n++] = (struct level){.class = (uint32_t)i, .bin = s->classes.v[i].first + b};
}

/* ---- fillings ---- */

static uint32_t *fill_of(const struct search *s, uint32_t at)
{
	return s->fill + (size_t)at * (size_t)s->k->nkinds;
}

/* Fills the node with shareable kinds from `from` on, as many of each as fit. */
static void fill_up(const struct search *s, uint32_t at, struct res *room, int from)
{
	const struct pack *k = s->k;
	const struct class *c = &s->classes.v[s->level[at].class];
	uint32_t *fill = fill_of(s, at);

	for (int i = from; i < k->nkinds; i++) {
		int64_t n = k->kind[i].alone ? 0 : copies_in(k, room, c->kinds, i);
		if (n > s->left[i])
			n = s->left[i];
		fill[i] = (uint32_t)n;
		for (int d = 0; d < k->c->nres; d++)
			room->v[d] -= k->kind[i].need.v[d] * n;
	}
}

/* Returns true if nothing can be added; `room` is what the filling leaves. */
static bool fill_is_full(const struct search *s, uint32_t at, const struct res *room)
{
	const struct pack *k = s->k;
	uint64_t kinds = s->classes.v[s->level[at].class].kinds;
	const uint32_t *fill = fill_of(s, at);

	for (int i = 0; i < k->nkinds; i++)
		if (!k->kind[i].alone && fill[i] < s->left[i] && copies_in(k, room, kinds, i) > 0)
			return false;
	return true;
}

static bool fill_is_empty(const struct search *s, uint32_t at)
{
	for (int i = 0; i < s->k->nkinds; i++)
		if (fill_of(s, at)[i])
			return false;
	return true;
}

/* Moves to the next way in which fragments share this node: one fewer of some kind, and the
 * smaller kinds filled up again. */
static bool shared_next(struct search *s, uint32_t at)
{
	const struct pack *k = s->k;
	uint32_t *fill = fill_of(s, at);

	for (;;) {
		struct res room = s->classes.v[s->level[at].class].free;
		int i = k->nkinds - 2; /* reducing only the smallest kind would not leave the node full */
		while (i >= 0 && fill[i] == 0)
			i--;
		if (i < 0)
			return false;
		fill[i]--;
		s->work++;
		for (int n = 0; n <= i; n++)
			for (int d = 0; d < k->c->nres; d++)
				room.v[d] -= k->kind[n].need.v[d] * fill[n];
		fill_up(s, at, &room, i + 1);
		if (fill_is_full(s, at, &room))
			return true;
	}
}

/* Moves to the next kind that can be here alone. */
static bool solo_next(struct search *s, uint32_t at)
{
	struct level *l = &s->level[at];
	const struct class *c = &s->classes.v[l->class];

	memset(fill_of(s, at), 0, (size_t)s->k->nkinds * sizeof *s->fill);
	for (l->solo++; l->solo < s->k->nkinds; l->solo++)
		if (s->k->kind[l->solo].alone && s->left[l->solo] && c->copies[l->solo]) {
			fill_of(s, at)[l->solo] = 1;
			s->work++;
			return true;
		}
	return false;
}

/* Moves to the first or next filling of a level. Returns false if there is no other. */
static bool fill_next(struct search *s, uint32_t at)
{
	struct level *l = &s->level[at];

	if (l->solo == -2) {
		struct res room = s->classes.v[l->class].free;
		l->solo = -1;
		s->work++;
		fill_up(s, at, &room, 0);
		l->any = !fill_is_empty(s, at);
		if (l->any)
			return true;
	} else if (l->solo == -1 && shared_next(s, at)) {
		return true;
	}
	if (solo_next(s, at)) {
		l->any = true;
		return true;
	}
	if (l->any)
		return false;
	l->any = true; /* nothing fits: skip the node, once */
	return true;
}

/* ---- the search ---- */

static void memo_ready(struct search *s)
{
	const struct pack *k = s->k;
	unsigned __int128 all = (unsigned __int128)s->nlevels + 1;

	for (int i = 0; i < k->nkinds; i++) {
		s->radix[i] = (uint64_t)all;
		all *= k->kind[i].count + 1;
		if (all >> 63) {
			s->radix[0] = 0;
			return;
		}
	}
}

/* Encodes a level and the fragments left for it in a number: exactly if possible, otherwise as a
 * hash. */
static uint64_t memo_key(const struct search *s, uint32_t at)
{
	uint64_t key = at;

	if (s->radix[0] == 0)
		return hash_bytes(s->left, (size_t)s->k->nkinds * sizeof *s->left) * UINT64_C(0x9e3779b97f4a7c15) + at;
	for (int i = 0; i < s->k->nkinds; i++)
		key += s->radix[i] * s->left[i];
	return key;
}

static bool all_placed(const struct search *s)
{
	for (int i = 0; i < s->k->nkinds; i++)
		if (s->left[i])
			return false;
	return true;
}

/* Returns true if the remaining fragments could fit on this level and those after it. */
static bool level_hopeful(const struct search *s, uint32_t at)
{
	const struct pack *k = s->k;
	const struct class *c = &s->classes.v[s->level[at].class];
	uint32_t gone = s->level[at].bin - c->first; /* nodes of the class already processed */
	struct res free = c->rest_free;
	int64_t copies[PACK_KINDS];
	uint64_t value;

	for (int i = 0; i < k->nkinds; i++)
		copies[i] = c->rest_copies[i] - c->copies[i] * gone;
	for (int d = 0; d < RES_MAX; d++)
		free.v[d] -= c->free.v[d] * gone;
	return sums_cover(k, s->left, copies, &free) && !map_get(&s->memo, memo_key(s, at), &value);
}

/* Returns false for a redundant filling: where all remaining nodes are equal, the largest
 * remaining fragment can be assumed to be on the first of them. */
static bool fill_allowed(const struct search *s, uint32_t at)
{
	int i = 0;

	if (s->level[at].class + 1 < s->classes.n)
		return true;
	while (s->left[i] == 0)
		i++;
	return fill_of(s, at)[i] > 0;
}

static void left_change(struct search *s, uint32_t at, int sign)
{
	for (int i = 0; i < s->k->nkinds; i++)
		s->left[i] = sign > 0 ? s->left[i] + fill_of(s, at)[i] : s->left[i] - fill_of(s, at)[i];
}

/* Searches depth first. On FIT_YES the levels before *ret_used hold their fillings. */
static enum fit search_run(struct search *s, uint64_t most, uint32_t *ret_used)
{
	uint32_t at = 0;

	if (!level_hopeful(s, 0))
		return FIT_NO;
	s->level[0].solo = -2;
	for (;;) {
		bool more = fill_next(s, at);
		while (more && !fill_allowed(s, at))
			more = fill_next(s, at);
		if (s->work > most)
			return FIT_UNKNOWN;
		if (more) {
			left_change(s, at, -1);
			if (all_placed(s)) {
				*ret_used = at + 1;
				return FIT_YES;
			}
			if (at + 1 < s->nlevels && level_hopeful(s, at + 1)) {
				s->level[++at].solo = -2;
				continue;
			}
		} else {
			if (s->memo.n < MEMO_MAX)
				map_set(&s->memo, memo_key(s, at), 1);
			if (at-- == 0)
				return FIT_NO;
		}
		left_change(s, at, 1); /* the filling of `at` has failed */
	}
}

static void name_nodes(const struct search *s, uint32_t used, int32_t *ret_nodes)
{
	const struct pack *k = s->k;
	uint32_t next[PACK_KINDS] = {0};

	for (uint32_t at = 0; at < used; at++)
		for (int i = 0; i < k->nkinds; i++)
			for (uint32_t n = fill_of(s, at)[i]; n > 0; n--) {
				const struct frag *f = k->r->frag;
				while (f[next[i]].node != NODE_ANY || f[next[i]].shape != k->kind[i].shape)
					next[i]++;
				ret_nodes[next[i]++] = k->bins.v[s->level[at].bin].node;
			}
}

/* Hashes everything that the result depends on. */
static uint64_t signature(const struct search *s)
{
	uint64_t h = 0;

	for (int i = 0; i < s->k->nkinds; i++) {
		h = h * UINT64_C(0x100000001b3) +
		    s->k->c->shapes.v[s->k->kind[i].shape].hash; /* not the shape's number, which may be reused */
		h = h * UINT64_C(0x100000001b3) + s->k->kind[i].count * 2 + s->k->kind[i].alone;
	}
	for (size_t i = 0; i < s->classes.n; i++) {
		const struct class *c = &s->classes.v[i];
		h = (h ^ hash_bytes(&c->free, sizeof c->free)) * UINT64_C(0x9e3779b97f4a7c15);
		h = (h ^ c->kinds) * UINT64_C(0x9e3779b97f4a7c15) + c->n;
	}
	return h;
}

/* Searches, unless the same search has failed before. */
static enum fit search_once(struct search *s, uint64_t most, int32_t *ret_nodes)
{
	struct map *failed = s->k->failed;
	uint64_t key = failed ? signature(s) : 0, known;
	uint32_t used = 0;
	enum fit fit;

	if (failed && map_get(failed, key, &known))
		return (enum fit)known;
	make_levels(s);
	memo_ready(s);
	fit = search_run(s, most + s->nlevels, &used);
	if (fit == FIT_YES)
		name_nodes(s, used, ret_nodes);
	if (failed && fit != FIT_YES && s->work >= FAILED_WORTH) {
		if (failed->n >= FAILED_MAX)
			map_fini(failed);
		map_set(failed, key, fit);
	}
	s->k->steps += s->work;
	return fit;
}

enum fit pack_solve(struct pack *k, int32_t *ret_nodes)
{
	struct search s = {.k = k};
	uint32_t nfree = 0;
	int distinct = 0;
	enum fit fit = FIT_NO;

	if (k->nkinds < 0)
		return FIT_UNKNOWN;
	if (!place_fixed(k, ret_nodes))
		return FIT_NO;
	trim_bins(k);
	sort_kinds(k);
	for (int i = 0; i < k->nkinds; i++) {
		s.left[i] = k->kind[i].count;
		nfree += k->kind[i].count;
		distinct += k->kind[i].count > 0;
	}
	if (nfree == 0)
		return FIT_YES;
	if (!bins_cover(k, s.left))
		return FIT_NO;
	find_classes(&s, nfree);
	drop_dominated(&s, nfree);
	sum_classes(&s);
	fit = search_once(&s, nfree <= EXACT_FRAGS || distinct <= EXACT_KINDS ? EXACT_WORK : PACK_WORK, ret_nodes);
	vec_free(&s.classes);
	map_fini(&s.memo);
	free(s.level);
	free(s.fill);
	return fit;
}

/* Returns true if equal fragments fit on a node each, which a look at the first nodes usually
 * shows. */
static bool fits_apart(const struct cluster *c, const struct request *r, const bool *usable)
{
	const struct shape *shape = &c->shapes.v[r->frag[0].shape];
	uint32_t found = 0;

	for (uint32_t i = 0; i < r->nfrags; i++)
		if (r->frag[i].node != NODE_ANY || r->frag[i].shape != r->frag[0].shape)
			return false;
	for (size_t n = 0; n < c->nodes.n && found < r->nfrags; n++)
		found += (!usable || usable[n]) && res_covers(&c->nodes.v[n].total, &shape->need) &&
			 features_cover(&c->features, c->nodes.v[n].features, shape->features);
	return found == r->nfrags;
}

enum fit pack_empty(const struct cluster *c, const struct request *r, bool scatter, const bool *usable)
{
	if (r->nfrags && fits_apart(c, r, usable))
		return FIT_YES;

	int32_t *nodes = mem_alloc(r->nfrags * sizeof *nodes);
	struct pack k;
	enum fit fit;

	pack_init(&k, c, r, scatter);
	for (size_t n = 0; n < c->nodes.n && k.nkinds > 0; n++) {
		uint64_t kinds = 0;
		if (usable && !usable[n])
			continue;
		for (int i = 0; i < k.nkinds; i++) {
			uint32_t features = c->shapes.v[k.kind[i].shape].features;
			kinds |= (uint64_t)(features_cover(&c->features, c->nodes.v[n].features, features)) << i;
		}
		pack_offer(&k, (int32_t)n, &c->nodes.v[n].total, kinds);
	}
	fit = pack_solve(&k, nodes);
	pack_fini(&k);
	free(nodes);
	return fit;
}

/* Returns -EINVAL, with a sentence, if the request needs more of something than these nodes have
 * together, else 0. */
static int refuse_sum(const struct cluster *c, const struct request *r, const char *these, const struct res *sum,
		      struct err *err)
{
	for (int d = 0; d < RES_MAX; d++) {
		char need[32], have[32];
		if (r->total.v[d] <= sum->v[d])
			continue;
		if (res_kib(d))
			return err_set(err, -EINVAL, "it requests %s of %s, but %s together have %s",
				       memory_format(r->total.v[d], need, sizeof need), res_kib(d), these,
				       memory_format(sum->v[d], have, sizeof have));
		return err_set(err, -EINVAL, "it requests %lld %s, but %s together have %lld", (long long)r->total.v[d],
			       d == RES_CPU	? "CPUs"
			       : d == RES_GPU	? "GPUs"
			       : d == RES_SHARE ? "thousandths of a CPU"
						: names_get(&c->res_names, (uint32_t)d - RES_NAMED),
			       these, (long long)sum->v[d]);
	}
	return 0;
}

int pack_refuse(const struct cluster *c, const struct request *r, bool scatter, const bool *usable, struct err *err)
{
	struct res sum = {0};
	uint32_t nodes = 0, apart = 0;
	int rc;

	for (size_t n = 0; n < c->nodes.n; n++)
		if (!usable || usable[n]) {
			res_add(&sum, &c->nodes.v[n].total);
			nodes++;
		}
	for (uint32_t i = 0; i < r->nfrags; i++)
		apart += scatter || c->shapes.v[r->frag[i].shape].exclusive;
	rc = refuse_sum(c, r, nodes < c->nodes.n ? "the nodes that it may use" : "all nodes", &sum, err);
	if (rc == 0 && apart > nodes)
		rc = err_set(err, -EINVAL, "it needs %u different nodes, but there %s %u%s", apart,
			     nodes == 1 ? "is" : "are", nodes,
			     scatter ? " (the policy gives each part of a job a node of its own)" : "");
	if (rc == 0)
		rc = err_set(err, -EINVAL, "its parts do not fit on the nodes together, even when all nodes are empty");
	return rc;
}
