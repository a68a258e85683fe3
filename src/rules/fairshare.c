/*
 * fairshare.c - see fairshare.h.
 */
#include "rules/fairshare.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/names.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "rules/object.h"

#define UNIT (INT64_C(1) << 40)	 /* weight of the newest window; times 4e17 ms and a share, it fits into 128 bits */
#define WHOLE INT64_C(100000000) /* 100 percent of a share */
#define NONE UINT32_MAX
#define ACCOUNTS_MAX 32 /* maximum accounts above each other */

struct day_use {
	int64_t day, ms;
};

struct member {
	uint32_t name[SHARE_LEVELS];
	VEC(struct day_use) days;    /* ascending */
	VEC(struct day_use) running; /* in any order */
	uint32_t knot;
	double standing;
};

/* Settings of an account, group or user, wherever it is in the tree. */
struct wish {
	int64_t target;	 /* percent; -1: none */
	uint32_t parent; /* accounts only; NONE: none */
};

struct knot {
	uint32_t parent, first, next; /* NONE: none; siblings are in any order */
	enum share_level level;
	uint32_t name;
	bool leaf; /* a user: one member, or several where a level does not count */
	__int128 used;
	int64_t share; /* share in units of WHOLE */
	double standing;
};

struct shares {
	struct names key; /* member keys: the three names, one per line */
	VEC(struct member) members;
	struct names names[SHARE_LEVELS];
	VEC(struct wish) wishes[SHARE_LEVELS]; /* indexed by name; may be shorter than `names` */
	int64_t rest[SHARE_LEVELS];	       /* targets of those without their own; -1: none */
	VEC(struct knot) knots;		       /* parents before children, the root first; empty: to be rebuilt */
};

void fairshare_settings_of(struct fairshare_settings *ret, const struct attrs *server)
{
	*ret = (struct fairshare_settings){
		.window = attrs_number(server, SET_FAIRSHARE_WINDOW),
		.depth = attrs_number(server, SET_FAIRSHARE_DEPTH),
		.decay = attrs_number(server, SET_FAIRSHARE_DECAY),
	};
}

struct shares *shares_create(void)
{
	struct shares *x = mem_zalloc(sizeof *x);

	shares_forget_targets(x);
	return x;
}

void shares_destroy(struct shares *x)
{
	if (!x)
		return;
	shares_forget_use(x);
	shares_settle(x);
	for (size_t i = 0; i < x->members.n; i++) {
		vec_free(&x->members.v[i].days);
		vec_free(&x->members.v[i].running);
	}
	for (int i = 0; i < SHARE_LEVELS; i++) {
		names_fini(&x->names[i]);
		vec_free(&x->wishes[i]);
	}
	names_fini(&x->key);
	vec_free(&x->members);
	vec_free(&x->knots);
	free(x);
}

/* ---- members, targets, use ---- */

uint32_t shares_member(struct shares *x, const char *account, const char *group, const char *user)
{
	struct strbuf key = {0};

	strbuf_printf(&key, "%s\n%s\n%s", account, group, user);
	uint32_t id = names_add(&x->key, strbuf_text(&key));
	strbuf_fini(&key);
	if (id == x->members.n) {
		vec_push(&x->members, (struct member){
					      .name = {names_add(&x->names[SHARE_ACCOUNT], account),
						       names_add(&x->names[SHARE_GROUP], group),
						       names_add(&x->names[SHARE_USER], user)},
					      .standing = 100,
				      });
		vec_clear(&x->knots);
	}
	return id;
}

static struct wish *wish_at(struct shares *x, enum share_level level, const char *name)
{
	uint32_t id = names_add(&x->names[level], name);

	while (x->wishes[level].n <= id)
		vec_push(&x->wishes[level], (struct wish){.target = -1, .parent = NONE});
	vec_clear(&x->knots);
	return &x->wishes[level].v[id];
}

static struct wish wish_of(const struct shares *x, enum share_level level, uint32_t name)
{
	return name < x->wishes[level].n ? x->wishes[level].v[name] : (struct wish){.target = -1, .parent = NONE};
}

void shares_target(struct shares *x, enum share_level level, const char *name, int64_t percent)
{
	wish_at(x, level, name)->target = percent;
}

