/*
 * test_run.c - orders through a real nursery: how jobs start, what they find, how they end and what
 * is said about it.
 */
#include <errno.h>
#include <fcntl.h>
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
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cmocka.h>

#include "run/identity.h"
#include "run/script.h"
#include "support/nest.h"
#include "support/skip.h"

static void ends_at(struct result r, enum result_how how, int status, enum result_cause cause, int line)
{
	if (r.how != how || r.status != status || r.cause != cause)
		fail_msg("line %d: how %d, status %d, cause %d: %s", line, r.how, r.status, r.cause,
			 r.reason ? r.reason : "");
}
#define ends(r, how, status, cause) ends_at(r, how, status, cause, __LINE__)

static void contains(const char *text, const char *part)
{
	if (!text || !strstr(text, part))
		fail_msg("'%s' does not hold '%s'", text ? text : "(nothing)", part);
}

/* ---- orders as text ---- */

static void test_order_text(void **state)
{
	struct arena *a = arena_create();
	char *argv[] = {"a b", "\"'\n", "\xff\xfe", NULL}, *env[] = {"A=\xc3\xa4", "B=\x80", NULL};
	int cpus[] = {3, 70000};
	struct order o = {.id = "1.h",
			  .tag = "1.1",
			  .user = "u",
			  .uid = 4294967294U,
			  .gid = 7,
			  .script = "/\xfe",
			  .print = {.script_sha256 = "12ab", .script_hash = INT64_MAX / 4},
			  .out = "/o",
			  .argv = argv,
			  .env = env,
			  .cpus = cpus,
			  .ncpus = 2,
			  .umask = 022,
			  .walltime = 5,
			  .manner = {.login = true}};
	struct order r;
	struct strbuf text = {0};

	order_write(&o, &text);
	assert_int_equal(order_read(text.text, text.n, a, &r, NULL), 0);
	assert_string_equal(r.script, "/\xfe");
	assert_true(r.print.script_hash == INT64_MAX / 4);
	assert_string_equal(r.print.script_sha256, "12ab");
	assert_string_equal(r.argv[2], argv[2]);
	assert_null(r.argv[3]);
	assert_string_equal(r.env[1], "B=\x80");
	assert_true(r.uid == 4294967294U && r.umask == 022 && r.manner.login && r.ncpus == 2 && r.cpus[1] == 70000);
	assert_null(r.err);
	assert_true(!r.nhosts && !r.gpu.ngpus && !r.room && !r.lease && !r.foreign.by_name && !r.foreign.nplaced &&
		    !r.part);
	strbuf_fini(&text);
	arena_destroy(a);
}

/* Every member of an order is read and written under the name that other versions know. */
static void test_order_members(void **state)
{
	static const char all[] =
		"{\"id\":\"1.h\",\"tag\":\"1.1\",\"uid\":11,\"gid\":12,\"user\":\"u\",\"home\":\"/h\",\"shell\":\"/s\","
		"\"shell_given\":true,\"login\":true,\"script\":\"/x\",\"script_sha256\":\"12ab\",\"script_hash\":13,"
		"\"argv\":[\"x\"],\"launcher\":\"/l\",\"env\":[\"A=b\"],\"workdir\":\"/w\",\"out\":\"/o\",\"err\":\"/e\","
		"\"append\":true,\"spare\":\"/sp\",\"umask\":14,\"nodefile\":\"n1\",\"nodefile_path\":\"/n\",\"tmpdir\":\"/t\","
		"\"walltime\":15,\"grace\":16,\"memory\":17,\"swap\":18,\"files\":19,\"cpus\":[3],\"share\":20,"
		"\"share_most\":21,\"share_work\":22,\"share_time\":23,\"background\":true,\"pty\":\"/p\",\"patience\":24,"
		"\"warning\":25,\"prologue\":\"/pro\",\"epilogue\":\"/epi\",\"site_seconds\":26,\"name\":\"na\",\"queue\":\"qu\","
		"\"resources\":\"re\",\"account\":\"ac\",\"part\":1,"
		"\"hosts\":[{\"name\":\"n0\",\"address\":\"h:1\",\"join\":5},{\"name\":\"n1\",\"address\":\"h:2\",\"part\":1,\"join\":6}],"
		"\"gpus\":[2],\"hide_gpus\":true,\"gpufile\":\"g\",\"lease\":27,\"by_name\":true,\"look_up\":true,\"nplaced\":1,"
		"\"ticket\":\"ti\",\"signature\":\"si\",\"deliver_for\":28,\"spool\":1,\"checkpoint\":\"script\","
		"\"saves_in\":\"sa\",\"periodic_signal\":10,\"preempt_signal\":12,\"interval\":29,\"duration\":30,\"keep\":31,"
		"\"exit_saves\":true,\"restart_argument\":true,\"from_start\":true,\"restart_of\":\"/ro\",\"saver\":\"/sv\","
		"\"restarter\":\"/rs\"}";
	struct arena *a = arena_create();
	struct strbuf text = {0};
	struct order o;
	struct err err;

	if (order_read(all, sizeof all - 1, a, &o, &err))
		fail_msg("%s", err.text);
	assert_true(o.walltime == 15 && o.grace == 16 && o.memory == 17 && o.swap == 18 && o.files == 19);
	order_write(&o, &text);
	assert_string_equal(text.text, all);
	strbuf_fini(&text);
	arena_destroy(a);
}

