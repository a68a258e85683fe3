/* audit.h - the audit log: who changed a setting or another user's job, and the command that
 * undoes the change. A record is part of the transaction of its change. */
#ifndef SERVER_AUDIT_H
#define SERVER_AUDIT_H

struct asker;
struct attrs;
struct server;

/* Records a change. kind: "server", "queue", a kind of object, "node", "token", "job". `change`
 * and `undo` may be NULL. */
void audit_record(struct server *s, const struct asker *w, const char *kind, const char *name, const char *action,
		  const char *change, const char *undo);
/* Records the difference between two sets of attributes, if there is one. NULL before: created;
 * NULL after: deleted. */
void audit_attrs(struct server *s, const struct asker *w, const char *kind, const char *name,
		 const struct attrs *before, const struct attrs *after);
void audit_turn(struct server *s); /* removes records older than keep_audit */

#endif
