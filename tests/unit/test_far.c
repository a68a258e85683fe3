/*
 * test_far.c - the spool of an agent on another host, as commands use it: agents that refuse,
 * break off or say what makes no sense, and what is left in files. The agents are child processes
 * in the place of shunt-connect.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "base/descriptors.h"
#include "base/fdio.h"
#include "base/file.h"
#include "base/frame.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "client/client_internal.h"
#include "client/far.h"
#include "tls/pki.h"

#define PRINT "0123456789abcdef0123456789abcdef"
#define TOKEN "l1.secret." PRINT
#define OFFER                                                                                                          \
	"{\"t\":\"offer\",\"tray\":\"gabc\",\"next\":1,\"server\":\"pine\",\"lease\":\"L1\",\"cluster\":\"" PRINT "\"}"
#define READY "{\"t\":\"ready\"}"

/* ---- agents ---- */

/* What an agent says: its greeting, then frames, and one after a whole change. */
struct agent {
	const char *where, *greeting;
	struct {
		const char *head, *data;
	} says[8];
	const char *answer; /* NULL: it closes the connection */
};

static const struct agent *agents; /* ends with one without an address */
static char dir[64];
static int calls;

static void frame_send(int fd, const char *head, const char *data)
{
	struct strbuf out = {0};

	frame_put(&out, head, strlen(head), data ? data : "", data ? strlen(data) : 0);
	if (fd_write(fd, out.text, out.n) < 0)
		_exit(1);
	strbuf_fini(&out);
}

/* Reads a frame. Returns its head, and appends its data. */
static json_t *frame_await(int fd, struct strbuf *in, struct strbuf *data)
{
	const char *head, *more;
	size_t nhead, n;
	char part[65536];
	ssize_t took;

	while ((took = frame_next(in->text, in->n, 2 << 20, &head, &nhead, &more, &n)) == 0) {
		ssize_t got = read(fd, part, sizeof part);
		if (got <= 0)
			_exit(0);
		strbuf_add(in, part, (size_t)got);
	}
	if (took < 0)
		_exit(1);
	json_t *o = json_loadb(head, nhead, 0, NULL);
	strbuf_add(data, more, n);
	memmove(in->text, in->text + took, in->n - (size_t)took);
	in->n -= (size_t)took;
	return o;
}

/* Writes the change that it gets to the file `kept`, and before that the name of the view. */
static void agent_run(const struct agent *a, int fd)
{
	struct strbuf in = {0}, data = {0};
	json_int_t size;
	char path[100];

	if (fd_write(fd, a->greeting, strlen(a->greeting)) < 0 || strncmp(a->greeting, "ok ", 3) != 0)
		_exit(0);
	json_t *o = frame_await(fd, &in, &data);
	if (strcmp(json_string_value(json_object_get(o, "t")), "spool") != 0 ||
	    strcmp(json_string_value(json_object_get(o, "view")), "mine") != 0)
		_exit(1);
	for (size_t i = 0; i < 8 && a->says[i].head; i++)
		frame_send(fd, a->says[i].head, a->says[i].data);
	do {
		o = frame_await(fd, &in, &data);
		size = json_integer_value(json_object_get(o, "size"));
	} while ((json_int_t)data.n < size);
	snprintf(path, sizeof path, "%s/kept", dir);
	file_replace(path, 0600, data.text, data.n, 0);
	if (a->answer)
		frame_send(fd, a->answer, NULL);
	_exit(0);
}

int __wrap_connect_start(char *const *argv, const char *ca_text, pid_t *ret, struct err *err);
int __wrap_connect_start(char *const *argv, const char *ca_text, pid_t *ret, struct err *err)
{
	const struct agent *a = agents;
	int fd[2];

	calls++;
	assert_string_equal(ca_text, "the authority");
	assert_string_equal(argv[1], "--agent");
	while (a->where && strcmp(a->where, argv[4]) != 0)
		a++;
	if (!a->where)
		return err_set(err, -ENOENT, "no program");
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd), 0);
	*ret = fork();
	assert_true(*ret >= 0);
	if (*ret == 0) {
		close(fd[0]);
		agent_run(a, fd[1]);
	}
	close(fd[1]);
	return fd[0];
}

