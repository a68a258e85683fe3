/*
 * guard.c - restricts who may connect to the PMIx server of a host.
 *
 * libpmix listens on a TCP port of the loopback interface (version 4 offers nothing else; 4.2
 * ignores the module's own `listener`), which every user of the machine can reach, and its only
 * thread reads the first message of a new client without a time limit: one idle connection stops
 * the program. So this accept() replaces the C library's for the whole process: a client whose
 * socket does not belong to our user is replaced by one at its end, which the library drops at
 * once. (An error would end its listener, and of a socket that is shut down what has arrived could
 * still be read.) The kernel knows the owner of a loopback socket.
 */
#include <fcntl.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/loopback.h"

/* Puts a socket whose other end is closed in the place of this one. */
static void replace(int fd)
{
	int pair[2];

	shutdown(fd, SHUT_RDWR);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return;
	close(pair[1]);
	dup3(pair[0], fd, O_CLOEXEC);
	close(pair[0]);
}

/* Replaces accept() for the library as well: its calls resolve to this one first. */
__attribute__((visibility("default"))) int accept(int listener, struct sockaddr *address, socklen_t *n)
{
	int fd = (int)syscall(SYS_accept4, listener, address, n, SOCK_CLOEXEC);

	if (fd >= 0 && loopback_owner(fd) != (int64_t)geteuid())
		replace(fd);
	return fd;
}
