/*
 * convert_qmgr.c - reads `qmgr -c 'print server'` of TORQUE, PBS Pro and OpenPBS: keeps known
 * settings and remarks on the rest.
 */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/arena.h"
#include "client/qmgr.h"
#include "convert/convert_internal.h"
#include "rules/amounts.h"

static const struct {
	const char *name, *remark;
} known[] = {
	{"scheduler_iteration", "not needed: jobs are planned at every event"},
	{"node_check_rate", "not needed: nodes report by themselves; see node_down_after"},
	{"tcp_timeout", "not needed"},
	{"job_stat_rate", "not needed: usage comes from the nodes all the time"},
	{"poll_jobs", "not needed: usage comes from the nodes all the time"},
	{"mom_job_sync", "always on"},
	{"next_job_number", "numbers begin at 1 here"},
	{"log_events", "in PBS a mask of the log; here kinds of events (log_events), which are not the same"},
	{"submit_hosts", "'shunt login' on the users' machines"},
	{"allow_node_submit", "always on"},
	{"moab_array_compatible", "not needed"},
	{"default_node", "not needed"},
	{"pbs_version", "the version of the old server"},
	{"pbs_license_info", "not needed: Shunt has no licence count"},
	{"license_count", "not needed: Shunt has no licence count"},
	{"flatuid", "names and numbers of users are the same on all machines"},
	{"authorized_users", "'shunt login' on the users' machines"},
	{"default_chunk", "use resources_default"},
	{"resources_available", "see max_running and max_cpus for what the jobs of a queue may use together"},
	{"resources_assigned", "a state, not a setting"},
	{"state_count", "a state, not a setting"},
	{"total_jobs", "a state, not a setting"},
	{"mtime", "a state, not a setting"},
};

/* Returns true for a mask of PBS's log; our attribute of this name has words. */
static bool is_mask(const struct qmgr_change *x)
{
	return strcmp(x->name, "log_events") == 0 && x->value && isdigit((unsigned char)*x->value);
}

static void change_read(struct conversion *c, struct attrs *a, const struct qmgr_change *x)
{
	static const enum attr_op op[] = {
		[QMGR_NAMED] = ATTR_UNSET, [QMGR_IS] = ATTR_SET, [QMGR_PLUS] = ATTR_ADD, [QMGR_MINUS] = ATTR_REMOVE};
	size_t n = strcspn(x->name, ".");
	struct err err;

	if (a->owner == ATTR_QUEUE && strcasecmp(x->name, "resources_default.neednodes") == 0) {
		convert_change(c, a, op[x->op], "nodes", x->value); /* TORQUE only */
		return;
	}
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (strlen(known[i].name) == n && strncmp(known[i].name, x->name, n) == 0 &&
		    (!attr_find(a->owner, known[i].name) || is_mask(x))) {
			convert_remark(c, "%.80s: %s", x->name, known[i].remark);
			return;
		}
	convert_change(c, a, op[x->op], x->name, x->value);
	if (a->owner == ATTR_SERVER && strncasecmp(x->name, "resources_available.", 20) == 0 &&
	    amounts_check(a, &err) < 0) {
		attrs_change(a, ATTR_UNSET, x->name, NULL, NULL);
		convert_remark(c, "%.80s: nodes report theirs", x->name);
	}
}

static void command_read(struct conversion *c, const struct qmgr_command *m)
{
	if (m->object == QMGR_NODE) {
		convert_remark(
			c,
			"%.100s: nodes join by themselves: 'shunt token create' here, 'shunt join' there; features by 'shunt nodes set'",
			m->text);
		return;
	}
	if ((m->verb != QMGR_CREATE && m->verb != QMGR_SET && m->verb != QMGR_UNSET) ||
	    (m->object != QMGR_SERVER && m->nnames == 0)) {
		convert_remark(c, "%.100s: only create, set and unset are read", m->text);
		return;
	}
	for (int k = 0; k < (m->object == QMGR_SERVER ? 1 : m->nnames); k++) {
		struct attrs *a = m->object == QMGR_SERVER ? &c->site.attrs
				  : m->object == QMGR_QUEUE
					  ? convert_queue(c, m->name[k])
					  : convert_object(c, (enum object_kind)(m->object - QMGR_KIND), m->name[k]);
		for (int i = 0; a && i < m->nchanges; i++)
			change_read(c, a, &m->change[i]);
	}
}

void convert_qmgr(struct conversion *c, const char *text)
{
	size_t n = strlen(text), at = 0, counted = 0;
	struct qmgr_command m;
	struct err err;
	int rc;

	do {
		struct arena *arena = arena_create();
		/* Find the line on which the next command begins. */
		size_t begin = at;
		while (begin < n && strchr(" \t\r\n;", text[begin]))
			begin++;
		for (; counted < begin; counted++)
			c->line += text[counted] == '\n';
		rc = qmgr_parse(text, n, &at, arena, &m, &err);
		if (rc > 0)
			command_read(c, &m);
		else if (rc < 0)
			convert_remark(c, "%s", err.text);
		arena_destroy(arena);
	} while (rc != 0);
}
