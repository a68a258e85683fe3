/*
 * test_past.c - jobs from accounting files of TORQUE, PBS Pro and OpenPBS, and from sacct.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "base/strbuf.h"
#include "convert/past_internal.h"

static struct strbuf seen;

static int row(void *context, const struct past_row *x, const char *file, int64_t line)
{
	(void)context;
	strbuf_printf(
		&seen,
		"%s:%d %s %s/%s/%s/%s %s \"%s\" %s%s exit %lld; %lld %lld %lld; %lldn %lldc %lldg %lldk %llds; %lldms %lldms %lldk; %s %s\n",
		file, (int)line, x->id, x->user, x->group, x->account, x->project, x->queue, x->name, x->state,
		x->again ? " again" : "", (long long)x->exit_status, (long long)x->submitted, (long long)x->started,
		(long long)x->ended, (long long)x->nodes, (long long)x->cpus, (long long)x->gpus,
		(long long)x->memory_kib, (long long)x->walltime, (long long)x->ran_ms, (long long)x->cpu_ms,
		(long long)x->peak_kib, *x->resources ? x->resources : "-", *x->hosts ? x->hosts : "-");
	return 0;
}

static void bad(void *context, const char *file, int64_t line, const char *why)
{
	(void)context;
	strbuf_printf(&seen, "%s:%d bad: %s\n", file, (int)line, why);
}

static const struct past_events events = {row, bad, NULL};

static int64_t reading(const char *const *text, int n, int expected, struct err *err)
{
	struct past_reader *r = past_create("old", &events);
	char name[16];

	strbuf_clear(&seen);
	for (int i = 0; i < n; i++) {
		struct lines *in = lines_over(text[i], strlen(text[i]));
		snprintf(name, sizeof name, "f%d", i + 1);
		assert_int_equal(past_read(r, i ? "f2" : "f1", in, err), expected);
		lines_close(in);
	}
	assert_int_equal(past_finish(r), 0);
	int64_t left = past_unfinished(r);
	past_destroy(r);
	return left;
}

#define COMMON                                                                                                         \
	"user=ann group=staff account=phys jobname=sim queue=batch ctime=1000 qtime=1000 etime=1000 start=1010 owner=ann@gw "

static void test_pbs(void **state)
{
	static const char *const text[] = {
		"11/15/2026 06:42:53;Q;1.pbs;queue=batch\n"
		"11/15/2026 06:42:54;S;1.pbs;user=ann\n"
		/* TORQUE */
		"11/15/2026 06:42:53;E;1.pbs;" COMMON
		"exec_host=n1/0-3+n2/0,2 Resource_List.nodes=2:ppn=4 Resource_List.nodect=2 Resource_List.mem=8gb "
		"Resource_List.walltime=00:10:00 session=4242 end=1060 Exit_status=0 resources_used.cput=00:01:15 "
		"resources_used.mem=1024kb resources_used.vmem=2048kb resources_used.walltime=00:00:50\n"
		/* PBS Pro */
		"11/15/2026 06:42:53;E;2[3].pbs;" COMMON
		"exec_host=n1/0*8+n2/1*8 exec_vnode=(n1:ncpus=8)+(n2:ncpus=8) Resource_List.ncpus=16 Resource_List.nodect=2 "
		"Resource_List.select=2:ncpus=8 Resource_List.walltime=00:00:40 project=_pbs_project_default session=1 end=1050 "
		"Exit_status=271 resources_used.cpupercent=99 resources_used.cput=00:05:00 resources_used.mem=100kb "
		"resources_used.ncpus=16 resources_used.walltime=00:00:40 run_count=1\n"
		"11/15/2026 06:42:55;E;3.pbs;user=bob group=x queue=batch start=1010 end=1020 Exit_status=1\n"
		"torn li\n"
		"11/15/2026 06:42:56;Q;4.pbs;queue=batch\n"
		"11/15/2026 06:43:00;L;license;floating license hour:3 day:3\n",
		"11/15/2026 06:43:01;D;4.pbs;requestor=bob@gw\n"
		"11/15/2026 06:43:01;D;5.pbs;requestor=bob@gw\n"
		"11/15/2026 06:43:02;Q;6.pbs;queue=batch\n"
		"11/15/2026 06:43:03;S;6.pbs;user=ann\n"
		"11/15/2026 06:43:04;D;6.pbs;requestor=root@gw\n"
		"11/15/2026 06:43:05;E;6.pbs;user=ann group=g queue=batch ctime=1 start=2 end=3 Exit_status=271\n",
	};
	struct err err = {.text = ""};

	(void)state;
	assert_int_equal(reading(text, 2, 0, &err), 1); /* 5.pbs: nobody knows whether it ran */
	assert_string_equal(
		seen.text,
		"f1:3 pbs:1.pbs ann/staff/phys/ batch \"sim\" completed exit 0; 1000 1010 1060; 2n 6c 0g 8388608k 600s; 50000ms 75000ms 1024k; nodes=2:ppn=4,mem=8gb,walltime=00:10:00 n1/0-3+n2/0,2\n"
		"f1:4 pbs:2[3].pbs ann/staff/phys/_pbs_project_default batch \"sim\" walltime exit 271; 1000 1010 1050; 2n 16c 0g 0k 40s; 40000ms 300000ms 100k; select=2:ncpus=8,walltime=00:00:40 n1/0*8+n2/1*8\n"
		"f1:5 pbs:3.pbs bob/x// batch \"\" failed exit 1; 1010 1010 1020; 1n 1c 0g 0k 0s; 0ms 0ms 0k; - -\n"
		"f1:6 bad: not an accounting record; one begins as in 11/15/2026 06:42:53;E;12.server;\n"
		"f2:6 pbs:6.pbs ann/g// batch \"\" deleted exit 271; 1 2 3; 1n 1c 0g 0k 0s; 0ms 0ms 0k; - -\n"
		"f2:1 pbs:4.pbs bob/// batch \"\" deleted exit -3; 1794724976 0 1794724981; 1n 1c 0g 0k 0s; 0ms 0ms 0k; - -\n");
}

