/*
 * credit.h - the credits of an account: deposits, some of which expire, and what is charged to them.
 *
 * Credits are whole unit-seconds: CPU-seconds, GPU-seconds, node-seconds, or seconds of a GB of memory, as the account's `credit_unit` says. A job that gets a place
 * holds as much as it may use at most in escrow: that is a limit of its account (rules/limit.h), so that the scheduler itself never starts more than can be paid. When
 * the job ends, what it has used is charged, and the rest is free again.
 *
 *	deposited == balance + spent + expired + withdrawn, and never less than 0 is left
 *
 * What expires first is spent first.
 */
#ifndef RULES_CREDIT_H
#define RULES_CREDIT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "core/cluster.h"
#include "rules/attr.h"
#include "rules/limit.h"

#define CREDIT_MOST INT64_C(3600000000000) /* of an account: a thousand million hours */

enum credit_unit { CREDIT_CPU, CREDIT_GPU, CREDIT_MEMORY, CREDIT_NODE, CREDIT_UNITS };
const char *credit_unit_name(enum credit_unit unit); /* "cpu_hours", ... */
bool credit_unit_find(const char *name, enum credit_unit *ret);

/* What an account pays for: a unit, and percent of the price. */
struct credit_tariff {
	enum credit_unit unit;
	int64_t rate;
};

/* What an account pays for, by its attributes; false: for nothing. */
bool credit_tariff_of(const struct attrs *a, struct credit_tariff *ret);

struct credit_deposit {
	uint64_t id;
	int64_t amount, left;
	int64_t expires; /* instant; TIME_NEVER: it does not */
};

struct credit {
	VEC(struct credit_deposit) deposits; /* those of which something is left, the first to expire first */
	int64_t deposited, spent, expired, withdrawn;
};

void credit_fini(struct credit *c);
int64_t credit_balance(const struct credit *c);
void credit_add(struct credit *c, const struct credit_deposit *d);
/* Takes from those that expire first; what was taken, which is less if there is less. */
int64_t credit_spend(struct credit *c, int64_t amount);
int64_t credit_withdraw(struct credit *c, int64_t amount);
/* As many of one account's for another, with their dates. What was moved. `*next` numbers deposits. */
int64_t credit_transfer(struct credit *from, struct credit *to, int64_t amount, uint64_t *next);
/* What has expired by now, but for what jobs hold. */
int64_t credit_expire(struct credit *c, int64_t now, int64_t escrow);
int64_t credit_next(const struct credit *c, int64_t now); /* when the next one expires; TIME_NEVER: none does */

/* The measure of limits that holds a unit. */
enum limit_measure credit_measure(enum credit_unit unit);
/* How much of that measure a balance pays for; -1: any amount, since it costs nothing. */
int64_t credit_limit(const struct credit_tariff *t, int64_t balance);
/* What an amount of that measure costs, rounded up. */
int64_t credit_price(const struct credit_tariff *t, int64_t amount);
/* What a request costs for so many seconds, rounded up. */
int64_t credit_of(const struct credit_tariff *t, const struct request *r, int64_t seconds);
/* Returns what a job has used that ran for `ran_ms`; not more than what it held, for `seconds`. */
int64_t credit_charge(const struct credit_tariff *t, const struct charge *paid, int64_t seconds, int64_t ran_ms);

#endif
