/*
 * guard.c - who may connect to the PMIx server of a host.
 *
 * libpmix listens on a TCP port of the loopback interface (version 4 offers nothing else; 4.2 ignores the module's own `listener`), which every
 * user of the machine can reach, and its only thread reads what a new caller has to say without a time limit: one idle connection stops the program.
 * So this accept() takes the place of the C library's for everything in this process: a caller whose socket does not belong to our user gets a connection
 * that is shut down already, which the library drops at once. (An error instead would end its listener.) The kernel knows whose a loopback socket is.
 */
#include "pmix/guard.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NOBODY ((int64_t)-1)

struct ends {
	struct sockaddr_in ours, theirs;
};

/* The kernel looks up one socket: by our view of it, its local end is `theirs`. */
static int diag_ask(int fd, const struct ends *e)
{
	struct {
		struct nlmsghdr head;
		struct inet_diag_req_v2 body;
	} q = {.head = {.nlmsg_len = sizeof q, .nlmsg_type = SOCK_DIAG_BY_FAMILY, .nlmsg_flags = NLM_F_REQUEST},
	       .body = {.sdiag_family = AF_INET, .sdiag_protocol = IPPROTO_TCP, .idiag_states = ~0u}};

	q.body.id.idiag_sport = e->theirs.sin_port;
	q.body.id.idiag_dport = e->ours.sin_port;
	q.body.id.idiag_src[0] = e->theirs.sin_addr.s_addr;
	q.body.id.idiag_dst[0] = e->ours.sin_addr.s_addr;
	q.body.id.idiag_cookie[0] = q.body.id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
	return send(fd, &q, sizeof q, 0) == (ssize_t)sizeof q ? 0 : -errno;
}

/* -errno: it can't be asked here; -ENOENT: there is no such socket (any more). */
static int diag_owner(const struct ends *e, int64_t *ret)
{
	union {
		struct nlmsghdr head;
		char bytes[4096];
	} answer;
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG), r = fd < 0 ? -errno : diag_ask(fd, e);
	ssize_t n = r ? -1 : recv(fd, &answer, sizeof answer, 0);

	if (!r && n < (ssize_t)NLMSG_LENGTH(sizeof(struct nlmsgerr)))
		r = -EIO;
	if (!r && answer.head.nlmsg_type == NLMSG_ERROR)
		r = ((struct nlmsgerr *)NLMSG_DATA(&answer.head))->error;
	else if (!r && (answer.head.nlmsg_type != SOCK_DIAG_BY_FAMILY ||
			n < (ssize_t)NLMSG_LENGTH(sizeof(struct inet_diag_msg))))
		r = -EIO;
	else if (!r)
		*ret = ((struct inet_diag_msg *)NLMSG_DATA(&answer.head))->idiag_uid;
	if (fd >= 0)
		close(fd);
	return r;
}

/* Where the kernel has no sock_diag: all sockets, one in a line. */
static int64_t table_owner(const struct ends *e)
{
	FILE *f = fopen("/proc/net/tcp", "re");
	unsigned from, from_port, to, to_port, uid;
	int64_t found = NOBODY;
	char line[512];

	while (f && found == NOBODY && fgets(line, sizeof line, f))
		if (sscanf(line, " %*d: %x:%x %x:%x %*x %*x:%*x %*x:%*x %*x %u", &from, &from_port, &to, &to_port,
			   &uid) == 5 &&
		    from == e->theirs.sin_addr.s_addr && to == e->ours.sin_addr.s_addr &&
		    from_port == ntohs(e->theirs.sin_port) && to_port == ntohs(e->ours.sin_port))
			found = uid;
	if (f)
		fclose(f);
	return found;
}

int64_t guard_owner(int fd)
{
	struct ends e;
	socklen_t n = sizeof e.ours, m = sizeof e.theirs;
	int64_t uid = NOBODY;

	if (getsockname(fd, (struct sockaddr *)&e.ours, &n) < 0 ||
	    getpeername(fd, (struct sockaddr *)&e.theirs, &m) < 0 || e.ours.sin_family != AF_INET)
		return NOBODY;
	int r = diag_owner(&e, &uid);
	return r == -ENOENT ? NOBODY : r ? table_owner(&e) : uid;
}

/* Also for the library: its calls find this one before the C library's. */
__attribute__((visibility("default"))) int accept(int listener, struct sockaddr *address, socklen_t *n)
{
	int fd = (int)syscall(SYS_accept4, listener, address, n, SOCK_CLOEXEC);

	if (fd >= 0 && guard_owner(fd) != (int64_t)geteuid())
		shutdown(fd, SHUT_RDWR);
	return fd;
}
