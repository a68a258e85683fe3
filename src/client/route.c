/*
 * route.c - connects to a server on another host through the program shunt-connect, which speaks
 * TLS, over a socketpair.
 *
 * It is a separate process because loading OpenSSL would cost a command more time than everything
 * else it does. It gets the CA certificate in an unnamed file, and never the token; only to seal a
 * change it gets the token's secret.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/program.h"
#include "client/client_internal.h"
#include "tls/pki.h"

#define SERVERS_MOST 32
#define PAUSE 500 /* ms to wait while no server leads: another is about to take over */

struct route *route_create(const char *name, const char *servers)
{
	struct route *r = mem_zalloc(sizeof *r);

	r->name = mem_strdup(name);
	for (const char *p = servers; *(p += strspn(p, " ")) && r->servers.n < SERVERS_MOST; p += strcspn(p, " "))
		vec_push(&r->servers, strndup(p, strcspn(p, " ")));
	return r;
}

void route_free(struct route *r)
{
	if (!r)
		return;
	route_end(r);
	for (size_t i = 0; i < r->servers.n; i++)
		free(r->servers.v[i]);
	vec_free(&r->servers);
	free(r->name);
	free(r->ca);
	free(r->fingerprint);
	if (r->token)
		explicit_bzero(r->token, strlen(r->token));
	free(r->token);
	free(r);
}

