/*
 * coordinators.h - which queues and accounts a user coordinates (rules/role.h), kept so that asking it of each of 100,000 jobs costs next to nothing.
 *
 * A party is a user as one host has him. What it coordinates is looked up when it is asked for the first time, and again when attributes have been changed:
 * whoever holds its number, for a request or for hours, always learns what holds now.
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
/* Borrowed, until the next call. Party 0 coordinates nothing. */
const struct coordinated *coordinators_find(const struct server *s, uint32_t party);
bool coordinates_queue(const struct server *s, uint32_t party, uint32_t queue);	    /* words */
bool coordinates_account(const struct server *s, uint32_t party, uint32_t account); /* or one above it */

#endif
