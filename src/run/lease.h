/*
 * lease.h - for how long a host may go on without a word from its server.
 *
 * LIVE/.lease has the instant up to which the server is known to have been there (CLOCK_BOOTTIME, microseconds, as boot_us() has it) and the kernel's
 * boot id; or "suspended": the server was told to stop, and leases don't end until it is back. The agent writes it, shepherds read it: so jobs end also when the
 * agent is dead.
 */
#ifndef RUN_LEASE_H
#define RUN_LEASE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

#define CALL_PAUSE_MOST 15   /* seconds: longest time between two calls of an agent to its servers, ... */
#define CALL_WELCOME_MOST 20 /* ... and until it is welcome, or gives that one up */
#define GUEST_ALONE_MOST 600 /* seconds for which a guest looks for a server before it ends what it runs */

int64_t boot_us(void); /* the time since this machine started */
int lease_write(const char *live, int64_t asked, bool suspend, struct err *err);
int64_t
lease_word(const char *live); /* that instant; INT64_MAX: suspended; INT64_MIN: there was no word since the boot */

struct lease {
	int64_t length;	 /* microseconds; <= 0: none */
	int64_t since;	 /* the last word that is known; at first the shepherd's start */
	int64_t look_at; /* when to look again; INT64_MAX: never */
	bool suspended;	 /* it does not end for now */
};
void lease_begin(struct lease *l, int64_t seconds, int64_t now);
/* Looks if it is time to. True: it has ended, at since + length. `dir`: LIVE. */
bool lease_over(struct lease *l, int dir, int64_t now);

/* When it is time to get ready for the end, so much earlier; INT64_MAX: never, as far as is known. */
int64_t lease_early(const struct lease *l, int64_t before);
/* Looks if it is that time. True: it will end at look_at unless there is a word until then. */
bool lease_ends(struct lease *l, int dir, int64_t now, int64_t before);

#endif
