/*
 * local.c - the engine of one machine: a nursery next to the server, results in its frames, live
 * files as the truth.
 *
 * The end of an attempt is noticed in two ways: by its result, which the nursery passes on for its
 * own children and which those of an earlier nursery send as a datagram; or, if that was lost or
 * the shepherd was killed, by the end of the shepherd's process, which the nursery reports for its
 * own children and a pidfd for the others. Then the live file decides.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/hostlist.h"
#include "base/map.h"
#include "base/unixsock.h"
#include "base/vec.h"
#include "engine/local.h"
#include "run/lease.h"
#include "run/message.h"
#include "run/nursery.h"

#define DATAGRAM_MAX 65536
#define NURSERY_WAIT_MS 60000
#define TRIES 5 /* attempts to start another nursery, each of which may be killed meanwhile */
#define DATAGRAMS_A_TURN 256
#define PID_WAIT_MS 1000 /* ms for a shepherd to write its pid, the first thing it does */

/* A running attempt whose shepherd is not a child of the current nursery. */
struct adopted {
	struct local *e;
	uv_poll_t poll;
	int pidfd;
	char tag[64];
};

struct local {
	uv_loop_t *loop;
	struct local_options o; /* strings are owned */
	struct local_listener l;
	struct nursery nursery;
	uv_poll_t poll;	   /* the nursery's socket */
	uv_poll_t results; /* datagrams */
	bool polling;
	bool full;	    /* the nursery's socket is full: `poll` waits until it can be written */
	int datagrams, dir; /* descriptors; `dir` is LIVE */
	struct map written; /* hashes of tags whose live file is known to have the result */
	struct strbuf out, in;
	size_t sent;
	VEC(int) fds; /* received, but not yet claimed by an answer */
	name_list ordered, erasing;
	VEC(struct unsure {
		char tag[64];
		int signal; /* signal, walltime_word() or save_word() */
	}) unsure;	    /* signals that the nursery has not confirmed */
	VEC(struct adopted *) adopted;
	bool stopping;
};

static void say(struct local *e, const struct news *n)
{
	e->l.heard(e->l.context, n);
}

static void say_ended(struct local *e, const struct result *r)
{
	say(e, &(struct news){.report = SAYS_ENDED, .tag = r->tag, .r = r});
}

static void say_saved(struct local *e, const char *tag, const struct saves *v)
{
	if (saves_any(v))
		say(e, &(struct news){.report = SAYS_SAVED, .tag = tag, .saves = v});
}

/* Reads the outcome from the live file. */
static enum attempt_state attempt_look(struct local *e, const char *tag)
{
	struct arena *a = arena_create();
	struct result r = {0};
	pid_t pid = 0;
	enum attempt_state s = ATTEMPT_NEVER;

	switch (live_look(e->o.live, tag, a, &r, &pid)) {
	case LIVE_NONE:
		break;
	case LIVE_NEVER:
		live_remove(e->o.live, tag);
		say(e, &(struct news){.report = SAYS_REFUSED, .tag = tag});
		break;
	case LIVE_RUNNING:
		s = ATTEMPT_RUNS;
		break;
	case LIVE_ENDED:
		s = ATTEMPT_ENDED;
		say_ended(e, &r);
		break;
	case LIVE_LOST:
		s = ATTEMPT_LOST;
		say_saved(e, tag, &r.saves);
		nursery_clean(tag, &e->out);
		break;
	}
	arena_destroy(a);
	return s;
}

static void adopted_free(uv_handle_t *h)
{
	struct adopted *a = h->data;

	close(a->pidfd);
	free(a);
}

static void adopted_drop(struct adopted *a)
{
	struct local *e = a->e;

	for (size_t i = 0; i < e->adopted.n; i++)
		if (e->adopted.v[i] == a) {
			e->adopted.v[i] = e->adopted.v[--e->adopted.n];
			break;
		}
	uv_poll_stop(&a->poll);
	uv_close((uv_handle_t *)&a->poll, adopted_free);
}

static void on_adopted_end(uv_poll_t *poll, int status, int events)
{
	struct adopted *a = poll->data;
	struct local *e = a->e;
	char tag[64];

	memcpy(tag, a->tag, sizeof tag);
	adopted_drop(a);
	attempt_look(e, tag);
	local_flush(e);
}

