/*
 * message.h - the frames between server and nursery: 4 bytes length of the rest (little endian), a
 * letter for the kind, JSON.
 */
#ifndef RUN_MESSAGE_H
#define RUN_MESSAGE_H

#include <sys/types.h>

#include "base/strbuf.h"
#include "run/nursery.h"

#define FRAME_MAX (16 << 20)

enum frame_kind {
	FRAME_ORDER = 'o',
	FRAME_SIGNAL = 's',
	FRAME_CLEAN = 'c',
	FRAME_FORGET = 'g',
	FRAME_OPEN = 'f',
	FRAME_LOOK = 'l',
	FRAME_ERASE = 'e',
	FRAME_ANSWER = 'a',
	FRAME_RESULT = 'r' /* a result, as its shepherd wrote it into the live file */
};

/* Begin a frame, add the JSON to `out`, then end it with what begin returned. */
size_t message_begin(struct strbuf *out, char kind);
void message_end(struct strbuf *out, size_t at);
/* Returns the length of the first frame in bytes; 0 if it is not complete, -EMSGSIZE if it is too
 * long. */
ssize_t message_next(const char *buf, size_t n, char *ret_kind, const char **ret_text, size_t *ret_length);

struct request {
	const char *tag;
	int signal;  /* negative: seconds that the job may run, see SHEPHERD_SIGNAL */
	uint64_t id; /* FRAME_OPEN and FRAME_LOOK */
	/* from here on also FRAME_ERASE, which has a tag. BY_NAME: this host's uid for the name */
	uid_t uid;
	gid_t gid;
	const char *user, *path;
	int flags, mode;
	/* FRAME_OPEN: file that gets the name `path` first; NULL: none */
	const char *from;
};
/* Reads any frame but an order. Returns -EINVAL if a required member is missing. */
int request_read(char kind, const char *text, size_t n, struct arena *a, struct request *ret);
/* Returns the tag of an order that can't be read otherwise ("" if it has none), to report which
 * order failed. */
const char *order_tag(const char *text, size_t n, struct arena *a);
void answer_write(const struct answer *a, struct strbuf *out);

#endif
