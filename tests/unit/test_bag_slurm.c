/*
 * test_bag_slurm.c - what Slurm's commands print, and what else may be there.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "bag/batch.h"
#include "bag/files.h"
#include "base/timetext.h"
#include "support/closed.h"
#include "support/words.h"

static void lines(void **state)
{
	(void)state;
	static const char text[] =
		"12|1|PENDING\n"
		"slurm_load_jobs error: Unable to contact slurm controller\n"
		"\n||\n1||RUNNING\n|1|RUNNING\n12|x|RUNNING\n12_3|1|RUNNING\n1|1\n12|12345678901|RUNNING\n"
		"13|2|RUNNING\n"
		"14|3|CONFIGURING\n"
		"15|4|COMPLETED\n"
		"16|5|NEWER_STATE\n"
		"17|6|RUNNING|None\n"
		"18|7|PENDING|Resources\n"
		"19|8|PENDING|PartitionTimeLimit\n"
		"20|9|PENDING|QOSMaxCpuPerUserLimit\n"
		"21|10|PENDING|QOSMaxCpuPerJobLimit\n"
		"24|13|PENDING|QOSMaxWallDurationPerJobLimit\n"
		"25|14|PENDING|PartitionNodeLimit\n"
		"26|15|PENDING|PartitionDown\n"
		"27|16|PENDING|AssocGrpCpuLimit\n"
		"28|1234567|RUNNING|PartitionTimeLimit\n"
		"22|11|PREEMPTED|None\n"
		"23|12|OUT_OF_MEMORY|None";
	static const struct batch_line wanted[] = {
		{.job = "12", 1, REQUEST_PENDING},
		{.job = "13", 2, REQUEST_RUNNING},
		{.job = "14", 3, REQUEST_PENDING},
		{.job = "15", 4, REQUEST_ENDED, FATE_ENDED, "COMPLETED"},
		{.job = "16", 5, REQUEST_RUNNING},
		{.job = "17", 6, REQUEST_RUNNING},
		{.job = "18", 7, REQUEST_PENDING},
		{.job = "19", 8, REQUEST_PENDING, .never = "PartitionTimeLimit (time limit)"},
		{.job = "20", 9, REQUEST_PENDING},
		{.job = "21", 10, REQUEST_PENDING, .never = "QOSMaxCpuPerJobLimit (nodes)"},
		{.job = "24", 13, REQUEST_PENDING, .never = "QOSMaxWallDurationPerJobLimit (time limit)"},
		{.job = "25", 14, REQUEST_PENDING, .never = "PartitionNodeLimit (nodes)"},
		{.job = "26", 15, REQUEST_PENDING},
		{.job = "27", 16, REQUEST_PENDING},
		{.job = "28", 1234567, REQUEST_RUNNING},
		{.job = "22", 11, REQUEST_ENDED, FATE_TAKEN, "PREEMPTED"},
		{.job = "23", 12, REQUEST_ENDED, FATE_ENDED, "OUT_OF_MEMORY"},
	};
	struct batch_line l;
	size_t at = 0, n = 0;

	for (; dialect_slurm.next("x", text, sizeof text - 1, &at, &l); n++) {
		assert_true(n < sizeof wanted / sizeof *wanted);
		assert_string_equal(l.job, wanted[n].job);
		assert_int_equal(l.number, wanted[n].number);
		assert_int_equal(l.state, wanted[n].state);
		assert_int_equal(l.fate, wanted[n].fate);
		assert_string_equal(l.outcome, wanted[n].outcome);
		assert_string_equal(l.never, wanted[n].never);
	}
	assert_int_equal(n, sizeof wanted / sizeof *wanted);
	assert_int_equal(at, sizeof text - 1);
}

/* Lines that do not fit are cut; the last one may lack its end. */
static void cut_lines(void **state)
{
	static const char text[] = "abcd\n\nefghi\nj";
	static const char *const wanted[] = {"abcd", "", "efgh", "j"};
	char line[5];
	size_t at = 0;

	for (size_t i = 0; i < 4; i++) {
		assert_true(line_next(text, sizeof text - 1, &at, line, sizeof line));
		assert_string_equal(line, wanted[i]);
	}
	assert_false(line_next(text, sizeof text - 1, &at, line, sizeof line));
}

/* Only what has ended for certain counts as ended: its nodes are removed then, and what ran
 * there may be started again. */
