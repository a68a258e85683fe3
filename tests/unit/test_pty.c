/*
 * test_pty.c - interactive jobs: a terminal made here plays the user's, pty_serve() runs in a child of its own, the job is real.
 */
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <cmocka.h>

#include "run/pty.h"
#include "support/nest.h"

struct desk {
	struct nest *n;
	struct pty_client client;
	int master, slave; /* the user's terminal */
	pid_t server;	   /* runs pty_serve() */
	struct strbuf seen;
	struct termios before;
};

/* Waits until the screen shows it, after what was seen before. */
static void see(struct desk *d, const char *text)
{
	char part[1024], *at;

	while (!(at = strstr(strbuf_text(&d->seen), text))) {
		if (poll(&(struct pollfd){.fd = d->master, .events = POLLIN}, 1, 30000) <= 0)
			fail_msg("'%s' is not seen, but '%s'", text, strbuf_text(&d->seen));
		ssize_t got = read(d->master, part, sizeof part);
		if (got <= 0)
			fail_msg("'%s' is not seen before the end, but '%s'", text, strbuf_text(&d->seen));
		for (ssize_t i = 0; i < got; i++)
			if (part[i])
				strbuf_add(&d->seen, &part[i], 1);
	}
	/* What comes after it is for the next call. */
	size_t used = (size_t)(at - d->seen.text) + strlen(text);
	memmove(d->seen.text, d->seen.text + used, d->seen.n - used + 1);
	d->seen.n -= used;
}

static void type(struct desk *d, const char *keys)
{
	assert_int_equal(write(d->master, keys, strlen(keys)), strlen(keys));
}

static void window(struct desk *d, int rows, int columns)
{
	struct winsize w = {.ws_row = (unsigned short)rows, .ws_col = (unsigned short)columns};

	assert_int_equal(ioctl(d->master, TIOCSWINSZ, &w), 0);
}

/* What qsub does when the job has come: its terminal is the slave. */
static void client_run(struct desk *d)
{
	struct result r = {0};
	struct err err;

	setsid();
	ioctl(d->slave, TIOCSCTTY, 0);
	close(d->master);
	poll(&(struct pollfd){.fd = d->client.fd, .events = POLLIN}, 1, 30000);
	if (pty_serve(&d->client, d->slave, d->slave, d->n->a, &r, &err))
		_exit(99);
	_exit(r.how == RESULT_EXITED ? r.status : 100 + r.status);
}

static void desk_open(struct desk *d, struct nest *n, const char *tag)
{
	struct order o = nest_order(n, tag, NULL);
	static char *env[] = {"PATH=/usr/bin:/bin", "TERM=dumb", NULL};

	*d = (struct desk){.n = n};
	assert_int_equal(pty_listen(&d->client, NULL), 0);
	if (geteuid() == 0) { /* the client is the user's in real life */
		assert_int_equal(chown(d->client.dir, n->uid, n->gid), 0);
		assert_int_equal(chown(d->client.path, n->uid, n->gid), 0);
	}
	d->master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	assert_int_equal(unlockpt(d->master), 0);
	d->slave = ioctl(d->master, TIOCGPTPEER, O_RDWR | O_NOCTTY);
	assert_true(d->slave >= 0);
	assert_int_equal(tcgetattr(d->slave, &d->before), 0);
	window(d, 31, 97);
	d->server = fork();
	if (d->server == 0)
		client_run(d);
	o.pty = d->client.path;
	o.out = o.err = NULL;
	o.env = env;
	o.shell = "/bin/sh";
	o.login = true;
	o.grace = 1;
	nest_send(n, &o);
	nest_answer(n, ANSWER_STARTED, tag);
	type(d, "PS1='read''y> '\r"); /* whatever the profile made it */
	see(d, "ready> ");
}

/* What pty_serve() left with; the terminal must be as it was. */
static int desk_close(struct desk *d)
{
	struct termios after;
	int status = 0;
	pid_t ended = 0;

	for (int i = 0; i < 6000 && (ended = waitpid(d->server, &status, WNOHANG)) == 0; i++)
		usleep(5000);
	if (!ended) { /* the job sees that it is gone */
		kill(d->server, SIGKILL);
		waitpid(d->server, &status, 0);
	}
	assert_int_equal(ended, d->server);
	assert_int_equal(tcgetattr(d->slave, &after), 0);
	assert_int_equal(after.c_lflag, d->before.c_lflag);
	assert_int_equal(after.c_iflag, d->before.c_iflag);
	assert_int_equal(after.c_oflag, d->before.c_oflag);
	pty_close(&d->client);
	assert_int_equal(access(d->client.dir[0] ? d->client.dir : "/no/such", F_OK), -1);
	close(d->master);
	close(d->slave);
	strbuf_fini(&d->seen);
	return status;
}

