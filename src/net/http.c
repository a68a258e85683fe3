/*
 * http.c - the listener: libmicrohttpd (MHD) inside the server's loop.
 *
 * MHD has no thread. libuv watches its epoll descriptor and its timeout, and MHD_run() does what is
 * due. A complete request suspends its connection; http_flush() resumes those that were answered,
 * and the next turn sends them.
 */
#include "net/http.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/loopback.h"
#include "net/address.h"
#include "net/http_internal.h"

/* bytes per connection: limits request line and headers, and a chunk of a stream. With 32 KiB,
 * which libmicrohttpd would take from the heap instead of mapping them, a query of 500 parameters
 * has no room, and is not answered. */
#define CONNECTION_MEMORY 65536
#define RUNS 16			 /* maximum runs of MHD in one turn */
#define RUN_NS UINT64_C(5000000) /* maximum time for them, before the loop's other work */
#define ACCEPTS 64		 /* maximum connections accepted in one turn */
#define REST_MS 20		 /* ms without accepting after descriptors ran out */
#define EVICTED 8		 /* connections to close then */

/* ---- MHD's callbacks ---- */

static void on_connection(void *context, struct MHD_Connection *mhd, void **connection,
			  enum MHD_ConnectionNotificationCode code)
{
	if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
		connection_destroy(*connection);
		return;
	}
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD);
	*connection = connection_create(context, info->connect_fd);
}

static void *on_target(void *context, const char *target, struct MHD_Connection *mhd)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	/* "GET" alone has no target */
	return request_create(info->socket_context, mhd, target ? target : "");
}

static void on_completed(void *context, struct MHD_Connection *mhd, void **request,
			 enum MHD_RequestTerminationCode code)
{
	if (*request)
		request_destroy(*request);
	*request = NULL;
}

/* Returns the method's name as passed to handlers; NULL if it is not supported. */
static const char *method_find(const char *method)
{
	static const char *const methods[] = {"GET", "POST", "PUT", "PATCH", "DELETE"};

	for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
		if (strcmp(method, methods[i]) == 0)
			return methods[i];
	return strcmp(method, "HEAD") == 0 ? "GET" : NULL;
}

/* Finds ambiguities in a request's headers: a proxy in front of us may have understood them
 * differently. */
struct header_check {
	bool joins;	    /* the library joins folded lines, and does not say so */
	const char *length; /* the first Content-Length; NULL: none yet */
	bool encoded;	    /* there is a Transfer-Encoding */
	const char *wrong;  /* what is wrong; NULL: nothing */
};

static bool is_token(const char *name, size_t n)
{
	static const char token[] = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

	return n > 0 && strspn(name, token) == n;
}

/* Returns true if libmicrohttpd joins the lines of a folded header, as before 0.9.77. */
static bool lines_joined(void)
{
	int v[3] = {0};

	return sscanf(MHD_get_version(), "%d.%d.%d", &v[0], &v[1], &v[2]) == 3 && v[0] == 0 &&
	       (v[1] < 9 || (v[1] == 9 && v[2] < 77));
}

/* Returns true if a header was folded. The parser leaves headers where they were received, so that
 * only blanks are between name and value; to join lines it copies the first part. */
static bool is_folded(const char *name, size_t name_n, const char *value)
{
	const char *p = name + name_n + 1;

	while (p < value && (*p == ' ' || *p == '\t'))
		p++;
	return value && p != value;
}

static enum MHD_Result header_check(void *context, enum MHD_ValueKind kind, const char *name, size_t name_n,
				    const char *value, size_t value_n)
{
	struct header_check *c = context;

	if (c->joins && is_folded(name, name_n, value)) {
		c->wrong = "A header takes more than one line.";
	} else if (!is_token(name, name_n)) {
		c->wrong = "The name of a header has a space or another character that is not allowed there.";
	} else if (strcasecmp(name, "Transfer-Encoding") == 0) {
		c->encoded = true;
	} else if (strcasecmp(name, "Content-Length") == 0) {
		if (!value || value_n == 0 || strspn(value, "0123456789") != value_n)
			c->wrong = "Content-Length must be a number.";
		else if (c->length && strcmp(c->length, value) != 0)
			c->wrong = "There are two different Content-Lengths.";
		c->length = value;
	}
	if (!c->wrong && c->encoded && c->length)
		c->wrong = "Content-Length and Transfer-Encoding exclude each other.";
	return c->wrong ? MHD_NO : MHD_YES;
}

