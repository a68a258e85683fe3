/*
 * test_mail.c - mails: the words, what tries to forge headers, and real programs that take, refuse,
 * or never end.
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
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/arena.h"
#include "server/book/mail.h"

static struct arena *arena;
static char dir[] = "/tmp/test_mail.XXXXXX";

static int setup(void **state)
{
	(void)state;
	arena = arena_create();
	return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	int rc = rmdir(dir);
	arena_destroy(arena);
	return rc;
}

static const char *in_dir(const char *name)
{
	return arena_printf(arena, "%s/%s", dir, name);
}

/* A mail program of our own. */
static const char *program(const char *name, const char *script)
{
	const char *path = in_dir(name);
	int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0700);

	assert_true(fd >= 0);
	dprintf(fd, "#!/bin/sh\n%s\n", script);
	close(fd);
	return path;
}

static const char *formatted(const struct mail *m)
{
	struct strbuf b = {0};
	struct err err = {.text = ""};

	if (mail_format(m, &b, &err) != 0)
		fail_msg("%s", err.text);
	const char *text = arena_strndup(arena, b.text, b.n);
	strbuf_fini(&b);
	return text;
}

#define HEAD                                                                                                           \
	"Auto-Submitted: auto-generated\nMIME-Version: 1.0\nContent-Type: text/plain; charset=UTF-8\n"                 \
	"Content-Transfer-Encoding: 8bit\n\n"

static void test_words(void **state)
{
	struct mail m = {.kind = MAIL_JOB_BEGUN,
			 .from = "adm",
			 .to = "ann",
			 .id = "12.server",
			 .name = "STDIN",
			 .exec_host = "n1/0+n1/1",
			 .cput = -1,
			 .walltime = -1,
			 .memory = -1};

	(void)state;
	assert_string_equal(formatted(&m),
			    "From: adm\nTo: ann\nSubject: PBS JOB 12.server (STDIN): begun\n" HEAD
			    "PBS Job Id: 12.server\nJob Name:   STDIN\nExec host:  n1/0+n1/1\nBegun execution\n");
	m.kind = MAIL_JOB_ENDED;
	m.to = "ann,bob@site.org, carl";
	m.domain = "example.org";
	m.exit_status = 271;
	m.cput = 75;
	m.walltime = 3661;
	m.memory = 2048;
	assert_string_equal(formatted(&m), "From: adm\nTo: ann@example.org, bob@site.org, carl@example.org\n"
					   "Subject: PBS JOB 12.server (STDIN): failed (signal 15)\n" HEAD
					   "PBS Job Id: 12.server\nJob Name:   STDIN\nExec host:  n1/0+n1/1\n"
					   "Execution terminated\nExit_status=271\nresources_used.cput=00:01:15\n"
					   "resources_used.mem=2048kb\nresources_used.walltime=01:01:01\n");
	m.advice = "CPUs 4 requested\nNext time request 1.\n";
	assert_non_null(strstr(formatted(&m), "=01:01:01\n\nCPUs 4 requested\nNext time request 1.\n"));
	m.kind = MAIL_JOB_ABORTED;
	m.exec_host = NULL;
	m.text = "Job deleted by root\n\nsee qstat";
	m.to = "ann";
	assert_string_equal(formatted(&m),
			    "From: adm\nTo: ann@example.org\nSubject: PBS JOB 12.server (STDIN): aborted\n" HEAD
			    "PBS Job Id: 12.server\nJob Name:   STDIN\nAborted by PBS Server\n"
			    "Job deleted by root\nsee qstat\n");
}

/* Nothing that a user chooses adds a line to the head, a recipient, or an option. */
static void test_forgery(void **state)
{
	struct mail m = {.kind = MAIL_JOB_BEGUN,
			 .from = "adm\nBcc: eve",
			 .to = "ann\nBcc: eve, |/bin/sh, /etc/x, -oQ, :include:x, bob",
			 .domain = "x\ny",
			 .id = "12.s\nBcc: eve",
			 .name = "a\nBcc: eve\r\n\n",
			 .exec_host = "h\n\nx"};
	const char *text = formatted(&m);
	struct strbuf b = {0};
	struct err err = {.text = ""};

	(void)state;
	assert_null(strstr(text, "\nBcc"));
	assert_non_null(strstr(text, "From: adm\n"));
	assert_non_null(
		strstr(text, "To: eve, bob\n")); /* "ann\nBcc:" is not an address; what stood behind the blank is one */
	assert_non_null(strstr(text, "Job Name:   a\\nBcc: eve\\u000d\\n\\n\n"));
	assert_ptr_equal(strstr(text, "\n\n"), strstr(text, "\n\nPBS Job Id"));
	m.to = "|x, /y, -z, @, a@";
	assert_int_equal(mail_format(&m, &b, &err), -EINVAL);
	assert_int_equal(b.n, 0);
}

