/*
 * fuzz_api.c - any requests to the API: a server with a real store and a real scheduler, whose sockets and processes are these functions. Every request is
 * answered exactly once, and the plan's invariants hold after each turn.
 *
 * Input: requests separated by NUL bytes, each "METHOD PATH[?QUERY]\nBODY"; those without a method are submissions.
 */
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "engine/errands.h"
#include "engine/files.h"
#include "engine/relay.h"
#include "engine/terminals.h"
#include "engine/ticket.h"
#include "engine/watch.h"
#include "server/server_internal.h"

struct http_request {
	char method[8];
	char *path, *query, *body;
	size_t n;
	int answers;
	struct arena *arena;
};

const char openapi_json[] = "{}";
const size_t openapi_json_size = 2;

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
			return arena_strndup(r->arena, p + n + 1, strcspn(p + n + 1, "&"));
	return NULL;
}
const char *request_header(const struct http_request *r, const char *name)
{
	return strcmp(name, "Accept") == 0 && r->n % 2 ? "text/tab-separated-values" : NULL;
}
const char *request_body(const struct http_request *r, size_t *ret_n)
{
	*ret_n = r->n;
	return r->body;
}
struct peer request_peer(const struct http_request *r)
{
	return (struct peer){getuid(), getgid(), getpid()};
}
const char *request_remote(const struct http_request *r)
{
	return NULL;
}
struct arena *request_arena(struct http_request *r)
{
	return r->arena;
}
void http_reply(struct http_request *r, int status, const char *type, const void *body, size_t n)
{
	r->answers++;
}
void http_reply_strbuf(struct http_request *r, int status, const char *type, struct strbuf *body)
{
	json_t *json = strcmp(type, "application/json") == 0 ? json_loadb(strbuf_text(body), body->n, 0, NULL) : NULL;

	assert(strcmp(type, "application/json") != 0 || json);
	json_decref(json);
	r->answers++;
	strbuf_fini(body);
}
void http_error(struct http_request *r, int status, const char *code, const char *fmt, ...)
{
	char text[65536];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	assert(status >= 400 && *code && *text);
	r->answers++;
}
void http_header(struct http_request *r, const char *name, const char *value)
{
}
void http_stream(struct http_request *r, int status, const char *type, const struct stream_source *source)
{
	struct strbuf out = {0};

	while (source->fill(source->context, &out, 65536) == 1)
		strbuf_clear(&out); /* sent */
	if (source->close)
		source->close(source->context);
	strbuf_fini(&out);
	r->answers++;
}
void stream_wake(struct http_request *r)
{
}
void http_flush(struct http *h)
{
}
struct http_stats http_stats(const struct http *h)
{
	return (struct http_stats){0};
}
int http_start(uv_loop_t *loop, int fd, const struct http_limits *limits, http_handler handler, void *context,
	       struct http **ret, struct err *err)
{
	return 0;
}
void http_stop(struct http *h)
{
}

/* Orders are remembered, and end at the next call with exit codes that vary. */
static char ordered[64][64];
static int nordered;

void engine_start(struct engine *e, const struct engine_part *parts, int n)
{
	if (nordered < 64)
		snprintf(ordered[nordered++], sizeof *ordered, "%s", parts[0].order.tag);
}
void engine_signal(struct engine *e, const char *tag, int signal)
{
}
void engine_open(struct engine *e, uint64_t id, uid_t uid, gid_t gid, const char *user, const char *path)
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
	return ATTEMPT_NEVER;
}

void engine_host_up(struct engine *e, const char *host, struct link *link, const json_t *inventory)
{
}
void engine_host_down(struct engine *e, const char *host)
{
}
void engine_host_lost(struct engine *e, const char *host)
{
}
bool engine_frame(struct engine *e, const char *host, const json_t *head, const char *data, size_t n)
{
	return false;
}

