/* prices.h - prices of jobs with a budget, and admission by price: rules/libra.h with the
 * server's accounts. */
#ifndef SERVER_PRICES_H
#define SERVER_PRICES_H

#include <stdbool.h>
#include <stdint.h>

#include "rules/credit.h"

struct object;
struct server;
struct spec;

struct price {
	struct credit_tariff tariff; /* the account's tariff, or CPU hours */
	/* first paying account: the job's own or one above it; NULL: none pays */
	const struct object *account;
	int64_t amount; /* unit-seconds */
};
/* Computes the job's price. Returns false if it has none. */
bool prices_get(const struct server *s, const struct spec *p, struct price *ret);

/* Checks that the budget covers the price and that the accounts have it. `kept`: the deadline
 * can be guaranteed. `done`: earliest possible completion; TIME_NEVER: not known. Error code
 * REFUSED: the sentence has the price, the budget, that instant, and what would be accepted. */
int prices_check(struct server *s, const struct spec *p, bool kept, int64_t done, struct err *err);

#endif
