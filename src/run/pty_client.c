/*
 * pty_client.c - the user's side of an interactive job.
 *
 * The local terminal is raw while the job uses it, so every key, including ^C, goes to the job as a
 * byte. Its settings are restored on every way out: at the end, by exit(), and by signals that end
 * this process.
 *
 * Now and then the client reports to the job what it has shown, and the job answers: a connection
 * without answers is given up, and another made.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "base/ticks.h"
#include "run/pty.h"

#define ASK_MS 3000	 /* milliseconds between reports to the job */
#define SILENCE_MS 15000 /* milliseconds without an answer after which the connection is given up */
#define RETRY_MS 250
#define LEAVE_MS 2000
#define SAY_MS 2000 /* milliseconds without a connection after which the user is notified */
#define COUNT(a) (sizeof(a) / sizeof *(a))

/* State that signal handlers need. */
static struct {
	int fd;
	volatile sig_atomic_t raw, resized;
	struct termios before;
} terminal = {.fd = -1};

static const int deadly[] = {SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL};
static struct sigaction deadly_before[COUNT(deadly)];
static struct sigaction winch_before;

/* ---- the local terminal ---- */

static void terminal_restore(void)
{
	if (terminal.raw)
		tcsetattr(terminal.fd, TCSANOW, &terminal.before);
	terminal.raw = 0;
}

static void on_deadly(int signal)
{
	terminal_restore();
	struct sigaction plain = {.sa_handler = SIG_DFL};
	sigaction(signal, &plain, NULL);
	raise(signal);
}

static void on_resize(int signal)
{
	terminal.resized = 1;
}

static void terminal_raw(int fd)
{
	static bool registered;
	struct termios t;
	struct sigaction deadly_now = {.sa_handler = on_deadly}, winch = {.sa_handler = on_resize};

	if (!isatty(fd) || tcgetattr(fd, &terminal.before))
		return;
	terminal.fd = fd;
	if (!registered)
		atexit(terminal_restore);
	registered = true;
	for (size_t i = 0; i < COUNT(deadly); i++)
		sigaction(deadly[i], &deadly_now, &deadly_before[i]);
	sigaction(SIGWINCH, &winch, &winch_before);
	t = terminal.before;
	cfmakeraw(&t);
	terminal.raw = 1;
	tcsetattr(fd, TCSANOW, &t);
}

static void terminal_leave(void)
{
	if (terminal.fd < 0)
		return;
	terminal_restore();
	for (size_t i = 0; i < COUNT(deadly); i++)
		sigaction(deadly[i], &deadly_before[i], NULL);
	sigaction(SIGWINCH, &winch_before, NULL);
	terminal.fd = -1;
}

/* ---- relaying ---- */

struct relay {
	struct pty_way *way;
	int in, out;
	/* signal mask while it waits: SIGWINCH is unblocked only then, so that none is missed */
	sigset_t waiting;
	struct pty_wire wire;
	struct strbuf screen;	 /* output for the local terminal */
	struct strbuf exit_text; /* the job's result */
	/* ms: time of the next report; time of the first unanswered one, or 0 */
	int64_t ask_at, asked;
	bool ended;
};

static bool window_read(const struct relay *r, unsigned char size[4])
{
	struct winsize w;

	if (ioctl(r->in, TIOCGWINSZ, &w) && ioctl(r->out, TIOCGWINSZ, &w))
		return false;
	for (int i = 0; i < 2; i++) {
		size[i] = (unsigned char)(w.ws_row >> 8 * i);
		size[2 + i] = (unsigned char)(w.ws_col >> 8 * i);
	}
	return true;
}

static void window_put(struct relay *r)
{
	unsigned char size[4];

	terminal.resized = 0;
	if (window_read(r, size))
		wire_put(&r->wire, PTY_SIZE, size, sizeof size);
}

/* The end of a file that is used as input becomes ^D. A terminal that ends is gone, and the job
 * notices when we leave. */
