/*
 * engine_internal.h - what the files of the engine share.
 *
 *	engine.c	the calls of engine.h, and what this machine tells
 *	gang.c		gang_step() decides from the states of an attempt's parts what is next; the rest does it
 *	part.c		one part: what is asked of it, and heard of it
 *	hub.c		hosts: sending to them, hearing from them, putting in order what is known of them
 *
 * Everything that happens changes states only, and touches the gang. engine_settle(), the last act of each entry, moves the touched gangs on
 * until nothing is left to do, and is the only one that tells the listener: whoever is told may call the engine again.
 */
#ifndef ENGINE_ENGINE_INTERNAL_H
#define ENGINE_ENGINE_INTERNAL_H

#include "base/map.h"
#include "base/names.h"
#include "base/vec.h"
#include "engine/engine.h"
#include "engine/errands.h"

enum part_state {
	PART_WAITS,   /* its order has not left */
	PART_ORDERED, /* no answer yet */
	PART_OPENING, /* a room that was started and is not open yet */
	PART_RUNS,    /* the script, or a room that is open */
	PART_AWAY,    /* from before the server's start, and its host has not come yet */
	PART_ENDED,   /* with a result */
	PART_LOST,    /* without one; nothing of it runs */
	PART_NEVER,   /* it never ran, and will not */
};

#define SIGNAL_BIT(signal) (UINT64_C(1) << ((signal)-1))

struct host;
struct gang;

/* A part is its gang's. */
struct part {
	struct gang *gang;
	struct host *host;
	struct part *before, *after; /* the host's other parts */
	enum part_state state;
	bool asked;	    /* the server asked it to end: if a room does before the script, that is no accident */
	uint32_t seen;	    /* the inventory that had it last */
	uint64_t wanted;    /* signals to be sent: SIGNAL_BIT() */
	int64_t limit;	    /* its walltime, if that was changed; 0: its order's. Repeated when the host was away */
	int save;	    /* save_word(), or 0. The same */
	struct saves saves; /* what was heard of it */
	int64_t cpu_ms, memory_kib; /* the same: used so far, and now */
	uint64_t given;		    /* sent, and to be repeated when the host was away */
	struct strbuf order;	    /* JSON, while it WAITS */
	struct strbuf script;	    /* its text, while it WAITS */
	struct result *result;	    /* ENDED; its tag is the gang's, its reason its own */
	char *why;		    /* NEVER, LOST: a sentence, or NULL */
	bool refused;		    /* NEVER: by its host, or since that was not there; not only with the others */
	bool unclear;		    /* ... for a reason that may be the job's */
};

/* An attempt: the engine's, from engine_start() or engine_attach() until it was refused or is forgotten. */
struct gang {
	struct gang *next; /* of the same hash */
	size_t touched;	   /* its place in engine.touched + 1; 0: not there */
	bool released;	   /* engine_flush() was called: orders may leave */
	bool started;	   /* that was told */
	bool told;	   /* what became of it was */
	bool saved;	   /* the script's checkpoints have changed */
	int broken;	   /* the room that went while the script ran; 0: none */
	int ending;	   /* 0, then SIGTERM, then SIGKILL: what is left of it was told to end */
	int64_t grace;	   /* seconds between those two */
	uint64_t kill_at;  /* uv_now() for SIGKILL */
	pid_t pid;	   /* of the script's part */
	const char *tag;
	int n;
	struct part part[]; /* the first has the script, the others are rooms */
};

struct host {
	char *name; /* "": this machine */
	bool here;
	struct link *link; /* NULL: not connected, or this machine */
	struct part *parts;
	uint32_t seen;	   /* its last inventory */
	json_t *strangers; /* inventory's items that nobody claimed, by tag, until engine_sweep() */
};

struct engine {
	uv_loop_t *loop;
	struct errands *here; /* NULL: no jobs on this machine */
	bool here_waits;      /* something for local_flush() */
	struct engine_listener l;
	struct map gangs; /* hash of the tag -> the first gang with it */
	struct names host_names;
	VEC(struct host *) hosts;   /* by the number of their name */
	VEC(struct gang *) fresh;   /* not released */
	VEC(struct gang *) touched; /* for engine_settle() */
	VEC(struct gang *) ending;  /* SIGKILL is to come */
	uv_timer_t timer;	    /* for the earliest of those */
	uint32_t inventories;
	bool settling, swept;
};

/* ---- gang.c ---- */

enum gang_move { MOVE_NONE, MOVE_ROOMS, MOVE_SCRIPT, MOVE_STARTED, MOVE_END, MOVE_REFUSED, MOVE_ENDED, MOVE_LOST };

enum gang_move gang_step(const struct gang *g); /* pure: what is next */
struct gang *gang_create(struct engine *e, const char *tag, int n);
struct gang *gang_find(const struct engine *e, const char *tag); /* NULL: there is none */
void gang_forget(struct engine *e, struct gang *g);		 /* its hosts may, too */
void gang_drop(struct engine *e, struct gang *g);
void gang_touch(struct engine *e, struct gang *g);
void gang_used(struct engine *e, const struct gang *g); /* a part has said what it uses */
void engine_settle(struct engine *e);
void gang_kill_due(struct engine *e); /* SIGKILL to those whose time is over */

/* ---- part.c ---- */

bool part_is_over(const struct part *p);
bool part_is_under_way(const struct part *p); /* something of it may run */
bool part_failed(const struct part *p);	      /* by itself, not because it was told to end */
/* Sentences, to be freed. Why the attempt could not be started, if it is this part's fault (NULL: it is nobody's); why it was lost with it. */
char *part_refusal(const struct part *p);
char *part_epitaph(const struct part *p);
void part_begin(struct engine *e, struct part *p); /* its order leaves, or it never will */
void part_never(struct engine *e, struct part *p);
void part_signal(struct engine *e, struct part *p, int signal);	     /* now, or when its host is back */
void part_limit(struct engine *e, struct part *p, int64_t walltime); /* the same */
void part_save(struct engine *e, struct part *p, enum checkpoint_cause cause, int64_t seconds);
void part_hear(struct engine *e, struct part *p, const struct news *n);

/* ---- hub.c ---- */

struct host *host_get(struct engine *e, const char *name); /* made if it is new */
bool host_is_there(const struct engine *e, const struct host *h);
const char *host_title(const struct host *h); /* for sentences */
struct part *host_part(const struct engine *e, const struct host *h, const char *tag);
void part_settle_in(struct part *p, struct gang *g, struct host *h); /* among the host's parts */
void part_move_out(struct part *p);
/* Whoever calls these knows that it is there. */
void host_order(struct engine *e, struct part *p);
void host_signals(struct engine *e, struct part *p); /* all that are wanted */
void host_signal(struct engine *e, struct host *h, const char *tag, int signal);
void host_limit(struct engine *e, struct part *p); /* if it was changed */
void host_save(struct engine *e, struct part *p);  /* if it was asked to */
void host_forget(struct engine *e, struct host *h, const char *tag);
void host_clean(struct engine *e, struct host *h, const char *tag);
/* What a connected host said of a tag before anybody claimed it. */
void host_recall(struct engine *e, struct part *p);
void hub_sweep(struct engine *e, bool (*known)(void *context, const char *tag), void *context);
void hub_free(struct engine *e);

/* It ended because of its host, not by itself: another attempt may be made. */
static inline bool cause_is_hosts(enum result_cause cause)
{
	return cause == CAUSE_LEASE || cause == CAUSE_SHUTDOWN;
}

#endif
