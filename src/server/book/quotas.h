/*
 * quotas.h - quotas of users, in memory and in the store, by the rules of rules/quota.h.
 *
 * Jobs are counted as soon as any user has a quota, unless the server's attribute `quota` overrides
 * that; users without an entry then have none. A job's claim is in its spec (spec.claim), so
 * elements of an array share it, and each settles its own part when it ends. Every change is in the
 * commit of its cause.
 */
#ifndef SERVER_QUOTAS_H
#define SERVER_QUOTAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rules/quota.h"

struct quotas;
struct server;

struct quotas *quotas_create(void);
int quotas_restore(struct server *s, struct err *err); /* reads the quotas from the store */

/* Returns true if jobs are counted. */
bool quotas_count(const struct server *s);
/* Returns a user's quota for this month; false: none was set, and all values are 0. */
bool quotas_get(struct server *s, const char *user, struct quota *ret);
size_t quotas_users(const struct server *s);
/* Returns the i-th user, in no order; NULL: removed. */
const char *quotas_user(const struct server *s, size_t i);

/* Sets a user's limits, adding an entry if there is none. */
void quotas_set(struct server *s, const char *user, const int64_t limit[QUOTA_TYPES], int32_t end);
/* Removes a user's quota. Returns false if the user had none. */
bool quotas_drop(struct server *s, const char *user);

/* Claims of one request on its user's quota. */
struct quota_bill {
	uint32_t user; /* a word; 0: nothing is counted */
	int32_t month;
	int64_t seconds[QUOTA_TYPES];
};

/* Adds a submission of `count` jobs to the bill, and records each job's claim in its spec.
 * -EDQUOT: the quota is too small. A priority job with too little quota becomes a normal one if
 * there is enough normal quota, with a sentence in *ret_warning (NULL: no warning). */
int quotas_bill(struct server *s, struct quota_bill *bill, struct spec *p, int64_t count, const char **ret_warning,
		struct err *err);
/* Charges the whole bill of an accepted request. `key` belongs to its first job. -EDQUOT: other
 * requests used the quota in the meantime, and nothing is charged. */
int quotas_take(struct server *s, const struct quota_bill *bill, uint64_t key, struct err *err);
/* Writes a warning for a user with little quota left after a submission. Returns false if none
 * is needed. */
bool quotas_low(struct server *s, const struct spec *p, char *ret, size_t size);

/* Settles the claim of a job whose spec is replaced, perhaps with another walltime, and writes
 * the new claim into `spec`. May return -EDQUOT. */
int quotas_alter(struct server *s, uint32_t id, struct spec *spec, struct err *err);
/* Charges what an attempt has used, whose rerun the owner requested or that is retried, since the
 * next attempt has the full walltime again; once per attempt. *ret_paid: seconds that no longer
 * count at the job's end (payload.paid). May return -EDQUOT. */
int quotas_rerun(struct server *s, uint32_t id, int64_t used_ms, int64_t *ret_paid, struct err *err);
/* Returns true if a priority job that starts now overtakes earlier jobs that could also start. */
bool quotas_urgent(const struct server *s, uint32_t id);
/* Returns true if an earlier normal job could be started. */
bool quotas_overtakes(const struct server *s, uint32_t id);
/* Gives back the unused part of the claim of a job that has ended. */
void quotas_settle(struct server *s, uint32_t id);

#endif
