/*
 * carry.c - transfers one file between this host and another: the calling end (files.h).
 *
 *	put:  open here -> connect -> have: from where on -> data ... end -> done
 *	get:  connect -> have -> open here -> data ... end
 *
 * A file on this host itself takes the same path, through a pair of sockets, so there is only one
 * path to get right.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/chain.h"
#include "base/fdio.h"
#include "engine/files_internal.h"
#include "net/handle.h"
#include "run/live.h"
#include "run/shepherd.h"

enum stage {
	BEGINS,	 /* nothing was done yet */
	OPENS,	 /* opening the file here */
	CALLS,	 /* connecting to the other host */
	ASKS,	 /* waiting to hear what it has */
	MOVES,	 /* put: sending data; get: receiving it */
	FINISHES /* put: all was sent, waiting for `done` */
};

struct carry {
	struct files *f;
	struct carry *prev, *next;
	struct carry_order o;
	struct carry_events e;
	enum stage stage;
	struct opening *opening;
	struct link *link;
	int fd;
	int64_t at;	/* put: bytes sent */
	uint64_t moved; /* uv_now() of the last progress */
	uv_timer_t begin;
};

static const struct link_events nobody = {0};

static bool is_put(const struct carry *c)
{
	return c->o.file->use != FILE_IN;
}

static bool is_own(const struct carry *c)
{
	return strcmp(c->o.file->host, c->f->name) == 0;
}

/* ---- the end ---- */

/* Closes the timer; handle_data_free() frees the memory. */
static void carry_free(struct carry *c)
{
	opening_cancel(c->opening);
	if (c->fd >= 0)
		close(c->fd);
	if (c->link) {
		link_events_set(c->link, &nobody, NULL);
		link_abort(c->link, "it is not wanted any more");
	}
	chain_remove(c->f->carries, c);
	uv_close((uv_handle_t *)&c->begin, handle_data_free);
}

void carry_cancel(struct carry *c)
{
	if (c)
		carry_free(c);
}

static void carry_over(struct carry *c, enum carry_end how, const char *reason)
{
	struct carry_events e = c->e;

	carry_free(c);
	e.over(e.context, how, reason);
}

static void carry_trouble(struct carry *c, int code)
{
	struct err err;

	err_set(&err, code, "%.300s: %s", c->o.here, strerror(-code));
	carry_over(c, CARRY_FAILED, err.text);
}

/* ---- idle connections, kept for the next file ---- */

static struct link *spare_remove(struct files *f, size_t i)
{
	struct spare_link *s = f->spare.v[i];
	struct link *l = s->link;

	vec_remove(&f->spare, i);
	free(s->address);
	free(s);
	return l;
}

static void on_spare_closed(void *context, struct link *l, const char *reason)
{
	struct spare_link *s = context;
	struct files *f = s->f;

	for (size_t i = 0; i < f->spare.n; i++)
		if (f->spare.v[i] == s) {
			spare_remove(f, i);
			return;
		}
}

static void link_keep(struct carry *c)
{
	static const struct link_events events = {.closed = on_spare_closed};
	struct spare_link *s;

	if (is_own(c))
		return;
	s = mem_alloc(sizeof *s);
	*s = (struct spare_link){.f = c->f,
				 .link = c->link,
				 .address = mem_strdup(c->o.file->address),
				 .join = c->o.file->join,
				 .since = uv_now(c->f->loop)};
	link_events_set(s->link, &events, s);
	vec_push(&c->f->spare, s);
	c->link = NULL;
}

static struct link *link_reuse(struct files *f, const struct order_file *to)
{
	for (size_t i = 0; i < f->spare.n; i++)
		if (f->spare.v[i]->join == to->join && strcmp(f->spare.v[i]->address, to->address) == 0)
			return spare_remove(f, i);
	return NULL;
}

static void spare_close(struct files *f, size_t i)
{
	struct link *l = spare_remove(f, i);

	link_events_set(l, &nobody, NULL);
	link_close(l, "it is not needed any more");
}

/* ---- put ---- */

static void put_more(struct carry *c)
{
	static char part[CHUNK]; /* single-threaded */

	while (c->stage == MOVES && link_queued(c->link) < SEND_AHEAD) {
		ssize_t n = pread(c->fd, part, sizeof part, c->at);
		if (n < 0) {
			carry_trouble(c, -errno);
			return;
		}
		if (n > 0) {
			c->at += n;
			file_frame_send(c->link, "data", &(struct file_frame){.size = -1, .to = c->at}, part,
					(size_t)n);
		} else {
			file_frame_send(c->link, "end", &(struct file_frame){.size = -1}, NULL, 0);
			c->stage = FINISHES;
		}
	}
}

