/*
 * nursery.h - the small process that forks a shepherd for each order, and the server's end of it.
 *
 *	server --order--> nursery --fork--> shepherd --fork, exec--> the job
 *	   ^                                    |
 *	   +------ result (datagram) -----------+    and in LIVE/TAG, until the server has removed that
 *
 * The nursery is a process of its own, exec'd before the server grows, so that forking is cheap; in system mode it stays
 * root when the server does not. It never execs for an order: a shepherd is a fork of it.
 *
 * Nothing runs twice, nothing is lost:
 *  - Before it forks, the nursery creates LIVE/TAG with O_EXCL and locks it (flock; the lock is the shepherd's from then on). An
 *    order whose file is there already is refused: that attempt has been made.
 *  - A shepherd writes its result into LIVE/TAG, then sends it as a datagram to SOCKET, then exits. It outlives server and nursery.
 *  - The nursery holds a lock on LIVE/.nursery. When its server is gone it executes the orders that it has, and exits. A server that has
 *    got that lock can therefore trust LIVE: no file and state NOW means it never ran; a locked file means that it runs; an unlocked one
 *    with a result that it ended; without a result that its shepherd was killed (nursery_clean() ends what is left of it), or, if it
 *    is empty, that the nursery was killed before there was one: a shepherd's first act is to write its pid, and without that it starts
 *    nothing. (After the machine's own end an empty file says nothing: what was written may be gone.)
 */
#ifndef RUN_NURSERY_H
#define RUN_NURSERY_H

#include <stdbool.h>
#include <sys/types.h>

#include "run/order.h"

/* ---- the process: called by main() of shuntd when started as "shuntd --nursery" ---- */

#define NURSERY_READY '+'
#define NURSERY_FAILED '-' /* then why, up to the end */

struct nursery_options {
	int fd; /* stream socket to the server: a byte that says whether it can work here; frames of 4 bytes length (little endian), a letter, and JSON */
	const char *live;   /* directory of live files */
	const char *socket; /* datagram socket of the server */
	const char *cgroup; /* "auto", "v2", "v1" or "none" */
	bool root_jobs;	    /* uid 0 may have jobs (always so when the nursery is not root) */
	int lock;	    /* LIVE/.nursery, open and locked by who started it; 0: it locks it itself */
};
int nursery_main(const struct nursery_options *o); /* returns the exit code */
/* The same by the arguments that nursery_start() gives: is argv[1] "--nursery"? Then call this. */
int nursery_command(int argc, char **argv);

/* ---- the server's side ---- */

/* Spawns it: `program` is this executable. Waits for LIVE/.nursery to be free first (at most `wait_ms`; -ETIMEDOUT), and until it can work (-ECANCELED: it never will, with the reason). Returns the
 * server's end of the socket, non-blocking, and the pid. */
struct nursery {
	int fd;
	pid_t pid;
};
int nursery_start(const char *program, const struct nursery_options *o, int wait_ms, struct nursery *ret,
		  struct err *err);

/* Frames to write to nursery.fd. The nursery's answers come back on it as frames, too: */
void nursery_order(const struct order *o, struct strbuf *out);	      /* start a job */
void nursery_signal(const char *tag, int signal, struct strbuf *out); /* to the job's whole tree; SIGKILL is final */
void nursery_limit(
	const char *tag, int64_t walltime,
	struct strbuf
		*out); /* it may run for so many seconds in all, instead of its order's; answered as a signal is */
/* It is to save its work; answered as a signal is. */
static inline void nursery_save(const char *tag, enum checkpoint_cause cause, int64_t seconds, struct strbuf *out)
{
	nursery_signal(tag, save_word(cause, seconds), out);
}
void nursery_clean(const char *tag, struct strbuf *out); /* end what a dead shepherd left behind */
/* A walltime where a signal is expected. */
static inline int walltime_word(int64_t walltime)
{
	return walltime < 1 ? -1 : walltime > INT32_MAX ? -INT32_MAX : (int)-walltime;
}
struct nursery_user {
	uid_t uid; /* -1: uid and gid are those of this host for that name */
	gid_t gid;
	const char *name;
};
/* What is at that path, for that user? */
void nursery_look(uint64_t id, const struct nursery_user *who, const char *path, struct strbuf *out);
/* Open a (regular) file as that user: O_RDONLY, or O_WRONLY with any of O_CREAT, O_EXCL, O_TRUNC, O_APPEND; a new one gets `mode`. O_DIRECTORY: what comes is
 * a list of what is in it (run/listing.h). */
void nursery_open(uint64_t id, uid_t uid, gid_t gid, const char *user, const char *path, int flags, int mode,
		  struct strbuf *out);

/* Delete a job's checkpoint directory (absolute), as its user; the tag is for the answer. */
void nursery_erase(const char *tag, const struct nursery_user *who, const char *path, struct strbuf *out);

/* read() for nursery.fd that also takes the descriptor that came along into *ret_fd (-1: none). Descriptors come in the order of the
 * ANSWER_OPENED without a reason; at most one in a call. */
ssize_t nursery_read(int fd, void *buf, size_t size, int *ret_fd);
/* The frame at the start of a buffer: its text for answer_read() and that one's length, and how many bytes it takes in all; 0 if it
 * is not whole yet, -EMSGSIZE if that is no nursery. */
ssize_t nursery_frame(const char *buf, size_t n, const char **ret_text, size_t *ret_length);

enum answer_type {
	ANSWER_STARTED,	 /* `tag`, `pid` of the shepherd (the job's first process is forked by it) */
	ANSWER_REFUSED,	 /* `tag`, `reason`: no shepherd was started */
	ANSWER_DIED,	 /* `tag`: the shepherd ended; its result, if it left one, is in LIVE/TAG */
	ANSWER_CLEANED,	 /* `tag`: nothing of that attempt runs any more */
	ANSWER_OPENED,	 /* `id`; the descriptor came with SCM_RIGHTS, or `reason` says why not */
	ANSWER_LOOKED,	 /* `id`; `fs`, `directory`, or `reason` */
	ANSWER_SIGNALED, /* `tag`: its shepherd, if there is one, has the signal; in the order of the signals */
	ANSWER_ERASED,	 /* `tag`; `reason`: the directory is there still */
};
struct answer {
	enum answer_type type;
	const char *tag;
	pid_t pid;
	uint64_t id;
	const char *reason;
	bool unclear;	  /* REFUSED: the cause may be the job or its user as well as the host */
	int64_t fs;	  /* type of the file system, as statfs() has it */
	bool directory;	  /* the path is one */
	const char *home; /* LOOKED: the user's, if it was looked up */
};
int answer_read(const char *text, size_t n, struct arena *a, struct answer *ret, struct err *err);

/* ---- what is on disk ---- */

enum live_state { LIVE_NONE, LIVE_NEVER, LIVE_RUNNING, LIVE_ENDED, LIVE_LOST };
/* Looks at LIVE/TAG. ENDED: *ret is its result. LOST: ret->saves are its checkpoints. RUNNING: the same, *ret_pid its shepherd (0: not known yet), ret->session the job's (0: none
 * yet), ret->ready whether it is a room that is open. */
enum live_state live_look(const char *live, const char *tag, struct arena *a, struct result *ret, pid_t *ret_pid);
void live_remove(const char *live, const char *tag); /* the server has the result */
/* All tags in LIVE. */
int live_list(const char *live, void (*one)(void *context, const char *tag), void *context, struct err *err);

#endif
