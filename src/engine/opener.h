/*
 * opener.h - files opened as users by the nursery (engine/local.h), each with somebody who waits for it.
 */
#ifndef ENGINE_OPENER_H
#define ENGINE_OPENER_H

#include "engine/local.h"

struct opener; /* one for each struct local */
struct opening;

struct opener *opener_create(struct local *l);
void opener_destroy(struct opener *o); /* nobody is told any more */

struct opener_user {
	uid_t uid; /* BY_NAME: uid and gid are those of this host for that name, which the nursery looks up */
	gid_t gid;
	const char *name;
};
/* `done` gets the descriptor, which is its own from then on, or -1 and the reason; never from inside this call. */
struct opening *opener_ask(struct opener *o, const struct opener_user *who, const char *path, int flags, int mode,
			   void (*done)(void *context, int fd, const char *reason), void *context);
/* What the user sees at that path. */
struct opening *opener_look(struct opener *o, const struct opener_user *who, const char *path,
			    void (*looked)(void *context, const struct sight *s), void *context);
void opening_cancel(struct opening *q); /* not wanted any more; NULL is none */
/* What the local engine tells. False: not asked for here. */
bool opener_answer(struct opener *o, uint64_t id, int fd, const char *reason);
bool opener_looked(struct opener *o, uint64_t id, const struct sight *s);

#endif
