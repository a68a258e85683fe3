/*
 * test_streams.c - scripts of jobs as files, and their output.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cmocka.h>

#include "run/script.h"
#include "support/nest.h"
#include "support/skip.h"

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
	assert_null(strstr(r.reason, "lost"));
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

#define TEST(f) cmocka_unit_test_setup_teardown(f, nest_setup, nest_teardown)

static int tests(void)
{
	const struct CMUnitTest all[] = {
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
	};

	return cmocka_run_group_tests_name("streams", all, NULL, NULL);
}

int main(int argc, char **argv)
{
	return nest_main(argc, argv, tests);
}
