/*
 * worker.c - see worker.h.
 */
#include "hooks/worker.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/codec.h"
#include "base/frame.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/ticks.h"
#include "hooks/chain.h"
#include "hooks/frames.h"
#include "hooks/hook.h"

#define NICE 5
#define FLUSH 32768   /* bytes written at once */
#define TICK_US 10000 /* us after which pending output is written in any case */
#define SAY_US 20000  /* us of CPU time after which the server is notified of long work */

struct worker {
	struct arena *a; /* owns the files */
	struct hook_file *files;
	size_t nfiles;
	int64_t time_us, ends_us, said_us;
	struct strbuf in;
	size_t taken;
	const struct hook_file *called; /* files of the current call */
};

/* Returns the CPU time: on a busy machine a hook is not to blame for other programs. */
static int64_t cpu_us(void)
{
	return clock_us(CLOCK_PROCESS_CPUTIME_ID);
}

static bool is_late(void *context)
{
	return cpu_us() >= ((struct worker *)context)->ends_us;
}

static int64_t clock_now(void *context)
{
	return cpu_us();
}

/* ---- output ----
 *
 * Many frames are written at a time, so that thousands of jobs do not wake the server thousands of
 * times. But a hook may hang where no code of ours runs, and the server must know which one: so a
 * timer writes what is pending. */

static struct {
	int fd;
	struct strbuf out;
	volatile sig_atomic_t busy; /* `out` is being changed: the timer must not touch it */
	volatile sig_atomic_t lost; /* no one reads the output */
} voice;

static void voice_write(void)
{
	for (size_t done = 0; done < voice.out.n && !voice.lost;) {
		ssize_t n = write(voice.fd, voice.out.text + done, voice.out.n - done);
		if (n > 0)
			done += (size_t)n;
		else if (n < 0 && errno != EINTR)
			voice.lost = 1;
	}
	voice.out.n = 0;
}

static void on_alarm(int signal)
{
	int saved = errno;

	if (!voice.busy)
		voice_write();
	errno = saved;
}

static void voice_flush(void)
{
	voice.busy = 1;
	atomic_signal_fence(memory_order_seq_cst);
	voice_write();
	atomic_signal_fence(memory_order_seq_cst);
	voice.busy = 0;
}

static void timer_set(bool on)
{
	const struct timeval tick = {.tv_usec = on ? TICK_US : 0};

	setitimer(ITIMER_REAL, &(struct itimerval){tick, tick}, NULL);
}

/* Sends a frame, and empties its head. */
static void head_say(struct strbuf *head)
{
	voice.busy = 1;
	atomic_signal_fence(memory_order_seq_cst);
	frame_put(&voice.out, head->text, head->n, "", 0);
	atomic_signal_fence(memory_order_seq_cst);
	voice.busy = 0;
	strbuf_fini(head);
	if (voice.out.n > FLUSH)
		voice_flush();
}

static void say(const struct hook_reply *x)
{
	struct strbuf head = {0};

	record_store_text(hook_reply_rows, 0, x, NULL, &head);
	head_say(&head);
}

static void say_at(const struct hook_file *f)
{
	say(&(struct hook_reply){.at = f->source.name, .done = -1, .events = -1});
}

/* Says why a text can't be used, or which events it has functions for. */
static void say_checked(int rc, unsigned events, int64_t done, const struct err *err)
{
	struct hook_reply error = {.error = err->text, .done = -1, .events = -1},
			  good = {.events = events, .done = done};

	say(rc < 0 ? &error : &good);
}

/* ---- requests ---- */

/* Keeps the files, whose memory is in the request's arena. */
static void do_files(struct worker *w, const struct hook_request *q, const char *data, size_t n)
{
	w->files = q->files;
	for (w->nfiles = 0; w->nfiles < (size_t)q->nfiles; w->nfiles++) {
		struct hook_source *x = &q->files[w->nfiles].source;
		if (x->n > n)
			return;
		x->text = memcpy(arena_alloc(w->a, x->n + 1), data, x->n);
		data += x->n;
		n -= x->n;
	}
}

