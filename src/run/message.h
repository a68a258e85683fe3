/*
 * message.h - how server and nursery talk, in frames: 4 bytes length (little endian) of what follows, a letter that says what it is, JSON.
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
	FRAME_OPEN = 'f',
	FRAME_LOOK = 'l',
	FRAME_ERASE = 'e',
	FRAME_ANSWER = 'a'
};

/* Begin, then add the JSON to `out`, then end with what begin gave. */
size_t message_begin(struct strbuf *out, char kind);
void message_end(struct strbuf *out, size_t at);
/* Bytes that the first frame takes: 0 if it is not whole, -EMSGSIZE if it is too long. */
ssize_t message_next(const char *buf, size_t n, char *ret_kind, const char **ret_text, size_t *ret_length);

struct request {
	const char *tag;
	int signal;  /* negative: seconds that it may run, as SHEPHERD_SIGNAL has it */
	uint64_t id; /* of FRAME_OPEN and FRAME_LOOK */
	uid_t uid;   /* from here on: of FRAME_ERASE, too, which has a tag. BY_NAME: that of the name, here */
	gid_t gid;
	const char *user, *path;
	int flags, mode;
};
/* All but orders. -EINVAL if what is needed is not there. */
int request_read(char kind, const char *text, size_t n, struct arena *a, struct request *ret);
/* The tag of an order that can't be read otherwise ("" if there is none): the server wants to know which one it was. */
const char *order_tag(const char *text, size_t n, struct arena *a);
void answer_write(const struct answer *a, struct strbuf *out);

#endif
