/*
 * apart.c - processes apart.
 *
 * Two forks: so that they are nobody's children here, and a program that executes itself anew does not inherit them. The end of each is
 * noticed by a pipe whose other end only it holds.
 *
 * A process apart must not keep what the one that it comes from has to give up with its own end: locks, listening sockets, the nursery's
 * connection. So all descriptors are closed but the one it is made for. It has no signal handlers of libuv's, and a session of its own: a
 * signal to the other's terminal or group is not for it.
 */
#include "engine/apart.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "engine/watch.h"

struct parted {
	struct apart *a;
	struct parted *prev, *next;
	uid_t uid;
	struct watch *end; /* a pipe that says its end */
};

struct apart {
	uv_loop_t *loop;
	struct parted *first;
	int n;
};

/* ---- titles ---- */

static struct {
	char *at;
	size_t room;
} title_place;

/* Arguments and environment lie one behind the other, as the kernel put them there. */
void apart_titles(char **argv)
{
	char *end = argv[0];

	for (char **p = argv; *p; p++)
		if (*p == end)
			end += strlen(*p) + 1;
	for (char **p = environ; *p; p++)
		if (*p == end)
			end += strlen(*p) + 1;
	title_place.at = argv[0];
	title_place.room = (size_t)(end - argv[0]);
}

static void title_set(const char *text)
{
	prctl(PR_SET_NAME, "shunt-task");
	if (!title_place.room)
		return;
	clearenv(); /* it may lie there */
	memset(title_place.at, 0, title_place.room);
	snprintf(title_place.at, title_place.room, "%s", text);
}

/* ---- the new process ---- */

static void descriptors_close(int a, int b)
{
	int low = a < b ? a : b, high = a < b ? b : a, null = open("/dev/null", O_RDWR | O_CLOEXEC);

	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	if (low > STDERR_FILENO + 1)
		close_range(STDERR_FILENO + 1, (unsigned)low - 1, 0);
	if (high > low + 1)
		close_range((unsigned)low + 1, (unsigned)high - 1, 0);
	close_range((unsigned)high + 1, ~0U, 0);
}

static void signals_reset(void)
{
	static const int handled[] = {SIGTERM, SIGINT, SIGHUP, SIGCHLD, SIGUSR1, SIGUSR2, SIGWINCH};
	sigset_t none;

	for (size_t i = 0; i < sizeof handled / sizeof *handled; i++)
		signal(handled[i], SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static void part_begin(int keep, int end, const char *title)
{
	descriptors_close(keep, end);
	setsid();
	signals_reset();
	title_set(title);
}

/* ---- the old one ---- */

static void on_end(void *context, int events)
{
	struct parted *p = context;

	watch_close(p->end);
	if (p->prev)
		p->prev->next = p->next;
	else
		p->a->first = p->next;
	if (p->next)
		p->next->prev = p->prev;
	p->a->n--;
	free(p);
}

static void parted_add(struct apart *a, uid_t uid, int fd)
{
	struct parted *p = mem_zalloc(sizeof *p);

	*p = (struct parted){.a = a, .next = a->first, .uid = uid};
	p->end = watch_open(a->loop, fd, on_end, p);
	watch_for(p->end, UV_READABLE);
	if (a->first)
		a->first->prev = p;
	a->first = p;
	a->n++;
}

/* The one between ends as soon as it has forked, with the error's number if it could not. */
static int between_await(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(status) ? -WEXITSTATUS(status) : -EAGAIN;
}

int apart_fork(struct apart *a, uid_t uid, int keep, const char *title, struct err *err)
{
	int pipe_fds[2], rc;
	pid_t pid;

	if (pipe2(pipe_fds, O_CLOEXEC | O_NONBLOCK) < 0)
		return err_set(err, -errno, "no process could be made for it: %s", strerror(errno));
	pid = fork();
	if (pid == 0) {
		pid = fork();
		if (pid != 0)
			_exit(pid < 0 ? errno : 0);
		part_begin(keep, pipe_fds[1], title);
		return 1;
	}
	rc = pid < 0 ? -errno : between_await(pid);
	close(pipe_fds[1]);
	if (rc < 0) {
		close(pipe_fds[0]);
		return err_set(err, rc, "no process could be made for it: %s", strerror(-rc));
	}
	parted_add(a, uid, pipe_fds[0]);
	return 0;
}

int apart_count(const struct apart *a)
{
	return a->n;
}

int apart_count_of(const struct apart *a, uid_t uid)
{
	int n = 0;

	for (const struct parted *p = a->first; p; p = p->next)
		n += p->uid == uid;
	return n;
}

struct apart *apart_create(uv_loop_t *loop)
{
	struct apart *a = mem_zalloc(sizeof *a);

	a->loop = loop;
	return a;
}

void apart_free(struct apart *a)
{
	while (a && a->first)
		on_end(a->first, 0);
	free(a);
}
