/*
 * convert_slurm.c - slurm.conf: lines of KEY=VALUE. A line that begins with NodeName= or
 * PartitionName= describes nodes or a partition; the values of PartitionName=DEFAULT apply to the
 * partitions after it.
 *
 * Slurm's priority factors are numbers from 0 to 1, ours have units. All weights are multiplied by
 * the minutes of PriorityMaxAge, so that a minute of queue time weighs what the file says for all
 * of it; then they are scaled down together until each is in range.
 */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/hostlist.h"
#include "base/timetext.h"
#include "convert/convert_internal.h"

#define WEIGHT_MAX 1e9 /* limit of priority_weight */

/* Parses "90" (minutes), "90:00", "1:30:00", "2-12", "2-12:30" or "2-12:30:00" into seconds; -1:
 * unlimited. */
static bool minutes_parse(const char *text, int64_t *ret)
{
	long long days = 0, a = 0, b = 0, c = 0;
	int n, used = 0, got;

	if (strcasecmp(text, "UNLIMITED") == 0 || strcasecmp(text, "INFINITE") == 0 || strcmp(text, "-1") == 0) {
		*ret = -1;
		return true;
	}
	if (!isdigit((unsigned char)*text) || strlen(text) > 30)
		return false;
	if (sscanf(text, "%9lld-%n", &days, &used) == 1 && used) {
		got = sscanf(text + used, "%9lld%n:%9lld%n:%9lld%n", &a, &n, &b, &n, &c, &n);
		*ret = days * 86400 + a * 3600 + b * 60 + c;
		return got >= 1 && !text[used + n];
	}
	got = sscanf(text, "%9lld%n:%9lld%n:%9lld%n", &a, &n, &b, &n, &c, &n);
	*ret = got == 3 ? a * 3600 + b * 60 + c : a * 60 + b;
	return got >= 1 && !text[n];
}

static bool duration_set(struct conversion *c, struct attrs *a, const char *key, const char *value,
			 const char *attribute)
{
	char text[32];
	int64_t seconds;

	if (!minutes_parse(value, &seconds)) {
		convert_remark(c, "%.60s=%.60s is not a time such as 90 (minutes), 1:30:00 or 2-12", key, value);
		return false;
	}
	return seconds < 0 || convert_set(c, a, attribute, duration_format(seconds, text, sizeof text));
}

static bool is_yes(const char *value)
{
	return strcasecmp(value, "YES") == 0 || strcmp(value, "1") == 0;
}

/* ---- partitions ---- */

static void nodes_set(struct conversion *c, struct attrs *a, const char *nodes)
{
	if (strcasecmp(nodes, "ALL") != 0)
		convert_set(c, a, "nodes", nodes);
}

static void state_set(struct conversion *c, struct attrs *a, const char *value)
{
	bool takes = strcasecmp(value, "UP") == 0 || strcasecmp(value, "DOWN") == 0;
	bool runs = strcasecmp(value, "UP") == 0 || strcasecmp(value, "DRAIN") == 0;

	convert_set(c, a, "enabled", takes ? "True" : "False");
	convert_set(c, a, "started", runs ? "True" : "False");
}

static void acl_set(struct conversion *c, struct attrs *a, const char *list, const char *enable, const char *value)
{
	if (strcasecmp(value, "ALL") == 0)
		return;
	if (convert_set(c, a, list, value))
		convert_set(c, a, enable, "True");
}

/* Sets a factor from 0 to 65533, clamped to our range of -1024 to 1023. */
static void factor_set(struct conversion *c, struct attrs *a, const char *key, const char *value)
{
	int64_t n;

	if (!convert_integer(c, key, value, 0, &n))
		return;
	if (n > 1023)
		convert_remark(c, "%s=%s: the highest priority of a queue is 1023", key, value);
	convert_number(c, a, "priority", n > 1023 ? 1023 : n);
}

