/*
 * role.c - see role.h.
 */
#include "rules/role.h"

#include <string.h>

#include "rules/access.h"

enum { OWNER = 1, OF_QUEUE = 2, OF_ACCOUNT = 4, OF_BOTH = OF_QUEUE | OF_ACCOUNT };

/* The least role for each act, and who may perform it without that role. */
static const struct {
	enum role least;
	int also;
} table[ACTS] = {
	[ACT_SEE] = {ROLE_OPERATOR, OWNER | OF_BOTH},
	[ACT_READ] = {ROLE_MANAGER, OWNER},
	[ACT_DELETE] = {ROLE_OPERATOR, OWNER | OF_BOTH},
	[ACT_PURGE] = {ROLE_MANAGER, 0},
	[ACT_ALTER] = {ROLE_OPERATOR, OWNER | OF_BOTH},
	[ACT_ALTER_FILES] = {ROLE_OPERATOR, OWNER},
	[ACT_HOLD] = {ROLE_OPERATOR, OWNER | OF_BOTH},
	[ACT_HOLD_OTHER] = {ROLE_OPERATOR, OF_BOTH},
	[ACT_HOLD_SYSTEM] = {ROLE_MANAGER, 0},
	[ACT_SIGNAL] = {ROLE_OPERATOR, OWNER | OF_BOTH},
	[ACT_RERUN] = {ROLE_OPERATOR, OWNER | OF_BOTH},
	[ACT_RUN] = {ROLE_OPERATOR, 0},
	[ACT_MOVE] = {ROLE_OPERATOR, OWNER | OF_BOTH},
	[ACT_MESSAGE] = {ROLE_OPERATOR, OWNER},
	[ACT_ORDER] = {ROLE_OPERATOR, OWNER | OF_BOTH},
	[ACT_EXCEED] = {ROLE_OPERATOR, 0},
	[ACT_OPEN] = {ROLE_OPERATOR, OF_QUEUE},
	[ACT_SET_QUEUE] = {ROLE_MANAGER, 0},
	[ACT_ADMIT] = {ROLE_MANAGER, OF_ACCOUNT},
	[ACT_SET_ACCOUNT] = {ROLE_MANAGER, 0},
	[ACT_OPERATE] = {ROLE_OPERATOR, 0},
	[ACT_MANAGE] = {ROLE_MANAGER, 0},
};

bool role_may(const struct role_case *c, enum act act)
{
	int is = (c->owns ? OWNER : 0) | (c->of_queue ? OF_QUEUE : 0) | (c->of_account ? OF_ACCOUNT : 0);

	return c->role >= table[act].least || (is & table[act].also);
}

bool role_owner_may(enum act act)
{
	return table[act].also & OWNER;
}

int role_check(const struct role_case *c, enum act act, const char *what, struct err *err)
{
	const char *queue = table[act].also & OF_QUEUE ? c->queue : NULL,
		   *account = table[act].also & OF_ACCOUNT ? c->account : NULL;

	if (role_may(c, act))
		return 0;
	return err_code(err, CODE_FORBIDDEN, "%.200s needs %s%s%s%.64s%s%s%.64s", what,
			table[act].least == ROLE_MANAGER ? "a manager" : "an operator",
			queue || account ? ", or a coordinator of " : "", queue ? "queue " : "", queue ? queue : "",
			queue && account ? " or of " : "", account ? "account " : "", account ? account : "");
}

enum act role_act_of(enum attr_owner owner, const char *attr)
{
	const struct attr *row = attr_find(owner, attr);
	const char *name = row ? row->name : "";

	if (owner == ATTR_QUEUE)
		return strcmp(name, "enabled") == 0 || strcmp(name, "started") == 0 ? ACT_OPEN : ACT_SET_QUEUE;
	if (owner == ATTR_ACCOUNT)
		return strcmp(name, "acl_users") == 0 ? ACT_ADMIT : ACT_SET_ACCOUNT;
	return ACT_MANAGE;
}

bool role_key_is_harmless(const char *key)
{
	static const char *const keys[] = {"ids",      "filter", "name",    "priority",	 "resources",
					   "at",       "hold",	 "depend",  "account",	 "rerunnable",
					   "deadline", "type",	 "comment", "exclusive", "max_run_subjobs",
					   "mail"};

	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
		if (strcmp(keys[i], key) == 0)
			return true;
	return false;
}

bool role_coordinates_queue(const struct attrs *queue, const char *user, const char *host)
{
	return attrs_is_set(queue, SET_COORDINATORS) && attrs_list_has(queue, SET_COORDINATORS, user, host);
}

bool role_coordinates_account(const struct objects *o, const struct object *account, const char *user, const char *host)
{
	for (int depth = 0; account && depth <= ACCOUNT_DEPTH_MAX; depth++) {
		if (attrs_is_set(&account->attrs, SET_COORDINATORS) &&
		    attrs_list_has(&account->attrs, SET_COORDINATORS, user, host))
			return true;
		account = account_above(o, account);
	}
	return false;
}
