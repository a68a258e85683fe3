/*
 * pbsattr.c - a job as PBS's attributes. One table has their order, their names in both families, and where in the
 * API's job they are.
 */
#include "cmd/pbsattr.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "base/timetext.h"
#include "cmd/object.h"
#include "cmd/pbsattr_internal.h"

void pbsattrs_fini(struct pbsattrs *a)
{
	arena_destroy(a->arena);
	vec_free(&a->list);
	a->arena = NULL;
}

void pbsattrs_clear(struct pbsattrs *a)
{
	arena_destroy(a->arena);
	a->arena = NULL;
	vec_clear(&a->list);
}

void pbsattr_add(struct pbsattrs *a, const char *name, const char *resource, enum pbsattr_kind kind, const char *fmt,
		 ...)
{
	struct strbuf value = {0};
	va_list ap;

	if (!a->arena)
		a->arena = arena_create();
	va_start(ap, fmt);
	strbuf_vprintf(&value, fmt, ap);
	va_end(ap);
	vec_push(&a->list, (struct pbsattr){.name = name,
					    .resource = resource,
					    .kind = kind,
					    .value = arena_strndup(a->arena, strbuf_text(&value), value.n)});
	strbuf_fini(&value);
}

/* How a key's value becomes text. */
enum form {
	FORM_TEXT,
	FORM_NUMBER,
	FORM_COUNT, /* not said when it is 0 */
	FORM_INSTANT,
	FORM_DURATION,
	FORM_MEMORY,
	FORM_BOOL,
	FORM_NONE, /* "n" when it is empty */
	FORM_PATH, /* behind the host */
};

/* A row is an attribute, or a function that adds some. */
struct row {
	const char *name, *resource;
	const char *key; /* of the job; "used.cput": inside an object */
	enum form form;
	unsigned family;
	void (*add)(struct pbsattrs *a, const struct row *row, const json_t *job, enum pbs_family family);
};

static void owner_add(struct pbsattrs *a, const struct row *row, const json_t *job, enum pbs_family family)
{
	const char *host = object_text(job, "host");

	pbsattr_add(a, row->name, NULL, PBSATTR_TEXT, "%s%s%s", object_text(job, "owner"), host[0] ? "@" : "", host);
}

static void state_add(struct pbsattrs *a, const struct row *row, const json_t *job, enum pbs_family family)
{
	const char *state = object_text(job, "state");

	pbsattr_add(a, row->name, NULL, PBSATTR_TEXT, "%s", family == PBS_PRO && *state == 'C' ? "F" : state);
}

/* PBS Pro has numbers for finer states; clients show them at most. */
static void substate_add(struct pbsattrs *a, const struct row *row, const json_t *job, enum pbs_family family)
{
	static const char letters[] = "QHWRSECB";
	static const int numbers[] = {10, 20, 30, 42, 43, 51, 92, 42};
	const char *state = object_text(job, "state"), *at = *state ? strchr(letters, *state) : NULL;

	if (at)
		pbsattr_add(a, row->name, NULL, PBSATTR_NUMBER, "%d", numbers[at - letters]);
}

static void server_add(struct pbsattrs *a, const struct row *row, const json_t *job, enum pbs_family family)
{
	const char *dot = strchr(object_text(job, "id"), '.');

	if (dot)
		pbsattr_add(a, row->name, NULL, PBSATTR_TEXT, "%s", dot + 1);
}

/* What the request says in words of its own, "nodes=2:ppn=4"; amounts that have keys of their own are rows of the
 * table. */
static void request_add(struct pbsattrs *a, const struct row *row, const json_t *job, enum pbs_family family)
{
	static const char own[] = " walltime mem ncpus nodect ngpus ";
	char padded[40];

	for (const char *p = object_text(job, "resources"); *p;) {
		size_t n = strcspn(p, ","), name = strcspn(p, "=,");
		snprintf(padded, sizeof padded, " %.*s ", (int)name, p);
		if (name < n && !strstr(own, padded)) {
			if (!a->arena)
				a->arena = arena_create();
			pbsattr_add(a, row->name, arena_strndup(a->arena, p, name), PBSATTR_TEXT, "%.*s",
				    (int)(n - name - 1), p + name + 1);
		}
		p += n;
		p += *p == ',';
	}
}