static void states(void **state)
{
	(void)state;
	static const char *const of[][16] = {
		[REQUEST_PENDING] = {"PENDING", "CONFIGURING", "POWER_UP_NODE", "REQUEUED", "REQUEUE_FED",
				     "REQUEUE_HOLD", "RESV_DEL_HOLD", "SPECIAL_EXIT", "EXPEDITING"},
		[REQUEST_RUNNING] = {"RUNNING", "SUSPENDED", "STOPPED", "SIGNALING", "RESIZING", "STAGE_OUT",
				     "UPDATE_DB", "COMPLETING", "A_STATE_OF_2030"},
		/* by themselves; the others were taken from the user */
		[REQUEST_ENDED] = {"COMPLETED", "FAILED", "OUT_OF_MEMORY"},
		[REQUEST_ENDED + 1] = {"CANCELLED", "TIMEOUT", "NODE_FAIL", "BOOT_FAIL", "LAUNCH_FAILED",
				       "RECONFIG_FAIL", "DEADLINE", "PREEMPTED", "REVOKED"},
	};
	static const enum request_fate fates[] = {FATE_OPEN, FATE_OPEN, FATE_ENDED, FATE_TAKEN};

	for (size_t s = 0; s < sizeof of / sizeof *of; s++)
		for (const char *const *word = of[s]; *word; word++) {
			struct batch_line l;
			char text[64];
			size_t at = 0;
			snprintf(text, sizeof text, "12|1|%s|None\n", *word);
			assert_true(dialect_slurm.next("x", text, strlen(text), &at, &l));
			if (l.state != (s > REQUEST_ENDED ? REQUEST_ENDED : s) || l.fate != fates[s])
				fail_msg("%s is %d with fate %d, not %zu", *word, l.state, l.fate, s);
			assert_string_equal(l.outcome, s < REQUEST_ENDED ? "" : *word);
		}
}

static void numbers(void **state)
{
	(void)state;
	char job[64];

	assert_true(dialect_slurm.submit_parse("123", job));
	assert_string_equal(job, "123");
	assert_true(dialect_slurm.submit_parse("124;big", job));
	assert_string_equal(job, "124");
	assert_false(dialect_slurm.submit_parse("", job));
	assert_false(dialect_slurm.submit_parse("sbatch: error: 12", job));
	assert_false(dialect_slurm.submit_parse("12 jobs", job));
	static const char longest[] = "1234567890123456789012345678901234567890123456789012345678901234";
	assert_false(dialect_slurm.submit_parse(longest, job));
	assert_true(dialect_slurm.submit_parse(longest + 1, job));
	assert_string_equal(job, longest + 1);
}

/* 16 CPUs of which 4 are down: 8 are held until 600, 2 more by jobs of another partition; behind
 * it waits a job of 10 CPUs, and our own request of 2. */
static void plan(void **state)
{
	(void)state;
	static const char text[] = "cpus|0/64/0/64|other\n"
				   "cpus|10/2/4/16|main*\n"
				   "node|8|4000|(null)\n"
				   "node|4|4000|gpu:a100:2(S:0-1),nic:1,gpu:1\n"
				   "node|8|3000|(null)\n" /* smaller than the first */
				   "node|x|3000|\n"
				   "job|RUNNING|8|10:00|1:00:00|900|(null)|a name | with a bar\n"
				   "job|PENDING|10|N/A|1-00:00:00|N/A|(null)|wide\n"
				   "job|PENDING|2|N/A|5:00|N/A|3|shunt-bag-1\n"
				   "job|PENDING|x|N/A|5:00|N/A|3|shunt-bag-1\n"
				   "not a job\n";
	struct rebuild r = {0};

	assert_int_equal(dialect_slurm.plan_parse("shunt-bag-1", text, sizeof text - 1, 1000, &r), 0);
	rebuild_plan(&r, 1000, 0);
	assert_int_equal(r.processors, 10);
	assert_int_equal(r.nodes.n, 2);
	assert_true(r.nodes.v[0].cpus == 8 && r.nodes.v[0].gpus == 0 && r.nodes.v[0].memory == 4000 * 1024);
	assert_true(r.nodes.v[1].cpus == 4 && r.nodes.v[1].gpus == 3);
	assert_int_equal(r.queued, 2);
	assert_int_equal(r.jobs.n, 3);
	assert_int_equal(r.jobs.v[1].start, 1600);
	assert_int_equal(r.jobs.v[2].number, 3);
	assert_int_equal(r.jobs.v[2].start, 1000);
	static const struct adapter_span wanted[] = {
		{1000, 1300, 0}, {1300, 1600, 2}, {1600, 88000, 0}, {88000, TIME_NEVER, 10}};
	assert_int_equal(r.free.n, 4);
	for (size_t i = 0; i < r.free.n; i++) {
		assert_int_equal(r.free.v[i].start, wanted[i].start);
		assert_int_equal(r.free.v[i].end, wanted[i].end);
		assert_int_equal(r.free.v[i].procs, wanted[i].procs);
	}
	rebuild_clear(&r);
	assert_int_equal(dialect_slurm.plan_parse("shunt-bag-1", text, sizeof text - 1, 1000, &r), 0);
	rebuild_plan(&r, 1000, 70); /* the hole ends 70 s before the next job starts */
	assert_int_equal(r.jobs.v[1].start, 1600);
	assert_int_equal(r.free.v[1].start, 1300);
	assert_int_equal(r.free.v[1].end, 1530);
	assert_int_equal(r.free.v[1].procs, 2);
	assert_int_equal(r.free.v[2].procs, 0);
	rebuild_clear(&r);
	assert_int_equal(dialect_slurm.plan_parse("x", "sinfo: error\n", 13, 1000, &r), -22);
	rebuild_fini(&r);
}

