/*
 * guard.c - who may connect to the PMIx server of a host.
 *
 * libpmix listens on a TCP port of the loopback interface (version 4 offers nothing else; 4.2 ignores the module's own `listener`), which every
 * user of the machine can reach, and its only thread reads what a new caller has to say without a time limit: one idle connection stops the program.
 * So this accept() takes the place of the C library's for everything in this process: a caller whose socket does not belong to our user gets a connection
 * that is shut down already, which the library drops at once. (An error instead would end its listener.) The kernel knows whose a loopback socket is.
 */
#include <stdint.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/loopback.h"

/* Also for the library: its calls find this one before the C library's. */
__attribute__((visibility("default"))) int accept(int listener, struct sockaddr *address, socklen_t *n)
{
	int fd = (int)syscall(SYS_accept4, listener, address, n, SOCK_CLOEXEC);

	if (fd >= 0 && loopback_owner(fd) != (int64_t)geteuid())
		shutdown(fd, SHUT_RDWR);
	return fd;
}
