/*
 * past_sacct.c - the output of Slurm's `sacct -P` (or --parsable2, --parsable): a header that names
 * the fields, then a line per job and per job step.
 *
 * Steps ("12.batch", "12.extern", "12.0") follow their job. Only their memory and CPU time count:
 * those of a job are in its steps.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/timetext.h"
#include "convert/past_internal.h"

enum field {
	JOB_ID,
	USER,
	GROUP,
	ACCOUNT,
	PARTITION,
	CLUSTER,
	JOB_NAME,
	SUBMIT,
	START,
	END,
	STATE,
	EXIT_CODE,
	ALLOC_CPUS,
	REQ_CPUS,
	REQ_MEM,
	MAX_RSS,
	TIMELIMIT,
	NODE_LIST,
	NNODES,
	ALLOC_TRES,
	TOTAL_CPU,
	ELAPSED,
	ELAPSED_RAW,
	FIELDS
};

static const struct {
	const char *name, *other;
	bool needed;
} known[FIELDS] = {
	[JOB_ID] = {"JobID", NULL, true},
	[USER] = {"User", NULL, true},
	[GROUP] = {"Group", NULL, false},
	[ACCOUNT] = {"Account", NULL, false},
	[PARTITION] = {"Partition", NULL, false},
	[CLUSTER] = {"Cluster", NULL, false},
	[JOB_NAME] = {"JobName", NULL, false},
	[SUBMIT] = {"Submit", NULL, true},
	[START] = {"Start", NULL, true},
	[END] = {"End", NULL, true},
	[STATE] = {"State", NULL, true},
	[EXIT_CODE] = {"ExitCode", NULL, false},
	[ALLOC_CPUS] = {"AllocCPUS", "NCPUS", false},
	[REQ_CPUS] = {"ReqCPUS", NULL, false},
	[REQ_MEM] = {"ReqMem", NULL, false},
	[MAX_RSS] = {"MaxRSS", NULL, false},
	[TIMELIMIT] = {"Timelimit", NULL, false},
	[NODE_LIST] = {"NodeList", NULL, false},
	[NNODES] = {"NNodes", "AllocNodes", false},
	[ALLOC_TRES] = {"AllocTRES", NULL, false},
	[TOTAL_CPU] = {"TotalCPU", NULL, false},
	[ELAPSED] = {"Elapsed", NULL, false},
	[ELAPSED_RAW] = {"ElapsedRaw", NULL, false},
};

static const struct {
	const char *slurm, *state; /* `state` NULL: the job has not ended */
} states[] = {
	{"COMPLETED", "completed"},
	{"FAILED", "failed"},
	{"CANCELLED", "deleted"},
	{"TIMEOUT", "walltime"},
	{"OUT_OF_MEMORY", "memory"},
	{"NODE_FAIL", "lost"},
	{"BOOT_FAIL", "not_started"},
	{"DEADLINE", "expired"},
	{"PREEMPTED", "preempted"},
	{"REQUEUED", "rerun"},
	{"REVOKED", "deleted"},
	{"SPECIAL_EXIT", "failed"},
	{"LAUNCH_FAILED", "not_started"},
	{"RECONFIG_FAIL", "not_started"},
	{"PENDING", NULL},
	{"RUNNING", NULL},
	{"SUSPENDED", NULL},
	{"COMPLETING", NULL},
	{"CONFIGURING", NULL},
	{"REQUEUE_HOLD", NULL},
	{"RESIZING", NULL},
	{"STAGE_OUT", NULL},
	{"POWER_UP_NODE", NULL},
	{"REQUEUE_FED", NULL},
	{"RESV_DEL_HOLD", NULL},
	{"SIGNALING", NULL},
	{"STOPPED", NULL},
	{"UPDATE_DB", NULL},
};

struct sacct {
	struct past_reader *r;
	int at[FIELDS]; /* column; -1: missing */
	int columns;
	bool closed; /* lines end with a '|', as with --parsable */
	/* the current job, until a line that is not one of its steps */
	char *job;
	char *value[FIELDS]; /* its fields, within `job` */
	int64_t line, peak_kib, cpu_ms;
};

