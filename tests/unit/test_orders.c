/* test_orders.c - orders and results as text. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "run/identity.h"
#include "run/message.h"
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
		"\"walltime\":15,\"grace\":16,\"memory\":17,\"swap\":18,\"disk\":118,\"files\":19,\"cpus\":[3],\"share\":20,"
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
	assert_true(o.walltime == 15 && o.grace == 16 && o.memory == 17 && o.swap == 18 && o.disk == 118 &&
		    o.files == 19);
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

	/* the directories that this host makes files in for jobs */
	static const char *const good[] = {"@STATE@/scripts", "@STATE@/nodes/x", "@STATE@/tmp/x", "@STATE@/spool/x",
					   "@STATE@/undelivered/x"};
	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		o = before;
		o.script = o.spare = o.nodefile_path = o.tmpdir = good[i];
		assert_int_equal(order_settle(&o, "/state", "/run/x", "/bin", a, &err), 0);
		assert_memory_equal(o.nodefile_path, "/state/", 7);
	}
	for (int i = 0; i < 3; i++) {
		o = before;
		*(i == 0 ? &o.spare : i == 1 ? &o.nodefile_path : &o.tmpdir) = "/etc";
		assert_int_equal(order_settle(&o, "/state", "/run/x", "/bin", a, &err), -EPERM);
		assert_string_equal(o.script, before.script); /* it stays as it was */
	}
	o = before;
	o.foreign.by_name = false; /* an order of this machine's server: its paths are its own */
	o.script = "/etc/x";
	o.foreign.nplaced = 99;
	assert_int_equal(order_settle(&o, "/state", "/run/x", "/bin", a, &err), 0);
	assert_true(!o.foreign.look_up);
	assert_string_equal(o.home, "/elsewhere");
	assert_string_equal(o.env[0], "A=/state");
	assert_string_equal(o.site.prologue, "/etc/prologue");
	o = before;
	o.foreign.nplaced = -1;
	assert_int_equal(order_settle(&o, "/state", "/run/x", "/bin", a, &err), 0);
	assert_string_equal(o.env[3], "Q=@STATE@");
	const char *bad[] = {"/etc/shadow", "@STATE@/node.key", "@STATE@/scripts/../node.key", "@RUN@/scripts/x",
			     "@STATE@/scripts2/x"};
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

/* Every limit of an order, from both sides. A row without a message is accepted; in it, `~` stands
 * for `n` times an x. */
