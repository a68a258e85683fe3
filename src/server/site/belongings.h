/*
 * belongings.h - which store the files in the state directory belong to.
 */
#ifndef SERVER_BELONGINGS_H
#define SERVER_BELONGINGS_H

struct err;
struct server;

/* belongings.c: whose files those in the state directory are */
void belongings_begin(struct server *s);
int belongings_check(struct server *s, struct err *err); /* -ESTALE: another store's */
void belongings_mark(struct server *s);			 /* they are our store's */
void belongings_sweep(struct server *s);
int belongings_set_aside(struct server *s, struct err *err); /* says on standard output what it did */

#endif
