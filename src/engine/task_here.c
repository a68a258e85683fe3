/*
 * task_here.c - a task on this host: its input and output are pipes, or a terminal, whose other
 * ends are here.
 *
 *	link --in--> input ---pipe---> program ---pipes---> link
 *
 * Each direction is paused when its receiver is full. The last frame is sent when the program has
 * ended and its output is closed. Processes that it left behind may keep the output open: then a
 * moment without output is enough.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/vec.h"
#include "engine/tasks_internal.h"
#include "engine/watch.h"
#include "net/handle.h"

#define QUIET_MS 300
#define PART 65536
#define PARTS_A_TURN 4

enum { OUT, ERR, OUTPUTS };

/* One of its outputs, and the context of its watch. */
struct output {
	struct task_here *h;
	struct watch *watch; /* NULL: closed, or not used */
	const char *type;    /* type of its frames */
};

struct task_here {
	uv_loop_t *loop;
	struct link *link;
	void (*over)(void *context);
	void *context;
	struct talk *talk;
	struct watch *in; /* NULL: closed, or the terminal is used */
	struct output output[OUTPUTS];
	bool terminal; /* output[OUT] is the terminal's master, for both directions */
	struct strbuf input;
	bool in_end, held; /* no more input will come; the link was asked to pause */
	bool started;	   /* the client knows that it has started: its output comes after that */
	uv_timer_t *quiet; /* runs from the program's end on */
	bool heard;	   /* it has written something since the timer last fired */
	struct task_answer end;
	bool ended;
};

/* ---- the end ---- */

static void task_over(struct task_here *h)
{
	if (h->end.type == TASK_REFUSED)
		task_refuse(h->link, "the job's part on this host has ended");
	else
		link_pack(h->link, NULL, 0, "{s:s,s:s,s:i}", "t", "exit", "how",
			  h->end.type == TASK_EXITED ? "exited" : "signaled", "status", h->end.status);
	h->over(h->context);
}

static bool outputs_closed(const struct task_here *h)
{
	return !h->output[OUT].watch && !h->output[ERR].watch;
}

static void on_quiet(uv_timer_t *t);

static void task_ended(struct task_here *h, const struct task_answer *a)
{
	h->ended = true;
	h->end = *a;
	if (outputs_closed(h)) {
		task_over(h);
		return;
	}
	h->quiet = mem_zalloc(sizeof *h->quiet);
	uv_timer_init(h->loop, h->quiet);
	h->quiet->data = h;
	uv_timer_start(h->quiet, on_quiet, QUIET_MS, QUIET_MS);
}

/* ---- output ---- */

static void output_close(struct output *o)
{
	watch_close(o->watch);
	o->watch = NULL;
}

static void input_push(struct task_here *h);

static int terminal_wants(const struct task_here *h)
{
	return h->terminal && h->input.n ? UV_WRITABLE : 0;
}

/* Reads more only while the link has space. */
static void output_watch(struct output *o)
{
	int reads = o->h->started && link_queued(o->h->link) < TASK_QUEUE ? UV_READABLE : 0;

	if (o->watch)
		watch_for(o->watch, reads | (o == &o->h->output[OUT] ? terminal_wants(o->h) : 0));
}

/* Reads what is available while the link has space; closes the output at its end. */
static void output_read(struct output *o)
{
	static char part[PART]; /* single-threaded */
	struct task_here *h = o->h;

	for (int i = 0; i < PARTS_A_TURN && o->watch && link_queued(h->link) < TASK_QUEUE; i++) {
		ssize_t n = read(watch_fd(o->watch), part, sizeof part);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			break;
		if (n <= 0) { /* a terminal that no process has open returns EIO */
			output_close(o);
			return;
		}
		h->heard = true;
		link_pack(h->link, part, (size_t)n, "{s:s}", "t", o->type);
	}
	output_watch(o);
}

static void on_output(void *context, int events)
{
	struct output *o = context;
	struct task_here *h = o->h;

	if (h->terminal && (events & UV_WRITABLE))
		input_push(h);
	if (events & UV_READABLE)
		output_read(o);
	if (h->ended && outputs_closed(h))
		task_over(h);
}

