/*
 * tasks.c - the service for programs of jobs on other hosts (tasks.h): who asks, whether he may, and the way there.
 *
 *	a program here ----> its shepherd here is asked whose job it is, and on which hosts
 *	                     |-- the node is on this host:    task_here.c
 *	                     '-- it is on another:            a link there; frames are relayed as they are
 *	another host ------> our shepherd is asked the same; then task_here.c
 *
 * Until that is decided the caller's link is paused. A side that takes no more pauses the other.
 */
#include "engine/tasks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/unixsock.h"
#include "base/vec.h"
#include "engine/tasks_internal.h"
#include "engine/watch.h"

#define CALLERS_MOST 4096   /* connections at once, */
#define CALLERS_OF_ONE 1024 /* ... and of one user */

struct tasks {
	uv_loop_t *loop;
	struct watch *socket;
	char *path, *live, *name;
	struct tls_context *tls;
	struct caller *callers;
	int ncallers;
};

/* One task: who asked for it, and where it is. */
struct caller {
	struct tasks *t;
	struct caller *prev, *next;
	struct link *link;
	bool local;		/* a program of this host, of: */
	uid_t uid;		/* ... */
	struct cert_names peer; /* else the host that has sent it */
	json_t *first;		/* the first frame; NULL: it has not come */
	struct talk *talk;	/* while the shepherd is asked */
	struct link *far;	/* on its way to another host, whose certificate must say: */
	struct cert_names expect;
	struct task_here *here;
};

static const struct link_events nobody = {0};

void task_refuse(struct link *l, const char *reason)
{
	struct strbuf head = {0};
	struct json j;

	json_init(&j, &head, false);
	json_open_object(&j, NULL);
	json_text(&j, "t", "refused");
	json_text(&j, "reason", reason);
	json_close_object(&j);
	link_send(l, head.text, head.n, NULL, 0);
	strbuf_fini(&head);
}

static const char *text_of(const json_t *head, const char *key)
{
	const char *text = json_string_value(json_object_get(head, key));

	return text ? text : "";
}

/* ---- life of a caller ---- */

static struct caller *caller_create(struct tasks *t, struct link *l)
{
	struct caller *c = mem_zalloc(sizeof *c);

	*c = (struct caller){.t = t, .link = l, .next = t->callers};
	if (t->callers)
		t->callers->prev = c;
	t->callers = c;
	t->ncallers++;
	return c;
}

static void link_drop(struct link *l, const char *reason)
{
	if (!l)
		return;
	link_events_set(l, &nobody, NULL);
	link_close(l, reason);
}

/* What was sent still leaves; a program that runs here or there is ended. */
static void caller_end(struct caller *c)
{
	talk_close(c->talk);
	task_here_close(c->here);
	link_drop(c->far, "the caller is gone");
	link_drop(c->link, "it is over");
	json_decref(c->first);
	if (c->prev)
		c->prev->next = c->next;
	else
		c->t->callers = c->next;
	if (c->next)
		c->next->prev = c->prev;
	c->t->ncallers--;
	free(c);
}

static void caller_refuse(struct caller *c, const char *reason)
{
	task_refuse(c->link, reason);
	caller_end(c);
}

/* ---- on another host ---- */

static void frame_relay(struct link *from, struct link *to, const json_t *head, const char *data, size_t n)
{
	char *text = json_dumps(head, JSON_COMPACT);

	link_send(to, text, strlen(text), data, n);
	free(text);
	if (link_queued(to) > TASK_QUEUE)
		link_pause(from, true);
}

static void on_far_ready(void *context, struct link *l)
{
	struct caller *c = context;
	struct cert_names peer;

	link_peer(l, &peer);
	if (peer.role != c->expect.role ||
	    (peer.role == CERT_NODE && (strcmp(peer.name, c->expect.name) != 0 || peer.join != c->expect.join))) {
		caller_refuse(c, "the host that answers is not the one that this job is on");
		return;
	}
	link_trust(l);
	frame_relay(c->link, l, c->first, NULL, 0);
	link_pause(c->link, false);
}