/* No host ever connects. */
int http_adopt(struct http *h, int fd, const char *address, struct err *err)
{
	return 0;
}
bool http_make_room(struct http *h, const char *address)
{
	return false;
}
int listener_open(uv_loop_t *loop, const char *where, struct tls_context *c, const struct listener_limits *limits,
		  const struct listener_events *e, void *context, struct listener **ret, struct err *err)
{
	return err_set(err, -ENOTSUP, "no ports here");
}
void listener_identity(struct listener *l, struct tls_context *c)
{
}
void listener_revoke(struct listener *l, const struct revoked *r)
{
}
void files_revoke(struct files *f)
{
}
void tasks_revoke(struct tasks *t, const struct revoked *r)
{
}
int listener_port(const struct listener *l)
{
	return 0;
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
}
void link_peer(const struct link *l, struct cert_names *ret)
{
}
void link_events_set(struct link *l, const struct link_events *e, void *context)
{
}
void link_trust(struct link *l)
{
}
void link_address(const struct link *l, char *ret, size_t size)
{
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
	r->answers++;
}
void http_release(void *handle)
{
}
struct watch *watch_open(uv_loop_t *loop, int fd, void (*ready)(void *context, int events), void *context)
{
	return NULL;
}
void watch_for(struct watch *w, int events)
{
}
int watch_fd(const struct watch *w)
{
	return -1;
}
void watch_close(struct watch *w)
{
}
struct relay *relay_sockets(uv_loop_t *loop, const struct relay_end *a, const struct relay_end *b,
			    void (*ended)(void *context), void *context)
{
	return NULL;
}
struct relay *relay_link(uv_loop_t *loop, const struct relay_end *a, struct link *l, void (*ended)(void *context),
			 void *context)
{
	return NULL;
}
void relay_close(struct relay *r)
{
}
int terminals_open(uv_loop_t *loop, const char *path, const char *live,
		   void (*came)(void *context, const char *tag, int fd), void *context, struct terminals **ret,
		   struct err *err)
{
	return 0;
}
void terminals_close(struct terminals *t)
{
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
int ticket_write(struct order *o, const struct ticket_terms *t, struct arena *a, struct err *err)
{
	return 0;
}

static void finish_some(struct server *s)
{
	for (int n = nordered; n > 0; n--) {
		struct result r = {.tag = ordered[0], .how = n % 3, .status = n % 5, .reason = "made up"};
		char tag[64];
		memcpy(tag, ordered[0], sizeof tag);
		r.tag = tag;
		memmove(ordered[0], ordered[1], (size_t)(nordered - 1) * sizeof *ordered);
		nordered--;
		dispatch_engine.ended(s, &r);
	}
}

static struct server *server_make(const char *dir)
{
	struct server *s = mem_zalloc(sizeof *s);
	struct queue *q;
	struct err err;
	char path[256];

	snprintf(s->where.state, sizeof s->where.state, "%s", dir);
	snprintf(path, sizeof path, "%s/scripts", dir);
	conf_init(&s->conf);
	conf_set(&s->conf, "nodes", "2x4", &err);
	conf_set(&s->conf, "mail.program", "", NULL);
	s->host = s->name = mem_strdup("fuzz");
	s->uid = getuid();
	clock_read(s);
	attrs_init(&s->attrs, ATTR_SERVER);
	assert(world_nodes(s, &err) == 0);
	world_begin(s);
	snprintf(path, sizeof path, "%s/shunt.db", dir);
	assert(store_open(path, &s->store, &err) == 0);
	assert(store_lead(s->store, "fuzz", "", 1, 0, &(struct store_leader){0}, &err) == 0);
	snprintf(path, sizeof path, "%s/accounting", dir);
	assert(accounting_open(path, &s->accounting, &err) == 0);
	q = queue_create(s, "batch");
	attrs_change(&q->attrs, ATTR_SET, "enabled", "True", NULL);
	attrs_change(&q->attrs, ATTR_SET, "started", "True", NULL);
	attrs_change(&s->attrs, ATTR_SET, "default_queue", "batch", NULL);
	s->next_number = s->next_seq = s->next_script = 1;
	uint64_t join;
	json_t *facts = json_pack("{s:i,s:i,s:i}", "cpus", 4, "memory", 1 << 20, "gpus", 2);
	assert(agents_join(s, "x1", facts, &join, &err) == 0);
	json_decref(facts);
	return s;
}

static void ask(struct server *s, const char *data, size_t n)
{
	struct http_request r = {.method = "POST", .arena = arena_create()};
	const char *line = memchr(data, '\n', n), *blank = memchr(data, ' ', n);
	char path[512] = "/v1/jobs";

	r.body = mem_zalloc(n + 1);
	if (line && blank && blank < line && blank - data < 8) {
		snprintf(r.method, sizeof r.method, "%.*s", (int)(blank - data), data);
		snprintf(path, sizeof path, "%.*s", (int)(line - blank - 1), blank + 1);
		r.n = n - (size_t)(line + 1 - data);
		memcpy(r.body, line + 1, r.n);
	} else {
		r.n = n;
		memcpy(r.body, data, n);
	}
	r.query = strchr(path, '?');
	if (r.query)
		*r.query++ = '\0';
	r.path = path;
	/* What waits for somebody outside is not asked here. */
	if (!strstr(path, "/events") && !strstr(path, "/output") && !strstr(path, "shutdown")) {
		api_handle(s, &r);
		server_turn(s);
		plan_check(s->plan);
		assert(r.answers == 1);
	}
	arena_destroy(r.arena);
	free(r.body);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static VEC(struct server *) old;
	static struct server *s;
	static int runs;
	static char dir[64];
	const char *p = (const char *)data, *end = p + size;

	if (!s || ++runs % 2000 == 0) { /* a fresh one now and then: the queue would grow for ever */
		char command[128];
		if (*dir) {
			snprintf(command, sizeof command, "rm -rf %s", dir);
			if (system(command) != 0)
				return 0;
		}
		/* In memory: on a disk most of the time is spent on commits. */
		snprintf(dir, sizeof dir, "%s/fuzz-api-XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
		assert(mkdtemp(dir));
		s = server_make(dir);
		vec_push(&old, s); /* it is left, and not lost */
		nordered = 0;
	}
	while (p < end) {
		const char *next = memchr(p, '\0', (size_t)(end - p));
		ask(s, p, next ? (size_t)(next - p) : (size_t)(end - p));
		p = next ? next + 1 : end;
	}
	finish_some(s);
	server_turn(s);
	return 0;
}
