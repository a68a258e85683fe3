/*
 * test_run.c - orders through a real nursery: how jobs start, what they find, how they end and what
 * is said about it.
 */
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "support/nest.h"

/* ---- ends ---- */

static void test_exit(void **state)
{
	struct nest *n = *state;
	struct result r = nest_script(n, "1.1", "echo hello; echo oops >&2; exit 3");

	ends(r, RESULT_EXITED, 3, CAUSE_ITSELF);
	assert_null(r.reason);
	assert_true(r.session > 0 && r.started_us > 0 && r.ended_us >= r.started_us && r.memory_kib > 0);
	assert_true(r.ran_ms > 0);
	assert_string_equal(nest_read(n, nest_path(n, "1.1.out")), "hello\n");
	assert_string_equal(nest_read(n, nest_path(n, "1.1.err")), "oops\n");

	struct stat st;
	assert_int_equal(stat(nest_path(n, "1.1.out"), &st), 0);
	assert_int_equal(st.st_uid, n->uid);
	assert_int_equal(st.st_mode & 0777, 0600);

	r = nest_script(n, "2.1", "kill -SEGV $$");
	ends(r, RESULT_SIGNALED, SIGSEGV, CAUSE_ITSELF);

	/* Both are on disk until someone removes them. */
	pid_t pid;
	assert_int_equal(live_look(n->live, "1.1", n->a, &r, &pid), LIVE_ENDED);
	assert_int_equal(r.status, 3);
	live_remove(n->live, "1.1");
	assert_int_equal(live_look(n->live, "1.1", n->a, &r, &pid), LIVE_NONE);
}

/* On a workstation: SCHED_IDLE, also for what it starts. */
static void test_background(void **state)
{
	struct nest *n = *state;
	struct order o = nest_order(n, "1.1", "cut -d ' ' -f 41 /proc/self/stat");

	o.share.background = true;
	nest_send(n, &o);
	ends(nest_result(n, "1.1"), RESULT_EXITED, 0, CAUSE_ITSELF);
	assert_string_equal(nest_read(n, nest_path(n, "1.1.out")), "5\n");
}

static void test_signals(void **state)
{
	struct nest *n = *state;
	struct order o =
		nest_order(n, "1.1", "trap 'echo usr' USR2; sleep 100 & echo $! >child; while :; do wait; done");

	nest_send(n, &o);
	nest_await(n, nest_path(n, "child"));
	pid_t child = atoi(nest_read(n, nest_path(n, "child")));
	nest_signal(n, "1.1", SIGSTOP);
	for (int i = 0; i < 6000; i++) {
		char *stat = nest_read(n, arena_printf(n->a, "/proc/%d/stat", child));
		if (stat && strstr(stat, ") T "))
			break;
		usleep(5000);
	}
	contains(nest_read(n, arena_printf(n->a, "/proc/%d/stat", child)), ") T ");
	nest_signal(n, "1.1", SIGCONT);
	nest_signal(n, "1.1", SIGUSR2); /* ends the child, which has no trap */
	nest_await(n, nest_path(n, "1.1.out"));
	nest_signal(n, "1.1", SIGKILL);
	ends(nest_result(n, "1.1"), RESULT_SIGNALED, SIGKILL, CAUSE_ORDERED);
	nest_await_dead(child);

	o = nest_order(n, "2.1", "echo x; exec sleep 100");
	nest_send(n, &o);
	nest_await(n, o.out);
	nest_signal(n, "2.1", SIGTERM);
	ends(nest_result(n, "2.1"), RESULT_SIGNALED, SIGTERM, CAUSE_ORDERED);
	nest_signal(n, "2.1", SIGTERM); /* too late, and harmless; so are those who never were */
	nest_signal(n, "3.1", SIGTERM);
	ends(nest_script(n, "4.1", "exit 0"), RESULT_EXITED, 0, CAUSE_ITSELF);
}