/* A job that needs more than there is takes nothing from those that can run, and has no start. */
static void too_wide(void **state)
{
	static const char text[] = "cpus|0/16/0/16|main*\n"
				   "job|PENDING|17|N/A|1:00|N/A|1|shunt-bag-1\n"
				   "job|PENDING|16|N/A|1:00|N/A|2|shunt-bag-1\n";
	struct rebuild r = {0};

	assert_int_equal(dialect_slurm.plan_parse("shunt-bag-1", text, sizeof text - 1, 1000, &r), 0);
	rebuild_plan(&r, 1000, 70);
	assert_int_equal(r.queued, 2);
	assert_int_equal(r.jobs.v[0].start, 0);
	assert_int_equal(r.jobs.v[1].start, 1000);
	assert_int_equal(r.free.n, 2);
	assert_true(r.free.v[0].end == 1060 && r.free.v[0].procs == 0);
	assert_true(r.free.v[1].end == TIME_NEVER && r.free.v[1].procs == 16);
	rebuild_fini(&r);
}

/* No more than a thousand waiting jobs are planned; those behind them are only counted. A job that
 * should have ended is given another minute. */
static void long_queue(void **state)
{
	struct strbuf text = {0};
	struct rebuild r = {0};

	strbuf_puts(&text, "cpus|1/0/0/1|main*\njob|RUNNING|1|0:00|1:00|900|(null)|a\n");
	for (int i = 0; i < REBUILD_WAITING + 2; i++)
		strbuf_puts(&text, "job|PENDING|1|N/A|1:00|N/A|(null)|b\n");
	assert_int_equal(dialect_slurm.plan_parse("x", text.text, text.n, 1000, &r), 0);
	rebuild_plan(&r, 1030, 0);
	assert_int_equal(r.queued, REBUILD_WAITING + 2);
	assert_int_equal(r.jobs.v[1].start, 1090);
	assert_int_equal(r.jobs.v[REBUILD_WAITING].start, 1090 + 60 * (REBUILD_WAITING - 1));
	assert_int_equal(r.jobs.v[REBUILD_WAITING + 1].start, 0);
	assert_int_equal(r.free.v[r.free.n - 1].start, 1090 + 60 * REBUILD_WAITING);
	assert_int_equal(r.free.v[r.free.n - 1].procs, 1);
	rebuild_fini(&r);
	strbuf_fini(&text);
}

/* Kinds of nodes are kept that no other one covers. */
static void kinds_of_nodes(void **state)
{
	static const struct {
		struct provider_node node;
		size_t n; /* kept afterwards */
	} of[] = {
		{{4, 0, 1000}, 1}, {{4, 0, 1000}, 1}, {{4, 0, 999}, 1},	 {{0, 9, 9000}, 1}, {{2, 1, 500}, 2},
		{{2, 0, 2000}, 3}, {{4, 1, 1000}, 2}, {{5, 1, 2000}, 1}, {{5, 2, 1999}, 2}, {{4, 2, 2000}, 3},
	};
	struct rebuild r = {0};

	for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
		rebuild_node(&r, &of[i].node);
		assert_int_equal(r.nodes.n, of[i].n);
	}
	rebuild_fini(&r);
}