void shares_parent(struct shares *x, const char *account, const char *parent)
{
	uint32_t id = parent ? names_add(&x->names[SHARE_ACCOUNT], parent) : NONE;

	wish_at(x, SHARE_ACCOUNT, account)->parent = id;
}

void shares_forget_targets(struct shares *x)
{
	for (int i = 0; i < SHARE_LEVELS; i++)
		vec_clear(&x->wishes[i]);
	for (int i = 0; i < SHARE_LEVELS; i++)
		x->rest[i] = -1;
	vec_clear(&x->knots);
}

/* Sets the target, in percent, of all at this level without their own; -1: they share what the
 * others leave. */
static void shares_target_rest(struct shares *x, enum share_level level, int64_t percent)
{
	x->rest[level] = percent;
	vec_clear(&x->knots);
}

void shares_aim(struct shares *x, const struct objects *o)
{
	static const enum object_kind kind[] = {
		[SHARE_ACCOUNT] = OBJECT_ACCOUNT, [SHARE_GROUP] = OBJECT_GROUP, [SHARE_USER] = OBJECT_USER};

	shares_forget_targets(x);
	for (int level = 0; level < SHARE_LEVELS; level++)
		for (size_t i = 0; i < o->of[kind[level]].n; i++) {
			const struct object *a = o->of[kind[level]].v[i];
			int64_t percent = attrs_number(&a->attrs, SET_FAIRSHARE);
			if (strcmp(a->name, OBJECT_DEFAULT) == 0)
				shares_target_rest(x, (enum share_level)level, percent);
			else if (percent >= 0)
				shares_target(x, (enum share_level)level, a->name, percent);
			if (level == SHARE_ACCOUNT && attrs_is_set(&a->attrs, SET_PARENT))
				shares_parent(x, a->name, attrs_text(&a->attrs, SET_PARENT));
		}
}

void shares_use(struct shares *x, uint32_t member, int64_t day, int64_t ms)
{
	struct member *m = &x->members.v[member];
	size_t at = m->days.n;

	while (at > 0 && m->days.v[at - 1].day > day) /* it is nearly always the last */
		at--;
	if (at > 0 && m->days.v[at - 1].day == day)
		m->days.v[at - 1].ms += ms;
	else
		vec_insert(&m->days, at, (struct day_use){day, ms});
}

void shares_forget_use(struct shares *x)
{
	for (size_t i = 0; i < x->members.n; i++)
		vec_clear(&x->members.v[i].days);
}

void shares_run(struct shares *x, uint32_t member, int64_t day, int64_t ms)
{
	vec_push(&x->members.v[member].running, (struct day_use){day, ms});
}

void shares_settle(struct shares *x)
{
	for (size_t i = 0; i < x->members.n; i++)
		vec_clear(&x->members.v[i].running);
}

/* ---- the tree ---- */

/* Returns the knot below a parent, creating it if new. `at` finds knots by parent, level and
 * name while the tree is built. */
static uint32_t knot_below(struct shares *x, struct map *at, uint32_t parent, enum share_level level, uint32_t name)
{
	uint64_t *found = map_at(at, (uint64_t)parent << 32 | (uint64_t)level << 30 | name);

	if (*found)
		return (uint32_t)*found;
	*found = x->knots.n;
	vec_push(&x->knots, (struct knot){.parent = parent,
					  .first = NONE,
					  .next = x->knots.v[parent].first,
					  .level = level,
					  .name = name});
	return x->knots.v[parent].first = (uint32_t)x->knots.n - 1;
}

static uint32_t account_knot(struct shares *x, struct map *at, uint32_t account)
{
	uint32_t path[ACCOUNTS_MAX], n = 0, k = 0;

	for (uint32_t a = account; a != NONE && n < ACCOUNTS_MAX; a = wish_of(x, SHARE_ACCOUNT, a).parent)
		path[n++] = a;
	while (n > 0)
		k = knot_below(x, at, k, SHARE_ACCOUNT, path[--n]);
	return k;
}

static bool level_counts(const struct shares *x, enum share_level level)
{
	for (size_t i = 0; i < x->wishes[level].n; i++)
		if (x->wishes[level].v[i].target >= 0 || x->wishes[level].v[i].parent != NONE)
			return true;
	return level == SHARE_USER || x->rest[level] >= 0;
}

/* Adds knots for targets on the first level of the tree, which count even while unused. On lower
 * levels the position of an unused target is unknown. */
