/* test_orders.c - orders and results as text. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "run/identity.h"
#include "support/nest.h"

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

#define TEST(f) cmocka_unit_test_setup_teardown(f, nest_setup, nest_teardown)

static int tests(void)
{
	const struct CMUnitTest all[] = {
		cmocka_unit_test(test_order_text),    cmocka_unit_test(test_order_members),
		cmocka_unit_test(test_order_hosts),   cmocka_unit_test(test_order_settle),
		cmocka_unit_test(test_order_refused), TEST(test_results_in_bounds),
	};

	return cmocka_run_group_tests_name("orders", all, NULL, NULL);
}

int main(int argc, char **argv)
{
	return nest_main(argc, argv, tests);
}
