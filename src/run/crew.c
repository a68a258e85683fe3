/*
 * crew.c - tasks: accepts connections, forks processes, reports their ends.
 *
 * A task is forked, not vforked, and reports through a pipe why it could not become its program. So
 * a file system that does not answer blocks only that task, never its shepherd, which has a
 * walltime and a lease to enforce.
 *
 * A member lives as long as its connection or its process does. Only crew_sweep() frees members.
 */
#include "run/crew.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/unixsock.h"
#include "run/message.h"
#include "run/rights.h"
#include "run/shepherd.h"
#include "run/task.h"

#define MEMBERS_MAX 4096
#define HANG_UP_GRACE 2000000 /* microseconds from SIGHUP to SIGKILL */
#define ACCEPT_AGAIN 100000
#define READ_SIZE 65536

struct member {
	int fd;	    /* the connection; -1: closed */
	int fds[3]; /* descriptors that came with the request */
	int nfds;
	struct strbuf in, out;
	pid_t pid; /* 0: not started, or ended */
	/* pipe that delivers why it did not start, or closes when it has; -1: that is known */
	int trouble;
	int64_t kill_at; /* boot_us() of the SIGKILL, after the client has disconnected */
	bool last;	 /* close the connection once `out` is sent */
};

/* ---- the socket ---- */

int crew_open(struct crew *c, const struct launch *how, const char *live, struct err *err)
{
	char name[256];

	task_name(how->o->tag, name, sizeof name);
	if (asprintf(&c->path, "%s/%s", live, name) < 0)
		abort(); /* out of memory */
	c->how = how;
	rights_begin(how->who->server);
	c->listener = unix_listen(c->path, 0600, err);
	rights_end(how->who->server);
	if (c->listener < 0)
		return c->listener;
	fcntl(c->listener, F_SETFL, O_NONBLOCK);
	return 0;
}

/* Checks the peer's uid. The directory keeps others out already; this protects against one opened
 * by mistake. */
static bool peer_may(const struct crew *c, int fd)
{
	struct ucred peer;
	socklen_t n = sizeof peer;

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) == 0 &&
	       (peer.uid == 0 || peer.uid == geteuid() || peer.uid == c->how->who->server->uid);
}

static void accept_all(struct crew *c)
{
	for (;;) {
		int fd = accept4(c->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd < 0) {
			if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
				c->accept_at = boot_us() + ACCEPT_AGAIN;
			return;
		}
		if (c->members.n >= MEMBERS_MAX || !peer_may(c, fd)) {
			close(fd);
			continue;
		}
		struct member *m = mem_zalloc(sizeof *m);
		*m = (struct member){.fd = fd, .trouble = -1, .kill_at = INT64_MAX};
		vec_push(&c->members, m);
	}
}

/* ---- members ---- */

static void fds_drop(struct member *m)
{
	for (int i = 0; i < m->nfds; i++)
		close(m->fds[i]);
	m->nfds = 0;
}

static void member_tell(struct member *m, const struct task_answer *t)
{
	if (m->fd >= 0)
		task_answer_write(t, &m->out);
	m->last = t->type != TASK_STARTED && t->type != TASK_WHO;
}

/* Right after the fork the process has no group of its own yet. */
static void group_signal(pid_t pid, int signal)
{
	if (kill(-pid, signal))
		kill(pid, signal);
}

static void member_hang_up(struct member *m)
{
	close(m->fd);
	m->fd = -1;
	fds_drop(m);
	if (!m->pid)
		return;
	group_signal(m->pid, SIGHUP);
	group_signal(m->pid, SIGCONT);
	m->kill_at = boot_us() + HANG_UP_GRACE;
}

static void member_send(struct member *m)
{
	while (m->fd >= 0 && m->out.n) {
		ssize_t n = send(m->fd, m->out.text, m->out.n, MSG_NOSIGNAL);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n < 0) {
			member_hang_up(m);
			return;
		}
		memmove(m->out.text, m->out.text + n, m->out.n - (size_t)n);
		m->out.n -= (size_t)n;
	}
}