/* Determines where to continue. Bytes that arrived after the last report count if they match what
 * we sent. */
static void put_have(struct carry *c, const struct file_frame *x)
{
	struct stat st;

	if (c->o.size < 0)
		c->o.took = 0;
	else if (x->extra > 0 && fstat(c->fd, &st) == 0 && x->extra <= st.st_size - c->o.took &&
		 file_crc(c->fd, c->o.took, x->extra) == x->crc)
		c->o.took += x->extra;
	c->o.size = x->size;
	c->at = c->o.took;
	c->stage = MOVES;
	c->e.moved(c->e.context, c->o.took, x->size);
	put_more(c);
}

static void put_took(struct carry *c, const struct file_frame *x)
{
	if (x->to < c->o.took || x->to > c->at) /* don't trust what another host reports */
		return;
	c->o.took = x->to;
	c->o.size = x->size;
	c->e.moved(c->e.context, c->o.took, c->o.size);
}

/* ---- get ---- */

static void on_target(void *context, int fd, const char *reason)
{
	struct carry *c = context;

	c->opening = NULL;
	c->fd = fd;
	if (fd < 0) {
		carry_over(c, CARRY_FAILED, reason);
		return;
	}
	c->stage = MOVES;
	c->moved = uv_now(c->f->loop);
	link_pause(c->link, false);
}

static void get_have(struct carry *c, const struct file_frame *x)
{
	link_pause(c->link, true);
	c->opening = opener_ask(c->f->opener, &c->o.who, c->o.here, O_WRONLY | O_CREAT | O_TRUNC,
				(x->mode & 0777) | 0600, on_target, c);
}

static void get_data(struct carry *c, const char *data, size_t n)
{
	int rc = fd_write(c->fd, data, n);

	if (rc < 0)
		carry_trouble(c, rc);
}

/* ---- the link ---- */

static void file_ask(struct carry *c)
{
	c->stage = ASKS;
	file_frame_send(c->link, "file",
			&(struct file_frame){.ticket = c->o.ticket,
					     .signature = c->o.signature,
					     .file = c->o.index,
					     .size = c->o.size,
					     .boot = live_boot(),
					     .asked = boot_us()},
			NULL, 0);
}

static void on_ready(void *context, struct link *l)
{
	struct carry *c = context;
	const struct order_file *to = c->o.file;
	struct cert_names peer;

	link_peer(l, &peer);
	if (revoked_has(c->f->revoked, &peer)) {
		carry_over(c, CARRY_AGAIN, "that host was removed from the cluster");
		return;
	}
	if (!is_own(c) && to->join && (strcmp(peer.name, to->host) != 0 || peer.join != to->join)) {
		carry_over(c, CARRY_AGAIN, "another host answers at its address");
		return;
	}
	link_trust(l);
	c->moved = uv_now(c->f->loop);
	file_ask(c);
}

static void on_frame(void *context, struct link *l, json_t *head, const char *data, size_t n)
{
	struct carry *c = context;
	const char *type = json_string_value(json_object_get(head, "t"));
	struct file_frame x;

	c->moved = uv_now(c->f->loop);
	if (!type)
		return;
	file_frame_read(head, &x);
	if (strcmp(type, "failed") == 0) {
		link_keep(c);
		carry_over(c, x.again ? CARRY_AGAIN : CARRY_FAILED, x.reason ? x.reason : "no reason was given");
	} else if (c->stage == ASKS && strcmp(type, "have") == 0 && x.size >= 0) {
		if (is_put(c))
			put_have(c, &x);
		else
			get_have(c, &x);
	} else if (is_put(c) && c->stage >= MOVES && strcmp(type, "took") == 0 && x.size >= 0) {
		put_took(c, &x);
	} else if (c->stage == MOVES && strcmp(type, "data") == 0) {
		get_data(c, data, n);
	} else if ((c->stage == FINISHES && strcmp(type, "done") == 0) ||
		   (c->stage == MOVES && !is_put(c) && strcmp(type, "end") == 0)) {
		link_keep(c);
		carry_over(c, CARRY_DONE, NULL);
	}
}