static void test_order_limits(void **state)
{
#define TAG "\"tag\":\"1.1\","
#define PLACED TAG "\"id\":\"1\",\"script\":\"/s\",\"out\":\"/o\","
#define SAVES PLACED "\"checkpoint\":\"signal\",\"duration\":1,"
#define FILE_OF(use, path, host, title, address, more)                                                                 \
	PLACED "\"carried\":[{\"use\":\"" use "\",\"path\":\"" path "\",\"host\":\"" host "\",\"title\":\"" title      \
	       "\",\"address\":\"" address "\",\"join\":1" more "}],"
	static const struct {
		const char *members;
		int n;
		const char *message;
	} cases[] = {
		{PLACED, 0, NULL},
		{TAG "\"script\":\"/s\",\"out\":\"/o\",", 0, "id, tag and user are needed"},
		{"\"id\":\"1\",\"script\":\"/s\",\"out\":\"/o\",", 0, "id, tag and user are needed"},
		{TAG "\"id\":\"\",\"script\":\"/s\",\"out\":\"/o\",", 0, "id, tag and user are needed"},
		{"\"tag\":\"\",\"id\":\"1\",\"script\":\"/s\",\"out\":\"/o\",", 0, "the tag '' can't be"},
		{"\"tag\":\".1\",\"id\":\"1\",\"script\":\"/s\",\"out\":\"/o\",", 0, "the tag '.1' can't be"},
		{"\"tag\":\"a/b\",\"id\":\"1\",\"script\":\"/s\",\"out\":\"/o\",", 0, "the tag 'a/b' can't be"},
		{"\"tag\":\"~\",\"id\":\"1\",\"script\":\"/s\",\"out\":\"/o\",", 200, NULL},
		{"\"tag\":\"~\",\"id\":\"1\",\"script\":\"/s\",\"out\":\"/o\",", 201, "can't be the name of a file"},
		{TAG "\"id\":\"1\",\"out\":\"/o\",", 0, "script and out are needed"},
		{TAG "\"id\":\"1\",\"script\":\"/s\",", 0, "script and out are needed"},
		{TAG "\"id\":\"1\",\"pty\":\"/p\",", 0, NULL},
		{TAG "\"id\":\"1\",\"room\":true,\"pty\":\"no path\",", 0, NULL}, /* which it ignores */
		{PLACED "\"spool\":3,\"spare\":\"/x\",", 0, NULL},
		{PLACED "\"spool\":4,\"spare\":\"/x\",", 0, "spool 4, and"},
		{PLACED "\"spool\":1,", 0, "spool 1, and there is no directory for it"},
		{SAVES "\"saves_in\":\"~\",", 3800, NULL},
		{SAVES "\"saves_in\":\"~\",", 3801, "a checkpoint needs a directory and a duration"},
		{SAVES "\"saves_in\":\"\",", 0, "a checkpoint needs a directory and a duration"},
		{SAVES, 0, "a checkpoint needs a directory and a duration"},
		{PLACED "\"checkpoint\":\"script\",\"saves_in\":\"d\",", 0, "a checkpoint needs a directory"},
		{PLACED "\"checkpoint\":\"script\",\"saves_in\":\"d\",\"duration\":2147483647,\"interval\":2147483647,",
		 0, NULL},
		{PLACED "\"checkpoint\":\"script\",\"saves_in\":\"d\",\"duration\":2147483648,", 0,
		 "a checkpoint needs"},
		{SAVES "\"saves_in\":\"d\",\"interval\":2147483648,", 0, "a checkpoint needs"},
		{PLACED "\"periodic_signal\":64,\"preempt_signal\":64,", 0, NULL},
		{PLACED "\"periodic_signal\":65,", 0, "signals of checkpoints are 1 to 64"},
		{PLACED "\"preempt_signal\":65,", 0, "signals of checkpoints are 1 to 64"},
		{PLACED
		 "\"checkpoint\":\"criu\",\"duration\":1,\"saves_in\":\"@IMAGES@/a\",\"restart_of\":\"@IMAGES@/b\",",
		 0, NULL},
		{PLACED "\"checkpoint\":\"criu\",\"duration\":1,\"saves_in\":\"/a\",", 0,
		 "'/a' can't be a place for images"},
		{PLACED "\"checkpoint\":\"criu\",\"duration\":1,\"saves_in\":\"@IMAGES@/a\",\"restart_of\":\"/b\",", 0,
		 "can't be a place for images"},
		{PLACED "\"checkpoint\":\"criu\",\"duration\":1,\"saves_in\":\"@IMAGES@/a/b\",", 0, "can't be a place"},
		{PLACED "\"checkpoint\":\"criu\",\"duration\":1,\"saves_in\":\"@IMAGES@/.\",", 0, "can't be a place"},
		{PLACED "\"restart_of\":\"@IMAGES@/b\",", 0, "restart_of '@IMAGES@/b' is not an absolute path"},
		{PLACED "\"part\":100000,", 0, NULL},
		{PLACED "\"part\":100001,", 0, "100001 can't be a part"},
		{PLACED "\"umask\":511,", 0, NULL},
		{PLACED "\"umask\":512,", 0, "umask 1000 is not one"},
		{PLACED "\"gpus\":[100000],", 0, NULL},
		{PLACED "\"gpus\":[0,100001],", 0, "gpus[1] must be at most 100000"},
		{PLACED "\"home\":\"/~\",", 4094, NULL},
		{PLACED "\"home\":\"/~\",", 4095, "order: home '/xxx"},
		{PLACED "\"tmpdir\":\"@STATE@/x\",", 0, "tmpdir '@STATE@/x' is not an absolute path"},
		{PLACED "\"by_name\":true,\"tmpdir\":\"@STATE@/x\",\"spare\":\"@RUN@/x\",\"shell\":\"@BIN@/x\",", 0,
		 NULL},
		{PLACED "\"by_name\":true,\"tmpdir\":\"@STATE@\",", 0, "is not an absolute path"},
		{FILE_OF("out", "p", "h", "t", "a", ""), 0, NULL},
		{FILE_OF("in", "p", "h", "t", "a", ",\"here\":\"x\""), 0, NULL},
		{FILE_OF("in", "p", "h", "t", "a", ""), 0, "carried[0]: paths and hosts of this file can't be"},
		{FILE_OF("in", "p", "h", "t", "a", ",\"here\":\"\""), 0, "carried[0]"},
		{FILE_OF("in", "p", "h", "t", "a", ",\"here\":\"~\""), 4095, NULL},
		{FILE_OF("in", "p", "h", "t", "a", ",\"here\":\"~\""), 4096, "carried[0]"},
		{FILE_OF("err", "p", "h", "t", "a", ",\"here\":\"x\""), 0, "carried[0]"},
		{FILE_OF("out", "", "h", "t", "a", ""), 0, "carried[0]"},
		{FILE_OF("out", "~", "h", "t", "a", ""), 4095, NULL},
		{FILE_OF("out", "~", "h", "t", "a", ""), 4096, "carried[0]"},
		{FILE_OF("out", "p", "h h", "t", "a", ""), 0, "carried[0]"},
		{FILE_OF("out", "p", "h", "t/t", "a", ""), 0, "carried[0]"},
		{FILE_OF("out", "p", "h", "t", "a a", ""), 0, "carried[0]"},
		{FILE_OF("out", "p", "~", "t", "a", ""), 255, NULL},
		{FILE_OF("out", "p", "~", "t", "a", ""), 256, "carried[0]"},
	};
	struct strbuf text = {0};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct arena *a = arena_create();
		struct order o;
		struct err err = {.text = ""};
		strbuf_clear(&text);
		strbuf_puts(&text, "{");
		for (const char *p = cases[i].members; *p; p++)
			for (int k = *p == '~' ? cases[i].n : 1; k > 0; k--)
				strbuf_add(&text, *p == '~' ? "x" : p, 1);
		strbuf_puts(&text, "\"uid\":1,\"gid\":1,\"user\":\"u\"}");
		int rc = order_read(text.text, text.n, a, &o, &err);
		if (rc != (cases[i].message ? -EINVAL : 0))
			fail_msg("%s: %d, %s", cases[i].members, rc, err.text);
		if (cases[i].message)
			contains(err.text, cases[i].message);
		arena_destroy(a);
	}
	strbuf_fini(&text);
}