static void test_order_hosts(void **state)
{
	struct arena *a = arena_create();
	struct order_host hosts[] = {{"n1", "[fe80::1]:7723", 0, 5}, {"n2", "", 1, UINT64_MAX}};
	int gpus[] = {0, 3};
	struct order o = {.id = "1.h",
			  .tag = "1.1",
			  .user = "u",
			  .part = 1,
			  .room = true,
			  .out = "/o",
			  .hosts = hosts,
			  .nhosts = 2,
			  .gpu.gpus = gpus,
			  .gpu.ngpus = 2,
			  .gpu.hide_gpus = true,
			  .lease = 600,
			  .foreign.by_name = true,
			  .tmpdir = "@STATE@/tmp/1.1",
			  .foreign.nplaced = 3};
	struct order r;
	struct err err;
	struct strbuf text = {0};

	order_write(&o, &text);
	if (order_read(text.text, text.n, a, &r, &err))
		fail_msg("%s", err.text);
	assert_true(r.part == 1 && r.room && r.gpu.hide_gpus && r.lease == 600 && r.foreign.by_name &&
		    r.foreign.nplaced == 3);
	assert_true(r.gpu.ngpus == 2 && r.gpu.gpus[1] == 3 && r.nhosts == 2);
	assert_string_equal(r.hosts[0].address, "[fe80::1]:7723");
	assert_string_equal(r.hosts[1].address, "");
	assert_true(r.hosts[0].join == 5 && r.hosts[1].join == UINT64_MAX && r.hosts[1].part == 1);
	assert_null(r.out); /* a room writes nothing */

	const char *bad[] = {"a b", "a/b", "a\nb", "\xff"};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		hosts[1] = (struct order_host){"n2", bad[i], 0, 0};
		strbuf_clear(&text);
		order_write(&o, &text);
		assert_int_equal(order_read(text.text, text.n, a, &r, NULL), -EINVAL);
		hosts[1] = (struct order_host){bad[i], "", 0, 0};
		strbuf_clear(&text);
		order_write(&o, &text);
		assert_int_equal(order_read(text.text, text.n, a, &r, NULL), -EINVAL);
	}
	strbuf_fini(&text);
	arena_destroy(a);
}

