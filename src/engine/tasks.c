/*
 * tasks.c - the service that starts programs of jobs on other hosts (tasks.h): identifies callers,
 * checks permissions, finds the host.
 *
 *	a program here ----> query its shepherd here: the job's user and hosts
 *	                     |-- the node is on this host:    task_here.c
 *	                     '-- it is on another:            task_far.c
 *	another host ------> query our shepherd likewise; then task_here.c
 *
 * Until that is decided the caller's link is paused. Then, in an agent, a separate process
 * continues with that one connection (apart.h), so that the agent may be killed or upgraded while
 * programs are running.
 */
#include "engine/tasks.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/chain.h"
#include "base/members.h"
#include "base/unixsock.h"
#include "base/vec.h"
#include "engine/apart.h"
#include "engine/tasks_internal.h"
#include "engine/watch.h"
#include "net/handle.h"

#define CALLERS_MOST 4096   /* maximum connections at once in this process */
#define CALLERS_OF_ONE 1024 /* maximum connections of one user */
#define TASKS_MOST 8192	    /* maximum tasks, in this process and in separate ones */
#define TASKS_OF_ONE 1024
#define PATIENCE_MS 30000
#define AWAIT_MS 10000 /* time for a shepherd to begin to take tasks */
#define AGAIN_MS 20
#define LINK_WITH ", link with "

/* A user of this host. */
struct purse {
	struct purse *next;
	uid_t uid;
	int callers;
	struct link_share share;
};

struct tasks {
	uv_loop_t *loop;
	struct watch *socket;
	char *path, *live, *name;
	struct tls_context *tls;
	struct caller *callers;
	int ncallers;
	struct purse *purses;
	struct apart *apart; /* NULL: tasks run in this process */
	int most, most_of_one, patience;
};

/* One task: its caller, and where it runs. */
struct caller {
	struct tasks *t;
	struct caller *prev, *next;
	struct link *link;
	struct purse *purse;	/* a program on this host: its user's purse */
	struct cert_names peer; /* otherwise the host that has sent it */
	json_t *first;		/* the first frame; NULL: not received, or passed on */
	char *node;		/* the node that it named */
	struct talk *talk;	/* open while the shepherd is queried */
	uv_timer_t *pause;	/* runs until the shepherd is queried again; NULL: it does not */
	uint64_t until;		/* uv_now() up to which it is */
	struct order_host host; /* where a client of the server's enters a job; name NULL: not one */
	char *tag;		/* attempt that it enters */
	struct task_here *here; /* once decided, one of these is set */
	struct task_far *far;
	bool runs;   /* it is permitted and has begun */
	uid_t owner; /* the job's user */
};

static const struct link_events nobody = {0};

static void refusal_write(const char *reason, struct strbuf *head)
{
	struct json j;

	json_begin(&j, head);
	json_text(&j, "t", "refused");
	json_text(&j, "reason", reason);
	json_close_object(&j);
}

void task_refuse(struct link *l, const char *reason)
{
	struct strbuf head = {0};

	refusal_write(reason, &head);
	link_send(l, head.text, head.n, NULL, 0);
	strbuf_fini(&head);
}

/* ---- life of a caller ---- */

static struct caller *caller_create(struct tasks *t, struct link *l)
{
	struct caller *c = mem_zalloc(sizeof *c);

	*c = (struct caller){.t = t, .link = l};
	chain_add(t->callers, c);
	t->ncallers++;
	return c;
}

static void link_drop(struct link *l, const char *reason)
{
	if (!l)
		return;
	link_share(l, NULL);
	link_events_set(l, &nobody, NULL);
	link_close(l, reason);
}

/* Ends a caller. Data already queued is still sent; a program that is running, here or there, is
 * ended. */
static void caller_end(struct caller *c)
{
	talk_close(c->talk);
	if (c->pause)
		uv_close((uv_handle_t *)c->pause, handle_free);
	free(c->tag);
	free((char *)c->host.name);
	free((char *)c->host.address);
	task_here_close(c->here);
	/* the client is gone: the program there must end, even if it does not read its input */
	task_far_close(c->far, !c->link);
	link_drop(c->link, "it is over");
	json_decref(c->first);
	free(c->node);
	if (c->purse)
		c->purse->callers--;
	chain_remove(c->t->callers, c);
	c->t->ncallers--;
	free(c);
}

static void caller_refuse(struct caller *c, const char *reason)
{
	task_refuse(c->link, reason);
	caller_end(c);
}

/* Frees the first frame: it may be large, and the task long. */
static void first_drop(struct caller *c)
{
	json_decref(c->first);
	c->first = NULL;
}