/* Reads the pipes first: a busy loop may fire the timer before it has polled them. */
static void on_quiet(uv_timer_t *t)
{
	struct task_here *h = t->data;

	output_read(&h->output[OUT]);
	output_read(&h->output[ERR]);
	if (outputs_closed(h) || (!h->heard && link_queued(h->link) < TASK_QUEUE))
		task_over(h);
	else
		h->heard = false;
}

void task_here_drained(struct task_here *h)
{
	output_watch(&h->output[OUT]);
	output_watch(&h->output[ERR]);
}

/* ---- input ---- */

static void input_close(struct task_here *h)
{
	watch_close(h->in);
	h->in = NULL;
}

static void input_watch(struct task_here *h)
{
	if (h->in)
		watch_for(h->in, h->input.n ? UV_WRITABLE : 0);
	output_watch(&h->output[OUT]);
	if (h->held != (h->input.n > TASK_QUEUE)) {
		h->held = !h->held;
		link_pause(h->link, h->held);
	}
}

/* Writes as much input as the program accepts. Input that it does not read is dropped. */
static void input_push(struct task_here *h)
{
	struct watch *w = h->terminal ? h->output[OUT].watch : h->in;
	ssize_t n = 1;

	while (w && h->input.n && n > 0) {
		n = write(watch_fd(w), h->input.text, h->input.n);
		if (n > 0) {
			h->input.n -= (size_t)n;
			memmove(h->input.text, h->input.text + n, h->input.n);
		}
	}
	if (!w || (n < 0 && errno != EAGAIN && errno != EINTR))
		strbuf_clear(&h->input);
	if (!h->terminal && w && ((n < 0 && errno == EPIPE) || (h->in_end && !h->input.n)))
		input_close(h);
	input_watch(h);
}

static void on_input(void *context, int events)
{
	input_push(context);
}

static void window_set(struct task_here *h, const json_t *head)
{
	struct winsize size = {.ws_row = (unsigned short)json_integer_value(json_object_get(head, "rows")),
			       .ws_col = (unsigned short)json_integer_value(json_object_get(head, "columns"))};

	if (h->terminal && h->output[OUT].watch)
		ioctl(watch_fd(h->output[OUT].watch), TIOCSWINSZ, &size);
}

void task_here_frame(struct task_here *h, const char *type, const json_t *head, const char *data, size_t n)
{
	if (strcmp(type, "in") == 0 && !h->in_end) {
		if (n)
			strbuf_add(&h->input, data, n);
		input_push(h);
	} else if (strcmp(type, "in_end") == 0 && !h->in_end) {
		h->in_end = true;
		if (h->terminal)
			strbuf_puts(&h->input, "\004"); /* what a user would type */
		input_push(h);
	} else if (strcmp(type, "signal") == 0 && h->talk) {
		talk_signal(h->talk, (int)json_integer_value(json_object_get(head, "signal")));
	} else if (strcmp(type, "window") == 0) {
		window_set(h, head);
	}
}

/* ---- the beginning ---- */

static void on_answer(void *context, const struct task_answer *a)
{
	struct task_here *h = context;

	if (!a || a->type == TASK_WHO) {
		if (!a)
			h->talk = NULL;
		if (!a && !h->ended)
			task_ended(h, &(struct task_answer){.type = TASK_REFUSED});
		return;
	}
	if (a->type == TASK_STARTED) {
		link_pack(h->link, NULL, 0, "{s:s,s:i}", "t", "started", "pid", (int)a->pid);
		h->started = true;
		task_here_drained(h);
	} else if (a->type == TASK_REFUSED) {
		task_refuse(h->link, a->reason ? a->reason : "no reason was given");
		h->over(h->context);
	} else if (!h->ended) {
		task_ended(h, a);
	}
}

/* Makes both ends; `ours` is non-blocking. */
static int pipe_make(bool we_write, int *ret_ours, int *ret_theirs)
{
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	*ret_ours = fds[we_write ? 1 : 0];
	*ret_theirs = fds[we_write ? 0 : 1];
	fcntl(*ret_ours, F_SETFL, O_NONBLOCK);
	return 0;
}

