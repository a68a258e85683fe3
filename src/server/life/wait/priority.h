/*
 * priority.h - priorities of waiting jobs, as the site weighs them (rules/priority.h).
 */
#ifndef SERVER_LIFE_PRIORITY_H
#define SERVER_LIFE_PRIORITY_H

#include <stdint.h>

#include "rules/priority.h"

struct server;

/* What of a job counts, with these weights. */
void job_prioritized(struct server *s, uint32_t id, const struct priority_settings *x, struct prioritized *ret);
/* By the settings in force: for the scheduler, the server being the context. */
double job_priority(void *context, uint32_t id, int64_t now);
/* Before it asks for those of all jobs. */
void priority_prepare(void *context, int64_t now);
/* Something was set of a user, group, account or QoS. */
void priority_parties(struct server *s);
/* Whether priorities are what orders jobs: some policies have an order that they can't replace. */
bool priority_rules(const struct server *s);

#endif
