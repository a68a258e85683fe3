/*
 * role.h - permissions: who may do what to a job, a queue, an account or the site.
 *
 * User, operator and manager are roles for the whole site. In addition, a user owns jobs and may
 * coordinate queues and accounts (attribute `coordinators`; for an account this includes all
 * accounts below it). One table defines what each of them may do, and all checks go through it.
 */
#ifndef RULES_ROLE_H
#define RULES_ROLE_H

#include <stdbool.h>

#include "rules/attr.h"
#include "rules/object.h"

enum role { ROLE_USER, ROLE_OPERATOR, ROLE_MANAGER };

enum act {
	/* on a job */
	ACT_SEE,
	ACT_READ, /* script, environment and output */
	ACT_DELETE,
	ACT_PURGE, /* delete without waiting for its node */
	ACT_ALTER, /* its request, and when and how it waits */
	/* programs run as its owner, files it reads and writes, recipients of its mail */
	ACT_ALTER_FILES,
	ACT_HOLD,
	ACT_HOLD_OTHER,	 /* type o */
	ACT_HOLD_SYSTEM, /* type s */
	ACT_SIGNAL,
	ACT_RERUN,
	ACT_RUN, /* ahead of its turn */
	ACT_MOVE,
	ACT_MESSAGE,
	ACT_ORDER,
	ACT_EXCEED, /* ignore limits, and take the slots of other jobs */
	/* on a queue */
	ACT_OPEN, /* enable, disable, start, stop */
	ACT_SET_QUEUE,
	/* on an account */
	ACT_ADMIT, /* its list of users */
	ACT_SET_ACCOUNT,
	/* on anything else */
	ACT_OPERATE,
	ACT_MANAGE,
	ACTS
};

/* The client and the object of an act. For an act on a queue the account is NULL, and vice
 * versa. */
struct role_case {
	enum role role;
	bool owns;		     /* the client owns the job */
	const char *queue, *account; /* NULL: none */
	bool of_queue, of_account;   /* the client coordinates it */
};

bool role_may(const struct role_case *c, enum act act);
/* Fails with CODE_FORBIDDEN: "WHAT needs an operator, or a coordinator of queue long". */
int role_check(const struct role_case *c, enum act act, const char *what, struct err *err);
bool role_owner_may(enum act act);

/* Returns the act that changing an attribute amounts to. */
enum act role_act_of(enum attr_owner owner, const char *attr);
/* Returns true if a key of the API's job only affects how it waits; others need ACT_ALTER_FILES. */
bool role_key_is_harmless(const char *key);

bool role_coordinates_queue(const struct attrs *queue, const char *user, const char *host);
/* Returns true if the user coordinates the account or one above it. */
bool role_coordinates_account(const struct objects *o, const struct object *account, const char *user,
			      const char *host);

#endif
