/*
 * lookups.h - the nursery's users, looked up without holding it.
 *
 * A site's directory (LDAP, sssd) may take seconds to answer, or never answer; meanwhile jobs of other users must start and end. So a process of its own
 * asks it (identity_look()), and the frames that need the answer are parked, in their order. Nothing else on a node waits for the user database: agents and servers
 * send names.
 */
#ifndef RUN_LOOKUPS_H
#define RUN_LOOKUPS_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

struct lookup;
typedef VEC(struct pollfd) pollfd_vec;

/* Owned by the nursery. */
struct lookups {
	VEC(struct lookup *) list;
	void (*child)(void *context); /* in the new process: closes what it must not hold */
	/* A frame that was parked: its user is known now, or identity_get() says why not. */
	void (*unpark)(void *context, char kind, const char *text, size_t n);
	void *context;
};

/* A new answer is fetched, while the old one is used. */
void lookups_refresh(struct lookups *l, const char *user);
/* The frame waits until the user is known. `tag`: of the order that it is or belongs to; NULL: of none. */
void lookups_park(struct lookups *l, const char *user, const char *tag, char kind, const char *text, size_t n);
/* A frame about an attempt whose order is parked waits behind it. False: there is none. */
bool lookups_follow(struct lookups *l, const char *tag, char kind, const char *text, size_t n);

/* For poll(): adds what is waited for; returns milliseconds until the next one is given up, -1: none. */
int lookups_fds(const struct lookups *l, pollfd_vec *fds);
/* After poll(): takes answers, gives up those that take too long, and unparks. */
void lookups_turn(struct lookups *l);
/* No more frames come: those that are parked are taken if their users are known soon. The others were never taken, as if they had not come. */
void lookups_finish(struct lookups *l);
void lookups_fini(struct lookups *l);

#endif
