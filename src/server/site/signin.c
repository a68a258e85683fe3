/*
 * signin.c - see signin.h.
 *
 * The program is started while the server is root, and can't be started again after that: when it is lost, tokens and links are left.
 */
#include "server/site/signin.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/vec.h"
#include "net/http.h"
#include "server/base/instance.h"
#include "server/base/log.h"
#include "server/base/turn.h"
#include "server/server.h"
#include "server/settings/conf.h"
#include "server/site/realm.h"

#define WAITING_MAX 64	      /* in all, */
#define WAITING_PER_ADDRESS 4 /* ... and from one address */

extern char **environ;

struct waiting {
	uint64_t id;
	struct http_request *r; /* valid until it is answered */
	signin_done done;
};

struct signin {
	struct server *s;
	int fd; /* -1: the program is lost */
	uv_poll_t poll;
	uint64_t next;
	VEC(struct waiting) waiting;
};

/* ---- the program ---- */

static void all_fail(struct signin *g)
{
	const struct signin_answer a = {.verdict = SIGNIN_BROKEN};

	while (g->waiting.n) {
		struct waiting x = g->waiting.v[0];
		vec_remove(&g->waiting, 0);
		x.done(g->s, x.r, &a);
	}
}

static void on_closed(uv_handle_t *handle)
{
	struct signin *g = handle->data;

	close(g->fd);
	g->fd = -1;
	server_say(g->s, "shunt-signin ended: until this server is started again, nobody can sign in by a password");
	turn_wake(g->s);
	all_fail(g);
}

static void answer_hand(struct signin *g, const struct signin_answer *a)
{
	for (size_t i = 0; i < g->waiting.n; i++) {
		struct waiting x = g->waiting.v[i];
		if (x.id != a->id)
			continue;
		vec_remove(&g->waiting, i);
		x.done(g->s, x.r, a);
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

static int program_spawn(const char *program, int fd)
{
	char *argv[] = {(char *)program, NULL};
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;
	sigset_t none;
	pid_t pid;

	sigemptyset(&none);
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_adddup2(&files, fd, SIGNIN_FD);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
	posix_spawnattr_setsigmask(&attributes, &none);
	int rc = posix_spawn(&pid, program, &files, &attributes, argv, environ);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&files);
	return -rc;
}

void signin_start(struct server *s)
{
	const char *slash = strrchr(s->instance->program, '/');
	char program[PATH_MAX];
	int pair[2], high, rc;

	if (!s->instance->multi || !*s->conf->page_listen || geteuid() != 0)
		return;
	snprintf(program, sizeof program, "%.*s/shunt-signin", slash ? (int)(slash - s->instance->program) : 0,
		 s->instance->program);
	if (access(program, X_OK) < 0) {
		server_say(s, "the page takes no passwords: this build has no shunt-signin (libpam0g-dev was missing)");
		return;
	}
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
		server_say(s, "the page takes no passwords: %s", strerror(errno));
		return;
	}
	high = fcntl(pair[1], F_DUPFD_CLOEXEC,
		     SIGNIN_FD + 1); /* else the number might be the same, and close on exec */
	rc = program_spawn(program, high);
	close(high);
	close(pair[1]);
	if (rc < 0) {
		close(pair[0]);
		server_say(s, "the page takes no passwords: %s: %s", program, strerror(-rc));
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

static int room_check(const struct signin *g, const char *address, struct err *err)
{
	int here = 0;

	for (size_t i = 0; i < g->waiting.n; i++)
		here += strcmp(request_remote(g->waiting.v[i].r), address) == 0;
	if (here >= WAITING_PER_ADDRESS || g->waiting.n >= WAITING_MAX)
		return err_code(err, CODE_TOO_MANY, "Too many sign in at this moment: try again.");
	return 0;
}

int signin_ask(struct server *s, struct http_request *r, const char *user, const char *password, signin_done done,
	       struct err *err)
{
	struct signin *g = s->realm->signin;
	struct signin_question q = {0};
	int rc;

	if (!signin_works(s))
		return err_code(err, CODE_UNAVAILABLE, "Passwords can't be checked here: sign in by a token.");
	if (!*user || strlen(user) >= sizeof q.user || strlen(password) >= sizeof q.password)
		return err_code(err, CODE_BAD_REQUEST, "A user's name has at most %zu characters, a password %zu.",
				sizeof q.user - 1, sizeof q.password - 1);
	if ((rc = room_check(g, request_remote(r), err)) < 0)
		return rc;
	q.id = ++g->next;
	strcpy(q.user, user);
	strcpy(q.password, password);
	snprintf(q.address, sizeof q.address, "%.63s", request_remote(r));
	ssize_t n = send(g->fd, &q, sizeof q, MSG_DONTWAIT | MSG_NOSIGNAL);
	explicit_bzero(&q, sizeof q);
	if (n < 0)
		return err_code(err, CODE_TOO_MANY, "Too many sign in at this moment: try again.");
	vec_push(&g->waiting, (struct waiting){g->next, r, done});
	return 0;
}
