/*
 * twin.c - see twin.h.
 *
 * A fork copies only page tables, so the server is held for some milliseconds however long the
 * process takes. It keeps no descriptor except its end of the pipe (the server releases locks and
 * connections), has none of the server's signal handlers, calls nothing of its loop, and dies with
 * it. It is the first to be killed when memory is short.
 *
 * The process has ended when the pipe does: its memory is gone by then, so that waiting for it does
 * not block. A twin that is stopped is killed, and waited for when its pipe ends.
 */
#include "server/base/twin.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/ticks.h"

struct twin {
	struct twin_order o;
	bool stopped;
	pid_t pid;
	uv_pipe_t pipe;
	uv_timer_t limit;
	int handles;
	int64_t fork_us;
};

/* ---- the process ---- */

static _Noreturn void twin_run(const struct twin_order *o, int fd, pid_t parent)
{
	static const char first[] = "1000";
	struct rlimit cpu = {(rlim_t)o->seconds + 1, (rlim_t)o->seconds + 1};
	struct sigaction usual = {.sa_handler = SIG_DFL};
	sigset_t none;
	int score;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	prctl(PR_SET_NAME, o->name);
	if (fd > STDERR_FILENO + 1)
		close_range(STDERR_FILENO + 1, (unsigned)fd - 1, 0);
	close_range((unsigned)fd + 1, ~0U, 0);
	for (int i = 1; i < NSIG; i++)
		/* fails for some signals, which cannot have a handler */
		sigaction(i, &usual, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (o->nice)
		setpriority(PRIO_PROCESS, 0, o->nice);
	setrlimit(RLIMIT_CPU, &cpu);
	score = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	if (score >= 0 && write(score, first, sizeof first - 1) >= 0)
		close(score);
	o->run(o->context, fd);
	_exit(0);
}

/* ---- the server ---- */

static void on_closed(uv_handle_t *h)
{
	struct twin *x = h->data;

	if (--x->handles == 0)
		free(x);
}

static void on_room(uv_handle_t *h, size_t suggested, uv_buf_t *ret)
{
	static char room[65536];

	*ret = uv_buf_init(room, sizeof room);
}

static void on_read(uv_stream_t *pipe, ssize_t n, const uv_buf_t *buf)
{
	struct twin *x = pipe->data;

	if (n > 0 && !x->stopped)
		x->o.got(x->o.context, buf->base, (size_t)n);
	if (n >= 0)
		return;
	kill(x->pid, SIGKILL);
	waitpid(x->pid, NULL, 0);
	uv_close((uv_handle_t *)&x->pipe, on_closed);
	uv_close((uv_handle_t *)&x->limit, on_closed);
	if (!x->stopped)
		x->o.over(x->o.context);
}

static void on_limit(uv_timer_t *t)
{
	struct twin *x = t->data;

	kill(x->pid, SIGKILL); /* the end of the pipe follows */
}

/* Forks with signals blocked, so that no handler of the server runs in the child. Returns the
 * pid, 0 in the child, or -1. */
static pid_t quiet_fork(void)
{
	sigset_t all, before;
	pid_t pid;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pid = fork();
	if (pid != 0)
		pthread_sigmask(SIG_SETMASK, &before, NULL);
	return pid;
}

struct twin *twin_start(uv_loop_t *loop, const struct twin_order *o)
{
	int64_t begin = clock_us(CLOCK_MONOTONIC);
	pid_t self = getpid(), pid;
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) < 0)
		return NULL;
	pid = quiet_fork();
	if (pid == 0)
		twin_run(o, fds[1], self);
	close(fds[1]);
	if (pid < 0) {
		close(fds[0]);
		return NULL;
	}
	struct twin *x = mem_zalloc(sizeof *x);
	*x = (struct twin){.o = *o, .pid = pid, .handles = 2, .fork_us = clock_us(CLOCK_MONOTONIC) - begin};
	uv_pipe_init(loop, &x->pipe, 0);
	uv_pipe_open(&x->pipe, fds[0]);
	uv_timer_init(loop, &x->limit);
	x->pipe.data = x->limit.data = x;
	uv_read_start((uv_stream_t *)&x->pipe, on_room, on_read);
	uv_timer_start(&x->limit, on_limit, (uint64_t)o->seconds * 1000, 0);
	return x;
}

void twin_stop(struct twin *x)
{
	if (!x)
		return;
	x->stopped = true;
	kill(x->pid, SIGKILL);
}

int64_t twin_fork_us(const struct twin *x)
{
	return x->fork_us;
}
