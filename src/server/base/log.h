/*
 * log.h - the server's log.
 */
#ifndef SERVER_LOG_H
#define SERVER_LOG_H

struct server;

void server_say(const struct server *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