static void on_far_frame(void *context, struct link *l, json_t *head, const char *data, size_t n)
{
	struct caller *c = context;
	const char *type = text_of(head, "t");

	frame_relay(l, c->link, head, data, n);
	if (strcmp(type, "exit") == 0 || strcmp(type, "refused") == 0)
		caller_end(c);
}

static void on_far_drained(void *context, struct link *l)
{
	struct caller *c = context;

	link_pause(c->link, false);
}

static void on_far_closed(void *context, struct link *l, const char *reason)
{
	struct caller *c = context;
	struct strbuf text = {0};

	c->far = NULL;
	strbuf_printf(&text, "the connection to %s failed: %s", text_of(c->first, "node"), reason);
	caller_refuse(c, strbuf_text(&text));
	strbuf_fini(&text);
}

static void far_call(struct caller *c, const struct order_host *host)
{
	static const struct link_events events = {
		.ready = on_far_ready, .frame = on_far_frame, .drained = on_far_drained, .closed = on_far_closed};

	if (!*host->address || !c->t->tls) {
		caller_refuse(c, "that node can't be reached by other hosts");
		return;
	}
	c->expect = (struct cert_names){.role = host->join ? CERT_NODE : CERT_SERVER, .join = host->join};
	snprintf(c->expect.name, sizeof c->expect.name, "%s", host->name);
	c->far = link_connect(c->t->loop, c->t->tls, host->address, c->expect.role, &events, c);
}

/* ---- on this host ---- */

static void on_over(void *context)
{
	caller_end(context);
}

static void here_start(struct caller *c, uid_t uid)
{
	struct err err;

	if (task_here_start(c->t->loop, c->t->live, c->first, uid, c->link, on_over, c, &c->here, &err) < 0)
		caller_refuse(c, err.text);
	else
		link_pause(c->link, false);
}

/* ---- whether he may ---- */

static const struct order_host *host_find(const struct task_place *p, const char *node)
{
	for (int i = 0; i < p->nhosts; i++)
		if (strcmp(p->hosts[i].name, node) == 0)
			return &p->hosts[i];
	return NULL;
}

/* A host is believed for jobs that it has a part of, as the server wrote it down: that join of it, not one before. */
static bool peer_is_of(const struct task_place *p, const struct cert_names *peer)
{
	for (int i = 0; i < p->nhosts; i++) {
		const struct order_host *h = &p->hosts[i];
		if (peer->role == CERT_SERVER && h->join == 0)
			return true;
		if (peer->role == CERT_NODE && h->join && h->join == peer->join && strcmp(h->name, peer->name) == 0)
			return true;
	}
	return false;
}

static void place_known(struct caller *c, const struct task_place *p)
{
	const char *node = text_of(c->first, "node");
	const struct order_host *host = host_find(p, node);
	struct strbuf text = {0};

	if (c->local && c->uid != p->uid) {
		caller_refuse(c, "it is another user's job");
	} else if (!c->local && !peer_is_of(p, &c->peer)) {
		caller_refuse(c, "your host has no part of that job");
	} else if (!host || (!c->local && host->part != p->part)) {
		strbuf_printf(&text, "%s is not a node of this job%s", node, c->local ? "" : " on this host");
		caller_refuse(c, text.text);
		strbuf_fini(&text);
	} else if (host->part == p->part) {
		here_start(c, p->uid);
	} else {
		far_call(c, host);
	}
}

static void on_who(void *context, const struct task_answer *a)
{
	struct caller *c = context;

	talk_close(c->talk);
	c->talk = NULL;
	if (a && a->type == TASK_WHO)
		place_known(c, &a->place);
	else
		caller_refuse(c, a && a->type == TASK_REFUSED && a->reason ? a->reason : "the job has just ended here");
}

