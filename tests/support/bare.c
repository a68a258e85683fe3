/*
 * bare.c - see bare.h.
 */
#include "support/bare.h"

#include <assert.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/code.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "engine/engine.h"
#include "engine/errands.h"
#include "engine/files.h"
#include "engine/local.h"
#include "engine/tasks.h"
#include "engine/terminals.h"
#include "engine/ticket.h"
#include "net/address.h"
#include "net/http.h"
#include "net/link.h"
#include "net/listener.h"
#include "net/protocol.h"
#include "net/url.h"
#include "rules/attr.h"
#include "server/api/frame/api.h"
#include "server/api/frame/audience.h"
#include "server/api/frame/route.h"
#include "server/api/page/files.h"
#include "server/api/stream/events.h"
#include "server/api/stream/output.h"
#include "server/base/clock.h"
#include "server/base/instance.h"
#include "server/base/post.h"
#include "server/base/reader.h"
#include "server/base/users.h"
#include "server/book/accounting.h"
#include "server/book/books.h"
#include "server/book/ledger.h"
#include "server/book/outbox.h"
#include "server/job/jobs.h"
#include "server/job/spec.h"
#include "server/life/world/dispatch.h"
#include "server/life/world/world.h"
#include "server/link/agents.h"
#include "server/loop.h"
#include "server/node/nodes.h"
#include "server/node/world_node.h"
#include "server/recover.h"
#include "server/server.h"
#include "server/settings/conf.h"
#include "server/site/courier.h"
#include "store/store.h"

static struct server *served; /* the last one opened */

struct http_request {
	struct server *s;
	const char *method, *path, *query, *body, *key;
	bool remote; /* it comes from another machine */
	struct bare_client from;
	size_t n;
	uid_t uid;
	uint64_t number;
	int64_t time_us;
	const struct inner *inner;
	int answers;
	struct bare_answer *answer;
	struct arena *arena;
	void *attached;
	void (*leave)(void *what);
	void (*taken)(void *context, int fd, void *handle); /* after an answer of 101 */
	void *taker;
};

const char *request_method(const struct http_request *r)
{
	return r->method;
}
const char *request_path(const struct http_request *r)
{
	return r->path;
}
const char *request_query(const struct http_request *r, const char *name)
{
	size_t n = strlen(name);

	for (const char *p = r->query; p && *p; p += strcspn(p, "&"), p += *p == '&')
		if (strncmp(p, name, n) == 0 && p[n] == '=')
			return url_decode(p + n + 1, strcspn(p + n + 1, "&"), 1, r->arena);
	return NULL;
}
const char *request_header(const struct http_request *r, const char *name)
{
	if (strcmp(name, "Idempotency-Key") == 0)
		return r->key;
	for (size_t i = 0; i < sizeof r->from.header / sizeof *r->from.header; i++)
		if (r->from.header[i].name && strcmp(name, r->from.header[i].name) == 0)
			return r->from.header[i].value;
	return strcmp(name, "Accept") == 0 && r->n % 2 ? "text/tab-separated-values" : NULL;
}
const char *request_body(const struct http_request *r, size_t *ret_n)
{
	if (ret_n)
		*ret_n = r->n;
	return r->body;
}
struct strbuf request_take_body(struct http_request *r)
{
	struct strbuf body = {0};

	strbuf_add(&body, r->body, r->n);
	return body;
}
struct peer request_peer(const struct http_request *r)
{
	return r->inner ? r->inner->peer : (struct peer){r->uid, getgid(), getpid()};
}
uint64_t request_number(const struct http_request *r)
{
	return r->number;
}

int64_t request_time_us(const struct http_request *r)
{
	return r->time_us;
}

const char *request_token(const struct http_request *r, const char **ret_address)
{
	*ret_address = r->inner && r->inner->token ? r->inner->address : NULL;
	return r->inner ? r->inner->token : NULL;
}

