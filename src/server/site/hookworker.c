/*
 * hookworker.c - see hookworker.h.
 */
#include "server/site/hookworker.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <uv.h>

#include "base/codec.h"
#include "base/err.h"
#include "base/frame.h"
#include "base/mem.h"
#include "base/program.h"
#include "hooks/chain.h"
#include "hooks/frames.h"
#include "hooks/hook.h"
#include "server/base/clock.h"
#include "server/base/instance.h"
#include "server/base/log.h"
#include "server/base/turn.h"
#include "server/server.h"
#include "server/site/hooks.h"

#define SILENCE_MS 20000 /* how long a process may be silent, whatever it does */
#define LOOK_MS 100	 /* interval at which a hook's processor time is checked */
/* time beyond hook_time: a hook stops by itself, unless it is in a function that does not return */
#define GRACE_MS 100
#define ANSWER_MAX ((size_t)4 << 20)
#define TRIES 2
#define AGAIN_MS 50 /* delay before a failed start is tried once more */

struct hook_worker {
	struct hook_crew *crew; /* NULL: given up, and its handles are being closed */
	pid_t pid;
	uv_pipe_t pipe;
	uv_timer_t timer;
	int handles;
	struct hook_ask *ask; /* question it handles; NULL: none */
	uint64_t version;     /* version of its files */
	struct strbuf in;
	int64_t said_ms; /* uv_now() of its last message */
	/* processor time it had used when the present hook was called; -1: no hook is running */
	int64_t cpu_ms;
	bool late; /* it was killed for exceeding its time */
	char buf[65536];
};

/* A message on its way to a process. The data belong to the ask: dropping the ask ends its
 * process, which ends the write first. */
struct sending {
	uv_write_t write;
	struct strbuf head;
};

static void crew_serve(struct hook_crew *c, bool again);

/* ---- the process ---- */

static void on_closed(uv_handle_t *handle)
{
	struct hook_worker *w = handle->data;

	if (--w->handles)
		return;
	strbuf_fini(&w->in);
	free(w);
}

/* Ends the process. The caller handles its question, if it has one. */
static void worker_end(struct hook_worker *w)
{
	struct hook_crew *c = w->crew;

	for (int i = 0; i < HOOK_WORKERS; i++)
		if (c->worker[i] == w)
			c->worker[i] = NULL;
	w->crew = NULL;
	if (w->ask)
		w->ask->worker = NULL;
	w->ask = NULL;
	kill(w->pid, SIGKILL);
	waitpid(w->pid, NULL, 0); /* it was killed, so this does not block */
	uv_close((uv_handle_t *)&w->pipe, on_closed);
	uv_close((uv_handle_t *)&w->timer, on_closed);
}

static void ask_over(struct hook_ask *a)
{
	if (a->event == HOOK_PRIORITY)
		/* a turn follows; hookrank.c decides whether the scheduler must run */
		clock_read(a->server);
	else
		turn_wake(a->server);
	a->worker = NULL;
	a->over = true;
	free(a->file);
	a->file = NULL;
	if (a->done)
		a->done(a->server, a->context);
}

/* Fails a question that cannot be answered, as if the hook had failed. */
static void ask_fail(struct hook_crew *c, struct hook_ask *a, const char *why)
{
	struct hook_terms terms = c->calls.terms(c->calls.context);
	bool refuses = terms.refuses && (a->event == HOOK_SUBMIT || a->event == HOOK_MODIFY);
	struct hook_answer x = {.result = refuses ? HOOK_FAILED : HOOK_ACCEPTED};
	struct err err;

	if (a->check || a->trial) {
		a->error = mem_strdup(why);
		ask_over(a);
		return;
	}
	err_set(&err, 0, "the site's hook%s%.100s failed, so nothing is accepted now; inform the administrator: %s",
		a->file ? " " : "s", a->file ? a->file : "", why);
	x.message = refuses ? mem_strdup(err.text) : NULL;
	if (a->file) {
		x.ran = json_pack("[{s:s, s:i, s:s}]", "file", a->file, "us", 0, "failed", why);
	} else {
		server_log(c->s, SEVERITY_ERROR, "hooks failed: %s", why);
	}
	a->unheard = !refuses;
	c->calls.answered(c->calls.context, a, &x);
	vec_push(&a->answers, x);
	ask_over(a);
}