/* Ends shunt-connect without asking: it holds nothing that is still needed. */
void route_end(struct route *r)
{
	if (r->pid > 0) {
		kill(r->pid, SIGKILL);
		while (waitpid(r->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	r->pid = 0;
}

/* ---- starting shunt-connect ---- */

/* Opens an unnamed file with this text, on a descriptor that the program does not use. */
static int text_file(const char *text, struct err *err)
{
	int fd = memfd_create("ca", MFD_CLOEXEC), high = -1;
	size_t n = strlen(text);

	if (fd >= 0 && write(fd, text, n) == (ssize_t)n)
		high = fcntl(fd, F_DUPFD_CLOEXEC, 10);
	if (high < 0)
		err_set(err, high = -errno, "can't hand over the authority's certificate: %s", strerror(errno));
	if (fd >= 0)
		close(fd);
	return high;
}

int connect_start(char *const *argv, const char *ca_text, pid_t *ret, struct err *err)
{
	char program[PATH_MAX + 64];
	int fd[2], high = -1, ca = -1, rc = program_beside("shunt-connect", program, sizeof program, err);

	if (rc < 0)
		return rc;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd) < 0)
		return err_set(err, -errno, "can't make a pair of sockets: %s", strerror(errno));
	if ((high = fcntl(fd[1], F_DUPFD_CLOEXEC, 10)) < 0)
		rc = err_set(err, -errno, "can't move a socket: %s", strerror(errno));
	if (rc == 0 && ca_text && (ca = text_file(ca_text, err)) < 0)
		rc = ca;
	if (rc == 0 && (rc = program_start(program, argv, NULL, (int[]){high, PROGRAM_NULL, PROGRAM_SHARE, ca},
					   ca >= 0 ? 4 : 3, 0, ret)) < 0) {
		*ret = 0;
		err_set(err, rc, "can't start %.200s: %s", program, strerror(-rc));
	}
	close(fd[1]);
	if (high >= 0)
		close(high);
	if (ca >= 0)
		close(ca);
	if (rc == 0)
		return fd[0];
	close(fd[0]);
	return rc;
}

int route_start(struct route *r, struct err *err)
{
	VEC(char *) argv = {0};

	route_end(r);
	vec_push(&argv, "shunt-connect");
	vec_push(&argv, r->ca ? "--ca" : "--fingerprint");
	vec_push(&argv, r->ca ? ARGUMENT_CA : r->fingerprint);
	for (size_t i = 0; i < r->servers.n; i++)
		vec_push(&argv, r->servers.v[i]);
	vec_push(&argv, NULL);
	int fd = connect_start(argv.v, r->ca, &r->pid, err);
	vec_free(&argv);
	return fd;
}

/* ---- seals ---- */

static bool all_send(int fd, const char *text, size_t n)
{
	while (n > 0) {
		ssize_t rc = send(fd, text, n, MSG_NOSIGNAL);
		if (rc < 0 && errno != EINTR)
			return false;
		text += rc > 0 ? rc : 0;
		n -= rc > 0 ? (size_t)rc : 0;
	}
	return shutdown(fd, SHUT_WR) == 0;
}

static size_t all_receive(int fd, char *to, size_t size)
{
	size_t n = 0;
	ssize_t rc = 1;

	while (n < size && rc != 0) {
		rc = recv(fd, to + n, size - n, 0);
		if (rc < 0 && errno != EINTR)
			break;
		n += rc > 0 ? (size_t)rc : 0;
	}
	return n;
}

int text_seal(const struct token *t, const char *text, char ret[SEAL_SIZE], struct err *err)
{
	static char *const argv[] = {(char *)"shunt-connect", (char *)"--seal", NULL};
	struct strbuf all = {0};
	pid_t pid = 0;
	int fd = connect_start(argv, NULL, &pid, err), rc = 0;
	size_t n = 0;

	if (fd < 0)
		return fd;
	strbuf_printf(&all, "%s\n", t->secret);
	strbuf_puts(&all, text);
	if (all_send(fd, all.text, all.n))
		n = all_receive(fd, ret, SEAL_SIZE - 1);
	ret[n] = '\0';
	if (n == 0 || n == SEAL_SIZE - 1)
		rc = err_set(err, -EIO,
			     "shunt-connect, which seals requests while the server is down, ended without a message");
	close(fd);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	explicit_bzero(all.text, all.n);
	strbuf_fini(&all);
	return rc;
}

int seal_make(const struct token *t, const char *lease, const struct change *c, char ret[SEAL_SIZE], struct err *err)
{
	struct strbuf text = {0};

	seal_text(lease, c->nonce, c->path, c->body, &text);
	int rc = text_seal(t, text.text, ret, err);
	strbuf_fini(&text);
	return rc;
}

int route_answered(struct route *r, const char *line, struct err *err)
{
	if (strncmp(line, "ok ", 3) == 0) {
		snprintf(r->where, sizeof r->where, "%s", line + 3);
		return 0;
	}
	if (strncmp(line, "error ", 6) == 0)
		return err_set(err, -EHOSTUNREACH, "no server of %.100s can be used: %s", r->name, line + 6);
	if (strncmp(line, "absent ", 7) == 0)
		return err_set(err, -ECONNREFUSED, "no server of %.100s can be used: %s", r->name, line + 7);
	if (strncmp(line, "silent ", 7) == 0)
		return err_set(err, -EHOSTDOWN, "no server of %.100s can be reached: %s", r->name, line + 7);
	return err_set(err, -EHOSTUNREACH,
		       "the program shunt-connect, which reaches the servers of %.100s, ended without a message",
		       r->name);
}

/* ---- who leads ---- */

/* Puts a server in front of the others. */
static void route_prefer(struct route *r, const char *where)
{
	char *one = NULL;

	for (size_t i = 0; i < r->servers.n && !one; i++)
		if (strcmp(r->servers.v[i], where) == 0) {
			one = r->servers.v[i];
			vec_remove(&r->servers, i);
		}
	if (!one && r->servers.n >= SERVERS_MOST)
		free(r->servers.v[--r->servers.n]);
	vec_insert(&r->servers, 0, one ? one : mem_strdup(where));
}

/* Asks each named server once without waiting. If that did not help, asks the one that answered
 * again after a pause, since it will lead, or know who does. */
int route_follow(struct route *r, const char *leader)
{
	if (*leader && strcmp(leader, r->where) != 0 && strcmp(leader, r->leader) != 0 && !strpbrk(leader, " \r\n")) {
		snprintf(r->leader, sizeof r->leader, "%s", leader);
		route_prefer(r, leader);
		return 0;
	}
	r->leader[0] = '\0';
	route_prefer(r, r->where);
	return PAUSE;
}