/* What PBS says with an exit status below 0. */
static void test_pbs_states(void **state)
{
	static const struct {
		int status;
		const char *used, *state;
	} form[] = {{-29, "24:00:01", "walltime"},    {-27, "00:10:00", "memory"},   {-10, "00:10:00", "memory"},
		    {-10, "00:00:00", "not_started"}, {-11, "00:10:00", "walltime"}, {-2, "00:00:00", "not_started"},
		    {-2, "00:10:00", "failed"},	      {265, "00:10:00", "failed"},   {137, "00:10:00", "failed"}};
	char line[400], part[40];
	const char *text = line;
	struct err err = {.text = ""};

	(void)state;
	for (size_t i = 0; i < sizeof form / sizeof *form; i++) {
		snprintf(
			line, sizeof line,
			"11/15/2026 06:42:53;E;1.pbs;" COMMON
			"account=\"A B\" exec_host=n7/2*0 end=1060 Exit_status=%d Resource_List.walltime=24:00:00 resources_used.walltime=%s\n",
			form[i].status, form[i].used);
		reading(&text, 1, 0, &err);
		snprintf(part, sizeof part, " %s exit %d;", form[i].state, form[i].status);
		if (!strstr(seen.text, part))
			fail_msg("%s is not in %s", part, seen.text);
		assert_non_null(strstr(seen.text, " 1c "));
	}
}

