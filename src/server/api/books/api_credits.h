/*
 * api_credits.h - credits of accounts: showing, depositing, withdrawing and transferring them, and
 * the ledger of their changes.
 */
#ifndef SERVER_API_CREDITS_H
#define SERVER_API_CREDITS_H

#include "base/schema.h"

struct call;
struct server;

extern const struct schema credits_body, credits_answer, statement_answer;

void api_credits(struct server *s, const struct call *c);
void api_credits_change(struct server *s, const struct call *c);
void api_credits_statement(struct server *s, const struct call *c);

#endif
