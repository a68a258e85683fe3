/*
 * response.h - an HTTP/1.1 answer, byte by byte: fed with pieces of any size, it hands out the body.
 *
 * Bodies by Content-Length, in chunks, or until the connection closes. Lines and their number are bounded; anything
 * odd is an error, since the other side is our own server.
 */
#ifndef CLIENT_RESPONSE_H
#define CLIENT_RESPONSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum response_state {
	RESPONSE_STATUS,
	RESPONSE_HEADERS,
	RESPONSE_BODY, /* `left` bytes */
	RESPONSE_CHUNK_SIZE,
	RESPONSE_CHUNK, /* `left` bytes of it */
	RESPONSE_CHUNK_END,
	RESPONSE_TRAILERS,
	RESPONSE_UNTIL_CLOSE,
	RESPONSE_DONE,
};

struct response {
	enum response_state state;
	int status;
	bool json;  /* by its Content-Type */
	bool close; /* the connection can't be used again */
	bool chunked, sized;
	uint64_t left;
	int lines;
	size_t n;
	char line[8192]; /* the line that has begun */
};

void response_init(struct response *p);
/* The head was read: `status` and the rest are known. */
bool response_begun(const struct response *p);
/* Takes bytes until a piece of the body can be handed out, or all are taken. Returns how many; *ret_body, *ret_n is
 * the piece (within `data`), n 0: none. -EPROTO: this is no answer of ours. Takes nothing after RESPONSE_DONE. */
int response_feed(struct response *p, const char *data, int n, const char **ret_body, int *ret_n, struct err *err);
/* The connection was closed: was that the end (0), or is something missing (-ECONNRESET)? */
int response_end(struct response *p, struct err *err);

#endif
