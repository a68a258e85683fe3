/*
 * access.c - see access.h.
 */
#include "rules/access.h"

#include <errno.h>
#include <string.h>

#include "base/strbuf.h"
#include "rules/reservation.h"

const struct object *account_above(const struct objects *o, const struct object *x)
{
	const char *parent = attrs_text(&x->attrs, SET_PARENT);

	return parent ? object_find(o, OBJECT_ACCOUNT, parent) : NULL;
}

/* Returns true if one of the object's lists names the party; sets *ret_open if it has no lists. */
static bool lists_admit(const struct object *x, const struct admit_party *by, const char *account, bool *ret_open)
{
	bool users = attrs_is_set(&x->attrs, SET_ACL_USERS), groups = attrs_is_set(&x->attrs, SET_ACL_GROUPS),
	     accounts = x->kind == OBJECT_QOS && attrs_is_set(&x->attrs, SET_ACL_ACCOUNTS);

	*ret_open = !users && !groups && !accounts;
	if (users && attrs_list_has(&x->attrs, SET_ACL_USERS, by->user, by->host))
		return true;
	for (const char *const *g = by->groups; groups && g && *g; g++)
		if (attrs_list_has(&x->attrs, SET_ACL_GROUPS, *g, NULL))
			return true;
	return accounts && account && attrs_list_has(&x->attrs, SET_ACL_ACCOUNTS, account, NULL);
}

static bool admits(const struct objects *o, const struct object *x, const struct admit_party *by, const char *account)
{
	bool open = true;

	for (int depth = 0; x && open && depth <= ACCOUNT_DEPTH_MAX; depth++) {
		if (lists_admit(x, by, account, &open))
			return true;
		x = open && x->kind == OBJECT_ACCOUNT ? account_above(o, x) : NULL;
	}
	return open;
}

static struct object *defined(const struct objects *o, enum object_kind kind, const char *name)
{
	return name && strcmp(name, OBJECT_DEFAULT) != 0 ? object_find(o, kind, name) : NULL;
}

static int unknown(const struct objects *o, enum object_kind kind, const char *name, struct err *err)
{
	struct strbuf all = {0};

	for (size_t i = 0; i < o->of[kind].n && all.n < 300; i++)
		if (strcmp(o->of[kind].v[i]->name, OBJECT_DEFAULT) != 0)
			strbuf_printf(&all, "%s%s", all.n ? ", " : "", o->of[kind].v[i]->name);
	err_code(err, CODE_REFUSED, "unknown %s %.60s; %s%.300s", object_table[kind].name, name,
		 all.n ? "known: " : "none is defined", strbuf_text(&all));
	strbuf_fini(&all);
	return -EDQUOT;
}

/* Checks that the object the job names exists and admits its user. */
static int named_check(const struct objects *o, enum object_kind kind, const struct access_party *p,
		       const char *account, const char **name, struct err *err)
{
	const struct object *x = defined(o, kind, *name);

	if (!x)
		return unknown(o, kind, *name, err);
	if (kind == OBJECT_ACCOUNT && p->lent && strcmp(p->lent, x->name) == 0) {
		*name = x->name;
		return 0;
	}
	if (!admits(o, x, &p->by, account))
		return err_code(err, CODE_REFUSED, "user %.60s may not use %s %s (acl_users, acl_groups%s)", p->by.user,
				object_table[kind].name, x->name, kind == OBJECT_QOS ? ", acl_accounts" : "");
	*name = x->name;
	return 0;
}

/* Returns the default that an object sets, if the user may use it. */
static const char *default_of(const struct objects *o, const struct attrs *a, enum attr_key key, enum object_kind kind,
			      const struct access_party *p, const char *account)
{
	const struct object *x = a && attrs_is_set(a, key) ? defined(o, kind, attrs_text(a, key)) : NULL;

	return x && admits(o, x, &p->by, account) ? x->name : NULL;
}

static const char *default_find(const struct objects *o, enum object_kind kind, const struct access_party *p,
				const char *account)
{
	enum attr_key key = kind == OBJECT_QOS ? SET_DEFAULT_QOS : SET_DEFAULT_ACCOUNT;
	const char *found = NULL;
	const struct object *user = object_find(o, OBJECT_USER, p->by.user),
			    *charged = kind == OBJECT_QOS ? defined(o, OBJECT_ACCOUNT, account) : NULL,
			    *group = p->group ? object_find(o, OBJECT_GROUP, p->group) : NULL,
			    *users = object_find(o, OBJECT_USER, OBJECT_DEFAULT);
	const struct attrs *in[] = {user ? &user->attrs : NULL,		  charged ? &charged->attrs : NULL,
				    group ? &group->attrs : NULL,	  users ? &users->attrs : NULL,
				    kind == OBJECT_QOS ? p->queue : NULL, kind == OBJECT_QOS ? p->server : NULL};

	for (size_t i = 0; i < sizeof in / sizeof *in && !found; i++)
		found = default_of(o, in[i], key, kind, p, account);
	return found;
}

/* Determines the job's reservation: the one it names, else that of its QoS. A reservation with a
 * list of jobs is accepted, because it may name this job later. */
static int reservation_resolve(const struct objects *o, const struct access_party *p, struct access *x, struct err *err)
{
	const struct object *q = x->qos ? object_find(o, OBJECT_QOS, x->qos) : NULL, *r;
	struct reservation_party party = {.user = p->by.user,
					  .host = p->by.host,
					  .group = p->group,
					  .account = x->account,
					  .queue = p->queue_name,
					  .qos = x->qos};
	bool own = x->reservation != NULL;

	if (!own && q)
		x->reservation = attrs_text(&q->attrs, SET_RESERVATION);
	if (!x->reservation)
		return 0;
	r = object_find(o, OBJECT_RESERVATION, x->reservation);
	if (!r)
		return unknown(o, OBJECT_RESERVATION, x->reservation, err);
	if (own && reservation_over(r, p->now))
		return err_code(err, CODE_REFUSED, "reservation %s is over", r->name);
	if (own && !reservation_admits(r, &party) && !attrs_is_set(&r->attrs, SET_ACL_JOBS))
		return err_code(err, CODE_REFUSED, "reservation %s does not admit this job of user %.60s%s", r->name,
				p->by.user, attrs_bool(&r->attrs, SET_MAINTENANCE) ? ": it is for maintenance" : "");
	x->reservation = r->name;
	return 0;
}

int access_resolve(const struct objects *o, const struct access_party *p, struct access *x, struct err *err)
{
	bool defines = object_count(o, OBJECT_ACCOUNT) > 0;
	int rc = 0;

	if (!x->account)
		x->account = defines ? default_find(o, OBJECT_ACCOUNT, p, NULL) : NULL;
	else if (defines)
		rc = named_check(o, OBJECT_ACCOUNT, p, NULL, &x->account, err);
	if (rc < 0)
		return rc;
	if (x->qos)
		rc = named_check(o, OBJECT_QOS, p, x->account, &x->qos, err);
	else
		x->qos = default_find(o, OBJECT_QOS, p, x->account);
	return rc < 0 ? rc : reservation_resolve(o, p, x, err);
}

void access_preempt(const struct objects *o, const char *qos, uint8_t *kind, uint8_t *powers)
{
	const struct object *x = qos ? object_find(o, OBJECT_QOS, qos) : NULL;

	if (!x || *kind != KIND_QOS || !attrs_bool(&x->attrs, SET_MAY_PREEMPT))
		return;
	*kind = KIND_EMERGENCY;
	*powers |= POWER_SC_ALLOC | POWER_C_EXEC | POWER_S_EXEC;
}