/* ---- running it ---- */

static void on_over(void *context)
{
	caller_end(context);
}

static void here_start(struct caller *c, uid_t uid)
{
	struct err err;

	if (task_here_start(c->t->loop, c->t->live, c->first, c->link, on_over, c, &c->here, &err) < 0)
		caller_refuse(c, err.text);
	else {
		first_drop(c);
		link_pause(c->link, false);
	}
}

static void far_start(struct caller *c, const struct order_host *host)
{
	struct task_way way = {.tls = c->t->tls, .host = host, .patience = c->t->patience};

	if (!*host->address || !way.tls) {
		caller_refuse(c, "that node can't be reached by other hosts");
		return;
	}
	c->far = task_far_start(c->t->loop, &way, c->first, c->link, on_over, c);
	first_drop(c);
}

static void task_begin(struct caller *c, const struct task_place *p, const struct order_host *host)
{
	c->runs = true;
	c->owner = p->uid;
	if (host->part == p->part)
		here_start(c, p->uid);
	else
		far_start(c, host);
}

static const struct link_events caller_events;

/* Continues with one task in a separate process, until it is over. Uses only what does not change
 * of the service that this is a copy of. */
static _Noreturn void task_go_on(const struct caller *of, const struct link_detached *detached,
				 const struct task_place *p, const struct order_host *host)
{
	struct tasks t = *of->t;
	uv_loop_t loop;
	struct caller *c;

	if (uv_loop_init(&loop) < 0)
		_exit(1); /* closes the connection, which notifies the other end */
	t.loop = &loop;
	t.apart = NULL;
	t.callers = NULL;
	c = caller_create(&t, NULL);
	c->peer = of->peer;
	c->first = of->first;
	c->node = of->node;
	c->link = link_attach(&loop, detached, &caller_events, c);
	task_begin(c, p, host);
	uv_run(&loop, UV_RUN_DEFAULT);
	_exit(0);
}

/* Names the host at the other end of its link, and the live directory, for tasks_revoke(). */
static void title_write(const struct caller *c, const struct task_place *p, const struct order_host *host,
			struct strbuf *title)
{
	strbuf_printf(title, "shunt-agent: task %s on %s", member_text(c->first, "tag"), c->node);
	if (!c->purse && c->peer.role == CERT_NODE)
		strbuf_printf(title, LINK_WITH "%s:%" PRIu64 " %s", c->peer.name, c->peer.join, c->t->live);
	else if (host->part != p->part && host->join)
		strbuf_printf(title, LINK_WITH "%s:%" PRIu64 " %s", host->name, host->join, c->t->live);
}

static void task_part(struct caller *c, const struct task_place *p, const struct order_host *host)
{
	struct link_detached detached;
	struct strbuf title = {0};
	struct err err;
	int rc;

	if (link_detach(c->link, &detached) < 0)
		return; /* the client is gone: on_closed() follows */
	title_write(c, p, host, &title);
	rc = apart_fork(c->t->apart, p->uid, detached.fd, title.text, &err);
	if (rc > 0)
		task_go_on(c, &detached, p, host);
	strbuf_fini(&title);
	if (rc < 0) {
		c->link = link_attach(c->t->loop, &detached, &caller_events, c);
		caller_refuse(c, err.text);
	} else {
		link_abandon(&detached);
		c->link = NULL;
		caller_end(c);
	}
}

/* ---- permissions ---- */

static int tasks_of(const struct tasks *t, uid_t uid)
{
	int n = t->apart ? apart_count_of(t->apart, uid) : 0;

	for (const struct caller *c = t->callers; c; c = c->next)
		n += c->runs && c->owner == uid;
	return n;
}

static int tasks_all(const struct tasks *t)
{
	int n = t->apart ? apart_count(t->apart) : 0;

	for (const struct caller *c = t->callers; c; c = c->next)
		n += c->runs;
	return n;
}

static bool room_check(const struct tasks *t, const struct task_place *p, struct strbuf *why)
{
	int of = tasks_of(t, p->uid), all = tasks_all(t);

	if (of >= t->most_of_one)
		strbuf_printf(why, "%s has %d tasks under way on %s, and may not have more: wait until one ends",
			      p->user, of, t->name);
	else if (all >= t->most)
		strbuf_printf(why, "%d tasks are under way on %s, and no more are taken: wait until one ends", all,
			      t->name);
	return why->n == 0;
}

static const struct order_host *host_find(const struct task_place *p, const char *node)
{
	for (int i = 0; i < p->nhosts; i++)
		if (strcmp(p->hosts[i].name, node) == 0)
			return &p->hosts[i];
	return NULL;
}

