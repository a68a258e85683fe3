/*
 * taskclient.c - runs a program of this job on another of its hosts. One loop serves one
 * connection; callers use one process for each.
 *
 * Nothing is read that cannot be passed on: a slow reader at either end slows down the other, and
 * memory does not grow.
 */
#include "cmd/launch/taskclient.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/unixsock.h"
#include "cmd/lib/sink.h"
#include "pmix/cable.h"

#define CONNECT_MS 10000
#define PATIENCE 30 /* seconds, */
#define PAUSE_MS 200

struct relay {
	const struct taskclient *t;
	struct cable cable;
	struct sink out, error;
	int in, signals;
	bool ended;
	int code;
	struct err *err;
};

/* ---- the local terminal ---- */

static struct {
	int fd;
	bool raw;
	struct termios before;
} terminal;

static void terminal_restore(void)
{
	if (terminal.raw)
		tcsetattr(terminal.fd, TCSADRAIN, &terminal.before);
	terminal.raw = false;
}

static void terminal_raw(int fd)
{
	struct termios t;

	if (fd < 0 || tcgetattr(fd, &terminal.before) < 0)
		return;
	t = terminal.before;
	cfmakeraw(&t);
	terminal.fd = fd;
	terminal.raw = tcsetattr(fd, TCSADRAIN, &t) == 0;
	atexit(terminal_restore);
}

static bool window_get(const struct taskclient *t, int *rows, int *columns)
{
	struct winsize w;

	if ((t->in < 0 || ioctl(t->in, TIOCGWINSZ, &w) < 0) && ioctl(t->out, TIOCGWINSZ, &w) < 0)
		return false;
	*rows = w.ws_row ? w.ws_row : 24;
	*columns = w.ws_col ? w.ws_col : 80;
	return true;
}

/* ---- asking ---- */

/* Converts texts to JSON. Environment entries that are not UTF-8 cannot be expressed and are left
 * out. */
static int texts_json(char *const *text, bool all, json_t **ret)
{
	*ret = json_array();
	for (; text && *text; text++)
		if (json_array_append_new(*ret, json_string(*text)) < 0 && all)
			return -EILSEQ;
	return 0;
}

/* Returns "12.1" for "12.1@/where/live". */
static char *tag_get(void)
{
	const char *tag = getenv("SHUNT_TAG");

	return tag ? strndup(tag, strcspn(tag, "@")) : NULL;
}

static int task_ask(struct relay *r)
{
	const struct taskclient *t = r->t;
	char *tag = t->fd ? mem_strdup("") : tag_get(); /* the server knows it */
	json_t *argv, *env = NULL, *head = NULL;
	int rows = 24, columns = 80;

	if (!tag)
		return err_set(r->err, -ENOENT, "SHUNT_TAG is not set: this is not inside a job");
	int rc = texts_json(t->argv, true, &argv);
	texts_json(t->env, false, &env);
	if (rc < 0) {
		json_decref(argv);
		json_decref(env);
		free(tag);
		return err_set(r->err, rc, "the command for %s has bytes that are not UTF-8", t->node);
	}
	head = json_pack("{s:s,s:s,s:s,s:o,s:o}", "t", "task", "tag", tag, "node", t->node, "argv", argv, "env", env);
	if (t->workdir)
		json_object_set_new(head, "workdir", json_string(t->workdir));
	if (t->terminal) {
		window_get(t, &rows, &columns);
		json_object_set_new(head, "rows", json_integer(rows));
		json_object_set_new(head, "columns", json_integer(columns));
	}
	cable_put(&r->cable, head, NULL, 0);
	free(tag);
	return 0;
}

static int agent_connect(struct relay *r)
{
	const char *path = getenv("SHUNT_AGENT_SOCKET");

	if (r->t->fd) {
		cable_init(&r->cable, r->t->fd, r->t->fd);
		return task_ask(r);
	}
	if (!path)
		return err_set(r->err, -ENOENT,
			       "%s is on another host, and SHUNT_AGENT_SOCKET, which names the way there, is not set",
			       r->t->node);
	int tries = (r->t->patience ? r->t->patience : PATIENCE) * 1000 / PAUSE_MS, fd;
	while ((fd = unix_connect(path, CONNECT_MS, r->err)) == -ECONNREFUSED || fd == -ENOENT) {
		if (--tries <= 0)
			break;
		nanosleep(&(struct timespec){.tv_nsec = PAUSE_MS * 1000000}, NULL);
	}
	if (fd < 0)
		return err_prefix(r->err, fd, "the agent of this host can't be asked for %s", r->t->node);
	cable_init(&r->cable, fd, fd);
	return task_ask(r);
}

/* ---- relaying ---- */

static int end_read(struct relay *r, const char *type, const json_t *head)
{
	const char *how = json_string_value(json_object_get(head, "how")),
		   *reason = json_string_value(json_object_get(head, "reason"));
	int status = (int)json_integer_value(json_object_get(head, "status"));

	if (strcmp(type, "refused") == 0)
		return err_set(r->err, -EACCES, "%s: %.400s", r->t->node, reason ? reason : "it was refused");
	r->ended = true;
	r->code = how && strcmp(how, "signaled") == 0 ? 128 + status : status;
	return 0;
}

