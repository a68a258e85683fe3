/*
 * herd.c - see herd.h.
 */
#include "run/herd.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "run/lease.h"
#include "run/live.h"

#define SOCKETS_MOST 400	    /* maximum shepherds with a socket: well below the usual limit of 1,024 */
#define WAIT_MOST INT64_C(10000000) /* microseconds that a shepherd waits for another order */
/* microseconds until a shepherd that has not taken its order is checked */
#define DOUBT_AFTER INT64_C(5000000)
#define REPORT_SECONDS 2

int herd_init(struct herd *h)
{
	struct timeval patience = {.tv_sec = REPORT_SECONDS};
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -errno;
	setsockopt(pair[1], SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
	h->reports = pair[0];
	h->place.reports = pair[1];
	h->look_at = INT64_MAX;
	return 0;
}

void herd_close(struct herd *h)
{
	for (size_t i = 0; i < h->children.n; i++)
		if (h->children.v[i].pid && h->children.v[i].orders >= 0)
			close(h->children.v[i].orders);
	close(h->reports);
}

void herd_fini(struct herd *h)
{
	herd_close(h);
	close(h->place.reports);
	for (size_t i = 0; i < h->children.n; i++)
		free(h->children.v[i].tag);
	vec_free(&h->children);
	vec_free(&h->waiting);
}

/* ---- slots ---- */

static size_t slot_find(struct herd *h)
{
	for (size_t i = 0; i < h->children.n; i++)
		if (!h->children.v[i].pid)
			return i;
	vec_push(&h->children, (struct child){.orders = -1});
	return h->children.n - 1;
}

void herd_add(struct herd *h, pid_t pid, const char *tag)
{
	size_t slot = slot_find(h);

	h->children.v[slot] = (struct child){.pid = pid, .orders = -1, .tag = mem_strdup(tag)};
}

/* Lets it exit when it has read what it was sent. */
static void child_dismiss(struct herd *h, struct child *c)
{
	if (c->orders < 0)
		return;
	close(c->orders);
	c->orders = -1;
	h->sockets--;
}

struct child *herd_find(struct herd *h, const char *tag)
{
	for (size_t i = 0; i < h->children.n; i++) {
		struct child *c = &h->children.v[i];
		if (c->pid && c->shepherd && c->tag && strcmp(c->tag, tag) == 0)
			return c;
	}
	return NULL;
}

bool herd_is_idle(const struct herd *h)
{
	for (size_t i = 0; i < h->children.n; i++)
		if (h->children.v[i].pid && h->children.v[i].shepherd && h->children.v[i].tag)
			return false;
	return true;
}

char *herd_reaped(struct herd *h, pid_t pid, bool *ret_shepherd)
{
	for (size_t i = 0; i < h->children.n; i++) {
		struct child *c = &h->children.v[i];
		if (c->pid != pid)
			continue;
		char *tag = c->tag;
		*ret_shepherd = c->shepherd;
		child_dismiss(h, c);
		*c = (struct child){.orders = -1};
		return tag;
	}
	return NULL;
}

/* ---- orders ---- */

static void look_by(struct herd *h, int64_t at)
{
	if (at < h->look_at)
		h->look_at = at;
}

static struct child *waiting_take(struct herd *h)
{
	while (h->waiting.n) {
		struct child *c = &h->children.v[h->waiting.v[--h->waiting.n]];
		/* dismissed or reaped meanwhile; its slot may even have another child */
		if (c->pid && c->shepherd && !c->tag && c->orders >= 0)
			return c;
	}
	return NULL;
}

static pid_t waiting_order(struct herd *h, const struct handover *o)
{
	for (struct child *c; (c = waiting_take(h));) {
		int r = handover_order(c->orders, o);
		if (r == -EMSGSIZE)
			vec_push(&h->waiting, (size_t)(c - h->children.v));
		if (r == -EMSGSIZE)
			break;
		if (r) { /* it was killed, and will be reaped */
			child_dismiss(h, c);
			continue;
		}
		c->tag = mem_strdup(o->tag);
		c->doubted = true;
		c->since = boot_us();
		look_by(h, c->since + DOUBT_AFTER);
		return c->pid;
	}
	return 0;
}

/* Becomes a shepherd in the forked process. Only the nursery may hold the other ends of its
 * children's sockets, since the end of the nursery is noticed by them. */
static _Noreturn void child_run(struct herd *h, const struct handover *o, size_t slot, const int pair[2])
{
	struct shepherd_place place = h->place;

	h->leave(h->context);
	if (pair[0] >= 0)
		close(pair[0]);
	place.orders = pair[1];
	place.slot = slot;
	shepherd_main(o, &place);
}

pid_t herd_order(struct herd *h, const struct handover *o)
{
	pid_t pid = waiting_order(h, o);
	int pair[2] = {-1, -1};

	if (pid > 0)
		return pid;
	size_t slot = slot_find(h);
	if (h->sockets < SOCKETS_MOST && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		pair[0] = pair[1] = -1; /* without a socket it takes one order only */
	pid = fork();
	if (pid == 0)
		child_run(h, o, slot, pair);
	int r = pid < 0 ? -errno : 0;
	if (pair[1] >= 0)
		close(pair[1]);
	if (r) {
		if (pair[0] >= 0)
			close(pair[0]);
		return r;
	}
	h->sockets += pair[0] >= 0;
	h->children.v[slot] =
		(struct child){.pid = pid, .shepherd = true, .orders = pair[0], .tag = mem_strdup(o->tag)};
	return pid;
}

/* Without a socket the value of the signal is the message: the shepherd has this one attempt. */
int herd_signal(struct child *c, int signal)
{
	siginfo_t info = {.si_signo = SHEPHERD_SIGNAL, .si_code = SI_QUEUE};
	int r = c->orders >= 0 ? handover_signal(c->orders, c->tag, signal) : 0;

	if (r)
		return r;
	info.si_pid = getpid();
	info.si_uid = getuid();
	info.si_value.sival_int = c->orders >= 0 ? 0 : signal;
	/* our own child: its pid is safe, as it is not reaped yet */
	return syscall(SYS_rt_sigqueueinfo, c->pid, SHEPHERD_SIGNAL, &info) ? -errno : 0;
}

/* ---- reports ---- */

struct child *herd_report(struct herd *h, enum handover_report *ret_report, char *text, size_t size, ssize_t *ret_n)
{
	struct handover_head head;

	while ((*ret_n = handover_report_read(h->reports, &head, text, size)) >= 0) {
		struct child *c = head.slot < h->children.n ? &h->children.v[head.slot] : NULL;
		*ret_report = head.report;
		if (c && c->pid == head.pid && c->tag)
			return c;
	}
	return NULL;
}

void herd_over(struct herd *h, struct child *c, bool waits)
{
	free(c->tag);
	c->tag = NULL;
	c->doubted = false;
	c->since = boot_us();
	if (!waits) {
		child_dismiss(h, c);
		return;
	}
	vec_push(&h->waiting, (size_t)(c - h->children.v));
	look_by(h, c->since + WAIT_MOST);
}

/* A live file without a pid: the order was not taken. */
static void doubted_look(struct herd *h, struct child *c)
{
	if (live_pid(h->place.dir, c->tag))
		c->doubted = false;
	else
		kill(c->pid, SIGKILL);
}

void herd_look(struct herd *h)
{
	int64_t now = boot_us();

	h->look_at = INT64_MAX;
	for (size_t i = 0; i < h->children.n; i++) {
		struct child *c = &h->children.v[i];
		bool waits = c->pid && c->shepherd && !c->tag && c->orders >= 0;
		int64_t at = c->since + (waits ? WAIT_MOST : DOUBT_AFTER);
		if (!waits && !(c->pid && c->doubted))
			continue;
		if (now < at)
			look_by(h, at);
		else if (waits)
			child_dismiss(h, c);
		else
			doubted_look(h, c);
	}
}
