/*
 * enter.c - lets the owner of a running job start a program in it: the client's connection, after
 * its upgrade from HTTP, is relayed to the service of tasks (engine/tasks.h), which starts the
 * program on the job's node, as the user, with its limits and environment. It ends with the job, or
 * when the client hangs up.
 *
 * Browsers can't leave HTTP: to them the frames of the program are a stream, and their own are the
 * bodies of further requests with the stream's key. The program ends when the stream is closed.
 */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/frame.h"
#include "base/mem.h"
#include "core/cluster.h"
#include "engine/relay.h"
#include "engine/tasks.h"
#include "engine/watch.h"
#include "net/http.h"
#include "run/task.h"
#include "server/api/frame/audience.h"
#include "server/api/frame/call.h"
#include "server/api/frame/request.h"
#include "server/api/stream/terminal.h"
#include "server/base/asker.h"
#include "server/base/clock.h"
#include "server/base/post.h"
#include "server/base/turn.h"
#include "server/job/attempt.h"
#include "server/job/jobs.h"
#include "server/job/spec.h"
#include "server/node/nodes.h"
#include "server/server.h"
#include "server/site/realm.h"
#include "server/site/tokens.h"

#define STREAM_KEY_MIN 16
#define STREAM_KEY_MAX 39
#define INPUT_MOST 262144 /* bytes that wait for the program */
/* a silent stream gets a frame after this time, so that networks keep its connection and a client
 * that has vanished is noticed */
#define ALIVE_US (15 * INT64_C(1000000))

/* A client in a job. */
struct entered {
	struct server *s;
	struct entered *next;
	/* a client that has left HTTP */
	struct relay *relay;
	/* one that has not */
	struct http_request *r; /* the stream */
	struct watch *watch;	/* our end of the socket whose other end the service of tasks has */
	struct asker who;
	uint32_t job;
	char key[STREAM_KEY_MAX + 1];
	struct strbuf in; /* for the program, of which `sent` bytes were passed on */
	size_t sent;
	/* the frame in the stream of which a part has been sent: bytes left of it, or of its
	 * length the bytes that are known */
	size_t left, nsize;
	unsigned char size[4];
	int64_t last; /* boot_us of the last bytes */
};

/* What is known of a client and of the program's place. Context of http_upgrade(); in the request's
 * arena, since it may never be used. */
struct ticket {
	struct server *s;
	char tag[64];
	uid_t uid;
	bool remote;
	struct order_host host;
};

static void entered_free(struct entered *x)
{
	struct entered **at = &x->s->audience->entered;

	while (*at != x)
		at = &(*at)->next;
	*at = x->next;
	relay_close(x->relay);
	watch_close(x->watch);
	strbuf_fini(&x->in);
	free(x);
}

static struct entered *entered_create(struct server *s)
{
	struct entered *x = mem_zalloc(sizeof *x);

	*x = (struct entered){.s = s, .next = s->audience->entered};
	s->audience->entered = x;
	return x;
}

/* ---- a connection that has left HTTP ---- */

static void on_ended(void *context)
{
	struct entered *x = context;

	x->relay = NULL;
	entered_free(x);
}

static void on_taken(void *context, int fd, void *handle)
{
	const struct ticket *k = context;
	struct server *s = k->s;
	struct entered *x;
	int pair[2];

	if (!s->realm->tasks || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0) {
		http_release(handle);
		return;
	}
	x = entered_create(s);
	x->relay = relay_sockets(
		s->loop, &(struct relay_end){.fd = fd, .release = http_release, .handle = handle, .final = !k->remote},
		&(struct relay_end){.fd = pair[0]}, on_ended, x);
	tasks_enter(s->realm->tasks, pair[1], k->uid, k->tag, &k->host);
}

/* ---- a stream, and requests with input ---- */

/* Sends what waits for the program, and watches for `events` and for what could not be sent. */
static void stream_watch(struct entered *x, int events)
{
	ssize_t n = 1;

	while (n > 0 && x->sent < x->in.n) {
		n = send(watch_fd(x->watch), x->in.text + x->sent, x->in.n - x->sent, MSG_NOSIGNAL);
		x->sent += n > 0 ? (size_t)n : 0;
	}
	if (x->sent == x->in.n || (n < 0 && errno != EAGAIN && errno != EINTR)) {
		strbuf_clear(&x->in);
		x->sent = 0;
	}
	watch_for(x->watch, events | (x->in.n > 0 ? UV_WRITABLE : 0));
}

