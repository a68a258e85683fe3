/*
 * handover.c - see handover.h. Both ends are the same program: structs are sent as they are.
 */
#include "run/handover.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "base/mem.h"
#include "base/unixsock.h"
#include "run/shepherd.h"

struct head {
	enum handover_kind kind;
	int signal;
	uid_t uid;
	gid_t gid;
	bool change;
	int ngroups;
	size_t tag, user, home, shell, text; /* bytes; texts with their NUL; 0: NULL */
};

static size_t size_of(const char *s)
{
	return s ? strlen(s) + 1 : 0;
}

static int message_send(int fd, struct iovec *parts, size_t n, int passed)
{
	size_t size = 0;

	for (size_t i = 0; i < n; i++)
		size += parts[i].iov_len;
	if (size > HANDOVER_MAX)
		return -EMSGSIZE;
	return unix_send(fd, parts, n, &passed, passed >= 0, MSG_DONTWAIT) < 0 ? -errno : 0;
}

int handover_order(int fd, const struct handover *h)
{
	const struct identity *w = &h->who;
	struct head head = {.kind = HANDOVER_ORDER,
			    .uid = w->uid,
			    .gid = w->gid,
			    .change = w->change,
			    .ngroups = w->ngroups,
			    .tag = size_of(h->tag),
			    .user = size_of(h->user),
			    .home = size_of(w->home),
			    .shell = size_of(w->shell),
			    .text = h->n};
	struct iovec parts[] = {{&head, sizeof head},	      {w->groups, (size_t)w->ngroups * sizeof *w->groups},
				{(char *)h->tag, head.tag},   {(char *)h->user, head.user},
				{(char *)w->home, head.home}, {(char *)w->shell, head.shell},
				{(char *)h->text, h->n}};

	return message_send(fd, parts, sizeof parts / sizeof *parts, h->live);
}

int handover_signal(int fd, const char *tag, int signal)
{
	struct head head = {.kind = HANDOVER_SIGNAL, .signal = signal, .tag = size_of(tag)};
	struct iovec parts[] = {{&head, sizeof head}, {(char *)tag, head.tag}};

	return message_send(fd, parts, 2, -1);
}

static char *taken(char **at, size_t n)
{
	char *here = n ? *at : NULL;

	*at += n;
	return here;
}

/* The groups come first, so that they are aligned. */
static void order_unpack(const struct head *head, char *at, int live, struct handover *ret)
{
	*ret = (struct handover){.live = live, .n = head->text};
	ret->who =
		(struct identity){.uid = head->uid, .gid = head->gid, .change = head->change, .ngroups = head->ngroups};
	ret->who.groups = (gid_t *)(void *)taken(&at, (size_t)head->ngroups * sizeof(gid_t));
	ret->tag = taken(&at, head->tag);
	ret->user = taken(&at, head->user);
	ret->who.home = taken(&at, head->home);
	ret->who.shell = taken(&at, head->shell);
	ret->text = at;
}

enum handover_kind handover_receive(int fd, const char *tag, struct handover *ret, int *ret_signal)
{
	static char *buf;
	struct head head;
	int passed;
	size_t npassed;

	if (!buf)
		buf = mem_alloc(HANDOVER_MAX);
	for (;;) {
		ssize_t n = unix_receive(fd, buf, HANDOVER_MAX, &passed, 1, &npassed, MSG_DONTWAIT);
		if (n < 0)
			return errno == EAGAIN || errno == EINTR ? HANDOVER_NONE : HANDOVER_CLOSED;
		if (n < (ssize_t)sizeof head)
			return HANDOVER_CLOSED;
		memcpy(&head, buf, sizeof head);
		if (head.kind == HANDOVER_ORDER) {
			order_unpack(&head, buf + sizeof head, npassed ? passed : -1, ret);
			return HANDOVER_ORDER;
		}
		if (tag && !strcmp(buf + sizeof head, tag)) {
			*ret_signal = head.signal;
			return HANDOVER_SIGNAL;
		}
	}
}

bool handover_wait(int fd, struct handover *ret)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	enum handover_kind kind;
	sigset_t set;
	int signal;

	/* A SIGTERM that comes now is not for a job: it has its usual effect. */
	shepherd_signals(&set);
	sigdelset(&set, SIGTERM);
	do
		if (ppoll(&p, 1, NULL, &set) < 0 && errno != EINTR)
			return false;
	while ((kind = handover_receive(fd, NULL, ret, &signal)) == HANDOVER_NONE);
	return kind == HANDOVER_ORDER;
}

/* ---- reports ---- */

int handover_report(int fd, const struct handover_head *head, const char *text, size_t n)
{
	struct iovec parts[] = {{(void *)head, sizeof *head}, {(char *)text, n}};
	struct msghdr m = {.msg_iov = parts, .msg_iovlen = 2};

	return sendmsg(fd, &m, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

ssize_t handover_report_read(int fd, struct handover_head *ret, char *text, size_t size)
{
	struct iovec parts[] = {{ret, sizeof *ret}, {text, size - 1}};
	struct msghdr m = {.msg_iov = parts, .msg_iovlen = 2};
	ssize_t n = recvmsg(fd, &m, MSG_DONTWAIT);

	if (n < (ssize_t)sizeof *ret)
		return n < 0 ? -errno : -EAGAIN;
	text[n - (ssize_t)sizeof *ret] = '\0';
	return n - (ssize_t)sizeof *ret;
}
