/*
 * belongings.h - which store the files in the state directory belong to.
 */
#ifndef SERVER_BELONGINGS_H
#define SERVER_BELONGINGS_H

struct err;
struct server;

/* Draws the random part of this server's file names. */
void belongings_begin(struct server *s);
/* Checks that the files belong to our store. -ESTALE: they belong to another. */
int belongings_check(struct server *s, struct err *err);
void belongings_mark(struct server *s); /* marks them as our store's */
void belongings_sweep(struct server *s);
int belongings_set_aside(struct server *s, struct err *err); /* prints what it did */

#endif
