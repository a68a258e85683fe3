/*
 * post.c - see post.h.
 */
#include "server/base/post.h"

#include "net/http.h"
#include "server/base/clock.h"
#include "server/server.h"

void reply_later(struct server *s, struct http_request *r, int status, struct strbuf *body)
{
	vec_push(&s->post->replies, (struct reply_later){r, status, *body, s->clock->boot_us});
	*body = (struct strbuf){0};
}

void replies_send(struct server *s)
{
	for (size_t i = 0; i < s->post->replies.n; i++) {
		struct reply_later *x = &s->post->replies.v[i];
		http_reply_strbuf(x->r, x->status, "application/json", &x->body);
	}
	vec_clear(&s->post->replies);
}

void reply_empty(struct server *s, struct http_request *r, int status)
{
	struct strbuf body = {0};

	strbuf_puts(&body, "{}");
	reply_later(s, r, status, &body);
}
