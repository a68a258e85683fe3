/*
 * clients.c - see clients.h. In place of net/http.c's streams and engine/tasks.c.
 */
#include "golden/clients.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "engine/tasks.h"
#include "net/http.h"
#include "run/order.h"
#include "support/bare.h"

#define CLIENTS 8
#define SHOWN 2000 /* bytes of data that are shown; more are counted */

static void (*tell)(const char *format, ...);

/* ---- clients ---- */

static struct client_played {
	char name[32];
	struct http_request *r; /* NULL: this place is free */
	struct bare_answer answer;
	struct stream_source source; /* fill NULL: no stream */
	bool woken, over;
	int fd; /* the client's end of a connection that has left HTTP; -1: none */
} clients[CLIENTS];

static struct client_played *client_at(const char *name)
{
	for (int i = 0; i < CLIENTS; i++)
		if (name ? clients[i].r && strcmp(clients[i].name, name) == 0 : !clients[i].r)
			return &clients[i];
	return NULL;
}

static struct client_played *client_of(const struct http_request *r)
{
	for (int i = 0; i < CLIENTS; i++)
		if (clients[i].r == r)
			return &clients[i];
	return NULL;
}

static void data_show(const char *name, const char *what, const char *data, size_t n)
{
	struct strbuf text = {0};

	for (size_t i = 0; i < n; i++)
		strbuf_add(&text, data[i] ? data + i : "\\0", data[i] ? 1 : 2);
	if (n > SHOWN)
		tell("%s %s %zu bytes", name, what, n);
	else
		tell("%s %s \"%s\"", name, what, strbuf_text(&text));
	strbuf_fini(&text);
}

static bool beginning;		   /* a client's request is being received */
static struct stream_source begun; /* the stream that it has begun; fill NULL: none */

void http_stream(struct http_request *r, int status, const char *type, const struct stream_source *source)
{
	struct client_played *x = client_of(r);
	struct strbuf out = {0};

	if (x || beginning) {
		tell("stream %d %s", status, type);
		*(x ? &x->source : &begun) = *source;
		if (x)
			x->woken = true;
		return;
	}
	while (source->fill(source->context, &out, 65536) == 1) /* another request has it all at once */
		;
	if (source->close)
		source->close(source->context);
	http_reply(r, status, type, strbuf_text(&out), out.n);
	strbuf_fini(&out);
}

void stream_wake(struct http_request *r)
{
	struct client_played *x = client_of(r);

	if (x)
		x->woken = true;
}

/* Reads what a stream has. */
static void stream_read(struct client_played *x)
{
	struct strbuf out = {0};
	int rc;

	x->woken = false;
	while ((rc = x->source.fill(x->source.context, &out, 65536)) == 1) {
		data_show(x->name, "gets", strbuf_text(&out), out.n);
		strbuf_clear(&out);
	}
	if (out.n)
		data_show(x->name, "gets", strbuf_text(&out), out.n);
	strbuf_fini(&out);
	x->over = rc < 0;
}

static void client_free(struct client_played *x)
{
	if (x->source.fill && x->source.close)
		x->source.close(x->source.context);
	bare_end(x->r);
	strbuf_fini(&x->answer.body);
	if (x->fd >= 0)
		close(x->fd);
	*x = (struct client_played){.fd = -1};
}

/* "send NAME UID METHOD PATH BODY" */
static void client_send(struct server *s, const char *args)
{
	struct client_played *x = client_at(NULL);
	char method[16], path[256];
	int uid, used;

	*x = (struct client_played){.fd = -1};
	if (sscanf(args, "%31s %d %15s %255s %n", x->name, &uid, method, path, &used) != 4)
		fail_msg("send %s", args);
	x->r = bare_begin(s, (uid_t)uid, method, path, NULL, args + used, &x->answer);
}

/* "begin NAME UID PATH [UPGRADE]" */
static void client_begin(struct server *s, const char *args)
{
	struct client_played *x = client_at(NULL);
	char name[32], path[256], upgrade[64] = "";
	int uid;

	if (sscanf(args, "%31s %d %255s %63s", name, &uid, path, upgrade) < 3 || client_at(name))
		fail_msg("begin %s", args);
	*x = (struct client_played){.fd = -1};
	snprintf(x->name, sizeof x->name, "%s", name);
	begun = (struct stream_source){0};
	beginning = true;
	x->r = *upgrade ? bare_connect(s, (uid_t)uid, &(struct bare_client){.header = {{"Upgrade", upgrade}}}, path,
				       &x->answer)
			: bare_begin(s, (uid_t)uid, "GET", path, NULL, NULL, &x->answer);
	beginning = false;
	x->source = begun;
	x->woken = true;
}

