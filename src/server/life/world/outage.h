/*
 * outage.h - the machine is shut down: at once or at a time that was announced, until an end that may be known.
 *
 * One that is announced is kept in the store, so that a restart before its time changes nothing, whichever way the server was stopped; a server that is started when its time has come ends it.
 * Until then no job is placed that would last into it, unless running jobs are left alone; expected starts behind it follow from the same plan.
 */
#ifndef SERVER_OUTAGE_H
#define SERVER_OUTAGE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct err;
struct schema;
struct server;

/* What becomes of the jobs that run. */
enum outage_kind {
	OUTAGE_NONE,
	OUTAGE_LEAVE, /* they go on */
	OUTAGE_SAVE,  /* checkpoints are made; what can't make any is stopped; all that may run again waits */
	OUTAGE_STOP,  /* the same, without making checkpoints */
	OUTAGE_END,   /* they are deleted */
	OUTAGE_KINDS
};

/* Owned by struct world. */
struct outage {
	uint8_t kind;
	bool begun;
	int64_t begin, until; /* instants; until TIME_NEVER: not known */
	char who[64];
};

extern const struct schema outage_schema; /* a struct outage that is not NONE */

bool outage_kind_parse(const char *word, enum outage_kind *ret);
/* Announces it, instead of the one that was announced, or begins it if its time has come: then one that is announced for later still counts after the next start. OUTAGE_NONE: it is called
 * off. */
void outage_set(struct server *s, const struct outage *x);
void outage_turn(struct server *s);	     /* begins it when its time has come */
int64_t outage_next(const struct server *s); /* when that will be, or TIME_NEVER */
int outage_restore(struct server *s, const char *name, const json_t *o, struct err *err);

#endif
