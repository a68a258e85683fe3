/*
 * pool_table.h - one station's view of the pool: the last report of each station and its age.
 * Chooses where the next task runs. Pure: the time is an argument.
 */
#ifndef STATION_POOL_TABLE_H
#define STATION_POOL_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "station/peer.h"

#define POOL_SILENT 3 /* intervals of silence after which a station is not used */

struct pool_entry {
	struct peer_member member;
	struct peer_report report; /* run is 0 before the first report */
	int64_t heard;		   /* ms: when it was last heard, a report or a sign of life */
	int placed;		   /* tasks that we placed there since that report, less those that ended */
	int own;		   /* our tasks there or on their way */
	bool linked;		   /* true if we can send it tasks */
	bool removed;		   /* removed from the pool: the entry only keeps the name */
	uint32_t number;	   /* the caller's number for it */
};

struct pool_table {
	VEC(struct pool_entry) entries; /* sorted by name */
	struct place_rule rule;
	int turn; /* round-robin position */
};

/* What a task requires of a station. */
struct pool_need {
	char arch[PEER_ARCH_SIZE]; /* "": any */
	int64_t memory;		   /* KiB; 0: any */
};
/* Parses a requirement such as "arch=x86_64,mem=2gb". */
int pool_need_parse(const char *text, struct pool_need *ret, struct err *err);

void pool_table_fini(struct pool_table *t);
struct pool_entry *pool_table_find(struct pool_table *t, const char *name);
/* Finds or adds an entry. Adding one moves the others. */
struct pool_entry *pool_table_add(struct pool_table *t, const char *name, const char *where);
/* Stores a report unless a newer one is known. Returns true if it was new. */
bool pool_table_report(struct pool_entry *e, const struct peer_report *r, int64_t now);
bool pool_entry_usable(const struct pool_entry *e, const struct pool_need *need, int64_t now, int64_t interval);
/* Returns true if any known station meets the need, ready or not. */
bool pool_table_has(const struct pool_table *t, const struct pool_need *need);
/* Chooses the station for a task, and counts the task if the policy counts. NULL: the task waits
 * here. */
struct pool_entry *pool_table_choose(struct pool_table *t, const struct pool_need *need, int64_t now, int64_t interval);
/* Notes the end of a task that we placed there. */
void pool_table_ended(struct pool_table *t, struct pool_entry *e);

/* Returns true if the load has left the band around the last report, so that a new one is due. */
bool pool_band_left(const struct peer_report *last, const struct peer_report *now);

#endif
