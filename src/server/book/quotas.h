/*
 * quotas.h - quota of users as the server keeps them: by the rules of rules/quota.h, in memory and in the store.
 *
 * Jobs are counted as soon as any user has quota, unless the server's attribute `quota` says otherwise; users without an entry have none then. What a job
 * has taken is in its spec (spec.claim), so elements of an array share it, and each settles its own part when it ends. Every change is in the commit of what
 * caused it.
 */
#ifndef SERVER_QUOTAS_H
#define SERVER_QUOTAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rules/quota.h"

struct err;
struct quotas;
struct server;
struct spec;

struct quotas *quotas_create(void);
void quotas_destroy(struct quotas *q);
int quotas_restore(struct server *s, struct err *err); /* from the store */

bool quotas_count(const struct server *s); /* whether jobs are counted */
/* A user's, turned to this month; false: none was set, and all of it is 0. */
bool quotas_get(struct server *s, const char *user, struct quota *ret);
size_t quotas_users(const struct server *s);
const char *quotas_user(const struct server *s, size_t i); /* in no order */

/* Sets a user's limits, also of one who has none yet. */
void quotas_set(struct server *s, const char *user, const int64_t limit[QUOTA_TYPES], int32_t end);
bool quotas_drop(struct server *s, const char *user); /* false: there was none */

/* What one request has taken so far, or will, of its user's quota. */
struct quota_bill {
	uint32_t user; /* a word; 0: nothing is counted */
	int32_t month;
	int64_t seconds[QUOTA_TYPES];
};

/* Adds a submission of `count` jobs to the bill, and notes in its spec what each will take. -EDQUOT: that would be more than is left. A priority job for which
 * there is too little becomes a normal one if there is enough of that, with a sentence in *ret_warning (NULL: no warning). */
int quotas_bill(struct server *s, struct quota_bill *bill, struct spec *p, int64_t count, const char **ret_warning,
		struct err *err);
/* The request is accepted: all of the bill is taken, at once. `key` is its first job's. -EDQUOT, and nothing is taken: others took it since. */
int quotas_take(struct server *s, const struct quota_bill *bill, uint64_t key, struct err *err);
/* What is to be said to one who has little left, after a submission; false: nothing is. */
bool quotas_low(struct server *s, const struct spec *p, char *ret, size_t size);

/* Settles the claim of a job that gets another spec, whose walltime may be another, and writes it into that. -EDQUOT. */
int quotas_alter(struct server *s, uint32_t id, struct spec *spec, struct err *err);
/* Takes what an attempt has used that its owner wants rerun, since the next one has the whole walltime before it again; once
 * for an attempt. *ret_paid: seconds, which count no more at the job's end (payload.paid). -EDQUOT. */
int quotas_rerun(struct server *s, uint32_t id, int64_t *ret_paid, struct err *err);
/* Whether a job that takes priority quota, and starts now, goes before others that came first and could be started, too. */
bool quotas_urgent(const struct server *s, uint32_t id);
/* Whether a common job that came before it could be started. */
bool quotas_overtakes(const struct server *s, uint32_t id);
/* A job has ended: what it did not use is returned. */
void quotas_settle(struct server *s, uint32_t id);

#endif
