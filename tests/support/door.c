/*
 * door.c - see door.h. Requests come from our own client, so little can be wrong with them.
 */
#include "support/door.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "base/fdio.h"
#include "base/mem.h"
#include "base/program.h"
#include "base/unixsock.h"
#include "base/vec.h"
#include "net/url.h"
#include "support/actor.h"
#include "support/ready.h"

#define HEAD_END "\r\n\r\n"

struct caller {
	int fd;
	struct strbuf in; /* bytes that are not a complete request yet */
};

struct alteration {
	char *path;
	int status; /* < 0: a signal to the program, and the real answer; 0: no answer */
	int times;  /* requests it is for; -1: all */
	json_t *members;
};

/* A program that waits for requests to run (ready.c). */
struct ready {
	const char *program;
	int fd;
	pid_t pid;
};

struct door {
	struct site *site;
	char path[96];
	int fd;
	uid_t user;
	struct visit *visit;
	VEC(struct caller) callers;
	VEC(struct alteration) alterations;
	VEC(struct ready) ready;
	VEC(struct actor *) actors;
	int columns, terminal; /* width of the program's terminal, 0: it has none; our end of it */
};

struct door *door_open(struct site *site)
{
	struct door *d = mem_zalloc(sizeof *d);
	struct err err;

	d->site = site;
	snprintf(d->path, sizeof d->path, "%s/run", site->dir);
	if (mkdir(d->path, 0700) < 0)
		abort();
	snprintf(d->path, sizeof d->path, "%s/run/shuntd.sock", site->dir);
	d->fd = unix_listen(d->path, 0600, &err);
	if (d->fd < 0)
		abort();
	return d;
}

void door_close(struct door *d)
{
	close(d->fd);
	vec_free(&d->callers);
	vec_free(&d->alterations);
	for (size_t i = 0; i < d->ready.n; i++) {
		close(d->ready.v[i].fd);
		waitpid(d->ready.v[i].pid, NULL, 0);
	}
	vec_free(&d->ready);
	for (size_t i = 0; i < d->actors.n; i++)
		actor_close(d->actors.v[i]);
	vec_free(&d->actors);
	free(d);
}

void visit_fini(struct visit *v)
{
	strbuf_fini(&v->out);
	strbuf_fini(&v->err);
	strbuf_fini(&v->changes);
}

/* ---- a request ---- */

/* Returns the value of a header, or NULL. */
static const char *header_find(const char *head, const char *name, struct arena *a)
{
	size_t n = strlen(name);

	for (const char *line = strstr(head, "\r\n"); line; line = strstr(line, "\r\n")) {
		line += 2;
		if (strncasecmp(line, name, n) == 0 && strncmp(line + n, ": ", 2) == 0)
			return arena_strndup(a, line + n + 2, strcspn(line + n + 2, "\r"));
	}
	return NULL;
}

/* Notes what else a request says: whose it is, and that it leaves HTTP, with how many digits its
 * key has. */
static void head_note(struct door *d, const char *method, const char *target, const char *head, struct arena *a)
{
	const char *bearer = header_find(head, "Authorization", a), *upgrade = header_find(head, "Upgrade", a),
		   *key = strstr(target, "?key=");

	if (bearer && strcmp(method, "GET") != 0)
		strbuf_printf(&d->visit->changes, "Authorization: %s\n", bearer);
	if (!upgrade)
		return;
	strbuf_printf(&d->visit->changes, "%s %.*s", method, (int)strcspn(target, "?"), target);
	if (key)
		strbuf_printf(&d->visit->changes, ", key of %zu digits", strspn(key + 5, "0123456789abcdef"));
	strbuf_printf(&d->visit->changes, "\nConnection: %s\nUpgrade: %s\n", header_find(head, "Connection", a),
		      upgrade);
}

static void change_note(struct door *d, const char *method, const char *target, const char *body)
{
	json_t *o = json_loads(body, JSON_DECODE_ANY, NULL);
	char *text = o ? json_dumps(o, JSON_INDENT(1) | JSON_SORT_KEYS | JSON_ENCODE_ANY) : NULL;

	strbuf_printf(&d->visit->changes, "%s %s\n", method, target);
	if (*body)
		strbuf_printf(&d->visit->changes, "%s\n", text ? text : body);
	free(text);
	json_decref(o);
}

bool door_alter(struct door *d, const char *path, int status, int times, const char *json)
{
	json_t *members = json_loads(json, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);

	vec_push(&d->alterations, (struct alteration){mem_strdup(path), status, times, members});
	return json_is_object(members) || json_is_string(members);
}