static void on_drained(void *context, struct link *l)
{
	struct carry *c = context;

	c->moved = uv_now(c->f->loop);
	if (is_put(c))
		put_more(c);
}

static void on_closed(void *context, struct link *l, const char *reason)
{
	struct carry *c = context;

	c->link = NULL;
	carry_over(c, CARRY_AGAIN, reason);
}

static const struct link_events events = {
	.ready = on_ready, .frame = on_frame, .drained = on_drained, .closed = on_closed};

/* Connects to this host itself. */
static struct link *own_call(struct carry *c)
{
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) < 0)
		return NULL;
	files_serve_own(c->f, link_open(c->f->loop, fds[0], NULL, &nobody, NULL));
	return link_open(c->f->loop, fds[1], NULL, &events, c);
}

static void host_call(struct carry *c)
{
	const struct order_file *to = c->o.file;
	bool own = is_own(c);

	c->stage = CALLS;
	if (own)
		c->link = own_call(c);
	else if (to->join && files_doubt(c->f))
		carry_over(c, CARRY_AGAIN, DOUBT);
	else if (!*to->address || !c->f->tls)
		carry_over(c, CARRY_FAILED, "that host can't be reached by other hosts");
	else if ((c->link = link_reuse(c->f, to))) {
		link_events_set(c->link, &events, c);
		file_ask(c);
	} else
		c->link = link_connect(c->f->loop, c->f->tls, to->address, to->join ? CERT_NODE : CERT_SERVER, &events,
				       c);
	if (own && !c->link)
		carry_over(c, CARRY_AGAIN, strerror(errno));
}

/* ---- the beginning ---- */

static void on_source(void *context, int fd, const char *reason)
{
	struct carry *c = context;

	c->opening = NULL;
	c->fd = fd;
	c->moved = uv_now(c->f->loop);
	if (fd < 0)
		carry_over(c, CARRY_FAILED, reason);
	else
		host_call(c);
}

static void on_begin(uv_timer_t *t)
{
	struct carry *c = t->data;

	if (!c->f->name) {
		carry_over(c, CARRY_AGAIN, "this host is not ready for files");
	} else if (is_put(c)) {
		c->stage = OPENS;
		c->opening = opener_ask(c->f->opener, &c->o.who, c->o.here, O_RDONLY, 0, on_source, c);
	} else {
		host_call(c);
	}
}

struct carry *carry_start(struct files *f, const struct carry_order *o, const struct carry_events *e)
{
	struct carry *c = mem_zalloc(sizeof *c);

	*c = (struct carry){.f = f, .o = *o, .e = *e, .fd = -1, .moved = uv_now(f->loop)};
	chain_add(f->carries, c);
	uv_timer_init(f->loop, &c->begin);
	c->begin.data = c;
	uv_timer_start(&c->begin, on_begin, 0, 0);
	files_watch(f);
	return c;
}

static struct carry *stuck_find(const struct files *f)
{
	struct carry *c = f->carries;

	while (c && uv_now(f->loop) - c->moved <= PATIENCE_MS)
		c = c->next;
	return c;
}

void carries_tick(struct files *f)
{
	struct carry *c;

	while ((c = stuck_find(f))) /* the callback may end others */
		carry_over(c, CARRY_AGAIN, "it did not answer");
	for (size_t i = f->spare.n; i-- > 0;)
		if (uv_now(f->loop) - f->spare.v[i]->since > LINGER_MS)
			spare_close(f, i);
}

static bool link_revoked(const struct files *f, const struct link *l)
{
	struct cert_names peer = {0};

	if (l)
		link_peer(l, &peer);
	return l && revoked_has(f->revoked, &peer);
}

static struct carry *revoked_find(const struct files *f)
{
	struct carry *c = f->carries;

	while (c && !link_revoked(f, c->link))
		c = c->next;
	return c;
}

void carries_revoke(struct files *f)
{
	struct carry *c;

	while ((c = revoked_find(f)))
		carry_over(c, CARRY_AGAIN, "that host was removed from the cluster");
	for (size_t i = f->spare.n; i-- > 0;)
		if (link_revoked(f, f->spare.v[i]->link))
			spare_close(f, i);
}

void carries_stop(struct files *f)
{
	while (f->carries)
		carry_free(f->carries);
	while (f->spare.n)
		spare_close(f, f->spare.n - 1);
	vec_free(&f->spare);
}
