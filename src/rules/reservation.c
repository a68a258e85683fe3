/*
 * reservation.c - see reservation.h.
 */
#include "rules/reservation.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/amount.h"
#include "base/day.h"
#include "base/hours.h"
#include "base/timetext.h"

#define DAY INT64_C(86400)

static int64_t number_or(const struct attrs *a, enum attr_key key, int64_t otherwise)
{
	return attrs_is_set(a, key) ? attrs_number(a, key) : otherwise;
}

/* has `hours` */
static bool reservation_weekly(const struct object *x)
{
	return attrs_is_set(&x->attrs, SET_HOURS);
}

static int64_t begin_of(const struct object *x)
{
	return number_or(&x->attrs, SET_START, INT64_MIN);
}

static int64_t end_of(const struct object *x)
{
	if (!attrs_is_set(&x->attrs, SET_END) && attrs_is_set(&x->attrs, SET_DURATION) &&
	    attrs_is_set(&x->attrs, SET_START))
		return begin_of(x) + attrs_number(&x->attrs, SET_DURATION);
	return number_or(&x->attrs, SET_END, TIME_NEVER);
}

static bool is_amount(const struct attr_value *v)
{
	return attr_is(v->attr, SET_AMOUNTS);
}

static bool has_amounts(const struct attrs *a)
{
	for (size_t i = 0; i < a->set.n; i++)
		if (is_amount(&a->set.v[i]))
			return true;
	return false;
}

bool reservation_holds(const struct object *x)
{
	const struct attrs *a = &x->attrs;
	bool times = attrs_is_set(a, SET_START) && (attrs_is_set(a, SET_END) || attrs_is_set(a, SET_DURATION));

	return (attrs_is_set(a, SET_NODES) || has_amounts(a)) && (times || reservation_weekly(x));
}

bool reservation_binds(const struct object *x)
{
	return attrs_is_set(&x->attrs, SET_NODES) || !reservation_holds(x);
}

bool reservation_over(const struct object *x, int64_t now)
{
	return reservation_holds(x) && end_of(x) <= now;
}

/* ---- dates ---- */

static int span_cmp(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* Reads the excluded days, sorted. -EINVAL. */
static int except_read(const struct object *x, span_vec *ret, struct err *err)
{
	const char *list = attrs_text(&x->attrs, SET_EXCEPT);
	char *copy = mem_strdup(list ? list : ""), *rest = copy, *one;
	struct span day;
	int rc = 0;

	while (rc == 0 && (one = strsep(&rest, ","))) {
		if (!*one)
			continue;
		rc = day_read(one, &day.start, &day.end, err);
		if (rc < 0)
			rc = err_prefix(err, rc, "except");
		if (rc == 0)
			vec_push(ret, day);
	}
	if (ret->n > 1)
		qsort(ret->v, ret->n, sizeof *ret->v, span_cmp);
	free(copy);
	return rc;
}

/* ---- parts of nodes ---- */

static const struct {
	const char *name; /* name in per_node */
	int dim;
} parts[] = {{"ncpus", RES_CPU}, {"mem", RES_MEM}, {"disk", RES_DISK}, {"swap", RES_SWAP}};

void reservation_part(const struct object *x, struct res *ret)
{
	*ret = (struct res){0};
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
		int64_t n = attrs_amount(&x->attrs, SET_PER_NODE, parts[i].name);
		ret->v[parts[i].dim] = n > 0 ? n : 0;
	}
}

int reservation_part_check(const struct object *x, const struct cluster *c, const bool *has, struct err *err)
{
	struct res part;
	char text[32];

	reservation_part(x, &part);
	for (uint32_t n = 0; n < c->nodes.n; n++)
		for (size_t i = 0; i < sizeof parts / sizeof *parts && has[n]; i++) {
			int d = parts[i].dim;
			int64_t total = c->nodes.v[n].total.v[d];
			if (part.v[d] <= total)
				continue;
			snprintf(text, sizeof text, "%lld", (long long)total);
			return err_set(err, -EINVAL, "per_node.%s: node %.100s has %s", parts[i].name,
				       names_get(&c->node_names, n),
				       d == RES_CPU ? text : memory_format(total, text, sizeof text));
		}
	return 0;
}

/* Checks the names and values of per_node: a reservation of nothing would otherwise take whole
 * nodes. -EINVAL. */
