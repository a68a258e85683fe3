/*
 * pbsattr.c - converts a job to PBS's attributes. One table has their order, their names in both
 * families, the member of the API's job that each shows, and which of them qsub -W and qalter -W
 * set.
 */
#include "cmd/pbs/pbsattr.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>
#include <strings.h>

#include "base/timetext.h"
#include "cmd/lib/object.h"
#include "cmd/pbs/pbsattr_internal.h"

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

static void owner_add(struct pbsattrs *a, const struct job_attr *row, const json_t *job, enum pbs_family family)
{
	const char *host = object_text(job, "host");

	pbsattr_add(a, row->name, NULL, PBSATTR_TEXT, "%s%s%s", object_text(job, "owner"), host[0] ? "@" : "", host);
}

static void state_add(struct pbsattrs *a, const struct job_attr *row, const json_t *job, enum pbs_family family)
{
	const char *state = object_text(job, "state");

	pbsattr_add(a, row->name, NULL, PBSATTR_TEXT, "%s", family == PBS_PRO && *state == 'C' ? "F" : state);
}

/* Adds PBS Pro's number of the substate, which clients only show. */
static void substate_add(struct pbsattrs *a, const struct job_attr *row, const json_t *job, enum pbs_family family)
{
	static const char letters[] = "QHWRSECB";
	static const int numbers[] = {10, 20, 30, 42, 43, 51, 92, 42};
	const char *state = object_text(job, "state"), *at = *state ? strchr(letters, *state) : NULL;

	if (at)
		pbsattr_add(a, row->name, NULL, PBSATTR_NUMBER, "%d", numbers[at - letters]);
}

static void server_add(struct pbsattrs *a, const struct job_attr *row, const json_t *job, enum pbs_family family)
{
	const char *dot = strchr(object_text(job, "id"), '.');

	if (dot)
		pbsattr_add(a, row->name, NULL, PBSATTR_TEXT, "%s", dot + 1);
}

/* Adds the request in its own words, "nodes=2:ppn=4"; amounts with keys of their own are rows of
 * the table. */
static void request_add(struct pbsattrs *a, const struct job_attr *row, const json_t *job, enum pbs_family family)
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

static void remaining_add(struct pbsattrs *a, const struct job_attr *row, const json_t *job, enum pbs_family family)
{
	int64_t limit = object_number(job, "walltime", -1), used = object_number(job, "used.walltime", 0);

	if (*object_text(job, "state") == 'R' && limit >= 0)
		pbsattr_add(a, row->name, row->resource, PBSATTR_NUMBER, "%" PRId64, limit - used);
}

static void variables_add(struct pbsattrs *a, const struct job_attr *row, const json_t *job, enum pbs_family family)
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

static void array_counts_add(struct pbsattrs *a, const struct job_attr *row, const json_t *job, enum pbs_family family)
{
	const json_t *counts = json_object_get(job, "array_counts");
	int64_t total;

	if (json_is_object(counts))
		pbsattr_add(a, row->name, NULL, PBSATTR_TEXT, "%s", pbsattr_counts(a, counts, &total));
}

static void is_array_add(struct pbsattrs *a, const struct job_attr *row, const json_t *job, enum pbs_family family)
{
	if (*object_text(job, "array_spec"))
		pbsattr_add(a, row->name, NULL, PBSATTR_TEXT, "True");
}

static void guaranteed_add(struct pbsattrs *a, const struct job_attr *row, const json_t *job, enum pbs_family family)
{
	if (object_number(job, "deadline", 0) > 0)
		pbsattr_add(a, row->name, NULL, PBSATTR_TEXT, "%s",
			    json_is_true(object_value(job, "guaranteed")) ? "True" : "False");
}

static void price_add(struct pbsattrs *a, const struct job_attr *row, const json_t *job, enum pbs_family family)
{
	char buf[40];

	if (*object_text(job, "price_unit"))
		pbsattr_add(a, row->name, NULL, PBSATTR_TEXT, "%s %s",
			    duration_format(object_number(job, "price", 0), buf, sizeof buf),
			    object_text(job, "price_unit"));
}

static void share_add(struct pbsattrs *a, const struct job_attr *row, const json_t *job, enum pbs_family family)
{
	if (object_number(job, "share", 0) > 0)
		pbsattr_add(a, row->name, NULL, PBSATTR_TEXT, "%.3f", (double)object_number(job, "share", 0) / 1000);
}

