/*
 * order.h - the order of waiting jobs by priorities.
 */
#ifndef SERVER_ORDER_H
#define SERVER_ORDER_H

#include <jansson.h>
#include <stdint.h>

struct err;
struct server;

void rank_set(struct server *s, uint32_t id, double rank); /* sets the rank of a waiting job */
void rank_note(struct server *s, uint32_t id, double rank, const char *text,
	       const char *who); /* does the same and logs why */
/* Reorders a user's waiting jobs by priority. */
void reorder_later(struct server *s, uint32_t owner);
/* Stores that a reordering is due, in case of a crash before it. */
void reorder_note(struct server *s, uint32_t owner);
/* Resumes a reordering that was not complete. */
int reorder_restore(struct server *s, const char *owner, const json_t *o, struct err *err);

#endif
