/*
 * actor.c - see actor.h. It has one connection at a time, as its programs have.
 */
#include "support/actor.h"

#include <errno.h>
#include <jansson.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fdio.h"
#include "base/frame.h"
#include "base/mem.h"
#include "base/unixsock.h"
#include "base/vec.h"

#define FRAME_MOST (1u << 24) /* so that a frame begins with a zero byte, and a line does not */

#define BROKER_ASK 9 /* kinds of bag/wire.h */
#define BROKER_ANSWER 10

enum kind { LINE, FRAME, ASK };

struct cue {
	char *cue, *answer; /* NULL: used */
};

struct actor {
	char *path;
	int door, fd; /* fd -1: nobody is connected */
	struct strbuf in;
	VEC(struct cue) cues;
};

struct actor *actor_open(const char *path)
{
	struct actor *a = mem_zalloc(sizeof *a);
	struct err err;

	*a = (struct actor){.path = mem_strdup(path), .fd = -1};
	a->door = unix_listen(path, 0600, &err);
	if (a->door < 0)
		abort();
	return a;
}

static void hang_up(struct actor *a)
{
	if (a->fd >= 0)
		close(a->fd);
	a->fd = -1;
	strbuf_clear(&a->in);
}

void actor_close(struct actor *a)
{
	hang_up(a);
	close(a->door);
	for (size_t i = 0; i < a->cues.n; i++) {
		free(a->cues.v[i].cue);
		free(a->cues.v[i].answer);
	}
	vec_free(&a->cues);
	strbuf_fini(&a->in);
	free(a->path);
	free(a);
}

const char *actor_path(const struct actor *a)
{
	return a->path;
}

void actor_cue(struct actor *a, const char *cue, const char *answer)
{
	vec_push(&a->cues, (struct cue){mem_strdup(cue), mem_strdup(answer)});
}

/* ---- answers ---- */

static void frame_send(struct actor *a, const char *head, size_t n, const char *data)
{
	struct strbuf out = {0}, bytes = {0};

	for (; *data; data++) {
		bool escape = strncmp(data, "\\n", 2) == 0;
		strbuf_add(&bytes, escape ? "\n" : data, 1);
		data += escape;
	}
	frame_put(&out, head, n, strbuf_text(&bytes), bytes.n);
	fd_write(a->fd, out.text, out.n);
	strbuf_fini(&bytes);
	strbuf_fini(&out);
}

static void number_add(struct strbuf *out, size_t n, size_t least)
{
	for (size_t i = 0; i < least || n; i++, n >>= least ? 8 : 7)
		strbuf_char(out, (char)(least ? n & 0xff : (n & 0x7f) | (n > 0x7f ? 0x80 : 0)));
}

static void broker_send(struct actor *a, const char *text)
{
	struct strbuf rest = {0}, out = {0};

	strbuf_char(&rest, BROKER_ANSWER);
	number_add(&rest, strlen(text), 0);
	strbuf_puts(&rest, text);
	number_add(&out, rest.n, 4);
	strbuf_add(&out, rest.text, rest.n);
	fd_write(a->fd, out.text, out.n);
	strbuf_fini(&rest);
	strbuf_fini(&out);
}

static void one_answer(struct actor *a, const char *text, enum kind kind)
{
	struct ucred who;
	json_error_t where;
	json_t *head = kind == FRAME ? json_loads(text, JSON_DISABLE_EOF_CHECK, &where) : NULL;

	if (strcmp(text, "-") == 0) {
	} else if (kind == ASK && strcmp(text, "close") != 0) {
		broker_send(a, text);
	} else if (head) {
		const char *data = text + where.position;
		frame_send(a, text, (size_t)where.position, data + (*data == ' '));
	} else if (strncmp(text, "kill ", 5) == 0) {
		if (getsockopt(a->fd, SOL_SOCKET, SO_PEERCRED, &who, &(socklen_t){sizeof who}) < 0 ||
		    kill(who.pid, atoi(text + 5)) < 0)
			abort();
	} else {
		if (strcmp(text, "close") != 0)
			fd_write(a->fd, text, strlen(text));
		hang_up(a);
	}
	json_decref(head);
}