static int per_node_check(const struct object *x, struct err *err)
{
	for (size_t i = 0; i < x->attrs.set.n; i++) {
		const struct attr_value *v = &x->attrs.set.v[i];
		size_t k = 0;
		if (!attr_is(v->attr, SET_PER_NODE))
			continue;
		while (k < sizeof parts / sizeof *parts && strcmp(parts[k].name, v->resource) != 0)
			k++;
		if (k == sizeof parts / sizeof *parts)
			return err_set(err, -EINVAL, "per_node.%.60s: it can keep ncpus, mem, disk and swap",
				       v->resource);
		if (attrs_amount(&x->attrs, SET_PER_NODE, v->resource) <= 0)
			return err_set(err, -EINVAL, "per_node.%s: must be more than 0", v->resource);
		if (attrs_bool(&x->attrs, SET_MAINTENANCE))
			return err_set(err, -EINVAL, "per_node: maintenance takes whole nodes");
		if (!attrs_is_set(&x->attrs, SET_NODES) && !attrs_is_set(&x->attrs, SET_NODE_COUNT))
			return err_set(err, -EINVAL, "per_node: of which nodes is missing: set nodes or node_count");
	}
	return 0;
}

/* ---- times ---- */

int reservation_check(const struct object *x, struct err *err)
{
	span_vec except = {0};
	int rc = except_read(x, &except, err);

	vec_free(&except);
	if (rc < 0)
		return rc;
	if (attrs_is_set(&x->attrs, SET_END) && attrs_is_set(&x->attrs, SET_DURATION))
		return err_set(err, -EINVAL, "end and duration can't both be set: unset one");
	if (attrs_is_set(&x->attrs, SET_START) && end_of(x) <= begin_of(x))
		return err_set(err, -EINVAL, "end: must be after start");
	if (attrs_is_set(&x->attrs, SET_EXCEPT) && !reservation_weekly(x))
		return err_set(err, -EINVAL, "except: only a weekly reservation (one with hours) can skip days");
	return per_node_check(x, err);
}

/* Adds a span without the excluded days. */
static void span_add(span_vec *ret, struct span s, const span_vec *except)
{
	for (size_t i = 0; i < except->n && s.start < s.end; i++) {
		const struct span *day = &except->v[i];
		if (day->end <= s.start || day->start >= s.end)
			continue;
		if (day->start > s.start)
			vec_push(ret, (struct span){s.start, day->start});
		s.start = day->end;
	}
	if (s.start < s.end)
		vec_push(ret, s);
}

void reservation_spans(const struct object *x, int64_t from, int64_t until, span_vec *ret)
{
	int64_t begin = begin_of(x), end = end_of(x), at = from;
	span_vec except = {0};
	struct hours hours;
	struct span s;

	if (!reservation_weekly(x)) {
		if (end > from && begin < until)
			vec_push(ret, (struct span){begin, end});
		return;
	}
	if (hours_read(attrs_text(&x->attrs, SET_HOURS), &hours, NULL) < 0 || except_read(x, &except, NULL) < 0) {
		vec_free(&except);
		return; /* validated when set */
	}
	while (hours_next(&hours, at, &s.start, &s.end) && s.start < until && s.start < end) {
		at = s.end;
		s.start = s.start > begin ? s.start : begin;
		s.end = s.end < end ? s.end : end;
		if (s.start < s.end)
			span_add(ret, s, &except);
		if (at == TIME_NEVER)
			break;
	}
	vec_free(&except);
}

int64_t reservations_next(const struct objects *o, int64_t now)
{
	int64_t next = TIME_NEVER;

	for (size_t i = 0; i < o->of[OBJECT_RESERVATION].n; i++) {
		const struct object *x = o->of[OBJECT_RESERVATION].v[i];
		int64_t at = end_of(x);
		if (!reservation_holds(x) || at <= now)
			continue;
		if (reservation_weekly(x) && now / DAY * DAY + DAY < at)
			at = now / DAY * DAY + DAY;
		next = at < next ? at : next;
	}
	return next;
}

/* ---- nodes ---- */

int reservation_nodes(const struct object *x, const struct cluster *c, bool *has, struct err *err)
{
	const char *list = attrs_text(&x->attrs, SET_NODES);
	char *copy = mem_strdup(list ? list : ""), *rest = copy, *name;
	uint32_t node;
	int rc = 0;

	while (rc == 0 && (name = strsep(&rest, ",")))
		if (strcasecmp(name, "all") == 0)
			memset(has, true, c->nodes.n * sizeof *has);
		else if (*name && names_find(&c->node_names, name, &node))
			has[node] = true;
		else if (*name && err)
			rc = err_set(err, -EINVAL, "nodes: unknown node %.100s ('shunt nodes' lists them)", name);
	free(copy);
	return rc;
}

