/*
 * request.c - a request as handlers see it, and its answer.
 */
#include <assert.h>
#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "base/phrase.h"
#include "net/http_internal.h"

struct http_request *request_create(struct connection *c, struct MHD_Connection *mhd, const char *target)
{
	struct http_request *r = mem_zalloc(sizeof *r);

	*r = (struct http_request){.http = c->http, .connection = c, .mhd = mhd, .arena = arena_create()};
	r->target = arena_strndup(r->arena, target, strlen(target));
	c->r = r;
	return r;
}

/* Handles a stream that is woken in the same turn in which its client hangs up. */
static void ready_remove(struct http_request *r)
{
	struct http *h = r->http;

	for (size_t i = 0; i < h->ready.n; i++) {
		if (h->ready.v[i] == r) {
			vec_remove(&h->ready, i);
			return;
		}
	}
}

void request_destroy(struct http_request *r)
{
	struct connection *c = r->connection;

	if (r->queued)
		ready_remove(r);
	if (r->streams && r->source.close)
		r->source.close(r->source.context);
	if (r->upgrade)
		upgrade_drop(r->upgrade);
	if (r->response)
		MHD_destroy_response(r->response);
	c->r = NULL;
	c->since = uv_now(r->http->loop);
	request_free(r);
}

const char *request_method(const struct http_request *r)
{
	return r->method;
}

const char *request_path(const struct http_request *r)
{
	return r->url.path;
}

const char *request_query(const struct http_request *r, const char *name)
{
	return url_query(&r->url, name);
}

const char *request_header(const struct http_request *r, const char *name)
{
	if (r->inner)
		return strcmp(name, "Idempotency-Key") == 0 ? r->inner->key : NULL;
	return MHD_lookup_connection_value(r->mhd, MHD_HEADER_KIND, name);
}

const char *request_body(const struct http_request *r, size_t *ret_n)
{
	if (ret_n)
		*ret_n = r->body.n;
	return strbuf_text(&r->body);
}

struct strbuf request_take_body(struct http_request *r)
{
	struct strbuf body = r->body;

	r->body = (struct strbuf){0};
	return body;
}

struct peer request_peer(const struct http_request *r)
{
	return r->inner ? r->inner->peer : r->connection->peer;
}

const char *request_remote(const struct http_request *r)
{
	return r->inner ? NULL : r->connection->remote;
}

bool request_page(const struct http_request *r)
{
	return !r->inner && r->connection->door == DOOR_PAGE;
}

struct arena *request_arena(struct http_request *r)
{
	return r->arena;
}

void request_attach(struct http_request *r, void *what, void (*leave)(void *what))
{
	assert(!r->attached);
	r->attached = what;
	r->leave = leave;
}

void *request_attached(const struct http_request *r)
{
	return r->attached;
}

void http_header(struct http_request *r, const char *name, const char *value)
{
	vec_push(&r->headers, (struct header){arena_strndup(r->arena, name, strlen(name)),
					      arena_strndup(r->arena, value, strlen(value))});
}

/* Sets the answer, which is sent by the next flush. */
void request_answer(struct http_request *r, int status, const char *type, struct MHD_Response *response)
{
	struct http *h = r->http;

	assert(r->stage < STAGE_ANSWERED && response);
	if (type)
		MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	for (size_t i = 0; i < r->headers.n; i++)
		MHD_add_response_header(response, r->headers.v[i].name, r->headers.v[i].value);
	r->response = response;
	r->status = status;
	if (r->stage == STAGE_HANDED) {
		r->queued = true;
		vec_push(&h->ready, r);
	}
	r->stage = STAGE_ANSWERED;
}

void http_reply(struct http_request *r, int status, const char *type, const void *body, size_t n)
{
	if (r->inner) {
		inner_answer(r, status, body, n);
		return;
	}
	/* MHD copies the body; its parameter is not const because of its other modes. */
	request_answer(r, status, type,
		       MHD_create_response_from_buffer(n, n ? (void *)body : (void *)"", MHD_RESPMEM_MUST_COPY));
}

void http_reply_strbuf(struct http_request *r, int status, const char *type, struct strbuf *body)
{
	if (body->n == 0 || r->inner) {
		http_reply(r, status, type, strbuf_text(body), body->n);
		strbuf_fini(body);
		return;
	}
	request_answer(r, status, type, MHD_create_response_from_buffer(body->n, body->text, MHD_RESPMEM_MUST_FREE));
	*body = (struct strbuf){0};
}

void request_again(struct http_request *r)
{
	assert(r->stage == STAGE_HANDED);
	r->http->handler(r->http->context, r);
}

static void error_answer(struct http_request *r, enum code code, const char *text, const char *form, size_t begins)
{
	struct strbuf body = {0};
	struct json j;

	json_begin(&j, &body);
	json_open_object(&j, "error");
	error_json(&j, code, text, form, begins);
	json_close_object(&j);
	json_close_object(&j);
	http_reply_strbuf(r, code_row(code)->status, "application/json", &body);
}

void http_refuse(struct http_request *r, const struct err *err)
{
	error_answer(r, err->code, err->text, err->form, err->begins);
}

static void error_reply(struct http_request *r, enum code code, const char *fmt, va_list ap)
{
	struct strbuf message = {0};

	strbuf_vprintf(&message, fmt, ap);
	error_answer(r, code, strbuf_text(&message), fmt, 0);
	strbuf_fini(&message);
}

void http_error(struct http_request *r, enum code code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	error_reply(r, code, fmt, ap);
	va_end(ap);
}

void request_refuse(struct http_request *r, enum code code, const char *fmt, ...)
{
	va_list ap;

	assert(r->stage < STAGE_HANDED);
	r->http->stats.rejected++;
	va_start(ap, fmt);
	error_reply(r, code, fmt, ap);
	va_end(ap);
}

void http_stream(struct http_request *r, int status, const char *type, const struct stream_source *source)
{
	assert(!r->inner);
	/* MHD sends the last chunk nevertheless, which must not be taken for the next answer */
	if (r->head)
		http_header(r, "Connection", "close");
	r->source = *source;
	r->streams = true;
	request_answer(r, status, type, stream_response(r));
}