static void commands(void **state)
{
	static const char *const partitions[][2] = {
		{"", ""},
		{"--partition=big -t 5", "big"},
		{"-t 5 -p big", "big"},
		{"-pbig", "big"},
		{"-p\t big x", "big"},
		{"--partition big", "big"},
		{"-p a --partition=b", "b"},
		{"--partitions=b", ""},
		{"--nice -x", ""},
	};
	struct batch_request r = {.name = "t", .id = 3, .chunks = 2, .each = 4, .seconds = 61, .output = "/o"};
	name_list w = {0};
	char text[64];

	(void)state;
	dialect_slurm.submit_words(&r, &w);
	words_check(&w, "sbatch --parsable --no-requeue --job-name=t --comment=3 --ntasks=2 --cpus-per-task=4 --time=2 "
			"--output=/o");
	r.gpus = 1;
	r.memory = 500;
	r.seconds = 60;
	dialect_slurm.submit_words(&r, &w);
	words_check(&w, "sbatch --parsable --no-requeue --job-name=t --comment=3 --ntasks=2 --cpus-per-task=4 "
			"--gpus-per-task=1 --time=1 --mem-per-cpu=500K --output=/o");
	dialect_slurm.list_words("t", &w);
	words_check(&w, "squeue --noheader --states=all --name=t --format=%i|%k|%T|%r");
	dialect_slurm.cancel_words(&w);
	words_check(&w, "scancel");
	dialect_slurm.shrink_words(&r, "12", &w);
	words_check(&w, "scontrol update JobId=12 NumTasks=2 NumCPUs=8");
	dialect_slurm.clear_words("t", &w);
	assert_true(w.n >= 2);
	assert_string_equal(w.v[1], "--name=t");
	assert_memory_equal(w.v[w.n - 1], "--user=", w.n > 2 ? 7 : 2);
	while (w.n)
		free(w.v[--w.n]);
	for (size_t i = 0; i < sizeof partitions / sizeof *partitions; i++) {
		dialect_slurm.plan_words(&(struct provider_options){.words = partitions[i][0]}, &w);
		snprintf(text, sizeof text, "sh -c sh %s", partitions[i][1]);
		words_check(&w, text);
	}
	vec_free(&w);
}

/* Times in all their forms; what is not one has no end. */
static void durations(void **state)
{
	static const struct {
		const char *text;
		int64_t seconds;
	} of[] = {
		{"5", 300},	    {"3:04", 184},
		{"2:03:04", 7384},  {"1-2", 93600},
		{"1-02:03", 93780}, {"1-02:03:04", 93784},
		{"UNLIMITED", -1},  {"1:2:", 62},
		{"1:2:3:4", -1},    {"x-1", -1},
		{"1234567-1", -1},  {"123456-0", 123456LL * 86400},
		{"123456789", -1},  {"12345678", 740740680},
		{"", -1},
	};
	char text[128];

	(void)state;
	for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
		struct rebuild r = {0};
		snprintf(text, sizeof text, "cpus|1/1/0/2|a*\njob|RUNNING|1|%s|%s|99999999999|7|b\n", of[i].text,
			 of[i].text);
		assert_int_equal(dialect_slurm.plan_parse("a", text, strlen(text), 1000, &r), 0);
		assert_int_equal(r.jobs.n, 1);
		assert_int_equal(r.jobs.v[0].seconds, of[i].seconds < 0 ? INT32_MAX : of[i].seconds);
		assert_int_equal(r.jobs.v[0].end, 1000 + (of[i].seconds < 0 ? INT32_MAX : of[i].seconds));
		assert_int_equal(r.jobs.v[0].start, 0);	 /* it runs */
		assert_int_equal(r.jobs.v[0].number, 0); /* another's */
		assert_int_equal(r.processors, 2);
		rebuild_fini(&r);
	}
}

static int prepare(void *arg, const struct provider_request *r, int64_t nodes, const char *key, struct strbuf *command,
		   struct err *err)
{
	(void)arg, (void)r, (void)nodes, (void)key, (void)command;
	return err_set(err, -EACCES, "not today");
}

static void over(void *arg, int id)
{
	(void)arg, (void)id;
}

static void warn(void *arg, const char *text)
{
	*(int *)arg += strstr(text, "not today") != NULL;
}

/* A request that fails is followed by a pause, which can be ended. It is counted by the clock that
 * poll() is given, wherever the wall clock is. */