static void test_sacct(void **state)
{
	static const char *const text[] = {
		"JobID|JobName|User|Group|Account|Partition|Submit|Start|End|State|ExitCode|AllocCPUS|ReqCPUS|ReqMem|MaxRSS|Timelimit|NNodes|NodeList|TotalCPU|Elapsed|AllocTRES\n"
		"10|sim|ann|staff|phys|batch|2026-11-15T06:00:00|2026-11-15T06:01:00|2026-11-15T07:01:00|COMPLETED|0:0|8|8|4Gn||1-00:00:00|2|n[1-2]|02:00:00.500|01:00:00|billing=8,cpu=8,gres/gpu=2,mem=8G,node=2\n"
		"10.batch|batch|||phys||2026-11-15T06:01:00|2026-11-15T06:01:00|2026-11-15T07:01:00|COMPLETED|0:0|4|4||1.5G||1|n1|01:00:00|01:00:00|cpu=4\n"
		"10.extern|extern|||phys||2026-11-15T06:01:00|2026-11-15T06:01:00|2026-11-15T07:01:00|COMPLETED|0:0|8|8||0||2|n[1-2]|00:00:00|01:00:00|\n"
		"10.0|a.out|||phys||2026-11-15T06:01:00|2026-11-15T06:01:00|2026-11-15T07:01:00|COMPLETED|0:0|8|8||2000K||2|n[1-2]|01:00:00|01:00:00|\n"
		"11_4|array|bob|staff||batch|2026-11-15T06:00:00|2026-11-15T06:01:00|2026-11-15T06:01:30|TIMEOUT|0:15|1|1|2000Mc|12M|00:00:30|1|n3|00:29.500|00:00:30|\n"
		"12|never|bob|staff||batch|2026-11-15T06:00:00|2026-11-15T06:05:00|2026-11-15T06:05:00|CANCELLED by 1000|0:0|0|4|1G||UNLIMITED|1|None assigned|00:00:00|00:00:00|\n"
		"13|waits|bob|staff||batch|2026-11-15T06:00:00|Unknown|Unknown|PENDING|0:0|0|4|1G||UNLIMITED|1|None assigned|00:00:00|00:00:00|\n"
		"14|a|b|bob|staff||batch|2026-11-15T06:00:00|2026-11-15T06:05:00|2026-11-15T06:05:00|FAILED|0:0|0|4|1G||UNLIMITED|1|n1|00:00:00|00:00:00|\n"
		"15|odd|bob|staff||batch|2026-11-15T06:00:00|2026-11-15T06:05:00|2026-11-15T06:05:00|DANCING|0:0|0|4|1G||UNLIMITED|1|n1|00:00:00|00:00:00|\n"
		"16|rq|bob|staff||batch|2026-11-15T06:00:00|2026-11-15T06:05:00|2026-11-15T06:06:00|REQUEUED|0:9|4|4|1G||UNLIMITED|1|n1|00:00:00|00:01:00|\n",
	};
	struct err err = {.text = ""};

	(void)state;
	assert_int_equal(reading(text, 1, 0, &err), 1);
	assert_string_equal(
		seen.text,
		"f1:2 slurm:10.old ann/staff/phys/ batch \"sim\" completed exit 0; 1794722400 1794722460 1794726060; 2n 8c 2g 8388608k 86400s; 3600000ms 7200500ms 1572864k; - n[1-2]\n"
		"f1:6 slurm:11_4.old bob/staff// batch \"array\" walltime exit 271; 1794722400 1794722460 1794722490; 1n 1c 0g 2048000k 30s; 30000ms 29500ms 12288k; - n3\n"
		"f1:7 slurm:12.old bob/staff// batch \"never\" deleted exit 0; 1794722400 0 1794722700; 1n 4c 0g 1048576k 0s; 0ms 0ms 0k; - -\n"
		"f1:9 bad: 22 fields, and the head has 21 (a '|' in a name?)\n"
		"f1:10 bad: job 15: unknown state \"DANCING\"\n"
		"f1:11 slurm:16.old bob/staff// batch \"rq\" rerun again exit 265; 1794722400 1794722700 1794722760; 1n 4c 0g 1048576k 0s; 60000ms 0ms 0k; - n1\n");
}

/* Every state and flag of squeue(1) and sacct(1), as a job's last line shows it. */
static void test_sacct_states(void **state)
{
	static const struct {
		const char *slurm, *state; /* `state` NULL: it has not ended */
	} form[] = {
		{"BOOT_FAIL", "not_started"},
		{"CANCELLED", "deleted"},
		{"CANCELLED by 1000", "deleted"},
		{"CANCELLED+", "deleted"},
		{"COMPLETED", "completed"},
		{"COMPLETING", NULL},
		{"CONFIGURING", NULL},
		{"DEADLINE", "expired"},
		{"FAILED", "failed"},
		{"LAUNCH_FAILED", "not_started"},
		{"NODE_FAIL", "lost"},
		{"OUT_OF_MEMORY", "memory"},
		{"PENDING", NULL},
		{"POWER_UP_NODE", NULL},
		{"PREEMPTED", "preempted"},
		{"RECONFIG_FAIL", "not_started"},
		{"REQUEUED", "rerun"},
		{"REQUEUE_FED", NULL},
		{"REQUEUE_HOLD", NULL},
		{"RESIZING", NULL},
		{"RESV_DEL_HOLD", NULL},
		{"REVOKED", "deleted"},
		{"RUNNING", NULL},
		{"SIGNALING", NULL},
		{"SPECIAL_EXIT", "failed"},
		{"STAGE_OUT", NULL},
		{"STOPPED", NULL},
		{"SUSPENDED", NULL},
		{"TIMEOUT", "walltime"},
		{"UPDATE_DB", NULL},
	};
	char line[300], part[60];
	const char *text = line;
	struct err err = {.text = ""};

	(void)state;
	for (size_t i = 0; i < sizeof form / sizeof *form; i++) {
		snprintf(line, sizeof line,
			 "JobID|User|Submit|Start|End|State\n"
			 "1|ann|2026-11-15T06:00:00|2026-11-15T06:01:00|2026-11-15T06:02:00|%s\n",
			 form[i].slurm);
		int64_t unfinished = reading(&text, 1, 0, &err);
		snprintf(part, sizeof part, "\"\" %s%s exit 0;", form[i].state ? form[i].state : "",
			 form[i].state && strcmp(form[i].state, "rerun") == 0 ? " again" : "");
		if (unfinished != !form[i].state || (form[i].state ? !strstr(seen.text, part) : seen.n > 0))
			fail_msg("%s: %s", form[i].slurm, strbuf_text(&seen));
	}
}

