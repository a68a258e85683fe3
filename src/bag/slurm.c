/*
 * slurm.c - Slurm's commands: sbatch, squeue, scancel, sinfo.
 *
 * The requests of a run have its tag as job name, and their number as comment.
 */
#include <errno.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bag/batch.h"
#include "base/strbuf.h"

/* Every state that Slurm has (squeue(1), and JOB STATE FLAGS there). */
static const struct word {
	const char *word;
	enum request_state state;
	enum request_fate fate;
} known[] = {
	{"PENDING", REQUEST_PENDING, FATE_OPEN},       {"CONFIGURING", REQUEST_PENDING, FATE_OPEN},
	{"POWER_UP_NODE", REQUEST_PENDING, FATE_OPEN}, {"REQUEUED", REQUEST_PENDING, FATE_OPEN},
	{"REQUEUE_FED", REQUEST_PENDING, FATE_OPEN},   {"REQUEUE_HOLD", REQUEST_PENDING, FATE_OPEN},
	{"RESV_DEL_HOLD", REQUEST_PENDING, FATE_OPEN}, {"SPECIAL_EXIT", REQUEST_PENDING, FATE_OPEN},
	{"EXPEDITING", REQUEST_PENDING, FATE_OPEN},    {"RUNNING", REQUEST_RUNNING, FATE_OPEN},
	{"SUSPENDED", REQUEST_RUNNING, FATE_OPEN},     {"STOPPED", REQUEST_RUNNING, FATE_OPEN},
	{"SIGNALING", REQUEST_RUNNING, FATE_OPEN},     {"RESIZING", REQUEST_RUNNING, FATE_OPEN},
	{"STAGE_OUT", REQUEST_RUNNING, FATE_OPEN},     {"UPDATE_DB", REQUEST_RUNNING, FATE_OPEN},
	{"COMPLETING", REQUEST_RUNNING, FATE_OPEN}, /* some of its processes may still be there */
	{"COMPLETED", REQUEST_ENDED, FATE_ENDED},      {"FAILED", REQUEST_ENDED, FATE_ENDED},
	{"OUT_OF_MEMORY", REQUEST_ENDED, FATE_ENDED},  {"CANCELLED", REQUEST_ENDED, FATE_TAKEN},
	{"TIMEOUT", REQUEST_ENDED, FATE_TAKEN},	       {"NODE_FAIL", REQUEST_ENDED, FATE_TAKEN},
	{"BOOT_FAIL", REQUEST_ENDED, FATE_TAKEN},      {"LAUNCH_FAILED", REQUEST_ENDED, FATE_TAKEN},
	{"RECONFIG_FAIL", REQUEST_ENDED, FATE_TAKEN},  {"DEADLINE", REQUEST_ENDED, FATE_TAKEN},
	{"PREEMPTED", REQUEST_ENDED, FATE_TAKEN},      {"REVOKED", REQUEST_ENDED, FATE_TAKEN},
};

/* Reads a state. An unknown one does not count as an end: ended jobs leave the listing soon. */
static void state_read(const char *word, struct batch_line *ret)
{
	ret->state = REQUEST_RUNNING;
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (strcmp(known[i].word, word) == 0) {
			ret->state = known[i].state;
			ret->fate = known[i].fate;
			if (ret->state == REQUEST_ENDED)
				snprintf(ret->outcome, sizeof ret->outcome, "%s", word);
		}
}

enum { FIELDS_MOST = 10 };

/* Splits a line into fields at '|'; the last one has the rest. Returns how many. */
static int split(char *line, int most, char **ret)
{
	int n = 0;

	for (char *at = line; at && n < most;) {
		ret[n++] = at;
		at = n < most ? strchr(at, '|') : NULL;
		if (at)
			*at++ = '\0';
	}
	return n;
}

static bool digits(const char *text, size_t most)
{
	size_t n = strspn(text, "0123456789");

	return n > 0 && n <= most && !text[n];
}

/* Parses "1-02:03:04", "02:03:04", "03:04" or "5" (minutes) into seconds; returns -1 for
 * anything else, such as UNLIMITED. */
static int64_t duration(const char *text)
{
	int64_t part[4] = {0}, days = 0;
	int n = 0;
	const char *dash = strchr(text, '-');

	if (dash) {
		days = strspn(text, "0123456789") == (size_t)(dash - text) && dash - text < 7 ? atoll(text) : -1;
		text = dash + 1;
	}
	for (; n < 3 && *text >= '0' && *text <= '9' && strspn(text, "0123456789") < 9; n++) {
		part[n] = strtoll(text, (char **)&text, 10);
		if (*text != ':') {
			n++;
			break;
		}
		text++;
	}
	if (days < 0 || n == 0 || *text)
		return -1;
	int64_t seconds = n == 3   ? part[0] * 3600 + part[1] * 60 + part[2]
			  : dash   ? part[0] * 3600 + part[1] * 60
			  : n == 2 ? part[0] * 60 + part[1]
				   : part[0] * 60;
	return days * 86400 + seconds;
}

