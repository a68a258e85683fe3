/*
 * convert_maui.c - maui.cfg: lines "PARAMETER[INDEX] VALUE", and for users, groups, accounts,
 * classes and QoS "USERCFG[ann] KEY=VALUE ...".
 *
 * Maui's priority is a sum of components, each a weight times the sum of its subcomponents'
 * weighted values. Only the product of the two weights matters, and becomes our weight. It is known
 * once both lines are read, so each line sets the attribute again.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/timetext.h"
#include "convert/convert_internal.h"

/* ---- weights ---- */

static const struct {
	const char *name;
	int component; /* index in maui_components */
	const char *factor;
	int64_t per; /* Maui's units per unit of ours: a GB has 1024 MB */
} weights[] = {
	{"QUEUETIMEWEIGHT", MAUI_SERVICE, "queue_time", 1},
	{"XFACTORWEIGHT", MAUI_SERVICE, "expansion", 1},
	{"PROCWEIGHT", MAUI_RESOURCE, "cpus", 1},
	{"MEMWEIGHT", MAUI_RESOURCE, "memory", 1024},
	{"WALLTIMEWEIGHT", MAUI_RESOURCE, "walltime", 3600},
	{"USERWEIGHT", MAUI_CREDENTIAL, "user", 1},
	{"GROUPWEIGHT", MAUI_CREDENTIAL, "group", 1},
	{"ACCOUNTWEIGHT", MAUI_CREDENTIAL, "account", 1},
	{"QOSWEIGHT", MAUI_CREDENTIAL, "qos", 1},
	{"CLASSWEIGHT", MAUI_CREDENTIAL, "queue", 1},
	{"FSUSERWEIGHT", MAUI_FAIRSHARE, "fairshare", 1},
};
#define WEIGHTS (sizeof weights / sizeof *weights)
_Static_assert(WEIGHTS == MAUI_WEIGHTS, "struct maui_weights has room for all");

static const char *const components[MAUI_COMPONENTS] = {
	[MAUI_SERVICE] = "SERVICEWEIGHT",
	[MAUI_RESOURCE] = "RESWEIGHT",
	[MAUI_CREDENTIAL] = "CREDWEIGHT",
	[MAUI_FAIRSHARE] = "FSWEIGHT",
};

static void weight_update(struct conversion *c, size_t i)
{
	char name[64];
	int64_t component = c->maui.component_set[weights[i].component] ? c->maui.component[weights[i].component] : 1;

	if (!c->maui.weight[i] && strcmp(weights[i].name, "QUEUETIMEWEIGHT") != 0)
		return;
	snprintf(name, sizeof name, "priority_weight.%s", weights[i].factor);
	convert_number(c, &c->site.attrs, name, component * c->maui.weight[i] * weights[i].per);
}

static bool weight_read(struct conversion *c, const char *key, const char *value)
{
	int64_t n;

	for (size_t k = 0; k < MAUI_COMPONENTS; k++) {
		if (strcasecmp(key, components[k]) != 0)
			continue;
		if (convert_integer(c, key, value, -1000000, &n)) {
			c->maui.component[k] = n;
			c->maui.component_set[k] = true;
			for (size_t i = 0; i < WEIGHTS; i++)
				if ((size_t)weights[i].component == k)
					weight_update(c, i);
			convert_set(c, &c->site.attrs, "priority_order", "sum");
		}
		return true;
	}
	for (size_t i = 0; i < WEIGHTS; i++) {
		if (strcasecmp(key, weights[i].name) != 0)
			continue;
		if (convert_integer(c, key, value, -1000000, &n)) {
			c->maui.weight[i] = n;
			weight_update(c, i);
			convert_set(c, &c->site.attrs, "priority_order", "sum");
			if (strcasecmp(key, "FSUSERWEIGHT") == 0)
				convert_remark(
					c,
					"FSUSERWEIGHT: Maui counts percents below the target, Shunt the percent of users who are further ahead: look at 'shunt priority'");
		}
		return true;
	}
	return false;
}

/* ---- limits ---- */

