/*
 * postgres.h - a PostgreSQL of our own, for a test: in a temporary directory, on a UNIX socket only; and a relay that
 * loses a connection at a chosen moment.
 */
#ifndef TESTS_SUPPORT_POSTGRES_H
#define TESTS_SUPPORT_POSTGRES_H

#include <stddef.h>
#include <sys/types.h>

struct postgres_server {
	char dir[64]; /* holds the data, the log and the socket */
	pid_t pid;
};

/* Debian's package must be installed. Root has it run by the account postgres, which it insists on. Fails the test if
 * it can't. */
void postgres_start(struct postgres_server *server);
void postgres_stop(struct postgres_server *server); /* and removes everything */
/* A URL for the store; port 5432 is the server itself. */
void postgres_url(const struct postgres_server *server, int port, char *buf, size_t size);

enum relay_cut { RELAY_CUT_BEFORE, RELAY_CUT_AFTER };

/* A process that listens at `port` for the server. The first COMMIT that passes ends its connection: before the server
 * gets it, or after the server has done it and before the client is told. Later connections are left alone. Ended by
 * SIGKILL. */
pid_t relay_start(const struct postgres_server *server, int port, enum relay_cut cut);

#endif
