/*
 * link.c - starts the programs that speak TLS, and reads their first line.
 */
#include "bag/link.h"

#include <errno.h>
#include <ifaddrs.h>
#include <limits.h>
#include <net/if.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bag/own.h"
#include "base/program.h"

enum { PATIENCE = 120000 }; /* ms; shunt-connect tries each address for five seconds */

/* Reads one line, byte by byte, since what follows it is not ours. */
static int line_read(int fd, char *ret, size_t size)
{
	size_t n = 0;

	for (;;) {
		struct pollfd p = {.fd = fd, .events = POLLIN};
		int rc = poll(&p, 1, PATIENCE);
		if (rc < 0 && errno == EINTR)
			continue;
		if (rc <= 0)
			return rc < 0 ? -errno : -ETIMEDOUT;
		ssize_t got = recv(fd, ret + n, 1, 0);
		if (got <= 0)
			return got < 0 ? -errno : -ECONNRESET;
		if (ret[n] == '\n')
			break;
		n += n + 1 < size; /* cut a line that is too long */
	}
	ret[n] = '\0';
	return 0;
}

/* Starts a program with a socket as its descriptor 0, and reads its first line. Returns our end
 * of the socket. */
static int talk(const char *program, char *const *words, pid_t *ret_pid, char *line, size_t size, struct err *err)
{
	int fd[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd) < 0)
		return err_set(err, -errno, "can't make a pair of sockets: %s", strerror(errno));
	pid_t pid = own_start(program, words, fd[1], -1);
	close(fd[1]);
	if (pid < 0) {
		close(fd[0]);
		return err_set(err, (int)pid, "can't start %s: %s", program, strerror((int)-pid));
	}
	int rc = line_read(fd[0], line, size);
	if (rc == 0 && strncmp(line, "error ", 6) != 0) {
		*ret_pid = pid;
		return fd[0];
	}
	close(fd[0]);
	own_kill(pid);
	return rc < 0 ? err_set(err, rc, "%s does not answer: %s", program, strerror(-rc))
		      : err_set(err, -EIO, "%s", line + 6);
}

static void place_add(struct credential *c, const char *host, int port)
{
	if (c->nwhere < CREDENTIAL_PLACES && strlen(host) < sizeof c->where[0] - 10)
		snprintf(c->where[c->nwhere++], sizeof c->where[0], strchr(host, ':') ? "[%s]:%d" : "%s:%d", host,
			 port);
}

/* Adds the addresses that others may reach, then our host name; only the loopback address if
 * there are no others. */
void places_here(struct credential *c, int port)
{
	struct ifaddrs *all = NULL;
	char host[NI_MAXHOST];

	if (getifaddrs(&all) < 0)
		all = NULL;
	for (const struct ifaddrs *a = all; a; a = a->ifa_next) {
		int family = a->ifa_addr ? a->ifa_addr->sa_family : 0;
		if ((family != AF_INET && family != AF_INET6) || !(a->ifa_flags & IFF_UP) ||
		    (a->ifa_flags & IFF_LOOPBACK))
			continue;
		if (getnameinfo(a->ifa_addr,
				family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6), host,
				sizeof host, NULL, 0, NI_NUMERICHOST) == 0 &&
		    !strchr(host, '%')) /* link-local addresses are useless to other hosts */
			place_add(c, host, port);
	}
	if (all)
		freeifaddrs(all);
	if (c->nwhere > 0 && gethostname(host, sizeof host - 1) == 0)
		place_add(c, host, port);
	if (c->nwhere == 0)
		place_add(c, "127.0.0.1", port);
}

int gate_open(const char *socket, struct gate_link *ret, struct err *err)
{
	char program[PATH_MAX + 64], line[512], extra;
	char *words[] = {"shunt-bag-gate", (char *)(uintptr_t)socket, NULL};
	int port;

	*ret = (struct gate_link){.fd = -1};
	int rc = program_beside("shunt-bag-gate", program, sizeof program, err);
	if (rc < 0)
		return rc;
	int fd = talk(program, words, &ret->pid, line, sizeof line, err);
	if (fd < 0)
		return fd;
	ret->fd = fd;
	if (sscanf(line, "%d %64[0-9a-f]%c", &port, ret->at.fingerprint, &extra) != 2) {
		gate_close(ret);
		return err_set(err, -EPROTO, "%s says something that is not expected: %s", program, line);
	}
	places_here(&ret->at, port);
	return 0;
}

bool gate_lost(struct gate_link *g)
{
	int status;

	return g->fd >= 0 && own_ended(g->pid, &status);
}

void gate_close(struct gate_link *g)
{
	int status;

	if (g->fd < 0)
		return;
	close(g->fd);
	for (int tries = 0; !own_ended(g->pid, &status) && tries < 4000; tries++)
		usleep(1000);
	g->fd = -1;
}

/* Makes an address the first that is tried. */
static void place_prefer(struct credential *c, const char *where)
{
	char first[sizeof c->where[0]];

	for (int i = 1; i < c->nwhere; i++)
		if (strcmp(c->where[i], where) == 0) {
			memcpy(first, c->where[0], sizeof first);
			memcpy(c->where[0], c->where[i], sizeof first);
			memcpy(c->where[i], first, sizeof first);
		}
}

int bag_link_open(struct credential *c, pid_t *ret_pid, struct err *err)
{
	char program[PATH_MAX + 64], line[1024];
	char *words[4 + CREDENTIAL_PLACES] = {"shunt-connect", "--fingerprint", (char *)(uintptr_t)c->fingerprint};
	int rc = program_beside("shunt-connect", program, sizeof program, err);

	if (rc < 0)
		return rc;
	for (int i = 0; i < c->nwhere; i++)
		words[3 + i] = (char *)(uintptr_t)c->where[i];
	int fd = talk(program, words, ret_pid, line, sizeof line, err);
	if (fd < 0)
		return fd;
	if (strncmp(line, "ok ", 3) == 0) {
		place_prefer(c, line + 3);
		return fd;
	}
	close(fd);
	own_kill(*ret_pid);
	const char *text = strchr(line, ' ');
	return err_set(err, strncmp(line, "absent ", 7) == 0 ? -ECONNREFUSED : -EHOSTUNREACH,
		       "the broker is not there: %s", text ? text + 1 : line);
}
