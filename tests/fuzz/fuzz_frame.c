/*
 * fuzz_frame.c - any bytes as frames, from a buffer and through a link that gets them in pieces.
 * Both deliver the same frames and stop at the same malformed one; the link is then closed, and
 * never reads past the input.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "net/link.h"

struct tally {
	size_t frames, data; /* frames; bytes of their data */
	uint64_t sum;	     /* checksum of the heads' keys and the data, in order */
	bool refused;
	bool closed;
};

static void tally_add(struct tally *t, json_t *head, const char *data, size_t n)
{
	t->frames++;
	t->data += n;
	t->sum = t->sum * 31 + json_object_size(head);
	for (size_t i = 0; i < n; i++)
		t->sum = t->sum * 31 + (unsigned char)data[i];
}

static void buffer_read(const char *buf, size_t size, struct tally *t)
{
	const char *head, *data;
	size_t nhead, n;
	ssize_t took = 0;

	for (size_t at = 0; at < size && !t->refused; at += (size_t)took) {
		took = frame_next(buf + at, size - at, LINK_STRANGER_MAX, &head, &nhead, &data, &n);
		assert(took <= (ssize_t)(size - at));
		if (took == 0)
			break;
		if (took > 0) {
			assert(head == buf + at + 8 && data == head + nhead && data + n == buf + at + took);
			json_t *json = json_loadb(head, nhead, JSON_REJECT_DUPLICATES, NULL);
			t->refused = !json_is_object(json);
			if (!t->refused)
				tally_add(t, json, data, n);
			json_decref(json);
		} else {
			t->refused = true;
		}
	}
}

static void on_frame(void *context, struct link *l, json_t *head, const char *data, size_t n)
{
	tally_add(context, head, data, n);
}

static void on_closed(void *context, struct link *l, const char *reason)
{
	struct tally *t = context;

	t->closed = true;
	t->refused = strstr(reason, "message") != NULL;
}

static void link_read_all(const char *buf, size_t size, size_t step, struct tally *t)
{
	static const struct link_events events = {.frame = on_frame, .closed = on_closed};
	uv_loop_t loop;
	int fd[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd) < 0 || uv_loop_init(&loop) != 0)
		abort();
	link_open(&loop, fd[1], NULL, &events, t);
	for (size_t at = 0; at < size && !t->closed; at += step) {
		size_t n = size - at < step ? size - at : step;
		if (send(fd[0], buf + at, n, MSG_NOSIGNAL) < 0)
			break;
		uv_run(&loop, UV_RUN_NOWAIT);
	}
	close(fd[0]);
	uv_run(&loop, UV_RUN_DEFAULT); /* at most until EOF is seen */
	assert(t->closed);
	if (uv_loop_close(&loop) != 0)
		abort();
}

/* Checks that a written frame is read back unchanged. */
static void put_check(const char *buf, size_t size)
{
	struct strbuf out = {0};
	const char *head, *data;
	size_t nhead, n, cut = size / 3 < 2 ? 2 : size / 3;

	if (size < 2)
		return;
	frame_put(&out, buf, cut, buf + cut, size - cut);
	assert(frame_next(out.text, out.n, out.n, &head, &nhead, &data, &n) == (ssize_t)out.n);
	assert(nhead == cut && n == size - cut && memcmp(head, buf, cut) == 0 && memcmp(data, buf + cut, n) == 0);
	for (size_t short_of = 0; short_of < 9; short_of++)
		assert(frame_next(out.text, short_of < out.n ? short_of : 0, out.n, &head, &nhead, &data, &n) == 0);
	strbuf_fini(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tally whole = {0}, pieces = {0};

	if (size == 0 || size > 60000)
		return 0;
	/* A copy of the exact size, so that reading past the end is detected. */
	char *copy = mem_alloc(size);
	memcpy(copy, data, size);
	buffer_read(copy + 1, size - 1, &whole);
	link_read_all(copy + 1, size - 1, 1 + (unsigned char)copy[0] % 64 * 16, &pieces);
	assert(whole.frames == pieces.frames && whole.data == pieces.data && whole.sum == pieces.sum &&
	       whole.refused == pieces.refused);
	put_check(copy, size);
	free(copy);
	return 0;
}