static void targets_place(struct shares *x, struct map *at, enum share_level first)
{
	for (uint32_t i = 0; i < x->wishes[first].n; i++) {
		if (x->wishes[first].v[i].target < 0)
			continue;
		if (first == SHARE_ACCOUNT)
			account_knot(x, at, i);
		else
			knot_below(x, at, 0, first, i);
	}
}

static void tree_make(struct shares *x)
{
	bool accounts = level_counts(x, SHARE_ACCOUNT), groups = level_counts(x, SHARE_GROUP);
	struct map at = {0};

	vec_push(&x->knots, (struct knot){.parent = NONE, .first = NONE, .next = NONE});
	for (uint32_t i = 0; i < x->members.n; i++) {
		struct member *m = &x->members.v[i];
		uint32_t k = accounts ? account_knot(x, &at, m->name[SHARE_ACCOUNT]) : 0;
		if (groups)
			k = knot_below(x, &at, k, SHARE_GROUP, m->name[SHARE_GROUP]);
		m->knot = knot_below(x, &at, k, SHARE_USER, m->name[SHARE_USER]);
		x->knots.v[m->knot].leaf = true;
	}
	targets_place(x, &at, accounts ? SHARE_ACCOUNT : groups ? SHARE_GROUP : SHARE_USER);
	map_fini(&at);
}

/* ---- the order ---- */

static int64_t window_of(const struct fairshare_settings *f, int64_t day)
{
	return day / f->window - (day % f->window < 0);
}

/* Returns the weight of a day's use, in units of UNIT. */
static int64_t weight_of(const struct fairshare_settings *f, const int64_t *weight, int64_t day, int64_t today)
{
	int64_t age = window_of(f, today) - window_of(f, day);

	return age < 0 ? UNIT : age < f->depth ? weight[age] : 0;
}

static __int128 member_used(struct member *m, const struct fairshare_settings *f, const int64_t *weight, int64_t today)
{
	__int128 used = 0;
	size_t old = 0;

	while (old < m->days.n && window_of(f, today) - window_of(f, m->days.v[old].day) >= f->depth)
		old++;
	if (old) {
		memmove(m->days.v, m->days.v + old, (m->days.n - old) * sizeof *m->days.v);
		m->days.n -= old;
	}
	for (size_t i = 0; i < m->days.n; i++)
		used += (__int128)m->days.v[i].ms * weight_of(f, weight, m->days.v[i].day, today);
	for (size_t i = 0; i < m->running.n; i++)
		used += (__int128)m->running.v[i].ms * weight_of(f, weight, m->running.v[i].day, today);
	return used;
}

/* Sums the use of every knot, from its members up. */
static void use_sum(struct shares *x, const struct fairshare_settings *f, int64_t today)
{
	int64_t *weight = mem_alloc((size_t)f->depth * sizeof *weight), w = UNIT;

	for (int64_t i = 0; i < f->depth; i++, w = (int64_t)((__int128)w * f->decay / 100))
		weight[i] = w;
	for (size_t i = 0; i < x->knots.n; i++)
		x->knots.v[i].used = 0;
	for (size_t i = 0; i < x->members.n; i++)
		x->knots.v[x->members.v[i].knot].used += member_used(&x->members.v[i], f, weight, today);
	for (size_t i = x->knots.n - 1; i > 0; i--)
		x->knots.v[x->knots.v[i].parent].used += x->knots.v[i].used;
	free(weight);
}

/* Computes the shares of a knot's children. */
static void shares_divide(struct shares *x, uint32_t parent)
{
	int64_t left = WHOLE, without = 0;

	for (uint32_t k = x->knots.v[parent].first; k != NONE; k = x->knots.v[k].next) {
		struct knot *c = &x->knots.v[k];
		int64_t target = wish_of(x, c->level, c->name).target;
		target = target >= 0 ? target : x->rest[c->level];
		c->share = target >= 0 ? target * (WHOLE / 100) : -1;
		left -= target >= 0 ? c->share : 0;
		without += target < 0 && c->used > 0;
	}
	for (uint32_t k = x->knots.v[parent].first; k != NONE; k = x->knots.v[k].next)
		if (x->knots.v[k].share < 0)
			x->knots.v[k].share = left > 0 ? left / (without ? without : 1) : 0;
}