/* Splits a line in place and returns the number of cells. A '|' at the end adds an empty one. */
static int line_split(char *line, char **cell, int most)
{
	int n = 0;

	for (char *p = line; p && n < most; n++)
		cell[n] = strsep(&p, "|");
	return n;
}

static int head_read(struct sacct *s, char *head, struct err *err)
{
	char *cell[256];

	s->columns = line_split(head, cell, 256);
	s->closed = s->columns > 1 && !*cell[s->columns - 1];
	s->columns -= s->closed;
	for (int f = 0; f < FIELDS; f++) {
		s->at[f] = -1;
		for (int i = 0; i < s->columns; i++)
			if (strcasecmp(cell[i], known[f].name) == 0 ||
			    (s->at[f] < 0 && known[f].other && strcasecmp(cell[i], known[f].other) == 0))
				s->at[f] = i;
		if (s->at[f] < 0 && known[f].needed)
			return err_set(
				err, -EINVAL,
				"the output of sacct has no field %s: run sacct -P -o JobID,User,Group,Account,Partition,Cluster,"
				"JobName,Submit,Start,End,State,ExitCode,AllocCPUS,ReqMem,MaxRSS,Timelimit,NNodes,NodeList,TotalCPU",
				known[f].name);
	}
	return 0;
}

/* Parses "2026-11-15T06:42:53" or a Unix time; 0 for "Unknown" and "None". */
static int64_t instant_of(const char *text)
{
	int64_t t;

	if (*text && text[strspn(text, "0123456789")] == '\0')
		return past_number(text, INT64_C(1) << 40);
	return isdigit((unsigned char)*text) && instant_parse(text, 0, &t, NULL) == 0 && t > 0 ? t : 0;
}

/* Parses "4Gn" (per node), "2000Mc" (per CPU) or "8G" (in all). */
static int64_t memory_of(const char *text, int64_t nodes, int64_t cpus)
{
	const char *rest;
	int64_t kib;

	if (!past_size(text, 'm', &kib, &rest))
		return 0;
	int64_t times = *rest == 'n' ? nodes : *rest == 'c' ? cpus : 1;
	return kib > INT64_MAX / times ? INT64_MAX : kib * times;
}

/* Returns the GPUs of "cpu=8,gres/gpu=2,mem=4G". */
static int64_t gpus_of(const char *tres)
{
	const char *p = strstr(tres, "gres/gpu=");

	return p ? past_number(p + strlen("gres/gpu="), PAST_COUNT_MAX) : 0;
}

/* Parses a state such as "CANCELLED by 1000"; returns false if it is not known. */
static bool state_of(const char *text, const char **ret)
{
	size_t n = strcspn(text, " +");

	for (size_t i = 0; i < sizeof states / sizeof *states; i++)
		if (strlen(states[i].slurm) == n && strncmp(text, states[i].slurm, n) == 0) {
			*ret = states[i].state;
			return true;
		}
	return false;
}

static int64_t clock_of(const char *text)
{
	int64_t ms;

	return past_clock(text, &ms) ? ms : 0;
}

/* Parses "2:0": exit code and signal. */
static int64_t exit_of(const char *text)
{
	int code = 0, signal = 0;

	sscanf(text, "%9d:%9d", &code, &signal);
	return signal > 0 && signal < 128 ? 256 + signal : code;
}