int __wrap_text_seal(const struct token *t, const char *text, char ret[SEAL_SIZE], struct err *err);
int __wrap_text_seal(const struct token *t, const char *text, char ret[SEAL_SIZE], struct err *err)
{
	assert_string_equal(t->id, "l1");
	assert_string_equal(text, TRAY_VIEW);
	strcpy(ret, "mine");
	return 0;
}

/* ---- the user's files ---- */

static const char *path_of(const char *name)
{
	static char path[4][200];
	static int turn;

	snprintf(path[turn = (turn + 1) % 4], sizeof *path, "%s/shunt/spool/pine/%s", dir, name);
	return path[turn];
}

static void put(const char *name, const char *text)
{
	assert_int_equal(file_replace(path_of(name), 0600, text, strlen(text), 0), 0);
}

/* Compares a file; NULL: there is none. */
static void file_is(const char *name, const char *expected)
{
	struct strbuf text = {0};
	int rc = file_read(*name == '/' ? name : path_of(name), 0, 4 << 20, &text);

	assert_int_equal(rc < 0 ? rc : 0, expected ? 0 : -ENOENT);
	if (expected)
		assert_string_equal(strbuf_text(&text), expected);
	strbuf_fini(&text);
}

static struct far *f;
static int descriptors;

static int setup(void **state)
{
	char path[] = "/tmp/shunt-far-XXXXXX";

	if (!mkdtemp(path))
		return -1;
	snprintf(dir, sizeof dir, "%s", path);
	setenv("XDG_STATE_HOME", dir, 1);
	calls = 0;
	descriptors = descriptors_left();
	f = far_create("pine", "the authority", TOKEN);
	return f ? 0 : -1;
}

static int teardown(void **state)
{
	char command[100];

	far_free(f);
	snprintf(command, sizeof command, "rm -r %s", dir);
	if (system(command) != 0 || descriptors_left() != descriptors)
		return -1;
	return 0;
}

static void learn(const char *whoami)
{
	json_t *o = json_loads(whoami, 0, NULL);

	assert_non_null(o);
	far_learn(f, o);
	json_decref(o);
}

static void opens_not(int code, const char *why)
{
	struct offer offer;
	struct err err = {.text = ""};

	assert_int_equal(far_open(f, &offer, &err), code);
	assert_string_equal(err.text, why);
	file_is("offer", NULL);
}

/* ---- the list of agents ---- */

static void agents_are_learned(void **state)
{
	time_t now = time(NULL);

	assert_int_equal(far_wait(f), -1);
	assert_false(far_is_due(f));
	opens_not(-ENOENT, "no agent is known that could keep it");
	learn("{\"spools\":[],\"spool_wait\":5}");
	assert_int_equal(far_wait(f), -1);
	learn("{\"spools\":[\"-\"],\"spool_wait\":5}");
	opens_not(-ENOENT, "no agent is known that could keep it");
	learn("{\"spools\":[\"-\",\"a:1\"],\"spool_wait\":7}");
	assert_int_equal(far_wait(f), 7);
	assert_false(far_is_due(f));
	for (int i = 0; i < 3; i++) {
		const time_t at[] = {now - 86400 - 60, now - 86400 + 600, now + 3600};
		const struct timespec t[2] = {{.tv_sec = at[i]}, {.tv_sec = at[i]}};
		assert_int_equal(utimensat(AT_FDCWD, path_of("spools"), t, 0), 0);
		assert_int_equal(far_is_due(f), i != 1);
	}
	put("offer", "{}");
	far_forget("pine");
	file_is("spools", NULL);
	file_is("offer", NULL);
	assert_int_equal(calls, 0);
}

/* ---- offers ---- */

