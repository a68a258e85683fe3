/*
 * pty.c - the shepherd's side of an interactive job: relays between the job's terminal and the
 * client, without ever waiting for only one of them. Each side is read only while there is space
 * for its data.
 *
 *	AWAY --connect, hello--> ATTACHED --connection broke--> AWAY ... for `patience`,
 *	then HUNG UP, as when the client hangs up
 *
 * The connection is made to a socket of the host's server or agent. The shepherd sends the tag in a
 * line, and the other side checks that we are that attempt's shepherd.
 */
#include "run/pty.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "base/unixsock.h"
#include "run/shepherd.h"

#define RETRY_US 250000
#define HASTE_US 1000000
#define CONNECT_MS 100	 /* while the listener is busy */
#define LAST_US 10000000 /* microseconds to send the last data to a client that does not read */

bool pty_attached(const struct pty *p)
{
	return p->conn >= 0 && p->wire.greeted;
}

/* ---- the connection ---- */

static void way_close(struct pty *p)
{
	if (p->conn >= 0)
		close(p->conn);
	p->conn = -1;
	strbuf_clear(&p->wire.out);
}

static void hang_up(struct pty *p)
{
	way_close(p);
	p->hung_up = true;
}

/* Reconnects at once if a client was attached: it is looking for us as well. */
static void way_lost(struct pty *p)
{
	int64_t now = boot_us();

	p->retry_at = now + (p->wire.greeted ? 0 : RETRY_US);
	if (p->wire.greeted)
		p->give_up_at = now + p->patience;
	way_close(p);
	p->wire.greeted = false;
}

static void way_try(struct pty *p, int64_t now)
{
	struct strbuf line = {0};

	p->retry_at = now + RETRY_US;
	p->conn = unix_connect(p->path, CONNECT_MS, NULL);
	if (p->conn < 0) {
		p->conn = -1;
		return;
	}
	fcntl(p->conn, F_SETFL, O_NONBLOCK);
	wire_begin(&p->wire, NULL, 0);
	strbuf_printf(&line, "%s\n", p->tag);
	strbuf_add(&line, p->wire.out.text, p->wire.out.n);
	strbuf_fini(&p->wire.out);
	p->wire.out = line;
	if (pty_push(p->conn, &p->wire.out) < 0)
		way_lost(p);
}

void pty_begin(struct pty *p, const char *path, const char *tag, int64_t seconds)
{
	int64_t now = boot_us();

	p->path = path;
	p->tag = tag;
	p->patience = (seconds > 0 ? seconds : PTY_PATIENCE) * 1000000;
	p->give_up_at = now + p->patience;
	way_try(p, now);
}

void pty_look(struct pty *p, int64_t now)
{
	if (p->hung_up || pty_attached(p))
		return;
	if (now >= p->give_up_at)
		hang_up(p);
	else if (p->conn < 0 && now >= p->retry_at)
		way_try(p, now);
}

int64_t pty_next(const struct pty *p)
{
	if (p->hung_up || pty_attached(p))
		return INT64_MAX;
	return p->conn < 0 && p->retry_at < p->give_up_at ? p->retry_at : p->give_up_at;
}

/* ---- the terminal ---- */

static tcflag_t flags_read(const unsigned char *u)
{
	return (tcflag_t)u[0] | (tcflag_t)u[1] << 8 | (tcflag_t)u[2] << 16 | (tcflag_t)u[3] << 24;
}

/* Applies the settings of the user's own terminal: which key interrupts, which erases, UTF-8. */
static void settings_apply(const struct pty *p, int slave)
{
	struct termios t;

	if (!p->has_settings || tcgetattr(slave, &t))
		return;
	t.c_iflag = flags_read(p->settings);
	t.c_oflag = flags_read(p->settings + 4);
	t.c_lflag = flags_read(p->settings + 8);
	memcpy(t.c_cc, p->settings + 12, PTY_KEYS);
	tcsetattr(slave, TCSANOW, &t);
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
	ioctl(p->master, TIOCSWINSZ, &p->size);
	settings_apply(p, *ret_slave);
	return 0;
}

static void window_set(struct pty *p, const char *data)
{
	const unsigned char *u = (const unsigned char *)data;

	p->size.ws_row = (unsigned short)(u[0] | u[1] << 8);
	p->size.ws_col = (unsigned short)(u[2] | u[3] << 8);
	if (p->master >= 0)
		/* the kernel notifies the job with SIGWINCH */
		ioctl(p->master, TIOCSWINSZ, &p->size);
}

static void terminal_close(struct pty *p)
{
	if (p->master >= 0)
		close(p->master);
	p->master = -1;
}

/* Returns false if there is nothing to read: no process has the terminal open any more, or no data
 * is waiting. */
static bool terminal_read(struct pty *p)
{
	char part[8192];
	size_t room = wire_room(&p->wire);
	ssize_t got = read(p->master, part, room < sizeof part ? room : sizeof part);

	if (got > 0)
		wire_send(&p->wire, part, (size_t)got);
	if (got < 0 && errno == EIO)
		terminal_close(p);
	return got > 0;
}

