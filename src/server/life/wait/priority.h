/* priority.h - priorities of waiting jobs with the site's weights (rules/priority.h). */
#ifndef SERVER_LIFE_PRIORITY_H
#define SERVER_LIFE_PRIORITY_H

#include <stdint.h>

#include "rules/priority.h"

struct server;

/* Collects the job's data that counts with these weights. */
void job_prioritized(struct server *s, uint32_t id, const struct priority_settings *x, struct prioritized *ret);
/* Returns the priority by the settings in force; the scheduler's callback, with the server as
 * context. */
double job_priority(void *context, uint32_t id, int64_t now);
/* Ranks the shares before the scheduler asks for the priorities of all jobs. */
void priority_prepare(void *context, int64_t now);
/* Reads the priorities of users, groups, accounts and QoS again after one was set. */
void priority_parties(struct server *s);
/* Returns true if priorities order the jobs: some policies have an order of their own. */
bool priority_rules(const struct server *s);

#endif