static void remaining_add(struct pbsattrs *a, const struct row *row, const json_t *job, enum pbs_family family)
{
	int64_t limit = object_number(job, "walltime", -1), used = object_number(job, "used.walltime", 0);

	if (*object_text(job, "state") == 'R' && limit >= 0)
		pbsattr_add(a, row->name, row->resource, PBSATTR_NUMBER, "%" PRId64, limit - used);
}

static void variables_add(struct pbsattrs *a, const struct row *row, const json_t *job, enum pbs_family family)
{
	const json_t *list = json_object_get(job, "environment"), *item;
	struct strbuf joined = {0};
	size_t i;

	if (json_array_size(list) == 0)
		return;
	json_array_foreach(list, i, item)
	{
		if (!json_is_string(item))
			continue;
		if (joined.n)
			strbuf_puts(&joined, ",");
		for (const char *p = json_string_value(item); *p; p++) {
			if (*p == ',' || *p == '\\')
				strbuf_puts(&joined, "\\");
			strbuf_add(&joined, p, 1);
		}
	}
	pbsattr_add(a, row->name, NULL, PBSATTR_VARIABLES, "%s", strbuf_text(&joined));
	a->list.v[a->list.n - 1].variables = list;
	strbuf_fini(&joined);
}

static void array_counts_add(struct pbsattrs *a, const struct row *row, const json_t *job, enum pbs_family family)
{
	const json_t *counts = json_object_get(job, "array_counts");
	int64_t total;

	if (json_is_object(counts))
		pbsattr_add(a, row->name, NULL, PBSATTR_TEXT, "%s", pbsattr_counts(a, counts, &total));
}

static void is_array_add(struct pbsattrs *a, const struct row *row, const json_t *job, enum pbs_family family)
{
	if (*object_text(job, "array_spec"))
		pbsattr_add(a, row->name, NULL, PBSATTR_TEXT, "True");
}

static void guaranteed_add(struct pbsattrs *a, const struct row *row, const json_t *job, enum pbs_family family)
{
	if (object_number(job, "deadline", 0) > 0)
		pbsattr_add(a, row->name, NULL, PBSATTR_TEXT, "%s",
			    json_is_true(object_value(job, "guaranteed")) ? "True" : "False");
}

static void price_add(struct pbsattrs *a, const struct row *row, const json_t *job, enum pbs_family family)
{
	char buf[40];

	if (*object_text(job, "price_unit"))
		pbsattr_add(a, row->name, NULL, PBSATTR_TEXT, "%s %s",
			    duration_format(object_number(job, "price", 0), buf, sizeof buf),
			    object_text(job, "price_unit"));
}

static void share_add(struct pbsattrs *a, const struct row *row, const json_t *job, enum pbs_family family)
{
	if (object_number(job, "share", 0) > 0)
		pbsattr_add(a, row->name, NULL, PBSATTR_TEXT, "%.3f", (double)object_number(job, "share", 0) / 1000);
}

static void interactive_add(struct pbsattrs *a, const struct row *row, const json_t *job, enum pbs_family family)
{
	if (json_is_true(object_value(job, "interactive")) || *object_text(job, "interactive"))
		pbsattr_add(a, row->name, NULL, PBSATTR_TEXT, "True");
}