static void on_ready(void *context, int events)
{
	struct entered *x = context;

	stream_watch(x, events & UV_READABLE ? 0 : UV_READABLE);
	if (events & UV_READABLE) {
		stream_wake(x->r);
		turn_wake(x->s);
	}
}

/* Follows the program's frames, to know where one of ours may be put between them. */
static void frames_follow(struct entered *x, const char *data, size_t n)
{
	for (size_t taken; n > 0; data += taken, n -= taken)
		if (x->left > 0) {
			taken = n < x->left ? n : x->left;
			x->left -= taken;
		} else {
			taken = 1;
			x->size[x->nsize++] = (unsigned char)*data;
			if (x->nsize < sizeof x->size)
				continue;
			x->left = (size_t)x->size[0] << 24 | (size_t)x->size[1] << 16 | (size_t)x->size[2] << 8 |
				  x->size[3];
			x->nsize = 0;
		}
}

static bool is_silent(const struct entered *x)
{
	return x->left == 0 && x->nsize == 0 && x->s->clock->boot_us - x->last >= ALIVE_US;
}

static int fill(void *context, struct strbuf *out, size_t want)
{
	static const char alive[] = "{\"t\":\"alive\"}";
	struct entered *x = context;
	char data[65536];
	ssize_t n;

	if (x->s->turn->stopped || !token_holds(x->s, &x->who))
		return -1;
	n = read(watch_fd(x->watch), data, want < sizeof data ? want : sizeof data);
	if (n > 0) {
		frames_follow(x, data, (size_t)n);
		strbuf_add(out, data, (size_t)n);
		x->last = x->s->clock->boot_us;
		return 1;
	}
	if (n == 0 || (errno != EAGAIN && errno != EINTR))
		return -1;
	if (is_silent(x)) {
		frame_put(out, alive, sizeof alive - 1, NULL, 0);
		x->last = x->s->clock->boot_us;
	}
	stream_watch(x, UV_READABLE);
	return 0;
}

void entered_tick(struct server *s)
{
	for (struct entered *x = s->audience->entered; x; x = x->next)
		if (x->r && is_silent(x))
			stream_wake(x->r);
}

static void closed(void *context)
{
	entered_free(context);
}

/* Finds the stream of the job's owner with this key. */
static struct entered *stream_find(const struct server *s, uint32_t job, const char *key)
{
	struct entered *x = s->audience->entered;

	while (x && (!x->r || x->job != job || strcmp(x->key, key) != 0))
		x = x->next;
	return x;
}

/* ---- requests ---- */

/* Finds the node of an attempt that the client names; the first if it names none. */
static int32_t node_chosen(const struct server *s, const struct attempt *t, const char *name)
{
	for (uint32_t i = 0; i < t->nfrags; i++)
		if (!name || strcmp(names_get(&s->cluster->node_names, (uint32_t)t->node[i]), name) == 0)
			return t->node[i];
	return -1;
}

/* Finds the caller's own job. */
static bool own_job(struct server *s, const struct call *c, uint32_t *ret)
{
	struct array *a;

	if (!api_job(s, c->r, c->w, c->name, ret, &a))
		return false;
	if (c->w->uid != entry_get(s, *ret)->spec->uid)
		http_error(c->r, CODE_FORBIDDEN, "Only its owner can enter a job.");
	return c->w->uid == entry_get(s, *ret)->spec->uid;
}

/* Has the job's shepherd take tasks. Returns NULL after an error was sent. */
static struct ticket *ticket_make(struct server *s, const struct call *c, uint32_t id)
{
	const char *name = request_query(c->r, "node");
	const struct attempt *t = attempt_find(s, id, entry_job(s, id)->attempt);
	struct ticket *k;

