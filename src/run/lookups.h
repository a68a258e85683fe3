/*
 * lookups.h - looks up users for the nursery without blocking it.
 *
 * A site's directory (LDAP, sssd) may take seconds to answer, or never answer; meanwhile jobs of
 * other users must start and end. So a separate process queries it (identity_look()), and the
 * frames that need the answer are parked in order. Nothing else on a node waits for the user
 * database: agents and servers send names.
 */
#ifndef RUN_LOOKUPS_H
#define RUN_LOOKUPS_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/vec.h"

struct lookup;
typedef VEC(struct pollfd) pollfd_vec;

/* Owned by the nursery. */
struct lookups {
	VEC(struct lookup *) list;
	void (*child)(void *context); /* called in the new process: closes what it must not hold */
	/* Handles a frame that was parked: its user is known now, or identity_get() returns why
	 * not. */
	void (*unpark)(void *context, char kind, const char *text, size_t n);
	void *context;
};

/* Fetches a new answer while the old one is still used. */
void lookups_refresh(struct lookups *l, const char *user);
/* Parks the frame until the user is known. `tag`: the order that it is or belongs to; NULL:
 * none. */
void lookups_park(struct lookups *l, const char *user, const char *tag, char kind, const char *text, size_t n);
/* Parks a frame behind the parked order of the same attempt. Returns false if there is no such
 * order. */
bool lookups_follow(struct lookups *l, const char *tag, char kind, const char *text, size_t n);

/* Adds the descriptors to poll; returns the milliseconds until the next lookup times out, -1:
 * none. */
int lookups_fds(const struct lookups *l, pollfd_vec *fds);
/* After poll(): takes answers, ends lookups that take too long, and unparks frames. */
void lookups_turn(struct lookups *l);
/* Called when no more frames come: handles the parked ones whose users become known soon and drops
 * the others, as if they had never arrived. */
void lookups_finish(struct lookups *l);
void lookups_fini(struct lookups *l);

#endif
