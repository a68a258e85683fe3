/*
 * users.h - users of this machine, by their ids.
 */
#ifndef SERVER_USERS_H
#define SERVER_USERS_H

#include <stdint.h>
#include <sys/types.h>

#include "base/map.h"
#include "base/vec.h"

struct server;

/* A user of this machine (users.c). */
struct user {
	char *name, *home, *shell, *group; /* group NULL: it has no name */
	gid_t gid;
	int64_t asked;
};

struct users {
	VEC(struct user) list;
	struct map index; /* uid + 1 -> index + 1 */
};

const struct user *user_of(struct server *s, uid_t uid); /* NULL: there is none; borrowed until the next call */

#endif
