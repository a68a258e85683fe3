/*
 * pbs.c - the commands of PBS and its relatives: qsub, qstat, qselect, qdel, pbsnodes; and those of
 * a Shunt server, whose plan need not be rebuilt.
 *
 * Some of them limit job names to 15 characters, so the requests of a run are called TAG-NUMBER.
 * Everything is read from `qstat -f`, which all of them print in the same form: a job's attributes
 * as "    name = value", long ones folded.
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "bag/batch.h"
#include "base/program.h"

/* $1: the program whose subcommands the commands are; "": they are programs. $2: a name. */
#define SHELL "run() { if [ -n \"$program\" ]; then \"$program\" \"$@\"; else \"$@\"; fi; }\nprogram=$1 name=$2\n"
#define OWN "ids=$(run qselect -u \"$(id -un)\") || exit\n[ -n \"$ids\" ] || exit 0\n"

static const char list_script[] = SHELL OWN "out=$(run qstat -f $ids)\ncode=$?\n"
					    /* some jobs may have ended meanwhile */
					    "[ -n \"$out\" ] || exit $code\n"
					    "printf '%s\\n' \"$out\"\n";
/* Cancels until no job waits or runs any more. */
static const char clear_script[] = SHELL
	"for try in 1 2 3 4 5; do\n" OWN
	"ids=$(run qstat -f $ids | awk -v name=\"$name-\" '/^Job Id:/ { id = $3; ours = 0 } $1 == \"Job_Name\" { ours = index($3, name) == 1 }\n"
	"$1 == \"job_state\" && ours && index(\"QHWTRSBU\", $3) { print id }')\n"
	"[ -n \"$ids\" ] || exit 0\n"
	"[ $try = 1 ] || sleep 1\n"
	"run qdel $ids\n"
	"done\nexit 1\n";
/* -t: including elements of arrays */
static const char plan_script[] = SHELL "run pbsnodes -a && run qstat -f -t\n";

static const char *own_program(void)
{
	static char path[PATH_MAX];

	if (!path[0])
		program_self(path, sizeof path, NULL);
	return path;
}

static void script_words(const char *script, const char *program, const char *name, name_list *w)
{
	words_add(w, "", "sh");
	words_add(w, "", "-c");
	words_add(w, "", script);
	words_add(w, "", "sh");
	words_add(w, "", program);
	words_add(w, "", name);
}

/* Writes "nodes=2:ppn=4:gpus=1". */
static void nodes_text(const struct batch_request *r, char *ret, size_t size)
{
	snprintf(ret, size, "nodes=%" PRId64 ":ppn=%" PRId64, r->chunks, r->each);
	if (r->gpus > 0)
		snprintf(ret + strlen(ret), size - strlen(ret), ":gpus=%" PRId64, r->gpus);
}

static void submit_words(const struct batch_request *r, name_list *w)
{
	char text[256];

	snprintf(text, sizeof text, "%s-%d", r->name, r->id);
	words_add(w, "", "qsub");
	words_add(w, "", "-N");
	words_add(w, "", text);
	words_add(w, "", "-r");
	words_add(w, "", "n");
	words_add(w, "", "-j");
	words_add(w, "", "oe");
	words_add(w, "", "-o");
	words_add(w, "", r->output);
	words_add(w, "", "-l");
	nodes_text(r, text, sizeof text);
	snprintf(text + strlen(text), sizeof text - strlen(text), ",walltime=%" PRId64, r->seconds);
	words_add(w, text, "");
	if (r->memory > 0) {
		snprintf(text, sizeof text, "mem=%" PRId64 "kb", r->memory * r->chunks * r->each);
		words_add(w, "", "-l");
		words_add(w, "", text);
	}
}

static void own_submit_words(const struct batch_request *r, name_list *w)
{
	words_add(w, "", own_program());
	submit_words(r, w);
	if (r->last) {
		words_add(w, "", "-p");
		words_add(w, "", "-1024");
	}
}

/* Parses "12.server"; "12[1].server" is not a job of ours. */
static bool submit_parse(const char *line, char ret[64])
{
	size_t n = strcspn(line, " \t");

	if (*line < '0' || *line > '9' || line[n] || n >= 64 ||
	    strspn(line, "0123456789.-_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") != n)
		return false;
	snprintf(ret, 64, "%s", line);
	return true;
}

static void list_words(const char *name, name_list *w)
{
	script_words(list_script, "", name, w);
}

static void own_list_words(const char *name, name_list *w)
{
	script_words(list_script, own_program(), name, w);
}

static void cancel_words(name_list *w)
{
	words_add(w, "", "qdel");
}

