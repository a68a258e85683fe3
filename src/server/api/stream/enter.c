/*
 * enter.c - lets the owner of a running job start a program in it: the client's connection, after
 * its upgrade from HTTP, is relayed to the service of tasks (engine/tasks.h), which starts the
 * program on the job's node, as the user, with its limits and environment. It ends with the job, or
 * when the client hangs up.
 */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "base/arena.h"
#include "base/mem.h"
#include "core/cluster.h"
#include "engine/relay.h"
#include "engine/tasks.h"
#include "net/http.h"
#include "run/task.h"
#include "server/api/frame/audience.h"
#include "server/api/frame/call.h"
#include "server/api/frame/request.h"
#include "server/api/stream/terminal.h"
#include "server/base/asker.h"
#include "server/base/post.h"
#include "server/job/attempt.h"
#include "server/job/jobs.h"
#include "server/job/spec.h"
#include "server/node/nodes.h"
#include "server/server.h"
#include "server/site/realm.h"

/* A client in a job. */
struct entered {
	struct server *s;
	struct entered *next;
	struct relay *relay;
};

/* Context of http_upgrade(); in the request's arena, since it may never be used. */
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
	free(x);
}

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
	x = mem_zalloc(sizeof *x);
	*x = (struct entered){.s = s, .next = s->audience->entered};
	s->audience->entered = x;
	x->relay = relay_sockets(
		s->loop, &(struct relay_end){.fd = fd, .release = http_release, .handle = handle, .final = !k->remote},
		&(struct relay_end){.fd = pair[0]}, on_ended, x);
	tasks_enter(s->realm->tasks, pair[1], k->uid, k->tag, &k->host);
}

/* Finds the node of an attempt that the client names; the first if it names none. */
static int32_t node_chosen(const struct server *s, const struct attempt *t, const char *name)
{
	for (uint32_t i = 0; i < t->nfrags; i++)
		if (!name || strcmp(names_get(&s->cluster->node_names, (uint32_t)t->node[i]), name) == 0)
			return t->node[i];
	return -1;
}

static bool enter_may(struct server *s, const struct call *c, uint32_t id)
{
	const char *upgrade = request_header(c->r, "Upgrade");

	if (c->w->uid != s->jobs->entries.v[id].spec->uid)
		http_error(c->r, CODE_FORBIDDEN, "Only its owner can enter a job.");
	else if (!upgrade || strcasecmp(upgrade, TASK_PROTOCOL) != 0)
		http_error(c->r, CODE_BAD_REQUEST, "This is no HTTP: ask with 'Connection: Upgrade' and 'Upgrade: %s'.",
			   TASK_PROTOCOL);
	else if (entry_ended(s, id))
		http_error(c->r, CODE_FINISHED, "The job has ended.");
	else
		return true;
	return false;
}

void api_enter(struct server *s, const struct call *c)
{
	const char *name = request_query(c->r, "node");
	const struct attempt *t;
	struct ticket *k;
	struct array *a;
	uint32_t id;

	if (!api_job(s, c->r, c->w, c->name, &id, &a) || !enter_may(s, c, id))
		return;
	t = attempt_find(s, id, entry_job(s, id)->attempt);
	int32_t node = t && t->started ? node_chosen(s, t, name) : -1;
	if (!t || !t->started) {
		http_error(c->r, CODE_BAD_STATE, "The job has not started yet: there is nothing to enter.");
		return;
	}
	if (node < 0) {
		http_error(c->r, CODE_UNKNOWN_NODE, "The job does not run on node %.60s.", name);
		return;
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
	http_upgrade(c->r, TASK_PROTOCOL, on_taken, k);
}

void entered_end(struct server *s)
{
	while (s->audience->entered)
		entered_free(s->audience->entered);
}
