/*
 * role.h - who may do what: to a job, to a queue, to an account, to the site.
 *
 * User, operator and manager are roles for the whole site. Besides these, a user owns jobs, and may coordinate queues and accounts (their attribute
 * `coordinators`; of an account also all accounts below it). One table says what each of them may; everybody asks it here.
 */
#ifndef RULES_ROLE_H
#define RULES_ROLE_H

#include <stdbool.h>

#include "rules/attr.h"
#include "rules/object.h"

enum role { ROLE_USER, ROLE_OPERATOR, ROLE_MANAGER };

enum act {
	/* to a job */
	ACT_SEE,
	ACT_READ, /* its script, environment and output */
	ACT_DELETE,
	ACT_PURGE,	 /* without waiting for its node */
	ACT_ALTER,	 /* what it asks for, when and how it waits */
	ACT_ALTER_FILES, /* what it runs as its owner, which files it reads and writes, who gets its mail */
	ACT_HOLD,
	ACT_HOLD_OTHER,	 /* type o */
	ACT_HOLD_SYSTEM, /* type s */
	ACT_SIGNAL,
	ACT_RERUN,
	ACT_RUN, /* before its turn */
	ACT_MOVE,
	ACT_MESSAGE,
	ACT_ORDER,
	ACT_EXCEED, /* limits, and the places of others */
	/* to a queue */
	ACT_OPEN, /* enable, disable, start, stop */
	ACT_SET_QUEUE,
	/* to an account */
	ACT_ADMIT, /* its list of users */
	ACT_SET_ACCOUNT,
	/* to anything else */
	ACT_OPERATE,
	ACT_MANAGE,
	ACTS
};

/* Who asks, and what it is about. Of an act on a queue or an account the other one is NULL. */
struct role_case {
	enum role role;
	bool owns;		     /* the job is his */
	const char *queue, *account; /* NULL: none */
	bool of_queue, of_account;   /* he is a coordinator of it */
};

bool role_may(const struct role_case *c, enum act act);
/* CODE_FORBIDDEN: "WHAT needs an operator, or a coordinator of queue long". */
int role_check(const struct role_case *c, enum act act, const char *what, struct err *err);
bool role_owner_may(enum act act);

/* What a change of an attribute is. */
enum act role_act_of(enum attr_owner owner, const char *attr);
/* Whether it only says how a job waits; else it is for ACT_ALTER_FILES. A key of the API's job. */
bool role_key_is_harmless(const char *key);

bool role_coordinates_queue(const struct attrs *queue, const char *user, const char *host);
/* Or an account above it. */
bool role_coordinates_account(const struct objects *o, const struct object *account, const char *user,
			      const char *host);

#endif
