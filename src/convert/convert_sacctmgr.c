/*
 * convert_sacctmgr.c - accounts, users and QoS of Slurm from `sacctmgr dump` and the lists of
 * `sacctmgr -P show qos`.
 *
 *	Parent - 'root'
 *	Account - 'physics':Description='':Fairshare=40:GrpTRES=cpu=64
 *	Parent - 'physics'
 *	User - 'ann':DefaultAccount='physics':Fairshare=1:MaxJobs=4
 *
 * Shares are relative to siblings and become percentages once the file is read. A user who has
 * several accounts may be charged to each of them.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "convert/convert_internal.h"

/* Cuts a field up to the next separator outside quotes, which are removed. Returns NULL at the
 * end. */
static char *field_next(char **at, char separator)
{
	char *word = *at, *to = *at;
	bool quoted = false;

	if (!word)
		return NULL;
	for (; **at && (quoted || **at != separator); (*at)++) {
		if (**at == '\'')
			quoted = !quoted;
		else
			*to++ = **at;
	}
	*at = **at ? *at + 1 : NULL;
	*to = '\0';
	return word;
}

/* ---- amounts: "cpu=64,mem=100G,node=4" ---- */

static void amounts_read(struct conversion *c, struct attrs *a, const char *key, char *value)
{
	for (char *one, *rest = value; (one = strsep(&rest, ","));) {
		char *amount = strchr(one, '='), text[64];
		if (amount)
			*amount++ = '\0';
		if (amount && strcasecmp(one, "cpu") == 0)
			convert_set(c, a, "max_cpus", amount);
		else if (amount && strcasecmp(one, "mem") == 0) {
			size_t n = strspn(amount, "0123456789");
			snprintf(text, sizeof text, "%.40s%s", amount, amount[n] ? "" : "mb");
			convert_set(c, a, "max_memory", text);
		} else
			convert_remark(c, "%.60s: %.60s%s%.60s has no equivalent", key, one, amount ? "=" : "",
				       amount ? amount : "");
	}
}

static const struct {
	const char *key, *attribute;
} numbers[] = {
	{"GrpJobs", "max_running"},   {"MaxJobs", "max_running"}, {"MaxJobsPerUser", "max_running"},
	{"MaxJobsPU", "max_running"}, {"Priority", "priority"},
};

static bool limit_read(struct conversion *c, struct attrs *a, const char *key, char *value)
{
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		if (strcasecmp(key, numbers[i].key) == 0) {
			convert_set(c, a, numbers[i].attribute, value);
			return true;
		}
	if (strcasecmp(key, "GrpTRES") == 0 || strcasecmp(key, "MaxTRESPerUser") == 0 ||
	    strcasecmp(key, "MaxTRESPU") == 0) {
		amounts_read(c, a, key, value);
		return true;
	}
	if (strcasecmp(key, "GrpCPUs") == 0) {
		convert_set(c, a, "max_cpus", value);
		return true;
	}
	return false;
}

/* ---- the dump ---- */

static void share_keep(struct conversion *c, enum object_kind kind, const char *name, const char *value)
{
	int64_t n;

	if (strcasecmp(value, "parent") == 0)
		convert_remark(c, "Fairshare=parent of %.60s has no equivalent: it has no target of its own", name);
	else if (convert_integer(c, "Fairshare", value, 0, &n) && n <= 1000000000)
		vec_push(&c->shares, (struct share){kind, mem_strdup(name), mem_strdup(c->parent ? c->parent : ""), n});
}

static void qos_names(struct conversion *c, enum object_kind kind, const char *name, char *value)
{
	for (char *qos, *rest = value; (qos = strsep(&rest, ","));) {
		struct attrs *a;
		if (*qos == '+')
			qos++;
		if (*qos && *qos != '-' && (a = convert_object(c, OBJECT_QOS, qos)) && strcasecmp(qos, "normal") != 0)
			convert_add(c, a, kind == OBJECT_USER ? "acl_users" : "acl_accounts", name);
	}
}

static void admin_read(struct conversion *c, const char *name, const char *value)
{
	char who[128];

	snprintf(who, sizeof who, "%.100s@*", name);
	if (strncasecmp(value, "Admin", 5) == 0)
		convert_add(c, &c->site.attrs, "managers", who);
	else if (strncasecmp(value, "Oper", 4) == 0)
		convert_add(c, &c->site.attrs, "operators", who);
}

/* Reads the accounts that a user coordinates. */
static void coordinator_read(struct conversion *c, const char *name, char *value)
{
	for (char *account, *rest = value; (account = strsep(&rest, ","));) {
		struct attrs *a =
			*account && strcmp(account, "root") != 0 ? convert_object(c, OBJECT_ACCOUNT, account) : NULL;
		if (a)
			convert_add(c, a, "coordinators", name);
		else if (*account)
			convert_remark(
				c,
				"%.60s coordinates account %.60s: only accounts below root have coordinators; consider operators",
				name, account);
	}
}