static void test_refused(void **state)
{
	static const char *const form[][2] = {
		{"hello\n", "line 1: neither an accounting record of PBS"},
		{"JobID|User|State\n1|ann|COMPLETED\n", "no field Submit"},
	};
	struct err err = {.text = ""};

	(void)state;
	for (int i = 0; i < 2; i++) {
		reading(&form[i][0], 1, -EINVAL, &err);
		assert_non_null(strstr(err.text, form[i][1]));
	}
	const char *const nothing[] = {"\n\n"};
	assert_int_equal(reading(nothing, 1, 0, &err), 0);
}

static void emit(struct past_reader *r, struct past_row row)
{
	strbuf_clear(&seen);
	assert_int_equal(past_emit(r, &row, 7), 0);
}

/* What a server would not take: texts that are too long, and times in the wrong order. Numbers are
 * cut to what it takes. */
static void test_bounds(void **state)
{
	static const struct past_row usual = {
		.id = "1", .user = "ann", .state = "completed", .submitted = 1, .started = 5, .ended = 9};
	static const struct {
		size_t at, most;
	} texts[] = {
		{offsetof(struct past_row, id), 200},	   {offsetof(struct past_row, user), 200},
		{offsetof(struct past_row, group), 200},   {offsetof(struct past_row, account), 200},
		{offsetof(struct past_row, project), 200}, {offsetof(struct past_row, queue), 200},
		{offsetof(struct past_row, name), 1000},   {offsetof(struct past_row, resources), 8000},
		{offsetof(struct past_row, hosts), 64000}, {offsetof(struct past_row, text), 4000},
	};
	struct past_reader *r = past_create("old", &events);
	static char text[64002];
	struct past_row row;

	(void)state;
	r->file = "f";
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		for (int more = 0; more < 2; more++) {
			row = usual;
			memset(text, 'x', sizeof text);
			text[texts[i].most + more] = '\0';
			*(const char **)(void *)((char *)&row + texts[i].at) = text;
			emit(r, row);
			assert_int_equal(strstr(strbuf_text(&seen), "too long") != NULL, more);
		}
	for (int i = 0; i < 7; i++) {
		row = usual;
		row.user = i == 0 ? "" : row.user;
		row.submitted = i == 1 ? 0 : row.submitted;
		row.ended = i == 2 ? 0 : row.ended;
		row.started = i == 3 ? -1 : i == 4 ? 10 : i == 5 ? 9 : i == 6 ? 0 : row.started;
		emit(r, row);
		assert_int_equal(strstr(strbuf_text(&seen), "bad: ") != NULL, i < 5);
	}
	row = usual;
	row.exit_status = 100001;
	row.started = 0;
	row.ran_ms = 20000;
	row.cpu_ms = row.peak_kib = row.memory_kib = row.walltime = -1;
	emit(r, row);
	assert_string_equal(strbuf_text(&seen),
			    "f:7 1 ann///  \"\" completed exit 100000; 1 1 9; 0n 0c 0g 0k 0s; 20000ms "
			    "0ms 0k; - -\n");
	row.exit_status = -100001;
	row.ran_ms = row.cpu_ms = row.peak_kib = row.memory_kib = row.walltime = INT64_MAX;
	emit(r, row);
	assert_string_equal(strbuf_text(&seen),
			    "f:7 1 ann///  \"\" completed exit -100000; 1 1 9; 0n 0c 0g 1125899906842624k 3153600000s; "
			    "3153600000000ms 1152921504606846976ms 1125899906842624k; - -\n");
	past_destroy(r);
	strbuf_fini(&seen);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pbs),	     cmocka_unit_test(test_pbs_states), cmocka_unit_test(test_sacct),
		cmocka_unit_test(test_sacct_states), cmocka_unit_test(test_refused),	cmocka_unit_test(test_bounds),
	};

	setenv("TZ", "UTC", 1);
	tzset();
	int rc = cmocka_run_group_tests(tests, NULL, NULL);
	strbuf_fini(&seen);
	return rc;
}