	int32_t node = t && t->started ? node_chosen(s, t, name) : -1;
	if (entry_ended(s, id)) {
		http_error(c->r, CODE_FINISHED, "The job has ended.");
		return NULL;
	}
	if (!t || !t->started) {
		http_error(c->r, CODE_BAD_STATE, "The job has not started yet: there is nothing to enter.");
		return NULL;
	}
	if (node < 0) {
		http_error(c->r, CODE_UNKNOWN_NODE, "The job does not run on node %.60s.", name);
		return NULL;
	}
	const struct node_info *n = &s->hosts->nodes.v[node];
	k = arena_alloc(request_arena(c->r), sizeof *k);
	*k = (struct ticket){.s = s, .uid = c->w->uid, .remote = request_remote(c->r) != NULL};
	attempt_tag(s, id, t->attempt, k->tag);
	k->host = (struct order_host){
		.name = arena_printf(request_arena(c->r), "%s", names_get(&s->cluster->node_names, (uint32_t)node)),
		.address = arena_printf(request_arena(c->r), "%s", n->agent ? n->agent->address : ""),
		.join = n->join};
	struct signal_order order = {.signal = TASKS_WORD};
	attempt_tag(s, id, t->attempt, order.tag);
	vec_push(&s->post->signals, order);
	return k;
}

void api_enter(struct server *s, const struct call *c)
{
	const char *upgrade = request_header(c->r, "Upgrade");
	struct ticket *k;
	uint32_t id;

	if (!own_job(s, c, &id))
		return;
	if (!upgrade || strcasecmp(upgrade, TASK_PROTOCOL) != 0)
		http_error(c->r, CODE_BAD_REQUEST,
			   "A program does not speak HTTP: send 'Connection: Upgrade' and 'Upgrade: %s'.",
			   TASK_PROTOCOL);
	else if ((k = ticket_make(s, c, id)))
		http_upgrade(c->r, TASK_PROTOCOL, on_taken, k);
}

void api_program(struct server *s, const struct call *c)
{
	const char *key = request_query(c->r, "key");
	const struct ticket *k;
	struct entered *x;
	uint32_t id;
	int pair[2];

	if (!own_job(s, c, &id))
		return;
	if (strlen(key) < STREAM_KEY_MIN) {
		http_error(c->r, CODE_BAD_REQUEST, "The key has %d to %d characters.", STREAM_KEY_MIN, STREAM_KEY_MAX);
		return;
	}
	if (stream_find(s, id, key)) {
		http_error(c->r, CODE_BAD_STATE, "A program with this key runs in the job already.");
		return;
	}
	if (!(k = ticket_make(s, c, id)))
		return;
	if (!s->realm->tasks || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0) {
		http_error(c->r, CODE_UNAVAILABLE, "No program can be started now: try again in a moment.");
		return;
	}
	x = entered_create(s);
	x->r = c->r;
	x->who = *c->w;
	x->job = id;
	x->last = s->clock->boot_us;
	snprintf(x->key, sizeof x->key, "%s", key);
	x->watch = watch_open(s->loop, pair[0], on_ready, x);
	http_stream(c->r, 200, "application/octet-stream", &(struct stream_source){fill, closed, x});
	tasks_enter(s->realm->tasks, pair[1], k->uid, k->tag, &k->host);
}

void api_program_input(struct server *s, const struct call *c)
{
	struct entered *x;
	const char *data;
	uint32_t id;
	size_t n;

	if (!own_job(s, c, &id))
		return;
	if (!(x = stream_find(s, id, request_query(c->r, "key")))) {
		http_error(c->r, CODE_NOT_FOUND, "No program with this key runs in the job.");
		return;
	}
	data = request_body(c->r, &n);
	if (n > INPUT_MOST) {
		http_error(c->r, CODE_TOO_LARGE, "A program takes at most %d KiB at once: send its frames in parts.",
			   INPUT_MOST >> 10);
		return;
	}
	if (x->in.n - x->sent + n > INPUT_MOST) {
		http_error(c->r, CODE_TOO_MANY, "The program does not read its input: try again in a moment.");
		return;
	}
	if (x->sent > 0) /* what a slow program has read is not kept until it has read all */
		memmove(x->in.text, x->in.text + x->sent, x->in.n -= x->sent);
	x->sent = 0;
	strbuf_add(&x->in, data, n);
	stream_watch(x, UV_READABLE);
	reply_empty(s, c->r, 200);
}

void entered_end(struct server *s)
{
	while (s->audience->entered)
		entered_free(s->audience->entered);
}