static void own_cancel_words(name_list *w)
{
	words_add(w, "", own_program());
	words_add(w, "", "qdel");
}

static void shrink_words(const struct batch_request *r, const char *job, name_list *w)
{
	char text[128];

	nodes_text(r, text, sizeof text);
	words_add(w, "", "qalter");
	words_add(w, "", "-l");
	words_add(w, "", text);
	words_add(w, "", job);
}

static void own_shrink_words(const struct batch_request *r, const char *job, name_list *w)
{
	words_add(w, "", own_program());
	shrink_words(r, job, w);
}

static void own_label_words(const char *job, const char *text, name_list *w)
{
	words_add(w, "", own_program());
	words_add(w, "", "qalter");
	words_add(w, "", "-W");
	words_add(w, "label=", text);
	words_add(w, "", job);
}

static void clear_words(const char *name, name_list *w)
{
	script_words(clear_script, "", name, w);
}

static void own_clear_words(const char *name, name_list *w)
{
	script_words(clear_script, own_program(), name, w);
}

/* ---- output of qstat -f and pbsnodes ---- */

struct job {
	char id[64], state;
	int number; /* 0: not ours */
	int64_t processors, walltime, used;
	int64_t start; /* expected by the scheduler; 0: unknown */
	char comment[64];
	bool exited;
	int64_t status; /* exit code if it exited; 256 + signal: killed; negative: ended by the server */
};

/* Parses "Tue Nov 17 12:00:00 2026" in local time; returns 0 for anything else. */
static int64_t instant(const char *text)
{
	struct tm tm = {.tm_isdst = -1};
	const char *end = strptime(text, "%a %b %d %H:%M:%S %Y", &tm);

	return end && !*end && tm.tm_year >= 70 && tm.tm_year < 1000 ? (int64_t)mktime(&tm) : 0;
}

static void at_least(int64_t *n, int64_t value)
{
	*n = value > *n ? value : *n;
}

/* Returns the processors of "2:ppn=4+n3:ppn=2". */
static int64_t nodes_count(const char *text)
{
	int64_t sum = 0;

	for (const char *at = text; *at; at += *at == '+') {
		size_t n = strcspn(at, "+"), digits = strspn(at, "0123456789");
		int64_t count = digits > 0 && digits < 7 && (at[digits] == ':' || digits == n) ? atoll(at) : 1;
		const char *ppn = strstr(at, "ppn=");
		sum += count * (ppn && ppn < at + n && strspn(ppn + 4, "0123456789") < 7 && atoll(ppn + 4) > 0
					? atoll(ppn + 4)
					: 1);
		at += n;
	}
	return sum;
}

/* Parses "HH:MM:SS" or seconds; returns 0 for anything else. */
static int64_t walltime(const char *text)
{
	int64_t sum = 0;

	while (*text >= '0' && *text <= '9' && strspn(text, "0123456789") < 10) {
		int64_t part = strtoll(text, (char **)&text, 10);
		sum = sum * 60 + part;
		if (*text != ':')
			break;
		text++;
	}
	return sum > INT32_MAX ? INT32_MAX : sum;
}

int tag_number(const char *name, const char *value)
{
	size_t n = strlen(name);

	if (strncmp(value, name, n) != 0 || value[n] != '-')
		return 0;
	size_t digits = strspn(value + n + 1, "0123456789");
	return digits > 0 && digits < 8 && !value[n + 1 + digits] ? atoi(value + n + 1) : 0;
}

static void attribute(const char *name, const char *key, const char *value, struct job *j)
{
	if (strcmp(key, "Job_Name") == 0)
		j->number = tag_number(name, value);
	else if (strcmp(key, "job_state") == 0)
		j->state = *value;
	else if (strcmp(key, "Resource_List.walltime") == 0)
		j->walltime = walltime(value);
	else if (strcmp(key, "resources_used.walltime") == 0)
		j->used = walltime(value);
	else if ((strcmp(key, "Resource_List.ncpus") == 0 || strcmp(key, "Resource_List.procs") == 0) &&
		 strlen(value) < 9)
		at_least(&j->processors, atoll(value));
	else if (strcmp(key, "Resource_List.nodes") == 0) /* TORQUE may also show ncpus = 1 */
		at_least(&j->processors, nodes_count(value));
	else if (strcmp(key, "estimated.start_time") == 0)
		j->start = instant(value);
	else if (strcasecmp(key, "exit_status") == 0 && strlen(value) < 9)
		j->exited = true, j->status = atoll(value);
	else if (strcmp(key, "comment") == 0)
		snprintf(j->comment, sizeof j->comment, "%s", value);
}

