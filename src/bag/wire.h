/*
 * wire.h - messages between brokers, workers and commands over a stream: length (4 bytes, little
 * endian) of the rest, kind (1 byte), fields.
 *
 *	worker -> broker: HELLO first; then RESULT, CHUNK (large output, before RESULT), RETURNED
 *	broker -> worker: TASK, DROP (end this copy), RECALL (return what has not begun), END
 *	either way, files of a task that does not see the broker's (files.h): APART, FILE
 *	command -> broker: ASK; broker -> command: ANSWER, a line of JSON
 *	broker -> worker on another host: ANSWER to its HELLO, a key with which it may reconnect
 *		within ten minutes after its connection broke
 *
 * After DROP and END, tasks get SIGTERM and then, after their grace, SIGKILL; after END the worker
 * sends no results any more. A connection that breaks kills its tasks at once, because they may be
 * started again elsewhere.
 *
 * A worker begins its tasks strictly in the order they came, each as soon as its needs fit, so the
 * broker knows which are running. A peer that receives an unexpected message closes the connection.
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
	WIRE_VERSION = 2,
	WIRE_MOST = 1 << 20, /* bytes of one message */
	/* bytes of output in one message; the rest comes before it as chunks */
	WIRE_OUTPUT = 1 << 18,
};

/* One struct for all kinds; each uses the fields it needs. Strings are borrowed. */
struct wire {
	enum wire_kind kind;
	uint32_t version;	    /* HELLO */
	uint64_t task;		    /* TASK, RESULT, CHUNK, DROP, RETURNED, APART, FILE */
	uint32_t attempt;	    /* TASK, RESULT; FILE: its mode */
	int64_t cpus, gpus, memory; /* HELLO: total resources; TASK: needs */
	int64_t seconds;	    /* HELLO: time until its end, -1: no end; TASK: limit, 0: none */
	int64_t grace;		    /* TASK: seconds from SIGTERM to SIGKILL when it must end */
	int64_t output;		    /* TASK: bytes to keep of each output */
	int32_t status;		    /* RESULT: as waitpid() reports it */
	int64_t began, took;	    /* RESULT, microseconds */
	bool cut;		    /* RESULT: some output was discarded */
	bool died;		    /* HELLO: the process that worked there before was killed */
	bool to_err;		    /* CHUNK: it is error output; FILE: it continues the same file */
	uint32_t pid;		    /* HELLO */
	/* HELLO: name; TASK: command; ASK: word; ANSWER: JSON; CHUNK, RESULT: output; APART:
	 * patterns of files that come back; FILE: path */
	const char *text;
	size_t ntext;
	const char *err; /* HELLO: credential; RESULT: error output; FILE: bytes */
	size_t nerr;
};

void wire_add(struct strbuf *out, const struct wire *w);
/* Decodes the message at the start of `n` bytes; returns its size, 0 if it is incomplete, or
 * -EPROTO if it is not valid. */
ssize_t wire_next(const char *bytes, size_t n, struct wire *ret);

#endif
