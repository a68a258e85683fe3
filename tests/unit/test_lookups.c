/*
 * test_lookups.c - a nursery whose user database hangs, fails, or does not know a user: others'
 * jobs start meanwhile, and waiting orders continue in sequence. The C library's getpwnam_r() is
 * replaced by one that looks for files: NAME.hangs, NAME.fails, NAME.missing.
 */
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "run/identity.h"
#include "support/nest.h"

static bool users_are(const char *name, const char *what)
{
	const char *dir = getenv("SHUNT_TEST_USERS");
	char path[256];

	snprintf(path, sizeof path, "%s/%s.%s", dir ? dir : "/nowhere", name, what);
	return access(path, F_OK) == 0;
}

int __real_getpwnam_r(const char *name, struct passwd *entry, char *buf, size_t size, struct passwd **ret);
int __wrap_getpwnam_r(const char *name, struct passwd *entry, char *buf, size_t size, struct passwd **ret);
int __wrap_getpwnam_r(const char *name, struct passwd *entry, char *buf, size_t size, struct passwd **ret)
{
	for (int i = 0; i < 6000 && users_are(name, "hangs"); i++) /* a test that was killed leaves nothing behind */
		usleep(10000);
	*ret = NULL;
	if (users_are(name, "missing"))
		return 0;
	return users_are(name, "fails") ? EIO : __real_getpwnam_r(name, entry, buf, size, ret);
}

/* A nursery that starts with such a database. */
static int users_setup(void **state)
{
	struct nest *n;
	int rc = nest_setup(state);

	n = *state;
	nest_stop(n);
	setenv("SHUNT_TEST_USERS", n->dir, 1);
	nest_start(n);
	return rc;
}

static char *user_file(struct nest *n, const char *what)
{
	return arena_printf(n->a, "%s/%s.%s", n->dir, n->user, what);
}

static void user_set(struct nest *n, const char *what)
{
	nest_write(n, user_file(n, what), "", 0, 0644);
}

static struct order order_by_name(struct nest *n, const char *tag, const char *script)
{
	struct order o = nest_order(n, tag, script);

	o.uid = 12345; /* another machine's number */
	o.gid = 12345;
	o.home = NULL;
	o.shell = "/bin/sh"; /* an order of an unknown user starts nothing */
	o.manner.shell_given = true;
	o.foreign.look_up = true;
	return o;
}

static void test_by_name(void **state)
{
	struct nest *n = *state;
	struct order o = order_by_name(n, "1.1", "id -u; echo $HOME");
	const struct passwd *pw = getpwuid(n->uid);

	assert_int_equal(nest_run(n, &o).status, 0);
	assert_string_equal(nest_read(n, o.out), arena_printf(n->a, "%u\n%s\n", (unsigned)n->uid, pw->pw_dir));
}

static void test_unknown(void **state)
{
	struct nest *n = *state;
	struct order o = order_by_name(n, "1.1", "exit 0");

	o.user = "no-such-user";
	nest_send(n, &o);
	struct answer a = nest_answer(n, ANSWER_REFUSED, "1.1");
	contains(a.reason, "the user no-such-user is not known on this host");
	assert_true(a.unclear);
}

/* The next job of a user who exists now starts, however soon. */
static void test_missing(void **state)
{
	struct nest *n = *state;
	struct order o = order_by_name(n, "1.1", "exit 0"), other = order_by_name(n, "2.1", "exit 0");

	user_set(n, "missing");
	nest_send(n, &o);
	nest_send(n, &other);
	contains(nest_answer(n, ANSWER_REFUSED, "1.1").reason, "is not known on this host");
	contains(nest_answer(n, ANSWER_REFUSED, "2.1").reason, "is not known on this host");
	unlink(user_file(n, "missing"));
	assert_int_equal(nest_run(n, &o).status, 0);
	assert_int_equal(nest_run(n, &other).status, 0);
}