static void test_order_settle(void **state)
{
	struct arena *a = arena_create();
	const struct identity who = {.uid = 5000, .gid = 6000, .home = "/home/here", .shell = "/bin/here"};
	char *env[] = {"A=@STATE@", "HOME=/elsewhere", "P=@BIN@:/bin:@RUN@/x", "Q=@STATE@", NULL};
	struct order o = {.id = "1.h",
			  .tag = "1.1",
			  .user = "someone",
			  .uid = 77777,
			  .home = "/elsewhere",
			  .shell = "/elsewhere/sh",
			  .env = env,
			  .workdir = "/w/@STATE@",
			  .out = "@STATE@/spool/o",
			  .script = "@STATE@/scripts/1.1.SC",
			  .spare = "@STATE@/spool",
			  .tmpdir = "@STATE@/tmp/1.1",
			  .terminal.pty = "@RUN@/terminal.sock",
			  .site.prologue = "/etc/prologue",
			  .foreign.by_name = true,
			  .foreign.nplaced = 2},
		     before = o;
	struct err err;

	if (order_settle(&o, "/state", "/run/x", "/bin", a, &err))
		fail_msg("%s", err.text);
	assert_string_equal(o.out, "/state/spool/o");
	assert_string_equal(o.script, "/state/scripts/1.1.SC");
	assert_string_equal(o.tmpdir, "/state/tmp/1.1");
	assert_string_equal(o.terminal.pty, "/run/x/terminal.sock");
	assert_string_equal(o.workdir, "/w/@STATE@");
	assert_string_equal(o.site.prologue, "/etc/prologue");
	assert_string_equal(o.env[0], "A=@STATE@"); /* the user's own */
	assert_string_equal(o.env[2], "P=/bin:/bin:/run/x/x");
	assert_string_equal(o.env[3], "Q=/state");
	assert_true(o.foreign.look_up && !o.foreign.by_name && !o.foreign.nplaced && !o.home); /* the nursery's to do */
	order_own(&o, &who, a);
	assert_string_equal(o.env[1], "HOME=/home/here");
	assert_string_equal(o.env[4], "SHELL=/bin/here");
	assert_null(o.env[5]);
	assert_string_equal(env[1], "HOME=/elsewhere");
	assert_true(o.uid == 5000 && o.gid == 6000 && !o.foreign.look_up);
	assert_string_equal(o.home, "/home/here");
	assert_string_equal(o.shell, "/bin/here");

	const char *bad[] = {"/etc/shadow", "@STATE@/node.key", "@STATE@/scripts/../node.key", "@RUN@/scripts/x"};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		o = before;
		o.script = bad[i];
		assert_int_equal(order_settle(&o, "/state", "/run/x", "/bin", a, &err), -EPERM);
		contains(err.text, "no place for files");
	}
	o = before;
	o.terminal.pty = "@RUN@/engine.sock"; /* the shepherd would go there as root */
	assert_int_equal(order_settle(&o, "/state", "/run/x", "/bin", a, &err), -EPERM);
	o = before;
	o.manner.shell_given = true;
	o.shell = "/bin/given";
	assert_int_equal(order_settle(&o, "/state", "/run/x", "/bin", a, &err), 0);
	order_own(&o, &who, a);
	assert_string_equal(o.shell, "/bin/given");
	arena_destroy(a);
}

static void test_order_refused(void **state)
{
	const char *bad[] = {
		"",
		"[]",
		"{}",
		"{\"id\":\"1\",\"tag\":\"1.1\",\"user\":\"u\",\"script\":\"/s\",\"out\":\"/o\"}", /* no uid */
		"{\"uid\":0,\"gid\":0,\"id\":\"1\",\"tag\":\"../x\",\"user\":\"u\",\"script\":\"/s\",\"out\":\"/o\"}",
		"{\"uid\":0,\"gid\":0,\"id\":\"1\",\"tag\":\"1.1\",\"user\":\"u\",\"script\":\"s\",\"out\":\"/o\"}",
		"{\"uid\":-1,\"gid\":0,\"id\":\"1\",\"tag\":\"1.1\",\"user\":\"u\",\"script\":\"/s\",\"out\":\"/o\"}",
		"{\"uid\":null,\"gid\":0,\"id\":\"1\",\"tag\":\"1.1\",\"user\":\"u\",\"script\":\"/s\",\"out\":\"/o\"}",
		"{\"uid\":4294967295,\"gid\":0,\"id\":\"1\",\"tag\":\"1.1\",\"user\":\"u\",\"script\":\"/s\",\"out\":\"/o\"}",
		"{\"uid\":0,\"gid\":0,\"id\":\"1\",\"tag\":\"1.1\",\"user\":\"u\",\"script\":{\"hex\":\"2f00\"},\"out\":\"/o\"}",
		"{\"uid\":0,\"gid\":0,\"id\":\"1\",\"tag\":\"1.1\",\"user\":\"u\",\"script\":\"/s\",\"out\":\"/o\",\"cpus\":[-1]}",
		"{\"uid\":0,\"gid\":0,\"id\":\"1\",\"tag\":\"1.1\",\"user\":\"u\",\"script\":\"/s\",\"out\":\"/o\",\"cpus\":[100001]}",
		"{\"uid\":0,\"gid\":0,\"id\":\"1\",\"tag\":\"1.1\",\"user\":\"u\",\"script\":\"/s\",\"out\":\"/o\",\"umask\":512}",
	};
	struct arena *a = arena_create();
	struct order o;
	struct err err;

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		assert_int_equal(order_read(bad[i], strlen(bad[i]), a, &o, &err), -EINVAL);
		assert_true(strlen(err.text) > 5);
	}
	arena_destroy(a);
}

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