static void agents_fail(void **state)
{
	static const struct agent bad[] = {
		{"refuses:1", "error no host of that name\n", {{NULL, NULL}}, NULL},
		{"ends:1", "ok", {{NULL, NULL}}, NULL},
		{"mute:1", "ok mute\n", {{READY, NULL}}, NULL},
		{"stranger:1",
		 "ok x\n",
		 {{"{\"t\":\"offer\",\"tray\":\"gabc\",\"next\":1,\"server\":\"x\",\"lease\":\"L\",\"cluster\":\"other\"}",
		   NULL},
		  {READY, NULL}},
		 NULL},
		{"open:1",
		 "ok x\n",
		 {{"{\"t\":\"offer\",\"tray\":\"gabc\",\"next\":1,\"server\":\"x\",\"cluster\":\"" PRINT "\"}", NULL},
		  {READY, NULL}},
		 NULL},
		{"climbs:1",
		 "ok x\n",
		 {{"{\"t\":\"offer\",\"tray\":\"../x\",\"next\":1,\"server\":\"x\",\"lease\":\"L\",\"cluster\":\"" PRINT
		   "\"}",
		   NULL},
		  {READY, NULL}},
		 NULL},
		{"full:1", "ok x\n", {{"{\"t\":\"refused\",\"why\":\"the disk is full\"}", NULL}}, NULL},
		{"odd:1", "ok x\n", {{"{\"t\":\"tea\",\"why\":\"it is late\"}", NULL}}, NULL},
		{"noise:1", "ok x\n", {{"no json", NULL}}, NULL},
		{0},
	};

	agents = bad;
	learn("{\"spools\":[\"refuses:1\",\"ends:1\",\"mute:1\",\"stranger:1\",\"nobody:1\"],\"spool_wait\":1}");
	opens_not(-ENOENT, "refuses:1: no host of that name; ends:1: it closed the connection; "
			   "mute:1: it has nothing to offer; stranger:1: it belongs to another cluster; "
			   "nobody:1: no program");
	learn("{\"spools\":[\"open:1\",\"climbs:1\",\"full:1\",\"odd:1\",\"noise:1\"],\"spool_wait\":1}");
	opens_not(-EPROTO, "open:1: it belongs to another cluster; climbs:1: the spool's offer names no tray; "
			   "full:1: the disk is full; odd:1: it says something that is not expected; "
			   "noise:1: it says something that can't be understood");
	calls = 0;
	learn("{\"spools\":[\"a\",\"b\",\"c\",\"d\",\"e\",\"f\",\"g\",\"h\",\"i\",\"j\"],\"spool_wait\":1}");
	opens_not(-ENOENT, "a: no program; b: no program; c: no program; d: no program; e: no program; "
			   "f: no program; g: no program; h: no program");
	assert_int_equal(calls, 8);
}