/* Data that can't be written any more counts as consumed, so that the client is not held back. */
static void terminal_write(struct pty *p)
{
	ssize_t n = p->master >= 0 ? pty_push(p->master, &p->keys) : -EIO;

	wire_used(&p->wire, n < 0 ? p->keys.n : (size_t)n);
	if (n < 0)
		strbuf_clear(&p->keys);
}

/* ---- relaying ---- */

static void result_say(struct pty *p)
{
	if (p->said && pty_attached(p))
		wire_put(&p->wire, PTY_EXIT, p->last.text, p->last.n);
}

static void frame_obey(void *context, char kind, const char *data, size_t n)
{
	struct pty *p = context;

	if (kind == PTY_HELLO && n >= 12)
		window_set(p, data + 8);
	if (kind == PTY_HELLO && n >= 12 + PTY_SETTINGS) {
		memcpy(p->settings, data + 12, PTY_SETTINGS);
		p->has_settings = true;
	}
	if (kind == PTY_HELLO)
		result_say(p);
	if (kind == PTY_DATA)
		strbuf_add(&p->keys, data, n);
	if (kind == PTY_TAKEN)
		wire_tell(&p->wire);
	if (kind == PTY_SIGNAL && n == 1)
		p->signal = (unsigned char)data[0];
	if (kind == PTY_SIZE && n == 4)
		window_set(p, data);
	if (kind == PTY_EXIT)
		p->over = p->said;
}

static void client_read(struct pty *p)
{
	int rc = wire_read(&p->wire, p->conn, frame_obey, p);

	if (rc > 0)
		hang_up(p);
	if (rc < 0)
		way_lost(p);
}

void pty_fds(const struct pty *p, struct pollfd fds[PTY_FDS])
{
	bool room = wire_room(&p->wire) > 0;

	fds[0] = (struct pollfd){.fd = p->conn, .events = (short)(POLLIN | (p->wire.out.n ? POLLOUT : 0))};
	/* poll() always reports a hang-up of the terminal, so leave it out while it can't be
	 * read. */
	fds[1] = (struct pollfd){.fd = room || p->keys.n ? p->master : -1,
				 .events = (short)((room ? POLLIN : 0) | (p->keys.n ? POLLOUT : 0))};
}

void pty_turn(struct pty *p, const struct pollfd fds[PTY_FDS])
{
	if (fds[1].revents & (POLLIN | POLLHUP) && wire_room(&p->wire))
		terminal_read(p);
	if (fds[0].revents & (POLLIN | POLLHUP | POLLERR))
		client_read(p);
	if (p->master >= 0 || p->said)
		terminal_write(p);
	if (p->conn >= 0)
		pty_push(p->conn, &p->wire.out); /* reading detects a broken connection */
}

bool pty_show(struct pty *p, const char *text)
{
	size_t n = strlen(text);

	if (wire_room(&p->wire) < n)
		return false;
	wire_send(&p->wire, text, n);
	if (p->conn >= 0)
		pty_push(p->conn, &p->wire.out);
	return true;
}

/* ---- the end ---- */

static void relay_step(struct pty *p, int64_t until)
{
	struct pollfd fds[PTY_FDS];
	int64_t next = pty_next(p) < until ? pty_next(p) : until, us = next - boot_us();

	pty_fds(p, fds);
	fds[1].fd = -1;
	if (poll(fds, PTY_FDS, us <= 0 ? 0 : (int)((us + 999) / 1000)) > 0)
		pty_turn(p, fds);
	pty_look(p, boot_us());
}

/* Reads all that the job's processes have left in the terminal. They are gone, so nothing more will
 * come. */
static void terminal_drain(struct pty *p)
{
	while (p->master >= 0 && wire_room(&p->wire))
		if (!terminal_read(p))
			terminal_close(p);
	if (p->master < 0 && !p->said) {
		p->said = true;
		result_say(p);
	}
}

void pty_finish(struct pty *p, const struct result *r)
{
	/* A client that is away may come back, but a job that had to end does not wait for it. */
	bool patient = r->cause == CAUSE_ITSELF;
	int64_t until = boot_us() + (patient || pty_attached(p) ? LAST_US : HASTE_US);

	result_write(r, &p->last);
	while (!p->over && !p->hung_up && boot_us() < until) {
		uint64_t before = p->wire.base;
		terminal_drain(p);
		if (p->conn >= 0)
			pty_push(p->conn, &p->wire.out);
		relay_step(p, until);
		/* there is progress; or pty_look() gives up */
		if (p->wire.base != before || (patient && !pty_attached(p)))
			until = boot_us() + LAST_US;
	}
	terminal_close(p);
	hang_up(p);
	wire_fini(&p->wire);
	strbuf_fini(&p->keys);
	strbuf_fini(&p->last);
}