static void interactive_add(struct pbsattrs *a, const struct job_attr *row, const json_t *job, enum pbs_family family)
{
	if (json_is_true(object_value(job, "interactive")) || *object_text(job, "interactive"))
		pbsattr_add(a, row->name, NULL, PBSATTR_TEXT, "True");
}

/* Names that -W accepts: rows with BY_W, then those that jobspec_more.c reads. */
const char pbsattr_more_names[] =
	"attributes depend, label, retries, stagein, stageout, umask, class, max_run_subjobs, x=QOS:NAME; of qsub also "
	"group_list, user_list, block=true, interactive=true, sandbox";

const struct job_attr job_attrs[] = {
	{"Job_Name", NULL, "name", AS_TEXT, PBS_BOTH, NULL},
	{"Job_Owner", NULL, "owner", AS_TEXT, PBS_BOTH, owner_add},
	{"resources_used", "cput", "used.cput", AS_DURATION, PBS_BOTH, NULL},
	{"resources_used", "mem", "used.memory", AS_MEMORY, PBS_BOTH, NULL},
	{"resources_used", "ncpus", "used.cpus", AS_NUMBER, PBS_PRO, NULL},
	{"resources_used", "walltime", "used.walltime", AS_DURATION, PBS_BOTH, NULL},
	{"job_state", NULL, "state", AS_TEXT, PBS_BOTH, state_add},
	{"queue", NULL, "queue", AS_TEXT, PBS_BOTH, NULL},
	{"partition", NULL, "partition", AS_TEXT, PBS_BOTH, NULL},
	{"server", NULL, "id", AS_TEXT, PBS_BOTH, server_add},
	{"Account_Name", NULL, "account", AS_TEXT, PBS_BOTH, NULL},
	{"qos", NULL, "qos", AS_TEXT, PBS_BOTH, NULL},
	{"advres", NULL, "reservation", AS_TEXT, PBS_BOTH, NULL},
	{"Checkpoint", NULL, "checkpoint", AS_TEXT, PBS_BOTH, NULL},
	{"class", NULL, "class", AS_TEXT, PBS_BOTH | BY_W, NULL},
	{"restart_of", NULL, "restart", AS_TEXT, PBS_BOTH, NULL},
	{"last_checkpoint", NULL, "checkpoints.saved", AS_INSTANT, PBS_BOTH, NULL},
	{"lost_work", NULL, "checkpoints.lost", AS_DURATION, PBS_BOTH, NULL},
	{"moves", NULL, "checkpoints.moves", AS_COUNT, PBS_BOTH, NULL},
	{"ctime", NULL, "created", AS_INSTANT, PBS_BOTH, NULL},
	{"depend", NULL, "depend", AS_TEXT, PBS_BOTH | BY_W, NULL},
	{"Error_Path", NULL, "error", AS_PATH, PBS_BOTH, NULL},
	{"exec_host", NULL, "exec_host", AS_TEXT, PBS_BOTH, NULL},
	{"exec_vnode", NULL, "exec_vnode", AS_TEXT, PBS_PRO, NULL},
	{"switches", NULL, "switches", AS_COUNT, PBS_BOTH, NULL},
	{"Execution_Time", NULL, "at", AS_INSTANT, PBS_BOTH, NULL},
	{"Hold_Types", NULL, "holds", AS_NONE, PBS_BOTH, NULL},
	{"interactive", NULL, "interactive", AS_TEXT, PBS_BOTH, interactive_add},
	{"Join_Path", NULL, "join", AS_NONE, PBS_BOTH, NULL},
	{"Keep_Files", NULL, "keep", AS_NONE, PBS_BOTH, NULL},
	{"Mail_Points", NULL, "mail", AS_NONE, PBS_BOTH, NULL},
	{"Mail_Users", NULL, "mail_to", AS_TEXT, PBS_BOTH, NULL},
	{"mtime", NULL, "modified", AS_INSTANT, PBS_BOTH, NULL},
	{"Output_Path", NULL, "output", AS_PATH, PBS_BOTH, NULL},
	{"Priority", NULL, "priority", AS_NUMBER, PBS_BOTH, NULL},
	{"qtime", NULL, "created", AS_INSTANT, PBS_BOTH, NULL},
	{"Rerunable", NULL, "rerunnable", AS_BOOL, PBS_BOTH, NULL},
	{"Resource_List", "budget", "budget", AS_DURATION, PBS_BOTH, NULL},
	{"Resource_List", "estimate", "estimate", AS_DURATION, PBS_BOTH, NULL},
	{"Resource_List", "mem", "memory", AS_MEMORY, PBS_BOTH, NULL},
	{"Resource_List", "ncpus", "cpus", AS_NUMBER, PBS_BOTH, NULL},
	{"Resource_List", "ngpus", "gpus", AS_COUNT, PBS_BOTH, NULL},
	{"Resource_List", "nodect", "nodect", AS_NUMBER, PBS_BOTH, NULL},
	{"Resource_List", NULL, "resources", AS_TEXT, PBS_BOTH, request_add},
	{"Resource_List", "walltime", "walltime", AS_DURATION, PBS_BOTH, NULL},
	{"start_time", NULL, "started", AS_INSTANT, PBS_TORQUE, NULL},
	{"stime", NULL, "started", AS_INSTANT, PBS_PRO, NULL},
	{"session_id", NULL, "session", AS_NUMBER, PBS_BOTH, NULL},
	{"Shell_Path_List", NULL, "shell", AS_TEXT, PBS_BOTH, NULL},
	{"stagein", NULL, "stagein", AS_TEXT, PBS_BOTH | BY_W, NULL},
	{"stageout", NULL, "stageout", AS_TEXT, PBS_BOTH | BY_W, NULL},
	{"substate", NULL, "state", AS_NUMBER, PBS_PRO, substate_add},
	{"umask", NULL, "umask", AS_TEXT, PBS_BOTH | BY_W, NULL},
	{"Variable_List", NULL, "environment", AS_TEXT, PBS_BOTH, variables_add},
	{"comment", NULL, "comment", AS_TEXT, PBS_BOTH, NULL},
	{"etime", NULL, "queued", AS_INSTANT, PBS_BOTH, NULL},
	{"run_count", NULL, "attempt", AS_NUMBER, PBS_PRO, NULL},
	{"exit_status", NULL, "exit_status", AS_NUMBER, PBS_TORQUE, NULL},
	{"Exit_status", NULL, "exit_status", AS_NUMBER, PBS_PRO, NULL},
	{"submit_args", NULL, "submit_args", AS_TEXT, PBS_TORQUE, NULL},
	{"Submit_arguments", NULL, "submit_args", AS_TEXT, PBS_PRO, NULL},
	{"Walltime", "Remaining", "walltime", AS_NUMBER, PBS_TORQUE, remaining_add},
	{"comp_time", NULL, "ended", AS_INSTANT, PBS_TORQUE, NULL},
	{"array", NULL, "array_spec", AS_TEXT, PBS_PRO, is_array_add},
	{"array_id", NULL, "array", AS_TEXT, PBS_BOTH, NULL},
	{"array_index", NULL, "index", AS_NUMBER, PBS_BOTH, NULL},
	{"array_indices_submitted", NULL, "array_spec", AS_TEXT, PBS_BOTH, NULL},
	{"max_run_subjobs", NULL, "max_run_subjobs", AS_NUMBER, PBS_BOTH, NULL},
	{"array_state_count", NULL, "array_counts", AS_TEXT, PBS_BOTH, array_counts_add},
	{"project", NULL, "project", AS_TEXT, PBS_BOTH, NULL},
	{"label", NULL, "label", AS_TEXT, PBS_BOTH | BY_W, NULL},
	{"retries", NULL, "retries", AS_TEXT, PBS_BOTH | BY_W, NULL},
	{"estimated", "start_time", "expected_start", AS_INSTANT, PBS_BOTH, NULL},
	{"estimated", "end_time", "expected_end", AS_INSTANT, PBS_BOTH, NULL},
	{"estimated", "forecast_time", "expected_made", AS_INSTANT, PBS_BOTH, NULL},
	{"estimated", "none", "no_estimate", AS_TEXT, PBS_BOTH, NULL},
	{"type", NULL, "type", AS_TEXT, PBS_BOTH, NULL},
	{"deadline", NULL, "deadline", AS_INSTANT, PBS_BOTH, NULL},
	{"price", NULL, "price", AS_TEXT, PBS_BOTH, price_add},
	{"share", NULL, "share", AS_TEXT, PBS_BOTH, share_add},
	{"nice_until", NULL, "nice_until", AS_INSTANT, PBS_BOTH, NULL},
	{"guaranteed", NULL, "guaranteed", AS_TEXT, PBS_BOTH, guaranteed_add},
	/* Members that no attribute shows by itself. */
	{.key = "args"},
	{.key = "displace"},
	{.key = "exclusive"}, /* place= in Resource_List */
	{.key = "group"},
	{.key = "hold"}, /* Hold_Types */
	{.key = "host"}, /* part of the owner and of paths */
	{.key = "powers"},
	{.key = "program"},
	{.key = "require_guarantee"},
	{.key = "script"},
	{.key = "script_base64"},
	{.key = "submit_host"},
	{.key = "workdir"}, /* PBS_O_WORKDIR in Variable_List */
	{0},
};