static bool row_make(struct sacct *s, struct past_row *row)
{
	char *const *v = s->value;
	int64_t cpus = past_number(v[ALLOC_CPUS], PAST_COUNT_MAX), nodes = past_number(v[NNODES], PAST_COUNT_MAX);

	*row = (struct past_row){
		.user = v[USER],
		.group = v[GROUP],
		.account = v[ACCOUNT],
		.queue = v[PARTITION],
		.name = v[JOB_NAME],
		.exit_status = exit_of(v[EXIT_CODE]),
		.submitted = instant_of(v[SUBMIT]),
		.started = instant_of(v[START]),
		.ended = instant_of(v[END]),
		.nodes = nodes ? nodes : 1,
		.cpus = cpus ? cpus : past_number(v[REQ_CPUS], PAST_COUNT_MAX),
		.gpus = gpus_of(v[ALLOC_TRES]),
		.walltime = clock_of(v[TIMELIMIT]) / 1000,
	};
	if (!state_of(v[STATE], &row->state)) {
		past_bad(s->r, s->line, "job %.60s: unknown state \"%.40s\"", v[JOB_ID], v[STATE]);
		return false;
	}
	if (!row->state || !row->ended) {
		s->r->unfinished++;
		return false;
	}
	if (!row->cpus)
		row->cpus = 1;
	if (strncmp(v[NODE_LIST], "None", 4) != 0)
		row->hosts = v[NODE_LIST];
	row->again = strcmp(row->state, "rerun") == 0;
	row->memory_kib = memory_of(v[REQ_MEM], row->nodes, row->cpus);
	if (row->started && row->ended > row->started) {
		int64_t raw = past_number(v[ELAPSED_RAW], PAST_TIME_MAX / 1000) * 1000;
		int64_t ms = raw ? raw : clock_of(v[ELAPSED]);
		row->ran_ms = ms ? ms : (row->ended - row->started) * 1000;
	} else if (strcmp(row->state, "deleted") == 0 && row->started >= row->ended) {
		row->started = 0; /* cancelled while waiting: sacct shows the same time twice */
	}
	return true;
}

static int job_end(struct sacct *s)
{
	struct strbuf name = {0};
	struct past_row row;
	int rc = 0;

	if (!s->job)
		return 0;
	if (row_make(s, &row)) {
		int64_t own = clock_of(s->value[TOTAL_CPU]);
		past_name(s->r, "slurm", s->value[JOB_ID], s->value[CLUSTER], &name);
		row.id = strbuf_text(&name);
		row.peak_kib = s->peak_kib;
		row.cpu_ms = own ? own : s->cpu_ms;
		rc = past_emit(s->r, &row, s->line);
	}
	strbuf_fini(&name);
	free(s->job);
	s->job = NULL;
	return rc;
}

static bool is_step(const struct sacct *s, const char *id)
{
	size_t n = s->job ? strlen(s->value[JOB_ID]) : 0;

	return n && strncmp(id, s->value[JOB_ID], n) == 0 && id[n] == '.';
}

static void step_add(struct sacct *s, char *const *cell)
{
	int64_t kib;

	if (s->at[MAX_RSS] >= 0 && past_size(cell[s->at[MAX_RSS]], 'b', &kib, NULL) && kib > s->peak_kib)
		s->peak_kib = kib;
	if (s->at[TOTAL_CPU] >= 0)
		s->cpu_ms += clock_of(cell[s->at[TOTAL_CPU]]);
}

static int line_take(struct sacct *s, const char *line, int64_t number)
{
	static char empty[] = "";
	char *copy = mem_strdup(line), *cell[257];
	int n = line_split(copy, cell, 257), rc = 0;

	if (s->closed && !*cell[n - 1])
		n--;
	if (n != s->columns) {
		past_bad(s->r, number, "%d fields, and the head has %d (a '|' in a name?)", n, s->columns);
	} else if (is_step(s, cell[s->at[JOB_ID]])) {
		step_add(s, cell);
	} else if (strchr(cell[s->at[JOB_ID]], '.') || !isdigit((unsigned char)*cell[s->at[JOB_ID]])) {
		past_bad(s->r, number, "\"%.60s\" is not the id of a job, or a step without its job",
			 cell[s->at[JOB_ID]]);
	} else {
		rc = job_end(s);
		s->job = copy;
		copy = NULL;
		s->line = number;
		s->peak_kib = s->cpu_ms = 0;
		for (int f = 0; f < FIELDS; f++)
			s->value[f] = s->at[f] >= 0 ? cell[s->at[f]] : empty;
		step_add(s, cell);
		s->cpu_ms = 0;
	}
	free(copy);
	return rc;
}

int past_sacct(struct past_reader *r, struct lines *in, char *head, struct err *err)
{
	struct sacct s = {.r = r};
	char *line;
	int rc = head_read(&s, head, err), stop = 0;

	if (rc < 0)
		return rc;
	while (!stop && (rc = lines_next(in, &line, err)) == 1)
		if (line[strspn(line, " \t\r")] != '\0')
			stop = line_take(&s, line, lines_number(in));
	if (!stop && rc == 0)
		stop = job_end(&s);
	free(s.job);
	return stop ? stop : rc;
}