const char *request_remote(const struct http_request *r)
{
	return r->remote ? "192.0.2.7" : NULL;
}
bool request_page(const struct http_request *r)
{
	return r->from.page;
}
struct arena *request_arena(struct http_request *r)
{
	return r->arena;
}
void request_attach(struct http_request *r, void *what, void (*leave)(void *what))
{
	r->attached = what;
	r->leave = leave;
}
void *request_attached(const struct http_request *r)
{
	return r->attached;
}
/* Returns the route that described the request; NULL: none. */
static const struct route *route_of(const struct http_request *r)
{
	for (size_t i = 0; i < nroutes; i++)
		if (strcmp(routes[i].method, r->method) == 0 && fnmatch(routes[i].path, r->path, FNM_PATHNAME) == 0)
			return &routes[i];
	return NULL;
}

/* Checks that the API's description has this answer or this error. */
static void answer_check(const struct http_request *r, int status, const json_t *body)
{
	const struct route *route = route_of(r);
	const char *word = json_string_value(json_object_get(json_object_get(body, "error"), "code"));
	struct err err = {.text = ""};

	if (!route || !route->id || r->inner || r->path[strlen(r->path) - 1] == '/')
		return;
	bool again = status == 200 && route->keyed; /* what the first request with the key made */
	if (word ? route_codes(route) & UINT32_C(1) << code_find(word)
		 : (again || status == (route->status ? route->status : 200)) &&
			    (!route->answer || schema_check(route->answer, body, &err) == 0))
		return;
	fprintf(stderr, "%s %s %s: %d %s is not described (%s)\n", r->method, r->path, r->body, status,
		word ? word : "", err.text);
	json_dumpf(body, stderr, JSON_INDENT(1));
	assert(false);
}

static void answer(struct http_request *r, int status, const char *type, const char *text, size_t n)
{
	r->answers++;
	if (r->inner)
		r->inner->done(r->inner->context, status, text, n);
	if (!r->answer)
		return;
	r->answer->status = status;
	snprintf(r->answer->type, sizeof r->answer->type, "%s", type);
	strbuf_add(&r->answer->body, text, n);
}
void http_reply(struct http_request *r, int status, const char *type, const void *body, size_t n)
{
	answer(r, status, type, body, n);
}
void http_reply_strbuf(struct http_request *r, int status, const char *type, struct strbuf *body)
{
	json_t *json = strcmp(type, "application/json") == 0 ? json_loadb(strbuf_text(body), body->n, 0, NULL) : NULL;

	assert(strcmp(type, "application/json") != 0 || json);
	if (json)
		answer_check(r, status, json);
	json_decref(json);
	answer(r, status, type, strbuf_text(body), body->n);
	strbuf_fini(body);
}
void request_again(struct http_request *r)
{
	api_receive(r->s, r);
}
void http_header(struct http_request *r, const char *name, const char *value)
{
	if (strcmp(name, "Set-Cookie") == 0 && r->answer)
		snprintf(r->answer->cookie, sizeof r->answer->cookie, "%s", value);
	if (strcmp(name, "Idempotency-Replayed") == 0 && r->answer)
		r->answer->replayed = strcmp(value, "true") == 0;
}
int bare_fills;

void http_stream(struct http_request *r, int status, const char *type, const struct stream_source *source)
{
	struct strbuf out = {0}, sent = {0};

	for (bare_fills = 1; source->fill(source->context, &out, 65536) == 1; bare_fills++) {
		strbuf_add(&sent, strbuf_text(&out), out.n);
		strbuf_clear(&out);
	}
	strbuf_add(&sent, strbuf_text(&out), out.n);
	if (source->close)
		source->close(source->context);
	answer(r, status, type, strbuf_text(&sent), sent.n);
	strbuf_fini(&out);
	strbuf_fini(&sent);
}
void stream_wake(struct http_request *r)
{
}
/* Requests that stay allocated, since a server may hold them: they are not leaks. */
static VEC(struct http_request *) inner_requests;

/* Creates a request that is answered directly, without a flush. */
struct http_request *http_inner(struct http *h, const struct inner *x)
{
	struct arena *a = arena_create();
	struct http_request *r = arena_alloc(a, sizeof *r);
	struct inner *copy = arena_alloc(a, sizeof *copy);