static void fds_close(const int *fds, int n)
{
	for (int i = 0; i < n; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

static int pipes_make(struct task_here *h, bool merge, int theirs[3])
{
	int ours[3] = {-1, -1, -1};
	int rc = pipe_make(true, &ours[0], &theirs[0]);

	if (rc == 0)
		rc = pipe_make(false, &ours[1], &theirs[1]);
	if (rc == 0 && merge)
		rc = (theirs[2] = fcntl(theirs[1], F_DUPFD_CLOEXEC, 0)) < 0 ? -errno : 0;
	else if (rc == 0)
		rc = pipe_make(false, &ours[2], &theirs[2]);
	if (rc < 0) {
		fds_close(ours, 3);
		return rc;
	}
	h->in = watch_open(h->loop, ours[0], on_input, h);
	h->output[OUT].watch = watch_open(h->loop, ours[1], on_output, &h->output[OUT]);
	if (ours[2] >= 0)
		h->output[ERR].watch = watch_open(h->loop, ours[2], on_output, &h->output[ERR]);
	return 0;
}

/* Makes a terminal. The shepherd gives it to the user, as a login does. */
static int terminal_make(struct task_here *h, const struct task *t, int theirs[3])
{
	struct winsize size = {.ws_row = (unsigned short)t->rows, .ws_col = (unsigned short)t->columns};
	int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
	char name[64];

	if (master < 0)
		return -errno;
	if (grantpt(master) < 0 || unlockpt(master) < 0 || ptsname_r(master, name, sizeof name) != 0 ||
	    (theirs[0] = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC)) < 0 ||
	    (theirs[1] = fcntl(theirs[0], F_DUPFD_CLOEXEC, 0)) < 0 ||
	    (theirs[2] = fcntl(theirs[0], F_DUPFD_CLOEXEC, 0)) < 0) {
		int rc = -errno;
		close(master);
		return rc;
	}
	ioctl(master, TIOCSWINSZ, &size);
	h->terminal = true;
	h->output[OUT].watch = watch_open(h->loop, master, on_output, &h->output[OUT]);
	return 0;
}

static int program_start(struct task_here *h, const struct task *t, bool merge, struct err *err)
{
	int theirs[3] = {-1, -1, -1};
	int rc = t->rows > 0 && t->columns > 0 ? terminal_make(h, t, theirs) : pipes_make(h, merge, theirs);

	if (rc < 0)
		err_set(err, rc, "no %s for its output: %s", t->rows > 0 ? "terminal" : "pipes", strerror(-rc));
	else
		rc = talk_start(h->talk, t, theirs, err);
	fds_close(theirs, 3);
	return rc;
}

int task_here_start(uv_loop_t *loop, const char *live, const json_t *first, struct link *link,
		    void (*over)(void *context), void *context, struct task_here **ret, struct err *err)
{
	const char *tag = json_string_value(json_object_get(first, "tag"));
	bool merge = json_is_true(json_object_get(first, "merge"));
	struct task_here *h = mem_zalloc(sizeof *h);
	struct arena *a = arena_create();
	struct task t;
	int rc;

	*h = (struct task_here){.loop = loop, .link = link, .over = over, .context = context};
	h->output[OUT] = (struct output){.h = h, .type = "out"};
	h->output[ERR] = (struct output){.h = h, .type = "err"};
	rc = task_load(first, a, &t, err);
	if (rc == 0)
		rc = talk_open(loop, live, tag ? tag : "", on_answer, h, &h->talk, err);
	if (rc == 0)
		rc = program_start(h, &t, merge, err);
	arena_destroy(a);
	if (rc < 0) {
		task_here_close(h);
		return rc;
	}
	*ret = h;
	return 0;
}

void task_here_close(struct task_here *h)
{
	if (!h)
		return;
	talk_close(h->talk);
	watch_close(h->in);
	watch_close(h->output[OUT].watch);
	watch_close(h->output[ERR].watch);
	if (h->quiet)
		uv_close((uv_handle_t *)h->quiet, handle_free);
	strbuf_fini(&h->input);
	free(h);
}
