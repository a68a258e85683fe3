/*
 * api_quota.h - quota of users: shown, set, and the book of their changes.
 */
#ifndef SERVER_API_QUOTA_H
#define SERVER_API_QUOTA_H

#include "base/schema.h"

struct call;
struct json;
struct server;

extern const struct schema quota_body, quota_answer, quota_set_answer, moves_answer;

/* As GET /v1/quota answers; user NULL: all. */
void quotas_write(struct server *s, struct json *j, const char *key, const char *user);
void api_quota(struct server *s, const struct call *c);
void api_quota_set(struct server *s, const struct call *c);
void api_quota_drop(struct server *s, const struct call *c);
void api_quota_moves(struct server *s, const struct call *c);

#endif
