/*
 * recover.h - recovery: the fold over what the store has.
 */
#ifndef SERVER_RECOVER_H
#define SERVER_RECOVER_H

struct err;
struct server;

int server_recover(struct server *s, struct err *err);
void recover_defaults(struct server *s); /* of a new store */
void recover_attempts(struct server *s); /* once the engine is there */

#endif
