/*
 * fuzz_http.c - any bytes as a server's answer, as the target of a request, and as base64: they are
 * read or refused; an answer reads the same in pieces of any size.
 */
#include <assert.h>
#include <stdlib.h>

#include "base/base64.h"
#include "client/client.h"
#include "client/response.h"
#include "net/url.h"

/* Reads in pieces of at most `step` bytes; collects the body, and returns how it ended. */
static int read_in_steps(const char *data, int size, int step, struct strbuf *body, struct response *p)
{
	const char *piece = NULL;
	struct err err;
	int n;

	response_init(p);
	for (int at = 0; at < size && p->state != RESPONSE_DONE;) {
		int took = response_feed(p, data + at, size - at < step ? size - at : step, &piece, &n, &err);
		if (took < 0)
			return took;
		assert(took > 0 && n >= 0 && n <= took &&
		       (n == 0 || (piece >= data + at && piece + n <= data + at + took)));
		strbuf_add(body, piece, (size_t)n);
		at += took;
	}
	return response_end(p, &err);
}

static void answer_check(const char *data, int size)
{
	struct strbuf once = {0}, pieces = {0};
	struct response a, b;
	int rc = read_in_steps(data, size, size, &once, &a);

	assert(rc == read_in_steps(data, size, 1 + size % 7, &pieces, &b));
	if (rc == 0) {
		assert(a.status == b.status && a.close == b.close && a.json == b.json);
		/* 101: the connection is a stream from then on */
		assert(a.status >= 200 || a.status == 101);
		assert(once.n == pieces.n && memcmp(strbuf_text(&once), strbuf_text(&pieces), once.n) == 0);
	}
	strbuf_fini(&once);
	strbuf_fini(&pieces);
}

/* Checks that a decoded string can be encoded, and decodes to the same. */
static void url_check(const char *text)
{
	struct arena *a = arena_create();
	struct strbuf quoted = {0};
	struct url u;
	struct err err;

	if (url_parse(text, a, &u, &err) == 0) {
		assert(u.path[0] == '/' && u.query.n <= URL_QUERY_MAX);
		url_quote(u.path, &quoted);
		assert(strcmp(url_decode(strbuf_text(&quoted), quoted.n, 0, a), u.path) == 0);
	}
	url_fini(&u);
	strbuf_fini(&quoted);
	arena_destroy(a);
}

static void base64_check(const char *data, size_t size)
{
	struct strbuf bytes = {0}, text = {0};

	if (base64_decode(data, size, &bytes) == 0) {
		base64_encode(strbuf_text(&bytes), bytes.n, &text);
		assert(text.n == size && memcmp(strbuf_text(&text), data, size) == 0);
	}
	strbuf_clear(&bytes);
	strbuf_clear(&text);
	base64_encode(data, size, &text);
	assert(base64_decode(strbuf_text(&text), text.n, &bytes) == 0 && bytes.n == size);
	assert(memcmp(strbuf_text(&bytes), data, size) == 0);
	strbuf_fini(&bytes);
	strbuf_fini(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = mem_alloc(size + 1);

	memcpy(text, data, size);
	text[size] = '\0';
	answer_check(text, (int)size);
	url_check(text);
	base64_check(text, size);
	free(text);
	return 0;
}
