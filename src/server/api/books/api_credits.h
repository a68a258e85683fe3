/*
 * api_credits.h - credits of accounts: showing, depositing, withdrawing and transferring them, and
 * the ledger of their changes.
 */
#ifndef SERVER_API_CREDITS_H
#define SERVER_API_CREDITS_H

#include "base/schema.h"
#include "server/api/frame/call.h"

extern const struct schema credits_body, credits_answer, statement_answer;

handler api_credits, api_credits_change, api_credits_statement;

#endif
