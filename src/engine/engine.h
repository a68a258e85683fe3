/*
 * engine.h - what runs jobs. The server gives orders by tag ("12.1": job 12, attempt 1) and is told what became of them.
 *
 * Orders leave after the server's commit. What an engine tells may come twice, or after a restart of the server: whoever is told
 * looks at the job's state first.
 */
#ifndef ENGINE_ENGINE_H
#define ENGINE_ENGINE_H

#include <stdbool.h>
#include <uv.h>

#include "base/err.h"
#include "run/order.h"

struct engine;

/* What the server is told. Strings are borrowed for the call. */
struct engine_listener {
	void (*started)(void *context, const char *tag, pid_t pid);
	void (*refused)(void *context, const char *tag, const char *reason); /* it never ran; NULL: not its fault */
	void (*ended)(void *context, const struct result *r); /* until engine_forget() it may be told again */
	void (*lost)(void *context, const char *tag);	      /* its shepherd was killed; nothing of it runs any more */
	void (*opened)(void *context, uint64_t id, int fd,
		       const char *reason);		   /* engine_open(): fd is the listener's, or -1 */
	void (*failed)(void *context, const char *reason); /* the engine itself: nothing more can be started */
	void *context;
};

struct engine_options {
	const char *program; /* this executable, for the nursery */
	const char *live;    /* directory of live files */
	const char *socket;  /* datagram socket for results */
	const char *cgroup;
	bool root_jobs;
	bool drop; /* the server is about to give up root: the nursery can't be started again */
};

/* Waits for an earlier nursery to finish its orders, and starts one. */
int engine_local_start(uv_loop_t *loop, const struct engine_options *o, const struct engine_listener *l,
		       struct engine **ret, struct err *err);
void engine_stop(struct engine *e); /* jobs go on */

/* What is known of an attempt without being told: at recovery, and when the nursery was lost. */
enum attempt_state { ATTEMPT_NEVER, ATTEMPT_RUNS, ATTEMPT_ENDED, ATTEMPT_LOST };
/* ENDED tells the listener at once; RUNS will later; LOST is cleaned up first, then told. NEVER: nothing was started, and nothing will be. */
enum attempt_state engine_attach(struct engine *e, const char *tag);
/* Attempts that no job claims any more (the store was restored from a copy, say) are ended: `known` says which are claimed. */
void engine_sweep(struct engine *e, bool (*known)(void *context, const char *tag), void *context);

void engine_start(struct engine *e, const struct order *o);
size_t engine_backlog(const struct engine *e); /* orders that were not answered yet */
void engine_signal(struct engine *e, const char *tag, int signal);
void engine_open(struct engine *e, uint64_t id, uid_t uid, gid_t gid, const char *user, const char *path);
void engine_forget(struct engine *e, const char *tag); /* the result is in the store */
/* Sends what was ordered since the last call. */
void engine_flush(struct engine *e);

#endif