static void memory_set(struct conversion *c, struct attrs *a, const char *key, const char *value, const char *attribute)
{
	char text[64];
	int64_t mb;

	if (strcasecmp(value, "UNLIMITED") == 0 || !convert_integer(c, key, value, 0, &mb))
		return;
	snprintf(text, sizeof text, "%lldmb", (long long)mb);
	convert_set(c, a, attribute, text);
}

static void partition_pair(struct conversion *c, struct attrs *a, const char *name, const char *key, const char *value)
{
	if (strcasecmp(key, "Nodes") == 0)
		nodes_set(c, a, value);
	else if (strcasecmp(key, "Default") == 0) {
		if (is_yes(value))
			convert_set(c, &c->site.attrs, "default_queue", name);
	} else if (strcasecmp(key, "MaxTime") == 0)
		duration_set(c, a, key, value, "resources_max.walltime");
	else if (strcasecmp(key, "DefaultTime") == 0)
		duration_set(c, a, key, value, "resources_default.walltime");
	else if (strcasecmp(key, "State") == 0)
		state_set(c, a, value);
	else if (strcasecmp(key, "MaxNodes") == 0) {
		if (strcasecmp(value, "UNLIMITED") != 0)
			convert_set(c, a, "resources_max.nodect", value);
	} else if (strcasecmp(key, "MinNodes") == 0)
		convert_set(c, a, "resources_min.nodect", value);
	else if (strcasecmp(key, "AllowGroups") == 0)
		acl_set(c, a, "acl_groups", "acl_group_enable", value);
	else if (strcasecmp(key, "PriorityJobFactor") == 0 || strcasecmp(key, "PriorityTier") == 0)
		factor_set(c, a, key, value);
	else if (strcasecmp(key, "DefMemPerNode") == 0)
		memory_set(c, a, key, value, "resources_default.mem");
	else if (strcasecmp(key, "DefMemPerCPU") == 0)
		memory_set(c, a, key, value, "resources_default.pmem");
	else if (strcasecmp(key, "MaxMemPerNode") == 0)
		memory_set(c, a, key, value, "resources_max.mem");
	else if (strcasecmp(key, "GraceTime") == 0)
		convert_set(c, a, "kill_delay", value);
	else if (strcasecmp(key, "QOS") == 0) {
		if (convert_object(c, OBJECT_QOS, value))
			convert_set(c, a, "default_qos", value);
	} else if (strcasecmp(key, "OverSubscribe") == 0 || strcasecmp(key, "Shared") == 0) {
		if (strcasecmp(value, "NO") != 0)
			convert_remark(
				c, "%s=%s of %.60s: CPUs are never shared; jobs that want whole nodes say place=excl",
				key, value, name);
	} else if (strncasecmp(key, "Allow", 5) != 0 || strcasecmp(value, "ALL") != 0)
		convert_remark(c, "%.60s=%.80s of partition %.60s has no equivalent", key, value, name);
}

/* ---- nodes ---- */

static void node_read(struct conversion *c, const char *names, char *rest)
{
	int64_t cpus = 0, sockets = 0, cores = 0, threads = 1, n;
	const char *features = NULL;
	name_list list = {0};
	struct err err;

	for (char *word; (word = convert_word(&rest));) {
		char *value = strchr(word, '=');
		if (!value)
			continue;
		*value++ = '\0';
		if (strcasecmp(word, "Feature") == 0 || strcasecmp(word, "Features") == 0)
			features = value;
		else if (strcasecmp(word, "Weight") == 0)
			convert_remark(c, "Weight=%.40s of %.100s has no equivalent: see node_pack and the policies",
				       value, names);
		else if ((strcasecmp(word, "CPUs") == 0 || strcasecmp(word, "Procs") == 0) &&
			 convert_integer(c, word, value, 1, &n))
			cpus = n;
		else if (strcasecmp(word, "Sockets") == 0 && convert_integer(c, word, value, 1, &n))
			sockets = n;
		else if (strcasecmp(word, "CoresPerSocket") == 0 && convert_integer(c, word, value, 1, &n))
			cores = n;
		else if (strcasecmp(word, "ThreadsPerCore") == 0 && convert_integer(c, word, value, 1, &n))
			threads = n;
	}
	if (strcasecmp(names, "DEFAULT") == 0)
		return;
	if (cpus == 0)
		cpus = sockets && cores && sockets < 1000 && cores < 10000 && threads < 1000 ? sockets * cores * threads
											     : 1;
	if (hostlist_parse(names, &list, &err) < 0)
		convert_remark(c, "NodeName=%.100s: %s", names, err.text);
	else if (cpus < 1000000)
		c->slurm.cpus += cpus * (int64_t)list.n;
	convert_remark(
		c,
		"nodes %.200s: 'shunt token create' here and 'shunt join' there; CPUs, memory and GPUs are found by the agent",
		names);
	if (features)
		convert_remark(c, "features of %.200s: 'shunt nodes set %.200s features=%.200s'", names, names,
			       features);
	name_list_free(&list);
}

