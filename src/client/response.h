/*
 * response.h - parses an HTTP/1.1 answer, fed in pieces of any size, and hands out the body.
 *
 * Bodies end by Content-Length, by chunks or with the connection. The length and number of lines
 * are bounded; anything odd is an error, since the other side is our own server.
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
	RESPONSE_CHUNK, /* `left` bytes of the chunk */
	RESPONSE_CHUNK_END,
	RESPONSE_TRAILERS,
	RESPONSE_UNTIL_CLOSE,
	RESPONSE_DONE,
};

struct response {
	enum response_state state;
	int status;
	bool json;  /* Content-Type is JSON */
	bool close; /* the connection cannot be reused */
	bool chunked, sized;
	uint64_t left;
	int lines;
	size_t n;
	char line[8192]; /* the current, incomplete line */
};

void response_init(struct response *p);
/* Returns true once the head was read: `status` and the other fields are set. */
bool response_begun(const struct response *p);
/* Consumes bytes up to a piece of the body, or all of them. Returns how many; *ret_body and *ret_n
 * are the piece (within `data`), n 0: none. Returns -EPROTO if it is not a valid answer. Consumes
 * nothing after RESPONSE_DONE. */
int response_feed(struct response *p, const char *data, int n, const char **ret_body, int *ret_n, struct err *err);
/* Handles the end of the connection: 0 if the answer is complete, -ECONNRESET if not. */
int response_end(struct response *p, struct err *err);

#endif
