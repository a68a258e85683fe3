/*
 * audit.h - the audit log: who changed which setting, or another user's job, and the command that undoes it. A record is part of
 * the transaction of its change.
 */
#ifndef SERVER_AUDIT_H
#define SERVER_AUDIT_H

#include <stdint.h>

struct asker;
struct attrs;
struct server;

/* A change that was made. kind: "server", "queue", a kind of object, "node", "token", "job". `change` and `undo` may be NULL. */
void audit_record(struct server *s, const struct asker *w, const char *kind, const char *name, const char *action,
		  const char *change, const char *undo);
/* What differs between attributes; nothing is recorded if nothing does. NULL before: it was created; NULL after: deleted. */
void audit_attrs(struct server *s, const struct asker *w, const char *kind, const char *name,
		 const struct attrs *before, const struct attrs *after);
void audit_turn(struct server *s); /* forgets what is older than keep_audit */

#endif