static void test_walltime(void **state)
{
	struct nest *n = *state;
	struct order o = nest_order(n, "1.1", "trap 'echo asked; exit 9' TERM; sleep 100 & wait");

	o.walltime = 1;
	ends(nest_run(n, &o), RESULT_EXITED, 9, CAUSE_WALLTIME);
	assert_string_equal(nest_read(n, o.out), "asked\n");
	long long used, limit;
	assert_int_equal(
		sscanf(nest_read(n, o.err), "=>> PBS: job killed: walltime %lld exceeded limit %lld\n", &used, &limit),
		2);
	assert_true(used >= 1 && limit == 1);

	o = nest_order(n, "2.1",
		       "trap '' TERM; i=0; while [ $i -lt 50000 ]; do i=$((i+1)); done; while :; do sleep 1; done");
	o.walltime = 2;
	o.grace = 1;
	o.err = NULL; /* joined */
	ends(nest_run(n, &o), RESULT_SIGNALED, SIGKILL, CAUSE_WALLTIME);
	contains(nest_read(n, o.out), "=>> PBS: job killed: walltime ");
	contains(nest_read(n, o.out), " exceeded limit 2\n");
	/* Its usage is reported while it runs. */
	assert_true(n->used.how == RESULT_RUNS && n->used.cpu_ms > 0 && n->used.memory_kib > 0);

	/* One that is stopped also hears it. */
	o = nest_order(n, "3.1", "kill -STOP $$");
	o.walltime = 1;
	ends(nest_run(n, &o), RESULT_SIGNALED, SIGTERM, CAUSE_WALLTIME);
}

/* Another walltime while it runs, and before it does; a later one replaces it. */
static void test_other_walltime(void **state)
{
	struct nest *n = *state;
	struct order o = nest_order(n, "1.1", "echo up; sleep 100");
	char *prologue = arena_printf(n->a, "%s/prologue", n->dir);

	o.walltime = 100;
	nest_send(n, &o);
	nest_await(n, o.out);
	nest_limit(n, "1.1", 90);
	nest_limit(n, "1.1", 1);
	ends(nest_result(n, "1.1"), RESULT_SIGNALED, SIGTERM, CAUSE_WALLTIME);
	contains(nest_read(n, o.err), " exceeded limit 1\n");

	o = nest_order(n, "2.1", "sleep 4; exit 3"); /* longer */
	o.walltime = 3;
	nest_send(n, &o);
	nest_answer(n, ANSWER_STARTED, "2.1");
	nest_limit(n, "2.1", INT64_C(1) << 40);
	ends(nest_result(n, "2.1"), RESULT_EXITED, 3, CAUSE_ITSELF);

	o = nest_order(n, "3.1", "sleep 100"); /* while the prologue runs */
	o.walltime = 100;
	o.site.prologue = prologue;
	nest_write(n, prologue, "#!/bin/sh\necho x; sleep 1", 25, 0755);
	nest_send(n, &o);
	nest_await(n, o.out);
	nest_limit(n, "3.1", 1);
	ends(nest_result(n, "3.1"), RESULT_SIGNALED, SIGTERM, CAUSE_WALLTIME);

	o = nest_order(n, "4.1", "sleep 100"); /* with a lease it is waited for in another way */
	o.walltime = 100;
	o.lease = 600;
	nest_send(n, &o);
	nest_answer(n, ANSWER_STARTED, "4.1");
	nest_limit(n, "4.1", 1);
	ends(nest_result(n, "4.1"), RESULT_SIGNALED, SIGTERM, CAUSE_WALLTIME);
}

static void test_leftovers(void **state)
{
	struct nest *n = *state;
	struct result r =
		nest_script(n, "1.1",
			    "setsid sh -c 'trap \"\" TERM HUP; echo $$ >stubborn; while :; do sleep 1; done' &\n"
			    "(setsid sh -c 'echo $$ >daemon; exec env -i sleep 1000' </dev/null >/dev/null 2>&1 &)\n"
			    "while [ ! -s stubborn ] || [ ! -s daemon ]; do sleep 0.01; done; exit 5");

	ends(r, RESULT_EXITED, 5, CAUSE_ITSELF);
	assert_false(nest_alive(atoi(nest_read(n, nest_path(n, "daemon")))));
	assert_false(nest_alive(atoi(nest_read(n, nest_path(n, "stubborn")))));
}

/* More processes than one pass over the tree would catch. */
static void test_fork_bomb(void **state)
{
	struct nest *n = *state;
	struct order o = nest_order(
		n, "1.1",
		"echo 'n=$1; [ $n -gt 0 ] && { sh bomb $((n-1)) & sh bomb $((n-1)) & }; trap \"\" TERM; echo x >>log;"
		" while :; do sleep 1; done' >bomb\n sh bomb 4");

	nest_send(n, &o);
	nest_await(n, nest_path(n, "log"));
	nest_signal(n, "1.1", SIGKILL);
	ends(nest_result(n, "1.1"), RESULT_SIGNALED, SIGKILL, CAUSE_ORDERED);
}

