/*
 * loopback.c - see loopback.h.
 */
#include "base/loopback.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

struct ends {
	struct sockaddr_in ours, theirs;
};

/* Asks the kernel for one socket. `theirs` is the local end of that socket. */
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

/* Returns the owner. A socket that its process has closed has no inode, and the kernel reports
 * root as its owner. */
static int64_t answer_owner(const struct inet_diag_msg *m)
{
	return m->idiag_inode ? (int64_t)m->idiag_uid : LOOPBACK_NOBODY;
}

/* Asks sock_diag for the owner. -ENOENT: there is no such socket (any more); another -errno:
 * sock_diag is not available. */
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
		*ret = answer_owner(NLMSG_DATA(&answer.head));
	if (fd >= 0)
		close(fd);
	return r;
}

/* Reads the table of all sockets, where the kernel has no sock_diag. */
static int64_t table_owner(const struct ends *e)
{
	FILE *f = fopen("/proc/net/tcp", "re");
	unsigned from, from_port, to, to_port, uid;
	unsigned long inode;
	int64_t found = LOOPBACK_NOBODY;
	char line[512];

	while (f && found == LOOPBACK_NOBODY && fgets(line, sizeof line, f))
		if (sscanf(line, " %*d: %x:%x %x:%x %*x %*x:%*x %*x:%*x %*x %u %*d %lu", &from, &from_port, &to,
			   &to_port, &uid, &inode) == 6 &&
		    inode && from == e->theirs.sin_addr.s_addr && to == e->ours.sin_addr.s_addr &&
		    from_port == ntohs(e->theirs.sin_port) && to_port == ntohs(e->ours.sin_port))
			found = uid;
	if (f)
		fclose(f);
	return found;
}

int64_t loopback_owner(int fd)
{
	struct ends e;
	socklen_t n = sizeof e.ours, m = sizeof e.theirs;
	int64_t uid = LOOPBACK_NOBODY;

	if (getsockname(fd, (struct sockaddr *)&e.ours, &n) < 0 ||
	    getpeername(fd, (struct sockaddr *)&e.theirs, &m) < 0 || e.ours.sin_family != AF_INET)
		return LOOPBACK_NOBODY;
	int r = diag_owner(&e, &uid);
	return r == -ENOENT ? LOOPBACK_NOBODY : r ? table_owner(&e) : uid;
}