static void local_adopt(struct local *e, const char *tag, pid_t pid)
{
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	struct adopted *a;

	if (pidfd < 0) { /* it has just ended */
		attempt_look(e, tag);
		return;
	}
	a = mem_zalloc(sizeof *a);
	a->e = e;
	a->pidfd = pidfd;
	strncpy(a->tag, tag, sizeof a->tag - 1);
	uv_poll_init(e->loop, &a->poll, pidfd);
	a->poll.data = a;
	uv_poll_start(&a->poll, UV_READABLE, on_adopted_end);
	vec_push(&e->adopted, a);
}

enum attempt_state local_attach(struct local *e, const char *tag)
{
	struct arena *a = arena_create();
	struct result r;
	pid_t pid = 0;
	enum live_state live = live_look(e->o.live, tag, a, &r, &pid);

	/* it was just forked */
	for (int turn = 0; turn < PID_WAIT_MS && live == LIVE_RUNNING && !pid; turn++) {
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
		live = live_look(e->o.live, tag, a, &r, &pid);
	}
	arena_destroy(a);
	if (live == LIVE_NEVER) {
		live_remove(e->o.live, tag);
		return ATTEMPT_NEVER;
	}
	if (live != LIVE_RUNNING)
		return attempt_look(e, tag);
	if (r.ready)
		say(e, &(struct news){.report = SAYS_READY, .tag = tag});
	say_saved(e, tag, &r.saves);
	local_adopt(e, tag, pid);
	return ATTEMPT_RUNS;
}

/* ---- results ---- */

/* Returns true for a result that comes after the end was noticed otherwise, and perhaps
 * forgotten. */
static bool is_forgotten(const struct local *e, const char *tag)
{
	return faccessat(e->dir, tag, F_OK, 0) < 0 && errno == ENOENT;
}

static uint64_t tag_hash(const char *tag)
{
	return hash_bytes(tag, strlen(tag));
}

static void datagrams_take(struct local *e)
{
	static char data[DATAGRAM_MAX]; /* single-threaded */

	for (int i = 0; i < DATAGRAMS_A_TURN; i++) {
		ssize_t n = recv(e->datagrams, data, sizeof data, MSG_DONTWAIT);
		if (n < 0)
			break;
		struct arena *a = arena_create();
		struct result r;
		if (result_read(data, (size_t)n, a, &r, NULL) < 0)
			; /* from another version */
		else if (r.ready)
			say(e, &(struct news){.report = SAYS_READY, .tag = r.tag});
		else if (r.saved && !is_forgotten(e, r.tag))
			say_saved(e, r.tag, &r.saves);
		else if (r.saved)
			;
		else if (r.how == RESULT_RUNS)
			say(e, &(struct news){.report = SAYS_USED, .tag = r.tag, .r = &r});
		else if (!is_forgotten(e, r.tag))
			say_ended(e, &r);
		arena_destroy(a);
	}
}

static void on_result(uv_poll_t *poll, int status, int events)
{
	datagrams_take(poll->data);
}

/* ---- the nursery ---- */

static bool name_drop(name_list *list, const char *tag)
{
	for (size_t i = 0; i < list->n; i++)
		if (strcmp(list->v[i], tag) == 0) {
			free(list->v[i]);
			vec_remove(list, i);
			return true;
		}
	return false;
}

static void on_answer(struct local *e, const struct answer *a)
{
	char tag[64];
	int fd = -1;

	switch (a->type) {
	case ANSWER_STARTED:
		name_drop(&e->ordered, a->tag);
		say(e, &(struct news){.report = SAYS_STARTED, .tag = a->tag, .pid = a->pid});
		break;
	/* without a tag: the nursery could not read the order; it answers orders one after the
	 * other, so this is the oldest */
	case ANSWER_REFUSED:
		snprintf(tag, sizeof tag, "%s", a->tag ? a->tag : e->ordered.n ? e->ordered.v[0] : "");
		name_drop(&e->ordered, tag);
		say(e, &(struct news){.report = SAYS_REFUSED,
				      .tag = tag,
				      .reason = a->reason ? a->reason : "no reason was given",
				      .unclear = a->unclear});
		break;
	case ANSWER_DIED:
		attempt_look(e, a->tag);
		break;
	case ANSWER_CLEANED:
		say(e, &(struct news){.report = SAYS_LOST, .tag = a->tag});
		break;
	case ANSWER_SIGNALED:
		if (e->unsure.n)
			vec_remove(&e->unsure, 0);
		break;
	case ANSWER_ERASED:
		if (a->tag && name_drop(&e->erasing, a->tag) && e->l.erased)
			e->l.erased(e->l.context, a->tag, a->reason);
		break;
	case ANSWER_LOOKED:
		if (e->l.looked)
			e->l.looked(e->l.context, a->id, &(struct sight){a->fs, a->directory, a->home});
		break;
	case ANSWER_OPENED:
		if (!a->reason && e->fds.n) {
			fd = e->fds.v[0];
			vec_remove(&e->fds, 0);
		}
		e->l.opened(e->l.context, a->id, fd, a->reason);
		break;
	}
}

