/*
 * access.h - determines a job's account and quality of service, requested or default, and checks
 * that its user may use them.
 *
 * While no account is defined, any name is an account. An account or a QoS admits the members of
 * its lists: acl_users, acl_groups and, for a QoS, acl_accounts. Being in any of them is enough,
 * and an object without lists admits everybody. An account without lists inherits those of its
 * parent.
 */
#ifndef RULES_ACCESS_H
#define RULES_ACCESS_H

#include "core/kind.h"
#include "rules/admit.h"
#include "rules/object.h"

/* Account, QoS and reservation of a job; NULL: none. */
struct access {
	const char *account, *qos;
	const char *reservation; /* reservation the job is bound to */
};

/* The job's owner and queue. */
struct access_party {
	struct admit_party by;
	const char *group;	   /* group the job runs with; NULL: unknown */
	const struct attrs *queue; /* NULL: none */
	const char *queue_name;
	const struct attrs *server;
	const char *lent; /* account the job may be charged to whatever its user; NULL: none */
	int64_t now;	  /* instant; reservations that ended before admit nobody */
};

/* Fills in what `x` does not name. The texts belong to the objects. Error code REFUSED: an
 * object does not exist or does not admit this user. */
int access_resolve(const struct objects *o, const struct access_party *p, struct access *x, struct err *err);

/* Turns a job with a deadline into an emergency job that may stop common and starving ones, if
 * its QoS may preempt. Leaves other jobs unchanged. */
void access_preempt(const struct objects *o, const char *qos, uint8_t *kind, uint8_t *powers);

/* Returns the parent account, or NULL. */
const struct object *account_above(const struct objects *o, const struct object *x);

#endif
