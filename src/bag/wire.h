/*
 * wire.h - what brokers, workers and commands send each other over a stream: length (4 bytes, little endian) of the rest, kind (1 byte), fields.
 *
 *	worker -> broker: HELLO first; then RESULT, CHUNK (before its RESULT, where output is large), RETURNED
 *	broker -> worker: TASK, DROP (end this copy), RECALL (give back what has not begun), END
 *	either way, files of a task that runs where the broker's are not seen (files.h): APART, FILE
 *	command -> broker: ASK; broker -> command: ANSWER, a line of JSON
 *	broker -> worker on another host: ANSWER to its HELLO, a key with which it may come back for ten minutes after its connection broke
 *
 * A worker begins its tasks strictly in the order in which they came, each as soon as its needs fit: so the broker knows which are running. Whoever reads
 * something that does not belong there closes the connection.
 */
#ifndef BAG_WIRE_H
#define BAG_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/strbuf.h"

enum wire_kind {
	WIRE_HELLO = 1,
	WIRE_TASK = 2,
	WIRE_RESULT = 3,
	WIRE_CHUNK = 4,
	WIRE_DROP = 5,
	WIRE_RECALL = 6,
	WIRE_RETURNED = 7,
	WIRE_END = 8,
	WIRE_ASK = 9,
	WIRE_ANSWER = 10,
	WIRE_APART = 11,
	WIRE_FILE = 12,
};

enum {
	WIRE_VERSION = 1,
	WIRE_MOST = 1 << 20,   /* bytes of one message */
	WIRE_OUTPUT = 1 << 18, /* of output in one message; the rest comes before as chunks */
};

/* One for all kinds; each uses what it needs. Texts are borrowed. */
struct wire {
	enum wire_kind kind;
	uint32_t version;	    /* HELLO */
	uint64_t task;		    /* TASK, RESULT, CHUNK, DROP, RETURNED, APART, FILE */
	uint32_t attempt;	    /* TASK, RESULT; FILE: its mode */
	int64_t cpus, gpus, memory; /* HELLO: all it has; TASK: what it needs */
	int64_t seconds;	    /* HELLO: until its end, -1: none; TASK: limit, 0: none */
	int32_t status;		    /* RESULT: as waitpid() reports it */
	int64_t began, took;	    /* RESULT, microseconds */
	bool cut;		    /* RESULT: there was more output than may be sent */
	bool to_err;		    /* CHUNK: of which stream; FILE: more of the same file */
	uint32_t pid;		    /* HELLO */
	const char *
		text; /* HELLO: name; TASK: command; ASK: word; ANSWER: JSON; CHUNK, RESULT: output; APART: patterns of files that come back; FILE: path */
	size_t ntext;
	const char *err; /* HELLO: credential; RESULT: error output; FILE: bytes */
	size_t nerr;
};

void wire_add(struct strbuf *out, const struct wire *w);
/* The message at the start of `n` bytes: how many it takes; 0: not whole yet; -EPROTO: that is none. */
ssize_t wire_next(const char *bytes, size_t n, struct wire *ret);

#endif