static const struct row rows[] = {
	{"Job_Name", NULL, "name", FORM_TEXT, PBS_BOTH, NULL},
	{"Job_Owner", NULL, NULL, FORM_TEXT, PBS_BOTH, owner_add},
	{"resources_used", "cput", "used.cput", FORM_DURATION, PBS_BOTH, NULL},
	{"resources_used", "mem", "used.memory", FORM_MEMORY, PBS_BOTH, NULL},
	{"resources_used", "ncpus", "used.cpus", FORM_NUMBER, PBS_PRO, NULL},
	{"resources_used", "walltime", "used.walltime", FORM_DURATION, PBS_BOTH, NULL},
	{"job_state", NULL, NULL, FORM_TEXT, PBS_BOTH, state_add},
	{"queue", NULL, "queue", FORM_TEXT, PBS_BOTH, NULL},
	{"partition", NULL, "partition", FORM_TEXT, PBS_BOTH, NULL},
	{"server", NULL, NULL, FORM_TEXT, PBS_BOTH, server_add},
	{"Account_Name", NULL, "account", FORM_TEXT, PBS_BOTH, NULL},
	{"qos", NULL, "qos", FORM_TEXT, PBS_BOTH, NULL},
	{"advres", NULL, "reservation", FORM_TEXT, PBS_BOTH, NULL},
	{"Checkpoint", NULL, "checkpoint", FORM_TEXT, PBS_BOTH, NULL},
	{"class", NULL, "class", FORM_TEXT, PBS_BOTH, NULL},
	{"restart_of", NULL, "restart", FORM_TEXT, PBS_BOTH, NULL},
	{"last_checkpoint", NULL, "checkpoints.saved", FORM_INSTANT, PBS_BOTH, NULL},
	{"lost_work", NULL, "checkpoints.lost", FORM_DURATION, PBS_BOTH, NULL},
	{"moves", NULL, "checkpoints.moves", FORM_COUNT, PBS_BOTH, NULL},
	{"ctime", NULL, "created", FORM_INSTANT, PBS_BOTH, NULL},
	{"depend", NULL, "depend", FORM_TEXT, PBS_BOTH, NULL},
	{"Error_Path", NULL, "error", FORM_PATH, PBS_BOTH, NULL},
	{"exec_host", NULL, "exec_host", FORM_TEXT, PBS_BOTH, NULL},
	{"exec_vnode", NULL, "exec_vnode", FORM_TEXT, PBS_PRO, NULL},
	{"switches", NULL, "switches", FORM_COUNT, PBS_BOTH, NULL},
	{"Execution_Time", NULL, "at", FORM_INSTANT, PBS_BOTH, NULL},
	{"Hold_Types", NULL, "holds", FORM_NONE, PBS_BOTH, NULL},
	{"interactive", NULL, NULL, FORM_TEXT, PBS_BOTH, interactive_add},
	{"Join_Path", NULL, "join", FORM_NONE, PBS_BOTH, NULL},
	{"Keep_Files", NULL, "keep", FORM_NONE, PBS_BOTH, NULL},
	{"Mail_Points", NULL, "mail", FORM_NONE, PBS_BOTH, NULL},
	{"Mail_Users", NULL, "mail_to", FORM_TEXT, PBS_BOTH, NULL},
	{"mtime", NULL, "modified", FORM_INSTANT, PBS_BOTH, NULL},
	{"Output_Path", NULL, "output", FORM_PATH, PBS_BOTH, NULL},
	{"Priority", NULL, "priority", FORM_NUMBER, PBS_BOTH, NULL},
	{"qtime", NULL, "created", FORM_INSTANT, PBS_BOTH, NULL},
	{"Rerunable", NULL, "rerunnable", FORM_BOOL, PBS_BOTH, NULL},
	{"Resource_List", "budget", "budget", FORM_DURATION, PBS_BOTH, NULL},
	{"Resource_List", "estimate", "estimate", FORM_DURATION, PBS_BOTH, NULL},
	{"Resource_List", "mem", "memory", FORM_MEMORY, PBS_BOTH, NULL},
	{"Resource_List", "ncpus", "cpus", FORM_NUMBER, PBS_BOTH, NULL},
	{"Resource_List", "ngpus", "gpus", FORM_COUNT, PBS_BOTH, NULL},
	{"Resource_List", "nodect", "nodect", FORM_NUMBER, PBS_BOTH, NULL},
	{"Resource_List", NULL, NULL, FORM_TEXT, PBS_BOTH, request_add},
	{"Resource_List", "walltime", "walltime", FORM_DURATION, PBS_BOTH, NULL},
	{"start_time", NULL, "started", FORM_INSTANT, PBS_TORQUE, NULL},
	{"stime", NULL, "started", FORM_INSTANT, PBS_PRO, NULL},
	{"session_id", NULL, "session", FORM_NUMBER, PBS_BOTH, NULL},
	{"Shell_Path_List", NULL, "shell", FORM_TEXT, PBS_BOTH, NULL},
	{"stagein", NULL, "stagein", FORM_TEXT, PBS_BOTH, NULL},
	{"stageout", NULL, "stageout", FORM_TEXT, PBS_BOTH, NULL},
	{"substate", NULL, NULL, FORM_NUMBER, PBS_PRO, substate_add},
	{"umask", NULL, "umask", FORM_TEXT, PBS_BOTH, NULL},
	{"Variable_List", NULL, NULL, FORM_TEXT, PBS_BOTH, variables_add},
	{"comment", NULL, "comment", FORM_TEXT, PBS_BOTH, NULL},
	{"etime", NULL, "queued", FORM_INSTANT, PBS_BOTH, NULL},
	{"run_count", NULL, "attempt", FORM_NUMBER, PBS_PRO, NULL},
	{"exit_status", NULL, "exit_status", FORM_NUMBER, PBS_TORQUE, NULL},
	{"Exit_status", NULL, "exit_status", FORM_NUMBER, PBS_PRO, NULL},
	{"submit_args", NULL, "submit_args", FORM_TEXT, PBS_TORQUE, NULL},
	{"Submit_arguments", NULL, "submit_args", FORM_TEXT, PBS_PRO, NULL},
	{"Walltime", "Remaining", NULL, FORM_NUMBER, PBS_TORQUE, remaining_add},
	{"comp_time", NULL, "ended", FORM_INSTANT, PBS_TORQUE, NULL},
	{"array", NULL, NULL, FORM_TEXT, PBS_PRO, is_array_add},
	{"array_id", NULL, "array", FORM_TEXT, PBS_BOTH, NULL},
	{"array_index", NULL, "index", FORM_NUMBER, PBS_BOTH, NULL},
	{"array_indices_submitted", NULL, "array_spec", FORM_TEXT, PBS_BOTH, NULL},
	{"max_run_subjobs", NULL, "max_run_subjobs", FORM_NUMBER, PBS_BOTH, NULL},
	{"array_state_count", NULL, NULL, FORM_TEXT, PBS_BOTH, array_counts_add},
	{"project", NULL, "project", FORM_TEXT, PBS_BOTH, NULL},
	{"estimated", "start_time", "expected_start", FORM_INSTANT, PBS_BOTH, NULL},
	{"estimated", "end_time", "expected_end", FORM_INSTANT, PBS_BOTH, NULL},
	{"estimated", "forecast_time", "expected_made", FORM_INSTANT, PBS_BOTH, NULL},
	{"estimated", "none", "no_estimate", FORM_TEXT, PBS_BOTH, NULL},
	{"type", NULL, "type", FORM_TEXT, PBS_BOTH, NULL},
	{"deadline", NULL, "deadline", FORM_INSTANT, PBS_BOTH, NULL},
	{"price", NULL, NULL, FORM_TEXT, PBS_BOTH, price_add},
	{"share", NULL, NULL, FORM_TEXT, PBS_BOTH, share_add},
	{"nice_until", NULL, "nice_until", FORM_INSTANT, PBS_BOTH, NULL},
	{"guaranteed", NULL, NULL, FORM_TEXT, PBS_BOTH, guaranteed_add},
};