static void paused(void **state)
{
	int warnings = 0;
	struct provider_user user = {.dir = "/tmp",
				     .tag = "slurm:shunt-bag-test",
				     .pace = 600,
				     .prepare = prepare,
				     .over = over,
				     .warn = warn,
				     .arg = &warnings};
	struct provider_options options = {.requests = 2, .processors = 4, .seconds = 3600};
	struct provider_limits limits;
	struct err err;

	(void)state;
	struct provider *p = provider_create("slurm", &user, &options, &err);
	assert_int_equal(p->kind->request(p, 1, 60, &err), 1);
	p->kind->poll(p, 1000);
	p->kind->limits(p, &limits);
	assert_int_equal(limits.pending, 0);
	assert_int_equal(warnings, 1);
	p->kind->resume(p);
	p->kind->limits(p, &limits);
	assert_int_equal(limits.pending, 2);
	assert_int_equal(p->kind->request(p, 1, 60, &err), 2);
	p->kind->poll(p, 1001);
	p->kind->poll(p, 1600);
	p->kind->limits(p, &limits);
	assert_int_equal(limits.pending, 0);
	p->kind->poll(p, 1601);
	p->kind->limits(p, &limits);
	assert_int_equal(limits.pending, 2);
	p->kind->destroy(p);
}

static void script(const char *dir, const char *name, const char *text)
{
	char path[256];

	snprintf(path, sizeof path, "%s/%s", dir, name);
	FILE *f = fopen(path, "w");
	fprintf(f, "#!/bin/sh\n%s", text);
	fclose(f);
	chmod(path, 0700);
}

static int prepared(void *arg, const struct provider_request *r, int64_t nodes, const char *key, struct strbuf *command,
		    struct err *err)
{
	(void)arg, (void)r, (void)nodes, (void)key, (void)command, (void)err;
	return 0;
}

/* A request that waits is made smaller where it is; one that the cluster does not change stays
 * as it was. */
static void shrunk(void **state)
{
	char dir[] = "/tmp/shunt-test-XXXXXX", path[4200];
	int warnings = 0;
	struct provider_user user = {.dir = dir,
				     .tag = "slurm:shunt-bag-test",
				     .pace = 600,
				     .prepare = prepared,
				     .over = over,
				     .warn = warn,
				     .arg = &warnings};
	struct provider_options options = {.requests = 2, .processors = 8, .seconds = 3600, .shape.each = 2};
	struct provider_request r;
	struct err err;

	(void)state;
	assert_non_null(mkdtemp(dir));
	script(dir, "sbatch", "echo 12\n");
	script(dir, "squeue", "");
	script(dir, "scontrol", "[ \"$*\" = 'update JobId=12 NumTasks=2 NumCPUs=4' ]\n");
	snprintf(path, sizeof path, "%s:%s", dir, getenv("PATH"));
	setenv("PATH", path, 1);
	struct provider *p = provider_create("slurm", &user, &options, &err);
	assert_int_equal(p->kind->request(p, 8, 60, &err), 1);
	do {
		p->kind->poll(p, 1000);
		usleep(1000);
	} while (p->kind->look(p, 1, &r) && strcmp(r.name, "12") != 0);
	p->kind->shrink(p, 1, 4);
	do {
		p->kind->poll(p, 1000);
		usleep(1000);
	} while (p->kind->look(p, 1, &r) && r.processors == 8);
	assert_int_equal(r.processors, 4);
	p->kind->shrink(p, 1, 6); /* it has less already */
	p->kind->shrink(p, 1, 1); /* nothing would fit into it */
	p->kind->poll(p, 1000);
	p->kind->look(p, 1, &r);
	assert_int_equal(r.processors, 4);
	p->kind->destroy(p);
	files_remove(dir);
}

static void count_over(void *arg, int id)
{
	*(int *)arg += id == 1;
}

static void ignore(void *arg, const char *text)
{
	(void)arg, (void)text;
}

/* Polls at `now` until scancel was called that many times. */
static void poll_until_cancelled(struct provider *p, const char *dir, int64_t now, int times)
{
	char path[256], line[64];

	snprintf(path, sizeof path, "%s/cancelled", dir);
	for (int n = 0; n < times; usleep(1000)) {
		p->kind->poll(p, now);
		FILE *f = fopen(path, "r");
		for (n = 0; f && fgets(line, sizeof line, f); n++)
			assert_memory_equal(line, "12", 2);
		if (f)
			fclose(f);
	}
}