	*copy = *x;
	copy->token = x->token ? arena_strndup(a, x->token, strlen(x->token)) : NULL;
	copy->address = x->address ? arena_strndup(a, x->address, strlen(x->address)) : NULL;
	*r = (struct http_request){.s = served,
				   .method = arena_strndup(a, x->method, strlen(x->method)),
				   .path = arena_strndup(a, x->path, strlen(x->path)),
				   .key = arena_strndup(a, x->key, strlen(x->key)),
				   .body = arena_strndup(a, x->body, x->n),
				   .n = x->n,
				   .uid = x->peer.uid,
				   .number = x->number,
				   .time_us = x->time_us,
				   .inner = copy,
				   .arena = a};
	vec_push(&inner_requests, r);
	return r;
}
void http_flush(struct http *h)
{
}
void http_send(struct http *h)
{
}
struct http_stats http_stats(const struct http *h)
{
	return (struct http_stats){0};
}

int http_connections_idle(const struct http *h)
{
	return 0;
}
int http_start(uv_loop_t *loop, int fd, const struct http_limits *limits, http_handler handle, void *context,
	       struct http **ret, struct err *err)
{
	return 0;
}
void http_stop(struct http *h)
{
}

/* ---- processes ---- */

typedef VEC(struct bare_attempt) attempt_vec;
static attempt_vec attempts; /* the attempts of this process; they outlive the servers */

static struct bare_attempt *attempt_at(const char *tag)
{
	for (size_t i = 0; i < attempts.n; i++)
		if (strcmp(attempts.v[i].tag, tag) == 0)
			return &attempts.v[i];
	return NULL;
}

size_t bare_attempts(const struct bare_attempt **ret)
{
	*ret = attempts.v;
	return attempts.n;
}

void bare_forget(const char *tag)
{
	struct bare_attempt *x = attempt_at(tag);

	if (x)
		vec_remove(&attempts, (size_t)(x - attempts.v));
}

void bare_lose(const char *tag)
{
	attempt_at(tag)->lost = true;
}

void bare_clear(void)
{
	vec_clear(&attempts);
}

/* ---- a host with an agent ---- */

/* The only link; not connected if NULL or of another host. */
struct link {
	struct server *s;
	struct cert_names who;
	const struct link_events *events;
	void *context;
	bool closed; /* closed by the server */
};
static struct link *agent;

/* Attempts to be reported when the host connects: those that a server found running while it was
 * away, and lost orders. */
struct awaited {
	char tag[64];
};
static VEC(struct awaited) awaited;

static bool host_there(const char *host)
{
	return strcmp(host, HOST_HERE) == 0 || (agent && !agent->closed && strcmp(agent->who.name, host) == 0);
}

bool bare_reached(const struct bare_attempt *x)
{
	return host_there(x->host);
}

void bare_agent_hear(struct server *s, const struct cert_names *who, const char *facts, const json_t *owner)
{
	json_t *hello = json_pack("{s:s,s:i,s:o}", "t", "hello", "protocol", PROTOCOL, "facts",
				  json_loads(facts, 0, NULL)),
	       *ping = json_pack("{s:s,s:O*}", "t", "ping", "owner", owner);

	assert(hello && ping);
	if (agent && agent->closed)
		bare_agent_go(false);
	if (!agent) {
		agent = mem_zalloc(sizeof *agent);
		*agent = (struct link){.s = s, .who = *who};
		agents_link(s, agent);
		agent->events->frame(agent->context, agent, hello, NULL, 0);
	}
	if (!agent->closed)
		agent->events->frame(agent->context, agent, ping, NULL, 0);
	json_decref(hello);
	json_decref(ping);
}

static void await(const char *tag)
{
	struct awaited w;

	snprintf(w.tag, sizeof w.tag, "%s", tag);
	vec_push(&awaited, w);
}

void bare_agent_go(bool lossy)
{
	if (!agent)
		return;
	agent->events->closed(agent->context, agent, "the connection is lost");
	for (size_t i = attempts.n; lossy && i-- > 0;)
		if (!attempts.v[i].started && strcmp(attempts.v[i].host, agent->who.name) == 0) {
			await(attempts.v[i].tag);
			vec_remove(&attempts, i);
		}
	free(agent);
	agent = NULL;
}

/* Drops both sides of the connection: its server is gone. */
static void agent_forget(void)
{
	free(agent);
	agent = NULL;
	vec_clear(&awaited);
}

void bare_started(struct server *s, const char *tag)
{
	attempt_at(tag)->started = true;
	dispatch_engine.attempt_started(s, tag, 4711);
}

void (*bare_ordered)(const struct part_order *parts, int n);