int reservation_amounts(const struct object *x, const struct cluster *c, reservation_amount_vec *ret, struct err *err)
{
	for (size_t i = 0; i < x->attrs.set.n; i++) {
		const struct attr_value *v = &x->attrs.set.v[i];
		uint32_t id;
		if (!is_amount(v))
			continue;
		bool known = cluster_find_amount(c, v->resource, &id);
		int64_t count = attrs_amount(&x->attrs, SET_AMOUNTS, v->resource),
			total = known ? c->amounts.v[id].total : 0;
		if (err && count > total)
			return err_set(err, -EINVAL, "amounts.%.60s: the site has %lld (resources_available)",
				       v->resource, (long long)total);
		if (known && count > 0)
			vec_push(ret, (struct reservation_amount){id, count});
	}
	return 0;
}

/* ---- parties ---- */

static bool list_names(const struct object *x, enum attr_key list, const char *name, const char *host)
{
	return name && *name && attrs_is_set(&x->attrs, list) && attrs_list_has(&x->attrs, list, name, host);
}

bool reservation_admits(const struct object *x, const struct reservation_party *p)
{
	if (attrs_bool(&x->attrs, SET_MAINTENANCE))
		return false;
	return list_names(x, SET_ACL_USERS, p->user, p->host) || list_names(x, SET_ACL_GROUPS, p->group, NULL) ||
	       list_names(x, SET_ACL_ACCOUNTS, p->account, NULL) || list_names(x, SET_ACL_QUEUES, p->queue, NULL) ||
	       list_names(x, SET_ACL_QOS, p->qos, NULL) || list_names(x, SET_ACL_JOBS, p->job, NULL);
}

uint32_t reservation_id(struct cluster *c, const char *name)
{
	return names_add(&c->reservation_names, name) + 1;
}

uint32_t reservations_keys(const struct objects *o, struct cluster *c, const struct reservation_party *p)
{
	size_t n = c->reservation_names.n + o->of[OBJECT_RESERVATION].n + 1;
	bool *has = mem_zalloc(n * sizeof *has), any = false;
	uint32_t keys = KEYS_NONE;

	for (size_t i = 0; i < o->of[OBJECT_RESERVATION].n; i++)
		if (reservation_admits(o->of[OBJECT_RESERVATION].v[i], p)) {
			has[reservation_id(c, o->of[OBJECT_RESERVATION].v[i]->name)] = true;
			any = true;
		}
	if (any)
		keys = cluster_nodeset(c, has, (uint32_t)n, false);
	free(has);
	return keys;
}

/* ---- layout ---- */

static int64_t layout_end(int64_t now)
{
	return now / DAY * DAY + (RESERVATION_DAYS + 1) * DAY;
}

bool reservation_next(const struct object *x, int64_t now, struct span *ret)
{
	span_vec spans = {0};
	bool found;

	if (reservation_holds(x))
		reservation_spans(x, now, reservation_weekly(x) ? layout_end(now) : TIME_NEVER, &spans);
	found = spans.n > 0;
	if (found)
		*ret = spans.v[0];
	vec_free(&spans);
	return found;
}

/* Adds the parts of an interval that no other fence of the node covers; keeps the fences sorted. */
static void fence_add(fence_vec *v, struct fence f)
{
	size_t lo = 0, hi = v->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (v->v[mid].end <= f.start)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (; f.start < f.end; lo++) {
		struct fence part = f;
		if (lo < v->n && v->v[lo].start < f.end) {
			part.end = v->v[lo].start;
			f.start = v->v[lo].end;
		} else {
			f.start = f.end;
		}
		if (part.start < part.end) {
			vec_insert(v, lo, part);
			lo++;
		}
	}
}

static void lay(const struct object *x, struct cluster *c, int64_t now, fence_vec *of)
{
	bool *has = mem_zalloc((c->nodes.n + 1) * sizeof *has);
	uint32_t id = reservation_id(c, x->name);
	span_vec spans = {0};
	struct res part;

	reservation_part(x, &part);
	reservation_nodes(x, c, has, NULL);
	reservation_spans(x, now, layout_end(now), &spans);
	for (uint32_t n = 0; n < c->nodes.n; n++)
		for (size_t i = 0; i < spans.n && has[n]; i++)
			fence_add(&of[n], (struct fence){spans.v[i].start, spans.v[i].end, id, part});
	vec_free(&spans);
	free(has);
}