/* ---- frames ---- */

static void test_frames(void **state)
{
	struct strbuf out = {0};
	const char *text;
	size_t length, at;
	char kind;

	at = message_begin(&out, FRAME_LOOK);
	strbuf_puts(&out, "{}");
	message_end(&out, at);
	at = message_begin(&out, FRAME_CLEAN);
	for (int i = 0; i < 1000; i++)
		strbuf_puts(&out, "x");
	message_end(&out, at);
	assert_int_equal(at, 7);
	for (size_t n = 0; n < 7; n++)
		assert_int_equal(message_next(out.text, n, &kind, &text, &length), 0);
	assert_int_equal(message_next(out.text, out.n, &kind, &text, &length), 7);
	assert_true(kind == FRAME_LOOK && length == 2 && memcmp(text, "{}", 2) == 0);
	assert_int_equal(message_next(out.text + 7, out.n - 7, &kind, &text, &length), 1005);
	assert_true(kind == FRAME_CLEAN && length == 1000);
	strbuf_fini(&out);
	assert_int_equal(message_next("\0\0\0\0x", 5, &kind, &text, &length), -EMSGSIZE);
	assert_int_equal(message_next("\0\0\0\1x", 5, &kind, &text, &length), 0); /* the longest, not whole */
	assert_int_equal(message_next("\1\0\0\1x", 5, &kind, &text, &length), -EMSGSIZE);
}

