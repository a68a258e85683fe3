/*
 * credit.h - an account's credits: deposits, some of which expire, and charges against them.
 *
 * Credits are whole unit-seconds: CPU-seconds, GPU-seconds, node-seconds or GB-seconds of memory,
 * according to the account's `credit_unit`. A job that gets a slot holds the most it may use in
 * escrow. Escrow is a limit of its account (rules/limit.h), so the scheduler never starts more than
 * the account can pay for. When the job ends, its actual use is charged and the rest is released.
 *
 *	deposited == balance + spent + expired + withdrawn, and the balance is never negative
 *
 * Credits that expire first are spent first.
 */
#ifndef RULES_CREDIT_H
#define RULES_CREDIT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "core/cluster.h"
#include "rules/attr.h"
#include "rules/limit.h"

#define CREDIT_MOST INT64_C(3600000000000) /* maximum per account: a thousand million hours */

enum credit_unit { CREDIT_CPU, CREDIT_GPU, CREDIT_MEMORY, CREDIT_NODE, CREDIT_UNITS };
const char *credit_unit_name(enum credit_unit unit); /* "cpu_hours", ... */

/* Price terms of an account: a unit, and a percentage of the price. */
struct credit_tariff {
	enum credit_unit unit;
	int64_t rate;
};

/* Reads an account's tariff from its attributes; returns false if it pays for nothing. */
bool credit_tariff_of(const struct attrs *a, struct credit_tariff *ret);

struct credit_deposit {
	uint64_t id;
	int64_t amount, left;
	int64_t expires; /* instant; TIME_NEVER: does not expire */
};

struct credit {
	VEC(struct credit_deposit) deposits; /* deposits with anything left, in order of expiry */
	int64_t deposited, spent, expired, withdrawn;
};

void credit_fini(struct credit *c);
int64_t credit_balance(const struct credit *c);
void credit_add(struct credit *c, const struct credit_deposit *d);
/* Takes from the deposits that expire first. Returns the amount taken, which may be less than
 * asked. */
int64_t credit_spend(struct credit *c, int64_t amount);
int64_t credit_withdraw(struct credit *c, int64_t amount);
/* Moves credits to another account, keeping their expiry dates. Returns the amount moved.
 * `*next` numbers new deposits. */
int64_t credit_transfer(struct credit *from, struct credit *to, int64_t amount, uint64_t *next);
/* Removes credits that have expired by `now`, except those that jobs hold. Returns the amount
 * removed. */
int64_t credit_expire(struct credit *c, int64_t now, int64_t escrow);
/* Returns the instant of the next expiry, or TIME_NEVER. */
int64_t credit_next(const struct credit *c, int64_t now);

/* Returns the limit measure that holds a unit. */
enum limit_measure credit_measure(enum credit_unit unit);
/* Returns how much of that measure a balance pays for; -1: any amount, because it is free. */
int64_t credit_limit(const struct credit_tariff *t, int64_t balance);
/* Returns the cost of an amount of that measure, rounded up. */
int64_t credit_price(const struct credit_tariff *t, int64_t amount);
/* Returns the cost of running a request for `seconds`, rounded up. */
int64_t credit_of(const struct credit_tariff *t, const struct request *r, int64_t seconds);
/* Returns what a job that ran for `ran_ms` has used, at most what it held for `seconds`. */
int64_t credit_charge(const struct credit_tariff *t, const struct charge *paid, int64_t seconds, int64_t ran_ms);

#endif
