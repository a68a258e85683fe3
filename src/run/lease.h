/*
 * lease.h - how long a host may keep running jobs without hearing from its server.
 *
 * LIVE/.lease holds the last instant at which the server is known to have been up (CLOCK_BOOTTIME
 * in microseconds, see boot_us()) and the kernel's boot id; or "suspended": the server was stopped
 * on purpose, and leases don't end until it is back. The agent writes the file and shepherds read
 * it, so jobs end even if the agent is dead.
 */
#ifndef RUN_LEASE_H
#define RUN_LEASE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

#define CALL_PAUSE_MOST 15 /* maximum seconds between two calls of an agent to its servers */
/* maximum seconds until a server accepts an agent, or the agent gives up on it */
#define CALL_WELCOME_MOST 20
#define GUEST_ALONE_MOST 600 /* seconds that a guest looks for a server before it ends its jobs */

int64_t boot_us(void); /* returns the microseconds since this machine booted */
int lease_write(const char *live, int64_t asked, bool suspend, struct err *err);
/* Returns the instant of the last word from the server; INT64_MAX: suspended; INT64_MIN: none since
 * boot. */
int64_t lease_word(const char *live);

struct lease {
	int64_t length;	 /* microseconds; <= 0: no lease */
	int64_t since;	 /* last known word from the server; initially the shepherd's start */
	int64_t look_at; /* next time to read the file; INT64_MAX: never */
	bool suspended;	 /* the lease does not end for now */
};
void lease_begin(struct lease *l, int64_t seconds, int64_t now);
/* Reads the file if it is due. Returns true if the lease has ended, at since + length. `dir`:
 * LIVE. */
bool lease_over(struct lease *l, int dir, int64_t now);

/* Returns when to prepare for the end, `before` us ahead of it; INT64_MAX: never, as far as is
 * known. */
int64_t lease_early(const struct lease *l, int64_t before);
/* Reads the file if that time has come. Returns true if the lease ends at look_at unless the server
 * is heard from until then. */
bool lease_ends(struct lease *l, int dir, int64_t now, int64_t before);

#endif