/* ---- the rest ---- */

static void weight_keep(struct conversion *c, const char *key, const char *value, int64_t *to)
{
	if (!convert_integer(c, key, value, 0, to))
		return;
	c->slurm.line = c->line;
	free(c->slurm.file);
	c->slurm.file = mem_strdup(c->file);
}

/* Sets the percentage of usage that is left after a day. */
static void half_life(struct conversion *c, const char *value)
{
	int64_t seconds;

	if (!minutes_parse(value, &seconds) || seconds < 0)
		convert_remark(c, "PriorityDecayHalfLife=%.60s is not a time", value);
	else
		convert_number(c, &c->site.attrs, "fairshare_decay",
			       seconds ? (int64_t)rint(100 * pow(0.5, 86400.0 / (double)seconds)) : 100);
}

static void preempt_remark(struct conversion *c, const char *key, const char *value)
{
	if (strcasecmp(value, "preempt/none") != 0 && strcasecmp(value, "OFF") != 0)
		convert_remark(c, "%.40s=%.60s: see may_preempt of a QoS, and emergency jobs (qsub -t E)", key, value);
}

static const struct {
	const char *key, *attribute, *remark;
} settings[] = {
	{"KillWait", "kill_delay", NULL},
	{"SlurmdTimeout", "node_down_after", NULL},
	{"MinJobAge", "show_completed", NULL},
	{"MaxArraySize", "max_array_size", NULL},
	{"OverTimeLimit", NULL, "set server tolerance, in seconds"},
	{"MaxJobCount", "max_queued", NULL},
	{"ClusterName", NULL, "the name is set in shunt.conf"},
	{"SlurmctldHost", NULL, "the machine where 'shunt up' runs; a second server stands by on one PostgreSQL"},
	{"ControlMachine", NULL, "the machine where 'shunt up' runs; a second server stands by on one PostgreSQL"},
	{"BackupController", NULL, "a second server stands by on one PostgreSQL"},
	{"SlurmUser", NULL, "the server's account is made by 'make install'"},
	{"JobSubmitPlugins", NULL, "hooks in Lua decide at submission: see 'shunt hooks' and docs/hooks.md"},
	{"Prolog", NULL, "prologue in shunt.conf"},
	{"Epilog", NULL, "epilogue in shunt.conf"},
	{"TaskProlog", NULL, "prologue in shunt.conf"},
	{"TaskEpilog", NULL, "epilogue in shunt.conf"},
	{"HealthCheckProgram", NULL, "health in shunt.conf"},
	{"MailProg", NULL, "mail_from and mail_domain; the mail program is set in shunt.conf"},
	{"TopologyPlugin", NULL, "topology in shunt.conf names a file in the same format"},
	{"AccountingStorageType", NULL, "the history is in the server: shunt history import reads what sacct prints"},
	{"JobCompType", NULL, "the history is in the server: shunt history import reads what sacct prints"},
	{"AuthType", NULL, "TLS certificates and tokens, or munge"},
	{"SelectType", NULL, "CPUs, memory and GPUs are always scheduled, by the CPU"},
	{"SelectTypeParameters", NULL, "CPUs, memory and GPUs are always scheduled, by the CPU"},
	{"SchedulerParameters", NULL, "see reservation_depth, backfill and the policies"},
	{"ProctrackType", NULL, "cgroups are used where there are any"},
	{"TaskPlugin", NULL, "jobs are bound to their CPUs"},
	{"ReturnToService", NULL, "nodes come back by themselves when they are healthy"},
	{"Include", NULL, "name that file as well: shunt import-config FILE FILE"},
};

