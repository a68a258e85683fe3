/*
 * answer.h - answers that take long: computed one after the other by a process beside the server
 * (base/twin.h), and reused while they hold.
 */
#ifndef SERVER_ANSWER_H
#define SERVER_ANSWER_H

#include <stdbool.h>

struct asker;
struct call;
struct err;
struct server;
struct strbuf;

/* Writes the answer (JSON) for the part of the path that matches the '*' of the route, or returns
 * false with the error. */
typedef bool (*answerer)(struct server *s, const struct asker *who, const char *name, struct strbuf *out,
			 struct err *err);

/* Answers later. The answer depends on the path, the client and the server's state alone. */
void answer_apart(struct server *s, const struct call *c, answerer write);

#endif