/* The first agent that answers counts; its views replace those before. */
static void offer_is_taken(void **state)
{
	static const struct agent good[] = {
		{"away:1", "error away\n", {{NULL, NULL}}, NULL},
		{"here:1",
		 "ok here\n",
		 {{"{\"t\":\"view\",\"name\":\"all\",\"size\":7,\"at\":0}", "one,"},
		  {"{\"t\":\"view\",\"name\":\"all\",\"size\":7,\"at\":4}", "two"},
		  {OFFER, NULL},
		  {"{\"t\":\"view\",\"name\":\"mine\",\"size\":4}", "jobs"},
		  {"{\"t\":\"view\",\"name\":\"others\",\"size\":4}", "jobs"},
		  {"{\"t\":\"view\",\"name\":\"mine\",\"size\":99999999999}", "much"},
		  {READY, NULL}},
		 NULL},
		{0},
	};
	struct offer offer;
	struct stat st;
	struct err err;

	agents = good;
	learn("{\"spools\":[\"away:1\",\"here:1\",\"never:1\"],\"spool_wait\":1}");
	assert_int_equal(mkdir(path_of("views"), 0700), 0);
	put("views/old", "old");
	assert_int_equal(mkdir(path_of("gold"), 0700), 0);
	assert_int_equal(mkdir(path_of("g01d"), 0700), 0);
	assert_int_equal(mkdir(path_of("g01d/5"), 0700), 0);
	put("g01d/5/request", "{}");
	if (far_open(f, &offer, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(calls, 2);
	assert_string_equal(offer.tray, "gabc");
	assert_string_equal(offer.server, "pine");
	assert_string_equal(offer.lease, "L1");
	file_is("views/all", "one,two");
	file_is("views/mine", "jobs");
	file_is("views/others", NULL);
	file_is("views/old", NULL);
	assert_int_equal(stat(path_of("g01d"), &st), -1);
	assert_int_equal(stat(path_of("gabc"), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	assert_int_equal(stat(path_of("views/mine"), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(offer_read(far_dir(f), &offer, &err), 0);
	assert_string_equal(offer.tray, "gabc");
}

/* ---- changes ---- */

/* Puts a change at an agent that answers so, and compares what it got. */
static int put_at(const char *answer, size_t size, uint64_t *number, struct err *err)
{
	const struct agent one[] = {{"here:1", "ok here\n", {{OFFER, NULL}, {READY, NULL}}, answer}, {0}};
	struct strbuf body = {0}, text = {0};
	char kept[100];
	struct offer offer;

	agents = one;
	learn("{\"spools\":[\"here:1\"],\"spool_wait\":1}");
	if (far_open(f, &offer, err) < 0)
		fail_msg("%s", err->text);
	strbuf_puts(&body, "{\"script\":\"");
	while (body.n < size)
		strbuf_puts(&body, "0123456789");
	strbuf_puts(&body, "\"}");
	struct change c = {"/v1/jobs", body.text, "nonce", "l1", "seal"};
	int rc = far_put(f, &offer, &c, number, err);
	change_format(&offer, &c, &text);
	snprintf(kept, sizeof kept, "%s/kept", dir);
	file_is(kept, text.text);
	strbuf_fini(&body);
	strbuf_fini(&text);
	return rc;
}

static void changes_are_kept(void **state)
{
	struct tray_name name = {.number = 14};
	struct err err = {.text = ""};
	uint64_t number = 0;
	struct kept x;
	int tray;

	for (int i = 0; i < 2; i++) {
		if (put_at(i ? "{\"t\":\"kept\",\"number\":14}" : "{\"t\":\"kept\",\"number\":13}", i ? 1300000 : 20,
			   &number, &err) < 0)
			fail_msg("%s", err.text);
		assert_int_equal(number, 13 + i);
	}
	tray = open(path_of("gabc"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(tray >= 0);
	if (tray_read(tray, &name, (gid_t)-1, &x, &err) < 0)
		fail_msg("%s", err.text);
	assert_string_equal(x.path, "/v1/jobs");
	assert_int_equal(x.number, 14);
	kept_fini(&x);
	name.number = 13;
	if (tray_read(tray, &name, (gid_t)-1, &x, &err) < 0)
		fail_msg("%s", err.text);
	kept_fini(&x);
	close(tray);
}

static void changes_are_refused(void **state)
{
	static const struct {
		const char *answer;
		int code;
		const char *why;
	} cases[] = {
		{"{\"t\":\"refused\",\"why\":\"the spool is full\"}", -EACCES, "here:1: the spool is full"},
		{"{\"t\":\"refused\",\"why\":\"a server runs\",\"stale\":true}", -ESTALE, "here:1: a server runs"},
		{"{\"t\":\"refused\",\"number\":5}", -EACCES, "here:1: it says something that is not expected"},
		{"{\"t\":\"kept\"}", -EACCES, "here:1: it says something that is not expected"},
		{"{\"t\":\"done\",\"number\":5,\"why\":\"x\"}", -EACCES,
		 "here:1: it says something that is not expected"},
		{NULL, -EIO, "here:1: it did not say whether it keeps the request: check before you repeat it"},
	};
	uint64_t number;

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct err err = {.text = ""};
		tray_names names = {0};
		assert_int_equal(put_at(cases[i].answer, 20, &number, &err), cases[i].code);
		assert_string_equal(err.text, cases[i].why);
		assert_int_equal(tray_list(far_dir(f), "gabc", &names, NULL), 0);
		assert_int_equal(names.n, 0);
		vec_free(&names);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(agents_are_learned, setup, teardown),
		cmocka_unit_test_setup_teardown(agents_fail, setup, teardown),
		cmocka_unit_test_setup_teardown(offer_is_taken, setup, teardown),
		cmocka_unit_test_setup_teardown(changes_are_kept, setup, teardown),
		cmocka_unit_test_setup_teardown(changes_are_refused, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
