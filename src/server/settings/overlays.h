/*
 * overlays.h - overlays: nodes borrowed from another cluster for a time, while jobs wait for them
 * (docs/overlay.md).
 *
 * An overlay has as many *slots* as it may have nodes; the node in a slot is called NAME-1, NAME-2
 * and so on, whichever machine it is. A slot is taken when an allocation is requested for it, and
 * free again when the allocation is over. life/wait/overlay.h decides what to request and when; the
 * process that talks to the other cluster is `shunt keeper` (site/courier.h).
 */
#ifndef SERVER_OVERLAYS_H
#define SERVER_OVERLAYS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "core/res.h"

struct err;
struct server;

#define OVERLAY_NODES_MOST 1000
#define OVERLAY_NAME_MOST 48

struct overlay_slot {
	int64_t request; /* request that occupies the slot; 0: it is free */
	uint64_t token;	 /* token with which its node joins; 0: none */
	/* instant since which its node is idle; 0: it is busy, or there is none. Not stored */
	int64_t idle;
};

enum overlay_state { OVERLAY_UNKNOWN, OVERLAY_PENDING, OVERLAY_RUNNING, OVERLAY_ENDED };
#define OVERLAY_STATES "unknown|pending|running|ended"

/* A request as last reported by the keeper; not stored. */
struct overlay_request {
	int64_t id;
	int64_t planned; /* planned start, instant; 0: not known */
	enum overlay_state state;
	char job[64]; /* its job id in the other cluster; "": none */
};

/* An allocation and its fate. CPU time of jobs is added once in a keeper's turn. */
struct overlay_allocation {
	int64_t id, nodes;
	int64_t submitted, started, ended; /* instants; 0: not yet */
	int64_t used;			   /* CPU seconds used by jobs */
	char job[64];			   /* its job id in the other cluster */
};

struct overlay {
	char *name;
	char *place, *words, *tag; /* arguments of bag/provider.h; words NULL: none */
	/* nodes at most; seconds per allocation; CPUs per node; idle seconds until a node is
	 * released */
	int64_t nodes, seconds, cpus, idle;
	/* paused: nothing is requested; removed: existing allocations are ended */
	bool paused, removed;
	char *why;    /* why it was paused; NULL: by a user */
	int64_t last; /* id of the last request */
	VEC(struct overlay_slot) slots;
	/* longest walltime that the other cluster is known to grant, seconds; 0: not known. Not
	 * stored */
	int64_t granted;
	struct res most; /* largest memory, disk and swap of a node so far; 0: none has come yet */
	char *trouble;	 /* last problem; NULL: none. Not stored */
	VEC(struct overlay_request) requests;
	/* by id; of those that are over only the last ones */
	VEC(struct overlay_allocation) allocations;
	/* instant up to which job usage was counted; 0: never */
	int64_t counted;
	int64_t stored; /* instant of the last store. Not stored */
	/* number of times a user resumed requests. Not stored */
	int64_t resumed;
	/* job at which the next look begins, since limits held back too many before it. Not
	 * stored */
	uint32_t from;
};

struct overlays {
	VEC(struct overlay *) list; /* by name */
	int port;		    /* port opened for them where none is configured; 0: none yet */
};

extern const struct schema overlay_allocation_shown; /* overlay_allocation in answers */

struct overlay *overlay_find(const struct server *s, const char *name); /* NULL: not known */
/* Adds an overlay with the members of `given`, whose texts are taken over. */
struct overlay *overlay_add(struct server *s, const char *name, const struct overlay *given);
/* Stores it. To be called after its number of nodes was set as well. */
void overlay_store(struct server *s, struct overlay *o);
struct overlay_allocation *overlay_allocation(struct overlay *o, int64_t id); /* NULL: not known */
void overlay_drop(struct server *s, struct overlay *o);
/* Returns the listen address for overlays, "PORT"; NULL: none. Borrowed until the next
 * call. */
const char *overlays_listen(const struct server *s);
void overlays_opened(struct server *s, int port);
/* Restores an overlay, at recovery. */
int overlay_restore(struct server *s, const char *name, const json_t *o, struct err *err);
/* Replaces a text; NULL or "": none. */
void overlay_text(char **at, const char *text);

#endif
