/*
 * bank.h - the credits of accounts in a simulation: deposits of the workload and payments of jobs,
 * by the rules of the server (rules/credit.h, rules/libra.h).
 *
 * Only accounts with a deposit in the workload pay; the balance of others is unknown.
 */
#ifndef SIM_BANK_H
#define SIM_BANK_H

#include "core/cluster.h"
#include "rules/access.h"
#include "rules/credit.h"
#include "rules/libra.h"
#include "rules/queue.h"
#include "sim/workload.h"

struct bank_account {
	const struct object *object;
	uint32_t number; /* number of the account in `limits` */
	struct credit_tariff tariff;
	struct credit credit;
};

struct bank {
	const struct workload *w;
	const struct ruleset *site; /* NULL: none */
	struct limits *limits;
	VEC(struct bank_account) accounts;
	size_t next; /* index of the next deposit of the workload */
};

/* Opens the bank. `number` returns the number of an account in `limits`. -EINVAL: a deposit is
 * for an account that does not pay. */
int bank_open(struct bank *b, const struct workload *w, const struct ruleset *site, struct limits *l,
	      uint32_t (*number)(void *context, const char *account), void *context, struct err *err);
void bank_close(struct bank *b);

/* Makes deposits that are due, and expires old ones. */
void bank_advance(struct bank *b, int64_t now);
/* Returns when to call bank_advance() again; TIME_NEVER: not at all. */
int64_t bank_next(const struct bank *b, int64_t now);

/* Returns the terms agreed for a job; empty without a budget. */
struct libra_terms bank_terms(const struct bank *b, const struct wjob *j);
/* Returns 0 if a job's budget covers its price and its accounts have the credits, else -EPERM. */
int bank_admit(const struct bank *b, const struct libra_terms *t, const char *account, const struct request *r,
	       struct err *err);
/* Charges an account for a job that has ended after `ran` seconds. */
void bank_charge(struct bank *b, const struct cluster *c, const struct job *job, const char *account, int64_t cpus,
		 int64_t ran);

#endif
