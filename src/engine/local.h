/*
 * local.h - parts of jobs on this machine: orders by tag ("12.1": job 12, attempt 1) go in, what became of them comes out.
 *
 * The server has one for its own machine, each agent has one. What it tells may come twice, or after a restart: whoever is told looks at
 * the state first.
 */
#ifndef ENGINE_LOCAL_H
#define ENGINE_LOCAL_H

#include <stdbool.h>
#include <uv.h>

#include "base/err.h"
#include "engine/news.h"
#include "run/nursery.h"

struct local;

/* What a user sees at a path. */
struct sight {
	int64_t fs; /* the file system's type; 0: nothing is seen */
	bool directory;
	const char *home; /* the user's, if the nursery has looked it up; else NULL */
};

/* Whom it tells. Strings are borrowed for the call. */
struct local_listener {
	void (*heard)(void *context,
		      const struct news *n); /* of a part; until local_forget() an end may be told again */
	void (*opened)(void *context, uint64_t id, int fd,
		       const char *reason); /* local_open(): fd is the listener's, or -1 */
	void (*looked)(void *context, uint64_t id, const struct sight *s); /* local_look(). May be NULL */
	/* local_erase(); reason: it is there still. May be NULL */
	void (*erased)(void *context, const char *tag, const char *reason);
	void (*failed)(void *context, const char *reason); /* the engine itself: nothing more can be started */
	void *context;
};

struct local_options {
	const char *program; /* this executable, for the nursery */
	const char *live;    /* directory of live files */
	const char *socket;  /* datagram socket for results */
	const char *cgroup;
	bool root_jobs;
	const char *spool; /* of errands.h: directory for output that is carried elsewhere; NULL: none is */
	bool drop;	   /* whoever starts it is about to give up root: the nursery can't be started again */
};

/* Waits for an earlier nursery to finish its orders, and starts one. */
int local_start(uv_loop_t *loop, const struct local_options *o, const struct local_listener *l, struct local **ret,
		struct err *err);
void local_stop(struct local *e); /* jobs go on */

/* What is known of an attempt without being told: at recovery, and when the nursery was lost. */
enum attempt_state { ATTEMPT_NEVER, ATTEMPT_RUNS, ATTEMPT_ENDED, ATTEMPT_LOST, ATTEMPT_UNKNOWN /* engine.h */ };
/* ENDED tells the listener at once, and so does RUNS of a room that is ready; RUNS will tell its end later; LOST is cleaned up first, then told. NEVER: nothing was started, and nothing will be. */
enum attempt_state local_attach(struct local *e, const char *tag);
/* Attempts that no job claims any more (the store was restored from a copy, say) are ended: `known` says which are claimed. */
void local_sweep(struct local *e, bool (*known)(void *context, const char *tag), void *context);

void local_order(struct local *e, const struct order *o);
size_t local_backlog(const struct local *e); /* orders that were not answered yet */
void local_signal(struct local *e, const char *tag, int signal);
void local_limit(struct local *e, const char *tag, int64_t walltime); /* it has another walltime */
void local_save(struct local *e, const char *tag, enum checkpoint_cause cause, int64_t seconds); /* engine_save() */
void local_open(struct local *e, uint64_t id, uid_t uid, gid_t gid, const char *user, const char *path, int flags,
		int mode); /* flags and mode as open() has them; regular files */
void local_look(struct local *e, uint64_t id, uid_t uid, gid_t gid, const char *user, const char *path);
/* A job's checkpoint directory is deleted, as its user. */
void local_erase(struct local *e, const char *tag, const struct nursery_user *who, const char *path);
/* All attempts that this machine has a live file of. What was LOST may not be cleaned up yet: after local_attach() the listener is told when it is. */
struct local_item {
	const char *tag;
	enum attempt_state state;    /* NEVER: the nursery was killed over it; nothing of it runs */
	bool ready;		     /* a room that runs, and is open */
	const struct result *result; /* of one that ended */
	const struct saves *saves;   /* of one that has not, if there are any; else NULL */
};
void local_list(struct local *e, void (*one)(void *context, const struct local_item *i), void *context);
/* A word from the server came that was asked for at `asked` (CLOCK_BOOTTIME, microseconds): LIVE/.lease. `suspend`: leases don't end until the next word (the server was told to stop). */
void local_lease(struct local *e, int64_t asked, bool suspend);
void local_forget(struct local *e, const char *tag); /* the result is in the store */
/* Sends what was ordered since the last call. */
void local_flush(struct local *e);

#endif