/* Polls at `now` until squeue was called that many times. */
static void poll_until_listed(struct provider *p, const char *dir, int64_t now, int times)
{
	char path[256];
	struct stat st = {0};

	snprintf(path, sizeof path, "%s/listed", dir);
	for (; stat(path, &st) < 0 || st.st_size < 2 * times; usleep(1000))
		p->kind->poll(p, now);
}

/* A request is missing when several listings in a row did not have it, after `seen` that did, not
 * when the clock has jumped. Its
 * end is a failure, after which the next request waits, unless a worker came. */
static void missing(bool joined, int seen)
{
	char dir[] = "/tmp/shunt-test-XXXXXX", path[4200], text[256];
	int told = 0, n;
	int64_t now = (int64_t)time(NULL);
	struct provider_user user = {.dir = dir,
				     .tag = "slurm:shunt-bag-test",
				     .pace = 600,
				     .prepare = prepared,
				     .over = count_over,
				     .warn = ignore,
				     .arg = &told};
	struct provider_options options = {.requests = 1, .processors = 8, .seconds = 3600, .shape.each = 1};
	struct provider_limits limits;
	struct provider_request r;
	struct err err;

	assert_non_null(mkdtemp(dir));
	script(dir, "sbatch", "echo 12\n");
	script(dir, "scancel", "true\n");
	snprintf(text, sizeof text,
		 "cd %s; : >>listed; [ $(wc -l <listed) -ge %d ] || echo '12|1|PENDING|None'; echo x >>listed\n", dir,
		 seen);
	script(dir, "squeue", text);
	snprintf(path, sizeof path, "%s:%s", dir, getenv("PATH"));
	setenv("PATH", path, 1);
	struct provider *p = provider_create("slurm", &user, &options, &err);
	assert_int_equal(p->kind->request(p, 8, 60, &err), 1);
	for (n = 1; n <= 4; n++) /* the last one begins when the one before was read */
		poll_until_listed(p, dir, now + (int64_t)n * 86400, n);
	p->kind->look(p, 1, &r);
	assert_int_equal(r.state, REQUEST_PENDING);
	if (joined)
		p->kind->joined(p, 1);
	p->kind->look(p, 1, &r);
	assert_int_equal(r.state, joined ? REQUEST_RUNNING : REQUEST_PENDING);
	for (; r.state != REQUEST_ENDED && n < 20; n++) {
		poll_until_listed(p, dir, now + (int64_t)n * 86400, n);
		p->kind->look(p, 1, &r);
	}
	assert_int_equal(r.state, REQUEST_ENDED);
	p->kind->limits(p, &limits);
	assert_int_equal(limits.pending, joined ? 1 : 0);
	if (joined)
		assert_string_equal(r.failure, "");
	else
		assert_non_null(strstr(r.failure, "job 12 ended before a worker came"));
	p->kind->destroy(p);
	files_remove(dir);
}

static void missing_by_listings(void **state)
{
	(void)state;
	missing(false, 0);
}

static void missing_after_it_was_listed(void **state)
{
	(void)state;
	missing(false, 2);
}

static void missing_after_a_worker_came(void **state)
{
	(void)state;
	missing(true, 0);
}

/* A request that is cancelled as one that waits has started meanwhile: it is over, its workers
 * may not come any more, and it is cancelled for as long as the cluster lists it. */
static void cancelled_when_it_starts(void **state)
{
	char dir[] = "/tmp/shunt-test-XXXXXX", path[4200], text[128];
	int told = 0;
	int64_t now = (int64_t)time(NULL);
	struct provider_user user = {.dir = dir,
				     .tag = "slurm:shunt-bag-test",
				     .pace = 600,
				     .prepare = prepared,
				     .over = count_over,
				     .warn = ignore,
				     .arg = &told};
	struct provider_options options = {.requests = 1, .processors = 8, .seconds = 3600, .shape.each = 1};
	struct provider_request r;
	struct provider_limits limits;
	struct err err;

	(void)state;
	assert_non_null(mkdtemp(dir));
	script(dir, "sbatch", "echo 12\n");
	script(dir, "squeue", "echo '12|1|RUNNING|None'\n");
	snprintf(text, sizeof text, "echo \"$*\" >> %s/cancelled\n", dir);
	script(dir, "scancel", text);
	snprintf(path, sizeof path, "%s:%s", dir, getenv("PATH"));
	setenv("PATH", path, 1);
	struct provider *p = provider_create("slurm", &user, &options, &err);
	assert_int_equal(p->kind->request(p, 8, 60, &err), 1);
	do {
		p->kind->poll(p, now);
		usleep(1000);
	} while (p->kind->look(p, 1, &r) && strcmp(r.name, "12") != 0);
	assert_int_equal(r.state, REQUEST_PENDING);
	p->kind->cancel(p, 1);
	p->kind->limits(p, &limits);
	assert_int_equal(limits.pending, 1); /* another may take its place */
	poll_until_cancelled(p, dir, now, 1);
	poll_until_cancelled(p, dir, now + 600, 2);
	p->kind->look(p, 1, &r);
	assert_int_equal(r.state, REQUEST_ENDED);
	assert_int_equal(told, 1);
	p->kind->destroy(p);
	files_remove(dir);
}

