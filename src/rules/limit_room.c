/*
 * limit_room.c - computes how much room limits leave, and which limit is in the way.
 */
#include "base/err.h"
#include "rules/limit_internal.h"

bool limits_any(const struct limits *l)
{
	return l->limiting > 0;
}

int64_t counter_room(const struct limits *l, const struct counter *c, const struct limit_need *need, enum firm firm,
		     int first, int *ret)
{
	const struct rule *r = &l->rules.v[c->rule];
	uint32_t set = r->set | (r->fallback == INDEX_NONE ? 0 : l->rules.v[r->fallback].set);
	int64_t room = INT64_MAX;

	for (set = set >> first << first; set; set &= set - 1) {
		int m = __builtin_ctz(set);
		int64_t most = rule_most(l, r, m, firm), active, n;
		if (most < 0 || need->v[m] <= 0)
			continue;
		active = counter_active(l, c, m);
		n = most > active ? (most - active) / need->v[m] : 0;
		if (n < room) {
			room = n;
			*ret = m;
		}
	}
	return room;
}

uint32_t limits_tightest(const struct limits *l, uint32_t class, const struct limit_need *need, enum firm firm,
			 int64_t *ret_room, int *ret_measure)
{
	const struct class *k = &l->classes.v[class];
	bool exempt = k->qos != INDEX_NONE && l->rules.v[k->qos].exempt;
	uint32_t found = INDEX_NONE;

	*ret_room = INT64_MAX;
	if (!limits_any(l))
		return INDEX_NONE;
	for (uint32_t i = k->n; i-- > 0;)
		for (uint32_t at = k->counter[i]; at != INDEX_NONE; at = l->counters.v[at].up) {
			const struct counter *c = &l->counters.v[at];
			int measure = 0;
			int64_t room;
			bool free = exempt && l->rules.v[c->rule].kind != LIMIT_ARRAY;
			room = counter_room(l, c, need, firm, free ? LIMIT_CREDIT : 0, &measure);
			if (room < *ret_room) {
				*ret_room = room;
				*ret_measure = measure;
				found = at;
			}
		}
	return found;
}

static int64_t class_room(const struct limits *l, uint32_t class, const struct limit_need *need, enum firm firm)
{
	int64_t room;
	int measure;

	limits_tightest(l, class, need, firm, &room, &measure);
	return room;
}

int64_t limits_room(const struct limits *l, uint32_t class, const struct limit_need *need)
{
	return class_room(l, class, need, SOFT);
}

int64_t limits_room_hard(const struct limits *l, uint32_t class, const struct limit_need *need)
{
	return class_room(l, class, need, HARD);
}

static bool counter_allows(const struct limits *l, const struct counter *c, const struct limit_need *need,
			   enum firm firm, int first)
{
	const struct rule *r = &l->rules.v[c->rule];
	uint32_t set = r->set | (r->fallback == INDEX_NONE ? 0 : l->rules.v[r->fallback].set);

	for (set = set >> first << first; set; set &= set - 1) {
		int m = __builtin_ctz(set);
		int64_t most = need->v[m] > 0 ? rule_most(l, r, m, firm) : -1;
		if (most >= 0 && most - counter_active(l, c, m) < need->v[m])
			return false;
	}
	return true;
}

static bool class_allows(const struct limits *l, uint32_t class, const struct limit_need *need, enum firm firm)
{
	const struct class *k = &l->classes.v[class];
	bool exempt = k->qos != INDEX_NONE && l->rules.v[k->qos].exempt;

	for (uint32_t i = 0; limits_any(l) && i < k->n; i++)
		for (uint32_t at = k->counter[i]; at != INDEX_NONE; at = l->counters.v[at].up) {
			const struct counter *c = &l->counters.v[at];
			bool free = exempt && l->rules.v[c->rule].kind != LIMIT_ARRAY;
			if (!counter_allows(l, c, need, firm, free ? LIMIT_CREDIT : 0))
				return false;
		}
	return true;
}

bool limits_allow(const struct limits *l, uint32_t class, const struct limit_need *need)
{
	return class_allows(l, class, need, SOFT);
}

bool limits_allow_hard(const struct limits *l, uint32_t class, const struct limit_need *need)
{
	return class_allows(l, class, need, HARD);
}

bool limits_reached(const struct limits *l, uint32_t class, const struct limit_need *need, struct limit_reached *ret)
{
	int64_t room;
	int measure = 0;
	uint32_t at = limits_tightest(l, class, need, HARD, &room, &measure);
	bool soft = at == INDEX_NONE || room > 0;

	if (soft)
		at = limits_tightest(l, class, need, SOFT, &room, &measure);
	if (at == INDEX_NONE || room > 0)
		return false;

	const struct counter *c = &l->counters.v[at];
	const struct rule *r = &l->rules.v[c->rule];

	*ret = (struct limit_reached){r->kind,
				      (enum limit_measure)measure,
				      r->of,
				      rule_most(l, r, measure, soft ? SOFT : HARD),
				      counter_active(l, c, measure),
				      soft};
	return true;
}

