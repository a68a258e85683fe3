/*
 * pty_client.c - the user's side of an interactive job.
 *
 * The local terminal is raw while the job has it, so every key, ^C too, goes to the job as a byte. It is put back on every
 * way out: at the end, by exit(), and by signals that end this process.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <termios.h>
#include <unistd.h>

#include "run/pty.h"

#define ROOM 65536
#define COUNT(a) (sizeof(a) / sizeof *(a))

/* What a signal handler needs. */
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

/* ---- the socket ---- */

int pty_listen(struct pty_client *c, struct err *err)
{
	const char *base = getenv("XDG_RUNTIME_DIR");
	struct sockaddr_un at = {.sun_family = AF_UNIX};

	if (!base || *base != '/' || strlen(base) > 60 || access(base, W_OK))
		base = "/tmp";
	*c = (struct pty_client){.fd = -1};
	snprintf(c->dir, sizeof c->dir, "%s/shunt-XXXXXX", base);
	if (!mkdtemp(c->dir))
		return err_set(err, -errno, "%s: no directory for the job's terminal: %s", c->dir, strerror(errno));
	snprintf(c->path, sizeof c->path, "%s/terminal", c->dir);
	strcpy(at.sun_path, c->path);
	c->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (c->fd < 0 || bind(c->fd, (struct sockaddr *)&at, sizeof at) || listen(c->fd, 1)) {
		int r = err_set(err, -errno, "%s: no socket for the job's terminal: %s", c->path, strerror(errno));
		pty_close(c);
		return r;
	}
	return 0;
}

void pty_close(struct pty_client *c)
{
	if (c->fd >= 0)
		close(c->fd);
	if (c->path[0])
		unlink(c->path);
	if (c->dir[0])
		rmdir(c->dir);
	*c = (struct pty_client){.fd = -1};
}

/* Only this user or root may be the other end; the directory sees to it already. */
static int job_accept(struct pty_client *c, struct err *err)
{
	struct ucred who;
	socklen_t n = sizeof who;
	int fd = accept4(c->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0)
		return err_set(err, -errno, "the job's terminal can't be accepted: %s", strerror(errno));
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &n) || (who.uid != 0 && who.uid != geteuid())) {
		close(fd);
		return err_set(err, -EPERM, "someone else connected instead of the job");
	}
	return fd;
}

/* ---- relaying ---- */

struct relay {
	int conn, in, out;
	struct strbuf from, to;	 /* the job's frames, ours */
	struct strbuf screen;	 /* for the local terminal */
	struct strbuf exit_text; /* the result */
	bool ended;
};

static void window_put(struct relay *r)
{
	struct winsize w;

	terminal.resized = 0;
	if (ioctl(r->in, TIOCGWINSZ, &w) && ioctl(r->out, TIOCGWINSZ, &w))
		return;
	const unsigned char size[4] = {w.ws_row & 0xff, w.ws_row >> 8, w.ws_col & 0xff, w.ws_col >> 8};
	pty_put(&r->to, PTY_WINDOW, size, sizeof size);
}

/* The end of a file that is read as if typed is ^D; a terminal that ends is gone, and the job learns that by our leaving. */
static int keys_read(struct relay *r)
{
	char part[4096];
	ssize_t n = read(r->in, part, sizeof part);

	if (n > 0) {
		pty_put(&r->to, PTY_DATA, part, (size_t)n);
		return 0;
	}
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (terminal.fd >= 0)
		return -EIO;
	pty_put(&r->to, PTY_DATA, "\004", 1);
	r->in = -1;
	return 0;
}

static int job_read(struct relay *r)
{
	char part[16384], kind;
	const char *data;
	size_t at = 0, n;
	ssize_t got = read(r->conn, part, sizeof part), took;

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (got <= 0)
		return -EPIPE;
	strbuf_add(&r->from, part, (size_t)got);
	while ((took = pty_next(&r->from, at, &kind, &data, &n)) > 0) {
		if (kind == PTY_DATA)
			strbuf_add(&r->screen, data, n);
		if (kind == PTY_EXIT) {
			strbuf_add(&r->exit_text, data, n);
			r->ended = true;
		}
		at += (size_t)took;
	}
	memmove(r->from.text, r->from.text + at, r->from.n - at);
	r->from.n -= at;
	return took < 0 ? -EPIPE : 0;
}

/* SIGWINCH is let through only while it waits, so none is overlooked. */
static int relay_step(struct relay *r, const sigset_t *waiting)
{
	struct pollfd fds[] = {
		{.fd = r->conn, .events = (short)((r->screen.n < ROOM ? POLLIN : 0) | (r->to.n ? POLLOUT : 0))},
		{.fd = r->to.n < ROOM ? r->in : -1, .events = POLLIN},
	};

	int n = ppoll(fds, 2, NULL, waiting);
	if (terminal.resized)
		window_put(r);
	if (n < 0)
		return errno == EINTR ? 0 : -errno;
	int e = fds[1].revents ? keys_read(r) : 0;
	if (!e && fds[0].revents & (POLLIN | POLLHUP | POLLERR))
		e = job_read(r);
	if (!e && pty_push(r->out, &r->screen)) /* nobody sees it: as good as hung up */
		e = -EIO;
	if (!e)
		pty_push(r->conn, &r->to); /* a job that has ended is noticed by reading */
	return e;
}

int pty_serve(struct pty_client *c, int in, int out, struct arena *a, struct result *ret, struct err *err)
{
	struct relay r = {.conn = job_accept(c, err), .in = in, .out = out};
	sigset_t winch, before;
	int e = 0;

	if (r.conn < 0)
		return r.conn;
	sigemptyset(&winch);
	sigaddset(&winch, SIGWINCH);
	sigprocmask(SIG_BLOCK, &winch, &before);
	terminal_raw(in);
	window_put(&r);
	sigset_t waiting = before;
	sigdelset(&waiting, SIGWINCH);
	while (!e && !r.ended)
		e = relay_step(&r, &waiting);
	while (r.screen.n && !pty_push(r.out, &r.screen) && r.screen.n)
		poll(&(struct pollfd){.fd = r.out, .events = POLLOUT}, 1, -1); /* the last words */
	terminal_leave();
	sigprocmask(SIG_SETMASK, &before, NULL);
	close(r.conn);
	if (r.ended)
		e = result_read(r.exit_text.text, r.exit_text.n, a, ret, err);
	else if (e)
		err_set(err, e, "the connection to the job broke before it ended");
	strbuf_fini(&r.from);
	strbuf_fini(&r.to);
	strbuf_fini(&r.screen);
	strbuf_fini(&r.exit_text);
	return e;
}
