/*
 * engine_internal.h - shared by the files of the engine.
 *
 *	engine.c	the calls of engine.h, and news from this machine
 *	gang.c		gang_step() decides the next step from the parts' states; the rest does it
 *	part.c		one part: requests to it, and news of it
 *	hub.c		hosts: sending to them, receiving from them, reconciling their inventories
 *
 * Events only change states and touch the gang. engine_settle(), the last step of each entry point,
 * advances the touched gangs until nothing is left to do, and is the only function that notifies
 * the listener, which may call the engine again.
 */
#ifndef ENGINE_ENGINE_INTERNAL_H
#define ENGINE_ENGINE_INTERNAL_H

#include "base/map.h"
#include "base/names.h"
#include "base/vec.h"
#include "engine/engine.h"
#include "engine/errands.h"

enum part_state {
	PART_WAITS,   /* its order has not been sent */
	PART_ORDERED, /* no answer yet */
	PART_OPENING, /* a room that was started but is not open yet */
	PART_RUNS,    /* the script is running, or the room is open */
	PART_AWAY,    /* from before the server's start; its host has not connected yet */
	PART_ENDED,   /* with a result */
	PART_LOST,    /* ended without a result; nothing of it runs */
	PART_NEVER,   /* it never ran, and will not */
};

#define SIGNAL_BIT(signal) (UINT64_C(1) << ((signal)-1))

struct host;
struct gang;

/* A part belongs to its gang. */
struct part {
	struct gang *gang;
	struct host *host;
	struct part *before, *after; /* other parts of the same host */
	enum part_state state;
	/* the server asked it to end, so a room that ends before the script is not a failure */
	bool asked;
	uint32_t seen;		    /* number of the inventory that had it last */
	uint64_t wanted;	    /* signals to send: SIGNAL_BIT() */
	int64_t limit;		    /* changed walltime, seconds; 0: the order's. Sent again after a reconnect */
	int save;		    /* save_word(), or 0. Sent again after a reconnect */
	struct saves saves;	    /* last reported checkpoints */
	int64_t cpu_ms, memory_kib; /* last reported usage: CPU time so far, memory now */
	uint64_t given;		    /* signals sent, to be repeated after a reconnect */
	struct strbuf order;	    /* JSON, while it WAITS */
	struct strbuf script;	    /* text of the script, while it WAITS */
	struct result *result;	    /* ENDED; has the gang's tag and its own reason */
	char *why;		    /* NEVER, LOST: a sentence, or NULL */
	/* NEVER: refused by its host, or because that was disconnected; not just withdrawn with the
	 * others */
	bool refused;
	bool unclear; /* the cause may be the job rather than the host */
};

/* An attempt. The engine owns it from engine_start() or engine_attach() until it is refused or
 * forgotten. */
struct gang {
	struct gang *next; /* next gang with the same hash */
	size_t touched;	   /* index in engine.touched + 1; 0: not there */
	bool released;	   /* engine_flush() was called: orders may be sent */
	bool started;	   /* the listener knows that it has started */
	bool told;	   /* the listener knows the outcome */
	bool saved;	   /* the script's checkpoints have changed */
	int broken;	   /* room that ended while the script was running; 0: none */
	int ending;	   /* signal sent to end the rest: 0, then SIGTERM, then SIGKILL */
	int64_t grace;	   /* seconds between the two signals */
	uint64_t kill_at;  /* uv_now() for SIGKILL */
	pid_t pid;	   /* pid of the script's part */
	const char *tag;
	int n;
	struct part part[]; /* the first has the script, each of the others is a room */
};

struct host {
	char *name; /* "": this machine */
	bool here;
	struct link *link; /* NULL: not connected, or this machine */
	struct part *parts;
	uint32_t seen; /* number of its last inventory */
	/* items of the inventory that no part claimed, by tag, until engine_sweep() */
	json_t *strangers;
};