static int keys_read(struct relay *r)
{
	char part[4096];
	size_t room = wire_room(&r->wire);
	ssize_t n = read(r->in, part, room < sizeof part ? room : sizeof part);

	if (n > 0) {
		wire_send(&r->wire, part, (size_t)n);
		return 0;
	}
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (terminal.fd >= 0)
		return -EIO;
	wire_send(&r->wire, "\004", 1);
	r->in = -1;
	return 0;
}

static void frame_obey(void *context, char kind, const char *data, size_t n)
{
	struct relay *r = context;

	if (kind == PTY_DATA)
		strbuf_add(&r->screen, data, n);
	if (kind == PTY_EXIT && !r->ended) {
		strbuf_add(&r->exit_text, data, n);
		r->ended = true;
	}
}

static int screen_write(struct relay *r)
{
	ssize_t n = pty_push(r->out, &r->screen);

	if (n < 0) /* no one sees the output: same as a hang-up */
		return -EIO;
	wire_used(&r->wire, (size_t)n);
	return 0;
}

static void ask(struct relay *r, int64_t now)
{
	if (now < r->ask_at)
		return;
	r->ask_at = now + ASK_MS;
	r->asked = r->asked ? r->asked : now;
	wire_tell(&r->wire);
}

/* Returns 0; -EPIPE: the connection broke; -EIO: the terminal is gone. */
static int relay_step(struct relay *r)
{
	struct pollfd fds[] = {
		{.fd = r->way->fd, .events = (short)(POLLIN | (r->wire.out.n ? POLLOUT : 0))},
		{.fd = wire_room(&r->wire) ? r->in : -1, .events = POLLIN},
		{.fd = r->screen.n ? r->out : -1, .events = POLLOUT},
	};
	int64_t left = r->ask_at - clock_ms(CLOCK_MONOTONIC);
	struct timespec t = {.tv_sec = left > 0 ? left / 1000 : 0, .tv_nsec = left > 0 ? left % 1000 * 1000000 : 0};
	int n = ppoll(fds, COUNT(fds), &t, &r->waiting), e = 0;

	if (terminal.resized)
		window_put(r);
	if (n < 0)
		return errno == EINTR ? 0 : -errno;
	if (fds[1].revents)
		e = keys_read(r);
	if (!e && fds[0].revents & (POLLIN | POLLHUP | POLLERR)) {
		r->asked = 0;
		e = wire_read(&r->wire, r->way->fd, frame_obey, r) ? -EPIPE : 0;
	} else if (!e && r->asked && clock_ms(CLOCK_MONOTONIC) - r->asked > SILENCE_MS) {
		e = -EPIPE;
	}
	ask(r, clock_ms(CLOCK_MONOTONIC));
	if (screen_write(r))
		e = -EIO;
	if (!e)
		pty_push(r->way->fd, &r->wire.out); /* reading detects a broken connection */
	return e;
}

/* ---- connections ---- */

static void flags_write(unsigned char *u, tcflag_t flags)
{
	for (int i = 0; i < 4; i++)
		u[i] = (unsigned char)(flags >> 8 * i);
}

/* Writes what the hello says about this terminal; returns the number of bytes. */
static size_t terminal_describe(const struct relay *r, unsigned char text[4 + PTY_SETTINGS])
{
	if (!window_read(r, text))
		return 0;
	if (terminal.fd < 0)
		return 4;
	flags_write(text + 4, terminal.before.c_iflag);
	flags_write(text + 8, terminal.before.c_oflag);
	flags_write(text + 12, terminal.before.c_lflag);
	memcpy(text + 16, terminal.before.c_cc, PTY_KEYS);
	return 4 + PTY_SETTINGS;
}