/* Finds the hard limit that such a job exceeds by itself, so that it could never start. A limit
 * of 0 only suspends a party: its jobs wait. */
static bool limits_exceeded(const struct limits *l, uint32_t class, const struct limit_need *need,
			    struct limit_reached *ret)
{
	const struct class *k = &l->classes.v[class];

	if (k->qos != INDEX_NONE && l->rules.v[k->qos].exempt)
		return false;
	for (uint32_t i = k->n; i-- > 0;)
		for (uint32_t at = k->counter[i]; at != INDEX_NONE; at = l->counters.v[at].up) {
			const struct rule *r = &l->rules.v[l->counters.v[at].rule];
			/* credits can still be added */
			for (int m = LIMIT_CPUS; m < LIMIT_CREDIT; m++) {
				int64_t most = rule_most(l, r, m, HARD);
				if (most <= 0 || need->v[m] <= most)
					continue;
				*ret = (struct limit_reached){.kind = r->kind, .measure = m, .of = r->of, .most = most};
				return true;
			}
		}
	return false;
}

const char *limit_whose(enum limit_kind kind)
{
	static const char *const whose[LIMIT_KINDS] = {
		[LIMIT_ALL] = "of the server",	   [LIMIT_USER] = "of a user",
		[LIMIT_ARRAY] = "of its array",	   [LIMIT_QUEUE] = "of its queue",
		[LIMIT_OF_USER] = "of its user",   [LIMIT_QUEUE_USER] = "of a user in its queue",
		[LIMIT_OF_GROUP] = "of its group", [LIMIT_OF_ACCOUNT] = "of its account, or one above it,",
		[LIMIT_OF_QOS] = "of its QoS",
	};

	return whose[kind];
}

int limits_admit(struct limits *l, const struct limit_party *party, const struct limit_need *need, struct err *err)
{
	struct limit_reached r;
	char asked[32], most[32];

	if (!limits_exceeded(l, limits_class(l, party), need, &r))
		return 0;
	if (r.measure == LIMIT_MEMORY)
		return err_code(err, CODE_REFUSED,
				"it requests %s of memory and could never start: the limit %s is %s (max_memory)",
				memory_format(need->v[r.measure], asked, sizeof asked), limit_whose(r.kind),
				memory_format(r.most, most, sizeof most));
	return err_code(err, CODE_REFUSED, "it requests %lld %s and could never start: the limit %s is %lld (%s)",
			(long long)need->v[r.measure],
			r.measure == LIMIT_CPUS ? "CPUs" : "CPU-seconds (CPUs times walltime)", limit_whose(r.kind),
			(long long)r.most, r.measure == LIMIT_CPUS ? "max_cpus" : "max_cpu_seconds");
}

static bool is_exempt(const struct limits *l, const struct class *k, const struct counter *c)
{
	return k->qos != INDEX_NONE && l->rules.v[k->qos].exempt && l->rules.v[c->rule].kind != LIMIT_ARRAY;
}

bool limits_each(const struct limits *l, uint32_t class, const struct limit_need *need, uint32_t *at,
		 struct limit_reached *ret)
{
	const struct class *k = &l->classes.v[class];
	uint32_t seen = 0;

	for (uint32_t i = k->n; i-- > 0;)
		for (uint32_t up = k->counter[i]; up != INDEX_NONE; up = l->counters.v[up].up)
			for (int m = 0; m < LIMIT_MEASURES; m++) {
				const struct counter *c = &l->counters.v[up];
				const struct rule *r = &l->rules.v[c->rule];
				int64_t hard = rule_most(l, r, m, HARD), soft = rule_most(l, r, m, SOFT),
					left = need->v[m] + counter_active(l, c, m);
				bool full = hard >= 0 && hard < left;
				if (seen++ < *at || (is_exempt(l, k, c) && m < LIMIT_CREDIT) || need->v[m] <= 0 ||
				    !(full || (soft >= 0 && soft < left)))
					continue;
				*at = seen;
				*ret = (struct limit_reached){
					r->kind, (enum limit_measure)m, r->of, full ? hard : soft, left - need->v[m],
					!full};
				return true;
			}
	return false;
}

int64_t limits_used(const struct limits *l, enum limit_kind kind, uint64_t of, enum limit_measure measure)
{
	uint64_t at;

	if (!map_get(&l->rule_at, rule_key(kind, of), &at) ||
	    !map_get(&l->counter_at, counter_key((uint32_t)at, 0), &at))
		return 0;
	return counter_active(l, &l->counters.v[at], measure);
}