static void crew_sweep(struct crew *c)
{
	size_t kept = 0;

	for (size_t i = 0; i < c->members.n; i++) {
		struct member *m = c->members.v[i];
		member_send(m);
		if (m->fd >= 0 && m->last && !m->out.n)
			member_hang_up(m);
		if (m->fd >= 0 || m->pid) {
			c->members.v[kept++] = m;
			continue;
		}
		if (m->trouble >= 0)
			close(m->trouble);
		strbuf_fini(&m->in);
		strbuf_fini(&m->out);
		free(m);
	}
	c->members.n = kept;
}

/* ---- starting ---- */

static pid_t task_fork(const struct crew *c)
{
	int group = cgroup_open(c->how->cgroup, c->how->o->tag);
	struct clone_args args = {.flags = CLONE_INTO_CGROUP, .exit_signal = SIGCHLD, .cgroup = (uint64_t)group};

	if (group < 0)
		return fork();
	pid_t pid = (pid_t)syscall(SYS_clone3, &args, sizeof args);
	if (pid)
		close(group);
	return pid;
}

static int member_start(struct crew *c, struct member *m, const struct task *t, struct err *err)
{
	int pipe_fds[2];

	if (m->nfds != 3)
		return err_set(err, -EINVAL, "a task needs three descriptors");
	if (pipe2(pipe_fds, O_CLOEXEC))
		return err_set(err, -errno, "no descriptors are left for a task: %s", strerror(errno));
	m->pid = task_fork(c);
	if (m->pid == 0)
		launch_task(c->how, t, m->fds, pipe_fds[1]);
	close(pipe_fds[1]);
	if (m->pid < 0) {
		m->pid = 0;
		close(pipe_fds[0]);
		return err_set(err, -errno, "no process could be made for a task: %s", strerror(errno));
	}
	m->trouble = pipe_fds[0];
	fcntl(m->trouble, F_SETFL, O_NONBLOCK);
	return 0;
}

/* Reads from the pipe, if there is something, whether the program is running or why not. */
static void trouble_read(struct member *m)
{
	char text[TROUBLE_SIZE];
	ssize_t n = m->trouble < 0 ? -1 : read(m->trouble, text, sizeof text - 1);

	if (n < 0)
		return;
	close(m->trouble);
	m->trouble = -1;
	text[n] = '\0';
	if (n > 0)
		member_tell(m, &(struct task_answer){.type = TASK_REFUSED, .reason = text});
	else
		member_tell(m, &(struct task_answer){.type = TASK_STARTED, .pid = m->pid});
}

/* ---- requests ---- */

static void start_take(struct crew *c, struct member *m, const char *text, size_t n, bool open)
{
	struct arena *a = arena_create();
	struct task t;
	struct err err;
	int r;

	if (m->pid || m->last)
		r = err_set(&err, -EBUSY, "a connection is for one task");
	else if (!open)
		r = err_set(&err, -ECANCELED, "the job is ending on this host");
	else
		r = task_request_read(text, n, a, &t, &err);
	if (!r)
		r = member_start(c, m, &t, &err);
	if (r && !m->pid)
		member_tell(m, &(struct task_answer){.type = TASK_REFUSED, .reason = err.text});
	fds_drop(m);
	arena_destroy(a);
}

static void who_take(struct crew *c, struct member *m)
{
	const struct order *o = c->how->o;

	member_tell(m, &(struct task_answer){.type = TASK_WHO,
					     .place = {.user = o->user,
						       .uid = o->uid,
						       .part = o->part,
						       .hosts = o->hosts,
						       .nhosts = o->nhosts}});
}

static void request_take(struct crew *c, struct member *m, char kind, const char *text, size_t n, bool open)
{
	int signal;

	if (kind == TASK_ASK_WHO)
		who_take(c, m);
	if (kind == TASK_ASK_START)
		start_take(c, m, text, n, open);
	if (kind == TASK_ASK_SIGNAL && m->pid && (signal = task_signal_read(text, n)))
		group_signal(m->pid, signal);
}

