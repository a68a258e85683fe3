/*
 * coordinators.h - queues and accounts that a user coordinates (rules/role.h), cached so that a
 * check for each of 100,000 jobs costs next to nothing.
 *
 * A party is a user on one host. Its queues and accounts are looked up at the first check, and
 * again after attributes have changed. So a party number that is held for a request or for hours
 * always gives the present answer.
 */
#ifndef SERVER_COORDINATORS_H
#define SERVER_COORDINATORS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

struct server;

struct coordinated {
	VEC(uint32_t) queues, accounts; /* words, ascending */
};

struct coordinators *coordinators_create(void);
uint32_t coordinators_party(struct server *s, const char *user, const char *host);
/* Returns what a party coordinates; borrowed until the next call. Party 0 coordinates nothing. */
const struct coordinated *coordinators_find(const struct server *s, uint32_t party);
bool coordinates_queue(const struct server *s, uint32_t party, uint32_t queue); /* words */
/* Returns true if the party coordinates the account or one above it. */
bool coordinates_account(const struct server *s, uint32_t party, uint32_t account);

#endif
