/*
 * bank.h - the credits of accounts in a simulation: deposits of the workload, and what jobs pay, by the rules of the server (rules/credit.h, rules/libra.h).
 *
 * Only accounts that the workload gives something pay: of others nobody knows what they have.
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
	uint32_t number; /* among limits */
	struct credit_tariff tariff;
	struct credit credit;
};

struct bank {
	const struct workload *w;
	const struct ruleset *site; /* NULL: none */
	struct limits *limits;
	VEC(struct bank_account) accounts;
	size_t next; /* deposit of the workload */
};

/* `number`: of an account, among limits. -EINVAL: a deposit is for an account that does not pay. */
int bank_open(struct bank *b, const struct workload *w, const struct ruleset *site, struct limits *l,
	      uint32_t (*number)(void *context, const char *account), void *context, struct err *err);
void bank_close(struct bank *b);

/* Deposits that are made, and those that expire. */
void bank_advance(struct bank *b, int64_t now);
int64_t bank_next(const struct bank *b, int64_t now); /* when that is to be asked again; TIME_NEVER */

/* What was agreed of a job; without a budget: nothing. */
struct libra_terms bank_terms(const struct bank *b, const struct wjob *j);
/* Whether its budget covers its price, and its accounts have it. -EPERM. */
int bank_admit(const struct bank *b, const struct libra_terms *t, const char *account, const struct request *r,
	       struct err *err);
/* A job of an account has ended after so many seconds. */
void bank_charge(struct bank *b, const struct cluster *c, const struct job *job, const char *account, int64_t cpus,
		 int64_t ran);

#endif
