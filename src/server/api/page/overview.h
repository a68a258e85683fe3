/*
 * overview.h - the cluster in one answer of bounded size, however many jobs there are; the page
 * shows it first.
 */
#ifndef SERVER_OVERVIEW_H
#define SERVER_OVERVIEW_H

#include "base/schema.h"

struct call;
struct server;

void api_overview(struct server *s, const struct call *c);
extern const struct schema overview_answer;

#endif
