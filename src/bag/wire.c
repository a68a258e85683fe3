/*
 * wire.c - messages as bytes. A table lists the fields of each kind; numbers are LEB128, signed
 * ones zigzag.
 */
#include "bag/wire.h"
#include "base/varint.h"

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

static void put_text(struct strbuf *out, const char *text, size_t n)
{
	varint_add(out, n);
	strbuf_add(out, n ? text : "", n);
}

void wire_add(struct strbuf *out, const struct wire *w)
{
	size_t begin = out->n;
	int has = fields[w->kind];
	char head[5] = {0, 0, 0, 0, (char)w->kind};

	strbuf_add(out, head, sizeof head);
	if (has & HAS_VERSION)
		varint_add(out, w->version);
	if (has & HAS_PID)
		varint_add(out, w->pid);
	if (has & HAS_DIED)
		varint_add(out, w->died);
	if (has & HAS_TASK)
		varint_add(out, w->task);
	if (has & HAS_ATTEMPT)
		varint_add(out, w->attempt);
	if (has & HAS_ROOM) {
		varint_add_signed(out, w->cpus);
		varint_add_signed(out, w->gpus);
		varint_add_signed(out, w->memory);
		varint_add_signed(out, w->seconds);
	}
	if (has & HAS_RULES) {
		varint_add_signed(out, w->grace);
		varint_add_signed(out, w->output);
	}
	if (has & HAS_END) {
		varint_add_signed(out, w->status);
		varint_add_signed(out, w->began);
		varint_add_signed(out, w->took);
		varint_add(out, w->cut);
	}
	if (has & HAS_STREAM)
		varint_add(out, w->to_err);
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
	uint64_t x;
	bool whole = varint_take(&r->at, r->end, &x);

	r->bad |= !whole || x > most;
	return whole ? x : 0;
}

static int64_t get_signed(struct rest *r)
{
	int64_t x = 0;

	r->bad |= !varint_take_signed(&r->at, r->end, &x);
	return x;
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
