/*
 * local.h - parts of jobs on this machine: takes orders by tag ("12.1": job 12, attempt 1) and
 * reports their outcome.
 *
 * The server has one for its own machine, and so does each agent. Notifications may come twice, or
 * after a restart: the listener checks the state first.
 */
#ifndef ENGINE_LOCAL_H
#define ENGINE_LOCAL_H

#include <stdbool.h>
#include <uv.h>

#include "base/err.h"
#include "engine/news.h"
#include "run/nursery.h"

struct local;

/* View of a path with the rights of a user. */
struct sight {
	int64_t fs; /* type of the file system; 0: nothing is visible */
	bool directory;
	const char *home; /* the user's home, if the nursery has looked it up; else NULL */
};

/* Notifications. Strings are borrowed for the call. */
struct local_listener {
	/* news of a part; an end may be repeated until local_forget() */
	void (*heard)(void *context, const struct news *n);
	/* answers local_open(): fd belongs to the listener, or is -1 */
	void (*opened)(void *context, uint64_t id, int fd, const char *reason);
	/* answers local_look(). May be NULL */
	void (*looked)(void *context, uint64_t id, const struct sight *s);
	/* Answers local_erase(); reason: the directory still exists. May be NULL */
	void (*erased)(void *context, const char *tag, const char *reason);
	/* the engine itself failed: nothing more can be started */
	void (*failed)(void *context, const char *reason);
	void *context;
};

struct local_options {
	const char *program; /* this executable, for the nursery */
	const char *live;    /* directory of live files */
	const char *socket;  /* datagram socket for results */
	const char *cgroup;
	bool root_jobs;
	/* directory for output that is delivered elsewhere (errands.h); NULL: none is */
	const char *spool;
	bool drop; /* the caller is about to give up root: the nursery can't be started again */
};

/* Waits for an earlier nursery to finish its orders, and starts a new one. */
int local_start(uv_loop_t *loop, const struct local_options *o, const struct local_listener *l, struct local **ret,
		struct err *err);
void local_stop(struct local *e); /* jobs keep running */

/* What is known of an attempt without a notification: at recovery, and when the nursery was
 * lost. */
enum attempt_state { ATTEMPT_NEVER, ATTEMPT_RUNS, ATTEMPT_ENDED, ATTEMPT_LOST, ATTEMPT_UNKNOWN /* see engine.h */ };
/* Attaches to an attempt. ENDED notifies the listener at once, and so does RUNS for a room that is
 * ready; RUNS reports its end later; LOST is cleaned up first, then reported. NEVER: nothing was
 * started, and nothing will be. */
enum attempt_state local_attach(struct local *e, const char *tag);
/* Ends attempts that no job claims any more (for example after the store was restored from a copy):
 * `known` returns true for claimed ones. */
void local_sweep(struct local *e, bool (*known)(void *context, const char *tag), void *context);

void local_order(struct local *e, const struct order *o);
size_t local_backlog(const struct local *e); /* returns the number of unanswered orders */
void local_signal(struct local *e, const char *tag, int signal);
void local_limit(struct local *e, const char *tag, int64_t walltime); /* sets another walltime */
/* Orders an attempt to save its work, see engine_save(). */
void local_save(struct local *e, const char *tag, enum checkpoint_cause cause, int64_t seconds);
void local_open(struct local *e, uint64_t id, uid_t uid, gid_t gid, const char *user, const char *path, int flags,
		int mode); /* flags and mode as for open(); regular files only */
/* Renames a file and opens it, see nursery_rename(). */
void local_rename(struct local *e, uint64_t id, const struct nursery_user *who, const char *from, const char *path);
void local_look(struct local *e, uint64_t id, uid_t uid, gid_t gid, const char *user, const char *path);
/* Deletes a job's checkpoint directory, as its user. */
void local_erase(struct local *e, const char *tag, const struct nursery_user *who, const char *path);
/* Lists all attempts that have a live file on this machine. One that is LOST may not be cleaned up
 * yet: after local_attach() the listener is notified when it is. */
struct local_item {
	const char *tag;
	/* NEVER: the nursery was killed before it started; nothing of it runs */
	enum attempt_state state;
	bool ready;		     /* a room that is running and open */
	const struct result *result; /* result, if it has ended */
	/* checkpoints, if it has not ended and there are any; else NULL */
	const struct saves *saves;
};
void local_list(struct local *e, void (*one)(void *context, const struct local_item *i), void *context);
/* Records a word from the server in LIVE/.lease; `asked` is when it was asked for (CLOCK_BOOTTIME,
 * microseconds). `suspend`: leases don't end until the next word (the server is being stopped). */
void local_lease(struct local *e, int64_t asked, bool suspend);
/* Call it when the result is in the store. The nursery removes what is left, after
 * local_flush(). */
void local_forget(struct local *e, const char *tag);
/* Sends what was ordered since the last call. */
void local_flush(struct local *e);

#endif
