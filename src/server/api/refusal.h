/*
 * refusal.h - submissions that were made while the server was down, and refused at its start: their users know their ids. Kept in the store for 30 days.
 */
#ifndef SERVER_REFUSAL_H
#define SERVER_REFUSAL_H

#include <jansson.h>
#include <stdint.h>
#include <sys/types.h>

struct asker;
struct err;
struct server;

void refusal_keep(struct server *s, uint64_t number, uid_t uid, const char *why);
/* Why it was refused; NULL: it was not, or is not the asker's. Borrowed. */
const char *refusal_find(const struct server *s, const struct asker *w, uint64_t number);
int refusal_restore(struct server *s, const char *name, const json_t *o, struct err *err); /* at recovery */

#endif