static void test_memory(void **state)
{
	struct nest *n = *state;
	struct order o = nest_order(n, "1.1", "x=$(head -c 200000000 /dev/zero | tr '\\0' x); sleep 100");

	o.memory = 50 * 1024;
	struct result r = nest_run(n, &o);
	assert_int_equal(r.cause, CAUSE_MEMORY);
	contains(r.reason, "its limit is 50 MB");
	contains(nest_read(n, o.err), "=>> PBS: job killed: mem ");
	contains(nest_read(n, o.err), "kb exceeded limit 51200kb\n");
	assert_true(r.memory_kib > 50 * 1024);

	o = nest_order(n, "2.1", "sleep 0.6; exit 4");
	o.memory = 50 * 1024;
	ends(nest_run(n, &o), RESULT_EXITED, 4, CAUSE_ITSELF);
	assert_string_equal(nest_read(n, o.err), "");
}

static void test_usage(void **state)
{
	struct nest *n = *state;
	struct result r = nest_script(n, "1.1", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done & wait");

	ends(r, RESULT_EXITED, 0, CAUSE_ITSELF);
	assert_true(r.cpu_ms >= 10);
}

/* ---- what a job finds ---- */

static void test_environment(void **state)
{
	struct nest *n = *state;
	struct order o = nest_order(
		n, "1-3.1",
		"#!/bin/sh\necho \"$1|$2|$A|$PBS_NODEFILE|$TMPDIR|$SHUNT_TAG\"; cat $PBS_NODEFILE; ls -ld $TMPDIR | cut -c1-10; "
		"mkdir -p $TMPDIR/a/b; touch $TMPDIR/a/b/c; umask; pwd; id -u; cat; ulimit -n");
	char *env[] = {"PATH=/usr/bin:/bin", "A=x y", "SHUNT_TAG=false", NULL}, *argv[] = {"one 1", "two\n2", NULL};
	char *nodes = arena_printf(n->a, "%s/nodes", n->dir), *tmp = arena_printf(n->a, "%s/tmp-1", n->dir);

	assert_int_equal(mkdir(nodes, 0755), 0);
	o.id = "1[3].host";
	o.env = env;
	o.argv = argv;
	o.nodefile = "n1\nn1\nn2\n";
	o.nodefile_path = arena_printf(n->a, "%s/1[3].host", nodes);
	o.tmpdir = tmp;
	o.umask = 027;
	o.files = 77;
	ends(nest_run(n, &o), RESULT_EXITED, 0, CAUSE_ITSELF);
	assert_string_equal(nest_read(n, o.out),
			    arena_printf(n->a,
					 "one 1|two\n2|x y|%s|%s|1-3.1@%s\nn1\nn1\nn2\ndrwx------\n0027\n%s\n%u\n77\n",
					 o.nodefile_path, tmp, n->live, n->work, (unsigned)n->uid));
	assert_string_equal(nest_read(n, o.err), "");
	assert_int_equal(access(o.nodefile_path, F_OK), -1);
	assert_int_equal(access(tmp, F_OK), -1);
}

static void test_gpus(void **state)
{
	struct nest *n = *state;
	const char *show = "env | grep -E '^(CUDA_VISIBLE|ROCR|GPU)' | sort";
	char *env[] = {"PATH=/usr/bin:/bin", "CUDA_VISIBLE_DEVICES=all", NULL};
	struct order o = nest_order(n, "1.1", show);
	int gpus[] = {0, 2};

	o.env = env;
	o.gpu.gpus = gpus;
	o.gpu.ngpus = 2;
	nest_run(n, &o);
	assert_string_equal(nest_read(n, o.out),
			    "CUDA_VISIBLE_DEVICES=0,2\nGPU_DEVICE_ORDINAL=0,2\nROCR_VISIBLE_DEVICES=0,2\n");
	o = nest_order(n, "2.1", show);
	o.env = env;
	o.gpu.hide_gpus = true;
	nest_run(n, &o);
	assert_string_equal(nest_read(n, o.out), "CUDA_VISIBLE_DEVICES=\nGPU_DEVICE_ORDINAL=\nROCR_VISIBLE_DEVICES=\n");
	o = nest_order(n, "3.1", show);
	o.env = env;
	nest_run(n, &o);
	assert_string_equal(nest_read(n, o.out), "CUDA_VISIBLE_DEVICES=all\n");
}

/* Whatever a job does to it, its directory for temporary files goes; and none that is not its
 * own is touched. */
static void test_tmpdir(void **state)
{
	struct nest *n = *state;
	char *tmp = arena_printf(n->a, "%s/tmp", n->dir), *keep = nest_path(n, "keep");
	struct stat st;

	assert_int_equal(mkdir(tmp, 0711), 0);
	nest_write(n, keep, "kept", 4, 0666);
	struct order o =
		nest_order(n, "1.1",
			   "cd $TMPDIR && mkdir -p a/b/c d/e && touch a/b/c/f d/e/g && chmod 0 a/b/c a/b a d/e && "
			   "ln -s $HOME/keep l && ln -s $HOME dir && ln -s / d/root && mkfifo p && "
			   "deep() { i=0; while [ $i -lt 300 ]; do mkdir dddddddddd && cd dddddddddd || exit 1; "
			   "i=$((i+1)); done; }; mkdir x y && (cd x && deep) && "
			   "(cd y && deep && mv $TMPDIR/x . && chmod 0 .) && chmod 0 $TMPDIR && exit 7");
	char *env[] = {"PATH=/usr/bin:/bin", arena_printf(n->a, "HOME=%s", n->work), NULL};
	o.env = env;
	o.tmpdir = arena_printf(n->a, "%s/1.1", tmp);
	ends(nest_run(n, &o), RESULT_EXITED, 7, CAUSE_ITSELF);
	assert_int_equal(access(o.tmpdir, F_OK), -1);
	assert_string_equal(nest_read(n, keep), "kept");

	o = nest_order(n, "2.1", "ls -A $TMPDIR"); /* left by an attempt that was killed */
	o.tmpdir = arena_printf(n->a, "%s/2.1", tmp);
	assert_int_equal(mkdir(o.tmpdir, 0700), 0);
	nest_write(n, arena_printf(n->a, "%s/old", o.tmpdir), "x", 1, 0644);
	if (geteuid() == 0) {
		assert_int_equal(chown(o.tmpdir, n->uid, n->gid), 0);
		assert_int_equal(chown(arena_printf(n->a, "%s/old", o.tmpdir), n->uid, n->gid), 0);
	}
	ends(nest_run(n, &o), RESULT_EXITED, 0, CAUSE_ITSELF);
	assert_int_equal(rmdir(tmp), 0); /* nothing is left in it */

	if (geteuid() == 0) { /* empty, and root's: not to be given away, nor removed */
		assert_int_equal(mkdir(tmp, 0755), 0);
		o = nest_order(n, "3.1", "exit 0");
		o.tmpdir = tmp;
		assert_int_equal(nest_run(n, &o).how, RESULT_NOT_STARTED);
		assert_int_equal(stat(tmp, &st), 0);
		assert_true(st.st_uid == 0 && (st.st_mode & 0777) == 0755);
	}
}

static void test_workdir(void **state)
{
	struct nest *n = *state;
	struct order o = nest_order(n, "1.1", "pwd");

	o.workdir = "/does/not exist";
	ends(nest_run(n, &o), RESULT_EXITED, 0, CAUSE_ITSELF);
	assert_string_equal(nest_read(n, o.out), arena_printf(n->a, "%s\n", n->work));
	contains(nest_read(n, o.err), "shunt: the working directory /does/not exist can't be entered (No such file");

	o = nest_order(n, "2.1", "pwd");
	o.workdir = o.home = "/nowhere";
	ends(nest_run(n, &o), RESULT_EXITED, 0, CAUSE_ITSELF);
	assert_string_equal(nest_read(n, o.out), "/\n");
}

static void test_cpus(void **state)
{
	struct nest *n = *state;
	struct order o = nest_order(n, "1.1", "grep Cpus_allowed_list /proc/self/status | cut -f2");
	cpu_set_t set;
	int cpu = 0;

	assert_int_equal(sched_getaffinity(0, sizeof set, &set), 0);
	for (int i = 0; i < CPU_SETSIZE; i++)
		cpu = CPU_ISSET(i, &set) ? i : cpu;
	o.cpus = &cpu;
	o.ncpus = 1;
	ends(nest_run(n, &o), RESULT_EXITED, 0, CAUSE_ITSELF);
	assert_string_equal(nest_read(n, o.out), arena_printf(n->a, "%d\n", cpu));

	int none = 9999;
	o = nest_order(n, "2.1", "exit 0");
	o.cpus = &none;
	o.ncpus = 1;
	ends(nest_run(n, &o), RESULT_EXITED, 0, CAUSE_ITSELF);
	contains(nest_read(n, o.err), "can't be bound to its CPUs");
}

/* ---- the site's scripts ---- */

static void test_site(void **state)
{
	struct nest *n = *state;
	struct order o = nest_order(n, "1.1", "echo job; exit 7");
	char *prologue = arena_printf(n->a, "%s/prologue", n->dir),
	     *epilogue = arena_printf(n->a, "%s/epilogue", n->dir);
	const char *text = "#!/bin/sh\necho \"$(basename $0) $# $1 $4 $6\"; echo $(id -u) $5 >&2; [ \"$4\" != bad ]";

	nest_write(n, prologue, text, strlen(text), 0755);
	nest_write(n, epilogue, text, strlen(text), 0755);
	o.site.prologue = prologue;
	o.site.epilogue = epilogue;
	o.site.name = "name";
	o.site.queue = "batch";
	o.site.resources = "nodes=1";
	ends(nest_run(n, &o), RESULT_EXITED, 7, CAUSE_ITSELF);
	contains(nest_read(n, o.out), "prologue 7 1.1.host name batch\njob\nepilogue 10 1.1.host name nodes=1\n");
	contains(nest_read(n, o.err), arena_printf(n->a, "%u nodes=1\n", (unsigned)geteuid()));

	o.tag = "2.1";
	o.site.name = "bad";
	struct result r = nest_run(n, &o);
	assert_int_equal(r.how, RESULT_NOT_STARTED);
	contains(r.reason, "prologue left with exit code 1");
	assert_null(strstr(nest_read(n, o.out), "job"));

	o.tag = "3.1";
	o.site.prologue = NULL;
	r = nest_run(n, &o);
	ends(r, RESULT_EXITED, 7, CAUSE_ITSELF);
	contains(r.reason, "epilogue left with exit code 1");

	o.tag = "4.1";
	nest_write(n, prologue, "#!/bin/sh\nsleep 100", 19, 0755);
	o.site.prologue = prologue;
	o.site.site_seconds = 1;
	r = nest_run(n, &o);
	contains(r.reason, "took more than 1 s");

	o.tag = "5.1";
	o.site.site_seconds = 0;
	nest_send(n, &o);
	nest_answer(n, ANSWER_STARTED, "5.1");
	nest_signal(n, "5.1", SIGKILL);
	r = nest_result(n, "5.1");
	assert_int_equal(r.how, RESULT_NOT_STARTED);
	assert_int_equal(r.cause, CAUSE_ORDERED);
}

static void test_many(void **state)
{
	struct nest *n = *state;
	struct strbuf out = {0};

	for (int i = 0; i < 200; i++) {
		struct order o = nest_order(n, arena_printf(n->a, "%d.1", i), arena_printf(n->a, "exit %d", i));
		nursery_order(&o, &out);
	}
	nest_frames(n, &out);
	for (int i = 0; i < 200; i++) {
		const char *tag = arena_printf(n->a, "%d.1", i);
		ends(nest_result(n, tag), RESULT_EXITED, i, CAUSE_ITSELF);
		nest_answer(n, ANSWER_DIED, tag);
	}
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, nest_setup, nest_teardown)

static int tests(void)
{
	const struct CMUnitTest all[] = {
		TEST(test_exit),	   TEST(test_background),  TEST(test_signals),	 TEST(test_walltime),
		TEST(test_other_walltime), TEST(test_leftovers),   TEST(test_fork_bomb), TEST(test_memory),
		TEST(test_usage),	   TEST(test_environment), TEST(test_gpus),	 TEST(test_tmpdir),
		TEST(test_workdir),	   TEST(test_cpus),	   TEST(test_site),	 TEST(test_many),
	};

	return cmocka_run_group_tests_name("run", all, NULL, NULL);
}

int main(int argc, char **argv)
{
	return nest_main(argc, argv, tests);
}