struct engine {
	uv_loop_t *loop;
	struct errands *here; /* NULL: no jobs on this machine */
	bool here_waits;      /* there is something to send with local_flush() */
	struct engine_listener l;
	struct map gangs; /* hash of the tag -> the first gang with it */
	struct names host_names;
	VEC(struct host *) hosts;   /* indexed by the number of the name */
	VEC(struct gang *) fresh;   /* not released yet */
	VEC(struct gang *) touched; /* for engine_settle() */
	VEC(struct gang *) ending;  /* waiting for their SIGKILL */
	uv_timer_t timer;	    /* set to the earliest of those */
	uint32_t inventories;
	bool settling, swept;
};

/* ---- gang.c ---- */

enum gang_move { MOVE_NONE, MOVE_ROOMS, MOVE_SCRIPT, MOVE_STARTED, MOVE_END, MOVE_REFUSED, MOVE_ENDED, MOVE_LOST };

enum gang_move gang_step(const struct gang *g); /* returns the next step; has no side effects */
struct gang *gang_create(struct engine *e, const char *tag, int n);
struct gang *gang_find(const struct engine *e, const char *tag); /* returns NULL if there is none */
void gang_forget(struct engine *e, struct gang *g);		 /* its hosts may forget it as well */
void gang_drop(struct engine *e, struct gang *g);
void gang_touch(struct engine *e, struct gang *g);
void gang_used(struct engine *e, const struct gang *g); /* reports usage after a part has */
void engine_settle(struct engine *e);

/* ---- part.c ---- */

bool part_is_over(const struct part *p);
bool part_is_under_way(const struct part *p); /* returns true if something of it may be running */
bool part_failed(const struct part *p);	      /* returns true if it ended by itself, not on request */
/* Return sentences for the caller to free: why the attempt could not be started, if this part is to
 * blame (NULL: none is); why it was lost with this part. */
char *part_refusal(const struct part *p);
char *part_epitaph(const struct part *p);
void part_begin(struct engine *e, struct part *p); /* sends its order, or marks it NEVER */
void part_never(struct engine *e, struct part *p);
/* Send a signal or another walltime, in seconds, to a part: now, or when its host is back. */
void part_signal(struct engine *e, struct part *p, int signal);
void part_limit(struct engine *e, struct part *p, int64_t walltime);
void part_save(struct engine *e, struct part *p, enum checkpoint_cause cause, int64_t seconds);
void part_hear(struct engine *e, struct part *p, const struct news *n);

/* ---- hub.c ---- */

struct host *host_get(struct engine *e, const char *name); /* creates it if it is new */
bool host_is_there(const struct engine *e, const struct host *h);
const char *host_title(const struct host *h); /* name for sentences */
struct part *host_part(const struct engine *e, const struct host *h, const char *tag);
/* Adds the part to the host's parts. */
void part_settle_in(struct part *p, struct gang *g, struct host *h);
void part_move_out(struct part *p);
/* These require that the host is connected. */
void host_order(struct engine *e, struct part *p);
void host_signals(struct engine *e, struct part *p); /* sends all wanted signals */
void host_signal(struct engine *e, struct host *h, const char *tag, int signal);
void host_limit(struct engine *e, struct part *p); /* sends the walltime if it was changed */
void host_save(struct engine *e, struct part *p);  /* sends the order to save, if there is one */
void host_forget(struct engine *e, struct host *h, const char *tag);
void host_clean(struct engine *e, struct host *h, const char *tag);
/* Applies what a connected host reported about a tag before it was claimed. */
void host_recall(struct engine *e, struct part *p);
void hub_sweep(struct engine *e, bool (*known)(void *context, const char *tag), void *context);
void hub_free(struct engine *e);

/* Returns true if the attempt ended because of its host: another attempt may be made. */
static inline bool cause_is_hosts(enum result_cause cause)
{
	return cause == CAUSE_LEASE || cause == CAUSE_SHUTDOWN;
}

#endif