static void request_begin(struct http_request *r, const char *method)
{
	struct header_check check = {.joins = lines_joined()};
	struct err err;

	r->stage = STAGE_BODY;
	r->http->stats.requests++;
	r->method = method_find(method);
	r->head = strcmp(method, "HEAD") == 0;
	request_identify(r);
	if (!request_admit(r))
		return;
	MHD_get_connection_values_n(r->mhd, MHD_HEADER_KIND, header_check, &check);
	if (check.wrong) {
		/* the start of the next request is not known */
		http_header(r, "Connection", "close");
		request_refuse(r, CODE_BAD_REQUEST, "%s", check.wrong);
		return;
	}
	if (!r->method) {
		http_header(r, "Allow", "GET, HEAD, POST, PUT, PATCH, DELETE");
		request_refuse(r, CODE_METHOD_NOT_ALLOWED, "There is no method %.20s.", method);
	} else if (url_parse(r->target, r->arena, &r->url, &err) < 0) {
		request_refuse(r, CODE_BAD_REQUEST, "%s", err.text);
	}
}

static void body_add(struct http_request *r, const char *data, size_t n)
{
	size_t most = r->stranger && r->http->limits.body > STRANGER_BODY ? STRANGER_BODY : r->http->limits.body;

	r->too_large = r->too_large || n > most - r->body.n;
	if (r->too_large)
		strbuf_fini(&r->body);
	else
		strbuf_add(&r->body, data, n);
}

static void request_hand(struct http_request *r)
{
	struct http *h = r->http;

	if (r->too_large && !r->stranger) {
		request_refuse(r, CODE_TOO_LARGE, "The request has more than the %zu bytes that are allowed.",
			       h->limits.body);
	} else if (h->stopping) {
		request_refuse(r, CODE_UNAVAILABLE, "The server is shutting down.");
	} else {
		r->stage = STAGE_HANDED;
		MHD_suspend_connection(r->mhd);
		h->handler(h->context, r);
	}
}

static enum MHD_Result request_send(struct http_request *r)
{
	enum MHD_Result rc = MHD_queue_response(r->mhd, (unsigned)r->status, r->response);

	MHD_destroy_response(r->response); /* MHD holds a reference */
	r->response = NULL;
	r->stage = STAGE_SENDING;
	return rc;
}

static bool body_announced(const struct http_request *r)
{
	const char *length = request_header(r, "Content-Length");

	return (length && strcmp(length, "0") != 0) || request_header(r, "Transfer-Encoding");
}

/* MHD calls this when the headers have arrived, for each piece of the body, when it is complete,
 * and again after the connection was resumed. */
static enum MHD_Result on_access(void *context, struct MHD_Connection *mhd, const char *url, const char *method,
				 const char *version, const char *data, size_t *n, void **request)
{
	struct http_request *r = *request;

	if (r->stage == STAGE_HEAD) {
		request_begin(r, method);
		/* Refused before its body: MHD answers and closes. Without a body the connection
		 * can stay open. */
		return r->stage == STAGE_ANSWERED && body_announced(r) ? request_send(r) : MHD_YES;
	}
	if (r->stage == STAGE_BODY && *n > 0) {
		body_add(r, data, *n);
		*n = 0;
		return MHD_YES;
	}
	if (r->stage == STAGE_BODY) {
		request_hand(r);
		if (r->stage == STAGE_HANDED || r->queued)
			return MHD_YES;
	}
	if (r->stage == STAGE_ANSWERED)
		return request_send(r);
	return r->http->stopping ? MHD_NO : MHD_YES;
}