void door_cue(struct door *d, const char *path, const char *cue, const char *answer)
{
	struct actor *a = NULL;

	for (size_t i = 0; i < d->actors.n && !a; i++)
		a = strcmp(actor_path(d->actors.v[i]), path) == 0 ? d->actors.v[i] : NULL;
	if (!a) {
		a = actor_open(path);
		vec_push(&d->actors, a);
	}
	actor_cue(a, cue, answer);
}

/* Ends the daemons that were played for one program. */
static void actors_end(struct door *d)
{
	for (size_t i = 0; i < d->actors.n; i++)
		actor_close(d->actors.v[i]);
	vec_clear(&d->actors);
}

static void alterations_end(struct door *d)
{
	for (size_t i = 0; i < d->alterations.n; i++) {
		free(d->alterations.v[i].path);
		json_decref(d->alterations.v[i].members);
	}
	vec_clear(&d->alterations);
}

/* Appends a cell of a table: texts as they are, other values as JSON. */
static void cell_put(struct strbuf *out, const json_t *value)
{
	char *text = json_is_string(value) || !value ? NULL : json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);

	if (!json_is_null(value))
		strbuf_puts(out, text ? text : json_is_string(value) ? json_string_value(value) : "");
	free(text);
}

/* Makes the table that was asked for: the fields of these jobs in the order of the request. */
static void table_make(const json_t *rows, const char *target, struct strbuf *out)
{
	const char *at = strstr(target, "fields="), *fields = at ? at + 7 : "";
	size_t i, n = strcspn(fields, "&"), m;
	const json_t *row;

	json_array_foreach(rows, i, row)
	{
		for (size_t k = 0; k < n; k += m + 1) {
			m = strcspn(fields + k, ",&");
			strbuf_puts(out, k ? "\t" : "");
			cell_put(out, json_object_getn(row, fields + k, m));
		}
		strbuf_puts(out, "\n");
	}
}

/* Puts the members of an alteration over those of an answer; a text takes the place of all, and
 * "rows" that of a table. */
static void answer_alter(const struct alteration *a, const char *target, struct bare_answer *answer)
{
	const json_t *rows = json_object_get(a->members, "rows");

	if (rows) {
		answer->status = a->status;
		strbuf_clear(&answer->body);
		table_make(rows, target, &answer->body);
		return;
	}
	json_t *o = json_loads(strbuf_text(&answer->body), 0, NULL);
	char *text = NULL;

	if (json_is_object(a->members)) {
		o = o ? o : json_object();
		json_object_update(o, a->members);
		text = json_dumps(o, JSON_COMPACT);
		snprintf(answer->type, sizeof answer->type, "application/json");
	}
	answer->status = a->status;
	strbuf_clear(&answer->body);
	if (text)
		strbuf_puts(&answer->body, text);
	else
		strbuf_add(&answer->body, json_string_value(a->members), json_string_length(a->members));
	free(text);
	json_decref(o);
}

static bool is_for(const struct alteration *a, const char *target)
{
	size_t n = strcspn(target, "?");

	return a->times && strncmp(target, a->path, n) == 0 && !a->path[n];
}

/* Returns true if nothing of the real answer would be left. */
static bool answer_replaced(const struct door *d, const char *target)
{
	for (size_t i = 0; i < d->alterations.n; i++) {
		const struct alteration *a = &d->alterations.v[i];
		if (is_for(a, target))
			return json_is_string(a->members) || json_object_get(a->members, "rows") || a->status == 0 ||
			       a->status >= 400;
	}
	return false;
}

/* Changes an answer. Of alterations for a number of requests only the first one that is left
 * counts. Returns false if there is no answer. */
static bool answer_changed(const struct door *d, int fd, const char *target, struct bare_answer *answer)
{
	struct ucred who;

	for (size_t i = 0; i < d->alterations.n; i++) {
		struct alteration *a = &d->alterations.v[i];
		if (!is_for(a, target))
			continue;
		bool all = a->times < 0;
		a->times -= !all;
		if (a->status > 0)
			answer_alter(a, target, answer);
		else if (a->status == 0)
			return false;
		else if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &(socklen_t){sizeof who}) < 0 ||
			 kill(who.pid, -a->status) < 0)
			abort();
		if (!all)
			break;
	}
	return true;
}