/* ---- results ---- */

/* A node is not believed everything. */
static void test_results_in_bounds(void **state)
{
	static const struct {
		const char *text;
		int rc;
	} cases[] = {
		{"{\"tag\": \"1.1\", \"how\": \"exited\", \"status\": 255}", 0},
		{"{\"tag\": \"1.1\", \"how\": \"exited\", \"status\": 256}", -EINVAL},
		{"{\"tag\": \"1.1\", \"how\": \"exited\", \"status\": -1}", -EINVAL},
		{"{\"tag\": \"1.1\", \"how\": \"signaled\", \"status\": 127}", 0},
		{"{\"tag\": \"1.1\", \"how\": \"signaled\", \"status\": 128}", -EINVAL},
		{"{\"tag\": \"1.1\", \"how\": \"signaled\", \"status\": 0}", -EINVAL},
		{"{\"tag\": \"1.1\", \"how\": \"signaled\", \"status\": 2147483647}", -EINVAL},
		{"{\"tag\": \"1.1\", \"how\": \"exited\", \"status\": 0, \"cpu_ms\": 9223372036854775807}", -EINVAL},
		{"{\"tag\": \"1.1\", \"how\": \"exited\", \"status\": 0, \"ran_ms\": -1}", -EINVAL},
	};
	const struct nest *n = *state;

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct result r;
		assert_int_equal(result_read(cases[i].text, strlen(cases[i].text), n->a, &r, NULL), cases[i].rc);
	}
}

/* ---- scripts ---- */

static void test_scripts(void **state)
{
	const struct {
		const char *text;
		size_t size;
		int status;
		const char *out, *err;
	} cases[] = {
		{"", 0, 0, "", "the script is empty"},
		{"#!/bin/sh -e\nfalse; exit 0", 0, 1, "", ""},
		{"#! /usr/bin/env sh\necho $0 | grep -c sh$", 0, 0, "1\n", ""},
		{"#!/no/such/shell\n", 0, 127, "", "/no/such/shell can't be run: No such file"},
		{"#!/etc/passwd\n", 0, 126, "", "/etc/passwd can't be run: Permission denied"},
		{"#!\necho by the shell", 0, 0, "by the shell\n", ""},
		{"#!/bin/cat \r\nx\r\n", 0, 0, "#!/bin/cat \r\nx\r\n", "CR LF"},
		{"echo\0echo\n", 10, 126, "", "binary file"},
		{"#!/bin/sh\0\n", 11, 126, "", "binary file"},
		{"\x7f"
		 "ELFnonsense",
		 0, 126, "", "can't be run"},
		{"echo no newline at the end", 0, 0, "no newline at the end\n", ""},
	};
	struct nest *n = *state;

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct order o = nest_order(n, arena_printf(n->a, "%zu.1", i), "");
		nest_write(n, o.script, cases[i].text, cases[i].size ? cases[i].size : strlen(cases[i].text), 0755);
		ends(nest_run(n, &o), RESULT_EXITED, cases[i].status, CAUSE_ITSELF);
		assert_string_equal(nest_read(n, o.out), cases[i].out);
		contains(nest_read(n, o.err), cases[i].err);
	}
}

