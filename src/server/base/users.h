/*
 * accounts.h - users of this machine, by their ids.
 */
#ifndef SERVER_ACCOUNTS_H
#define SERVER_ACCOUNTS_H

#include <stdint.h>
#include <sys/types.h>

#include "base/map.h"
#include "base/vec.h"

struct server;

/* A user of this machine (accounts.c). */
struct account {
	char *name, *home, *shell, *group; /* group NULL: it has no name */
	gid_t gid;
	int64_t asked;
};

struct users {
	VEC(struct account) accounts;
	struct map account_index; /* uid + 1 -> index + 1 */
};

const struct account *account_of(struct server *s, uid_t uid); /* NULL: there is none; borrowed until the next call */

#endif