static const struct {
	const char *key, *attribute;
	const char *unit; /* appended to the number */
} limits[] = {
	{"MAXJOB", "max_running", ""},
	{"MAXPROC", "max_cpus", ""},
	{"MAXMEM", "max_memory", "mb"},
	{"MAXPS", "max_cpu_seconds", ""},
};

static void limit_set(struct conversion *c, struct attrs *a, const char *key, const char *attribute, const char *value,
		      const char *unit)
{
	char text[64];
	int64_t n;

	if (convert_integer(c, key, value, 0, &n)) {
		snprintf(text, sizeof text, "%lld%s", (long long)n, unit);
		convert_set(c, a, attribute, text);
	}
}

/* Reads a limit: "8", or "4,8" for a soft and a hard one. */
static bool limit_read(struct conversion *c, struct attrs *a, const char *key, char *value)
{
	char *hard = strchr(value, ','), name[64];

	for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
		if (strcasecmp(key, limits[i].key) != 0)
			continue;
		if (hard) {
			*hard++ = '\0';
			snprintf(name, sizeof name, "soft_%s", limits[i].attribute);
			if (attr_find(a->owner, name))
				limit_set(c, a, key, name, value, limits[i].unit);
			else
				convert_remark(c, "%s: the soft limit %.40s is left out, the hard one counts", key,
					       value);
		}
		limit_set(c, a, key, limits[i].attribute, hard ? hard : value, limits[i].unit);
		return true;
	}
	return false;
}

/* ---- users, groups, accounts, classes, QoS ---- */

static const struct credential {
	const char *parameter;
	enum object_kind kind;
	const char *acl; /* ACL of a QoS for such names */
} credentials[] = {
	{"USERCFG", OBJECT_USER, "acl_users"},
	{"GROUPCFG", OBJECT_GROUP, "acl_groups"},
	{"ACCOUNTCFG", OBJECT_ACCOUNT, "acl_accounts"},
	{"QOSCFG", OBJECT_QOS, NULL},
};

/* Reads a fairshare target: "25.0", perhaps followed by '+', '-' or '^'. */
static void target_read(struct conversion *c, struct attrs *a, const char *value)
{
	char *end;
	double percent = strtod(value, &end);

	if (end == value || !(percent >= 0 && percent <= 100)) {
		convert_remark(c, "FSTARGET=%.40s is not a percentage from 0 to 100", value);
		return;
	}
	if (*end)
		convert_remark(c, "FSTARGET=%.40s: floors and ceilings are not supported; it becomes a target", value);
	if (percent != rint(percent))
		convert_remark(c, "FSTARGET=%.40s is rounded to %.0f", value, rint(percent));
	convert_number(c, a, "fairshare", (int64_t)rint(percent));
}

/* Adds this name to every QoS of "high,low" (also joined by ':'). */
static void qos_list_read(struct conversion *c, const struct credential *by, const char *name, char *value)
{
	char *qos, *rest = value;
	const bool everybody = strcasecmp(name, "default") == 0;

	while ((qos = strsep(&rest, ",:&"))) {
		struct attrs *a = *qos ? convert_object(c, OBJECT_QOS, qos) : NULL;
		if (a)
			convert_add(c, a, by->acl, everybody ? "*" : name);
	}
}

static void flags_read(struct conversion *c, struct attrs *a, char *value)
{
	char *flag, *rest = value;

	while ((flag = strsep(&rest, ",:|"))) {
		if (!*flag)
			continue;
		if (strcasecmp(flag, "DEDICATED") == 0)
			convert_set(c, a, "dedicated", "True");
		else if (strcasecmp(flag, "PREEMPTOR") == 0)
			convert_set(c, a, "may_preempt", "True");
		else if (strncasecmp(flag, "IGN", 3) == 0) {
			convert_set(c, a, "ignores_limits", "True");
			if (strcasecmp(flag, "IGNALL") != 0)
				convert_remark(c, "QFLAGS=%.40s: its jobs ignore all limits, not this one alone", flag);
		} else
			convert_remark(c, "QFLAGS=%.40s is not known here", flag);
	}
}

