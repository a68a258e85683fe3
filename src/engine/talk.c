/*
 * talk.c - a connection to the shepherd of a part (run/task.h): a query, or a task.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/vec.h"
#include "engine/tasks_internal.h"
#include "engine/watch.h"
#include "run/nursery.h"

struct talk {
	struct watch *watch;
	talk_handler handler;
	void *context;
	struct strbuf in, out;
	bool busy;   /* its handler is running */
	bool closed; /* closed inside the handler: free it afterwards */
};

static void talk_free(struct talk *t)
{
	strbuf_fini(&t->in);
	strbuf_fini(&t->out);
	free(t);
}

void talk_close(struct talk *t)
{
	if (!t || t->closed)
		return;
	watch_close(t->watch);
	t->closed = true;
	if (!t->busy)
		talk_free(t);
}

static void talk_flush(struct talk *t)
{
	ssize_t n = t->out.n ? send(watch_fd(t->watch), t->out.text, t->out.n, MSG_NOSIGNAL | MSG_DONTWAIT) : 0;

	if (n > 0) {
		memmove(t->out.text, t->out.text + n, t->out.n - (size_t)n);
		t->out.n -= (size_t)n;
	} else if (n < 0 && errno != EAGAIN && errno != EINTR) {
		strbuf_clear(&t->out); /* reading will find the end */
	}
	watch_for(t->watch, UV_READABLE | (t->out.n ? UV_WRITABLE : 0));
}

/* Handles the complete messages at the front of the buffer. Returns false if one is malformed. */
static bool answers_take(struct talk *t)
{
	size_t at = 0, length;
	const char *text;
	ssize_t n = 0;
	bool good = true;

	while (!t->closed && good && (n = nursery_frame(t->in.text + at, t->in.n - at, &text, &length)) > 0) {
		struct arena *a = arena_create();
		struct task_answer answer;
		good = task_answer_read(text, length, a, &answer, NULL) == 0;
		if (good)
			t->handler(t->context, &answer);
		arena_destroy(a);
		at += (size_t)n;
	}
	memmove(t->in.text, t->in.text + at, t->in.n - at);
	t->in.n -= at;
	return good && n >= 0;
}

static void on_ready(void *context, int events)
{
	struct talk *t = context;
	char part[16384];
	ssize_t n;

	if (events & UV_WRITABLE)
		talk_flush(t);
	if (!(events & UV_READABLE))
		return;
	n = recv(watch_fd(t->watch), part, sizeof part, MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	t->busy = true;
	if (n > 0)
		strbuf_add(&t->in, part, (size_t)n);
	if (n <= 0 || !answers_take(t)) {
		if (!t->closed)
			t->handler(t->context, NULL);
		talk_close(t);
	}
	t->busy = false;
	if (t->closed)
		talk_free(t);
}

int talk_open(uv_loop_t *loop, const char *live, const char *tag, talk_handler handler, void *context,
	      struct talk **ret, struct err *err)
{
	int fd = task_connect(live, tag, err);
	struct talk *t;

	if (fd < 0)
		return fd;
	t = mem_zalloc(sizeof *t);
	*t = (struct talk){.handler = handler, .context = context};
	t->watch = watch_open(loop, fd, on_ready, t);
	watch_for(t->watch, UV_READABLE);
	*ret = t;
	return 0;
}

void talk_who(struct talk *t)
{
	task_who(&t->out);
	talk_flush(t);
}

int talk_start(struct talk *t, const struct task *task, const int fds[3], struct err *err)
{
	return task_send(watch_fd(t->watch), task, fds, err);
}

void talk_signal(struct talk *t, int signal)
{
	task_signal(signal, &t->out);
	talk_flush(t);
}