static void test_shells(void **state)
{
	struct nest *n = *state;
	struct order o = nest_order(n, "1.1", "#!/bin/sh\necho wrong");

	o.shell = "/bin/cat"; /* -S wins */
	o.manner.shell_given = true;
	ends(nest_run(n, &o), RESULT_EXITED, 0, CAUSE_ITSELF);
	assert_string_equal(nest_read(n, o.out), "#!/bin/sh\necho wrong");

	o = nest_order(n, "2.1", "echo x$LOGIN; tr '\\0' ' ' </proc/$$/cmdline");
	nest_write(n, nest_path(n, ".profile"), "LOGIN=1", 7, 0644);
	char *env[] = {"PATH=/usr/bin:/bin", arena_printf(n->a, "HOME=%s", n->work), NULL};
	o.env = env;
	o.manner.login = true;
	ends(nest_run(n, &o), RESULT_EXITED, 0, CAUSE_ITSELF);
	contains(nest_read(n, o.out), "x1\n-sh ");

	o = nest_order(n, "3.1", "x");
	o.script = nest_path(n, "missing");
	ends(nest_run(n, &o), RESULT_EXITED, 127, CAUSE_ITSELF);
	contains(nest_read(n, o.err), "missing can't be read: No such file");
	o = nest_order(n, "4.1", "x");
	assert_int_equal(chmod(o.script, 0), 0);
	if (geteuid() == 0)
		assert_int_equal(chown(o.script, 1, 1), 0); /* neither the user's nor the server's */
	ends(nest_run(n, &o), RESULT_EXITED, 126, CAUSE_ITSELF);
	contains(nest_read(n, o.err), "can't be read: Permission denied");
}

static void print_set(struct order *o, const char *text, size_t n)
{
	static struct script_print p;

	script_print_make(&p, text, n);
	o->print = (struct order_print){.script_sha256 = p.sha256, .script_hash = p.hash};
}

/* A file with another text than the one that was ordered is not run, whatever its size and time. */
static void test_script_changed(void **state)
{
	struct nest *n = *state;
	struct order o = nest_order(n, "1.1", "echo one");

	print_set(&o, "echo one", 8);
	assert_string_equal(o.print.script_sha256, "5d103558eaead1115ccc8d98a33ccff8bb622fde768a7cfcef2cc9f7cf455f49");
	ends(nest_run(n, &o), RESULT_EXITED, 0, CAUSE_ITSELF);
	assert_string_equal(nest_read(n, o.out), "one\n");

	o = nest_order(n, "2.1", "echo two");
	print_set(&o, "echo one", 8);
	struct result r = nest_run(n, &o);
	assert_int_equal(r.how, RESULT_NOT_STARTED);
	contains(r.reason, "was changed on disk");
	assert_string_equal(nest_read(n, o.out), "");

	o = nest_order(n, "3.1", "");
	print_set(&o, "", 0);
	ends(nest_run(n, &o), RESULT_EXITED, 0, CAUSE_ITSELF);

	o = nest_order(n, "4.1", "echo one");
	print_set(&o, "echo one", 8);
	o.script = nest_path(n, "missing");
	r = nest_run(n, &o);
	assert_int_equal(r.how, RESULT_NOT_STARTED);
	contains(r.reason, "can't be read");
}

/* Two texts with one 64-bit hash are not hard to make. */
static void test_script_forged(void **state)
{
	struct nest *n = *state;
	struct order o = nest_order(n, "1.1", "exit 39#PPpRJwpZ");
	struct script_print forged;

	print_set(&o, "echo 63J38H92Os8", 16);
	script_print_make(&forged, "exit 39#PPpRJwpZ", 16);
	assert_true(forged.hash == o.print.script_hash);
	struct result r = nest_run(n, &o);
	assert_int_equal(r.how, RESULT_NOT_STARTED);
	contains(r.reason, "was changed on disk");
}

/* A server of before `script_sha256` sends its hash alone: that counts then. */
static void test_script_of_older_server(void **state)
{
	struct nest *n = *state;
	struct order o = nest_order(n, "1.1", "echo one");

	print_set(&o, "echo one", 8);
	o.print.script_sha256 = NULL;
	ends(nest_run(n, &o), RESULT_EXITED, 0, CAUSE_ITSELF);
	o = nest_order(n, "2.1", "echo two");
	print_set(&o, "echo one", 8);
	o.print.script_sha256 = NULL;
	assert_int_equal(nest_run(n, &o).how, RESULT_NOT_STARTED);
}

/* ---- output ---- */