static void answers_clear(struct hook_ask *a)
{
	for (size_t i = 0; i < a->answers.n; i++)
		hook_answer_fini(&a->answers.v[i]);
	vec_free(&a->answers);
}

/* Handles a process that ended before the answer was complete. */
static void worker_lost(struct hook_worker *w)
{
	struct hook_crew *c = w->crew;
	struct hook_ask *a = w->ask;
	bool late = w->late;
	struct err err;

	worker_end(w);
	if (a && late) {
		err_set(&err, 0, "it did not end within the %lld ms of hook_time, and its process was ended",
			(long long)c->calls.terms(c->calls.context).time_ms);
		ask_fail(c, a, err.text);
	} else if (a && ++a->tries < TRIES) {
		server_log(c->s, SEVERITY_WARNING, "a hook process ended unexpectedly; running its request again");
		answers_clear(a);
		vec_insert(&c->waiting, 0, a);
	} else if (a) {
		ask_fail(c, a, "its process ended unexpectedly, twice");
	}
	crew_serve(c, false);
}

/* Returns the processor time of a process; -1: not known. */
static int64_t cpu_used_ms(pid_t pid)
{
	struct timespec t;
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &t) < 0)
		return -1;
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void on_look(uv_timer_t *t)
{
	struct hook_worker *w = t->data;

	if (!w->crew)
		return;
	int64_t allowed = w->crew->calls.terms(w->crew->calls.context).time_ms + GRACE_MS;
	w->late = (int64_t)uv_now(w->crew->s->loop) - w->said_ms > SILENCE_MS ||
		  (w->cpu_ms >= 0 && cpu_used_ms(w->pid) - w->cpu_ms > allowed);
	if (w->late)
		worker_lost(w);
}

/* Restarts the time limits after a message in either direction. `hook`: a hook begins to run. */
static void watch(struct hook_worker *w, bool hook)
{
	w->said_ms = (int64_t)uv_now(w->crew->s->loop);
	w->cpu_ms = hook ? cpu_used_ms(w->pid) : -1;
	if (!uv_is_active((uv_handle_t *)&w->timer))
		uv_timer_start(&w->timer, on_look, LOOK_MS, LOOK_MS);
}

/* ---- answers ---- */

static void answer_take(struct hook_worker *w, const json_t *x)
{
	struct hook_crew *c = w->crew;
	struct hook_ask *a = w->ask;
	struct hook_answer answer;

	if (hook_answer_read(x, &answer, NULL) < 0)
		return;
	vec_push(&a->answers, answer);
	if (a->trial)
		return;
	c->calls.answered(c->calls.context, a, &answer);
	free(a->file);
	a->file = NULL;
}

static void frame_take(struct hook_worker *w, const struct hook_reply *x)
{
	struct hook_ask *a = w->ask;
	bool file = a && (a->check || a->trial),
	     over = x->done >= 0 || (file && x->error) || (a && a->check && x->events >= 0);

	if (!a)
		return;
	if (x->at) {
		if (!file) {
			free(a->file);
			a->file = mem_strdup(x->at);
		}
		watch(w, true);
		return;
	}
	watch(w, false);
	if (x->answer)
		answer_take(w, x->answer);
	if (!over)
		return;
	a->error = file && x->error ? mem_strdup(x->error) : NULL;
	a->events = x->events >= 0 ? (unsigned)x->events : 0;
	a->values = json_incref((json_t *)x->values);
	a->failed = x->failed;
	uv_timer_stop(&w->timer);
	w->ask = NULL;
	struct hook_crew *c = w->crew;
	ask_over(a);
	crew_serve(c, false);
}

/* Handles all complete frames. Returns false if one is malformed. */
static bool frames_take(struct hook_worker *w)
{
	const char *head, *data;
	size_t nhead, n, at = 0;
	ssize_t took = 0;

	while (w->crew &&
	       (took = frame_next(w->in.text + at, w->in.n - at, ANSWER_MAX, &head, &nhead, &data, &n)) > 0) {
		json_t *o = json_loadb(head, nhead, 0, NULL);
		struct hook_reply x;
		if (record_load(hook_reply_rows, 0, o, &x, NULL, NULL) == 0)
			frame_take(w, &x);
		json_decref(o);
		at += (size_t)took;
	}
	if (w->in.n) {
		memmove(w->in.text, w->in.text + at, w->in.n - at);
		w->in.n -= at;
	}
	return took >= 0;
}

