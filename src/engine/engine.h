/*
 * engine.h - runs jobs, on this machine and on others. The server gives it whole attempts ("12.1":
 * job 12, attempt 1), each with a part for every host it uses, and is notified of the outcome of
 * the whole.
 *
 *	gang.c, part.c	an attempt's parts: all start or none; the first has the script,
 *			each of the others is a room for tasks
 *	hub.c		the other hosts, by their links
 *	local.c		this machine
 *
 * Orders are sent after the server's commit (engine_flush). Notifications may come twice, or after
 * a restart of the server: the listener checks the job's state first.
 *
 * For an attempt on several hosts, each room is ordered first; when all are open, the part with the
 * script. If a part can't be started, the others are released, and the attempt is refused with that
 * part's reason and host. When the part with the script has ended, the others are ended (SIGTERM,
 * then SIGKILL) and their usage is added; then the attempt has ended. A room that ends earlier ends
 * the attempt.
 *
 * The engine waits for a host that is not connected and concludes nothing from silence. Only
 * engine_host_lost() declares its parts gone; the server calls it when the leases it gave out are
 * known to have ended.
 */
#ifndef ENGINE_ENGINE_H
#define ENGINE_ENGINE_H

#include <jansson.h>

#include "engine/local.h"
#include "net/link.h"

struct engine;
struct errands;

/* An attempt that never ran. */
struct refusal {
	const char *tag;
	const char *host;   /* host whose part could not be started; NULL: none is to blame */
	const char *reason; /* a sentence; NULL: the host was disconnected, or the order was lost */
	bool unclear;	    /* the cause may be the job or its user as well as the host */
};

/* Notifications to the server. Strings are borrowed for the call. */
struct engine_listener {
	/* the part with the script has started */
	void (*attempt_started)(void *context, const char *tag, pid_t pid);
	void (*attempt_refused)(void *context, const struct refusal *r);
	/* the usage is that of all parts; may be repeated until engine_forget() */
	void (*attempt_ended)(void *context, const struct result *r);
	/* nothing of it runs any more, because its part on `host` was lost; why: a sentence, or
	 * NULL */
	void (*attempt_lost)(void *context, const char *tag, const char *host, const char *why);
	/* checkpoints of the part with the script; may be repeated. May be NULL */
	void (*attempt_saved)(void *context, const char *tag, const struct saves *saves);
	/* CPU time so far, memory now; of all parts. May be NULL */
	void (*attempt_used)(void *context, const char *tag, int64_t cpu_ms, int64_t memory_kib);
	/* answers engine_erase(); reason: the directory still exists */
	void (*erased)(void *context, const char *name, const char *reason);
	/* answers engine_open(): fd belongs to the listener, or is -1 */
	void (*opened)(void *context, uint64_t id, int fd, const char *reason);
	/* nothing more can be started on this machine */
	void (*failed)(void *context, const char *reason);
	void *context;
};

#define HOST_HERE "" /* this machine's name among hosts */

/* The part of an attempt on one host. */
struct part_order {
	const char *host; /* HOST_HERE, or a name given to engine_host_up() */
	struct order order;
	/* text of the script, for another machine; NULL: order.script is a path here, or there is
	 * none */
	const char *script;
	size_t nscript;
};

/* Creates the engine. `here` may be NULL: then jobs run on other machines only. */
int engine_create(uv_loop_t *loop, const struct local_options *here, const struct engine_listener *l,
		  struct engine **ret, struct err *err);
void engine_stop(struct engine *e); /* jobs keep running */

/* Starts an attempt. parts[0] has the script; all parts have the same tag. */
void engine_start(struct engine *e, const struct part_order *parts, int n);
/* Returns the number of unanswered orders to this machine; other hosts don't count. */
size_t engine_backlog(const struct engine *e);
/* Signals all parts; remembered for hosts that are disconnected. TASKS_WORD (run/task.h), which is
 * not, lets them take tasks. */
void engine_signal(struct engine *e, const char *tag, int signal);
/* Sets the total run time in seconds, replacing the order's; remembered for disconnected hosts. */
void engine_limit(struct engine *e, const char *tag, int64_t walltime);
/* Orders the attempt to save its work (run/checkpoint.h) within `seconds` (0: the order's
 * duration); most causes end it afterwards. The last one is remembered for disconnected hosts. */
void engine_save(struct engine *e, const char *tag, enum checkpoint_cause cause, int64_t seconds);
void engine_forget(struct engine *e, const char *tag); /* call it when the result is in the store */
void engine_flush(struct engine *e);		       /* sends what was ordered since the last call */

/* At recovery, attaches an attempt in progress: its hosts, the part with the script first. ENDED
 * and LOST notify the listener at once, RUNS later. NEVER: the script was not started and will not
 * be. UNKNOWN: a host is not connected yet; the listener is notified when it is (refused without a
 * reason: it never ran; started: it is running). */
enum attempt_state engine_attach(struct engine *e, const char *tag, const char *const *hosts, int n);
/* Ends attempts that no job claims, here and on every host that connects. */
void engine_sweep(struct engine *e, bool (*known)(void *context, const char *tag), void *context);

/* Opens a file on this machine as a user; flags and mode as for local_open(). */
void engine_open(struct engine *e, uint64_t id, const struct nursery_user *who, const char *path, int flags, int mode);
/* Replaces a file of a user by one that engine_open() made, see nursery_rename(); answered by
 * `opened`. */
void engine_rename(struct engine *e, uint64_t id, const struct nursery_user *who, const char *from, const char *path);
/* Deletes a job's checkpoint directory, as seen from this machine, as its user. */
void engine_erase(struct engine *e, const char *name, const struct nursery_user *who, const char *path);

/* ---- other hosts: the server accepts links (server/link/agents.c) and hands them over ---- */

/* Called when a host has connected. `inventory`: its attempts, as in its hello (docs/protocol.md).
 * Reconciles what is known of the host: makes up for lost answers, ends unknown attempts. The
 * caller keeps the link, passes frames on and reports when it is closed. */
void engine_host_up(struct engine *e, const char *host, struct link *link, const json_t *inventory);
/* Notes that the host's link is closed; nothing is concluded. */
void engine_host_down(struct engine *e, const char *host);
/* Declares its parts gone: they have ended, or will before anyone can learn otherwise. */
void engine_host_lost(struct engine *e, const char *host);
/* Returns true if the frame was for the engine ("started", "ready", "refused", "ended", "lost"). */
bool engine_frame(struct engine *e, const char *host, const json_t *head, const char *data, size_t n);
struct link *engine_link(const struct engine *e, const char *host); /* NULL: not connected */
struct local *engine_here(struct engine *e);			    /* NULL: none */
/* Returns this machine, including the file transfers for its parts. */
struct errands *engine_errands(struct engine *e);

#endif
