/*
 * pool_wire.c - see pool_wire.h.
 */
#include "cmd/pool/pool_wire.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/frame.h"
#include "base/unixsock.h"

#define FRAME_MOST (9u << 20)

int pool_wire_open(struct pool_wire *w, struct err *err)
{
	struct strbuf path = {0};
	struct pool_home home;
	struct pool_conf conf;
	int rc = pool_home_find(&home, err);

	*w = (struct pool_wire){.fd = -1};
	if (rc == 0)
		rc = pool_conf_load(&home, &conf, err);
	if (rc < 0)
		return rc;
	pool_home_path(&home, "socket", &path);
	w->fd = unix_connect(path.text, 10000, err);
	strbuf_fini(&path);
	if (w->fd == -ENOENT || w->fd == -ECONNREFUSED)
		return err_set(err, w->fd,
			       "the pool's daemon does not run on this machine ('shunt pool start' starts it)");
	return w->fd < 0 ? w->fd : 0;
}

void pool_wire_close(struct pool_wire *w)
{
	if (w->fd >= 0)
		close(w->fd);
	strbuf_fini(&w->in);
	strbuf_fini(&w->out);
}

int pool_wire_flush(struct pool_wire *w)
{
	while (pool_wire_waits(w)) {
		ssize_t n = send(w->fd, w->out.text + w->sent, w->out.n - w->sent, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN ? 0 : -errno;
		w->sent += (size_t)n;
	}
	strbuf_clear(&w->out);
	w->sent = 0;
	return 0;
}

static int pool_wire_send_text(struct pool_wire *w, const char *head, const void *data, size_t n)
{
	frame_put(&w->out, head, strlen(head), data, n);
	return pool_wire_flush(w);
}

int pool_wire_send(struct pool_wire *w, json_t *head, const void *data, size_t n)
{
	char *text = json_dumps(head, JSON_COMPACT);
	int rc = pool_wire_send_text(w, text, data, n);

	free(text);
	json_decref(head);
	return rc;
}

int pool_wire_fill(struct pool_wire *w)
{
	char part[65536];
	ssize_t n;

	if (w->at) {
		memmove(w->in.text, w->in.text + w->at, w->in.n - w->at);
		w->in.n -= w->at;
		w->at = 0;
	}
	do
		n = read(w->fd, part, sizeof part);
	while (n < 0 && errno == EINTR);
	if (n > 0)
		strbuf_add(&w->in, part, (size_t)n);
	return n < 0 ? -errno : n > 0;
}

int pool_wire_next(struct pool_wire *w, json_t **ret_head, const char **ret_data, size_t *ret_n)
{
	const char *head;
	size_t nhead;
	ssize_t took = w->in.n > w->at ? frame_next(w->in.text + w->at, w->in.n - w->at, FRAME_MOST, &head, &nhead,
						    ret_data, ret_n)
				       : 0;

	if (took <= 0)
		return (int)took;
	w->at += (size_t)took;
	*ret_head = json_loadb(head, nhead, 0, NULL);
	return *ret_head ? 1 : -EPROTO;
}
