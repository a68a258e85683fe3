/*
 * terminal.h - interactive jobs, and programs started in running ones.
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

/* Accepts terminals of jobs on this machine. */
int terminals_begin(struct server *s, struct err *err);
/* Takes the terminal of a job on another host, sent by a link of its own. Returns false if it does
 * not belong to a job there. */
bool terminal_link(struct server *s, uint32_t node, struct link *l, const json_t *head);
void api_terminal(struct server *s, const struct call *c);
void api_enter(struct server *s, const struct call *c);
void api_program(struct server *s, const struct call *c);
void api_program_input(struct server *s, const struct call *c);
void terminals_turn(struct server *s); /* serves clients that wait for jobs which have ended */
void terminals_end(struct server *s);
void entered_tick(struct server *s); /* called about once a second */
void entered_end(struct server *s);

#endif