static void test_session(void **state)
{
	struct nest *n = *state;
	struct desk d;

	desk_open(&d, n, "1.1");
	type(&d, "stty size; tty; echo $0 $SHUNT_TAG | tr a-z A-Z\r");
	see(&d, "31 97");
	see(&d, "/dev/pts/");
	see(&d, "-SH 1.1");
	window(&d, 12, 34);
	for (int i = 0; i < 100; i++) { /* it comes by a signal, some time */
		type(&d, "stty size | tr ' ' x\r");
		see(&d, "ready> ");
		usleep(10000);
	}
	type(&d, "test \"$(stty size)\" = '12 34' && echo 'o'k\r");
	see(&d, "ok");
	type(&d, "test -O $(tty) && echo 'm'ine\r"); /* the terminal is the user's */
	see(&d, "mine");

	type(&d, "sleep 1000; echo 'co'de $?\r");
	see(&d, "\n");
	for (int i = 0; i < 1000 && !strstr(strbuf_text(&d.seen), "code 130"); i++) {
		struct pollfd p = {.fd = d.master, .events = POLLIN};
		char part[256];
		type(&d, "\003"); /* ^C: ends sleep, once it is there, not the shell */
		if (poll(&p, 1, 50) > 0) {
			ssize_t got = read(d.master, part, sizeof part);
			assert_true(got > 0);
			strbuf_add(&d.seen, part, (size_t)got);
		}
		if (strstr(strbuf_text(&d.seen), "ready> "))
			break;
	}
	strbuf_clear(&d.seen);
	for (int i = 0; i < 100 && nest_alive(d.server); i++) { /* a late ^C may take a line with it */
		type(&d, "\rexit 42\r");
		usleep(50000);
	}
	assert_int_equal(WEXITSTATUS(desk_close(&d)), 42);
	struct result r = nest_result(n, "1.1");
	assert_int_equal(r.status, 42);
	assert_int_equal(r.cause, CAUSE_ITSELF);
}

/* Everything the job wrote is seen, also when it ends at once. */
static void test_much_output(void **state)
{
	struct nest *n = *state;
	struct desk d;

	desk_open(&d, n, "1.1");
	type(&d, "seq 1 50000; echo the 'e'nd; exit\r");
	see(&d, "\n50000\r");
	see(&d, "the end");
	assert_int_equal(WEXITSTATUS(desk_close(&d)), 0);
	nest_result(n, "1.1");
}

/* The user's side is killed: the job ends, and the terminal was put back if the signal could be caught. */
static void test_hung_up(void **state)
{
	const int signals[] = {SIGTERM, SIGHUP, SIGSEGV};
	struct nest *n = *state;

	for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
		const char *tag = arena_printf(n->a, "%zu.1", i);
		struct desk d;
		desk_open(&d, n, tag);
		kill(d.server, signals[i]);
		int status = desk_close(&d);
		assert_true(WIFSIGNALED(status) && WTERMSIG(status) == signals[i]);
		assert_int_equal(nest_result(n, tag).cause, CAUSE_HUNG_UP);
	}
}

static void test_deleted(void **state)
{
	struct nest *n = *state;
	struct desk d;

	desk_open(&d, n, "1.1");
	nest_signal(n, "1.1", SIGKILL);
	assert_int_equal(WEXITSTATUS(desk_close(&d)), 100 + SIGKILL);
	assert_int_equal(nest_result(n, "1.1").cause, CAUSE_ORDERED);
}

static void test_nobody_waits(void **state)
{
	struct nest *n = *state;
	struct order o = nest_order(n, "1.1", NULL);

	o.pty = "/no/such/socket";
	struct result r = nest_run(n, &o);
	assert_int_equal(r.how, RESULT_NOT_STARTED);
	assert_int_equal(r.cause, CAUSE_HUNG_UP);
	assert_non_null(strstr(r.reason, "is gone"));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, nest_setup, nest_teardown)

static int tests(void)
{
	const struct CMUnitTest all[] = {
		TEST(test_session), TEST(test_much_output),  TEST(test_hung_up),
		TEST(test_deleted), TEST(test_nobody_waits),
	};

	return cmocka_run_group_tests_name("pty", all, NULL, NULL);
}

int main(int argc, char **argv)
{
	return nest_main(argc, argv, tests);
}
