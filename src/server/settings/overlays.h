/*
 * overlays.h - overlays: nodes that come from another cluster for a time, while jobs wait for them (docs/overlay.md).
 *
 * An overlay has as many *slots* as it may have nodes; the node in a slot is called NAME-1, NAME-2 and so on, whichever machine it is. A slot is taken when an
 * allocation is requested for it, and free again when that is over. What is requested and when is for life/wait/overlay.h; the process that talks to the other
 * cluster is `shunt keeper` (site/courier.h).
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
	int64_t request; /* for which it is taken; 0: it is free */
	uint64_t token;	 /* by which its node joins; 0: none */
	int64_t idle;	 /* since when its node has nothing to do; 0: it has, or there is none. Not stored */
};

enum overlay_state { OVERLAY_UNKNOWN, OVERLAY_PENDING, OVERLAY_RUNNING, OVERLAY_ENDED };
#define OVERLAY_STATES "unknown|pending|running|ended"

/* A request as the keeper last reported it; not stored. */
struct overlay_request {
	int64_t id;
	int64_t planned; /* when it starts, instant; 0: not known */
	enum overlay_state state;
	char job[64]; /* its name in the other cluster; "": none */
};

/* What was requested, and what became of it. CPU time of jobs is counted once in a keeper's turn. */
struct overlay_allocation {
	int64_t id, nodes;
	int64_t submitted, started, ended; /* 0: not yet */
	int64_t used;			   /* seconds of CPUs that jobs had */
	char job[64];			   /* what the other cluster calls it */
};

struct overlay {
	char *name;
	char *place, *words, *tag;	    /* for bag/provider.h; words NULL: none */
	int64_t nodes, seconds, cpus, idle; /* at once; of an allocation; of a node; after which a node is released */
	bool paused, removed;		    /* nothing is requested; and what there is, is ended */
	char *why;			    /* it was paused since ...; NULL: by a user */
	int64_t last;			    /* request */
	VEC(struct overlay_slot) slots;
	int64_t granted; /* seconds that the other cluster is known to grant at most; 0: not known. Not stored */
	struct res most; /* that a node of it had, of memory, disk and swap; 0: none has come yet */
	char *trouble;	 /* what went wrong last; NULL: nothing. Not stored */
	VEC(struct overlay_request) requests;
	VEC(struct overlay_allocation) allocations; /* by id; of those that are over the last ones */
	int64_t counted;			    /* until when what jobs use was counted; 0: never */
	int64_t stored;				    /* when all of this was. Not stored */
	int64_t resumed;			    /* times that somebody wanted requests to go on. Not stored */
	uint32_t from; /* the job at which the next look begins, since limits kept too many before it. Not stored */
};

struct overlays {
	VEC(struct overlay *) list; /* by name */
	int port;		    /* that was opened for them, where none is configured; 0: none yet */
};

extern const struct schema overlay_allocation_shown; /* an overlay_allocation in answers */

struct overlay *overlay_find(const struct server *s, const char *name); /* NULL: not known */
/* Adds one with the members of `given`, whose texts are taken over. */
struct overlay *overlay_add(struct server *s, const char *name, const struct overlay *given);
void overlay_store(struct server *s, struct overlay *o); /* also after its number of nodes was set */
struct overlay_allocation *overlay_allocation(struct overlay *o, int64_t id); /* NULL: not known */
void overlay_drop(struct server *s, struct overlay *o);
/* What would be opened for them: "PORT"; NULL: there are none. Borrowed until the next call. */
const char *overlays_listen(const struct server *s);
void overlays_opened(struct server *s, int port);
int overlay_restore(struct server *s, const char *name, const json_t *o, struct err *err); /* at recovery */
void overlay_text(char **at, const char *text);						   /* NULL or "": none */

#endif