static struct hook_limits limits_of(struct worker *w, const struct hook_request *q)
{
	w->time_us = q->time_us;
	w->ends_us = cpu_us() + w->time_us;
	return (struct hook_limits){(size_t)q->memory, is_late, w};
}

static void do_check(struct worker *w, const struct hook_request *q, const char *data, size_t n)
{
	struct hook_limits limits = limits_of(w, q);
	unsigned events = 0;
	struct err err;

	int rc = hook_check(&(struct hook_source){q->name ? q->name : "?", data, n}, &limits, &events, &err);

	say_checked(rc, events, -1, &err);
}

static void file_begins(void *context, size_t file)
{
	struct worker *w = context;

	w->ends_us = cpu_us() + w->time_us;
	say_at(&w->called[file]);
}

/* Sends the outcome for a job. Returns true if the next job is to be handled. */
static bool answer_say(void *context, struct hook_answer *a)
{
	struct strbuf head = {0};

	strbuf_puts(&head, "{\"answer\":");
	hook_answer_write(a, &head);
	strbuf_puts(&head, "}");
	head_say(&head);
	hook_answer_fini(a);
	return !voice.lost;
}

static struct hook_chain chain_of(struct worker *w, const struct hook_request *q, const struct hook_file *files,
				  size_t n)
{
	w->called = files;
	return (struct hook_chain){.file = files,
				   .n = n,
				   .limits = limits_of(w, q),
				   .failure_refuses = q->refuses,
				   .begins = file_begins,
				   .clock_us = clock_now,
				   .context = w};
}

static int64_t body_call(const struct hook_chain *c, const struct hook_request *q, const json_t *body)
{
	int event = q->event ? hook_event_find(q->event) : -1;

	if (event < 0)
		return 0;
	return (int64_t)hook_chain_body(c, &(struct hook_inquiry){.event = (enum hook_event)event,
								  .facts = q->facts,
								  .site = q->site,
								  .body = body,
								  .tell = answer_say});
}

static void do_call(struct worker *w, const struct hook_request *q, const char *data, size_t n)
{
	struct hook_chain c = chain_of(w, q, w->files, w->nfiles);
	/* a duplicate member is ambiguous: send no answer, and the server refuses it */
	json_t *body = json_loadb(data, n, JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES, NULL);

	say(&(struct hook_reply){.done = body_call(&c, q, body), .events = -1});
	json_decref(body);
}

/* Calls a file that is not in force. */
static void do_try(struct worker *w, const struct hook_request *q, const char *data, size_t n)
{
	size_t bytes = (size_t)q->bytes;
	struct hook_file f = {.source = {q->name ? q->name : "?", data, bytes < n ? bytes : n}, .events = 0};
	struct hook_chain c = chain_of(w, q, &f, 1);
	json_t *body = json_loadb(data + f.source.n, n - f.source.n, JSON_ALLOW_NUL, NULL);
	struct err err;
	int rc = hook_check(&f.source, &c.limits, &f.events, &err);

	say_checked(rc, f.events, rc < 0 ? -1 : body_call(&c, q, body), &err);
	json_decref(body);
}

/* Notifies the server now and then that work on many jobs is in progress. */
static void factor_begins(void *context)
{
	struct worker *w = context;
	int64_t now = cpu_us();

	if (now - w->said_us > SAY_US) {
		say_at(w->called);
		w->said_us = now;
	}
	w->ends_us = now + w->time_us;
}