static void answer(struct actor *a, const char *cue, enum kind kind)
{
	for (size_t i = 0; i < a->cues.n; i++) {
		struct cue *c = &a->cues.v[i];
		if (!c->cue || strcmp(c->cue, cue) != 0)
			continue;
		char *text = c->answer, *next;
		free(c->cue);
		*c = (struct cue){0};
		for (char *at = text; at && a->fd >= 0; at = next) {
			next = strstr(at, " && ");
			if (next)
				*next = '\0', next += 4;
			one_answer(a, at, kind);
		}
		free(text);
		return;
	}
}

/* ---- what is said ---- */

static void said_add(struct actor *a, const char *head, size_t nhead, const char *data, size_t n, struct strbuf *said)
{
	const char *name = strrchr(a->path, '/');

	strbuf_printf(said, "%s: %.*s%s", name ? name + 1 : a->path, (int)nhead, head, n ? " " : "");
	for (size_t i = 0; i < n; i++)
		if (data[i] == '\n' || data[i] == '\0')
			strbuf_puts(said, data[i] ? "\\n" : "\\0");
		else
			strbuf_add(said, data + i, 1);
	strbuf_puts(said, "\n");
}

static enum kind kind_of(const struct strbuf *in)
{
	static const char zeros[3];

	if (in->n >= 5 && memcmp(in->text + 1, zeros, 3) == 0 && in->text[4] == BROKER_ASK)
		return ASK;
	return in->n && !*in->text ? FRAME : LINE;
}

/* Takes the first line, frame or question to a broker; returns false if none is complete. */
static bool take(struct actor *a, struct strbuf *said)
{
	const char *head = strbuf_text(&a->in), *data = NULL;
	enum kind kind = kind_of(&a->in);
	size_t nhead = 0, n = 0;
	ssize_t size = 0;

	if (kind == FRAME) {
		size = frame_next(a->in.text, a->in.n, FRAME_MOST, &head, &nhead, &data, &n);
	} else if (kind == ASK) { /* a word of less than 128 bytes after its length */
		size = a->in.n >= 4 + (size_t)*head ? 4 + *head : 0;
		nhead = size ? (size_t)*head - 2 : 0;
		head += 6;
	} else if (a->in.n && (data = memchr(head, '\n', a->in.n))) {
		nhead = (size_t)(data - head);
		size = (ssize_t)nhead + 1;
	}
	if (size < 0)
		abort(); /* a program says what nobody understands */
	if (size == 0)
		return false;
	said_add(a, head, nhead, data, n, said);
	json_t *o = kind == FRAME ? json_loadb(head, nhead, 0, NULL) : NULL;
	struct strbuf cue = {0};
	if (o)
		strbuf_puts(&cue, json_string_value(json_object_get(o, "t")));
	else
		strbuf_add(&cue, head, strcspn(head, " \n") < nhead ? strcspn(head, " \n") : nhead);
	json_decref(o);
	memmove(a->in.text, a->in.text + size, a->in.n - (size_t)size);
	a->in.n -= (size_t)size;
	answer(a, strbuf_text(&cue), kind);
	strbuf_fini(&cue);
	return true;
}

void actor_poll(const struct actor *a, struct pollfd polled[2])
{
	polled[0] = (struct pollfd){.fd = a->fd < 0 ? a->door : -1, .events = POLLIN};
	polled[1] = (struct pollfd){.fd = a->fd, .events = POLLIN};
}

void actor_serve(struct actor *a, const struct pollfd polled[2], struct strbuf *said)
{
	char piece[65536];

	if (polled[1].revents) {
		ssize_t n = recv(a->fd, piece, sizeof piece, MSG_DONTWAIT);
		if (n > 0)
			strbuf_add(&a->in, piece, (size_t)n);
		else if (n == 0 || (errno != EAGAIN && errno != EINTR))
			hang_up(a);
		while (a->fd >= 0 && take(a, said))
			;
	}
	if (polled[0].revents && a->fd < 0)
		a->fd = accept4(a->door, NULL, NULL, SOCK_CLOEXEC);
}