/* ---- programs ---- */

static int program = -1; /* the service's end of the last program's connection */

void tasks_enter(struct tasks *t, int fd, uid_t uid, const char *tag, const struct order_host *host)
{
	tell("tasks: uid %d enters %s on \"%s\" at \"%s\", join %llu", (int)uid, tag, host->name, host->address,
	     (unsigned long long)host->join);
	if (program >= 0)
		close(program);
	program = fd;
	fcntl(program, F_SETFL, O_NONBLOCK);
}

static void program_read(void)
{
	char data[65536];
	ssize_t n;

	while (program >= 0 && (n = read(program, data, sizeof data)) >= 0) {
		if (n > 0)
			data_show("program", "gets", data, (size_t)n);
		else
			tell("program: nobody is there any more");
		if (n == 0) {
			close(program);
			program = -1;
		}
	}
}

/* Writes "*N", N bytes, or a text in which "\\0" is a zero byte. */
static void program_write(const char *text)
{
	struct strbuf out = {0};

	for (long i = 0, n = *text == '*' ? atol(text + 1) : 0; i < n; i++)
		strbuf_puts(&out, "x");
	for (; *text && *text != '*'; text++) {
		bool zero = strncmp(text, "\\0", 2) == 0;
		strbuf_add(&out, zero ? "\0" : text, 1);
		text += zero;
	}
	if (write(program, strbuf_text(&out), out.n) != (ssize_t)out.n)
		tell("program: %s", strerror(errno));
	strbuf_fini(&out);
}

/* ---- commands ---- */

/* "upgrade NAME": its connection has left HTTP. */
static void client_upgrade(struct client_played *x)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0)
		fail_msg("socketpair");
	x->fd = pair[1];
	bare_upgrade(x->r, pair[0]);
}

bool clients_command(struct server *s, const char *word, char *args)
{
	struct client_played *x = client_at(args);
	char *text;

	if (strcmp(word, "begin") == 0)
		client_begin(s, args);
	else if (strcmp(word, "send") == 0)
		client_send(s, args);
	else if (strcmp(word, "hang") == 0 && x)
		client_free(x);
	else if (strcmp(word, "upgrade") == 0 && x)
		client_upgrade(x);
	else if (strcmp(word, "say") == 0 && (text = strchr(args, ' '))) {
		*text++ = '\0';
		if (!(x = client_at(args)) || write(x->fd, text, strlen(text)) < 0)
			tell("it can't be said");
	} else if (strcmp(word, "program") == 0)
		program_write(args);
	else if (strcmp(word, "exits") == 0) {
		close(program);
		program = -1;
	} else
		return false;
	return true;
}

void clients_settle(void)
{
	char data[4096];
	ssize_t n;

	program_read();
	for (int i = 0; i < CLIENTS; i++) {
		struct client_played *x = &clients[i];
		if (!x->r)
			continue;
		if (x->source.fill && x->woken)
			stream_read(x);
		while (x->fd >= 0 && (n = read(x->fd, data, sizeof data)) >= 0) {
			if (n > 0)
				data_show(x->name, "gets", data, (size_t)n);
			else
				x->over = true;
			if (n == 0)
				break;
		}
		if (!x->source.fill && x->answer.status && x->fd < 0 && !x->over) {
			tell("%s: %d %s", x->name, x->answer.status, strbuf_text(&x->answer.body));
			x->over = x->answer.status != 101;
			x->answer.status = 0;
		}
		if (x->over) {
			tell("%s: its connection ends", x->name);
			client_free(x);
		}
	}
}

void clients_begin(void (*say)(const char *format, ...))
{
	tell = say;
	for (int i = 0; i < CLIENTS; i++)
		clients[i] = (struct client_played){.fd = -1};
}

void clients_end(void)
{
	for (int i = 0; i < CLIENTS; i++)
		if (clients[i].r)
			client_free(&clients[i]);
	if (program >= 0)
		close(program);
	program = -1;
}
