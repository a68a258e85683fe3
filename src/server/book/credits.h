/*
 * credits.h - credits of accounts, in memory and in the store, by the rules of rules/credit.h.
 *
 * An account with a `credit_unit` pays for the usage of its jobs and of the accounts below it. The
 * escrow of jobs is a limit of the account (rules/limit.h) that follows from the places of jobs, so
 * it is the same after a restart. The remainder of deposits is an object of the store, written in
 * the commit of the change that caused it, together with a line of the book (store/quota.h, under
 * "@account"). The lines add up to the balance.
 */
#ifndef SERVER_CREDITS_H
#define SERVER_CREDITS_H

#include <stdbool.h>
#include <stdint.h>

#include "rules/credit.h"

struct credits;
struct json_t;
struct object;
struct server;

struct credits *credits_create(void);
int credits_restore(struct server *s, const char *account, const struct json_t *o, struct err *err);

/* Sets the limits on what accounts can pay. Called after their attributes have changed, and at
 * recovery. */
void credits_limits(struct server *s);

enum credit_op { CREDIT_DEPOSIT, CREDIT_WITHDRAW, CREDIT_TRANSFER };
struct credit_order {
	enum credit_op op;
	const char *account, *to; /* `to`: target of a transfer */
	int64_t amount;
	int64_t expires; /* expiry of a deposit; TIME_NEVER: none */
};
/* Changes an account's credits. Error codes NOT_FOUND; BAD_STATE: it has no credits, or too few
 * that no job holds. */
int credits_change(struct server *s, const struct credit_order *o, struct err *err);

/* Credits of an account. credits_get() returns false if it does not pay. */
struct credit_state {
	struct credit_tariff tariff;
	const struct credit *credit; /* NULL: nothing was ever deposited */
	int64_t balance, escrow;
};
bool credits_get(struct server *s, const struct object *account, struct credit_state *ret);

/* Returns the tariff of an account, or false if it does not pay. */
bool credits_tariff(const struct object *account, struct credit_tariff *ret);

/* Charges a stopped attempt of a job that waits again: the owner pays if they requested the
 * stop, or `own`: it has failed and is retried, or made way for a job of their own; otherwise the
 * site did, and the escrow is released. Called before the event is applied to the entry. */
void credits_stopped(struct server *s, uint32_t id, int64_t ran_ms, bool own);
/* Charges the usage of the last attempt of a job that has ended. */
void credits_settle(struct server *s, uint32_t id);
/* Removes expired deposits. */
void credits_turn(struct server *s);
/* Returns the instant of the next expiry; TIME_NEVER: none. */
int64_t credits_next(const struct server *s);

/* before an account's name in the book; user names cannot contain it */
#define CREDIT_BOOK_PREFIX "@"

#endif
