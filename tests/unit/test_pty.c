/*
 * test_pty.c - interactive jobs: a terminal made here plays the user's, pty_serve() runs in a child
 * of its own, the job is real. What lies between them is only a socket here, which that child
 * breaks on request.
 */
#include <errno.h>
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
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/unixsock.h"
#include "run/pty.h"
#include "support/nest.h"

struct desk {
	struct nest *n;
	char path[160];
	int listener;	   /* where the job's terminal comes */
	int master, slave; /* the user's terminal */
	pid_t server;	   /* runs pty_serve() */
	struct strbuf seen;
	size_t skipped; /* bytes before the text that was seen last */
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
	d->skipped = (size_t)(at - d->seen.text);
	/* What comes after it is for the next call. */
	size_t used = (size_t)(at - d->seen.text) + strlen(text);
	memmove(d->seen.text, d->seen.text + used, d->seen.n - used + 1);
	d->seen.n -= used;
}

/* Checks that the text comes next. */
static void see_next(struct desk *d, const char *text)
{
	see(d, text);
	assert_int_equal(d->skipped, 0);
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

static int way_fd = -1; /* for the signal handlers of pty_serve()'s process */
static volatile sig_atomic_t gone;

/* Both directions: neither end has hung up. */
static void on_break(int signal)
{
	gone = signal == SIGUSR2;
	shutdown(way_fd, SHUT_RDWR);
}

/* What the server does when the client hangs up. */
static void on_leave(int signal)
{
	shutdown(way_fd, SHUT_WR);
}

/* What the server does for qsub: the next connection of the job. */
static int way_make(void *context, struct pty_way *w, struct err *err)
{
	const struct desk *d = context;
	char c = 0;

	if (way_fd >= 0)
		close(way_fd);
	way_fd = w->fd = -1;
	if (gone || poll(&(struct pollfd){.fd = d->listener, .events = POLLIN}, 1, 10000) <= 0)
		return -EAGAIN;
	way_fd = w->fd = accept(d->listener, NULL, NULL);
	while (w->fd >= 0 && c != '\n' && read(w->fd, &c, 1) == 1) /* the tag */
		;
	return c == '\n' ? 0 : -EAGAIN;
}

/* What qsub does when the job has come: its terminal is the slave. */
static void client_run(struct desk *d, int patience)
{
	struct pty_way w = {.fd = -1, .again = way_make, .context = d};
	struct result r = {0};
	struct err err;

	setsid();
	ioctl(d->slave, TIOCSCTTY, 0);
	close(d->master);
	signal(SIGUSR1, on_break);
	signal(SIGUSR2, on_break);
	signal(SIGALRM, on_leave);
	if (way_make(d, &w, &err))
		_exit(98);
	int rc = pty_serve(&w, d->slave, d->slave, patience, d->n->a, &r, &err);
	_exit(rc == -ETIMEDOUT ? 97 : rc ? 99 : r.how == RESULT_EXITED ? r.status : 100 + r.status);
}

static void desk_listen(struct desk *d, struct nest *n)
{
	*d = (struct desk){.n = n};
	snprintf(d->path, sizeof d->path, "%s/terminal.sock", n->dir);
	d->listener = unix_listen(d->path, 0600, NULL);
	assert_true(d->listener >= 0);
}

static void desk_open_for(struct desk *d, struct nest *n, const char *tag, int patience)
{
	struct order o = nest_order(n, tag, NULL);
	static char *env[] = {"PATH=/usr/bin:/bin", "TERM=dumb", NULL};

	desk_listen(d, n);
	d->master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	assert_int_equal(unlockpt(d->master), 0);
	d->slave = ioctl(d->master, TIOCGPTPEER, O_RDWR | O_NOCTTY);
	assert_true(d->slave >= 0);
	assert_int_equal(tcgetattr(d->slave, &d->before), 0);
	window(d, 31, 97);
	d->server = fork();
	if (d->server == 0)
		client_run(d, patience);
	o.terminal.pty = d->path;
	o.terminal.patience = patience;
	o.out = o.err = NULL;
	o.env = env;
	o.shell = "/bin/sh";
	o.manner.login = true;
	o.grace = 1;
	nest_send(n, &o);
	nest_answer(n, ANSWER_STARTED, tag);
	type(d, "PS1='read''y> '\r"); /* whatever the profile made it */
	see(d, "ready> ");
}

static void desk_open(struct desk *d, struct nest *n, const char *tag)
{
	desk_open_for(d, n, tag, PTY_PATIENCE);
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
	close(d->listener);
	unlink(d->path);
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
	/* it comes by a signal, some time */
	type(&d, "until test \"$(stty size)\" = '12 34'; do :; done; echo 'o'k\r");
	see(&d, "ok");
	type(&d, "test -O $(tty) && echo 'm'ine\r"); /* the terminal is the user's */
	see(&d, "mine");

	type(&d, "echo 's'leeps; sleep 1000; echo 'co'de $?\r");
	see(&d, "sleeps"); /* and with it the prompt of this line */
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

/* The user's side is killed: the job ends after a while, and the terminal was put back if the
 * signal could be caught. */
static void test_hung_up(void **state)
{
	const int signals[] = {SIGTERM, SIGHUP, SIGSEGV};
	struct nest *n = *state;

	for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
		const char *tag = arena_printf(n->a, "%zu.1", i);
		struct desk d;
		desk_open_for(&d, n, tag, 1);
		kill(d.server, signals[i]);
		int status = desk_close(&d);
		assert_true(WIFSIGNALED(status) && WTERMSIG(status) == signals[i]);
		assert_int_equal(nest_result(n, tag).cause, CAUSE_HUNG_UP);
	}
}

/* It hangs up: then nobody is waited for. */
static void test_left(void **state)
{
	struct nest *n = *state;
	struct desk d;

	desk_open_for(&d, n, "1.1", 600);
	kill(d.server, SIGALRM);
	assert_int_equal(nest_result(n, "1.1").cause, CAUSE_HUNG_UP);
	kill(d.server, SIGTERM);
	assert_true(WIFSIGNALED(desk_close(&d)));
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

/* The way breaks again and again while the job writes and reads: everything comes, once, in its
 * order. */
static void test_broken(void **state)
{
	struct nest *n = *state;
	struct strbuf expected = {0};
	char number[32], *path;
	struct desk d;

	desk_open(&d, n, "1.1");
	type(&d, "stty -echo; PS1=; seq 1 20000\r");
	for (int i = 1; i <= 20000; i++) {
		snprintf(number, sizeof number, "\n%d\r", i);
		if (i % 500 == 0) {
			kill(d.server, SIGUSR1);
			usleep(20000);
		}
		if (i == 1)
			see(&d, number);
		else
			see_next(&d, number);
	}
	path = nest_path(n, "typed");
	strbuf_printf(&expected, "cat >%s\r", path);
	type(&d, expected.text);
	strbuf_clear(&expected);
	for (int i = 0; i < 300; i++) {
		snprintf(number, sizeof number, "line %d\r", i);
		type(&d, number);
		strbuf_printf(&expected, "line %d\n", i);
		if (i % 30 == 0)
			kill(d.server, SIGUSR1);
	}
	type(&d, "\004echo the 'e'nd; exit 5\r");
	see(&d, "the end");
	assert_int_equal(WEXITSTATUS(desk_close(&d)), 5);
	assert_int_equal(nest_result(n, "1.1").cause, CAUSE_ITSELF);
	assert_string_equal(nest_read(n, path), expected.text);
	strbuf_fini(&expected);
}

/* The way breaks while the job ends: the client gets its result all the same. */
static void test_broken_at_end(void **state)
{
	struct nest *n = *state;
	struct desk d;

	desk_open(&d, n, "1.1");
	type(&d, "echo $$ >shell; while [ ! -e go ]; do sleep 0.01; done; exit 9\r");
	nest_await(n, nest_path(n, "shell"));
	kill(d.server, SIGSTOP); /* so that it can't answer */
	nest_write(n, nest_path(n, "go"), "", 0, 0644);
	nest_await_dead(atoi(nest_read(n, nest_path(n, "shell"))));
	kill(d.server, SIGUSR1);
	kill(d.server, SIGCONT);
	assert_int_equal(WEXITSTATUS(desk_close(&d)), 9);
	assert_int_equal(nest_result(n, "1.1").status, 9);
}

/* It breaks and nobody comes back: after a while both ends give up. */
static void test_given_up(void **state)
{
	struct nest *n = *state;
	struct desk d;

	desk_open_for(&d, n, "1.1", 1);
	kill(d.server, SIGUSR2);
	assert_int_equal(WEXITSTATUS(desk_close(&d)), 97);
	assert_int_equal(nest_result(n, "1.1").cause, CAUSE_HUNG_UP);
}

/* The one who takes terminals is there, but no client: nothing runs, and it can be ended. */
static void test_deleted_before(void **state)
{
	struct nest *n = *state;
	struct order o = nest_order(n, "1.1", NULL);
	struct desk d;

	desk_listen(&d, n);
	o.terminal.pty = d.path;
	nest_send(n, &o);
	nest_answer(n, ANSWER_STARTED, "1.1");
	int fd = accept(d.listener, NULL, NULL);
	assert_true(fd >= 0);
	nest_signal(n, "1.1", SIGTERM);
	struct result r = nest_result(n, "1.1");
	assert_int_equal(r.how, RESULT_NOT_STARTED);
	assert_int_equal(r.cause, CAUSE_ORDERED);
	close(fd);
	close(d.listener);
	unlink(d.path);
}

/* What is not a frame, or more than was allowed, breaks the connection and nothing else. */
static void test_nonsense(void **state)
{
	static const char *const nonsense[] = {"d\x01\0\0\0x", "h\x08\0\0\0\x01\0\0\0\0\0\0\0", "x\xff\xff\xff\xff",
					       "h\x01\0\0\0\0"};
	static const size_t size[] = {6, 13, 5, 6};
	struct nest *n = *state;
	struct order o = nest_order(n, "1.1", NULL);
	struct desk d;
	char part[64];

	desk_listen(&d, n);
	o.terminal.pty = d.path;
	nest_send(n, &o);
	nest_answer(n, ANSWER_STARTED, "1.1");
	for (size_t i = 0; i < sizeof size / sizeof *size; i++) {
		int fd = accept(d.listener, NULL, NULL);
		assert_int_equal(write(fd, nonsense[i], size[i]), size[i]);
		while (read(fd, part, sizeof part) > 0)
			;
		close(fd);
	}
	nest_signal(n, "1.1", SIGKILL);
	assert_int_equal(nest_result(n, "1.1").how, RESULT_NOT_STARTED);
	close(d.listener);
	unlink(d.path);
}

static void test_nobody_waits(void **state)
{
	struct nest *n = *state;
	struct order o = nest_order(n, "1.1", NULL);

	o.terminal.pty = "/no/such/socket";
	o.terminal.patience = 1;
	struct result r = nest_run(n, &o);
	assert_int_equal(r.how, RESULT_NOT_STARTED);
	assert_int_equal(r.cause, CAUSE_HUNG_UP);
	assert_non_null(strstr(r.reason, "is gone"));
}

/* ---- the protocol of both ends ---- */

/* What an end was passed: the kind of each frame, and the data. */
struct passed {
	struct strbuf kinds, data;
};

static void on_passed(void *context, char kind, const char *data, size_t n)
{
	struct passed *p = context;

	strbuf_add(&p->kinds, &kind, 1);
	if (kind == PTY_DATA)
		strbuf_add(&p->data, data, n);
}

static void passed_is(struct passed *p, const char *kinds, const char *data)
{
	assert_string_equal(strbuf_text(&p->kinds), kinds);
	assert_string_equal(strbuf_text(&p->data), data);
	strbuf_clear(&p->kinds);
	strbuf_clear(&p->data);
}

/* Takes to `to` what `from` has for it. */
static int carry(struct pty_wire *from, struct pty_wire *to, struct passed *p)
{
	strbuf_add(&to->in, from->out.text, from->out.n);
	strbuf_clear(&from->out);
	return wire_take(to, on_passed, p);
}

/* What has arrived is not sent again over the next connection, and the rest is; what was consumed
 * is not kept. */
static void test_wire_again(void **state)
{
	struct pty_wire a = {0}, b = {0};
	struct passed p = {0};

	wire_send(&a, "one", 3); /* before any connection */
	assert_int_equal(a.out.n, 0);
	assert_int_equal(wire_room(&a), PTY_WINDOW - 3);
	wire_begin(&a, NULL, 0);
	wire_begin(&b, "size", 4);
	assert_int_equal(carry(&b, &a, &p), 0);
	passed_is(&p, "h", "");
	wire_send(&a, "two", 3);
	assert_int_equal(carry(&a, &b, &p), 0);
	passed_is(&p, "hdad", "onetwo"); /* the report follows what was kept */
	wire_send(&a, "three", 5);
	strbuf_clear(&a.out); /* the connection breaks */
	wire_used(&b, 3);
	for (struct pty_wire *w = &a; w; w = w == &a ? &b : NULL)
		wire_begin(w, NULL, 0);
	assert_int_equal(carry(&b, &a, &p), 0);
	passed_is(&p, "h", "");
	wire_tell(&b); /* not before its hello came */
	assert_int_equal(b.out.n, 0);
	assert_int_equal(carry(&a, &b, &p), 0);
	passed_is(&p, "hda", "three");
	assert_int_equal(carry(&b, &a, &p), 0); /* three were consumed: the last report had been lost */
	passed_is(&p, "a", "");
	assert_true(a.base == 3 && a.kept.n == 8 && memcmp(a.kept.text, "twothree", 8) == 0);
	wire_used(&b, 8);
	assert_int_equal(b.out.n, 0); /* not each byte is reported */
	wire_tell(&b);
	assert_int_equal(carry(&b, &a, &p), 0);
	assert_true(a.base == 11 && a.kept.n == 0 && wire_room(&a) == PTY_WINDOW);
	passed_is(&p, "a", "");
	b.got += PTY_WINDOW; /* the most that may be on its way */
	wire_used(&b, PTY_WINDOW / 8 - 1);
	assert_int_equal(b.out.n, 0);
	wire_used(&b, 1);
	assert_int_equal(b.out.n, PTY_HEAD + 8);
	wire_fini(&a);
	wire_fini(&b);
	strbuf_fini(&p.kinds);
	strbuf_fini(&p.data);
}

#define HELLO(got) "h\x08\0\0\0" got "\0\0\0\0\0\0\0"
#define TAKEN(used) "a\x08\0\0\0" used "\0\0\0\0\0\0\0"
#define FRAMES(text) .frames = (text), .n = sizeof(text) - 1

/* What an end takes that has sent bytes 5 to 9, and has passed on `passes` of it. */
static void test_wire_bounds(void **state)
{
	static const struct {
		const char *frames;
		size_t n;
		int rc;
		const char *passes;
		size_t left; /* bytes of a frame that is not complete */
	} cases[] = {
		{FRAMES(HELLO("\x05")), 0, "h", 0},
		{FRAMES(HELLO("\x09")), 0, "h", 0},
		{FRAMES(HELLO("\x04")), -EPROTO, "", 0},
		{FRAMES(HELLO("\x0a")), -EPROTO, "", 0},
		{FRAMES("h\x07\0\0\0\x05\0\0\0\0\0\0"), -EPROTO, "", 0},
		{FRAMES("h\x09\0\0\0\x05\0\0\0\0\0\0\0x"), 0, "h", 0},
		{FRAMES(HELLO("\x05") HELLO("\x05")), -EPROTO, "h", 0},
		{FRAMES("d\x01\0\0\0x"), -EPROTO, "", 0}, /* nothing counts before a hello */
		{FRAMES(TAKEN("\x05")), -EPROTO, "", 0},
		{FRAMES("w\x04\0\0\0\1\0\1\0"), -EPROTO, "", 0},
		{FRAMES("x\0\0\0\0"), -EPROTO, "", 0},
		{FRAMES(HELLO("\x05") "w\x04\0\0\0\1\0\1\0s\x01\0\0\0\x0fx\0\0\0\0?\0\0\0\0"), 0, "hwsx?", 0},
		{FRAMES(HELLO("\x05") TAKEN("\x05")), 0, "ha", 0},
		{FRAMES(HELLO("\x05") TAKEN("\x09") "d\x01\0\0\0x"), 0, "had", 0},
		{FRAMES(HELLO("\x05") TAKEN("\x04")), -EPROTO, "h", 0},
		{FRAMES(HELLO("\x05") TAKEN("\x0a")), -EPROTO, "h", 0},
		{FRAMES(HELLO("\x05") TAKEN("\x07") TAKEN("\x06")), -EPROTO, "ha", 0},
		{FRAMES(HELLO("\x05") "a\x07\0\0\0\x05\0\0\0\0\0\0"), -EPROTO, "h", 0},
		{FRAMES(HELLO("\x05") "a\x09\0\0\0\x05\0\0\0\0\0\0\0\0"), -EPROTO, "h", 0},
		{FRAMES(HELLO("\x05") "d\x02\0\0\0x"), 0, "h", 6},
		{FRAMES("h\x08\0\0"), 0, "", 4},
		{FRAMES("h\0\0\1\0"), 0, "", 5},       /* the longest */
		{FRAMES("h\1\0\1\0"), -EPROTO, "", 5}, /* it will be too long */
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct pty_wire w = {.base = 5};
		struct passed p = {0};
		wire_send(&w, "text", 4);
		strbuf_add(&w.in, cases[i].frames, cases[i].n);
		int rc = wire_take(&w, on_passed, &p);
		if (rc != cases[i].rc || strcmp(strbuf_text(&p.kinds), cases[i].passes) != 0)
			fail_msg("case %zu: %d, passed on '%s'", i, rc, strbuf_text(&p.kinds));
		if (rc == 0 || cases[i].left)
			assert_int_equal(w.in.n, cases[i].left);
		wire_fini(&w);
		strbuf_fini(&p.kinds);
		strbuf_fini(&p.data);
	}
}

/* More than the window without a report that it was consumed is refused. */
static void test_wire_window(void **state)
{
	static const char zeros[PTY_WINDOW];
	struct pty_wire a = {0}, b = {0};
	struct passed p = {0};

	wire_begin(&a, NULL, 0);
	wire_begin(&b, NULL, 0);
	assert_int_equal(carry(&b, &a, &p), 0);
	wire_send(&a, zeros, PTY_WINDOW);
	assert_int_equal(wire_room(&a), 0);
	assert_int_equal(carry(&a, &b, &p), 0);
	assert_int_equal(p.data.n, PTY_WINDOW);
	wire_send(&a, zeros, 1);
	assert_int_equal(wire_room(&a), 0);
	assert_int_equal(carry(&a, &b, &p), -EPROTO);
	wire_fini(&a);
	wire_fini(&b);
	strbuf_fini(&p.kinds);
	strbuf_fini(&p.data);
}

/* Bytes leave in their order, each once, as far as the other end takes them. An end that hangs up
 * is not a broken connection. */
static void test_wire_ends(void **state)
{
	struct strbuf out = {0}, got = {0};
	struct pty_wire w = {0};
	struct passed p = {0};
	int fds[2], pipes[2];
	char part[4096];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
	assert_int_equal(pipe2(pipes, O_NONBLOCK), 0);
	for (int i = 0; i < 100000; i++)
		strbuf_printf(&out, "%d\n", i);
	for (int to = 0; to < 2; to++) {
		struct strbuf left = {0};
		strbuf_add(&left, out.text, out.n);
		strbuf_clear(&got);
		for (int turn = 0; got.n < out.n && turn < 10000; turn++) {
			size_t before = left.n;
			ssize_t n = pty_push(to ? pipes[1] : fds[0], &left);
			assert_true(n >= 0 && left.n == before - (size_t)n);
			while ((n = read(to ? pipes[0] : fds[1], part, sizeof part)) > 0)
				strbuf_add(&got, part, (size_t)n);
		}
		assert_true(got.n == out.n && memcmp(got.text, out.text, out.n) == 0);
		strbuf_fini(&left);
	}
	assert_int_equal(wire_read(&w, fds[0], on_passed, &p), 0); /* nothing there */
	assert_int_equal(write(fds[1], HELLO("\0"), 13), 13);
	assert_int_equal(wire_read(&w, fds[0], on_passed, &p), 0);
	passed_is(&p, "h", "");
	assert_int_equal(write(fds[1], HELLO("\0"), 13), 13);
	assert_int_equal(wire_read(&w, fds[0], on_passed, &p), -EPROTO);
	shutdown(fds[1], SHUT_WR);
	assert_int_equal(wire_read(&w, fds[0], on_passed, &p), 1); /* it hung up */
	close(fds[1]);
	assert_int_equal(wire_read(&w, fds[0], on_passed, &p), -EPIPE);
	assert_int_equal(pty_push(fds[0], &out), -EPIPE);
	assert_int_equal(pty_push(-1, &out), -EBADF);
	close(fds[0]);
	close(pipes[0]);
	close(pipes[1]);
	wire_fini(&w);
	strbuf_fini(&out);
	strbuf_fini(&got);
	strbuf_fini(&p.kinds);
	strbuf_fini(&p.data);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, nest_setup, nest_teardown)

static int tests(void)
{
	const struct CMUnitTest all[] = {
		cmocka_unit_test(test_wire_again),
		cmocka_unit_test(test_wire_bounds),
		cmocka_unit_test(test_wire_window),
		cmocka_unit_test(test_wire_ends),
		TEST(test_session),
		TEST(test_much_output),
		TEST(test_hung_up),
		TEST(test_left),
		TEST(test_deleted),
		TEST(test_nobody_waits),
		TEST(test_broken),
		TEST(test_broken_at_end),
		TEST(test_given_up),
		TEST(test_deleted_before),
		TEST(test_nonsense),
	};

	return cmocka_run_group_tests_name("pty", all, NULL, NULL);
}

int main(int argc, char **argv)
{
	return nest_main(argc, argv, tests);
}