/* Which requests have a tag, which a path and an owner, and that a missing uid is not root's. */
static void test_requests(void **state)
{
#define WHO "\"user\":\"u\",\"path\":\"/p\",\"uid\":1,\"gid\":2"
	static const struct {
		const char *kinds, *text;
		int rc;
	} cases[] = {
		{"scg", "{\"tag\":\"1.1\"}", 0},
		{"scge", "{\"tag\":\"\"," WHO "}", -EINVAL},
		{"scge", "{\"tag\":\".1\"," WHO "}", -EINVAL},
		{"scge", "{\"tag\":\"a/b\"," WHO "}", -EINVAL},
		{"scge", "{" WHO "}", -EINVAL},
		{"fl", "{" WHO "}", 0},
		{"e", "{\"tag\":\"1.1\"," WHO "}", 0},
		{"e", "{\"tag\":\"1.1\"}", -EINVAL},
		{"oarx", "{\"tag\":\"1.1\"," WHO "}", -EINVAL},
		{"fle", "{\"tag\":\"1.1\",\"path\":\"/p\",\"uid\":1,\"gid\":2}", -EINVAL},
		{"fle", "{\"tag\":\"1.1\",\"user\":\"u\",\"uid\":1,\"gid\":2}", -EINVAL},
		{"fle", "{\"tag\":\"1.1\",\"user\":\"u\",\"path\":\"/p\",\"uid\":1}", -EINVAL},
		{"fle", "{\"tag\":\"1.1\",\"user\":\"u\",\"path\":\"/p\",\"gid\":1}", -EINVAL},
		{"fle", "{\"tag\":\"1.1\",\"user\":\"u\",\"path\":\"/p\"}", 0}, /* by name */
		{"fle", "{\"tag\":\"1.1\",\"user\":\"u\",\"path\":\"/p\",\"uid\":4294967295,\"gid\":4294967295}",
		 -EINVAL},
		{"s", "{\"tag\":\"1.1\"", -EINVAL},
	};
	const struct nest *n = *state;
	struct strbuf out = {0};
	struct request q;

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		for (const char *kind = cases[i].kinds; *kind; kind++)
			if (request_read(*kind, cases[i].text, strlen(cases[i].text), n->a, &q) != cases[i].rc)
				fail_msg("%c %s: not %d", *kind, cases[i].text, cases[i].rc);
	assert_int_equal(request_read('l', cases[13].text, strlen(cases[13].text), n->a, &q), 0);
	assert_true(q.uid == BY_NAME && q.gid == (gid_t)-1);
	nursery_open(77, 1, 2, "u", "/p", 3, 0640, &out);
	assert_int_equal(request_read('f', out.text + 5, out.n - 5, n->a, &q), 0);
	assert_true(q.id == 77 && q.uid == 1 && q.gid == 2 && q.flags == 3 && q.mode == 0640 && !q.from);
	strbuf_clear(&out);
	nursery_rename(78, &(struct nursery_user){BY_NAME, 5, "u"}, "/a", "/b", &out);
	assert_int_equal(request_read('f', out.text + 5, out.n - 5, n->a, &q), 0);
	assert_true(q.id == 78 && q.uid == BY_NAME && q.gid == (gid_t)-1);
	assert_string_equal(q.from, "/a");
	assert_string_equal(q.path, "/b");
	strbuf_clear(&out);
	nursery_signal("1.1", -30, &out);
	assert_int_equal(out.text[4], FRAME_SIGNAL);
	assert_int_equal(request_read('s', out.text + 5, out.n - 5, n->a, &q), 0);
	assert_int_equal(q.signal, -30);
	strbuf_clear(&out);
	nursery_clean("1.1", &out);
	assert_int_equal(out.text[4], FRAME_CLEAN);
	assert_int_equal(request_read('c', out.text + 5, out.n - 5, n->a, &q), 0);
	assert_int_equal(q.signal, SIGKILL);
	assert_string_equal(order_tag("{\"tag\":\"1.1\"}", 13, n->a), "1.1");
	assert_string_equal(order_tag("{\"tag\":1}", 9, n->a), "");
	assert_string_equal(order_tag("nothing", 7, n->a), "");
	strbuf_fini(&out);
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
		cmocka_unit_test(test_order_refused), cmocka_unit_test(test_order_limits),
		cmocka_unit_test(test_frames),	      TEST(test_requests),
		TEST(test_results_in_bounds),
	};

	return cmocka_run_group_tests_name("orders", all, NULL, NULL);
}

int main(int argc, char **argv)
{
	return nest_main(argc, argv, tests);
}