void engine_start(struct engine *e, const struct part_order *parts, int n)
{
	struct bare_attempt x = {0};

	if (attempt_at(parts[0].order.tag))
		fprintf(stderr, "ordered twice: %s\n", parts[0].order.tag);
	assert(!attempt_at(parts[0].order.tag));
	snprintf(x.tag, sizeof x.tag, "%s", parts[0].order.tag);
	for (int i = n; i-- > 0 && !*x.host;)
		snprintf(x.host, sizeof x.host, "%s", parts[i].host);
	assert(host_there(x.host));
	x.walltime = parts[0].order.walltime;
	vec_push(&attempts, x);
	if (bare_ordered)
		bare_ordered(parts, n);
}
void engine_signal(struct engine *e, const char *tag, int signal)
{
	struct bare_attempt *x = attempt_at(tag);

	if (x)
		x->signal = signal;
}
void engine_save(struct engine *e, const char *tag, enum checkpoint_cause cause, int64_t seconds)
{
	struct bare_attempt *x = attempt_at(tag);

	if (x && cause_is_final(cause))
		x->saves++;
}

void engine_limit(struct engine *e, const char *tag, int64_t walltime)
{
	struct bare_attempt *x = attempt_at(tag);

	if (x)
		x->walltime = walltime;
}

int (*bare_opens)(const char *path, int flags, int mode);

void engine_open(struct engine *e, uint64_t id, const struct nursery_user *who, const char *path, int flags, int mode)
{
	int fd = bare_opens ? bare_opens(path, flags, mode) : -1;

	if (bare_opens && !files_opened(served, id, fd, fd < 0 ? strerror(errno) : NULL))
		output_opened(served, id, fd, fd < 0 ? strerror(errno) : NULL);
}
void engine_erase(struct engine *e, const char *name, const struct nursery_user *who, const char *path)
{
}

void engine_forget(struct engine *e, const char *tag)
{
}
size_t engine_backlog(const struct engine *e)
{
	return 0;
}
void engine_flush(struct engine *e)
{
}
void engine_sweep(struct engine *e, bool (*known)(void *context, const char *tag), void *context)
{
}
enum attempt_state engine_attach(struct engine *e, const char *tag, const char *const *hosts, int n)
{
	const struct bare_attempt *x = attempt_at(tag);

	for (int i = 0; i < n; i++)
		if (!host_there(hosts[i])) {
			await(tag);
			return ATTEMPT_UNKNOWN;
		}
	if (x && x->lost)
		return ATTEMPT_LOST;
	return !x ? ATTEMPT_NEVER : x->started ? ATTEMPT_RUNS : ATTEMPT_UNKNOWN;
}

/* Reports an attempt unknown to the host as not started. */
void engine_host_up(struct engine *e, const char *host, struct link *link, const json_t *inventory)
{
	struct awaited w;

	while (awaited.n) {
		const struct bare_attempt *x = attempt_at(awaited.v[0].tag);
		w = awaited.v[0];
		vec_remove(&awaited, 0);
		if (!x)
			dispatch_engine.attempt_refused(link->s, &(struct refusal){.tag = w.tag});
		else if (x->started)
			dispatch_engine.attempt_started(link->s, w.tag, 4711);
	}
}
void engine_host_down(struct engine *e, const char *host)
{
}
void engine_host_lost(struct engine *e, const char *host)
{
	char tag[64];

	for (size_t i = awaited.n; i-- > 0;)
		if (!attempt_at(awaited.v[i].tag)) {
			memcpy(tag, awaited.v[i].tag, sizeof tag);
			vec_remove(&awaited, i);
			dispatch_engine.attempt_lost(served, tag, host, NULL);
		}
	for (size_t i = attempts.n; i-- > 0;)
		if (strcmp(attempts.v[i].host, host) == 0) {
			memcpy(tag, attempts.v[i].tag, sizeof tag);
			vec_remove(&attempts, i);
			dispatch_engine.attempt_lost(served, tag, host, NULL);
		}
	vec_clear(&awaited);
}
bool engine_frame(struct engine *e, const char *host, const json_t *head, const char *data, size_t n)
{
	return false;
}

/* Never called: connections are made only by bare_agent_hear(). */
int http_adopt(struct http *h, int fd, const char *address, struct err *err)
{
	return 0;
}
int bare_port;