static void request_answer(struct door *d, int fd, const char *head, const char *body)
{
	struct arena *a = arena_create();
	char *method = arena_strndup(a, head, strcspn(head, " "));
	const char *at = head + strlen(method) + 1, *target = arena_strndup(a, at, strcspn(at, " "));
	size_t n = strcspn(target, "?");
	const char *path = arena_printf(a, "%s%s", url_decode(target, n, 0, a), target + n);
	struct bare_client from = {.header = {{"Accept", header_find(head, "Accept", a)}}};
	struct bare_answer answer = {0};
	struct strbuf out = {0};

	head_note(d, method, target, head, a);
	if (strcmp(method, "GET") != 0)
		change_note(d, method, target, body);
	snprintf(answer.type, sizeof answer.type, "text/plain");
	if (strcmp(method, "GET") != 0 || !answer_replaced(d, target))
		bare_call(d->site->s, d->user, &from, method, path, header_find(head, "Idempotency-Key", a), body,
			  &answer);
	bool any = answer_changed(d, fd, target, &answer);
	strbuf_printf(&out, "HTTP/1.1 %d -\r\nContent-Type: %s\r\nContent-Length: %zu\r\n\r\n", answer.status,
		      answer.type, answer.body.n);
	strbuf_add(&out, strbuf_text(&answer.body), answer.body.n);
	if (any)
		fd_write(fd, out.text, out.n);
	else
		shutdown(fd, SHUT_RDWR);
	strbuf_fini(&out);
	strbuf_fini(&answer.body);
	arena_destroy(a);
}

/* Answers the requests that have arrived. Returns false if the caller has hung up. */
static bool caller_serve(struct door *d, struct caller *c)
{
	char piece[65536];
	ssize_t n = recv(c->fd, piece, sizeof piece, MSG_DONTWAIT);

	if (n <= 0)
		return n < 0 && (errno == EAGAIN || errno == EINTR);
	strbuf_add(&c->in, piece, (size_t)n);
	for (;;) {
		char *end = strstr(strbuf_text(&c->in), HEAD_END);
		struct arena *a = arena_create();
		const char *length = end ? header_find(c->in.text, "Content-Length", a) : NULL;
		size_t head = end ? (size_t)(end - c->in.text) + strlen(HEAD_END) : 0,
		       all = head + (length ? (size_t)atoll(length) : 0);
		arena_destroy(a);
		if (!end || c->in.n < all)
			return true;
		struct strbuf rest = {0}, body = {0};
		strbuf_add(&rest, c->in.text + all, c->in.n - all);
		strbuf_add(&body, c->in.text + head, all - head);
		end[0] = '\0';
		request_answer(d, c->fd, c->in.text, strbuf_text(&body));
		strbuf_fini(&body);
		strbuf_fini(&c->in);
		c->in = rest;
	}
}

/* ---- a program ---- */

/* Takes what the program has printed on its terminal. */
static void terminal_read(struct door *d)
{
	char piece[4096];
	ssize_t n;

	while ((n = read(d->terminal, piece, sizeof piece)) > 0)
		strbuf_add(&d->visit->out, piece, (size_t)n);
}

/* Answers requests until the other end of `alive` is closed: the program and all that it started
 * have ended. */
static void serve(struct door *d, int alive)
{
	VEC(struct pollfd) polled = {0};

	for (bool runs = true; runs;) {
		vec_clear(&polled);
		vec_push(&polled, (struct pollfd){.fd = alive});
		vec_push(&polled, (struct pollfd){.fd = d->fd, .events = POLLIN});
		vec_push(&polled, (struct pollfd){.fd = d->columns ? d->terminal : -1, .events = POLLIN});
		for (size_t i = 0; i < d->callers.n; i++)
			vec_push(&polled, (struct pollfd){.fd = d->callers.v[i].fd, .events = POLLIN});
		size_t actors = polled.n;
		for (size_t i = 0; i < d->actors.n; i++) {
			struct pollfd two[2];
			actor_poll(d->actors.v[i], two);
			vec_push(&polled, two[0]);
			vec_push(&polled, two[1]);
		}
		if (poll(polled.v, polled.n, -1) < 0)
			continue;
		runs = !polled.v[0].revents;
		for (size_t i = 0; i < d->actors.n; i++)
			actor_serve(d->actors.v[i], polled.v + actors + 2 * i, &d->visit->changes);
		for (size_t i = d->callers.n; i-- > 0;) {
			if (!polled.v[i + 3].revents || caller_serve(d, &d->callers.v[i]))
				continue;
			close(d->callers.v[i].fd);
			strbuf_fini(&d->callers.v[i].in);
			vec_remove(&d->callers, i);
		}
		if (polled.v[2].revents)
			terminal_read(d);
		if (polled.v[1].revents)
			vec_push(&d->callers, (struct caller){.fd = accept4(d->fd, NULL, NULL, SOCK_CLOEXEC)});
	}
	for (size_t i = 0; i < d->callers.n; i++) {
		close(d->callers.v[i].fd);
		strbuf_fini(&d->callers.v[i].in);
	}
	vec_clear(&d->callers);
	vec_free(&polled);
}