static void on_room(uv_handle_t *handle, size_t size, uv_buf_t *ret)
{
	struct hook_worker *w = handle->data;

	*ret = uv_buf_init(w->buf, sizeof w->buf);
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
	struct hook_worker *w = stream->data;

	if (!w->crew)
		return;
	if (n > 0)
		strbuf_add(&w->in, buf->base, (size_t)n);
	if (n < 0 || !frames_take(w)) {
		if (w->crew)
			worker_lost(w);
	}
}

/* ---- starting a process ---- */

static void program_find(const struct server *s, char path[PATH_MAX], bool *ret_own)
{
	const char *program = s->instance->program, *slash = strrchr(program, '/');

	snprintf(path, PATH_MAX, "%.*s/shunt-hook", slash ? (int)(slash - program) : 0, program);
	*ret_own = access(path, X_OK) < 0;
	if (*ret_own)
		snprintf(path, PATH_MAX, "%s", program);
}

static int process_start(const struct server *s, int fd, pid_t *ret)
{
	char path[PATH_MAX], *argv[] = {path, NULL, NULL}, *const none[] = {NULL};
	bool own;

	program_find(s, path, &own);
	argv[1] = own ? "--hook" : NULL;
	return program_start(path, argv, none, (int[]){fd, PROGRAM_NULL, PROGRAM_SHARE}, 3, PROGRAM_GROUP, ret);
}

static int worker_start(struct hook_crew *c, struct hook_worker **ret)
{
	int fds[2], rc;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0)
		return -errno;
	rc = process_start(c->s, fds[1], &pid);
	close(fds[1]);
	if (rc < 0) {
		close(fds[0]);
		return rc;
	}
	struct hook_worker *w = mem_zalloc(sizeof *w);
	w->crew = c;
	w->pid = pid;
	w->handles = 2;
	uv_pipe_init(c->s->loop, &w->pipe, 0);
	uv_pipe_open(&w->pipe, fds[0]);
	uv_timer_init(c->s->loop, &w->timer);
	w->pipe.data = w->timer.data = w;
	uv_read_start((uv_stream_t *)&w->pipe, on_room, on_read);
	*ret = w;
	return 0;
}

/* ---- questions ---- */

static void on_sent(uv_write_t *write, int status)
{
	struct sending *x = (struct sending *)write;

	strbuf_fini(&x->head);
	free(x);
}

/* Sends a frame. Its data are not copied unless `copy` is set: they may be
 * large, and stay until the process has answered. */
static void frame_send(struct hook_worker *w, const struct strbuf *head, const char *data, size_t n, bool copy)
{
	struct sending *x = mem_zalloc(sizeof *x);

	frame_begin(&x->head, head->text, head->n, n);
	if (copy)
		strbuf_add(&x->head, data, n);
	uv_buf_t bufs[2] = {uv_buf_init(x->head.text, (unsigned)x->head.n), uv_buf_init((char *)data, (unsigned)n)};
	uv_write(&x->write, (uv_stream_t *)&w->pipe, bufs, n && !copy ? 2 : 1, on_sent);
}

static void ask_send(struct hook_worker *w, struct hook_ask *a)
{
	struct hook_crew *c = w->crew;
	struct hook_terms terms = c->calls.terms(c->calls.context);
	struct hook_request q = {
		.what = a->check		    ? HOOK_DO_CHECK
			: a->trial		    ? HOOK_DO_TRY
			: a->event == HOOK_PRIORITY ? HOOK_DO_PRIORITY
						    : HOOK_DO_CALL,
		.name = a->check || a->trial ? a->file : NULL,
		.event = a->check ? NULL : hook_event_name(a->event),
		.facts = a->facts,
		.refuses = terms.refuses,
		.bytes = (int64_t)a->bytes,
		.time_us = terms.time_ms * 1000,
		.memory = terms.memory_kib * 1024,
	};
	json_t *site = a->check ? NULL : c->calls.site(c->calls.context);
	struct strbuf head = {0};

	if (w->version != c->version)
		frame_send(w, &c->files, strbuf_text(&c->texts), c->texts.n, true);
	w->version = c->version;
	w->ask = a;
	a->worker = w;
	q.site = site;
	record_store_text(hook_request_rows, 0, &q, NULL, &head);
	frame_send(w, &head, a->data, a->n, false);
	strbuf_fini(&head);
	json_decref(site);
	watch(w, a->check || a->trial);
}

