/*
 * api_quota.h - quota of users: showing and setting it, and the ledger of its changes.
 */
#ifndef SERVER_API_QUOTA_H
#define SERVER_API_QUOTA_H

#include "base/schema.h"
#include "server/api/frame/call.h"

struct json;
struct server;

extern const struct schema quota_body, quota_answer, quota_set_answer, moves_answer;

/* Writes quotas as GET /v1/quota answers them; user NULL: those of all users. */
void quotas_write(struct server *s, struct json *j, const char *key, const char *user);
handler api_quota, api_quota_set, api_quota_drop, api_quota_moves;

#endif
