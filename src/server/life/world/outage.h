/*
 * outage.h - shutdowns of the machine: at once or at an announced time, until an end that may be
 * known.
 *
 * An announced outage is kept in the store, so that a restart before its time does not cancel it,
 * however the server was stopped; a server started after that time ends it. Until then no job is
 * placed that would run into it, unless running jobs are left alone; forecast starts after it
 * follow from the same plan.
 */
#ifndef SERVER_OUTAGE_H
#define SERVER_OUTAGE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct err;
struct schema;
struct server;

/* What happens to running jobs. */
enum outage_kind {
	OUTAGE_NONE,
	OUTAGE_LEAVE, /* they continue */
	/* they make checkpoints; those that cannot are stopped; all that may run again wait */
	OUTAGE_SAVE,
	OUTAGE_STOP, /* they are stopped without checkpoints; all that may run again wait */
	OUTAGE_END,  /* they are deleted */
	OUTAGE_KINDS
};

/* Owned by struct world. */
struct outage {
	uint8_t kind;
	bool begun;
	int64_t begin, until; /* instants; until may be TIME_NEVER: not known */
	char who[64];
};

extern const struct schema outage_schema; /* struct outage other than OUTAGE_NONE */

bool outage_kind_parse(const char *word, enum outage_kind *ret);
/* Announces an outage in place of the announced one, or begins it if its time has come: an
 * outage announced for later then still counts after the next start. OUTAGE_NONE cancels it. */
void outage_set(struct server *s, const struct outage *x);
void outage_turn(struct server *s); /* begins it when its time has come */
/* Returns the time of its beginning; TIME_NEVER: none is announced. */
int64_t outage_next(const struct server *s);
int outage_restore(struct server *s, const char *name, const json_t *o, struct err *err);

#endif
