/*
 * loop.h - the loop.
 */
#ifndef SERVER_LOOP_H
#define SERVER_LOOP_H

struct err;
struct server;

void server_turn(struct server *s); /* one turn, without what comes in and goes out by sockets */
int loop_open(struct server *s, int listening, struct err *err); /* the API's socket, and signals */
void loop_run(struct server *s);				 /* until it is told to stop */

#endif