/* ---- the loop ---- */

static void on_wake(uv_timer_t *timer);
static void on_again(uv_idle_t *idle);

/* Runs MHD in the next turn. A timer of 0 ms that is restarted by its own callback would run again
 * in the same turn, over and over. */
static void http_again(struct http *h)
{
	uv_idle_start(&h->again, on_again);
}

static void http_run(struct http *h)
{
	MHD_UNSIGNED_LONG_LONG ms = 0;
	enum MHD_Result timed = MHD_YES;
	uint64_t end = uv_hrtime() + RUN_NS;

	h->resumed = false;
	for (int i = 0; i < RUNS && timed == MHD_YES && ms == 0 && !h->resumed && (i == 0 || uv_hrtime() < end); i++) {
		MHD_run(h->daemon);
		timed = MHD_get_timeout(h->daemon, &ms);
	}
	uv_timer_stop(&h->wake);
	/* resumed connections show neither in MHD's timeout nor in its epoll set */
	if (h->resumed || (timed == MHD_YES && ms == 0))
		http_again(h);
	else if (timed == MHD_YES)
		uv_timer_start(&h->wake, on_wake, ms, 0);
}

static void on_wake(uv_timer_t *timer)
{
	http_run(timer->data);
}

static void on_again(uv_idle_t *idle)
{
	uv_idle_stop(idle);
	http_run(idle->data);
}

void http_wake(struct http *h)
{
	h->resumed = true;
	http_again(h);
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
	http_run(poll->data);
}

static void on_leaves(uv_poll_t *poll, int status, int events)
{
	struct http *h = poll->data;

	streams_left(h);
	http_run(h);
}

static void on_accepts(uv_poll_t *poll, int status, int events);

static void on_rested(uv_timer_t *timer)
{
	struct http *h = timer->data;

	uv_poll_start(&h->accepts, UV_READABLE, on_accepts);
	if (h->page >= 0)
		uv_poll_start(&h->page_accepts, UV_READABLE, on_accepts);
}

/* Refuses other users of this machine on a personal instance's port, even with the secrets of a
 * session: while the server was down, a program of theirs may have listened on this port and
 * received them. */
static bool page_refuse(int fd)
{
	static const char said[] = "HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n"
				   "This page belongs to another user of this machine.\n";
	int64_t owner = loopback_owner(fd);

	if (owner == 0 || owner == (int64_t)geteuid())
		return false;
	send(fd, said, sizeof said - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
	shutdown(fd, SHUT_RDWR);
	close(fd);
	return true;
}

/* Gives a descriptor to MHD, which closes it if it can't take one more. */
static enum MHD_Result descriptor_add(struct http *h, int fd, const char *remote, enum door door,
				      const struct sockaddr_storage *from)
{
	const struct sockaddr_storage nobody = {.ss_family = AF_UNIX};

	free(arrival_take(h, fd).remote); /* MHD may have closed an earlier one and not said so */
	vec_push(&h->arrivals, (struct arrival){.fd = fd, .remote = remote ? mem_strdup(remote) : NULL, .door = door});
	enum MHD_Result rc = MHD_add_connection(h->daemon, fd, (const struct sockaddr *)(from ? from : &nobody),
						from ? sizeof *from : sizeof nobody.ss_family);
	if (rc != MHD_YES)
		free(arrival_take(h, fd).remote);
	return rc;
}

/* Adds a connection to the page; its requests identify the user. */
static void page_add(struct http *h, int fd)
{
	struct sockaddr_storage from = {.ss_family = AF_UNSPEC};
	socklen_t n = sizeof from;
	char address[ADDRESS_SIZE];

	socket_tune(fd);
	getpeername(fd, (struct sockaddr *)&from, &n);
	address_text(&from, address, sizeof address);
	descriptor_add(h, fd, address, DOOR_PAGE, &from);
}

static void on_accepts(uv_poll_t *poll, int status, int events)
{
	struct http *h = poll->data;
	bool page = poll == &h->page_accepts;

	for (int i = 0; i < ACCEPTS; i++) {
		int fd = accept4(page ? h->page : h->listening, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd >= 0 && page && page_refuse(fd)) {
			h->stats.rejected++;
		} else if (fd >= 0 && page) {
			page_add(h, fd);
		} else if (fd >= 0) {
			descriptor_add(h, fd, NULL, DOOR_LOCAL, NULL);
		} else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
			/* It stays in the queue, and would be reported again and again. */
			connections_evict(h, EVICTED);
			uv_poll_stop(&h->accepts);
			if (h->page >= 0)
				uv_poll_stop(&h->page_accepts);
			uv_timer_start(&h->rest, on_rested, REST_MS, 0);
			break;
		} else if (errno == EAGAIN) {
			break;
		}
	}
	http_run(h);
}

