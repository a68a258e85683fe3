/*
 * health.c - runs the health check as a child in its own process group, so that the timeout ends
 * all of it.
 *
 * A check is over when its process has ended and its output is closed; if it leaves a process
 * behind that keeps the output open, it is over at the timeout. Then the answer is evaluated; the
 * next check begins `every` seconds after this one began.
 */
#include "agent/health.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

#define LINE_MOST 256

struct health {
	uv_loop_t *loop;
	void (*changed)(void *context);
	void *context;
	char *program;
	int every, seconds;
	uv_timer_t next, limit;
	uv_process_t process;
	uv_pipe_t output;
	int open; /* number of handles of a check that are not closed */
	bool late, stopping, spawned;
	bool stale; /* another program was set meanwhile: ignore the answer */
	bool again; /* start the next check when this one is over */
	int64_t status;
	int signal;
	int timers;		   /* number of timers that are not closed */
	char line[LINE_MOST];	   /* first line of its output */
	size_t n;		   /* bytes of the line */
	bool whole;		   /* the line is complete; the rest is dropped */
	char text[LINE_MOST + 64]; /* the answer */
	char buffer[4096];
};

const char *health_text(const struct health *h)
{
	return h->text;
}

static void health_answer(struct health *h, const char *text)
{
	if (strcmp(h->text, text) == 0)
		return;
	snprintf(h->text, sizeof h->text, "%s", text);
	if (h->changed && !h->stopping)
		h->changed(h->context);
}

static void health_free(struct health *h)
{
	if (h->timers || h->open)
		return;
	free(h->program);
	free(h);
}

static void on_timer_closed(uv_handle_t *handle)
{
	struct health *h = handle->data;

	h->timers--;
	health_free(h);
}

static void check_judge(struct health *h)
{
	char text[sizeof h->text] = "";

	if (h->late)
		snprintf(text, sizeof text, "the health check did not end within %d s", h->seconds);
	else if ((h->status || h->signal) && h->n)
		snprintf(text, sizeof text, "%.*s", (int)h->n, h->line);
	else if (h->signal)
		snprintf(text, sizeof text, "the health check was ended by signal %d", h->signal);
	else if (h->status)
		snprintf(text, sizeof text, "the health check ended with %lld", (long long)h->status);
	health_answer(h, text);
}

static void check_begin(struct health *h);

static void on_check_closed(uv_handle_t *handle)
{
	struct health *h = handle->data;

	if (--h->open)
		return;
	h->spawned = false;
	if (h->stopping) {
		health_free(h);
		return;
	}
	uv_timer_stop(&h->limit);
	if (h->program && !h->stale)
		check_judge(h);
	if (h->program && h->again)
		check_begin(h);
}

static void output_close(struct health *h)
{
	if (!uv_is_closing((uv_handle_t *)&h->output))
		uv_close((uv_handle_t *)&h->output, on_check_closed);
}

static void on_exit_of(uv_process_t *p, int64_t status, int signal)
{
	struct health *h = p->data;

	h->status = status;
	h->signal = signal;
	uv_close((uv_handle_t *)p, on_check_closed);
	if (h->late || h->stopping)
		output_close(h);
}

static void on_alloc(uv_handle_t *handle, size_t size, uv_buf_t *ret)
{
	struct health *h = handle->data;

	*ret = uv_buf_init(h->buffer, sizeof h->buffer);
}

static void on_output(uv_stream_t *s, ssize_t n, const uv_buf_t *b)
{
	struct health *h = s->data;

	for (ssize_t i = 0; i < n && !h->whole; i++) {
		h->whole = b->base[i] == '\n' || h->n + 1 == sizeof h->line;
		if (!h->whole && (unsigned char)b->base[i] >= ' ')
			h->line[h->n++] = b->base[i];
	}
	if (n < 0)
		output_close(h);
}

/* Kills what is left of the check: it leads a process group. */
static void check_end(struct health *h)
{
	if (!h->spawned)
		return;
	kill(-h->process.pid, SIGKILL);
	if (!uv_is_active((uv_handle_t *)&h->process))
		output_close(h);
}

static void on_limit(uv_timer_t *t)
{
	struct health *h = t->data;

	h->late = true;
	check_end(h);
}

/* Returns true if only root can write the program, which root runs. */
static bool is_trusted(const char *program)
{
	struct stat st;

	return geteuid() != 0 || stat(program, &st) < 0 || (st.st_uid == 0 && !(st.st_mode & 022));
}

static void check_begin(struct health *h)
{
	char *argv[] = {h->program, NULL};
	uv_stdio_container_t stdio[3] = {
		{.flags = UV_IGNORE},
		{.flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE, .data.stream = (uv_stream_t *)&h->output},
		{.flags = UV_IGNORE},
	};
	uv_process_options_t o = {.file = h->program,
				  .args = argv,
				  .exit_cb = on_exit_of,
				  .flags = UV_PROCESS_DETACHED,
				  .stdio_count = 3,
				  .stdio = stdio,
				  .cwd = "/"};
	int rc;

	h->n = 0;
	h->late = h->whole = h->stale = h->again = false;
	h->status = h->signal = 0;
	uv_pipe_init(h->loop, &h->output, 0);
	h->output.data = h->process.data = h;
	bool trusted = is_trusted(h->program);
	if (!trusted)
		o.file = ""; /* then everything proceeds as if the file did not exist */
	rc = uv_spawn(h->loop, &h->process, &o);
	h->open = 2;
	if (rc < 0) {
		snprintf(h->line, sizeof h->line, "the health check %.120s %s%s", h->program,
			 trusted ? "can't be run: " : "is not run: it must be root's, and not writable by others",
			 trusted ? uv_strerror(rc) : "");
		h->n = strlen(h->line);
		h->status = 127;
		uv_close((uv_handle_t *)&h->process, on_check_closed);
		output_close(h);
		return;
	}
	h->spawned = true;
	uv_read_start((uv_stream_t *)&h->output, on_alloc, on_output);
	uv_timer_start(&h->limit, on_limit, (uint64_t)h->seconds * 1000, 0);
}

static void on_next(uv_timer_t *t)
{
	struct health *h = t->data;

	if (h->open) /* the previous one has not ended; its time limit is set */
		h->again = true;
	else
		check_begin(h);
}

struct health *health_create(uv_loop_t *loop, void (*changed)(void *context), void *context)
{
	struct health *h = mem_zalloc(sizeof *h);

	h->loop = loop;
	h->changed = changed;
	h->context = context;
	uv_timer_init(loop, &h->next);
	uv_timer_init(loop, &h->limit);
	h->next.data = h->limit.data = h;
	h->timers = 2;
	return h;
}

void health_set(struct health *h, const char *program, int every, int seconds)
{
	bool none = !program || !*program;

	every = every > 0 ? every : 60;
	seconds = seconds > 0 ? seconds : 30;
	if (!none && h->program && strcmp(h->program, program) == 0 && h->every == every && h->seconds == seconds)
		return;
	free(h->program);
	h->program = none ? NULL : mem_strdup(program);
	h->every = every;
	h->seconds = seconds;
	h->stale = true;
	h->again = false;
	uv_timer_stop(&h->next);
	check_end(h);
	if (none)
		health_answer(h, "");
	else
		uv_timer_start(&h->next, on_next, 0, (uint64_t)every * 1000);
}

void health_stop(struct health *h)
{
	h->stopping = true;
	check_end(h);
	uv_close((uv_handle_t *)&h->next, on_timer_closed);
	uv_close((uv_handle_t *)&h->limit, on_timer_closed);
}