static void member_read(struct conversion *c, enum object_kind kind, struct attrs *a, const char *name, char *rest)
{
	for (char *word; (word = field_next(&rest, ':'));) {
		char *value = strchr(word, '=');
		if (!value) {
			if (*word)
				convert_remark(c, "%.60s of %.60s is not KEY=VALUE", word, name);
			continue;
		}
		*value++ = '\0';
		if (limit_read(c, a, word, value) || strcasecmp(word, "Description") == 0 ||
		    strcasecmp(word, "Organization") == 0)
			continue;
		if (strcasecmp(word, "Fairshare") == 0)
			share_keep(c, kind, name, value);
		else if (strcasecmp(word, "QOS") == 0)
			qos_names(c, kind, name, value);
		else if (strcasecmp(word, "DefaultQOS") == 0) {
			if (convert_object(c, OBJECT_QOS, value))
				convert_set(c, a, "default_qos", value);
		} else if (strcasecmp(word, "AdminLevel") == 0)
			admin_read(c, name, value);
		else if (strcasecmp(word, "Coordinator") == 0 && kind == OBJECT_USER)
			coordinator_read(c, name, value);
		else if (strcasecmp(word, "DefaultAccount") == 0 && kind == OBJECT_USER) {
			if (strcmp(value, "root") != 0 && convert_object(c, OBJECT_ACCOUNT, value))
				convert_set(c, a, "default_account", value);
		} else
			convert_remark(c, "%.60s=%.80s of %.60s has no equivalent", word, value, name);
	}
}

static void dump_read(struct conversion *c, const char *what, char *rest)
{
	char *name = field_next(&rest, ':');
	bool top = !c->parent || strcmp(c->parent, "root") == 0;
	struct attrs *a;

	if (!name || !*name) {
		convert_remark(c, "%.60s: the name is missing", what);
	} else if (strcasecmp(what, "Parent") == 0) {
		free(c->parent);
		c->parent = mem_strdup(name);
	} else if (strcasecmp(what, "Cluster") == 0) {
		if (rest)
			convert_remark(c, "Cluster %.60s: limits of the whole cluster are left out (%.100s)", name,
				       rest);
	} else if (strcasecmp(what, "Account") == 0) {
		if (strcmp(name, "root") == 0)
			return;
		a = convert_object(c, OBJECT_ACCOUNT, name);
		if (a && !top && convert_object(c, OBJECT_ACCOUNT, c->parent))
			convert_set(c, a, "parent", c->parent);
		member_read(c, OBJECT_ACCOUNT, a, name, rest);
	} else if (strcasecmp(what, "User") == 0 && strcmp(name, "root") == 0) {
		convert_remark(c, "root is always a manager, and needs no account");
	} else if (strcasecmp(what, "User") == 0) {
		if (!top && (a = convert_object(c, OBJECT_ACCOUNT, c->parent)))
			convert_add(c, a, "acl_users", name);
		member_read(c, OBJECT_USER, convert_object(c, OBJECT_USER, name), name, rest);
	} else
		convert_remark(c, "%.60s is not known", what);
}

/* ---- a list of QoS ---- */

static void list_head(struct conversion *c, char *line)
{
	for (char *word; (word = field_next(&line, '|'));)
		vec_push(&c->columns, mem_strdup(word));
}

static void list_row(struct conversion *c, char *line)
{
	struct attrs *a = NULL;
	const char *name = "";
	char *value;

	for (size_t i = 0; i < c->columns.n && (value = field_next(&line, '|')); i++) {
		const char *key = c->columns.v[i];
		if (strcasecmp(key, "Name") == 0) {
			name = value;
			a = convert_object(c, OBJECT_QOS, value);
		}
		if (!*value || !a || strcasecmp(key, "Name") == 0 || strcasecmp(key, "Description") == 0 ||
		    strcmp(value, "00:00:00") == 0 || (strcasecmp(key, "UsageFactor") == 0 && atof(value) == 1) ||
		    (strcasecmp(key, "PreemptMode") == 0 && strcasecmp(value, "cluster") == 0))
			continue;
		if (strcasecmp(key, "Preempt") == 0) {
			convert_set(c, a, "may_preempt", "True");
			convert_remark(
				c,
				"Preempt=%.80s of QoS %.60s: its jobs may stop any job that can be stopped, not those of some QoS",
				value, name);
		} else if (!limit_read(c, a, key, value))
			convert_remark(c, "%.60s=%.80s of QoS %.60s has no equivalent", key, value, name);
	}
}

void convert_sacctmgr(struct conversion *c, char *line)
{
	char *dash = strstr(line, " - ");

	if (strncasecmp(line, "Name|", 5) == 0)
		list_head(c, line);
	else if (c->columns.n && strchr(line, '|'))
		list_row(c, line);
	else if (dash) {
		*dash = '\0';
		dump_read(c, line + strspn(line, " \t"), dash + 3 + strspn(dash + 3, " "));
	} else
		convert_remark(c, "%.80s is neither a line of sacctmgr's dump nor of a list", line);
}

/* Converts shares to percentages among siblings. */
void convert_sacctmgr_end(struct conversion *c)
{
	for (size_t i = 0; i < c->shares.n; i++) {
		const struct share *x = &c->shares.v[i];
		double all = 0;
		for (size_t k = 0; k < c->shares.n; k++)
			if (c->shares.v[k].kind == x->kind && strcmp(c->shares.v[k].parent, x->parent) == 0)
				all += (double)c->shares.v[k].shares;
		if (all > 0 && all > (double)x->shares)
			convert_number(c, convert_object(c, x->kind, x->name), "fairshare",
				       (int64_t)rint(100 * (double)x->shares / all));
	}
	for (size_t i = 0; i < c->shares.n; i++) {
		free(c->shares.v[i].name);
		free(c->shares.v[i].parent);
	}
	for (size_t i = 0; i < c->columns.n; i++)
		free(c->columns.v[i]);
	vec_free(&c->shares);
	vec_free(&c->columns);
	free(c->parent);
	c->parent = NULL;
}