static void test_fails(void **state)
{
	struct nest *n = *state;
	struct order o = order_by_name(n, "1.1", "exit 0");

	user_set(n, "fails");
	nest_send(n, &o);
	struct answer a = nest_answer(n, ANSWER_REFUSED, "1.1");
	contains(a.reason, "can't be looked up on this host: Input/output error");
	assert_true(a.unclear);
	unlink(user_file(n, "fails"));
	assert_int_equal(nest_run(n, &o).status, 0); /* nothing is left of the failure */
}

/* What belongs to the waiting order waits with it; everything else continues. */
static void test_hangs(void **state)
{
	struct nest *n = *state;
	struct order o = order_by_name(n, "1.1", "trap 'echo usr1' USR1; while :; do sleep 0.05; done"),
		     other = order_by_name(n, "2.1", "exit 0");
	char *mine = nest_path(n, "mine");
	struct strbuf out = {0};

	nest_write(n, mine, "content", 7, 0644);
	user_set(n, "hangs");
	nest_send(n, &o);
	nursery_signal("1.1", walltime_word(2), &out); /* it has another walltime meanwhile */
	nursery_open(7, BY_NAME, BY_NAME, n->user, mine, O_RDONLY, 0, &out);
	nursery_signal("3.1", SIGTERM, &out); /* no order of this user waits: it is answered at once */
	nest_frames(n, &out);
	other.user = "no-such-user";
	nest_send(n, &other);
	contains(nest_answer(n, ANSWER_REFUSED, "2.1").reason, "not known");
	nest_answer(n, ANSWER_SIGNALED, "3.1");
	if (geteuid() == 0) { /* jobs of others start, and end */
		struct order d = order_by_name(n, "4.1", "exit 4");
		d.user = "daemon";
		d.out = d.err = "/dev/null";
		assert_int_equal(nest_run(n, &d).status, 4);
	}
	struct result r;
	pid_t pid;
	assert_int_equal(live_look(n->live, "1.1", n->a, &r, &pid), LIVE_NONE);
	assert_int_equal(n->fds.n, 0);

	unlink(user_file(n, "hangs"));
	nest_answer(n, ANSWER_STARTED, "1.1");
	nest_answer(n, ANSWER_SIGNALED, "1.1");
	assert_null(nest_answer(n, ANSWER_OPENED, NULL).reason);
	r = nest_result(n, "1.1");
	assert_int_equal(r.cause, CAUSE_WALLTIME);
}

/* A signal that ends it comes while its user is looked up: it must not run on. */
static void test_ended_meanwhile(void **state)
{
	struct nest *n = *state;
	struct order o = order_by_name(n, "1.1", "sleep 1000");

	user_set(n, "hangs");
	nest_send(n, &o);
	nest_signal(n, "1.1", SIGKILL);
	unlink(user_file(n, "hangs"));
	nest_answer(n, ANSWER_STARTED, "1.1");
	assert_int_equal(nest_result(n, "1.1").cause, CAUSE_ORDERED);
}

/* The nursery goes while a lookup hangs: nothing is left. */
static void test_nursery_ends(void **state)
{
	struct nest *n = *state;
	struct order o = order_by_name(n, "1.1", "exit 0");

	user_set(n, "hangs");
	nest_send(n, &o);
	usleep(200000);
	nest_stop(n);
	nest_start(n);
	unlink(user_file(n, "hangs"));
	assert_int_equal(nest_run(n, &o).status, 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, users_setup, nest_teardown)

static int tests(void)
{
	const struct CMUnitTest all[] = {
		TEST(test_by_name), TEST(test_unknown),		TEST(test_missing),	 TEST(test_fails),
		TEST(test_hangs),   TEST(test_ended_meanwhile), TEST(test_nursery_ends),
	};

	return cmocka_run_group_tests_name("lookups", all, NULL, NULL);
}

int main(int argc, char **argv)
{
	return nest_main(argc, argv, tests);
}
