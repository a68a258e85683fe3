/*
 * post.c - see post.h.
 */
#include "server/base/post.h"

#include "server/base/clock.h"
#include "server/server.h"

void reply_later(struct server *s, struct http_request *r, int status, struct strbuf *body)
{
	vec_push(&s->post->replies, (struct reply_later){r, status, *body, s->clock->boot_us});
	*body = (struct strbuf){0};
}