static void first_take(struct caller *c, json_t *head)
{
	struct err err;

	c->first = json_incref(head);
	link_pause(c->link, true);
	if (strcmp(text_of(head, "t"), "task") != 0 || !*text_of(head, "tag"))
		caller_refuse(c, "the first message must be a task");
	else if (talk_open(c->t->loop, c->t->live, text_of(head, "tag"), on_who, c, &c->talk, &err) < 0)
		caller_refuse(c, err.text);
	else
		talk_who(c->talk);
}

/* ---- the caller's link ---- */

static void on_frame(void *context, struct link *l, json_t *head, const char *data, size_t n)
{
	struct caller *c = context;

	if (!c->first)
		first_take(c, head);
	else if (c->here)
		task_here_frame(c->here, text_of(head, "t"), head, data, n);
	else if (c->far)
		frame_relay(l, c->far, head, data, n);
}

static void on_drained(void *context, struct link *l)
{
	struct caller *c = context;

	if (c->here)
		task_here_drained(c->here);
	else if (c->far)
		link_pause(c->far, false);
}

static void on_closed(void *context, struct link *l, const char *reason)
{
	struct caller *c = context;

	c->link = NULL;
	if (c->far) { /* the program there shall end, also if it does not read what was sent to it */
		link_events_set(c->far, &nobody, NULL);
		link_abort(c->far, "the caller is gone");
		c->far = NULL;
	}
	caller_end(c);
}

static const struct link_events caller_events = {.frame = on_frame, .drained = on_drained, .closed = on_closed};

void tasks_serve(struct tasks *t, struct link *l, json_t *first)
{
	struct caller *c;

	if (t->ncallers >= CALLERS_MOST) {
		task_refuse(l, "too many tasks are under way on that host");
		link_drop(l, "too many tasks");
		return;
	}
	c = caller_create(t, l);
	link_peer(l, &c->peer);
	link_events_set(l, &caller_events, c);
	link_notice_end(l);
	first_take(c, first);
}

/* ---- the socket ---- */

static int callers_of(const struct tasks *t, uid_t uid)
{
	int n = 0;

	for (const struct caller *c = t->callers; c; c = c->next)
		n += c->local && c->uid == uid;
	return n;
}

static void on_accept(void *context, int events)
{
	struct tasks *t = context;
	int fd = accept4(watch_fd(t->socket), NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct ucred who = {.uid = (uid_t)-1};
	socklen_t n = sizeof who;
	struct caller *c;

	if (fd < 0)
		return;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &n) < 0 || t->ncallers >= CALLERS_MOST ||
	    callers_of(t, who.uid) >= CALLERS_OF_ONE) {
		close(fd);
		return;
	}
	c = caller_create(t, NULL);
	c->local = true;
	c->uid = who.uid;
	c->link = link_open(t->loop, fd, NULL, &caller_events, c);
	link_trust(c->link); /* a whole environment may come */
	link_notice_end(c->link);
}

int tasks_start(uv_loop_t *loop, const struct tasks_options *o, struct tasks **ret, struct err *err)
{
	int fd = unix_listen(o->socket, 0666, err);
	struct tasks *t;

	if (fd < 0)
		return fd;
	t = mem_zalloc(sizeof *t);
	*t = (struct tasks){.loop = loop,
			    .path = mem_strdup(o->socket),
			    .live = mem_strdup(o->live),
			    .name = mem_strdup(o->name),
			    .tls = o->tls ? tls_context_ref(o->tls) : NULL};
	t->socket = watch_open(loop, fd, on_accept, t);
	watch_for(t->socket, UV_READABLE);
	*ret = t;
	return 0;
}

void tasks_identity(struct tasks *t, struct tls_context *tls)
{
	if (t->tls)
		tls_context_free(t->tls);
	t->tls = tls ? tls_context_ref(tls) : NULL;
}

void tasks_stop(struct tasks *t)
{
	while (t->callers)
		caller_end(t->callers);
	watch_close(t->socket);
	unlink(t->path);
	if (t->tls)
		tls_context_free(t->tls);
	free(t->path);
	free(t->live);
	free(t->name);
	free(t);
}