static void test_output_joined(void **state)
{
	struct nest *n = *state;
	struct order o = nest_order(n, "1.1", "echo a; echo b >&2; echo c");

	o.err = NULL;
	ends(nest_run(n, &o), RESULT_EXITED, 0, CAUSE_ITSELF);
	assert_string_equal(nest_read(n, o.out), "a\nb\nc\n");

	struct order again = nest_order(n, "1.2", "echo d; echo e >&2");
	again.out = again.err = o.out;
	again.append = true;
	ends(nest_run(n, &again), RESULT_EXITED, 0, CAUSE_ITSELF);
	assert_string_equal(nest_read(n, o.out), "a\nb\nc\nd\ne\n");

	again.tag = "1.3";
	again.append = false;
	ends(nest_run(n, &again), RESULT_EXITED, 0, CAUSE_ITSELF);
	assert_string_equal(nest_read(n, o.out), "d\ne\n");
}

static void test_output_spare(void **state)
{
	struct nest *n = *state;
	struct order o = nest_order(n, "1.1", "echo kept; echo too >&2");
	struct stat st;

	o.out = "/no/such/directory/x";
	o.err = "/proc/version"; /* nobody may write there */
	struct result r = nest_run(n, &o);
	assert_int_equal(r.status, 0);
	contains(r.reason,
		 "the output could not be written to /no/such/directory/x: No such file or directory; it is in /tmp/");
	contains(r.reason, "1.1.err");
	char *spare = arena_printf(n->a, "%s/1.1.out", n->spare);
	assert_string_equal(nest_read(n, spare), "kept\n");
	assert_string_equal(nest_read(n, arena_printf(n->a, "%s/1.1.err", n->spare)), "too\n");
	assert_int_equal(stat(spare, &st), 0);
	assert_int_equal(st.st_uid, n->uid);

	/* A pipe that nobody reads does not stop it. */
	o = nest_order(n, "2.1", "echo kept");
	o.out = nest_path(n, "pipe");
	assert_int_equal(mkfifo(o.out, 0666), 0);
	assert_int_equal(chmod(o.out, 0666), 0);
	r = nest_run(n, &o);
	contains(r.reason, "2.1.out");

	o = nest_order(n, "3.1", "exit 0");
	o.out = "/no/such/directory/x";
	o.spare = NULL;
	r = nest_run(n, &o);
	assert_int_equal(r.how, RESULT_NOT_STARTED);
	contains(r.reason, "/no/such/directory/x can't be written");
}

static void test_output_vanishes(void **state)
{
	struct nest *n = *state;
	struct order o = nest_order(n, "1.1", "mkdir -p gone; echo before; rm -r out; echo after; echo error >&2");

	assert_int_equal(mkdir(nest_path(n, "out"), 0777), 0);
	assert_int_equal(chmod(nest_path(n, "out"), 0777), 0);
	o.out = nest_path(n, "out/x");
	struct result r = nest_run(n, &o);
	assert_int_equal(r.status, 0);
	contains(r.reason, "the output could not be kept where it was: the file is gone; it is in ");
	assert_string_equal(nest_read(n, arena_printf(n->a, "%s/1.1.out", n->spare)), "before\nafter\n");
	assert_string_equal(nest_read(n, o.err), "error\n");
}

/* An order of root must not write where the user may not. */
static void test_output_rights(void **state)
{
	struct nest *n = *state;
	struct order o = nest_order(n, "1.1", "echo x");

	if (geteuid() != 0)
		skip_because("needs root");
	o.out = arena_printf(n->a, "%s/forbidden", n->dir);
	struct result r = nest_run(n, &o);
	contains(r.reason, "Permission denied");
	assert_int_equal(access(o.out, F_OK), -1);
}

/* A file that others may write to but not read: who unlinks it while his job has it open must
 * not get its text from root. */