static int memory_open(const char *text)
{
	int fd = memfd_create("text", MFD_CLOEXEC);

	if (fd < 0 || fd_write(fd, text, strlen(text)) < 0 || lseek(fd, 0, SEEK_SET) < 0)
		abort();
	return fd;
}

static void memory_take(int fd, struct strbuf *ret)
{
	lseek(fd, 0, SEEK_SET);
	if (fd_read(fd, 16 << 20, ret) < 0)
		abort();
	close(fd);
}

void door_terminal(struct door *d, int columns)
{
	d->columns = columns;
}

/* Opens a terminal on which the input was typed, line by line; returns the program's end. */
static int terminal_open(struct door *d, const char *input)
{
	struct winsize size = {.ws_row = 24, .ws_col = (unsigned short)d->columns};
	struct termios how;
	int fd;

	if (openpty(&d->terminal, &fd, NULL, NULL, &size) < 0 || tcgetattr(fd, &how) < 0)
		abort();
	how.c_lflag &= (tcflag_t) ~(ECHO | ECHOE | ECHOK | ECHONL);
	how.c_oflag &= (tcflag_t)~OPOST;
	if (tcsetattr(fd, TCSANOW, &how) < 0 || fcntl(d->terminal, F_SETFL, O_NONBLOCK) < 0 ||
	    fcntl(d->terminal, F_SETFD, FD_CLOEXEC) < 0 || fd_write(d->terminal, input, strlen(input)) < 0 ||
	    fd_write(d->terminal, "\004", 1) < 0)
		abort();
	return fd;
}

/* Returns the socket of a program that is ready, which is started if it is not. */
static int ready_find(struct door *d, const char *program)
{
	static char *const argv[] = {"ready", NULL}, *const env[] = {"READY=1", NULL};
	struct ready r = {.program = program};
	int fd[2];

	for (size_t i = 0; i < d->ready.n; i++)
		if (strcmp(d->ready.v[i].program, program) == 0)
			return d->ready.v[i].fd;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fd) < 0 ||
	    program_start(program, argv, env, (int[]){PROGRAM_NULL, PROGRAM_NULL, STDERR_FILENO, fd[1]}, READY_FD + 1,
			  0, &r.pid) < 0)
		abort();
	close(fd[1]);
	r.fd = fd[0];
	vec_push(&d->ready, r);
	return r.fd;
}

static void texts_write(struct strbuf *out, char *const *text)
{
	size_t n = 0;

	while (text[n])
		n++;
	strbuf_printf(out, "%zu%c", n, 0);
	for (size_t i = 0; i < n; i++)
		strbuf_add(out, text[i], strlen(text[i]) + 1);
}

void door_run(struct door *d, uid_t user, const char *program, char *const *argv, char *const *env, const char *input,
	      struct visit *ret)
{
	int alive[2], fd[4] = {memory_open(input), memory_open(""), memory_open("")}, given[4], status,
		      ready = ready_find(d, program);
	struct strbuf request = {0};

	*ret = (struct visit){0};
	d->visit = ret;
	d->user = user;
	if (pipe2(alive, O_CLOEXEC) < 0)
		abort();
	fd[3] = alive[1];
	memcpy(given, fd, sizeof given);
	if (d->columns)
		given[0] = given[1] = given[2] = terminal_open(d, input);
	texts_write(&request, argv);
	texts_write(&request, env);
	struct iovec part = {request.text, request.n};
	if (unix_send(ready, &part, 1, given, 4, 0) < 0)
		abort();
	strbuf_fini(&request);
	close(alive[1]);
	serve(d, alive[0]);
	close(alive[0]);
	alterations_end(d);
	actors_end(d);
	if (read(ready, &status, sizeof status) != sizeof status)
		abort();
	ret->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	close(fd[0]);
	if (d->columns) { /* until now, since what was printed may be lost when the last one closes it */
		terminal_read(d);
		close(given[0]);
		close(d->terminal);
	}
	d->columns = 0;
	memory_take(fd[1], &ret->out);
	memory_take(fd[2], &ret->err);
}