/* What an earlier process had requested continues: what is alive until it is listed no longer, on
 * as many processors as a request has at least. New requests get the next numbers. */
static void adopted(void **state)
{
	char dir[] = "/tmp/shunt-test-XXXXXX", path[4200];
	static const int live[] = {2, 3};
	int told = 0;
	struct provider_user user = {.dir = dir,
				     .tag = "slurm:shunt-bag-test",
				     .prepare = prepared,
				     .over = count_over,
				     .warn = ignore,
				     .arg = &told};
	struct provider_options options = {
		.requests = 3, .processors = 8, .seconds = 3600, .shape.each = 4, .last = 3, .live = live, .nlive = 2};
	struct provider_request r = {0};
	struct err err;

	assert_non_null(mkdtemp(dir));
	script(dir, "squeue", "echo '12|2|RUNNING|None'; echo '13|3|PENDING|None'\n");
	snprintf(path, sizeof path, "%s:%s", dir, getenv("PATH"));
	setenv("PATH", path, 1);
	struct provider *p = provider_create("slurm", &user, &options, &err);
	for (int id = 1; id <= 3; id++) {
		assert_true(p->kind->look(p, id, &r));
		assert_int_equal(r.state, id == 1 ? REQUEST_ENDED : REQUEST_PENDING);
		assert_int_equal(r.processors, 4);
		assert_int_equal(r.seconds, 3600);
		assert_true(r.joined);
	}
	while (r.state != REQUEST_RUNNING) {
		p->kind->poll(p, (int64_t)time(NULL));
		usleep(1000);
		p->kind->look(p, 2, &r);
	}
	assert_string_equal(r.name, "12");
	p->kind->look(p, 3, &r);
	assert_int_equal(r.state, REQUEST_PENDING);
	assert_string_equal(r.name, "13");
	assert_int_equal(p->kind->request(p, 8, 60, &err), 4);
	p->kind->destroy(p);
	files_remove(dir);
}

static void keep_last(void *arg, const char *text)
{
	snprintf(arg, 256, "%s", text);
}

/* Commands that are not there: the warnings, and what becomes of requests. */
static void absent_commands(void **state)
{
	char dir[] = "/tmp/shunt-test-XXXXXX", last[256] = "", *path = strdup(getenv("PATH"));
	struct provider_user user = {.dir = dir,
				     .tag = "slurm:shunt-bag-test",
				     .pace = 600,
				     .prepare = prepared,
				     .over = over,
				     .warn = keep_last,
				     .arg = last};
	struct provider_options options = {.requests = 2, .processors = 8, .seconds = 3600, .shape.each = 1};
	struct provider_plan known;
	struct provider_request r;
	struct err err;

	assert_non_null(mkdtemp(dir));
	setenv("PATH", dir, 1);
	struct provider *p = provider_create("slurm", &user, &options, &err);
	assert_int_equal(p->kind->plan(p, &known, &err), -EAGAIN);
	assert_int_equal(p->kind->request(p, 8, 60, &err), 1);
	p->kind->poll(p, 1000);
	assert_true(p->kind->look(p, 1, &r));
	assert_int_equal(r.state, REQUEST_FAILED);
	assert_string_equal(r.failure, "sbatch: No such file or directory");
	assert_string_equal(last, "slurm: sbatch: No such file or directory; the next request is made in 600 s at the "
				  "earliest");
	p->kind->poll(p, 1000); /* is its job listed after all? */
	p->kind->poll(p, 1000);
	p->kind->poll(p, 20000);
	assert_int_equal(p->kind->plan(p, &known, &err), -ENOTSUP);
	p->kind->resume(p);
	script(dir, "sbatch", "echo 12\n");
	assert_int_equal(p->kind->request(p, 8, 60, &err), 2);
	for (*r.name = '\0'; strcmp(r.name, "12") != 0; usleep(1000)) {
		p->kind->poll(p, 20000);
		assert_true(p->kind->look(p, 2, &r));
	}
	p->kind->shrink(p, 2, 4);
	p->kind->poll(p, 20000);
	assert_true(p->kind->look(p, 2, &r) && r.processors == 8 && r.state == REQUEST_PENDING);
	p->kind->cancel(p, 2);
	p->kind->poll(p, 20000);
	assert_true(p->kind->look(p, 2, &r) && r.state == REQUEST_ENDED && r.fate == FATE_TAKEN);
	p->kind->destroy(p);
	assert_int_equal(provider_clear("slurm:shunt-bag-test", &err), -ENOENT);
	assert_string_equal(err.text, "scancel: No such file or directory");
	script(dir, "scancel", "echo first; echo 'no\a way'; exit 1\n");
	assert_int_equal(provider_clear("slurm:shunt-bag-test", &err), -EIO);
	assert_string_equal(err.text, "scancel, jobs shunt-bag-test: no? way");
	script(dir, "scancel", "true\n");
	assert_int_equal(provider_clear("slurm:shunt-bag-test", &err), 0);
	setenv("PATH", path, 1);
	free(path);
	files_remove(dir);
}