static void on_frame(struct local *e, char kind, const char *text, size_t length, struct arena *arena)
{
	struct answer a;
	struct result r;

	if (kind == FRAME_ANSWER && answer_read(text, length, arena, &a, NULL) == 0)
		on_answer(e, &a);
	if (kind != FRAME_RESULT)
		return;
	if (result_read(text, length, arena, &r, NULL) < 0)
		attempt_look(e, order_tag(text, length, arena));
	else if (!is_forgotten(e, r.tag)) {
		map_set(&e->written, tag_hash(r.tag), 1);
		say_ended(e, &r);
	}
}

/* Handles the complete frames at the front of the buffer. The datagrams come first: a shepherd sent
 * them before the result that the nursery passes on. */
static void take_frames(struct local *e)
{
	size_t at = 0, length;
	const char *text;
	ssize_t n;
	char kind;

	datagrams_take(e);
	while ((n = message_next(e->in.text + at, e->in.n - at, &kind, &text, &length)) > 0) {
		struct arena *arena = arena_create();
		on_frame(e, kind, text, length, arena);
		arena_destroy(arena);
		at += (size_t)n;
	}
	if (at) {
		memmove(e->in.text, e->in.text + at, e->in.n - at);
		e->in.n -= at;
	}
}

static ssize_t receive(struct local *e)
{
	char data[65536];
	int fds[UNIX_FDS_MOST];
	size_t nfds;
	ssize_t n = unix_receive(e->nursery.fd, data, sizeof data, fds, UNIX_FDS_MOST, &nfds, MSG_DONTWAIT);

	for (size_t i = 0; i < nfds; i++)
		vec_push(&e->fds, fds[i]);
	if (n > 0)
		strbuf_add(&e->in, data, (size_t)n);
	return n;
}

static void on_nursery(uv_poll_t *poll, int status, int events);

static int nursery_begin(struct local *e, struct err *err)
{
	struct nursery_options o = {
		.live = e->o.live,
		.socket = e->o.socket,
		.cgroup = e->o.cgroup,
		.root_jobs = e->o.root_jobs,
	};
	int rc = nursery_start(e->o.program, &o, NURSERY_WAIT_MS, &e->nursery, err);

	if (rc < 0)
		return rc;
	uv_poll_init(e->loop, &e->poll, e->nursery.fd);
	e->poll.data = e;
	uv_poll_start(&e->poll, UV_READABLE, on_nursery);
	e->polling = true;
	e->full = false;
	return 0;
}

static bool local_is_there(struct local *e, const char *tag)
{
	struct arena *a = arena_create();
	struct result r;
	pid_t pid;
	enum live_state live = live_look(e->o.live, tag, a, &r, &pid);

	arena_destroy(a);
	return live != LIVE_NONE && live != LIVE_NEVER;
}

static void adopt_one(void *context, const char *tag)
{
	struct local *e = context;

	for (size_t i = 0; i < e->adopted.n; i++)
		if (strcmp(e->adopted.v[i]->tag, tag) == 0)
			return;
	if (local_attach(e, tag) == ATTEMPT_NEVER)
		say(e, &(struct news){.report = SAYS_REFUSED, .tag = tag});
}

static void on_poll_closed(uv_handle_t *h)
{
	struct local *e = h->data;
	struct err err;
	name_list doubt = e->ordered;
	int rc = -EPIPE;

	close(e->nursery.fd);
	e->polling = false;
	strbuf_clear(&e->in);
	strbuf_clear(&e->out);
	e->sent = 0;
	if (e->stopping) {
		map_fini(&e->written);
		close(e->dir);
		e->dir = -1;
		return;
	}
	if (e->o.drop) {
		e->l.failed(e->l.context, "the nursery ended, and only root can start another");
		return;
	}
	/* a nursery without its socket is useless; waiting for a killed one does not block */
	kill(e->nursery.pid, SIGKILL);
	waitpid(e->nursery.pid, NULL, 0);
	for (int i = 0; i < TRIES && rc == -EPIPE; i++)
		rc = nursery_begin(e, &err);
	if (rc < 0) {
		e->l.failed(e->l.context, err.text);
		return;
	}
	/* Orders without an answer: the live files show which of them were executed. The nursery
	 * ended before it handled the others. */
	memset(&e->ordered, 0, sizeof e->ordered);
	for (size_t i = 0; i < doubt.n; i++)
		say(e, &(struct news){.report = local_is_there(e, doubt.v[i]) ? SAYS_STARTED : SAYS_REFUSED,
				      .tag = doubt.v[i]});
	name_list_free(&doubt);
	for (; e->erasing.n; free(e->erasing.v[--e->erasing.n]))
		if (e->l.erased)
			e->l.erased(e->l.context, e->erasing.v[e->erasing.n - 1], "the nursery was lost meanwhile");
	/* shepherds that the lost nursery watched for us */
	live_list(e->o.live, adopt_one, e, NULL);
	/* a signal that was already sent may arrive twice without harm */
	for (size_t i = 0; i < e->unsure.n; i++)
		nursery_signal(e->unsure.v[i].tag, e->unsure.v[i].signal, &e->out);
	local_flush(e);
}