int listener_open(uv_loop_t *loop, const char *where, struct tls_context *c, const struct listener_limits *limits,
		  const struct listener_events *e, void *context, struct listener **ret, struct err *err)
{
	if (!bare_port)
		return err_set(err, -ENOTSUP, "no ports here");
	*ret = (struct listener *)&bare_port;
	return 0;
}
void listener_identity(struct listener *l, struct tls_context *c)
{
}
int listener_port(const struct listener *l)
{
	return bare_port;
}
void listener_close(struct listener *l)
{
}
uint64_t address_key(const char *address)
{
	return 0;
}
void link_pack(struct link *l, const void *data, size_t n, const char *fmt, ...)
{
}
void link_close(struct link *l, const char *reason)
{
	l->closed = true;
}
void link_peer(const struct link *l, struct cert_names *ret)
{
	*ret = l->who;
}
void link_events_set(struct link *l, const struct link_events *e, void *context)
{
	l->events = e;
	l->context = context;
}
void link_trust(struct link *l)
{
}
void link_address(const struct link *l, char *ret, size_t size)
{
	*ret = '\0';
}
bool link_orphaned(const struct link *l)
{
	return false;
}
size_t link_queued(const struct link *l)
{
	return 0;
}
void tasks_serve(struct tasks *t, struct link *l, json_t *first)
{
}
void tasks_identity(struct tasks *t, struct tls_context *tls)
{
}
void link_pause(struct link *l, bool pause)
{
}
void link_notice_end(struct link *l)
{
}
void link_abort(struct link *l, const char *reason)
{
}
void link_send(struct link *l, const char *head, size_t nhead, const void *data, size_t n)
{
}
void http_upgrade(struct http_request *r, const char *protocol, void (*taken)(void *context, int fd, void *handle),
		  void *context)
{
	r->taken = taken;
	r->taker = context;
	answer(r, 101, "", protocol, strlen(protocol));
}
void bare_upgrade(struct http_request *r, int fd)
{
	r->taken(r->taker, fd, (void *)(intptr_t)fd);
}
void http_release(void *handle)
{
	close((int)(intptr_t)handle);
}

/* Who gets the terminals of attempts. */
static struct {
	void (*came)(void *context, const char *tag, int fd);
	void *context;
} taker;

int terminals_open(uv_loop_t *loop, const char *path, const char *live,
		   void (*came)(void *context, const char *tag, int fd), void *context, struct terminals **ret,
		   struct err *err)
{
	taker.came = came;
	taker.context = context;
	return 0;
}
void terminals_close(struct terminals *t)
{
	taker.came = NULL;
}
void bare_terminal(const char *tag, int fd)
{
	taker.came(taker.context, tag, fd);
}
struct link *engine_link(const struct engine *e, const char *host)
{
	return NULL;
}
struct errands *engine_errands(struct engine *e)
{
	return NULL;
}
struct files *errands_files(struct errands *e)
{
	return NULL;
}
bool errands_spooled(const struct errands *e, const char *tag, const char *which, char *ret, size_t size)
{
	return false;
}
void files_identify(struct files *f, const struct files_identity *i)
{
}
void files_serve(struct files *f, struct link *l, json_t *first)
{
}
/* Shows the terms; nobody signs them. */
int ticket_write(struct order *o, const struct ticket_terms *t, struct arena *a, struct err *err)
{
	o->carry.ticket = arena_printf(a, "%d files for \"%s\", join %llu, until %lld", o->carry.ncarried, t->by,
				       (unsigned long long)(*t->by ? t->join : 0), (long long)t->until);
	return 0;
}

void listener_revoke(struct listener *l, const struct revoked *r)
{
}
void tasks_revoke(struct tasks *t, const struct revoked *r)
{
}
void files_revoke(struct files *f)
{
}

/* Does nothing: no other site or cluster is contacted. */
void courier_turn(struct server *s, bool work)
{
}
void keeper_turn(struct server *s, bool work)
{
}
void courier_end(struct server *s)
{
}

/* ---- the clock ---- */

static int64_t fixed_us;

void bare_clock(int64_t us)
{
	fixed_us = us;
}