static void do_priority(struct worker *w, const struct hook_request *q, const char *data, size_t n)
{
	struct hook_limits limits = limits_of(w, q);
	json_t *jobs = json_loadb(data, n, 0, NULL), *list = json_array();
	size_t count = json_array_size(jobs);
	double *values = mem_zalloc((count + 1) * sizeof *values);
	struct hook_answer a = {.ran = json_array()};
	bool failed = false;

	for (size_t i = 0; i < w->nfiles; i++) {
		const struct hook_file *f = &w->files[i];
		int64_t begin = cpu_us();
		struct err err;
		if (f->broken || !(f->events & 1u << HOOK_PRIORITY))
			continue;
		w->called = f;
		w->said_us = 0;
		int rc = hook_priorities(&f->source, &limits, jobs, q->site, factor_begins, values, &err);
		failed |= rc < 0;
		json_array_append_new(a.ran,
				      json_pack("{s:s, s:I, s:s?}", "file", f->source.name, "us",
						(json_int_t)(cpu_us() - begin), "failed", rc < 0 ? err.text : NULL));
	}
	for (size_t i = 0; i < count; i++)
		json_array_append_new(list, isnan(values[i]) ? json_null() : json_real(values[i]));
	answer_say(w, &a);
	say(&(struct hook_reply){.done = (int64_t)count, .values = list, .failed = failed, .events = -1});
	free(values);
	json_decref(list);
	json_decref(jobs);
}

static void frame_do(struct worker *w, const char *text, size_t ntext, const char *data, size_t n)
{
	static void (*const actions[])(struct worker *, const struct hook_request *, const char *, size_t) = {
		[HOOK_DO_FILES] = do_files, [HOOK_DO_CHECK] = do_check,	      [HOOK_DO_CALL] = do_call,
		[HOOK_DO_TRY] = do_try,	    [HOOK_DO_PRIORITY] = do_priority,
	};
	struct arena *a = arena_create(), *other = a;
	json_t *head = json_loadb(text, ntext, 0, NULL);
	struct hook_request q;

	timer_set(true);
	if (record_read(hook_request_rows, 0, head, &q, a, NULL) == 0) {
		if (q.what == HOOK_DO_FILES) {
			other = w->a;
			w->a = a;
		}
		actions[q.what](w, &q, data, n);
	}
	timer_set(false);
	voice_flush();
	arena_destroy(other);
	json_decref(head);
}

/* Handles the complete frames. Returns false if one is malformed. */
static bool frames_do(struct worker *w)
{
	const char *head, *data;
	size_t nhead, n;
	ssize_t took;

	while ((took = frame_next(w->in.text, w->in.n, HOOK_FRAME_MAX, &head, &nhead, &data, &n)) > 0) {
		frame_do(w, head, nhead, data, n);
		memmove(w->in.text, w->in.text + took, w->in.n - (size_t)took);
		w->in.n -= (size_t)took;
	}
	return took == 0;
}

static int worker_run(int fd)
{
	struct worker w = {0};
	static char buf[65536];
	struct sigaction alarm = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
	ssize_t n;
	bool good = true;

	voice.fd = fd;
	sigaction(SIGALRM, &alarm, NULL);
	while (good && !voice.lost && ((n = read(fd, buf, sizeof buf)) > 0 || (n < 0 && errno == EINTR)))
		if (n > 0) {
			strbuf_add(&w.in, buf, (size_t)n);
			good = frames_do(&w);
		}
	arena_destroy(w.a);
	strbuf_fini(&w.in);
	return good ? 0 : 1;
}

/* Drops all rights, which the process does not need: a hook that breaks out of Lua gains nothing. A
 * limit that can't be set is not essential. */
static void rights_drop(void)
{
	const struct rlimit none = {0, 0};

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	prctl(PR_SET_DUMPABLE, 0);
	setrlimit(RLIMIT_NOFILE, &none); /* open files stay open */
	setrlimit(RLIMIT_NPROC, &none);
	setrlimit(RLIMIT_FSIZE, &none);
	setrlimit(RLIMIT_CORE, &none);
	if (nice(NICE) < 0)
		return;
}

int hook_command(void)
{
	if (isatty(0)) {
		fputs("shunt-hook is started by shuntd: 'shunt hooks' shows what it does\n", stderr);
		return 2;
	}
	rights_drop();
	/* skips the sanitizer's leak check, which needs rights that were dropped */
	_exit(worker_run(0));
}