/* Returns true if the host has a part of the job: the name and the join that the server wrote into
 * the order, not an earlier join. */
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
	const struct order_host here = {.part = p->part}, *host = host_find(p, c->node);
	struct strbuf text = {0};

	/* the server has checked that its client may enter the job here */
	bool entered = c->host.name || (!c->purse && c->peer.role == CERT_SERVER && c->until);
	if (entered)
		host = &here;
	if (c->purse && c->purse->uid != p->uid) {
		caller_refuse(c, "it is another user's job");
	} else if (!c->purse && !entered && !peer_is_of(p, &c->peer)) {
		caller_refuse(c, "your host has no part of that job");
	} else if (!host || (!c->purse && host->part != p->part)) {
		strbuf_printf(&text, "%s is not a node of this job%s", c->node, c->purse ? "" : " on this host");
		caller_refuse(c, text.text);
	} else if (!room_check(c->t, p, &text)) {
		caller_refuse(c, text.text);
	} else if (c->t->apart) {
		task_part(c, p, host);
	} else {
		task_begin(c, p, host);
	}
	strbuf_fini(&text);
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

static void on_pause_over(uv_timer_t *t);

static void shepherd_ask(struct caller *c)
{
	struct err err;

	if (talk_open(c->t->loop, c->t->live, member_text(c->first, "tag"), on_who, c, &c->talk, &err) == 0) {
		talk_who(c->talk);
	} else if (uv_now(c->t->loop) >= c->until) {
		caller_refuse(c, err.text);
	} else {
		c->pause = mem_zalloc(sizeof *c->pause);
		uv_timer_init(c->t->loop, c->pause);
		c->pause->data = c;
		uv_timer_start(c->pause, on_pause_over, AGAIN_MS, 0);
	}
}

static void on_pause_over(uv_timer_t *t)
{
	struct caller *c = t->data;

	uv_close((uv_handle_t *)c->pause, handle_free);
	c->pause = NULL;
	shepherd_ask(c);
}

static void first_take(struct caller *c, json_t *head)
{
	c->first = json_incref(head);
	if (c->host.name) {
		json_object_set_new(head, "tag", json_string(c->tag));
		json_object_set_new(head, "node", json_string(c->host.name));
		json_object_set_new(head, "await", json_true());
	}
	c->node = mem_strdup(member_text(head, "node"));
	link_pause(c->link, true);
	if (json_is_true(json_object_get(head, "await")))
		c->until = uv_now(c->t->loop) + AWAIT_MS;
	if (strcmp(member_text(head, "t"), "task") != 0 || !*member_text(head, "tag"))
		caller_refuse(c, "the first message must be a task");
	else if (c->host.join)
		far_start(c, &c->host);
	else
		shepherd_ask(c);
}

/* ---- the caller's link ---- */

static void on_frame(void *context, struct link *l, json_t *head, const char *data, size_t n)
{
	struct caller *c = context;

	if (!c->node)
		first_take(c, head);
	else if (c->here)
		task_here_frame(c->here, member_text(head, "t"), head, data, n);
	else if (c->far)
		task_far_frame(c->far, head, data, n);
}

static void on_drained(void *context, struct link *l)
{
	struct caller *c = context;

	if (c->here)
		task_here_drained(c->here);
	else if (c->far)
		task_far_drained(c->far);
}

static void on_closed(void *context, struct link *l, const char *reason)
{
	struct caller *c = context;

	link_share(l, NULL); /* its memory is freed after this */
	c->link = NULL;
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
	link_expire(l, 0); /* see task_far.c */
	link_events_set(l, &caller_events, c);
	link_notice_end(l);
	first_take(c, first);
}

/* ---- the socket ---- */

static struct purse *purse_get(struct tasks *t, uid_t uid)
{
	struct purse *p = t->purses;

	while (p && p->uid != uid)
		p = p->next;
	if (p)
		return p;
	p = mem_zalloc(sizeof *p);
	*p = (struct purse){.next = t->purses, .uid = uid};
	t->purses = p;
	return p;
}

/* Refuses a connection without creating a caller. */
static void refuse_at_once(int fd)
{
	struct strbuf head = {0}, frame = {0};

	refusal_write("too many programs ask this host's agent for tasks at the same moment: try again", &head);
	frame_put(&frame, head.text, head.n, NULL, 0);
	send(fd, frame.text, frame.n, MSG_NOSIGNAL | MSG_DONTWAIT);
	close(fd);
	strbuf_fini(&head);
	strbuf_fini(&frame);
}

