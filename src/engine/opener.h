/*
 * opener.h - has the nursery open files as users (engine/local.h), each with a callback.
 */
#ifndef ENGINE_OPENER_H
#define ENGINE_OPENER_H

#include "engine/local.h"

struct opener; /* one for each struct local */
struct opening;

struct opener *opener_create(struct local *l);
void opener_destroy(struct opener *o); /* no callback is called any more */

struct opener_user {
	/* BY_NAME: uid and gid are this host's for the name, which the nursery looks up */
	uid_t uid;
	gid_t gid;
	const char *name;
};
/* Opens a file. `done` gets the descriptor, which it then owns, or -1 and the reason; never from
 * inside this call. */
struct opening *opener_ask(struct opener *o, const struct opener_user *who, const char *path, int flags, int mode,
			   void (*done)(void *context, int fd, const char *reason), void *context);
/* Looks up what the user sees at the path. */
struct opening *opener_look(struct opener *o, const struct opener_user *who, const char *path,
			    void (*looked)(void *context, const struct sight *s), void *context);
void opening_cancel(struct opening *q); /* no callback is called; NULL is allowed */
/* Pass answers of the local engine to these. They return false for a request of someone else. */
bool opener_answer(struct opener *o, uint64_t id, int fd, const char *reason);
bool opener_looked(struct opener *o, uint64_t id, const struct sight *s);

#endif
