/*
 * standby.h - several servers on one store: taking the lead, keeping it, standing by.
 */
#ifndef SERVER_STANDBY_H
#define SERVER_STANDBY_H

#include <stdbool.h>

struct err;
struct http_request;
struct link;
struct server;

/* Takes the lead, and with it a higher epoch (s->realm->epoch). -EBUSY: another leads; -EPERM: this one can't be a standby, nor have one. */
int lead_take(struct server *s, struct err *err);
int standby_wait(struct server *s); /* answers that another leads, until it is this one: 0; 1: it was told to stop */
int lead_start(struct server *s, struct err *err); /* it is up: from now on the lease is short, and renewed */
/* Nothing may be told unless this is so. Renews the lease if it is over; the process ends if another leads. */
bool lead_holds(struct server *s);
void lead_end(struct server *s); /* in order: another may lead at once */
void lead_deposed(const struct server *s, const struct err *err) __attribute__((noreturn));
bool lead_leased(const struct server *s); /* there may be other servers */
bool lead_standing(const struct server *s);
bool lead_answers(struct server *s,
		  struct http_request *r); /* that another leads; false: this one does, and it was not answered */
void lead_link(void *context, struct link *l);
void standby_link(struct server *s, struct link *l);

#endif