static void on_sweep(uv_timer_t *timer)
{
	connections_sweep(timer->data);
}

void http_flush(struct http *h)
{
	if (h->ready.n == 0)
		return;
	for (size_t i = 0; i < h->ready.n; i++) {
		struct http_request *r = h->ready.v[i];
		r->queued = false;
		if (r->inner)
			inner_end(r);
		else if (r->stage == STAGE_ANSWERED)
			MHD_resume_connection(r->mhd);
		else
			stream_resume(r);
	}
	vec_clear(&h->ready);
	http_again(h);
}

void http_send(struct http *h)
{
	if (!uv_is_active((uv_handle_t *)&h->again))
		return;
	uv_idle_stop(&h->again);
	http_run(h);
	/* answers made by this run wait for another flush, so the loop must not sleep */
	if (h->ready.n)
		http_again(h);
}

/* ---- start and stop ---- */

static void http_free(struct http *h)
{
	shares_free(h);
	for (size_t i = 0; i < h->arrivals.n; i++)
		free(h->arrivals.v[i].remote);
	vec_free(&h->arrivals);
	vec_free(&h->ready);
	free(h);
}

static int daemon_start(struct http *h, struct err *err)
{
	const struct http_limits *l = &h->limits;
	unsigned flags = MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_ALLOW_UPGRADE | MHD_USE_SUPPRESS_DATE_NO_CLOCK |
			 MHD_USE_TURBO | MHD_USE_NO_LISTEN_SOCKET;

	/* MHD's own limit closes connections silently, so limits.c takes effect first. */
	h->daemon = MHD_start_daemon(
		flags, 0, NULL, NULL, on_access, h, MHD_OPTION_CONNECTION_LIMIT, (unsigned)(2 * l->connections + 64),
		MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)l->idle_seconds, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
		(size_t)CONNECTION_MEMORY, MHD_OPTION_NOTIFY_CONNECTION, on_connection, h, MHD_OPTION_URI_LOG_CALLBACK,
		on_target, h, MHD_OPTION_NOTIFY_COMPLETED, on_completed, h,
#if MHD_VERSION >= 0x00097701
		/* refuses folded lines, which earlier versions join (is_folded()) */
		MHD_OPTION_CLIENT_DISCIPLINE_LVL, 1,
#endif
		MHD_OPTION_END);
	return h->daemon ? 0 : err_set(err, -EINVAL, "can't start the HTTP server: libmicrohttpd refused");
}