/* Splits a line "    key = value"; returns false for any other line. */
static bool pair(char *line, char **ret_key, char **ret_value)
{
	char *key = line + strspn(line, " \t"), *equal = strstr(key, " = ");

	if (!equal || key == line || *line == '\t') /* folded: it continues the previous line */
		return false;
	*equal = '\0';
	*ret_key = key;
	*ret_value = equal + 3;
	return true;
}

/* Parses "12.server", and "12[3].server" of an array; rejects "12[].server", whose elements are
 * listed as well. */
static bool job_id(const char *text, char ret[64])
{
	size_t n = strlen(text), digits = strspn(text, "0123456789");
	const char *open = text + digits;

	if (*open == '[' && open[1] != ']' && open[1 + strspn(open + 1, "0123456789")] == ']' && n < 64) {
		memcpy(ret, text, n + 1);
		return digits > 0;
	}
	return submit_parse(text, ret);
}

/* Returns the next job; lines before the first one go to `other`, which may be NULL. */
static bool job_next(const char *name, const char *text, size_t n, size_t *at, void (*other)(void *arg, char *line),
		     void *arg, struct job *ret)
{
	char line[1024], *key, *value;
	bool inside = false;

	for (size_t before = *at; line_next(text, n, at, line, sizeof line); before = *at) {
		if (strncmp(line, "Job Id:", 7) == 0) {
			if (inside) {
				*at = before;
				return true;
			}
			*ret = (struct job){0};
			inside = job_id(line + 7 + strspn(line + 7, " "), ret->id);
		} else if (inside && pair(line, &key, &value)) {
			attribute(name, key, value, ret);
		} else if (!inside && other) {
			other(arg, line);
		}
	}
	return inside;
}

static bool next(const char *name, const char *text, size_t n, size_t *at, struct batch_line *ret)
{
	struct job j;

	while (job_next(name, text, n, at, NULL, NULL, &j)) {
		if (j.number == 0 || !j.state)
			continue;
		/* One that exits (E) may still have processes; an unknown letter is not an end. */
		*ret = (struct batch_line){.number = j.number,
					   .state = strchr("QHWT", j.state)  ? REQUEST_PENDING
						    : strchr("CFX", j.state) ? REQUEST_ENDED
									     : REQUEST_RUNNING};
		memcpy(ret->job, j.id, sizeof ret->job);
		if (ret->state == REQUEST_ENDED && j.exited) {
			ret->fate = j.status >= 0 && j.status < 256 ? FATE_ENDED : FATE_TAKEN;
			snprintf(ret->outcome, sizeof ret->outcome, "exit status %" PRId64, j.status);
		}
		/* not held by us: its start has failed too often, for example */
		if (j.state == 'H')
			snprintf(ret->never, sizeof ret->never, "%s", j.comment[0] ? j.comment : "it is held");
		else if (j.state == 'Q' && strncasecmp(j.comment, "Can Never Run", 13) == 0)
			memcpy(ret->never, j.comment, sizeof ret->never);
		return true;
	}
	return false;
}

static void plan_words(const struct provider_options *o, name_list *w)
{
	(void)o;
	script_words(plan_script, "", "", w);
}

/* Node totals, read before the first job. */
struct nodes {
	struct rebuild *plan;
	int64_t processors, here; /* total of the nodes in service; current node */
	bool down;
};

static void node_end(struct nodes *s)
{
	s->processors += s->down ? 0 : s->here;
	rebuild_node(s->plan, &(struct provider_node){s->here, INT64_MAX, INT64_MAX});
	s->here = 0;
	s->down = false;
}

static void node_line(void *arg, char *line)
{
	struct nodes *s = arg;
	char *key, *value;

	if (*line && *line != ' ' && *line != '\t')
		node_end(s);
	if (!pair(line, &key, &value))
		return;
	static const char *const out[] = {"down",	 "offline",	 "unknown", "stale",
					  "maintenance", "provisioning", "sleep",   "unresolvable"};

	for (size_t i = 0; strcmp(key, "state") == 0 && i < sizeof out / sizeof *out; i++)
		s->down = s->down || strcasestr(value, out[i]);
	if ((strcmp(key, "np") == 0 || strcmp(key, "resources_available.ncpus") == 0) && strlen(value) < 7)
		s->here = atoll(value) > 0 ? atoll(value) : 0;
}