static int way_begin(struct relay *r)
{
	unsigned char text[4 + PTY_SETTINGS];

	wire_begin(&r->wire, text, terminal_describe(r, text));
	strbuf_add(&r->wire.in, strbuf_text(&r->way->rest), r->way->rest.n);
	strbuf_clear(&r->way->rest);
	fcntl(r->way->fd, F_SETFL, O_NONBLOCK);
	r->asked = 0;
	r->ask_at = clock_ms(CLOCK_MONOTONIC) + ASK_MS;
	if (wire_take(&r->wire, frame_obey, r))
		return -EPIPE;
	pty_push(r->way->fd, &r->wire.out);
	return 0;
}

static void say(const struct relay *r, const char *text)
{
	dprintf(r->out, "%sqsub: %s%s", terminal.fd >= 0 ? "\r\n" : "\n", text, terminal.fd >= 0 ? "\r\n" : "\n");
}

/* Connects again after the connection broke, until the job would have given us up. */
static int way_again(struct relay *r, int patience, struct err *err)
{
	int64_t since = clock_ms(CLOCK_MONOTONIC);
	bool said = false;
	int rc;

	while ((rc = r->way->again(r->way->context, r->way, err)) == -EAGAIN) {
		if (clock_ms(CLOCK_MONOTONIC) - since > patience * INT64_C(1000))
			return -ETIMEDOUT;
		if (!said && clock_ms(CLOCK_MONOTONIC) - since > SAY_MS)
			say(r, "the connection to the job is lost: trying to get it back");
		said = said || clock_ms(CLOCK_MONOTONIC) - since > SAY_MS;
		ppoll(NULL, 0, &(struct timespec){.tv_nsec = RETRY_MS * 1000000}, &r->waiting);
	}
	if (rc)
		return rc;
	if (said)
		say(r, "connected again");
	return way_begin(r);
}

/* Called when everything is shown: notifies the job that its result has arrived. */
static void relay_finish(struct relay *r)
{
	wire_put(&r->wire, PTY_EXIT, "", 0);
	pty_push(r->way->fd, &r->wire.out);
	while (r->screen.n && pty_push(r->out, &r->screen) >= 0 && r->screen.n)
		poll(&(struct pollfd){.fd = r->out, .events = POLLOUT}, 1, -1);
}

/* Hangs up and waits until the other end has noticed: a connection that is only closed may be taken
 * for a broken one. */
static void relay_leave(struct relay *r)
{
	char part[4096];

	shutdown(r->way->fd, SHUT_WR);
	for (int64_t until = clock_ms(CLOCK_MONOTONIC) + LEAVE_MS; clock_ms(CLOCK_MONOTONIC) < until;) {
		poll(&(struct pollfd){.fd = r->way->fd, .events = POLLIN}, 1, (int)(until - clock_ms(CLOCK_MONOTONIC)));
		if (read(r->way->fd, part, sizeof part) == 0)
			return;
	}
}

int pty_serve(struct pty_way *w, int in, int out, int patience, struct arena *a, struct result *ret, struct err *err)
{
	struct relay r = {.way = w, .in = in, .out = out};
	sigset_t winch, before;

	sigemptyset(&winch);
	sigaddset(&winch, SIGWINCH);
	sigprocmask(SIG_BLOCK, &winch, &before);
	r.waiting = before;
	sigdelset(&r.waiting, SIGWINCH);
	terminal_raw(in);
	int e = way_begin(&r);
	while (!r.ended && (e == 0 || e == -EPIPE))
		e = e ? way_again(&r, patience, err) : relay_step(&r);
	if (r.ended)
		relay_finish(&r);
	else if (e == -EIO)
		relay_leave(&r);
	terminal_leave();
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (r.ended)
		e = result_read(r.exit_text.text, r.exit_text.n, a, ret, err);
	else if (e == -ETIMEDOUT)
		err_set(err, e, "the connection to the job broke, and did not come back for %d s", patience);
	else if (e == -EIO)
		err_set(err, e, "this terminal is gone");
	wire_fini(&r.wire);
	strbuf_fini(&r.screen);
	strbuf_fini(&r.exit_text);
	return e;
}