static void value_add(struct pbsattrs *a, const struct job_attr *row, const json_t *job, const json_t *value)
{
	const char *text = json_is_string(value) ? json_string_value(value) : "", *host = object_text(job, "host");
	int64_t number = json_is_number(value) ? (int64_t)json_number_value(value) : 0;
	char buf[40];

	switch (row->form) {
	case AS_TEXT:
		if (*text)
			pbsattr_add(a, row->name, row->resource, PBSATTR_TEXT, "%s", text);
		break;
	case AS_COUNT:
		if (number == 0)
			break;
		__attribute__((fallthrough));
	case AS_NUMBER:
		pbsattr_add(a, row->name, row->resource, PBSATTR_NUMBER, "%" PRId64, number);
		break;
	case AS_INSTANT:
		pbsattr_add(a, row->name, row->resource, PBSATTR_INSTANT, "%" PRId64, number);
		break;
	case AS_DURATION:
		pbsattr_add(a, row->name, row->resource, PBSATTR_TEXT, "%s", duration_format(number, buf, sizeof buf));
		break;
	case AS_MEMORY:
		if (number > 0)
			pbsattr_add(a, row->name, row->resource, PBSATTR_TEXT, "%" PRId64 "kb", number);
		break;
	case AS_BOOL:
		pbsattr_add(a, row->name, row->resource, PBSATTR_TEXT, "%s", json_is_true(value) ? "True" : "False");
		break;
	case AS_NONE:
		pbsattr_add(a, row->name, row->resource, PBSATTR_TEXT, "%s", *text ? text : "n");
		break;
	case AS_PATH:
		if (*text)
			pbsattr_add(a, row->name, row->resource, PBSATTR_TEXT, "%s%s%s", host, *host ? ":" : "", text);
		break;
	}
}