static void heard(void *context, const char *text)
{
	strbuf_printf(context, "%s\n", text);
}

static int count(const char *text, const char *what)
{
	int n = 0;

	for (; (text = strstr(text, what)); text++)
		n++;
	return n;
}

static void test_programs(void **state)
{
	const char *good =
		program("good", arena_printf(arena, "echo \"$@\" >>%s/argv; cat >%s/mail.$$; mv %s/mail.$$ %s/done.$$",
					     dir, dir, dir, dir));
	const char *bad = program("bad", "cat >/dev/null; exit 3");
	struct mail m = {.kind = MAIL_JOB_BEGUN, .from = "adm", .to = "ann", .id = "12.server", .name = "STDIN"};
	struct strbuf said = {0};
	struct err err = {.text = ""};
	uv_loop_t loop;

	(void)state;
	uv_loop_init(&loop);
	struct mailer *mailer = mailer_start(&loop, heard, &said);
	for (int i = 0; i < 20; i++)
		assert_int_equal(mailer_send(mailer, good, &m, &err), 0);
	assert_int_equal(mailer_busy(mailer), 20);
	uv_run(&loop, UV_RUN_DEFAULT); /* until the last of them has ended */
	assert_int_equal(mailer_busy(mailer), 0);
	assert_string_equal(strbuf_text(&said), "");

	FILE *f = popen(arena_printf(arena, "cat %s/done.* | grep -c '^Subject: PBS JOB 12.server '; sort -u %s/argv",
				     dir, dir),
			"r");
	char line[64];
	assert_non_null(fgets(line, sizeof line, f));
	assert_string_equal(line, "20\n");
	assert_non_null(fgets(line, sizeof line, f));
	assert_string_equal(line, "-i -t -f adm\n");
	pclose(f);

	assert_int_equal(mailer_send(mailer, bad, &m, &err), 0);
	uv_run(&loop, UV_RUN_DEFAULT);
	assert_int_equal(count(strbuf_text(&said), "ended with exit status 3"), 1);
	for (int i = 0; i < 3; i++)
		assert_int_equal(mailer_send(mailer, in_dir("missing"), &m, &err), 0);
	uv_run(&loop, UV_RUN_DEFAULT);
	assert_int_equal(count(said.text, "no mail is sent"), 1); /* once */
	m.domain = "never";
	assert_int_equal(mailer_send(mailer, good, &m, &err), 0);
	assert_int_equal(mailer_busy(mailer), 0);
	m.domain = NULL;
	m.to = "";
	assert_int_equal(mailer_send(mailer, good, &m, &err), -EINVAL);
	mailer_stop(mailer);
	uv_run(&loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&loop), 0);
	strbuf_fini(&said);
	assert_int_equal(system(arena_printf(arena, "rm %s/done.* %s/argv %s %s", dir, dir, good, bad)), 0);
}

/* A program that does not end holds nothing up; the queue is bounded; stopping does not wait. */
static void test_stuck(void **state)
{
	const char *stuck = program("stuck", arena_printf(arena, "echo $$ >>%s/pids; exec sleep 1000", dir));
	struct mail m = {.kind = MAIL_JOB_BEGUN, .from = "adm", .to = "ann", .id = "12.server", .name = "STDIN"};
	struct strbuf said = {0};
	struct err err = {.text = ""};
	uv_loop_t loop;
	int sent = 0, rc = 0;

	(void)state;
	uv_loop_init(&loop);
	struct mailer *mailer = mailer_start(&loop, heard, &said);
	for (; sent < 20000 && (rc = mailer_send(mailer, stuck, &m, &err)) == 0; sent++)
		;
	assert_int_equal(rc, -ENOSPC);
	assert_int_equal(sent, 10004);
	assert_int_equal(mailer_busy(mailer), 10004);
	uv_run(&loop, UV_RUN_NOWAIT);

	const char *pids = in_dir("pids");
	for (int i = 0, n = 0; i < 1000 && n < 4; i++) { /* they have all said who they are */
		FILE *f = fopen(pids, "r");
		char line[32];
		for (n = 0; f && fgets(line, sizeof line, f);)
			n++;
		if (f)
			fclose(f);
		usleep(10000);
	}
	mailer_stop(mailer);
	uv_run(&loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&loop), 0);
	assert_string_equal(strbuf_text(&said), "");
	assert_int_equal(system(arena_printf(arena, "kill $(cat %s); rm %s %s", pids, pids, stuck)), 0);
	strbuf_fini(&said);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_forgery),
		cmocka_unit_test(test_programs),
		cmocka_unit_test(test_stuck),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
