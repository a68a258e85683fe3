/*
 * wire.c - messages as bytes. A table lists the fields of each kind; numbers are LEB128, signed
 * ones zigzag.
 */
#include "bag/wire.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

enum {
	HAS_VERSION = 1 << 0,
	HAS_TASK = 1 << 1,
	HAS_ATTEMPT = 1 << 2,
	HAS_ROOM = 1 << 3, /* cpus, gpus, memory, seconds */
	HAS_END = 1 << 4,  /* status, began, took, cut */
	HAS_STREAM = 1 << 5,
	HAS_PID = 1 << 6,
	HAS_TEXT = 1 << 7,
	HAS_ERR = 1 << 8,
	HAS_RULES = 1 << 9, /* grace, output */
	HAS_DIED = 1 << 10,
};

static const int fields[] = {
	[WIRE_HELLO] = HAS_VERSION | HAS_PID | HAS_DIED | HAS_ROOM | HAS_TEXT | HAS_ERR,
	[WIRE_TASK] = HAS_TASK | HAS_ATTEMPT | HAS_ROOM | HAS_RULES | HAS_TEXT,
	[WIRE_RESULT] = HAS_TASK | HAS_ATTEMPT | HAS_END | HAS_TEXT | HAS_ERR,
	[WIRE_CHUNK] = HAS_TASK | HAS_STREAM | HAS_TEXT,
	[WIRE_DROP] = HAS_TASK,
	[WIRE_RECALL] = 0,
	[WIRE_RETURNED] = HAS_TASK,
	[WIRE_END] = 0,
	[WIRE_ASK] = HAS_TEXT,
	[WIRE_ANSWER] = HAS_TEXT,
	[WIRE_APART] = HAS_TASK | HAS_TEXT,
	[WIRE_FILE] = HAS_TASK | HAS_ATTEMPT | HAS_STREAM | HAS_TEXT | HAS_ERR,
};
enum { KINDS = sizeof fields / sizeof *fields };

static void put(struct strbuf *out, uint64_t x)
{
	char b[10];
	size_t n = 0;

	for (; x >= 0x80; x >>= 7)
		b[n++] = (char)(x | 0x80);
	b[n++] = (char)x;
	strbuf_add(out, b, n);
}

static void put_signed(struct strbuf *out, int64_t x)
{
	put(out, ((uint64_t)x << 1) ^ (x < 0 ? UINT64_MAX : 0));
}

static void put_text(struct strbuf *out, const char *text, size_t n)
{
	put(out, n);
	strbuf_add(out, n ? text : "", n);
}

void wire_add(struct strbuf *out, const struct wire *w)
{
	size_t begin = out->n;
	int has = fields[w->kind];
	char head[5] = {0, 0, 0, 0, (char)w->kind};

	strbuf_add(out, head, sizeof head);
	if (has & HAS_VERSION)
		put(out, w->version);
	if (has & HAS_PID)
		put(out, w->pid);
	if (has & HAS_DIED)
		put(out, w->died);
	if (has & HAS_TASK)
		put(out, w->task);
	if (has & HAS_ATTEMPT)
		put(out, w->attempt);
	if (has & HAS_ROOM) {
		put_signed(out, w->cpus);
		put_signed(out, w->gpus);
		put_signed(out, w->memory);
		put_signed(out, w->seconds);
	}
	if (has & HAS_RULES) {
		put_signed(out, w->grace);
		put_signed(out, w->output);
	}
	if (has & HAS_END) {
		put_signed(out, w->status);
		put_signed(out, w->began);
		put_signed(out, w->took);
		put(out, w->cut);
	}
	if (has & HAS_STREAM)
		put(out, w->to_err);
	if (has & HAS_TEXT)
		put_text(out, w->text, w->ntext);
	if (has & HAS_ERR)
		put_text(out, w->err, w->nerr);
	uint32_t n = htole32((uint32_t)(out->n - begin - 4));
	memcpy(out->text + begin, &n, 4);
}

/* The rest of a message; `bad` if it was too short, or a number was out of its range. */
struct rest {
	const char *at, *end;
	int bad;
};

static uint64_t get(struct rest *r, uint64_t most)
{
	uint64_t x = 0;

	for (int shift = 0; shift < 64 && r->at < r->end; shift += 7) {
		unsigned char c = (unsigned char)*r->at++;
		if (shift == 63 && c > 1)
			break;
		x |= (uint64_t)(c & 0x7f) << shift;
		if (!(c & 0x80)) {
			r->bad |= x > most;
			return x;
		}
	}
	r->bad = 1;
	return 0;
}

static int64_t get_signed(struct rest *r)
{
	uint64_t x = get(r, UINT64_MAX);

	return (int64_t)((x >> 1) ^ (x & 1 ? UINT64_MAX : 0));
}

static const char *get_text(struct rest *r, size_t *ret_n)
{
	size_t n = (size_t)get(r, WIRE_MOST);
	const char *text = r->at;

	if (r->bad || n > (size_t)(r->end - r->at)) {
		r->bad = 1;
		return NULL;
	}
	r->at += n;
	*ret_n = n;
	return text;
}

ssize_t wire_next(const char *bytes, size_t n, struct wire *ret)
{
	uint32_t size;
	struct wire w = {0};

	if (n < 4)
		return 0;
	memcpy(&size, bytes, 4);
	size = le32toh(size);
	if (size < 1 || size > WIRE_MOST)
		return -EPROTO;
	if (n - 4 < size)
		return 0;
	unsigned kind = (unsigned char)bytes[4];
	if (kind < WIRE_HELLO || kind >= KINDS)
		return -EPROTO;
	struct rest r = {.at = bytes + 5, .end = bytes + 4 + size};
	int has = fields[kind];
	w.kind = (enum wire_kind)kind;
	if (has & HAS_VERSION)
		w.version = (uint32_t)get(&r, UINT32_MAX);
	if (has & HAS_PID)
		w.pid = (uint32_t)get(&r, UINT32_MAX);
	if (has & HAS_DIED)
		w.died = get(&r, 1) != 0;
	if (has & HAS_TASK)
		w.task = get(&r, UINT32_MAX);
	if (has & HAS_ATTEMPT)
		w.attempt = (uint32_t)get(&r, UINT32_MAX);
	if (has & HAS_ROOM) {
		w.cpus = get_signed(&r);
		w.gpus = get_signed(&r);
		w.memory = get_signed(&r);
		w.seconds = get_signed(&r);
	}
	if (has & HAS_RULES) {
		w.grace = get_signed(&r);
		w.output = get_signed(&r);
	}
	if (has & HAS_END) {
		w.status = (int32_t)get_signed(&r);
		w.began = get_signed(&r);
		w.took = get_signed(&r);
		w.cut = get(&r, 1) != 0;
	}
	if (has & HAS_STREAM)
		w.to_err = get(&r, 1) != 0;
	if (has & HAS_TEXT)
		w.text = get_text(&r, &w.ntext);
	if (has & HAS_ERR)
		w.err = get_text(&r, &w.nerr);
	if (r.bad || r.at != r.end)
		return -EPROTO;
	*ret = w;
	return (ssize_t)(4 + size);
}