/* Lays out the reserved amounts. Under maintenance they admit no job. */
static void lay_amounts(const struct object *x, struct cluster *c, int64_t now, node_fence_vec *ret)
{
	reservation_amount_vec amounts = {0};
	uint32_t id = reservation_id(c, x->name);
	span_vec spans = {0};

	reservation_amounts(x, c, &amounts, NULL);
	if (amounts.n && reservation_holds(x))
		reservation_spans(x, now, layout_end(now), &spans);
	for (size_t i = 0; i < spans.n; i++)
		for (size_t k = 0; k < amounts.n; k++)
			vec_push(ret, (struct node_fence){
					      .node = amounts.v[k].amount,
					      .fence = {.start = spans.v[i].start, .end = spans.v[i].end, .id = id},
					      .keep = amounts.v[k].count});
	vec_free(&amounts);
	vec_free(&spans);
}

void reservations_fences(const struct objects *o, struct cluster *c, int64_t now, node_fence_vec *ret)
{
	fence_vec *of = mem_zalloc((c->nodes.n + 1) * sizeof *of);

	for (int maintenance = 1; maintenance >= 0; maintenance--)
		for (size_t i = 0; i < o->of[OBJECT_RESERVATION].n; i++) {
			const struct object *x = o->of[OBJECT_RESERVATION].v[i];
			if (reservation_holds(x) && attrs_bool(&x->attrs, SET_MAINTENANCE) == (bool)maintenance)
				lay(x, c, now, of);
		}
	for (uint32_t n = 0; n < c->nodes.n; n++) {
		for (size_t i = 0; i < of[n].n; i++)
			vec_push(ret, (struct node_fence){.node = n, .fence = of[n].v[i]});
		vec_free(&of[n]);
	}
	free(of);
	for (size_t i = 0; i < o->of[OBJECT_RESERVATION].n; i++)
		lay_amounts(o->of[OBJECT_RESERVATION].v[i], c, now, ret);
}

bool reservation_spans_meet(const span_vec *a, const span_vec *b, int64_t *ret)
{
	for (size_t i = 0; i < a->n; i++)
		for (size_t k = 0; k < b->n; k++)
			if (a->v[i].start < b->v[k].end && b->v[k].start < a->v[i].end) {
				if (ret)
					*ret = a->v[i].start > b->v[k].start ? a->v[i].start : b->v[k].start;
				return true;
			}
	return false;
}

int reservations_overlap(const struct objects *o, const struct cluster *c, const struct object *next, int64_t now,
			 struct err *err)
{
	bool *has = mem_zalloc((c->nodes.n + 1) * sizeof *has), *other = mem_zalloc((c->nodes.n + 1) * sizeof *other);
	span_vec mine = {0}, theirs = {0};
	char when[32];
	int64_t at;
	int rc = 0;

	reservation_nodes(next, c, has, NULL);
	if (reservation_holds(next) && !attrs_bool(&next->attrs, SET_MAINTENANCE))
		reservation_spans(next, now, layout_end(now), &mine);
	for (size_t i = 0; i < o->of[OBJECT_RESERVATION].n && mine.n && rc == 0; i++) {
		const struct object *x = o->of[OBJECT_RESERVATION].v[i];
		if (strcmp(x->name, next->name) == 0 || !reservation_holds(x) || attrs_bool(&x->attrs, SET_MAINTENANCE))
			continue;
		memset(other, 0, c->nodes.n * sizeof *other);
		reservation_nodes(x, c, other, NULL);
		vec_clear(&theirs);
		reservation_spans(x, now, layout_end(now), &theirs);
		for (uint32_t n = 0; n < c->nodes.n && rc == 0 && reservation_spans_meet(&mine, &theirs, &at); n++)
			if (has[n] && other[n])
				rc = err_code(
					err, CODE_BAD_STATE,
					"node %s is already in reservation %s at %s; only maintenance may overlap other reservations",
					names_get(&c->node_names, n), x->name, instant_format(at, when, sizeof when));
	}
	vec_free(&mine);
	vec_free(&theirs);
	free(has);
	free(other);
	return rc;
}
