/*
 * pool_table.h - what one station knows of all: the last report of each and its age, and where the next task goes. Pure: the time is an argument.
 */
#ifndef STATION_POOL_TABLE_H
#define STATION_POOL_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "station/peer.h"

#define POOL_SILENT 3 /* intervals after which a station is not used */

struct pool_entry {
	struct peer_member member;
	struct peer_report report; /* run 0: none yet */
	int64_t heard;		   /* ms: its last word, a report or a sign of life */
	int placed;		   /* by us since that report */
	bool linked;		   /* we can send it tasks */
	bool removed;		   /* from the pool: kept for its name, as if it were not there */
	uint32_t number;	   /* the caller's */
};

struct pool_table {
	VEC(struct pool_entry) entries; /* by name */
	enum place_policy policy;
	int turn; /* of round robin */
};

/* What a task needs of a station. */
struct pool_need {
	char arch[PEER_ARCH_SIZE]; /* "": any */
	int64_t memory;		   /* KiB; 0: any */
};
/* "arch=x86_64,mem=2gb" */
int pool_need_parse(const char *text, struct pool_need *ret, struct err *err);

void pool_table_fini(struct pool_table *t);
struct pool_entry *pool_table_find(struct pool_table *t, const char *name);
/* Found or added; entries move when one is added. */
struct pool_entry *pool_table_add(struct pool_table *t, const char *name, const char *where);
/* Takes a report over unless it is older than what is known. True: it was new. */
bool pool_table_report(struct pool_entry *e, const struct peer_report *r, int64_t now);
bool pool_entry_usable(const struct pool_entry *e, const struct pool_need *need, int64_t now, int64_t interval);
/* Whether any station that is known has it, be it ready or not. */
bool pool_table_has(const struct pool_table *t, const struct pool_need *need);
/* The station for a task, counted if the policy counts; NULL: it waits here. */
struct pool_entry *pool_table_choose(struct pool_table *t, const struct pool_need *need, int64_t now, int64_t interval);
void pool_table_ended(struct pool_table *t, struct pool_entry *e); /* a task that we placed there has ended */

/* Whether a load has left the band around what was reported last: then all are to hear of it. */
bool pool_band_left(const struct peer_report *last, const struct peer_report *now);

#endif
