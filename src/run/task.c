/*
 * task.c - requests a task from a shepherd, and the messages of both sides.
 */
#include "run/task.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/codec.h"
#include "base/jsonread.h"
#include "base/unixsock.h"
#include "run/message.h"
#include "run/order_internal.h"

#define CONNECT_MS 2000
#define SEND_MS 5000 /* milliseconds for a request that does not fit into the socket at once */

void task_name(const char *tag, char *buf, size_t size)
{
	snprintf(buf, size, ".task-%s", tag);
}

int task_connect(const char *live, const char *tag, struct err *err)
{
	char path[4400], name[256];

	if (!*tag || strchr(tag, '/') || strlen(tag) > 200)
		return err_set(err, -ENOENT, "'%.200s' is not an attempt", tag);
	task_name(tag, name, sizeof name);
	snprintf(path, sizeof path, "%s/%s", live, name);
	int fd = unix_connect(path, CONNECT_MS, NULL);
	if (fd < 0)
		return err_set(err, fd, "%s can't be reached on this host: %s", tag,
			       fd == -ENOENT || fd == -ECONNREFUSED ? "it takes no tasks here" : strerror(-fd));
	fcntl(fd, F_SETFL, O_NONBLOCK);
	return fd;
}

void task_who(struct strbuf *out)
{
	size_t at = message_begin(out, TASK_ASK_WHO);

	strbuf_puts(out, "{}");
	message_end(out, at);
}

void task_signal(int signal, struct strbuf *out)
{
	size_t at = message_begin(out, TASK_ASK_SIGNAL);

	strbuf_printf(out, "{\"signal\":%d}", signal);
	message_end(out, at);
}

static const struct field task_rows[] = {
	{"argv", MEMBER(struct task, argv)},
	{"env", MEMBER(struct task, env)},
	{"workdir", MEMBER_AS(FORM_BYTES, struct task, workdir)},
	{"rows", .most = UINT16_MAX, MEMBER(struct task, rows)},
	{"columns", .most = UINT16_MAX, MEMBER(struct task, columns)},
	{0},
};

int task_load(const json_t *object, struct arena *a, struct task *ret, struct err *err)
{
	struct task t;
	int r = record_read(task_rows, 0, object, &t, a, err);

	if (r)
		return err_prefix(err, r, "the task");
	if (!t.argv[0] || !*t.argv[0])
		return err_set(err, -EINVAL, "a task needs a program");
	if (t.workdir && *t.workdir != '/')
		return err_set(err, -EINVAL, "the task's working directory '%.200s' is not an absolute path",
			       t.workdir);
	*ret = t;
	return 0;
}

int task_request_read(const char *text, size_t n, struct arena *a, struct task *ret, struct err *err)
{
	json_t *root = json_read(text, n, 0, NULL);
	int r = task_load(root, a, ret, err);

	json_decref(root);
	return r;
}

int task_signal_read(const char *text, size_t n)
{
	json_t *root = json_read(text, n, 0, NULL);
	int64_t signal = json_integer_value(json_object_get(root, "signal"));

	json_decref(root);
	return signal > 0 && signal <= SIGRTMAX ? (int)signal : 0;
}

/* Sends the descriptors with the first byte; the rest may have to wait until the shepherd reads. */
static int request_send(int fd, const struct strbuf *b, const int fds[3])
{
	struct iovec iov = {.iov_base = b->text, .iov_len = b->n};

	for (size_t nfds = 3; iov.iov_len;) {
		ssize_t n = unix_send(fd, &iov, 1, fds, nfds, 0);
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return -errno;
		if (n < 0 && poll(&(struct pollfd){.fd = fd, .events = POLLOUT}, 1, SEND_MS) == 0)
			return -ETIMEDOUT;
		if (n <= 0)
			continue;
		iov.iov_base = (char *)iov.iov_base + n;
		iov.iov_len -= (size_t)n;
		nfds = 0;
	}
	return 0;
}

int task_send(int fd, const struct task *t, const int fds[3], struct err *err)
{
	struct strbuf b = {0};
	size_t at = message_begin(&b, TASK_ASK_START);
	int r;

	record_store_text(task_rows, 0, t, NULL, &b);
	message_end(&b, at);
	if (b.n > TASK_MAX)
		r = err_set(err, -E2BIG, "the task's arguments and environment are too long");
	else if ((r = request_send(fd, &b, fds)))
		err_set(err, r, "the task can't be handed to its job: %s", strerror(-r));
	strbuf_fini(&b);
	return r;
}

/* ---- answers: recognized by their members ---- */

static const struct field answer_rows[] = {
	{"user", MEMBER(struct task_answer, place.user)},
	{"uid", .missing = BY_NAME, .most = BY_NAME - 1, MEMBER(struct task_answer, place.uid)},
	{"part", MEMBER(struct task_answer, place.part)},
	{"hosts", .of = &host_schema, MEMBER_LIST(FORM_RECORDS, struct task_answer, place.hosts, place.nhosts)},
	{"pid", MEMBER(struct task_answer, pid)},
	{"how", .words = "||exited|signaled", MEMBER_AS(FORM_CHOICE, struct task_answer, type)},
	{"status", MEMBER(struct task_answer, status)},
	{"reason", MEMBER_AS(FORM_BYTES, struct task_answer, reason)},
	{0},
};

void task_answer_write(const struct task_answer *t, struct strbuf *out)
{
	static const char letters[] = {[TASK_WHO] = 'w',
				       [TASK_STARTED] = 's',
				       [TASK_EXITED] = 'x',
				       [TASK_SIGNALED] = 'x',
				       [TASK_REFUSED] = 'r'};
	size_t at = message_begin(out, letters[t->type]);
	struct task_answer answer = *t;

	if (t->type != TASK_WHO)
		answer.place.uid = BY_NAME;
	if (t->type != TASK_EXITED && t->type != TASK_SIGNALED)
		answer.type = TASK_WHO;
	record_store_text(answer_rows, 0, &answer, NULL, out);
	message_end(out, at);
}

static int answer_take(const json_t *root, struct arena *a, struct task_answer *t)
{
	int r = record_read(answer_rows, 0, root, t, a, NULL);

	if (r || t->type != TASK_WHO)
		return r;
	if (t->reason)
		t->type = TASK_REFUSED;
	else if (t->pid)
		t->type = TASK_STARTED;
	else if (!t->place.user || t->place.uid == BY_NAME)
		return -EINVAL;
	return hosts_check(t->place.hosts, t->place.nhosts, NULL);
}

int task_answer_read(const char *text, size_t n, struct arena *a, struct task_answer *ret, struct err *err)
{
	json_t *root = json_read(text, n, 0, NULL);
	struct task_answer t;
	int r = answer_take(root, a, &t);

	json_decref(root);
	if (r)
		return err_set(err, -EPROTO, "an answer of the job's shepherd can't be understood: %.*s",
			       n > 100 ? 100 : (int)n, text);
	*ret = t;
	return 0;
}
