/*
 * signin.c - see signin.h.
 *
 * The program is started while the server is root, and cannot be started again after that: if it is
 * lost, users can still sign in with tokens and links.
 *
 * PAM's modules may hang, and users can cause that (a directory server that does not answer for one
 * account). A new question therefore replaces the oldest one of its user, of its address, or of
 * all, whichever has reached its limit, so that hanging questions keep nobody out.
 */
#include "server/site/signin.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/program.h"
#include "base/vec.h"
#include "net/address.h"
#include "net/http.h"
#include "server/base/instance.h"
#include "server/base/log.h"
#include "server/base/turn.h"
#include "server/server.h"
#include "server/settings/conf.h"
#include "server/site/realm.h"

/* Pending questions, at most. The program has room for more (SIGNIN_MOST), until dropped ones
 * have ended. */
#define WAITING_MAX 64
#define WAITING_PER_ADDRESS 16
#define WAITING_PER_USER 2

struct waiting {
	uint64_t id;
	struct http_request *r; /* valid until it is answered */
	signin_done done;
	char user[sizeof((struct signin_question *)0)->user];
};

struct signin {
	struct server *s;
	int fd; /* -1: the program is lost */
	uv_poll_t poll;
	uint64_t next;
	VEC(struct waiting) waiting; /* the oldest first */
};

/* ---- the program ---- */

static void question_end(struct signin *g, size_t i, const struct signin_answer *a)
{
	struct waiting x = g->waiting.v[i];

	vec_remove(&g->waiting, i);
	x.done(g->s, x.r, x.user, a);
}

static void all_fail(struct signin *g)
{
	const struct signin_answer a = {.verdict = SIGNIN_UNASKED, .why = "shunt-signin ended"};

	while (g->waiting.n)
		question_end(g, 0, &a);
}

static void on_closed(uv_handle_t *handle)
{
	struct signin *g = handle->data;

	close(g->fd);
	g->fd = -1;
	server_log(g->s, SEVERITY_ERROR,
		   "shunt-signin has exited: nobody can sign in with a password until this server is restarted");
	turn_wake(g->s);
	all_fail(g);
}

static void answer_hand(struct signin *g, const struct signin_answer *a)
{
	for (size_t i = 0; i < g->waiting.n; i++) {
		if (g->waiting.v[i].id != a->id)
			continue;
		question_end(g, i, a);
		return;
	}
}

static void on_answer(uv_poll_t *poll, int status, int events)
{
	struct signin *g = poll->data;
	struct signin_answer a;
	ssize_t n;

	turn_wake(g->s);
	while ((n = recv(g->fd, &a, sizeof a, MSG_DONTWAIT)) == sizeof a)
		answer_hand(g, &a);
	if (n >= 0 || (errno != EAGAIN && errno != EINTR))
		uv_close((uv_handle_t *)poll, on_closed);
}

void signin_start(struct server *s)
{
	const char *slash = strrchr(s->instance->program, '/');
	char program[PATH_MAX];
	int pair[2], high, rc;
	pid_t pid;

	if (!s->instance->multi || !*s->conf->page_listen || geteuid() != 0)
		return;
	snprintf(program, sizeof program, "%.*s/shunt-signin", slash ? (int)(slash - s->instance->program) : 0,
		 s->instance->program);
	if (access(program, X_OK) < 0) {
		server_log(
			s, SEVERITY_WARNING,
			"the page does not accept passwords: this build has no shunt-signin (libpam0g-dev was missing)");
		return;
	}
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
		server_log(s, SEVERITY_ERROR, "the page does not accept passwords: %s", strerror(errno));
		return;
	}
	high = fcntl(pair[1], F_DUPFD_CLOEXEC,
		     /* otherwise the number might be SIGNIN_FD itself, which would be closed on
		      * exec */
		     SIGNIN_FD + 1);
	rc = program_start(program, (char *[]){program, NULL}, NULL,
			   (int[]){PROGRAM_SHARE, PROGRAM_SHARE, PROGRAM_SHARE, [SIGNIN_FD] = high}, SIGNIN_FD + 1, 0,
			   &pid);
	close(high);
	close(pair[1]);
	if (rc < 0) {
		close(pair[0]);
		server_log(s, SEVERITY_ERROR, "the page does not accept passwords: %s: %s", program, strerror(-rc));
		return;
	}
	struct signin *g = s->realm->signin = mem_zalloc(sizeof *g);
	g->s = s;
	g->fd = pair[0];
	uv_poll_init(s->loop, &g->poll, g->fd);
	g->poll.data = g;
	uv_poll_start(&g->poll, UV_READABLE, on_answer);
	uv_unref((uv_handle_t *)&g->poll);
}

/* ---- questions ---- */

bool signin_works(const struct server *s)
{
	return s->realm->signin && s->realm->signin->fd >= 0;
}

static bool question_send(const struct signin *g, const struct signin_question *q)
{
	return send(g->fd, q, sizeof *q, MSG_DONTWAIT | MSG_NOSIGNAL) == sizeof *q;
}

/* Returns the question that a new one of this user and address replaces; -1: there is room. */
static ssize_t victim_find(const struct signin *g, const char *user, const char *address)
{
	ssize_t oldest_of_user = -1, oldest_here = -1;
	int of_user = 0, here = 0;

	for (size_t i = g->waiting.n; i-- > 0;) {
		if (strcmp(g->waiting.v[i].user, user) == 0 && ++of_user)
			oldest_of_user = (ssize_t)i;
		if (address_key(request_remote(g->waiting.v[i].r)) == address_key(address) && ++here)
			oldest_here = (ssize_t)i;
	}
	if (of_user >= WAITING_PER_USER)
		return oldest_of_user;
	if (here >= WAITING_PER_ADDRESS)
		return oldest_here;
	return g->waiting.n >= WAITING_MAX ? 0 : -1;
}

/* Drops a question if there is no room. Returns false if the program does not take the message. */
static bool room_make(struct signin *g, const char *user, const char *address)
{
	const struct signin_answer a = {.verdict = SIGNIN_BROKEN, .why = "PAM had not answered when others signed in"};
	ssize_t victim = victim_find(g, user, address);

	if (victim < 0)
		return true;
	if (!question_send(g, &(struct signin_question){.gives_up = g->waiting.v[victim].id}))
		return false;
	question_end(g, (size_t)victim, &a);
	return true;
}

int signin_ask(struct server *s, struct http_request *r, const char *user, const char *password, signin_done done,
	       struct err *err)
{
	struct signin *g = s->realm->signin;
	struct signin_question q = {0};
	struct waiting x = {.r = r, .done = done};

	if (!signin_works(s))
		return err_code(err, CODE_UNAVAILABLE, "Passwords can't be checked here: sign in by a token.");
	if (!*user || strlen(user) >= sizeof q.user || strlen(password) >= sizeof q.password)
		return err_code(err, CODE_BAD_REQUEST, "A user's name has at most %zu characters, a password %zu.",
				sizeof q.user - 1, sizeof q.password - 1);
	q.id = x.id = ++g->next;
	strcpy(q.user, user);
	strcpy(x.user, user);
	strcpy(q.password, password);
	snprintf(q.address, sizeof q.address, "%.63s", request_remote(r));
	bool sent = room_make(g, user, request_remote(r)) && question_send(g, &q);
	explicit_bzero(&q, sizeof q);
	if (!sent)
		return err_code(err, CODE_TOO_MANY, "Too many sign in at this moment: try again.");
	vec_push(&g->waiting, x);
	return 0;
}