static void value_add(struct pbsattrs *a, const struct row *row, const json_t *job, const json_t *value)
{
	const char *text = json_is_string(value) ? json_string_value(value) : "", *host = object_text(job, "host");
	int64_t number = json_is_number(value) ? (int64_t)json_number_value(value) : 0;
	char buf[40];

	switch (row->form) {
	case FORM_TEXT:
		if (*text)
			pbsattr_add(a, row->name, row->resource, PBSATTR_TEXT, "%s", text);
		break;
	case FORM_COUNT:
		if (number == 0)
			break;
		__attribute__((fallthrough));
	case FORM_NUMBER:
		pbsattr_add(a, row->name, row->resource, PBSATTR_NUMBER, "%" PRId64, number);
		break;
	case FORM_INSTANT:
		pbsattr_add(a, row->name, row->resource, PBSATTR_INSTANT, "%" PRId64, number);
		break;
	case FORM_DURATION:
		pbsattr_add(a, row->name, row->resource, PBSATTR_TEXT, "%s", duration_format(number, buf, sizeof buf));
		break;
	case FORM_MEMORY:
		if (number > 0)
			pbsattr_add(a, row->name, row->resource, PBSATTR_TEXT, "%" PRId64 "kb", number);
		break;
	case FORM_BOOL:
		pbsattr_add(a, row->name, row->resource, PBSATTR_TEXT, "%s", json_is_true(value) ? "True" : "False");
		break;
	case FORM_NONE:
		pbsattr_add(a, row->name, row->resource, PBSATTR_TEXT, "%s", *text ? text : "n");
		break;
	case FORM_PATH:
		if (*text)
			pbsattr_add(a, row->name, row->resource, PBSATTR_TEXT, "%s%s%s", host, *host ? ":" : "", text);
		break;
	}
}

void pbsattr_job(struct pbsattrs *a, const json_t *job, enum pbs_family family)
{
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const struct row *row = &rows[i];
		if (!(row->family & family))
			continue;
		if (row->add) {
			row->add(a, row, job, family);
			continue;
		}
		const json_t *value = object_value(job, row->key);
		if ((value && !json_is_null(value)) || row->form == FORM_NONE)
			value_add(a, row, job, value);
	}
}