static void pair_read(struct conversion *c, const struct credential *by, struct attrs *a, const char *name,
		      const char *key, char *value)
{
	const char *qos = *value == '&' ? value + 1 : value;

	if (limit_read(c, a, key, value))
		return;
	if (strcasecmp(key, "PRIORITY") == 0)
		convert_set(c, a, "priority", value);
	else if (strcasecmp(key, "FSTARGET") == 0)
		target_read(c, a, value);
	else if (strcasecmp(key, "QDEF") == 0) {
		if (convert_object(c, OBJECT_QOS, qos))
			convert_set(c, a, "default_qos", qos);
	} else if (strcasecmp(key, "QLIST") == 0 && by && by->acl)
		qos_list_read(c, by, name, value);
	else if (strcasecmp(key, "QFLAGS") == 0 && by && by->kind == OBJECT_QOS)
		flags_read(c, a, value);
	else if (strcasecmp(key, "ADEF") == 0) {
		if (convert_object(c, OBJECT_ACCOUNT, value))
			convert_set(c, a, "default_account", value);
	} else if (strcasecmp(key, "ALIST") == 0 && by && (by->kind == OBJECT_USER || by->kind == OBJECT_GROUP)) {
		for (char *account, *rest = value; (account = strsep(&rest, ",:"));)
			convert_add(c, *account ? convert_object(c, OBJECT_ACCOUNT, account) : NULL, by->acl, name);
	} else if (!by && (strcasecmp(key, "MAXJOBPERUSER") == 0 || strcasecmp(key, "MAXJOB[USER]") == 0))
		convert_set(c, a, "max_user_run", value);
	else
		convert_remark(c, "%.60s=%.80s of %.60s has no equivalent", key, value, name);
}

static void pairs_read(struct conversion *c, const struct credential *by, struct attrs *a, const char *name, char *text)
{
	for (char *word; a && (word = convert_word(&text));) {
		char *equals = strchr(word, '=');
		if (!equals) {
			convert_remark(c, "%.80s is not KEY=VALUE", word);
			continue;
		}
		*equals = '\0';
		pair_read(c, by, a, name, word, equals + 1);
	}
}

static bool credential_read(struct conversion *c, const char *key, const char *index, char *text)
{
	const char *name = index && strcasecmp(index, "DEFAULT") == 0 ? OBJECT_DEFAULT : index;
	struct attrs *a;

	for (size_t i = 0; i < sizeof credentials / sizeof *credentials; i++)
		if (strcasecmp(key, credentials[i].parameter) == 0 && index) {
			a = convert_object(c, credentials[i].kind, name);
			pairs_read(c, &credentials[i], a, name, text);
			return true;
		}
	if (strcasecmp(key, "CLASSCFG") == 0 && index) {
		bool known = ruleset_find(&c->site, index) >= 0;
		if (strcasecmp(index, "DEFAULT") == 0) {
			convert_remark(c, "CLASSCFG[DEFAULT]: queues have no common defaults: set them of each queue");
			return true;
		}
		if ((a = convert_queue(c, index)) && !known) {
			convert_set(c, a, "enabled", "True");
			convert_set(c, a, "started", "True");
			convert_remark(
				c,
				"queue %.60s: its other attributes are in the old server's 'qmgr -c \"print server\"'",
				index);
		}
		pairs_read(c, NULL, a, index, text);
		return true;
	}
	if (strcasecmp(key, "SRCFG") == 0 && index) {
		convert_standing(c, index, text);
		return true;
	}
	if (strcasecmp(key, "SYSCFG") == 0) {
		pairs_read(c, NULL, &c->site.attrs, "the system", text);
		return true;
	}
	return false;
}

/* ---- the other parameters ---- */

static void duration_days(struct conversion *c, const char *value)
{
	int64_t seconds = 0;
	struct err err;

	if (duration_parse(value, &seconds, &err) < 0)
		convert_remark(c, "FSINTERVAL %.60s: %s", value, err.text);
	else {
		int64_t days = seconds < 86400 ? 1 : (seconds + 43200) / 86400;
		if (seconds != days * 86400)
			convert_remark(c, "FSINTERVAL %.60s: windows are whole days; it becomes %lld", value,
				       (long long)days);
		convert_number(c, &c->site.attrs, "fairshare_window", days);
	}
}