static int plan_parse(const char *name, const char *text, size_t n, int64_t now, struct rebuild *ret)
{
	struct nodes nodes = {.plan = ret};
	struct job j;

	for (size_t at = 0; ret->jobs.n < REBUILD_JOBS && job_next(name, text, n, &at, node_line, &nodes, &j);) {
		/* held jobs have no place in the plan */
		if (!j.state || !strchr("QTRSBE", j.state))
			continue;
		bool waits = strchr("QT", j.state) != NULL;
		int64_t limit = j.walltime ? j.walltime : INT32_MAX;
		vec_push(&ret->jobs, (struct rebuild_job){.processors = j.processors ? j.processors : 1,
							  .running = !waits,
							  .end = now + (limit > j.used ? limit - j.used : 0),
							  .seconds = limit,
							  .start = waits ? j.start : 0,
							  .number = j.number});
	}
	node_end(&nodes);
	ret->processors = nodes.processors;
	return nodes.processors ? 0 : -EINVAL;
}

/* ---- a Shunt server: its plan shows when jobs start ---- */

static void own_plan_words(const struct provider_options *o, name_list *w)
{
	(void)o;
	words_add(w, "", own_program());
	words_add(w, "", "plan");
	words_add(w, "", "--json");
}

/* A single node needs no help. Several nodes are reached by pbs_tmrsh, which OpenPBS has, or by
 * pbsdsh, which in TORQUE and here starts once on each. They may not have the node file, so its
 * contents are passed along in order, as "n1=4,n2=3,". */
#define LAUNCH                                                                                                                  \
	"end=$(($(date +%s) + seconds))\n"                                                                                      \
	"table=$(awk '!n[$1]++ { order[++k] = $1 } END { for (i = 1; i <= k; i++) printf \"%s=%d,\", order[i], n[order[i]] }' " \
	"\"$PBS_NODEFILE\" 2>/dev/null)\n"                                                                                      \
	"case $table in\n"                                                                                                      \
	"*,*,) if command -v pbs_tmrsh > /dev/null; then\n"                                                                     \
	"i=0\n"                                                                                                                 \
	"for item in $(echo \"$table\" | tr , ' '); do\n"                                                                       \
	"pbs_tmrsh \"${item%=*}\" /bin/sh \"$script\" node \"$end\" \"$table\" $i \"$PBS_JOBID\" &\n"                           \
	"i=$((i + 1))\n"                                                                                                        \
	"done\n"                                                                                                                \
	"wait\n"                                                                                                                \
	"exit\n"                                                                                                                \
	"fi\n"                                                                                                                  \
	"exec pbsdsh -u /bin/sh \"$script\" node \"$end\" \"$table\";;\n"                                                       \
	"esac\n"                                                                                                                \
	"set -- node \"$end\" \"$table\""
#define NODE                                                                                                                                       \
	"PBS_JOBID=${5:-$PBS_JOBID} SHUNT_NODE=${4:-${PBS_NODENUM:-${PBS_VNODENUM:-0}}}\n"                                                         \
	"SHUNT_CPUS=$(echo \"$3\" | tr , '\\n' | awk -F= -v here=\"$(hostname)\" -v at=\"$SHUNT_NODE\" '\n"                                        \
	"NF == 2 { k++; sub(/[.].*/, \"\", $1); sub(/[.].*/, \"\", here); own += $1 == here ? $2 : 0; nth = k == at + 1 ? $2 : nth; last = $2 }\n" \
	"END { print (k == 1 ? last : own ? own : nth + 0) }')\n"                                                                                  \
	"[ \"${SHUNT_CPUS:-0}\" -gt 0 ] || SHUNT_CPUS=${PBS_NUM_PPN:-${NCPUS:-1}}\n"                                                               \
	"SHUNT_ALLOCATION=${PBS_JOBID%%.*}"

const struct batch_dialect dialect_pbs = {
	.kind = "pbs",
	.submit = "qsub",
	.list = "qstat",
	.cancel = "qdel",
	.prefix = "sb",
	.digits = TAG_DIGITS,
	.launch = LAUNCH,
	.node = NODE,
	.submit_words = submit_words,
	.submit_parse = submit_parse,
	.list_words = list_words,
	.next = next,
	.cancel_words = cancel_words,
	.shrink_words = shrink_words,
	.clear_words = clear_words,
	.plan_words = plan_words,
	.plan_parse = plan_parse,
};

const struct batch_dialect dialect_shunt = {
	.kind = "shunt",
	.submit = "qsub",
	.list = "qstat",
	.cancel = "qdel",
	.prefix = "sb",
	.digits = TAG_DIGITS,
	.launch = LAUNCH,
	.node = NODE,
	.submit_words = own_submit_words,
	.submit_parse = submit_parse,
	.list_words = own_list_words,
	.next = next,
	.cancel_words = own_cancel_words,
	.shrink_words = own_shrink_words,
	.label_words = own_label_words,
	.clear_words = own_clear_words,
	.plan_words = own_plan_words,
	.plan_parse = server_plan_parse,
};
