/*
 * task.c - asking a shepherd for a task, and what both sides write; task_read.c is the way back.
 */
#include "run/task.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/json.h"
#include "base/unixsock.h"
#include "run/message.h"
#include "run/order_internal.h"

#define CONNECT_MS 2000
#define SEND_MS 5000 /* for a request that does not fit into the socket at once */

void task_name(const char *tag, char *buf, size_t size)
{
	snprintf(buf, size, ".task-%s", tag);
}

int task_connect(const char *live, const char *tag, struct err *err)
{
	char path[4400], name[256];

	if (!*tag || strchr(tag, '/') || strlen(tag) > 200)
		return err_set(err, -ENOENT, "'%.200s' is no attempt", tag);
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

static void texts_put(struct json *j, const char *key, char *const *list)
{
	json_open_array(j, key);
	for (; list && *list; list++)
		text_write(j, NULL, *list);
	json_close_array(j);
}

static void task_write(const struct task *t, struct strbuf *out)
{
	size_t at = message_begin(out, TASK_ASK_START);
	struct json j;

	json_init(&j, out, false);
	json_open_object(&j, NULL);
	texts_put(&j, "argv", t->argv);
	texts_put(&j, "env", t->env);
	if (t->workdir)
		text_write(&j, "workdir", t->workdir);
	if (t->rows > 0) {
		json_int(&j, "rows", t->rows);
		json_int(&j, "columns", t->columns);
	}
	json_close_object(&j);
	message_end(out, at);
}

/* With the first byte go the descriptors; the rest may have to wait for the shepherd to read. */
static int request_send(int fd, const struct strbuf *b, const int fds[3])
{
	union {
		char buf[CMSG_SPACE(3 * sizeof(int))];
		struct cmsghdr align;
	} control = {{0}};
	struct iovec iov = {.iov_base = b->text, .iov_len = b->n};
	struct msghdr m = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control.buf, .msg_controllen = sizeof control.buf};
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(3 * sizeof(int));
	memcpy(CMSG_DATA(c), fds, 3 * sizeof(int));
	while (iov.iov_len) {
		ssize_t n = sendmsg(fd, &m, MSG_NOSIGNAL);
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return -errno;
		if (n < 0 && poll(&(struct pollfd){.fd = fd, .events = POLLOUT}, 1, SEND_MS) == 0)
			return -ETIMEDOUT;
		if (n <= 0)
			continue;
		iov.iov_base = (char *)iov.iov_base + n;
		iov.iov_len -= (size_t)n;
		m.msg_control = NULL;
		m.msg_controllen = 0;
	}
	return 0;
}

int task_send(int fd, const struct task *t, const int fds[3], struct err *err)
{
	struct strbuf b = {0};
	int r;

	task_write(t, &b);
	if (b.n > TASK_MAX)
		r = err_set(err, -E2BIG, "the task's arguments and environment are too long");
	else if ((r = request_send(fd, &b, fds)))
		err_set(err, r, "the task can't be handed to its job: %s", strerror(-r));
	strbuf_fini(&b);
	return r;
}

static void place_write(struct json *j, const struct task_place *p)
{
	json_text(j, "user", p->user);
	json_int(j, "uid", p->uid);
	json_int(j, "part", p->part);
	hosts_write(j, "hosts", p->hosts, p->nhosts);
}

void task_answer_write(const struct task_answer *t, struct strbuf *out)
{
	static const char letters[] = {[TASK_WHO] = 'w',
				       [TASK_STARTED] = 's',
				       [TASK_EXITED] = 'x',
				       [TASK_SIGNALED] = 'x',
				       [TASK_REFUSED] = 'r'};
	size_t at = message_begin(out, letters[t->type]);
	struct json j;

	json_init(&j, out, false);
	json_open_object(&j, NULL);
	if (t->type == TASK_WHO)
		place_write(&j, &t->place);
	if (t->type == TASK_STARTED)
		json_int(&j, "pid", t->pid);
	if (t->type == TASK_EXITED || t->type == TASK_SIGNALED) {
		json_text(&j, "how", t->type == TASK_EXITED ? "exited" : "signaled");
		json_int(&j, "status", t->status);
	}
	if (t->type == TASK_REFUSED)
		text_write(&j, "reason", t->reason);
	json_close_object(&j);
	message_end(out, at);
}
