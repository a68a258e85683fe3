/*
 * engine.h - what runs jobs, on this machine and on others. The server gives whole attempts ("12.1": job 12, attempt 1), each with a part for
 * every host that it touches, and is told what became of the whole.
 *
 *	gang.c, part.c	an attempt's parts: all start or none; the first has the script, the others are rooms for tasks
 *	hub.c		the other hosts, by their links
 *	local.c		this machine
 *
 * Orders leave after the server's commit (engine_flush). What is told may come twice, or after a restart of the server: whoever is told
 * looks at the job's state first.
 *
 * An attempt on several hosts: the rooms are ordered first; when all are open, the part with the script. A part that can't be started releases the others, and the
 * attempt is refused with its reason (and host). When the part with the script has ended, the others are ended (SIGTERM, then SIGKILL), their usage is added, and then the
 * attempt has ended. A room that ends before takes the attempt with it.
 *
 * A host that is not connected is waited for: nothing is concluded from silence. Only engine_host_lost() says that its parts are gone, and
 * the server calls that when the leases it gave out have ended for certain.
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
	const char *host;   /* whose part could not be started; NULL: nobody's fault */
	const char *reason; /* a sentence; NULL: the host was away, or the order was lost */
	bool unclear;	    /* the cause may be the job or its user as well as the host */
};

/* What the server is told. Strings are borrowed for the call. */
struct engine_listener {
	void (*attempt_started)(void *context, const char *tag, pid_t pid); /* the part with the script */
	void (*attempt_refused)(void *context, const struct refusal *r);
	void (*attempt_ended)(
		void *context,
		const struct result *r); /* usage is that of all parts; until engine_forget() it may be told again */
	void (*attempt_lost)(
		void *context, const char *tag, const char *host,
		const char *
			why); /* nothing of it runs any more, since its part on `host` was lost; why: a sentence, or NULL */
	void (*attempt_saved)(
		void *context, const char *tag,
		const struct saves *saves); /* of the part with the script; may be told again. May be NULL */
	void (*attempt_used)(void *context, const char *tag, int64_t cpu_ms,
			     int64_t memory_kib); /* so far, and now; of all parts. May be NULL */
	void (*erased)(void *context, const char *name,
		       const char *reason); /* engine_erase(); reason: it is there still */
	void (*opened)(void *context, uint64_t id, int fd,
		       const char *reason);		   /* engine_open(): fd is the listener's, or -1 */
	void (*failed)(void *context, const char *reason); /* this machine's own: nothing more can be started here */
	void *context;
};

#define HOST_HERE "" /* this machine's name among hosts */

/* What is to be run on one host. */
struct part_order {
	const char *host; /* HOST_HERE, or a name that engine_host_up() had */
	struct order order;
	const char *script; /* its text, for another machine; NULL: order.script is a path here, or there is none */
	size_t nscript;
};

/* `here` may be NULL: jobs run on other machines only. */
int engine_create(uv_loop_t *loop, const struct local_options *here, const struct engine_listener *l,
		  struct engine **ret, struct err *err);
void engine_stop(struct engine *e); /* jobs go on */

/* parts[0] has the script; all have the same tag. */
void engine_start(struct engine *e, const struct part_order *parts, int n);
size_t
engine_backlog(const struct engine *e); /* orders to this machine that were not answered; others are not waited for */
void engine_signal(struct engine *e, const char *tag,
		   int signal); /* to all its parts; remembered for hosts that are away */
/* It may run for so many seconds in all, instead of what its order said; remembered for hosts that are away. */
void engine_limit(struct engine *e, const char *tag, int64_t walltime);
/* It is to save its work (run/checkpoint.h), within so many seconds (0: as its order says); with most causes it ends then. Remembered for hosts that are away, the last one. */
void engine_save(struct engine *e, const char *tag, enum checkpoint_cause cause, int64_t seconds);
void engine_forget(struct engine *e, const char *tag); /* the result is in the store */
void engine_flush(struct engine *e);		       /* sends what was ordered since the last call */

/* At recovery, for each attempt under way: its hosts, the part with the script first. ENDED and LOST are told at once, RUNS later. NEVER: the script was not
 * started, and will not be. UNKNOWN: a host is not there yet; what became of it is told when it is (refused with NULL: it never ran; started, if it runs). */
enum attempt_state engine_attach(struct engine *e, const char *tag, const char *const *hosts, int n);
/* Attempts that no job claims are ended, here and on every host that comes. */
void engine_sweep(struct engine *e, bool (*known)(void *context, const char *tag), void *context);

/* A file on this machine as a user; flags and mode as local_open() has them. */
void engine_open(struct engine *e, uint64_t id, const struct nursery_user *who, const char *path, int flags, int mode);
/* A job's checkpoint directory, seen from this machine, is deleted as its user. */
void engine_erase(struct engine *e, const char *name, const struct nursery_user *who, const char *path);

/* ---- other hosts: the server accepts links (server/link/agents.c) and hands them over ---- */

/* It is here, again or for the first time. `inventory`: its attempts, as in its hello (docs/protocol.md). What is known of it is put in
 * order: lost answers are made up for, unknown attempts ended. The link stays the caller's, who passes frames on and tells when it is closed. */
void engine_host_up(struct engine *e, const char *host, struct link *link, const json_t *inventory);
void engine_host_down(struct engine *e, const char *host); /* the link is gone; nothing is concluded */
void engine_host_lost(struct engine *e,
		      const char *host); /* its parts are gone, or end before anybody can be told otherwise */
/* True: it was for us ("started", "ready", "refused", "ended", "lost"). */
bool engine_frame(struct engine *e, const char *host, const json_t *head, const char *data, size_t n);
struct link *engine_link(const struct engine *e, const char *host); /* NULL: not connected */
struct local *engine_here(struct engine *e);			    /* NULL: none */
struct errands *engine_errands(struct engine *e);		    /* the same with what is carried for its parts */

#endif