static void decay_read(struct conversion *c, const char *value)
{
	char *end;
	double part = strtod(value, &end);

	if (end == value || *end || !(part >= 0 && part <= 1))
		convert_remark(c, "FSDECAY %.60s is not a number from 0 to 1", value);
	else
		convert_number(c, &c->site.attrs, "fairshare_decay", (int64_t)rint(part * 100));
}

static void admins_read(struct conversion *c, const char *list, char *text)
{
	char name[128];

	for (char *word; (word = convert_word(&text));)
		if (strcmp(word, "root") != 0) {
			snprintf(name, sizeof name, "%.100s@*", word);
			convert_add(c, &c->site.attrs, list, name);
		} else {
			convert_remark(c, "root is always a manager");
		}
}

/* Maui's words and ours; a word that is not listed causes a remark. */
static const struct {
	const char *key, *word, *attribute, *value;
} words[] = {
	{"BACKFILLPOLICY", "FIRSTFIT", "backfill", "first_fit"},
	{"BACKFILLPOLICY", "BESTFIT", "backfill", "best_fit"},
	{"BACKFILLPOLICY", "GREEDY", "backfill", "greedy"},
	{"BACKFILLPOLICY", "NONE", "backfill", "none"},
	{"BACKFILLPOLICY", "OFF", "backfill", "none"},
	{"NODEALLOCATIONPOLICY", "FIRSTAVAILABLE", "node_allocation", "first_available"},
	{"NODEALLOCATIONPOLICY", "LASTAVAILABLE", "node_allocation", "first_available"},
	{"NODEALLOCATIONPOLICY", "MINRESOURCE", "node_allocation", "min_resource"},
	{"NODEALLOCATIONPOLICY", "CPULOAD", "node_allocation", "load"},
	{"NODEALLOCATIONPOLICY", "FASTEST", "node_allocation", "fastest"},
	{"NODEALLOCATIONPOLICY", "CONTIGUOUS", "node_allocation", "contiguous"},
	{"RESERVATIONPOLICY", "CURRENTHIGHEST", NULL, NULL},
	{"RESERVATIONPOLICY", "HIGHEST", NULL, NULL},
};

static bool word_read(struct conversion *c, const char *key, const char *value)
{
	bool known = false;

	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		if (strcasecmp(key, words[i].key) != 0)
			continue;
		known = true;
		if (strcasecmp(value, words[i].word) != 0)
			continue;
		if (words[i].attribute)
			convert_set(c, &c->site.attrs, words[i].attribute, words[i].value);
		else
			convert_remark(c, "%s %s: the same here", key, value);
		return true;
	}
	if (known)
		convert_remark(c, "%.60s %.60s has no equivalent", key, value);
	return known;
}