static int frames_read(struct relay *r)
{
	const char *data, *type;
	json_t *head;
	size_t n;
	int rc, failed = 0;

	while (failed == 0 && !r->ended && (rc = cable_next(&r->cable, &head, &data, &n)) != 0) {
		if (rc < 0)
			return err_set(r->err, rc, "the agent of this host says what can't be understood");
		type = json_string_value(json_object_get(head, "t"));
		if (type && strcmp(type, "out") == 0)
			strbuf_add(&r->out.text, data, n);
		else if (type && strcmp(type, "err") == 0)
			strbuf_add(&r->error.text, data, n);
		else if (type && (strcmp(type, "exit") == 0 || strcmp(type, "refused") == 0))
			failed = end_read(r, type, head);
		json_decref(head);
	}
	return failed;
}

static int agent_read(struct relay *r)
{
	bool closed = cable_fill(&r->cable) < 0;
	int rc = frames_read(r);

	if (rc == 0 && closed && !r->ended)
		rc = err_set(r->err, -EPIPE, "the connection to %s was lost", r->t->node);
	return rc;
}

static void input_read(struct relay *r)
{
	char piece[65536];
	ssize_t n = read(r->in, piece, sizeof piece);

	if (n > 0) {
		cable_pack(&r->cable, piece, (size_t)n, "{s:s}", "t", "in");
	} else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
		cable_pack(&r->cable, NULL, 0, "{s:s}", "t", "in_end");
		r->in = -1;
	}
}

static void signals_read(struct relay *r)
{
	struct signalfd_siginfo s;
	int rows, columns;

	while (read(r->signals, &s, sizeof s) == sizeof s)
		if (s.ssi_signo != SIGWINCH)
			cable_pack(&r->cable, NULL, 0, "{s:s,s:i}", "t", "signal", "signal", (int)s.ssi_signo);
		else if (r->t->terminal && window_get(r->t, &rows, &columns))
			cable_pack(&r->cable, NULL, 0, "{s:s,s:i,s:i}", "t", "window", "rows", rows, "columns",
				   columns);
}

static int relay_step(struct relay *r)
{
	bool room = !sink_full(&r->out) && !sink_full(&r->error);
	struct pollfd p[] = {
		{.fd = room || cable_waits(&r->cable) ? r->cable.in : -1,
		 .events = (short)((room ? POLLIN : 0) | (cable_waits(&r->cable) ? POLLOUT : 0))},
		{.fd = r->signals, .events = POLLIN},
		{.fd = cable_full(&r->cable) ? -1 : r->in, .events = POLLIN},
		{.fd = sink_waits(&r->out) ? r->out.fd : -1, .events = POLLOUT},
		{.fd = sink_waits(&r->error) ? r->error.fd : -1, .events = POLLOUT},
	};
	int rc = 0;

	if (poll(p, sizeof p / sizeof *p, -1) < 0)
		return errno == EINTR ? 0 : err_set(r->err, -errno, "poll: %s", strerror(errno));
	if (p[1].revents)
		signals_read(r);
	if (p[2].revents)
		input_read(r);
	if (p[0].revents & (POLLIN | POLLHUP | POLLERR) && room)
		rc = agent_read(r);
	if (cable_push(&r->cable) < 0 && !(p[0].revents & POLLIN))
		rc = rc < 0 || r->ended ? rc : agent_read(r); /* it may have said why it closed */
	if (rc == 0 && (sink_push(&r->out) < 0 || sink_push(&r->error) < 0)) {
		r->ended = true; /* the reader is gone: leaving ends the task */
		r->code = 128 + SIGPIPE;
	}
	return rc;
}

static void signals_set(sigset_t *set)
{
	static const int passed[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH};

	sigemptyset(set);
	for (size_t i = 0; i < sizeof passed / sizeof *passed; i++)
		sigaddset(set, passed[i]);
}

int taskclient_run(const struct taskclient *t, int *ret_code, struct err *err)
{
	struct relay r = {
		.t = t, .cable = {.in = -1, .out = -1}, .in = t->in, .out.fd = t->out, .error.fd = t->err, .err = err};
	sigset_t set, before;

	int rc = agent_connect(&r);
	if (rc == 0) {
		signals_set(&set);
		sigprocmask(SIG_BLOCK, &set, &before);
		signal(SIGPIPE, SIG_IGN);
		r.signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
		if (t->terminal)
			terminal_raw(t->in);
		if (r.in < 0)
			cable_pack(&r.cable, NULL, 0, "{s:s}", "t", "in_end");
		while (rc == 0 && !r.ended)
			rc = relay_step(&r);
		sink_flush(&r.out);
		sink_flush(&r.error);
		terminal_restore();
		close(r.signals);
		sigprocmask(SIG_SETMASK, &before, NULL);
	}
	*ret_code = r.code;
	cable_fini(&r.cable);
	sink_fini(&r.out);
	sink_fini(&r.error);
	return rc;
}
