/*
 * connect.c - linked into a program of Shunt: with SHUNT_DOOR in its environment, the path of a
 * server's socket, the program plays shunt-connect itself. It says SHUNT_ROUTE, the line with which
 * shunt-connect reports, and then passes on what is said to that server, without TLS. An agent is
 * reached at the socket SHUNT_SPOOL; every seal is the same.
 */
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fdio.h"
#include "base/program.h"
#include "base/unixsock.h"

#define SEAL "5ea15ea15ea15ea15ea15ea15ea15ea1"

int __real_program_beside(const char *name, char *ret, size_t size, struct err *err);
int __wrap_program_beside(const char *name, char *ret, size_t size, struct err *err);

int __wrap_program_beside(const char *name, char *ret, size_t size, struct err *err)
{
	if (!getenv("SHUNT_DOOR") || strcmp(name, "shunt-connect") != 0)
		return __real_program_beside(name, ret, size, err);
	snprintf(ret, size, "/proc/self/exe");
	return 0;
}

static bool pass(int from, int to)
{
	char piece[4096];
	ssize_t n = read(from, piece, sizeof piece);

	return n > 0 && fd_write(to, piece, (size_t)n) == 0;
}

/* Runs before main(). Its standard input is the client's end. */
__attribute__((constructor)) static void connect_begin(int argc, char **argv)
{
	const char *door = getenv("SHUNT_DOOR"), *line = getenv("SHUNT_ROUTE");
	char sealed[4096];
	struct err err;

	if (!door || strcmp(argv[0], "shunt-connect") != 0)
		return;
	fprintf(stderr, "connect:");
	for (int i = 1; i < argc; i++)
		fprintf(stderr, " %s", argv[i]);
	fprintf(stderr, "\n");
	if (argc > 1 && strcmp(argv[1], "--seal") == 0) {
		while (read(STDIN_FILENO, sealed, sizeof sealed) > 0)
			; /* all that is to be sealed, which is not taken from a program that has ended */
		_exit(write(STDIN_FILENO, SEAL, strlen(SEAL)) < 0);
	}
	bool agent = argc > 1 && strcmp(argv[1], "--agent") == 0;
	int fd = unix_connect(agent && getenv("SHUNT_SPOOL") ? getenv("SHUNT_SPOOL") : door, 0, &err);
	if (!line || fd < 0)
		_exit(1);
	dprintf(STDIN_FILENO, "%s\n", agent ? "ok agent" : line);
	for (bool open = true; open;) {
		struct pollfd p[] = {{.fd = STDIN_FILENO, .events = POLLIN}, {.fd = fd, .events = POLLIN}};
		if (poll(p, 2, -1) < 0 && errno != EINTR)
			break;
		if (p[0].revents)
			open = pass(STDIN_FILENO, fd);
		if (open && p[1].revents)
			open = pass(fd, STDIN_FILENO);
	}
	_exit(0);
}