static void test_output_of_others(void **state)
{
	struct nest *n = *state;
	struct order o = nest_order(n, "1.1", "echo mine; rm -f victim");
	const char *spare = arena_printf(n->a, "%s/1.1.out", n->spare), *text;

	if (geteuid() != 0)
		skip_because("needs root");
	o.out = nest_path(n, "victim");
	o.append = true;
	nest_write(n, o.out, "secret\n", 7, 0600);
	assert_int_equal(chown(o.out, 1, 1) || chmod(o.out, 0622), 0);
	struct result r = nest_run(n, &o);
	assert_int_equal(access(o.out, F_OK), -1);
	text = nest_read(n, spare);
	assert_true(!text || !strstr(text, "secret"));
	contains(r.reason, "the output is lost: its file is gone, and it could not be saved: Permission denied");

	/* One's own is saved also without the right to read it; what is a hole stays one. */
	o = nest_order(n, "2.1", "echo mine; chmod 200 x; truncate -s 1T x; echo end; rm x");
	o.out = nest_path(n, "x");
	r = nest_run(n, &o);
	contains(r.reason, "the output could not be kept where it was: the file is gone");
	struct stat st;
	assert_int_equal(stat(arena_printf(n->a, "%s/2.1.out", n->spare), &st), 0);
	assert_int_equal(st.st_size, (INT64_C(1) << 40) + 4);
	assert_true(st.st_blocks < 1000);
	assert_int_equal(st.st_uid, n->uid);
}

/* Where users can write anything may lie: none of it stops a job, or is written to, or becomes
 * the user's. */
static void test_output_traps(void **state)
{
	struct nest *n = *state;
	struct stat st;

	if (geteuid() != 0)
		skip_because("needs root");
	const char *theirs = arena_printf(n->a, "%s/theirs", n->dir), *link = nest_path(n, "link");
	nest_write(n, theirs, "theirs\n", 7, 0600);
	assert_int_equal(symlink(theirs, link), 0);
	struct order o = nest_order(n, "1.1", "echo x");
	o.out = link; /* a link to what only root may write */
	contains(nest_run(n, &o).reason, "Permission denied");
	assert_string_equal(nest_read(n, theirs), "theirs\n");

	o = nest_order(n, "2.1", "echo x");
	o.spare = n->work; /* links where spare output goes are not followed, and files of others are not given away */
	o.out = "/no/such/directory/x";
	assert_int_equal(symlink(theirs, nest_path(n, "2.1.out")), 0);
	assert_int_equal(nest_run(n, &o).how, RESULT_NOT_STARTED);
	o = nest_order(n, "3.1", "echo x");
	o.spare = n->work;
	o.out = "/no/such/directory/x";
	assert_int_equal(linkat(AT_FDCWD, theirs, AT_FDCWD, nest_path(n, "3.1.out"), 0), 0);
	assert_int_equal(nest_run(n, &o).how, RESULT_NOT_STARTED);
	assert_int_equal(stat(theirs, &st), 0);
	assert_int_equal(st.st_uid, 0);
	assert_string_equal(nest_read(n, theirs), "theirs\n");

	o = nest_order(n, "4.1", "echo x");
	o.out = nest_path(n, "device");
	assert_int_equal(mknod(o.out, S_IFCHR | 0600, makedev(1, 3)), 0); /* /dev/null, but root's */
	contains(nest_run(n, &o).reason, "Permission denied");
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
		cmocka_unit_test(test_order_text),
		cmocka_unit_test(test_order_refused),
		cmocka_unit_test(test_order_members),
		cmocka_unit_test(test_order_hosts),
		cmocka_unit_test(test_order_settle),
		TEST(test_exit),
		TEST(test_background),
		TEST(test_signals),
		TEST(test_walltime),
		TEST(test_other_walltime),
		TEST(test_leftovers),
		TEST(test_fork_bomb),
		TEST(test_memory),
		TEST(test_usage),
		TEST(test_environment),
		TEST(test_gpus),
		TEST(test_tmpdir),
		TEST(test_workdir),
		TEST(test_cpus),
		TEST(test_results_in_bounds),
		TEST(test_scripts),
		TEST(test_shells),
		TEST(test_script_changed),
		TEST(test_script_forged),
		TEST(test_script_of_older_server),
		TEST(test_output_joined),
		TEST(test_output_spare),
		TEST(test_output_vanishes),
		TEST(test_output_rights),
		TEST(test_output_of_others),
		TEST(test_output_traps),
		TEST(test_site),
		TEST(test_many),
	};

	return cmocka_run_group_tests_name("run", all, NULL, NULL);
}

int main(int argc, char **argv)
{
	return nest_main(argc, argv, tests);
}