/* Reports limits of a single job that its partition, account or QoS will never lift. Other
 * limits, such as those of all jobs of a user, are a matter of time. */
static void never(const char *reason, char *ret, size_t size)
{
	size_t n = strlen(reason);
	bool limit = n > 5 && strcmp(reason + n - 5, "Limit") == 0;

	if (limit && (strncmp(reason, "Partition", 9) == 0 || strstr(reason, "PerJob")))
		snprintf(ret, size, "%s%s", reason,
			 strstr(reason, "Time") || strstr(reason, "Wall") ? " (time limit)" : " (nodes)");
}

static bool next(const char *name, const char *text, size_t n, size_t *at, struct batch_line *ret)
{
	char line[512], *field[FIELDS_MOST];

	(void)name; /* squeue lists only these */
	while (line_next(text, n, at, line, sizeof line)) {
		int fields = split(line, 4, field);
		if (fields < 3 || !digits(field[0], sizeof ret->job - 1) || !digits(field[1], 7))
			continue;
		*ret = (struct batch_line){.number = atoi(field[1])};
		state_read(field[2], ret);
		snprintf(ret->job, sizeof ret->job, "%.63s", field[0]);
		if (fields == 4 && ret->state == REQUEST_PENDING)
			never(field[3], ret->never, sizeof ret->never);
		return true;
	}
	return false;
}

static void submit_words(const struct batch_request *r, name_list *w)
{
	words_add(w, "", "sbatch");
	words_add(w, "", "--parsable");
	words_add(w, "", "--no-requeue");
	words_add(w, "--job-name=", r->name);
	words_number(w, "--comment=", r->id);
	words_number(w, "--ntasks=", r->chunks);
	words_number(w, "--cpus-per-task=", r->each);
	if (r->gpus > 0)
		words_number(w, "--gpus-per-task=", r->gpus);
	words_number(w, "--time=", (r->seconds + 59) / 60);
	if (r->memory > 0) {
		char text[48];
		snprintf(text, sizeof text, "%" PRId64 "K", r->memory);
		words_add(w, "--mem-per-cpu=", text);
	}
	words_add(w, "--output=", r->output);
}

/* Parses "12" or "12;cluster". */
static bool submit_parse(const char *line, char ret[64])
{
	size_t n = strspn(line, "0123456789");

	if (n == 0 || n >= 64 || (line[n] && line[n] != ';'))
		return false;
	snprintf(ret, 64, "%.*s", (int)n, line);
	return true;
}

static void list_words(const char *name, name_list *w)
{
	words_add(w, "", "squeue");
	words_add(w, "", "--noheader");
	words_add(w, "", "--states=all");
	words_add(w, "--name=", name);
	words_add(w, "", "--format=%i|%k|%T|%r");
}

static void cancel_words(name_list *w)
{
	words_add(w, "", "scancel");
}

static void shrink_words(const struct batch_request *r, const char *job, name_list *w)
{
	words_add(w, "", "scontrol");
	words_add(w, "", "update");
	words_add(w, "JobId=", job);
	words_number(w, "NumTasks=", r->chunks);
	words_number(w, "NumCPUs=", r->chunks * r->each);
}

static void clear_words(const char *name, name_list *w)
{
	const struct passwd *me = getpwuid(geteuid());

	words_add(w, "", "scancel");
	words_add(w, "--name=", name);
	if (me)
		words_add(w, "--user=", me->pw_name);
}

/* Finds the partition named in options for sbatch; "": the default one. */
static void partition_of(const char *words, char *ret, size_t size)
{
	const char *at = words ? words : "";

	*ret = '\0';
	for (; *at; at += strcspn(at, " \t")) {
		at += strspn(at, " \t");
		const char *value = NULL;
		if (strncmp(at, "--partition=", 12) == 0)
			value = at + 12;
		else if (strncmp(at, "-p", 2) == 0)
			value = at[2] == ' ' || at[2] == '\t' ? at + 2 + strspn(at + 2, " \t") : at + 2;
		else if (strncmp(at, "--partition ", 12) == 0)
			value = at + 12;
		if (value)
			snprintf(ret, size, "%.*s", (int)strcspn(value, " \t"), value);
	}
}

static void plan_words(const struct provider_options *o, name_list *w)
{
	static const char script[] =
		"SLURM_TIME_FORMAT=%s; export SLURM_TIME_FORMAT; if [ -n \"$1\" ]; then set -- --partition=\"$1\"; else set --; fi\n"
		"sinfo --noheader --format='cpus|%C|%P' \"$@\" &&\n"
		"{ sinfo --noheader --exact --format='node|%c|%m|%G' \"$@\" || :; } &&\n"
		"squeue --noheader --all --states=PENDING,RUNNING,CONFIGURING,COMPLETING,SUSPENDED --sort=-p,i --format='job|%T|%C|%L|%l|%S|%k|%j' \"$@\"";
	char partition[256];

	partition_of(o->words, partition, sizeof partition);
	words_add(w, "", "sh");
	words_add(w, "", "-c");
	words_add(w, "", script);
	words_add(w, "", "sh");
	words_add(w, "", partition);
}