static void loop_join(struct http *h)
{
	const union MHD_DaemonInfo *info = MHD_get_daemon_info(h->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	uint64_t sweep = (uint64_t)h->limits.idle_seconds * 1000 / 8 + 1;

	uv_poll_init(h->loop, &h->accepts, h->listening);
	uv_timer_init(h->loop, &h->rest);
	uv_poll_init(h->loop, &h->poll, info->epoll_fd);
	uv_poll_init(h->loop, &h->leaves, h->leaves_fd);
	uv_timer_init(h->loop, &h->wake);
	uv_timer_init(h->loop, &h->sweep);
	uv_idle_init(h->loop, &h->again);
	h->accepts.data = h->rest.data = h->again.data = h;
	h->poll.data = h->leaves.data = h->wake.data = h->sweep.data = h;
	h->handles = 7;
	uv_poll_start(&h->accepts, UV_READABLE, on_accepts);
	uv_poll_start(&h->poll, UV_READABLE, on_poll);
	uv_poll_start(&h->leaves, UV_READABLE, on_leaves);
	uv_timer_start(&h->sweep, on_sweep, sweep, sweep);
}

int http_start(uv_loop_t *loop, int fd, const struct http_limits *limits, http_handler handler, void *context,
	       struct http **ret, struct err *err)
{
	struct http *h = mem_zalloc(sizeof *h);
	int rc = 0;

	*h = (struct http){
		.loop = loop, .limits = *limits, .handler = handler, .context = context, .listening = fd, .page = -1};
	h->leaves_fd = epoll_create1(EPOLL_CLOEXEC);
	/* We accept until there are no more connections, and must not block then. */
	if (h->leaves_fd < 0 || fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) < 0)
		rc = err_set(err, -errno, "can't start the HTTP server: %s", strerror(errno));
	if (rc == 0)
		rc = daemon_start(h, err);
	if (rc < 0) {
		if (h->leaves_fd >= 0)
			close(h->leaves_fd);
		http_free(h);
		return rc;
	}
	loop_join(h);
	*ret = h;
	return 0;
}

void http_listen_page(struct http *h, int fd)
{
	h->page = fd;
	uv_poll_init(h->loop, &h->page_accepts, fd);
	h->page_accepts.data = h;
	h->handles++;
	uv_poll_start(&h->page_accepts, UV_READABLE, on_accepts);
}

static int adopt(struct http *h, int fd, const char *address, bool page, struct err *err)
{
	enum MHD_Result rc = h->stopping ? MHD_NO : descriptor_add(h, fd, address, page ? DOOR_PAGE : DOOR_TLS, NULL);

	if (h->stopping)
		close(fd);
	if (rc != MHD_YES) /* MHD has closed the descriptor */
		return err_set(err, -EMFILE, "can't take one more connection: there are too many");
	http_again(h); /* its input shows in MHD's epoll set only after a run */
	return 0;
}

int http_adopt(struct http *h, int fd, const char *address, struct err *err)
{
	return adopt(h, fd, address, false, err);
}

int http_adopt_page(struct http *h, int fd, const char *address, struct err *err)
{
	return adopt(h, fd, address, true, err);
}

static void on_closed(uv_handle_t *handle)
{
	struct http *h = handle->data;

	if (--h->handles == 0)
		http_free(h);
}

void http_stop(struct http *h)
{
	if (!h)
		return;
	h->stopping = true;
	http_run(h);
	/* MHD can't stop while connections are suspended. */
	for (struct connection *c = h->connections; c; c = c->next) {
		if (c->r && c->r->upgrade && c->r->stage == STAGE_SENDING)
			upgrade_end(c->r->upgrade);
		else if (c->r && c->r->stage == STAGE_SENDING)
			stream_resume(c->r);
		else if (c->r && (c->r->stage == STAGE_HANDED || c->r->queued))
			MHD_resume_connection(c->r->mhd);
	}
	uv_close((uv_handle_t *)&h->accepts, on_closed);
	if (h->page >= 0)
		uv_close((uv_handle_t *)&h->page_accepts, on_closed);
	uv_close((uv_handle_t *)&h->rest, on_closed);
	uv_close((uv_handle_t *)&h->poll, on_closed);
	uv_close((uv_handle_t *)&h->leaves, on_closed);
	uv_close((uv_handle_t *)&h->wake, on_closed);
	uv_close((uv_handle_t *)&h->again, on_closed);
	uv_close((uv_handle_t *)&h->sweep, on_closed);
	MHD_stop_daemon(h->daemon);
	close(h->listening);
	if (h->page >= 0)
		close(h->page);
	close(h->leaves_fd);
}

struct http_stats http_stats(const struct http *h)
{
	return h->stats;
}
