/*
 * seer.c - the forecasting process.
 *
 * A fork copies only page tables, so the server is held for some milliseconds however long the
 * forecast takes. The child keeps no descriptor except its end of the pipe (the server releases
 * locks and connections), has none of the server's signal handlers, calls nothing of its loop, and
 * dies with it. It is the first to be killed when memory is short, and has a low priority.
 *
 * The pipe carries records of fixed size, each followed by its nodes; the last one marks the
 * forecast as complete. The process has ended when the pipe does: its memory is gone by then, so
 * that waiting for it does not block. A seer that is stopped is killed, and waited for when its
 * pipe ends.
 */
#include "server/life/wait/seer.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uv.h>

#include "base/fdio.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/ticks.h"
#include "core/job.h"
#include "sched/forecast.h"
#include "server/base/clock.h"
#include "server/server.h"

#define NICE 10
#define BUFFER 32768 /* bytes collected before they are sent */
#define CYCLES 20    /* cycles of the forecast between reads of the clock */

struct record {
	int64_t start, end;
	uint32_t job, nnodes; /* JOB_NONE: the forecast is complete */
	uint64_t rough;
};

struct seer {
	struct seer_calls calls; /* told NULL: it was stopped */
	pid_t pid;
	uv_pipe_t pipe;
	uv_timer_t limit;
	int handles;
	int64_t fork_us;
	bool complete;
	struct strbuf in; /* incomplete record, or input not handled yet */
};

/* ---- the child ---- */

struct sender {
	int fd;
	size_t told, most, nodes;
	struct strbuf out;
};

static void flush(struct sender *x)
{
	if (fd_write(x->fd, x->out.text, x->out.n) < 0)
		_exit(1); /* the server does not read any more */
	x->out.n = 0;
}

static bool send_one(void *context, const struct foreseen *f)
{
	struct sender *x = context;
	struct record r = {f->start, f->end, f->job, x->told < x->nodes ? f->nnodes : 0, f->rough};

	strbuf_add(&x->out, (const char *)&r, sizeof r);
	strbuf_add(&x->out, (const char *)f->nodes, r.nnodes * sizeof *f->nodes);
	x->told++;
	if (x->out.n >= BUFFER || x->told == x->nodes) /* the server waits for the first ones */
		flush(x);
	return x->told != x->most;
}

static void child_begin(int fd, pid_t parent)
{
	static const char first[] = "1000";
	struct sigaction usual = {.sa_handler = SIG_DFL};
	sigset_t none;
	int score;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	prctl(PR_SET_NAME, "shunt-forecast");
	if (fd > STDERR_FILENO + 1)
		close_range(STDERR_FILENO + 1, (unsigned)fd - 1, 0);
	close_range((unsigned)fd + 1, ~0U, 0);
	for (int i = 1; i < NSIG; i++)
		/* fails for some signals, which cannot have a handler */
		sigaction(i, &usual, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setpriority(PRIO_PROCESS, 0, NICE);
	score = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	if (score >= 0 && write(score, first, sizeof first - 1) >= 0)
		close(score);
}

static _Noreturn void child_run(const struct server *s, struct sender *x, int seconds)
{
	int64_t until = clock_us(CLOCK_MONOTONIC) + (int64_t)seconds * 1000000 / 4 * 3;
	bool done = false;
	struct rlimit cpu = {(rlim_t)seconds + 1, (rlim_t)seconds + 1};
	struct record end = {.job = JOB_NONE};
	struct forecast *f;

	setrlimit(RLIMIT_CPU, &cpu);
	f = forecast_create(s->sched);
	forecast_gate(f, s->gate);
	while (!done && clock_us(CLOCK_MONOTONIC) < until)
		done = forecast_run(f, CYCLES, send_one, x) || x->told == x->most;
	if (!done)
		forecast_rest(f, send_one, x);
	strbuf_add(&x->out, (const char *)&end, sizeof end);
	flush(x);
	_exit(0);
}

/* ---- the server ---- */

static void on_closed(uv_handle_t *h)
{
	struct seer *x = h->data;

	if (--x->handles)
		return;
	strbuf_fini(&x->in);
	free(x);
}

static void seer_end(struct seer *x)
{
	struct seer_calls calls = x->calls;

	kill(x->pid, SIGKILL);
	waitpid(x->pid, NULL, 0);
	uv_close((uv_handle_t *)&x->pipe, on_closed);
	uv_close((uv_handle_t *)&x->limit, on_closed);
	if (calls.told)
		calls.over(calls.context, x->complete);
}

/* Handles all complete records. */
static void records_take(struct seer *x)
{
	size_t at = 0;
	struct record r;

	while (x->calls.told && x->in.n - at >= sizeof r) {
		memcpy(&r, x->in.text + at, sizeof r);
		size_t nodes = r.nnodes * sizeof(int32_t);
		if (r.job == JOB_NONE)
			x->complete = true;
		if (r.job == JOB_NONE || x->in.n - at < sizeof r + nodes)
			break;
		int32_t *list = mem_alloc(nodes + 1);
		memcpy(list, x->in.text + at + sizeof r, nodes);
		struct foreseen f = {.job = r.job,
				     .start = r.start,
				     .end = r.end,
				     .nodes = list,
				     .nnodes = r.nnodes,
				     .rough = r.rough};
		x->calls.told(x->calls.context, &f);
		free(list);
		at += sizeof r + nodes;
	}
	memmove(x->in.text, x->in.text + at, x->in.n - at);
	x->in.n -= at;
}

static void on_room(uv_handle_t *h, size_t suggested, uv_buf_t *ret)
{
	static char room[65536];

	*ret = uv_buf_init(room, sizeof room);
}

static void on_read(uv_stream_t *pipe, ssize_t n, const uv_buf_t *buf)
{
	struct seer *x = pipe->data;

	if (n > 0 && x->calls.told) {
		strbuf_add(&x->in, buf->base, (size_t)n);
		records_take(x);
	}
	if (n < 0)
		seer_end(x);
}

static void on_limit(uv_timer_t *t)
{
	struct seer *x = t->data;

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

struct seer *seer_start(struct server *s, size_t most, size_t nodes, int seconds, const struct seer_calls *calls)
{
	int64_t begin = clock_us(CLOCK_MONOTONIC);
	pid_t self = getpid(), pid;
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) < 0)
		return NULL;
	pid = quiet_fork();
	if (pid == 0) {
		struct sender x = {.fd = fds[1], .most = most, .nodes = nodes};
		child_begin(fds[1], self);
		child_run(s, &x, seconds);
	}
	close(fds[1]);
	if (pid < 0) {
		close(fds[0]);
		return NULL;
	}
	struct seer *x = mem_zalloc(sizeof *x);
	*x = (struct seer){.calls = *calls, .pid = pid, .handles = 2, .fork_us = clock_us(CLOCK_MONOTONIC) - begin};
	uv_pipe_init(s->loop, &x->pipe, 0);
	uv_pipe_open(&x->pipe, fds[0]);
	uv_timer_init(s->loop, &x->limit);
	x->pipe.data = x->limit.data = x;
	uv_read_start((uv_stream_t *)&x->pipe, on_room, on_read);
	uv_timer_start(&x->limit, on_limit, (uint64_t)seconds * 1000, 0);
	return x;
}

void seer_stop(struct seer *x)
{
	if (!x)
		return;
	x->calls.told = NULL;
	kill(x->pid, SIGKILL);
}

int64_t seer_fork_us(const struct seer *x)
{
	return x->fork_us;
}