static void plan_job(const char *name, char **field, int64_t now, struct rebuild *ret)
{
	bool waits = strcmp(field[1], "PENDING") == 0, ours = strcmp(field[7], name) == 0;
	int64_t left = duration(field[3]), limit = duration(field[4]);

	if (!digits(field[2], 8) || ret->jobs.n >= REBUILD_JOBS)
		return;
	vec_push(&ret->jobs, (struct rebuild_job){.processors = atoll(field[2]),
						  .running = !waits,
						  .end = left < 0 ? now + INT32_MAX : now + left,
						  .seconds = limit < 0 ? INT32_MAX : limit,
						  .start = waits && digits(field[5], 11) ? atoll(field[5]) : 0,
						  .number = ours && digits(field[6], 7) ? atoi(field[6]) : 0});
}

/* Reads "node|CPUS|MEGABYTES|GRES"; the last is such as "gpu:a100:4(S:0-1),nic:2" or "(null)". */
static void plan_node(char **field, struct rebuild *ret)
{
	struct provider_node n = {.cpus = atoll(field[1]), .memory = atoll(field[2]) * 1024};

	for (const char *at = field[3]; at && *at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
		const char *end = at + strcspn(at, ",("), *colon = end;
		while (colon > at && colon[-1] != ':')
			colon--;
		if (strncmp(at, "gpu", 3) == 0)
			n.gpus += colon > at && *colon >= '0' && *colon <= '9' ? atoll(colon) : 1;
	}
	if (strspn(field[1], "0123456789") < 7 && strspn(field[2], "0123456789") < 12)
		rebuild_node(ret, &n);
}

/* Counts the CPUs in service, from "allocated/idle/other/total". CPUs held by jobs of other
 * partitions are not available to us. */
static int plan_parse(const char *name, const char *text, size_t n, int64_t now, struct rebuild *ret)
{
	int64_t allocated = -1, idle = 0, held = 0, a, i;
	char line[1024], *field[FIELDS_MOST];

	for (size_t at = 0; line_next(text, n, &at, line, sizeof line);) {
		int fields = split(line, 8, field);
		if (fields == 3 && strcmp(field[0], "cpus") == 0 &&
		    sscanf(field[1], "%9" SCNd64 "/%9" SCNd64 "/", &a, &i) == 2 &&
		    (allocated < 0 || strchr(field[2], '*'))) {
			allocated = a;
			idle = i;
		} else if (fields == 4 && strcmp(field[0], "node") == 0) {
			plan_node(field, ret);
		} else if (fields == 8 && strcmp(field[0], "job") == 0) {
			plan_job(name, field, now, ret);
		}
	}
	for (size_t k = 0; k < ret->jobs.n; k++)
		held += ret->jobs.v[k].running ? ret->jobs.v[k].processors : 0;
	ret->processors = idle + (allocated < held ? allocated : held);
	return allocated < 0 ? -EINVAL : 0;
}

const struct batch_dialect dialect_slurm = {
	.kind = "slurm",
	.submit = "sbatch",
	.list = "squeue",
	.cancel = "scancel",
	.prefix = "shunt-bag-",
	.digits = 12,
	.grain = 60,
	.launch =
		/* the step gets all CPUs of the job */
	"unset SLURM_CPUS_PER_TASK SRUN_CPUS_PER_TASK SLURM_GPUS_PER_TASK\n"
	"end=${SLURM_JOB_END_TIME:-$(($(date +%s) + seconds))}\n"
	"nodes=${SLURM_JOB_NUM_NODES:-1}\n"
	"exec srun --nodes=\"$nodes\" --ntasks=\"$nodes\" --ntasks-per-node=1 --cpu-bind=none /bin/sh "
	"\"$script\" node \"$end\"",
	.node = "SHUNT_NODE=${SLURM_NODEID:-0} SHUNT_CPUS=$SLURM_CPUS_ON_NODE SHUNT_ALLOCATION=$SLURM_JOB_ID SHUNT_MEMORY=\n"
		"if [ \"${SLURM_MEM_PER_NODE:-0}\" -gt 0 ]; then SHUNT_MEMORY=$((SLURM_MEM_PER_NODE * 1024))\n"
		"elif [ \"${SLURM_MEM_PER_CPU:-0}\" -gt 0 ]; then SHUNT_MEMORY=$((SLURM_MEM_PER_CPU * SHUNT_CPUS * 1024)); fi",
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
