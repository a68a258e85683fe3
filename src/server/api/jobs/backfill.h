/*
 * backfill.h - which jobs could start at once.
 */
#ifndef SERVER_BACKFILL_H
#define SERVER_BACKFILL_H

#include "base/schema.h"

struct call;
struct server;

extern const struct schema backfill_answer;

void api_backfill(struct server *s, const struct call *c);

#endif
