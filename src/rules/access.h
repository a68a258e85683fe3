/*
 * access.h - the account that a job is charged to, and its quality of service: what it asked for, else the defaults, and who may use them.
 *
 * As long as no account is defined, any name is an account. An account, and a QoS, is for those whom its lists let in: acl_users, acl_groups and, of a QoS,
 * acl_accounts; any of them is enough, and one without lists is for everybody. An account without lists has those of the one above it.
 */
#ifndef RULES_ACCESS_H
#define RULES_ACCESS_H

#include "core/kind.h"
#include "rules/admit.h"
#include "rules/object.h"

/* What a job has; NULL: none. */
struct access {
	const char *account, *qos;
	const char *reservation; /* that it is bound to */
};

/* Whose job it is, and where. */
struct access_party {
	struct admit_party by;
	const char *group;	   /* the one that it runs with; NULL: not known */
	const struct attrs *queue; /* NULL: none */
	const char *queue_name;
	const struct attrs *server;
	const char *lent; /* an account that the job may be charged to whoever its user is; NULL: none */
	int64_t now;	  /* a reservation that has gone by is for nobody */
};

/* Fills in what `x` does not name. Texts are those of the objects. Error code REFUSED: it is not there, or not for this user. */
int access_resolve(const struct objects *o, const struct access_party *p, struct access *x, struct err *err);

/* What a QoS that may preempt makes of a job with a deadline: an emergency job, with the powers to stop common and starving ones. Others stay as they are. */
void access_preempt(const struct objects *o, const char *qos, uint8_t *kind, uint8_t *powers);

const struct object *account_above(const struct objects *o, const struct object *x); /* NULL: it is at the top */

#endif