/* Makes a caller of a connection of the user's; NULL: there are too many. */
static struct caller *user_admit(struct tasks *t, int fd, uid_t uid)
{
	struct purse *purse = purse_get(t, uid);
	struct caller *c;

	if (t->ncallers >= CALLERS_MOST || purse->callers >= CALLERS_OF_ONE) {
		refuse_at_once(fd);
		return NULL;
	}
	c = caller_create(t, NULL);
	c->purse = purse;
	purse->callers++;
	c->link = link_open(t->loop, fd, NULL, &caller_events, c);
	link_trust(c->link);		    /* a whole environment may come */
	link_share(c->link, &purse->share); /* but not too many at once */
	link_notice_end(c->link);
	return c;
}

static void on_accept(void *context, int events)
{
	struct tasks *t = context;
	int fd = accept4(watch_fd(t->socket), NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct ucred who;
	socklen_t n = sizeof who;

	if (fd >= 0 && getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &n) < 0)
		refuse_at_once(fd);
	else if (fd >= 0)
		user_admit(t, fd, who.uid);
}

void tasks_enter(struct tasks *t, int fd, uid_t uid, const char *tag, const struct order_host *host)
{
	struct caller *c = user_admit(t, fd, uid);

	if (!c)
		return;
	c->tag = mem_strdup(tag);
	c->host = *host;
	c->host.name = mem_strdup(host->name);
	c->host.address = mem_strdup(host->address);
}

void tasks_identity(struct tasks *t, struct tls_context *tls)
{
	if (t->tls)
		tls_context_free(t->tls);
	t->tls = tls ? tls_context_ref(tls) : NULL;
}

int tasks_open(struct tasks *t, const char *socket, struct tls_context *tls, struct err *err)
{
	int fd = t->path ? 0 : unix_listen(socket, 0666, err);

	if (t->path || fd < 0)
		return fd;
	t->path = mem_strdup(socket);
	t->socket = watch_open(t->loop, fd, on_accept, t);
	watch_for(t->socket, UV_READABLE);
	tasks_identity(t, tls);
	return 0;
}

int tasks_start(uv_loop_t *loop, const struct tasks_options *o, struct tasks **ret, struct err *err)
{
	struct tasks *t = mem_zalloc(sizeof *t);

	*t = (struct tasks){.loop = loop,
			    .live = mem_strdup(o->live),
			    .name = mem_strdup(o->name),
			    .most = o->most ? o->most : TASKS_MOST,
			    .most_of_one = o->most_of_one ? o->most_of_one : TASKS_OF_ONE,
			    .patience = o->patience ? o->patience : PATIENCE_MS};
	int rc = o->socket ? tasks_open(t, o->socket, o->tls, err) : 0;
	if (rc < 0) {
		free(t->live);
		free(t->name);
		free(t);
		return rc;
	}
	if (!o->socket)
		tasks_identity(t, o->tls);
	t->apart = o->apart ? apart_create(loop) : NULL;
	*ret = t;
	return 0;
}

struct title_question {
	const struct tasks *t;
	const struct revoked *r;
};

static bool title_is_revoked(void *context, const char *title)
{
	const struct title_question *q = context;
	const char *with = strstr(title, LINK_WITH), *name = with ? with + strlen(LINK_WITH) : "",
		   *colon = strchr(name, ':'), *blank = strchr(name, ' ');
	struct cert_names who = {.role = CERT_NODE};

	if (!colon || !blank || strcmp(blank + 1, q->t->live) != 0)
		return false;
	snprintf(who.name, sizeof who.name, "%.*s", (int)(colon - name), name);
	who.join = strtoull(colon + 1, NULL, 10);
	return revoked_has(q->r, &who);
}

void tasks_revoke(struct tasks *t, const struct revoked *r)
{
	struct title_question q = {t, r};
	struct caller *next;

	for (struct caller *c = t->callers; c; c = next) {
		next = c->next;
		if (c->far && task_far_revoked(c->far, r))
			caller_refuse(c, "that host was removed from the cluster");
	}
	if (t->apart)
		apart_kill(t->apart, title_is_revoked, &q);
}

void tasks_stop(struct tasks *t)
{
	while (t->callers)
		caller_end(t->callers);
	apart_free(t->apart);
	for (struct purse *p = t->purses, *next; p; p = next) {
		next = p->next;
		free(p);
	}
	watch_close(t->socket);
	if (t->path)
		unlink(t->path);
	if (t->tls)
		tls_context_free(t->tls);
	free(t->path);
	free(t->live);
	free(t->name);
	free(t);
}
