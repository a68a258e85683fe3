/*
 * terminal.h - interactive jobs.
 */
#ifndef SERVER_TERMINAL_H
#define SERVER_TERMINAL_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct call;
struct err;
struct link;
struct server;

int terminals_begin(struct server *s, struct err *err); /* takes terminals of jobs on this machine */
/* The terminal of a job on another host, which that has sent by a link of its own; false: it is none of a job there. */
bool terminal_link(struct server *s, uint32_t node, struct link *l, const json_t *head);
void api_terminal(struct server *s, const struct call *c);
void terminals_turn(struct server *s); /* clients that wait for jobs which have ended */
void terminals_end(struct server *s);

#endif