/* Returns an idle process, starting one if the limit allows it. NULL: none. */
static struct hook_worker *worker_free(struct hook_crew *c, int *ret_rc)
{
	*ret_rc = 0;
	for (int i = 0; i < HOOK_WORKERS; i++)
		if (c->worker[i] && !c->worker[i]->ask)
			return c->worker[i];
	for (int i = 0; i < HOOK_WORKERS; i++)
		if (!c->worker[i]) {
			*ret_rc = worker_start(c, &c->worker[i]);
			return c->worker[i];
		}
	return NULL;
}

static void on_again(uv_timer_t *t)
{
	crew_serve(t->data, true);
}

/* Sends waiting questions to idle processes. `again`: a failed start fails the question;
 * otherwise it is retried later, so that no question is answered within hooks_ask(). */
static void crew_serve(struct hook_crew *c, bool again)
{
	struct hook_worker *w;
	char why[200];
	int rc = 0;

	for (size_t i = 0; i < c->waiting.n && !c->stopped;) {
		struct hook_ask *a = c->waiting.v[i];
		if (!a->check && !c->calls.may_begin(c->calls.context)) {
			i++;
			continue;
		}
		w = worker_free(c, &rc);
		/* further questions do not postpone it */
		if (rc < 0 && !again && !uv_is_active((uv_handle_t *)&c->again))
			uv_timer_start(&c->again, on_again, AGAIN_MS, 0);
		if (!w && (rc == 0 || !again))
			return;
		vec_remove(&c->waiting, i);
		if (w) {
			ask_send(w, a);
			continue;
		}
		snprintf(why, sizeof why, "the program shunt-hook can't be started: %s", strerror(-rc));
		ask_fail(c, a, why);
		i = 0;
	}
}

/* ---- interface for hooks.c ---- */

void hook_crew_begin(struct hook_crew *c, struct server *s, const struct hook_crew_calls *calls)
{
	*c = (struct hook_crew){.s = s, .calls = *calls};
	uv_timer_init(s->loop, &c->again);
	c->again.data = c;
}

void hook_crew_end(struct hook_crew *c)
{
	c->stopped = true;
	uv_timer_stop(&c->again);
	for (int i = 0; i < HOOK_WORKERS; i++)
		if (c->worker[i])
			worker_end(c->worker[i]);
}

void hook_crew_files(struct hook_crew *c, struct strbuf *head, struct strbuf *texts)
{
	strbuf_fini(&c->files);
	strbuf_fini(&c->texts);
	c->files = *head;
	c->texts = *texts;
	c->version++;
}

void hook_crew_go(struct hook_crew *c)
{
	crew_serve(c, false);
}

void hook_crew_drop(struct hook_crew *c, struct hook_ask *a)
{
	for (size_t i = c->waiting.n; i-- > 0;)
		if (c->waiting.v[i] == a)
			vec_remove(&c->waiting, i);
	if (a->worker)
		worker_end(a->worker);
	answers_clear(a);
	crew_serve(c, false);
}

void hook_crew_add(struct hook_crew *c, struct hook_ask *a)
{
	vec_push(&c->waiting, a);
	crew_serve(c, false);
}

struct hook_ask *hook_crew_check(struct hook_crew *c, const char *name, const char *text, size_t n,
				 void (*done)(struct server *s, void *context), void *context)
{
	struct hook_ask *a = mem_zalloc(sizeof *a);

	*a = (struct hook_ask){.check = true,
			       .file = mem_strdup(name),
			       .data = text,
			       .n = n,
			       .done = done,
			       .context = context,
			       .server = c->s};
	hook_crew_add(c, a);
	return a;
}