/* Returns true if an earlier row uses the same field. */
static bool field_known(const struct job_attr *row, size_t n)
{
	for (const struct job_attr *x = job_attrs; x < row; x++)
		if (x->name && strncmp(x->key, row->key, n) == 0 && strcspn(x->key, ".") == n)
			return true;
	return false;
}

void pbsattr_fields(struct strbuf *out)
{
	strbuf_puts(out, "host,price_unit"); /* for the owner, paths and the price */
	for (const struct job_attr *row = job_attrs; row->key; row++) {
		size_t n = strcspn(row->key, ".");
		if (row->name && strcmp(row->key, "environment") != 0 && !field_known(row, n))
			strbuf_printf(out, ",%.*s", (int)n, row->key);
	}
}

const char *pbsattr_more(const char *name)
{
	for (const struct job_attr *row = job_attrs; row->key; row++)
		if (row->family & BY_W && strcasecmp(row->name, name) == 0)
			return row->key;
	return NULL;
}

void pbsattr_job(struct pbsattrs *a, const json_t *job, enum pbs_family family)
{
	for (const struct job_attr *row = job_attrs; row->key; row++) {
		if (!(row->family & family))
			continue;
		if (row->add) {
			row->add(a, row, job, family);
			continue;
		}
		const json_t *value = object_value(job, row->key);
		if ((value && !json_is_null(value)) || row->form == AS_NONE)
			value_add(a, row, job, value);
	}
}