static const struct {
	const char *key, *remark;
} elsewhere[] = {
	{"SERVERHOST", "the server's own machine: 'shunt up' or /etc/shunt/shunt.conf"},
	{"SERVERPORT", "the port is set in shunt.conf"},
	{"SERVERMODE", "'shunt simulate --config' tries a configuration without a cluster"},
	{"RMCFG", "not needed: server and scheduler are one program"},
	{"RMTYPE", "not needed: server and scheduler are one program"},
	{"RMPOLLINTERVAL", "not needed: jobs are planned at every event, without a poll"},
	{"RMHOST", "not needed: server and scheduler are one"},
	{"AMCFG", "accounts and their use are in the server itself"},
	{"ADMIN3", "who may see all jobs: query_other_jobs, or operators"},
	{"ADMINHOST", "managers and operators are named as user@host"},
	{"LOGFILE", "the log is in the state directory, or in the journal"},
	{"LOGFILEMAXSIZE", "the log is in the state directory, or in the journal"},
	{"LOGLEVEL", "the log is in the state directory, or in the journal"},
	{"LOGDIR", "the log is in the state directory, or in the journal"},
	{"DEFERTIME", "start_retry and max_start_failures govern jobs that cannot be started"},
	{"DEFERCOUNT", "start_retry and max_start_failures govern jobs that cannot be started"},
	{"JOBNODEMATCHPOLICY", "jobs request it: -l nodes=2:ppn=4:e for two nodes, place=excl for whole ones"},
	{"NODEACCESSPOLICY", "jobs request it with -l place=excl, or a QoS has dedicated = True"},
	{"ENABLEMULTIREQJOBS", "always on"},
	{"ENABLEMULTINODEJOBS", "always on"},
	{"JOBPRIOACCRUALPOLICY", "queue time counts from the submission, or the end of holds and dependencies"},
	{"STATDIR", "statistics come from the history: shunt history, shunt usage"},
	{"FEATURENODETYPEHEADER", "features are set by 'shunt nodes set N features=...'"},
	{"FEATUREPROCSPEEDHEADER", "features are set by 'shunt nodes set N features=...'"},
	{"PREEMPTPOLICY", "stopped jobs are requeued, after a checkpoint if they make any: see may_preempt of a QoS"},
	{"CHECKPOINTFILE", "the state is in the store, written as it changes"},
	{"CHECKPOINTINTERVAL", "the state is in the store, written as it changes"},
	{"CHECKPOINTEXPIRATIONTIME", "the state is in the store, written as it changes"},
};

/* Remarks on what to set for a node: nodes are not objects of qmgr's language. */
static void node_read(struct conversion *c, const char *node, char *rest)
{
	for (char *save, *pair = strtok_r(rest, " \t", &save); pair; pair = strtok_r(NULL, " \t", &save)) {
		if (strncasecmp(pair, "SPEED=", 6) == 0)
			convert_remark(c, "speed of node %.60s: 'shunt nodes set %.60s speed=%.20s'", node, node,
				       pair + 6);
		else
			convert_remark(c, "%.60s of node %.60s has no equivalent", pair, node);
	}
}

void convert_maui(struct conversion *c, char *line)
{
	char *key = line + strspn(line, " \t"), *index = NULL, *value, *end;
	size_t n = strcspn(key, " \t=[");
	struct attrs *server = &c->site.attrs;

	value = key + n;
	if (*value == '[' && (end = strchr(value, ']'))) {
		*value = *end = '\0';
		index = value + 1;
		value = end + 1;
	} else if (*value) {
		*value++ = '\0';
	}
	value += strspn(value, " \t=");
	for (end = value + strlen(value); end > value && strchr(" \t\r", end[-1]);)
		*--end = '\0';

	if (credential_read(c, key, index, value) || weight_read(c, key, value) || word_read(c, key, value))
		return;
	if (strcasecmp(key, "ADMIN1") == 0)
		admins_read(c, "managers", value);
	else if (strcasecmp(key, "ADMIN2") == 0)
		admins_read(c, "operators", value);
	else if (strcasecmp(key, "RESERVATIONDEPTH") == 0)
		convert_set(c, server, "reservation_depth", value);
	else if (strcasecmp(key, "FSDEPTH") == 0)
		convert_set(c, server, "fairshare_depth", value);
	else if (strcasecmp(key, "FSINTERVAL") == 0)
		duration_days(c, value);
	else if (strcasecmp(key, "FSDECAY") == 0)
		decay_read(c, value);
	else if (strcasecmp(key, "JOBMAXOVERRUN") == 0)
		convert_set(c, server, "tolerance", value);
	else if (strcasecmp(key, "FSPOLICY") == 0) {
		convert_remark(c, "FSPOLICY %.40s: fairshare counts CPUs x time, whatever was used of them", value);
	} else if (strcasecmp(key, "NODECFG") == 0 && index) {
		node_read(c, index, value);
	} else {
		for (size_t i = 0; i < sizeof elsewhere / sizeof *elsewhere; i++)
			if (strcasecmp(key, elsewhere[i].key) == 0) {
				convert_remark(c, "%s: %s", key, elsewhere[i].remark);
				return;
			}
		convert_remark(c, "%.60s%s%.60s%s has no equivalent", key, index ? "[" : "", index ? index : "",
			       index ? "]" : "");
	}
}