/* Commands that fail: listings are made less often, and a request that was refused has failed. */
static void failing_commands(void **state)
{
	char dir[] = "/tmp/shunt-test-XXXXXX", last[256] = "", path[4200], text[300];
	static const int waits[] = {500, 600, 600};
	struct provider_user user = {.dir = dir,
				     .tag = "slurm:shunt-bag-test",
				     .pace = 250,
				     .prepare = prepared,
				     .over = over,
				     .warn = keep_last,
				     .arg = last};
	struct provider_options options = {.requests = 2, .processors = 8, .seconds = 3600, .shape.each = 1};
	struct provider_request r;
	struct err err;
	int64_t now = 1000;

	assert_non_null(mkdtemp(dir));
	script(dir, "sbatch", "echo; echo 'sbatch: error: no account'; exit 1\n");
	script(dir, "squeue", "echo 'no controller'; exit 1\n");
	snprintf(path, sizeof path, "%s:%s", dir, getenv("PATH"));
	setenv("PATH", path, 1);
	struct provider *p = provider_create("slurm", &user, &options, &err);
	assert_int_equal(p->kind->request(p, 8, 60, &err), 1);
	for (r.state = REQUEST_PENDING; r.state == REQUEST_PENDING; usleep(1000)) {
		p->kind->poll(p, now);
		assert_true(p->kind->look(p, 1, &r));
	}
	assert_int_equal(r.state, REQUEST_FAILED);
	assert_string_equal(r.failure, "sbatch: sbatch: error: no account");
	assert_string_equal(
		last, "slurm: sbatch: sbatch: error: no account; the next request is made in 250 s at the earliest");
	for (size_t i = 0; i < sizeof waits / sizeof *waits; i++) {
		*last = '\0';
		for (; !*last; usleep(1000)) /* while it may have a job after all */
			p->kind->poll(p, now);
		snprintf(text, sizeof text, "slurm: squeue: no controller; it is called again in %d s", waits[i]);
		assert_string_equal(last, text);
		now += waits[i];
	}
	p->kind->destroy(p);
	files_remove(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(lines),
					   cmocka_unit_test(cut_lines),
					   cmocka_unit_test(states),
					   cmocka_unit_test(numbers),
					   cmocka_unit_test(commands),
					   cmocka_unit_test(durations),
					   cmocka_unit_test(plan),
					   cmocka_unit_test(too_wide),
					   cmocka_unit_test(long_queue),
					   cmocka_unit_test(kinds_of_nodes),
					   cmocka_unit_test(paused),
					   cmocka_unit_test(shrunk),
					   cmocka_unit_test(missing_by_listings),
					   cmocka_unit_test(missing_after_it_was_listed),
					   cmocka_unit_test(missing_after_a_worker_came),
					   cmocka_unit_test(adopted),
					   cmocka_unit_test(cancelled_when_it_starts),
					   cmocka_unit_test(absent_commands),
					   cmocka_unit_test(failing_commands),
					   CLOSED_TEST};

	return cmocka_run_group_tests(tests, closed_begin, NULL);
}
