/*
 * credit.c - see credit.h.
 */
#include "rules/credit.h"

#include <assert.h>
#include <string.h>

#include "base/timetext.h"

#define KIB_OF_GB 1048576

static const char *const unit_names[CREDIT_UNITS] = {"cpu_hours", "gpu_hours", "memory_gb_hours", "node_hours"};

const char *credit_unit_name(enum credit_unit unit)
{
	return unit_names[unit];
}

static bool credit_unit_find(const char *name, enum credit_unit *ret)
{
	for (int i = 0; i < CREDIT_UNITS; i++)
		if (name && strcmp(name, unit_names[i]) == 0) {
			*ret = (enum credit_unit)i;
			return true;
		}
	return false;
}

bool credit_tariff_of(const struct attrs *a, struct credit_tariff *ret)
{
	if (!attrs_is_set(a, SET_CREDIT_UNIT) || !credit_unit_find(attrs_text(a, SET_CREDIT_UNIT), &ret->unit))
		return false;
	ret->rate = attrs_number(a, SET_CREDIT_RATE);
	return true;
}

void credit_fini(struct credit *c)
{
	vec_free(&c->deposits);
}

int64_t credit_balance(const struct credit *c)
{
	int64_t sum = 0;

	for (size_t i = 0; i < c->deposits.n; i++)
		sum += c->deposits.v[i].left;
	return sum;
}

static void check(const struct credit *c)
{
	assert(c->deposited == credit_balance(c) + c->spent + c->expired + c->withdrawn);
}

static void put(struct credit *c, const struct credit_deposit *d)
{
	size_t i = c->deposits.n;

	while (i > 0 && (c->deposits.v[i - 1].expires > d->expires ||
			 (c->deposits.v[i - 1].expires == d->expires && c->deposits.v[i - 1].id > d->id)))
		i--;
	vec_insert(&c->deposits, i, *d);
}

void credit_add(struct credit *c, const struct credit_deposit *d)
{
	put(c, d);
	c->deposited += d->left;
	check(c);
}

/* Takes credits from the first deposits. */
static int64_t take(struct credit *c, int64_t amount)
{
	int64_t taken = 0;
	size_t gone = 0;

	for (size_t i = 0; i < c->deposits.n && taken < amount; i++) {
		struct credit_deposit *d = &c->deposits.v[i];
		int64_t part = d->left < amount - taken ? d->left : amount - taken;
		d->left -= part;
		taken += part;
		gone += d->left == 0;
	}
	for (; gone > 0; gone--)
		vec_remove(&c->deposits, 0);
	return taken;
}

int64_t credit_spend(struct credit *c, int64_t amount)
{
	int64_t taken = take(c, amount);

	c->spent += taken;
	check(c);
	return taken;
}

int64_t credit_withdraw(struct credit *c, int64_t amount)
{
	int64_t taken = take(c, amount);

	c->withdrawn += taken;
	check(c);
	return taken;
}

int64_t credit_transfer(struct credit *from, struct credit *to, int64_t amount, uint64_t *next)
{
	int64_t moved = 0;

	while (moved < amount && from->deposits.n) {
		struct credit_deposit d = from->deposits.v[0];
		d.left = d.amount = credit_withdraw(from, d.left < amount - moved ? d.left : amount - moved);
		d.id = (*next)++;
		credit_add(to, &d);
		moved += d.left;
	}
	return moved;
}

int64_t credit_expire(struct credit *c, int64_t now, int64_t escrow)
{
	int64_t over = 0, spare = credit_balance(c) - escrow;

	for (size_t i = 0; i < c->deposits.n && c->deposits.v[i].expires <= now; i++)
		over += c->deposits.v[i].left;
	if (over > spare)
		over = spare > 0 ? spare : 0;
	over = take(c, over);
	c->expired += over;
	check(c);
	return over;
}

int64_t credit_next(const struct credit *c, int64_t now)
{
	for (size_t i = 0; i < c->deposits.n; i++)
		if (c->deposits.v[i].expires > now)
			return c->deposits.v[i].expires;
	return TIME_NEVER;
}

/* ---- prices ---- */

enum limit_measure credit_measure(enum credit_unit unit)
{
	return (enum limit_measure)(LIMIT_CREDIT + (int)unit);
}

static __int128 scale(const struct credit_tariff *t)
{
	return (__int128)100 * (t->unit == CREDIT_MEMORY ? KIB_OF_GB : 1);
}

int64_t credit_limit(const struct credit_tariff *t, int64_t balance)
{
	__int128 most;

	if (t->rate <= 0)
		return -1;
	most = balance * scale(t) / t->rate;
	return most < INT64_MAX / 4 ? (int64_t)most : INT64_MAX / 4;
}

static int64_t up(__int128 amount, __int128 by)
{
	__int128 x = (amount + by - 1) / by;

	return x < CREDIT_MOST ? (int64_t)x : CREDIT_MOST;
}

int64_t credit_price(const struct credit_tariff *t, int64_t amount)
{
	return up((__int128)amount * t->rate, scale(t));
}

static int64_t units_of(const struct credit_tariff *t, const struct charge *x)
{
	return t->unit == CREDIT_CPU	  ? x->cpus
	       : t->unit == CREDIT_GPU	  ? x->gpus
	       : t->unit == CREDIT_MEMORY ? x->memory
					  : x->nodes;
}

int64_t credit_of(const struct credit_tariff *t, const struct request *r, int64_t seconds)
{
	struct charge asked = charge_of(r, request_cpus(r));

	return up((__int128)units_of(t, &asked) * seconds * t->rate, scale(t));
}

int64_t credit_charge(const struct credit_tariff *t, const struct charge *paid, int64_t seconds, int64_t ran_ms)
{
	int64_t units = units_of(t, paid), used = up((__int128)units * ran_ms * t->rate, scale(t) * 1000),
		held = up((__int128)units * seconds * t->rate, scale(t));

	return used < held ? used : held;
}
