/*
 * credits.h - the credits of accounts as the server keeps them: by the rules of rules/credit.h, in memory and in the store.
 *
 * An account with a `credit_unit` pays for what its jobs use, and for those of the accounts below it. What jobs hold in escrow is a limit of the account
 * (rules/limit.h), which follows from where jobs have places, so it is the same after a restart; what is left of deposits is an object of the store, written in the commit of
 * what changed it, together with a line of the book (store/quota.h, of "@account"). The lines add up to the balance.
 */
#ifndef SERVER_CREDITS_H
#define SERVER_CREDITS_H

#include <stdbool.h>
#include <stdint.h>

#include "rules/credit.h"

struct credits;
struct err;
struct json_t;
struct object;
struct server;

struct credits *credits_create(void);
void credits_destroy(struct credits *c);
int credits_restore(struct server *s, const char *account, const struct json_t *o, struct err *err);

/* What accounts can pay, as limits. After their attributes have changed, and at recovery. */
void credits_limits(struct server *s);

enum credit_op { CREDIT_DEPOSIT, CREDIT_WITHDRAW, CREDIT_TRANSFER };
struct credit_order {
	enum credit_op op;
	const char *account, *to; /* `to`: of a transfer */
	int64_t amount;
	int64_t expires; /* of a deposit; TIME_NEVER */
};
/* Error codes NOT_FOUND, BAD_STATE: it has no credits, or too few that no job holds. */
int credits_change(struct server *s, const struct credit_order *o, struct err *err);

/* What an account has; false: it pays for nothing. */
struct credit_state {
	struct credit_tariff tariff;
	const struct credit *credit; /* NULL: nothing was ever deposited */
	int64_t balance, escrow;
};
bool credits_get(struct server *s, const struct object *account, struct credit_state *ret);

/* What an account pays for; false: for nothing. */
bool credits_tariff(const struct object *account, struct credit_tariff *ret);

/* An attempt is stopped, and the job waits again: its owner pays for one that they wanted stopped. Otherwise the site did it, and what was held is free again. Before
 * the event is applied to the entry. */
void credits_stopped(struct server *s, uint32_t id, int64_t ran_ms);
/* A job has ended: what its last attempt used is charged. */
void credits_settle(struct server *s, uint32_t id);
/* What has expired is gone. */
void credits_turn(struct server *s);
int64_t credits_next(const struct server *s); /* when that is to be asked again; TIME_NEVER */

#define CREDIT_BOOK_PREFIX "@" /* before the account's name in the book, where users' names can't have it */

#endif