static ssize_t member_receive(struct member *m)
{
	static char part[READ_SIZE];
	size_t came;
	ssize_t n =
		unix_receive(m->fd, part, sizeof part, m->fds + m->nfds, m->pid ? 0 : (size_t)(3 - m->nfds), &came, 0);

	m->nfds += (int)came;
	if (n > 0)
		strbuf_add(&m->in, part, (size_t)n);
	return n;
}

static void member_read(struct crew *c, struct member *m, bool open)
{
	ssize_t n = member_receive(m), took;
	size_t at = 0, length;
	const char *text;
	char kind;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	while ((took = message_next(m->in.text + at, m->in.n - at, &kind, &text, &length)) > 0) {
		request_take(c, m, kind, text, length, open);
		at += (size_t)took;
	}
	if (at) {
		memmove(m->in.text, m->in.text + at, m->in.n - at);
		m->in.n -= at;
	}
	if (n <= 0 || took < 0 || m->in.n > TASK_MAX)
		member_hang_up(m);
}

/* ---- called by the shepherd ---- */

void crew_fds(struct crew *c, int64_t now, poll_list *ret)
{
	bool ready = c->accept_at <= now;

	vec_push(ret, (struct pollfd){.fd = ready ? c->listener : -1, .events = POLLIN});
	for (size_t i = 0; i < c->members.n; i++) {
		struct member *m = c->members.v[i];
		vec_push(ret, (struct pollfd){.fd = m->fd, .events = (short)(POLLIN | (m->out.n ? POLLOUT : 0))});
		vec_push(ret, (struct pollfd){.fd = m->trouble, .events = POLLIN});
	}
}

void crew_turn(struct crew *c, const struct pollfd *fds, size_t n, bool open)
{
	for (size_t i = 0; 2 * i + 2 < n; i++) {
		struct member *m = c->members.v[i];
		if (fds[2 * i + 2].revents)
			trouble_read(m);
		if (fds[2 * i + 1].revents & (POLLIN | POLLHUP | POLLERR))
			member_read(c, m, open);
	}
	if (fds[0].revents)
		accept_all(c);
	crew_sweep(c);
}

bool crew_reaped(struct crew *c, pid_t pid, int status)
{
	for (size_t i = 0; i < c->members.n; i++) {
		struct member *m = c->members.v[i];
		if (m->pid != pid)
			continue;
		trouble_read(m);
		m->pid = 0;
		m->kill_at = INT64_MAX;
		if (!m->last)
			member_tell(m, &(struct task_answer){.type = WIFSIGNALED(status) ? TASK_SIGNALED : TASK_EXITED,
							     .status = WIFSIGNALED(status) ? WTERMSIG(status)
											   : WEXITSTATUS(status)});
		crew_sweep(c);
		return true;
	}
	return false;
}

int64_t crew_next(const struct crew *c)
{
	int64_t next = INT64_MAX;

	for (size_t i = 0; i < c->members.n; i++)
		if (c->members.v[i]->kill_at < next)
			next = c->members.v[i]->kill_at;
	return c->accept_at && c->accept_at < next ? c->accept_at : next;
}

void crew_look(struct crew *c, int64_t now)
{
	if (c->accept_at && now >= c->accept_at)
		c->accept_at = 0;
	for (size_t i = 0; i < c->members.n; i++) {
		struct member *m = c->members.v[i];
		if (now < m->kill_at)
			continue;
		group_signal(m->pid, SIGKILL);
		m->kill_at = now + HANG_UP_GRACE;
	}
}

void crew_close(struct crew *c)
{
	if (c->listener >= 0) {
		close(c->listener);
		rights_begin(c->how->who->server);
		unlink(c->path);
		rights_end(c->how->who->server);
	}
	c->listener = -1;
	free(c->path);
	c->path = NULL;
	for (size_t i = 0; i < c->members.n; i++)
		if (c->members.v[i]->fd >= 0)
			member_hang_up(c->members.v[i]);
	crew_sweep(c);
	vec_free(&c->members);
}
