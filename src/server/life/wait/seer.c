/*
 * seer.c - the forecasting process (base/twin.h), which has a low priority.
 *
 * The pipe carries records of fixed size, each followed by its nodes; the last one marks the
 * forecast as complete.
 */
#include "server/life/wait/seer.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fdio.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/ticks.h"
#include "core/job.h"
#include "sched/forecast.h"
#include "server/base/clock.h"
#include "server/base/twin.h"
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
	struct seer_calls calls;
	struct server *s;
	struct twin *twin;
	size_t most, nodes;
	int seconds;
	bool complete;
	struct strbuf in; /* incomplete record, or input not handled yet */
};

/* ---- the process ---- */

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

static void foretell(void *context, int fd)
{
	const struct seer *x = context;
	struct sender out = {.fd = fd, .most = x->most, .nodes = x->nodes};
	int64_t until = clock_us(CLOCK_MONOTONIC) + (int64_t)x->seconds * 1000000 / 4 * 3;
	struct record end = {.job = JOB_NONE};
	struct forecast *f = forecast_create(x->s->sched);
	bool done = false;

	forecast_gate(f, x->s->gate);
	while (!done && clock_us(CLOCK_MONOTONIC) < until)
		done = forecast_run(f, CYCLES, send_one, &out) || out.told == out.most;
	if (!done)
		forecast_rest(f, send_one, &out);
	strbuf_add(&out.out, (const char *)&end, sizeof end);
	flush(&out);
}

/* ---- the server ---- */

static void seer_free(struct seer *x)
{
	strbuf_fini(&x->in);
	free(x);
}

static void on_over(void *context)
{
	struct seer *x = context;
	struct seer_calls calls = x->calls;
	bool complete = x->complete;

	seer_free(x);
	calls.over(calls.context, complete);
}

/* Handles all complete records. */
static void on_got(void *context, const char *text, size_t n)
{
	struct seer *x = context;
	size_t at = 0;
	struct record r;

	strbuf_add(&x->in, text, n);
	while (x->in.n - at >= sizeof r) {
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

struct seer *seer_start(struct server *s, size_t most, size_t nodes, int seconds, const struct seer_calls *calls)
{
	struct seer *x = mem_zalloc(sizeof *x);

	*x = (struct seer){.calls = *calls, .s = s, .most = most, .nodes = nodes, .seconds = seconds};
	x->twin = twin_start(s->loop, &(struct twin_order){.name = "shunt-forecast",
							   .seconds = seconds,
							   .nice = NICE,
							   .run = foretell,
							   .got = on_got,
							   .over = on_over,
							   .context = x});
	if (x->twin)
		return x;
	seer_free(x);
	return NULL;
}

void seer_stop(struct seer *x)
{
	if (!x)
		return;
	twin_stop(x->twin);
	seer_free(x);
}

int64_t seer_fork_us(const struct seer *x)
{
	return twin_fork_us(x->twin);
}