/* Orders by use relative to share, least first; 0: equal. Knots with a share but no use come
 * first, knots without a share last. */
static int knot_cmp(const void *a, const void *b)
{
	const struct knot *x = *(struct knot *const *)a, *y = *(struct knot *const *)b;

	if (!x->share || !y->share)
		return !x->share - !y->share;
	__int128 p = x->used * y->share, q = y->used * x->share;
	return p < q ? -1 : p > q;
}

struct line {
	struct shares *x;
	int64_t before, all; /* number of members with use */
};

/* Returns the standing of an account or a group: that of the first user below it. */
static double best_below(const struct shares *x, const struct knot *k)
{
	double best = 0;

	for (uint32_t i = k->first; i != NONE; i = x->knots.v[i].next)
		best = x->knots.v[i].standing > best ? x->knots.v[i].standing : best;
	return best;
}

static void line_up(struct line *l, struct knot **v, size_t n)
{
	VEC(struct knot *) below = {0};
	size_t end;

	qsort(v, n, sizeof *v, knot_cmp);
	for (size_t i = 0; i < n; i = end) {
		/* equal knots form one step, and their children are compared as if they had one
		 * parent */
		int64_t here = 0;
		vec_clear(&below);
		for (end = i; end < n && knot_cmp(&v[i], &v[end]) == 0; end++) {
			here += v[end]->leaf && v[end]->used > 0;
			for (uint32_t k = v[end]->first; k != NONE; k = l->x->knots.v[k].next)
				vec_push(&below, &l->x->knots.v[k]);
		}
		for (size_t k = i; k < end; k++)
			v[k]->standing = l->all ? 100.0 * (double)(l->all - l->before - here) / (double)l->all : 100;
		l->before += here;
		if (below.n)
			line_up(l, below.v, below.n);
		for (size_t k = i; k < end; k++)
			if (v[k]->first != NONE)
				v[k]->standing = best_below(l->x, v[k]);
	}
	vec_free(&below);
}

void shares_rank(struct shares *x, const struct fairshare_settings *f, int64_t today)
{
	struct line l = {.x = x};

	if (!x->knots.n)
		tree_make(x);
	use_sum(x, f, today);
	for (uint32_t k = 0; k < x->knots.n; k++) {
		shares_divide(x, k);
		l.all += x->knots.v[k].leaf && x->knots.v[k].used > 0;
	}
	line_up(&l, (struct knot *[]){x->knots.v}, 1);
	for (size_t i = 0; i < x->members.n; i++)
		x->members.v[i].standing = x->knots.v[x->members.v[i].knot].standing;
}

bool shares_stale(const struct shares *x)
{
	return !x->knots.n && x->members.n;
}

double shares_standing(const struct shares *x, uint32_t member)
{
	return x->members.v[member].standing;
}

/* ---- display ---- */

static void list_below(const struct shares *x, uint32_t parent, uint32_t depth,
		       void (*row)(void *context, const struct share_row *r), void *context)
{
	VEC(struct knot *) v = {0};
	double all = (double)x->knots.v[parent].used;

	for (uint32_t k = x->knots.v[parent].first; k != NONE; k = x->knots.v[k].next)
		if (x->knots.v[k].used > 0 || wish_of(x, x->knots.v[k].level, x->knots.v[k].name).target >= 0)
			vec_push(&v, &x->knots.v[k]);
	if (v.n)
		qsort(v.v, v.n, sizeof *v.v, knot_cmp);
	for (size_t i = 0; i < v.n; i++) {
		const struct knot *k = v.v[i];
		row(context, &(struct share_row){
				     .level = k->level,
				     .name = names_get(&x->names[k->level], k->name),
				     .depth = depth,
				     .target = 100.0 * (double)k->share / WHOLE,
				     .own = wish_of(x, k->level, k->name).target >= 0 || x->rest[k->level] >= 0,
				     .used = all > 0 ? 100.0 * (double)k->used / all : 0,
				     .cpu_hours = (double)k->used / UNIT / 3600e3,
				     .standing = k->standing,
			     });
		list_below(x, (uint32_t)(k - x->knots.v), depth + 1, row, context);
	}
	vec_free(&v);
}

void shares_list(const struct shares *x, void (*row)(void *context, const struct share_row *r), void *context)
{
	if (x->knots.n)
		list_below(x, 0, 0, row, context);
}