/* Keys for the files, ports and logs of Slurm's own programs. */
static const char *const own[] = {"Slurmctld",	    "Slurmd",	     "StateSaveLocation", "MpiDefault",
				  "SwitchType",	    "JobAcctGather", "AccountingStorage", "Inactive",
				  "Waittime",	    "Debug",	     "ResumeTimeout",	  "TCPTimeout",
				  "MessageTimeout", "CryptoType",    "PluginDir",	  "GresTypes",
				  "PrologFlags",    "UsePAM",	     "SrunPortRange",	  "LaunchParameters"};

/* Reads licenses: "matlab:20,ansys*5,one", with a number or one each. */
static void licences_set(struct conversion *c, const char *value)
{
	char *copy = mem_strdup(value), *rest = copy, *word;

	while ((word = strsep(&rest, ","))) {
		char *count = word + strcspn(word, ":*"), name[128];
		if (*count)
			*count++ = '\0';
		if (!*word)
			continue;
		snprintf(name, sizeof name, "resources_available.%.80s", word);
		convert_set(c, &c->site.attrs, name, *count ? count : "1");
	}
	free(copy);
}

static void setting_read(struct conversion *c, const char *key, const char *value)
{
	struct attrs *server = &c->site.attrs;
	int64_t seconds;

	if (strcasecmp(key, "Licenses") == 0) {
		licences_set(c, value);
		return;
	}
	if (strcasecmp(key, "SchedulerType") == 0) {
		convert_set(c, server, "backfill", strcasecmp(value, "sched/backfill") == 0 ? "first_fit" : "none");
	} else if (strcasecmp(key, "PriorityType") == 0) {
		if (strcasecmp(value, "priority/multifactor") == 0)
			convert_set(c, server, "priority_order", "sum");
	} else if (strcasecmp(key, "PriorityWeightAge") == 0)
		weight_keep(c, key, value, &c->slurm.age);
	else if (strcasecmp(key, "PriorityWeightFairshare") == 0)
		weight_keep(c, key, value, &c->slurm.fairshare);
	else if (strcasecmp(key, "PriorityWeightJobSize") == 0)
		weight_keep(c, key, value, &c->slurm.size);
	else if (strcasecmp(key, "PriorityWeightPartition") == 0)
		weight_keep(c, key, value, &c->slurm.partition);
	else if (strcasecmp(key, "PriorityWeightQOS") == 0)
		weight_keep(c, key, value, &c->slurm.qos);
	else if (strcasecmp(key, "PriorityMaxAge") == 0) {
		if (minutes_parse(value, &seconds) && seconds >= 60)
			c->slurm.max_age = seconds / 60;
		else
			convert_remark(c, "PriorityMaxAge=%.60s is not a time", value);
	} else if (strcasecmp(key, "PriorityDecayHalfLife") == 0)
		half_life(c, value);
	else if (strcasecmp(key, "JobRequeue") == 0)
		convert_set(c, server, "rerun_lost", is_yes(value) ? "True" : "False");
	else if (strncasecmp(key, "Preempt", 7) == 0)
		preempt_remark(c, key, value);
	else {
		for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
			if (strcasecmp(key, settings[i].key) != 0)
				continue;
			if (settings[i].attribute)
				convert_set(c, server, settings[i].attribute, value);
			else
				convert_remark(c, "%s: %s", key, settings[i].remark);
			return;
		}
		for (size_t i = 0; i < sizeof own / sizeof *own; i++)
			if (strncasecmp(key, own[i], strlen(own[i])) == 0) {
				convert_remark(c, "%.60s: not needed; it is about Slurm's own programs", key);
				return;
			}
		convert_remark(c, "%.60s=%.80s has no equivalent", key, value);
	}
}