static void nursery_lost(struct local *e)
{
	uv_poll_stop(&e->poll);
	e->poll.data = e;
	uv_close((uv_handle_t *)&e->poll, on_poll_closed);
}

static void on_nursery(uv_poll_t *poll, int status, int events)
{
	struct local *e = poll->data;

	if (events & UV_WRITABLE)
		local_flush(e);
	if (!(events & UV_READABLE) && status >= 0)
		return;
	for (int i = 0; i < 16; i++) {
		ssize_t n = receive(e);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			break;
		if (n <= 0) {
			take_frames(e);
			nursery_lost(e);
			return;
		}
	}
	take_frames(e);
	local_flush(e); /* orders for the processes that lost shepherds left behind */
}

void local_flush(struct local *e)
{
	while (e->polling && e->sent < e->out.n) {
		ssize_t n = send(e->nursery.fd, e->out.text + e->sent, e->out.n - e->sent, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			if (errno == EAGAIN && !e->full) {
				e->full = true;
				uv_poll_start(&e->poll, UV_READABLE | UV_WRITABLE, on_nursery);
			}
			return; /* for any other error, reading will find the end */
		}
		e->sent += (size_t)n;
	}
	if (e->polling && e->sent && e->sent == e->out.n) {
		strbuf_clear(&e->out);
		e->sent = 0;
		if (e->full) /* only then: it takes two system calls */
			uv_poll_start(&e->poll, UV_READABLE, on_nursery);
		e->full = false;
	}
}

void local_order(struct local *e, const struct order *o)
{
	vec_push(&e->ordered, mem_strdup(o->tag));
	nursery_order(o, &e->out);
}

size_t local_backlog(const struct local *e)
{
	return e->ordered.n;
}

void local_signal(struct local *e, const char *tag, int signal)
{
	struct unsure u = {.signal = signal};

	snprintf(u.tag, sizeof u.tag, "%s", tag);
	vec_push(&e->unsure, u);
	nursery_signal(tag, signal, &e->out);
}

void local_limit(struct local *e, const char *tag, int64_t walltime)
{
	local_signal(e, tag, walltime_word(walltime));
}

void local_save(struct local *e, const char *tag, enum checkpoint_cause cause, int64_t seconds)
{
	local_signal(e, tag, save_word(cause, seconds));
}

void local_open(struct local *e, uint64_t id, uid_t uid, gid_t gid, const char *user, const char *path, int flags,
		int mode)
{
	nursery_open(id, uid, gid, user, path, flags, mode, &e->out);
}

void local_rename(struct local *e, uint64_t id, const struct nursery_user *who, const char *from, const char *path)
{
	nursery_rename(id, who, from, path, &e->out);
}

void local_look(struct local *e, uint64_t id, uid_t uid, gid_t gid, const char *user, const char *path)
{
	nursery_look(id, &(struct nursery_user){uid, gid, user}, path, &e->out);
}

void local_erase(struct local *e, const char *tag, const struct nursery_user *who, const char *path)
{
	vec_push(&e->erasing, mem_strdup(tag));
	nursery_erase(tag, who, path, &e->out);
}

void local_forget(struct local *e, const char *tag)
{
	for (size_t i = 0; i < e->adopted.n; i++)
		if (strcmp(e->adopted.v[i]->tag, tag) == 0) {
			adopted_drop(e->adopted.v[i]);
			break;
		}
	/* The nursery has the time. If it is lost before, the file is found again, as when the
	 * server is. */
	if (map_remove(&e->written, tag_hash(tag)))
		nursery_forget(tag, &e->out);
	else
		live_remove(e->o.live, tag);
}

