/*
 * postgres.h - a private PostgreSQL for a test, in a temporary directory and only on a UNIX socket,
 * and a relay that loses a connection at a chosen moment.
 */
#ifndef TESTS_SUPPORT_POSTGRES_H
#define TESTS_SUPPORT_POSTGRES_H

#include <stddef.h>
#include <sys/types.h>

struct postgres_server {
	char dir[64]; /* holds the data, the log and the socket */
	pid_t pid;
};

/* Starts it; Debian's package must be installed. Root runs it as the account postgres, since it
 * refuses to run as root. Fails the test on an error. */
void postgres_start(struct postgres_server *server);
void postgres_stop(struct postgres_server *server); /* also removes its directory */
/* Writes a URL for the store; port 5432 is the server itself. */
void postgres_url(const struct postgres_server *server, int port, char *buf, size_t size);

enum relay_cut { RELAY_CUT_BEFORE, RELAY_CUT_AFTER };

/* Starts a process that listens at `port` for the server. The first COMMIT that passes ends its
 * connection: before the server gets it, or after the server has executed it and before the
 * client gets the answer. Later connections are left alone. End it with SIGKILL. */
pid_t relay_start(const struct postgres_server *server, int port, enum relay_cut cut);

#endif