static void partition_read(struct conversion *c, const char *name, char *rest)
{
	struct attrs *a = NULL;
	char *defaults = mem_strdup(c->slurm.defaults ? c->slurm.defaults : ""), *at = defaults;

	if (strcasecmp(name, "DEFAULT") == 0) {
		struct strbuf all = {0};
		strbuf_printf(&all, "%s %s", defaults, rest);
		free(c->slurm.defaults);
		c->slurm.defaults = all.text;
		free(defaults);
		return;
	}
	if ((a = convert_queue(c, name))) {
		convert_set(c, a, "enabled", "True");
		convert_set(c, a, "started", "True");
	}
	for (int k = 0; a && k < 2; k++, at = rest)
		for (char *word; (word = convert_word(&at));) {
			char *value = strchr(word, '=');
			if (!value) {
				convert_remark(c, "%.80s is not KEY=VALUE", word);
				continue;
			}
			*value++ = '\0';
			partition_pair(c, a, name, word, value);
		}
	free(defaults);
}

void convert_slurm(struct conversion *c, char *line)
{
	char *rest = line, *word = convert_word(&rest), *value = word ? strchr(word, '=') : NULL;

	if (!value) {
		convert_remark(c, "%.80s is not KEY=VALUE", word ? word : "");
		return;
	}
	*value++ = '\0';
	if (strcasecmp(word, "NodeName") == 0)
		node_read(c, value, rest);
	else if (strcasecmp(word, "PartitionName") == 0)
		partition_read(c, value, rest);
	else
		do {
			setting_read(c, word, value);
			word = convert_word(&rest);
			value = word ? strchr(word, '=') : NULL;
			if (word && !value)
				convert_remark(c, "%.80s is not KEY=VALUE", word);
			if (value)
				*value++ = '\0';
		} while (value);
}

static int64_t max(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static int64_t priority_max(struct conversion *c, bool queues)
{
	int64_t most = 1;

	for (size_t i = 0; queues && i < c->site.queues.n; i++)
		most = max(most, attrs_number(&c->site.queues.v[i].attrs, SET_PRIORITY));
	for (size_t i = 0; !queues && i < c->site.objects.of[OBJECT_QOS].n; i++)
		most = max(most, attrs_number(&c->site.objects.of[OBJECT_QOS].v[i]->attrs, SET_PRIORITY));
	return most;
}

void convert_slurm_end(struct conversion *c)
{
	struct slurm_weights *w = &c->slurm;
	double age = w->max_age ? (double)w->max_age : 7 * 1440, scale = 1;
	const struct {
		const char *name;
		double weight;
	} all[] = {
		{"priority_weight.queue_time", (double)w->age},
		{"priority_weight.fairshare", (double)w->fairshare * age / 100},
		{"priority_weight.cpus", (double)w->size * age / (double)(w->cpus > 0 ? w->cpus : 1)},
		{"priority_weight.queue", (double)w->partition * age / (double)priority_max(c, true)},
		{"priority_weight.qos", (double)w->qos * age / (double)priority_max(c, false)},
	};

	if (!w->file)
		return;
	c->file = w->file;
	c->line = w->line;
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		scale = fmin(scale, WEIGHT_MAX / fmax(all[i].weight, 1));
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		if (all[i].weight > 0 || i == 0)
			convert_number(c, &c->site.attrs, all[i].name, (int64_t)rint(all[i].weight * scale));
	if (w->size && !w->cpus)
		convert_remark(
			c,
			"PriorityWeightJobSize: without NodeName lines the size of the largest possible job is unknown");
	convert_remark(
		c,
		"PriorityWeight...: factors have units here (minutes, CPUs, percent), so the weights differ; check with 'shunt priority'");
}

void convert_slurm_fini(struct conversion *c)
{
	free(c->slurm.file);
	free(c->slurm.defaults);
}
