/* loop.h - the server's event loop. */
#ifndef SERVER_LOOP_H
#define SERVER_LOOP_H

struct err;
struct server;

/* Runs one turn, without socket input and output. */
void server_turn(struct server *s);
/* Opens the API's socket, and handles signals. */
int loop_open(struct server *s, int listening, struct err *err);
/* Runs until the server is stopped. */
void loop_run(struct server *s);

#endif