int __real_clock_gettime(clockid_t id, struct timespec *ret);
int __wrap_clock_gettime(clockid_t id, struct timespec *ret);
int __wrap_clock_gettime(clockid_t id, struct timespec *ret)
{
	if (!fixed_us)
		return __real_clock_gettime(id, ret);
	*ret = (struct timespec){.tv_sec = fixed_us / 1000000, .tv_nsec = fixed_us % 1000000 * 1000};
	return 0;
}

/* ---- the server ---- */

/* Completes lookups at once. */
static void users_settle(struct server *s)
{
	while (users_busy(s))
		uv_run(s->loop, UV_RUN_ONCE);
}

/* Completes reads of the store at once. Its connection belongs to this server, which may be
 * dropped after any answer. */
static void reader_settle(struct server *s)
{
	for (struct lane *l = s->reader->lane; l < s->reader->lane + LANE_COUNT; l++) {
		while (l->busy)
			uv_run(s->loop, UV_RUN_ONCE);
		store_close(l->store);
		l->store = NULL;
	}
}

static void owners_find(struct server *s)
{
	const struct user *u;

	for (size_t i = 0; i < s->jobs->entries.n; i++)
		if (entry_get(s, i)->spec)
			users_find(s, (struct user_key){USER_BY_ID, entry_get(s, i)->spec->uid, NULL}, &u, NULL);
	users_settle(s);
}

/* All servers of this program. Those that were left, as by a crash, are not leaks. */
static VEC(struct server *) opened;

void (*bare_created)(struct server *s);

struct server *bare_open(const char *dir, const char *nodes)
{
	static const char *const inside[] = {"scripts", "live", "nodes", "undelivered"};
	struct server *s = server_create();
	struct err err;
	char path[256];

	vec_push(&opened, s);
	agent_forget();
	served = s;
	if (bare_created)
		bare_created(s);

	snprintf(s->instance->where.state, sizeof s->instance->where.state, "%s", dir);
	snprintf(s->instance->where.run, sizeof s->instance->where.run, "%s", dir);
	s->loop = uv_default_loop();
	s->post->show = stream_event;
	s->post->show_life = stream_life;
	conf_init(s->conf);
	assert(conf_set(s->conf, "nodes", nodes, &err) == 0);
	conf_set(s->conf, "mail.program", "", NULL);
	s->instance->host = mem_strdup("bare");
	s->instance->name = mem_strdup("bare");
	s->instance->uid = getuid();
	s->instance->multi = true;
	s->conf->root_jobs = true;
	clock_read(s);
	attrs_init(s->attrs, ATTR_SERVER);
	assert(world_nodes(s, &err) == 0);
	s->hosts->here = (uint32_t)s->hosts->nodes.n;
	for (size_t i = 0; i < sizeof inside / sizeof *inside; i++) {
		snprintf(path, sizeof path, "%s/%s", dir, inside[i]);
		mkdir(path, 0700);
	}
	snprintf(path, sizeof path, "%s/shunt.db", dir);
	s->reader->url = mem_strdup(path);
	assert(store_open(path, &s->store, &err) == 0);
	assert(store_lead(s->store, "bare", "", 1, 0, &(struct store_leader){0}, &err) == 0);
	snprintf(path, sizeof path, "%s/accounting", dir);
	assert(outbox_open(s->store, &(struct outbox_place){OUTBOX_ACCOUNTING, path, NULL}, &(struct outbox_host){0},
			   &s->books->outbox, &err) == 0);
	assert(outbox_open(s->store, &(struct outbox_place){OUTBOX_JOURNAL, dir, "events.log"},
			   &(struct outbox_host){0}, &s->books->journal, &err) == 0);
	assert(server_recover(s, &err) == 0);
	recover_defaults(s);
	for (uint32_t i = 0; i < s->hosts->nodes.n; i++)
		world_node_store(s, i);
	if (s->jobs->next_number == 0)
		s->jobs->next_number = s->jobs->next_script = 1;
	recover_attempts(s);
	owners_find(s);
	return s;
}

