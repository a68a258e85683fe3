/*
 * response.c - parses an HTTP/1.1 answer.
 */
#include "client/response.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define LINES_MAX 100

void response_init(struct response *p)
{
	*p = (struct response){0};
}

bool response_begun(const struct response *p)
{
	return p->state > RESPONSE_HEADERS;
}

static int odd(struct err *err, const char *what)
{
	return err_set(err, -EPROTO,
		       "the server's answer is not HTTP that this program understands (%s): is it Shunt's?", what);
}

static int status_read(struct response *p, struct err *err)
{
	const char *digits = p->line + 9;

	if (strncmp(p->line, "HTTP/1.", 7) != 0 || !isdigit((unsigned char)p->line[7]) || p->line[8] != ' ')
		return odd(err, "its first line");
	if (digits[0] < '1' || digits[0] > '5' || !isdigit((unsigned char)digits[1]) ||
	    !isdigit((unsigned char)digits[2]) || (digits[3] != ' ' && digits[3] != '\0'))
		return odd(err, "its status");
	p->status = (digits[0] - '0') * 100 + (digits[1] - '0') * 10 + (digits[2] - '0');
	p->close = p->line[7] == '0';
	p->json = p->chunked = p->sized = false;
	p->state = RESPONSE_HEADERS;
	return 0;
}

/* Parses digits of this base, followed by the end or one of `follow`. */
static int number_read(const char *text, int base, const char *follow, uint64_t *ret)
{
	size_t n = strspn(text, base == 16 ? "0123456789abcdefABCDEF" : "0123456789");

	if (n == 0 || n > 15 || (text[n] && !strchr(follow, text[n])))
		return -EPROTO;
	*ret = strtoull(text, NULL, base);
	return 0;
}

static int header_read(struct response *p, struct err *err)
{
	char *colon = strchr(p->line, ':'), *value = colon;

	if (!colon || colon == p->line)
		return odd(err, "a header line");
	*value++ = '\0';
	value += strspn(value, " \t");
	if (strcasecmp(p->line, "Content-Length") == 0) {
		if (p->sized || number_read(value, 10, "", &p->left) < 0)
			return odd(err, "its length");
		p->sized = true;
	} else if (strcasecmp(p->line, "Transfer-Encoding") == 0) {
		if (strcasecmp(value, "chunked") != 0)
			return odd(err, "its encoding");
		p->chunked = true;
	} else if (strcasecmp(p->line, "Connection") == 0) {
		p->close = p->close || strcasecmp(value, "close") == 0;
	} else if (strcasecmp(p->line, "Content-Type") == 0) {
		p->json = strncasecmp(value, "application/json", 16) == 0;
	}
	return 0;
}

static void headers_end(struct response *p)
{
	if (p->status < 200 && p->status != 101)
		p->state = RESPONSE_STATUS; /* "100 Continue": the answer follows */
	else if (p->status == 101 || p->status == 204 || p->status == 304)
		p->state = RESPONSE_DONE;
	else if (p->chunked)
		p->state = RESPONSE_CHUNK_SIZE;
	else if (p->sized)
		p->state = p->left ? RESPONSE_BODY : RESPONSE_DONE;
	else {
		p->state = RESPONSE_UNTIL_CLOSE;
		p->close = true;
	}
}

static int line_read(struct response *p, struct err *err)
{
	switch (p->state) {
	case RESPONSE_STATUS:
		return status_read(p, err);
	case RESPONSE_HEADERS:
		if (p->n > 0)
			return header_read(p, err);
		headers_end(p);
		return 0;
	case RESPONSE_CHUNK_SIZE:
		if (number_read(p->line, 16, "; \t", &p->left) < 0)
			return odd(err, "the size of a chunk");
		p->state = p->left ? RESPONSE_CHUNK : RESPONSE_TRAILERS;
		return 0;
	case RESPONSE_CHUNK_END:
		p->state = RESPONSE_CHUNK_SIZE;
		return p->n == 0 ? 0 : odd(err, "the end of a chunk");
	default: /* RESPONSE_TRAILERS */
		if (p->n == 0)
			p->state = RESPONSE_DONE;
		return 0;
	}
}

/* Consumes bytes up to the end of the line; processes a complete line. */
static int line_feed(struct response *p, const char *data, int n, struct err *err)
{
	const char *newline = memchr(data, '\n', (size_t)n);
	size_t take = newline ? (size_t)(newline - data) : (size_t)n;

	if (take >= sizeof p->line - p->n)
		return odd(err, "a line that does not end");
	memcpy(p->line + p->n, data, take);
	p->n += take;
	if (!newline)
		return n;
	if (p->n > 0 && p->line[p->n - 1] == '\r')
		p->n--;
	p->line[p->n] = '\0';
	if (memchr(p->line, '\0', p->n))
		return odd(err, "a NUL in it");
	p->lines = p->state == RESPONSE_CHUNK_SIZE || p->state == RESPONSE_CHUNK_END ? 0 : p->lines + 1;
	if (p->lines > LINES_MAX)
		return odd(err, "too many header lines");

	int rc = line_read(p, err);
	p->n = 0;
	return rc < 0 ? rc : (int)take + 1;
}

int response_feed(struct response *p, const char *data, int n, const char **ret_body, int *ret_n, struct err *err)
{
	int at = 0;

	*ret_n = 0;
	while (at < n && p->state != RESPONSE_DONE) {
		if (p->state == RESPONSE_BODY || p->state == RESPONSE_CHUNK || p->state == RESPONSE_UNTIL_CLOSE) {
			bool until_close = p->state == RESPONSE_UNTIL_CLOSE;
			*ret_body = data + at;
			*ret_n = !until_close && p->left < (uint64_t)(n - at) ? (int)p->left : n - at;
			if (!until_close && (p->left -= (uint64_t)*ret_n) == 0)
				p->state = p->state == RESPONSE_CHUNK ? RESPONSE_CHUNK_END : RESPONSE_DONE;
			return at + *ret_n;
		}
		int rc = line_feed(p, data + at, n - at, err);
		if (rc < 0)
			return rc;
		at += rc;
	}
	return at;
}

int response_end(struct response *p, struct err *err)
{
	if (p->state == RESPONSE_UNTIL_CLOSE)
		p->state = RESPONSE_DONE;
	if (p->state == RESPONSE_DONE)
		return 0;
	return err_set(err, -ECONNRESET,
		       response_begun(p) ? "the server closed the connection in the middle of its answer: try again"
					 : "the server closed the connection before it answered");
}
