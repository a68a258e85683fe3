/* standby.h - several servers on one store: taking, keeping and waiting for the lead. */
#ifndef SERVER_STANDBY_H
#define SERVER_STANDBY_H

#include <stdbool.h>

struct err;
struct http_request;
struct link;
struct server;

/* Takes the lead, and with it a higher epoch (s->realm->epoch). -EBUSY: another server leads;
 * -EPERM: this server can neither be nor have a standby. */
int lead_take(struct server *s, struct err *err);
/* Answers requests with "another server leads" until this one does. Returns 0 then, or 1 if it
 * was stopped. */
int standby_wait(struct server *s);
/* Begins to renew the lease, which is short from now on; called once the server is up. */
int lead_start(struct server *s, struct err *err);
/* Returns true if this server still leads; nothing may be sent otherwise. Renews an expired
 * lease; exits the process if another server leads. */
bool lead_holds(struct server *s);
/* Releases the lead in order: another server may take it at once. */
void lead_end(struct server *s);
void lead_deposed(const struct server *s, const struct err *err) __attribute__((noreturn));
/* Returns true if there may be other servers. */
bool lead_leased(const struct server *s);
bool lead_standing(const struct server *s);
/* Answers that another server leads; false: this one leads, and no answer was sent. */
bool lead_answers(struct server *s, struct http_request *r);
void lead_link(void *context, struct link *l);

#endif