static struct http_request *request_make(struct server *s, uid_t uid, const char *method, const char *path,
					 const char *key, const char *body, struct bare_answer *ret)
{
	struct arena *a = arena_create();
	struct http_request *r = arena_alloc(a, sizeof *r);
	char *copy = arena_strndup(a, path, strlen(path)), *query = strchr(copy, '?');

	if (query)
		*query++ = '\0';
	if (!body)
		body = "";
	*r = (struct http_request){.s = s,
				   .method = arena_strndup(a, method, strlen(method)),
				   .uid = uid,
				   .answer = ret,
				   .arena = a,
				   .path = copy,
				   .query = query,
				   .key = key ? arena_strndup(a, key, strlen(key)) : NULL,
				   .body = arena_strndup(a, body, strlen(body)),
				   .n = strlen(body)};
	return r;
}

void bare_settle(struct server *s)
{
	while (s->audience->readings.n) /* large bodies */
		uv_run(s->loop, UV_RUN_ONCE);
}

static void request_begin(struct server *s, struct http_request *r)
{
	api_receive(s, r);
	users_settle(s);
	bare_settle(s);
}

struct http_request *bare_receive(struct server *s, uid_t uid, const char *method, const char *path, const char *body,
				  struct bare_answer *ret)
{
	struct http_request *r = request_make(s, uid, method, path, NULL, body, ret);

	api_receive(s, r);
	users_settle(s);
	return r;
}

struct http_request *bare_begin(struct server *s, uid_t uid, const char *method, const char *path, const char *key,
				const char *body, struct bare_answer *ret)
{
	struct http_request *r = request_make(s, uid, method, path, key, body, ret);

	request_begin(s, r);
	return r;
}

struct http_request *bare_connect(struct server *s, uid_t uid, const struct bare_client *from, const char *path,
				  struct bare_answer *ret)
{
	struct http_request *r = request_make(s, uid, "GET", path, NULL, NULL, ret);

	r->from = *from;
	request_begin(s, r);
	return r;
}

bool bare_answered(const struct http_request *r)
{
	assert(r->answers <= 1);
	return r->answers == 1;
}

void bare_end(struct http_request *r)
{
	if (r->attached)
		r->leave(r->attached);
	arena_destroy(r->arena);
}

void (*bare_between)(struct server *s);

/* Frees the request and returns the status of its answer. */
static int request_end(struct server *s, struct http_request *r)
{
	int status;

	for (int i = 0; i < 1000 && !bare_answered(r); i++) {
		server_turn(s);
		reader_settle(s);
		if (bare_between)
			bare_between(s);
	}
	if (!bare_answered(r))
		fprintf(stderr, "# no answer to %s %s %s\n", r->method, r->path, r->body);
	assert(bare_answered(r));
	status = r->answer->status;
	bare_end(r);
	return status;
}

int bare_ask(struct server *s, uid_t uid, const char *method, const char *path, const char *body,
	     struct bare_answer *ret)
{
	struct bare_answer none = {0};
	int status = request_end(s, bare_begin(s, uid, method, path, NULL, body, ret ? ret : &none));

	strbuf_fini(&none.body);
	return status;
}

int bare_call(struct server *s, uid_t uid, const struct bare_client *from, const char *method, const char *path,
	      const char *key, const char *body, struct bare_answer *ret)
{
	struct http_request *r = request_make(s, uid, method, path, key, body, ret);

	r->from = *from;
	request_begin(s, r);
	return request_end(s, r);
}

static int remote_ask(struct server *s, const struct bare_client *from, struct http_request *r)
{
	r->remote = true;
	r->from = *from;
	request_begin(s, r);
	return request_end(s, r);
}

int bare_visit(struct server *s, const char *token, const char *user, const char *path, const char *key,
	       const char *body, struct bare_answer *ret)
{
	struct http_request *r = request_make(s, 0, "POST", path, key, body, ret);
	const char *bearer = arena_printf(r->arena, "Bearer %s", token);

	return remote_ask(s, &(struct bare_client){.header = {{"Authorization", bearer}, {"Shunt-User", user}}}, r);
}

int bare_remote(struct server *s, const struct bare_client *from, const char *method, const char *path,
		const char *body, struct bare_answer *ret)
{
	return remote_ask(s, from, request_make(s, 0, method, path, NULL, body, ret));
}

int bare_left(struct server *s, uid_t uid, const struct inner *x, struct bare_answer *ret)
{
	struct http_request *r = request_make(s, uid, "POST", "/v1/jobs", x->key, x->body, ret);

	r->number = x->number;
	r->time_us = x->time_us;
	request_begin(s, r);
	return request_end(s, r);
}
