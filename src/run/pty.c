/*
 * pty.c - the shepherd's side of an interactive job: relays between the job's terminal and the client, without ever waiting for
 * only one of them. Each side is read only while there is room for what it says.
 */
#include "run/pty.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <termios.h>
#include <unistd.h>

#include "run/shepherd.h"

#define ROOM 65536	/* bytes that may wait for either side */
#define LAST_US 3000000 /* for the last words to a client that does not read */

/* ---- frames ---- */

void pty_put(struct strbuf *out, enum pty_frame kind, const void *data, size_t n)
{
	char head[PTY_HEAD] = {(char)kind};

	for (int i = 0; i < 4; i++)
		head[1 + i] = (char)(n >> 8 * i);
	strbuf_add(out, head, sizeof head);
	strbuf_add(out, data, n);
}

ssize_t pty_next(const struct strbuf *in, size_t at, char *ret_kind, const char **ret_data, size_t *ret_n)
{
	size_t left = in->n - at, n = 0;

	if (left < PTY_HEAD)
		return 0;
	for (int i = 0; i < 4; i++)
		n |= (size_t)(unsigned char)in->text[at + 1 + (size_t)i] << 8 * i;
	if (n > PTY_FRAME_MAX)
		return -EMSGSIZE;
	if (left < PTY_HEAD + n)
		return 0;
	*ret_kind = in->text[at];
	*ret_data = in->text + at + PTY_HEAD;
	*ret_n = n;
	return (ssize_t)(PTY_HEAD + n);
}

static void strbuf_drop(struct strbuf *b, size_t n)
{
	memmove(b->text, b->text + n, b->n - n);
	b->n -= n;
}

int pty_push(int fd, struct strbuf *b)
{
	while (b->n) {
		ssize_t n = send(fd, b->text, b->n, MSG_NOSIGNAL);
		if (n < 0 && errno == ENOTSOCK)
			n = write(fd, b->text, b->n);
		if (n < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : -errno;
		strbuf_drop(b, (size_t)n);
	}
	return 0;
}

/* ---- opening ---- */

int pty_connect(struct pty *p, const char *path, struct err *err)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};

	if (strlen(path) >= sizeof to.sun_path)
		return err_set(err, -ENAMETOOLONG, "the terminal's socket %s has too long a name", path);
	strcpy(to.sun_path, path);
	p->conn = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (p->conn < 0 || connect(p->conn, (struct sockaddr *)&to, sizeof to))
		return err_set(err, -errno, "the terminal that it was submitted from is gone (%s: %s)", path,
			       strerror(errno));
	return 0;
}

int pty_terminal(struct pty *p, int *ret_slave, struct err *err)
{
	p->master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (p->master < 0 || grantpt(p->master) || unlockpt(p->master))
		return err_set(err, -errno, "no pseudo terminal: %s", strerror(errno));
	*ret_slave = ioctl(p->master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (*ret_slave < 0)
		return err_set(err, -errno, "no pseudo terminal: %s", strerror(errno));
	fcntl(p->master, F_SETFL, O_NONBLOCK);
	return 0;
}

/* ---- relaying ---- */

static void hang_up(struct pty *p)
{
	if (p->conn >= 0)
		close(p->conn);
	p->conn = -1;
	p->hung_up = true;
	strbuf_clear(&p->out);
}

static void frame_obey(struct pty *p, char kind, const char *data, size_t n)
{
	const unsigned char *u = (const unsigned char *)data;

	if (kind == PTY_DATA)
		strbuf_add(&p->keys, data, n);
	if (kind == PTY_SIGNAL && n == 1)
		p->signal = u[0];
	if (kind == PTY_WINDOW && n == 4) {
		struct winsize w = {.ws_row = (unsigned short)(u[0] | u[1] << 8),
				    .ws_col = (unsigned short)(u[2] | u[3] << 8)};
		ioctl(p->master, TIOCSWINSZ, &w); /* the kernel tells the job by SIGWINCH */
	}
}

static void client_read(struct pty *p)
{
	char part[8192], kind;
	const char *data;
	size_t at = 0, n;
	ssize_t got = read(p->conn, part, sizeof part), took;

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got <= 0) {
		hang_up(p);
		return;
	}
	strbuf_add(&p->in, part, (size_t)got);
	while ((took = pty_next(&p->in, at, &kind, &data, &n)) > 0) {
		frame_obey(p, kind, data, n);
		at += (size_t)took;
	}
	strbuf_drop(&p->in, at);
	if (took < 0)
		hang_up(p);
}

/* False at the end: no process has the terminal any more, or there is nothing now. */
static bool terminal_read(struct pty *p)
{
	char part[8192];
	ssize_t got = read(p->master, part, sizeof part);

	if (got > 0 && p->conn >= 0)
		pty_put(&p->out, PTY_DATA, part, (size_t)got);
	if (got < 0 && errno == EIO) {
		close(p->master);
		p->master = -1;
	}
	return got > 0;
}

void pty_fds(const struct pty *p, struct pollfd fds[PTY_FDS])
{
	fds[0] = (struct pollfd){.fd = p->conn,
				 .events = (short)((p->keys.n < ROOM ? POLLIN : 0) | (p->out.n ? POLLOUT : 0))};
	fds[1] = (struct pollfd){.fd = p->master,
				 .events = (short)((p->out.n < ROOM ? POLLIN : 0) | (p->keys.n ? POLLOUT : 0))};
}

void pty_turn(struct pty *p, const struct pollfd fds[PTY_FDS])
{
	if (fds[1].revents & (POLLIN | POLLHUP))
		terminal_read(p);
	if (fds[0].revents & (POLLIN | POLLHUP | POLLERR))
		client_read(p);
	if (p->master >= 0)
		pty_push(p->master, &p->keys);
	else
		strbuf_clear(&p->keys);
	if (p->conn >= 0 && pty_push(p->conn, &p->out))
		hang_up(p);
}

static void relay_step(struct pty *p, int64_t until)
{
	struct pollfd fds[PTY_FDS];
	int64_t us = until - boot_us();

	pty_fds(p, fds);
	if (poll(fds, PTY_FDS, us <= 0 ? 0 : (int)((us + 999) / 1000)) > 0)
		pty_turn(p, fds);
}

void pty_finish(struct pty *p, const struct result *r)
{
	int64_t until = boot_us() + LAST_US;
	struct strbuf text = {0};

	while (p->master >= 0 && p->conn >= 0 && boot_us() < until) {
		if (p->out.n < ROOM && !terminal_read(p))
			break;
		if (p->out.n >= ROOM)
			relay_step(p, until);
	}
	if (p->conn >= 0) {
		result_write(r, &text);
		pty_put(&p->out, PTY_EXIT, text.text, text.n);
		strbuf_fini(&text);
	}
	/* The terminal is read no more: only the client is waited for. */
	if (p->master >= 0)
		close(p->master);
	p->master = -1;
	while (p->conn >= 0 && p->out.n && boot_us() < until)
		relay_step(p, until);
	hang_up(p);
}
