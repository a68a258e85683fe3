/*
 * order.h - the order of waiting jobs by priorities.
 */
#ifndef SERVER_ORDER_H
#define SERVER_ORDER_H

#include <jansson.h>
#include <stdint.h>

struct err;
struct server;

void rank_set(struct server *s, uint32_t id, double rank); /* of a waiting job */
void rank_note(struct server *s, uint32_t id, double rank, const char *text,
	       const char *who);		      /* the same, with why for the log */
void reorder_later(struct server *s, uint32_t owner); /* by priority, among a user's waiting jobs */
void reorder_note(struct server *s, uint32_t owner);  /* that it will have to be, for the case of a crash before */
int reorder_restore(struct server *s, const char *owner, const json_t *o, struct err *err); /* it was not complete */

#endif