/* ---- inventory ---- */

struct listing {
	struct local *e;
	void (*one)(void *context, const struct local_item *i);
	void *context;
};

static void list_one(void *context, const char *tag)
{
	static const enum attempt_state states[] = {[LIVE_NONE] = ATTEMPT_NEVER,
						    [LIVE_NEVER] = ATTEMPT_NEVER,
						    [LIVE_RUNNING] = ATTEMPT_RUNS,
						    [LIVE_ENDED] = ATTEMPT_ENDED,
						    [LIVE_LOST] = ATTEMPT_LOST};
	struct listing *l = context;
	struct arena *a = arena_create();
	struct result r = {0};
	pid_t pid;
	enum live_state live = live_look(l->e->o.live, tag, a, &r, &pid);
	struct local_item i = {.tag = tag,
			       .state = states[live],
			       .ready = live == LIVE_RUNNING && r.ready,
			       .result = live == LIVE_ENDED ? &r : NULL,
			       .saves = live == LIVE_RUNNING || live == LIVE_LOST ? &r.saves : NULL};

	if (i.saves && !saves_any(i.saves))
		i.saves = NULL;

	if (live != LIVE_NONE) /* it may just have been forgotten */
		l->one(l->context, &i);
	arena_destroy(a);
}

void local_list(struct local *e, void (*one)(void *context, const struct local_item *i), void *context)
{
	/* An order that the nursery has not answered has no live file yet, but will run. If the
	 * file appears meanwhile, the attempt is reported twice. */
	for (size_t i = 0; i < e->ordered.n; i++)
		if (!local_is_there(e, e->ordered.v[i]))
			one(context, &(struct local_item){.tag = e->ordered.v[i], .state = ATTEMPT_RUNS});
	live_list(e->o.live, list_one, &(struct listing){e, one, context}, NULL);
}

/* A word that can't be written counts as none: jobs with a lease then end in time rather than run
 * twice. */
void local_lease(struct local *e, int64_t asked, bool suspend)
{
	lease_write(e->o.live, asked, suspend, NULL);
}

struct sweep {
	struct local *e;
	bool (*known)(void *context, const char *tag);
	void *context;
};

static void sweep_one(void *context, const char *tag)
{
	struct sweep *s = context;
	struct arena *a;
	struct result r;
	pid_t pid;

	if (s->known(s->context, tag))
		return;
	a = arena_create();
	switch (live_look(s->e->o.live, tag, a, &r, &pid)) {
	case LIVE_RUNNING:
		local_signal(s->e, tag, SIGKILL);
		break;
	case LIVE_ENDED:
	case LIVE_NEVER:
		live_remove(s->e->o.live, tag);
		break;
	case LIVE_LOST:
		nursery_clean(tag, &s->e->out);
		break;
	case LIVE_NONE:
		break;
	}
	arena_destroy(a);
}

void local_sweep(struct local *e, bool (*known)(void *context, const char *tag), void *context)
{
	struct sweep s = {e, known, context};

	live_list(e->o.live, sweep_one, &s, NULL);
	local_flush(e);
}

int local_start(uv_loop_t *loop, const struct local_options *o, const struct local_listener *l, struct local **ret,
		struct err *err)
{
	struct local *e = mem_zalloc(sizeof *e);
	int rc;

	e->loop = loop;
	e->l = *l;
	e->o = *o;
	e->o.program = mem_strdup(o->program);
	e->o.live = mem_strdup(o->live);
	e->o.socket = mem_strdup(o->socket);
	e->o.cgroup = mem_strdup(o->cgroup);
	e->datagrams = unix_bind_datagram(o->socket, 0600, err);
	if (e->datagrams < 0) {
		rc = e->datagrams;
		free(e);
		return rc;
	}
	rc = nursery_begin(e, err);
	if (rc < 0) {
		close(e->datagrams);
		free(e);
		return rc;
	}
	e->dir = open(o->live, O_RDONLY | O_DIRECTORY | O_CLOEXEC); /* the nursery could open it */
	uv_poll_init(loop, &e->results, e->datagrams);
	e->results.data = e;
	uv_poll_start(&e->results, UV_READABLE, on_result);
	*ret = e;
	return 0;
}

void local_stop(struct local *e)
{
	e->stopping = true;
	local_flush(e);
	uv_poll_stop(&e->results);
	close(e->datagrams);
	e->datagrams = -1;
	if (e->polling) /* otherwise the descriptor was closed, and may be another's now */
		shutdown(e->nursery.fd, SHUT_WR);
}
