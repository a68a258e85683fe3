/*
 * link_move.c - moves a link's connection to another link: of another loop, in another process.
 *
 * A connection consists of three things: the descriptor, the TLS state, and bytes that were read
 * and belong to an incomplete frame, or to frames that came while it was paused. A fork copies the
 * last two; after it, one of the processes continues, and the other abandons its copy without
 * sending anything.
 */
#include <assert.h>
#include <errno.h>
#include <unistd.h>

#include "net/link_internal.h"

int link_detach(struct link *l, struct link_detached *ret)
{
	if (l->stage != LINK_OPEN || l->closing)
		return -ENOTCONN;
	assert(l->paused && link_queued(l) == 0);
	link_share(l, NULL);
	*ret = (struct link_detached){.fd = l->fd, .tls = l->tls, .trusted = l->trusted, .notices = l->notices};
	if (l->in.n > l->taken)
		strbuf_add(&ret->in, l->in.text + l->taken, l->in.n - l->taken);
	l->e = (struct link_events){0};
	link_gone(l); /* removes it from the loop's polling at once */
	l->fd = -1;
	l->tls = NULL;
	return 0;
}

struct link *link_attach(uv_loop_t *loop, const struct link_detached *detached, const struct link_events *e,
			 void *context)
{
	struct link *l = link_create(loop, e, context);

	l->paused = true;
	l->trusted = detached->trusted;
	l->notices = detached->notices;
	l->in = detached->in;
	link_begin(l, detached->fd, detached->tls, true);
	return l;
}

void link_abandon(struct link_detached *detached)
{
	if (detached->tls)
		tls_abandon(detached->tls);
	else
		close(detached->fd);
	strbuf_fini(&detached->in);
}
