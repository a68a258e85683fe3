/*
 * inner.c - requests without a connection: the server makes them itself on behalf of a user.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "net/http_internal.h"

struct http_request *http_inner(struct http *h, const struct inner *x)
{
	struct arena *a = arena_create();
	struct http_request *r = mem_zalloc(sizeof *r);
	struct inner *copy = arena_alloc(a, sizeof *copy);

	*copy = *x;
	copy->key = x->key ? arena_strndup(a, x->key, strlen(x->key)) : NULL;
	copy->token = x->token ? arena_strndup(a, x->token, strlen(x->token)) : NULL;
	copy->address = x->address ? arena_strndup(a, x->address, strlen(x->address)) : NULL;
	*r = (struct http_request){.http = h, .arena = a, .stage = STAGE_HANDED, .inner = copy};
	r->target = arena_strndup(a, x->path, strlen(x->path));
	r->method = arena_strndup(a, x->method, strlen(x->method));
	if (url_parse(r->target, a, &r->url, NULL) < 0) {
		url_fini(&r->url);
		arena_destroy(a);
		free(r);
		return NULL;
	}
	copy->path = r->target;
	copy->method = r->method;
	strbuf_add(&r->body, x->body, x->n);
	copy->body = NULL;
	h->stats.requests++; /* so that the loop commits the request at once */
	return r;
}

uint64_t request_number(const struct http_request *r)
{
	return r->inner ? r->inner->number : 0;
}

int64_t request_time_us(const struct http_request *r)
{
	return r->inner ? r->inner->time_us : 0;
}

const char *request_token(const struct http_request *r, const char **ret_address)
{
	*ret_address = r->inner && r->inner->token ? r->inner->address : NULL;
	return r->inner ? r->inner->token : NULL;
}

void inner_answer(struct http_request *r, int status, const char *text, size_t n)
{
	assert(r->stage < STAGE_ANSWERED);
	r->status = status;
	strbuf_add(&r->out, text, n);
	r->stage = STAGE_ANSWERED;
	r->queued = true;
	vec_push(&r->http->ready, r);
}

void inner_end(struct http_request *r)
{
	r->inner->done(r->inner->context, r->status, strbuf_text(&r->out), r->out.n);
	request_free(r);
}
