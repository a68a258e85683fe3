/*
 * prices.h - what jobs with a budget cost, and whether they are accepted for it: rules/libra.h with the accounts of the server.
 */
#ifndef SERVER_PRICES_H
#define SERVER_PRICES_H

#include <stdbool.h>
#include <stdint.h>

#include "rules/credit.h"

struct err;
struct object;
struct server;
struct spec;

struct price {
	struct credit_tariff tariff;  /* of the account, or CPU hours */
	const struct object *account; /* the first that pays, of its own and those above it; NULL: none does */
	int64_t amount;		      /* unit-seconds */
};
/* False: the job has no price. */
bool prices_get(const struct server *s, const struct spec *p, struct price *ret);

/* Whether the budget covers the price, and the accounts have it. `kept`: the deadline can be guaranteed. `done`: when it can be completed at the earliest; TIME_NEVER: that is
 * not known. Error code REFUSED: the price, the budget, that instant, and what would be accepted. */
int prices_check(struct server *s, const struct spec *p, bool kept, int64_t done, struct err *err);

#endif
