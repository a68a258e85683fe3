/*
 * nursery.h - the small process that gives each order to a shepherd, and the server's end of it.
 *
 *	server --order--> nursery --fork or hand over--> shepherd --fork, exec--> the job
 *	   ^                                    |
 *	   +-- result, through the nursery -----+    and in LIVE/TAG, until the server removes it
 *
 * The nursery is a process of its own, exec'd before the server grows, so that forking is cheap; in
 * system mode it stays root while the server drops its rights. It never execs for an order: a
 * shepherd is a fork of it, and takes further orders when it is done with one (herd.h).
 *
 * Nothing runs twice, nothing is lost:
 *  - Before it hands an order to a shepherd, the nursery creates LIVE/TAG with O_EXCL and locks it
 *    (flock; the lock is the shepherd's from then on). An order whose file exists is refused: that
 *    attempt was already made.
 *  - A shepherd writes its result into LIVE/TAG, then sends it to the nursery, which passes it on,
 *    or as a datagram to SOCKET if the nursery is gone; then it exits or waits for another order.
 *    Its attempt outlives server and nursery.
 *  - The nursery holds a lock on LIVE/.nursery. When its server is gone it executes the orders that
 *    it has, and exits. A server that holds that lock can therefore trust LIVE: no file and state
 *    NOW: the attempt never ran; a locked file: it is running; an unlocked file with a result: it
 *    has ended; without a result: its shepherd was killed (nursery_clean() ends what is left); an
 *    empty file: no shepherd has taken the order, since it writes its pid before it starts
 *    anything. (After a crash of the machine an empty file proves nothing: written data may be
 *    lost.)
 */
#ifndef RUN_NURSERY_H
#define RUN_NURSERY_H

#include <stdbool.h>
#include <sys/types.h>

#include "run/order.h"

/* ---- the process: called by main() of shuntd when started as "shuntd --nursery" ---- */

#define NURSERY_READY '+'
#define NURSERY_FAILED '-' /* followed by the reason, up to the end */

struct nursery_options {
	/* stream socket to the server: first a byte that says whether the nursery can work here,
	 * then frames (message.h) */
	int fd;
	const char *live;   /* directory of live files */
	const char *socket; /* datagram socket of the server */
	const char *cgroup; /* "auto", "v2", "v1" or "none" */
	bool root_jobs;	    /* uid 0 may have jobs (always true if the nursery is not root) */
	int lock;	    /* LIVE/.nursery, open and locked by the parent; 0: the nursery locks it itself */
};
int nursery_main(const struct nursery_options *o); /* returns the exit code */
/* Runs the nursery with the arguments from nursery_start(). Call it if argv[1] is "--nursery". */
int nursery_command(int argc, char **argv);

/* ---- the server's side ---- */

/* Spawns the nursery; `program` is this executable. First waits for LIVE/.nursery to be unlocked
 * (at most `wait_ms`; -ETIMEDOUT), then until the nursery is ready (-ECANCELED with the reason if
 * it can't work). Returns the server's end of the socket, non-blocking, and the pid. */
struct nursery {
	int fd;
	pid_t pid;
};
int nursery_start(const char *program, const struct nursery_options *o, int wait_ms, struct nursery *ret,
		  struct err *err);

/* These append frames to write to nursery.fd, on which the nursery's answers come back as
 * frames: */
void nursery_order(const struct order *o, struct strbuf *out); /* starts a job */
/* Sends a signal to the job's whole tree; SIGKILL is final. A walltime_word() sets its total run
 * time instead, and a save_word() makes it save its work. */
void nursery_signal(const char *tag, int signal, struct strbuf *out);
void nursery_clean(const char *tag, struct strbuf *out); /* ends what a dead shepherd left behind */
/* Removes the live file of an attempt whose result is in it, and stored elsewhere by now. There is
 * no answer. */
void nursery_forget(const char *tag, struct strbuf *out);
/* Returns a walltime encoded as a signal number. */
static inline int walltime_word(int64_t walltime)
{
	return walltime < 1 ? -1 : walltime > INT32_MAX ? -INT32_MAX : (int)-walltime;
}
struct nursery_user {
	uid_t uid; /* -1: uid and gid are this host's for the name */
	gid_t gid;
	const char *name;
};
/* Asks what is at the path, with the user's rights. */
void nursery_look(uint64_t id, const struct nursery_user *who, const char *path, struct strbuf *out);
/* Opens a regular file as the user: O_RDONLY, or O_WRONLY with any of O_CREAT, O_EXCL, O_TRUNC,
 * O_APPEND; a new file gets `mode`. O_DIRECTORY: returns a listing of the directory
 * (run/listing.h). */
void nursery_open(uint64_t id, uid_t uid, gid_t gid, const char *user, const char *path, int flags, int mode,
		  struct strbuf *out);
/* Gives a file, as the user, the name of the one that is at the path, behind links, and opens it
 * for reading. It is deleted if that can't be done; with an empty path it is only deleted. */
void nursery_rename(uint64_t id, const struct nursery_user *who, const char *from, const char *path,
		    struct strbuf *out);

/* Deletes a job's checkpoint directory (absolute) as its user; the tag identifies the answer. */
void nursery_erase(const char *tag, const struct nursery_user *who, const char *path, struct strbuf *out);

/* Finds the frame at the start of a buffer, of whatever kind: its text and the text's length.
 * Returns the bytes that it takes in all; 0 if it is not complete, -EMSGSIZE if the peer is not a
 * nursery. */
ssize_t nursery_frame(const char *buf, size_t n, const char **ret_text, size_t *ret_length);

enum answer_type {
	ANSWER_STARTED, /* `tag`, `pid` of the shepherd, which forks the job's first process */
	/* `tag`, `reason`: it never ran; follows STARTED if its shepherd could not read the order */
	ANSWER_REFUSED,
	/* `tag`: its shepherd is dead, or done with it without a FRAME_RESULT; the result, if any,
	 * is in LIVE/TAG */
	ANSWER_DIED,
	ANSWER_CLEANED, /* `tag`: nothing of that attempt runs any more */
	ANSWER_OPENED,	/* `id`; the descriptor came with SCM_RIGHTS, or `reason` has the error */
	ANSWER_LOOKED,	/* `id`; `fs`, `directory`, or `reason` */
	/* `tag`: its shepherd, if there is one, has the signal; answers keep the order of the
	 * signals */
	ANSWER_SIGNALED,
	ANSWER_ERASED, /* `tag`; `reason`: the directory still exists */
};
struct answer {
	enum answer_type type;
	const char *tag;
	pid_t pid;
	uint64_t id;
	const char *reason;
	bool unclear;	  /* REFUSED: the cause may be the job or its user as well as the host */
	int64_t fs;	  /* type of the file system, see statfs() */
	bool directory;	  /* the path is a directory */
	const char *home; /* LOOKED: the user's home directory, if it was looked up */
};
int answer_read(const char *text, size_t n, struct arena *a, struct answer *ret, struct err *err);

/* ---- what is on disk ---- */

enum live_state { LIVE_NONE, LIVE_NEVER, LIVE_RUNNING, LIVE_ENDED, LIVE_LOST };
/* Reads LIVE/TAG. ENDED: *ret is its result. LOST: ret->saves are its checkpoints. RUNNING: the
 * same, *ret_pid is its shepherd (0: not known yet), ret->session the job's session (0: none yet),
 * ret->ready is true if it is an open room. */
enum live_state live_look(const char *live, const char *tag, struct arena *a, struct result *ret, pid_t *ret_pid);
/* Removes the file, once the server has stored the result. */
void live_remove(const char *live, const char *tag);
/* Does the same for a file that is known to have its result, in the open directory LIVE: keeps it
 * for another attempt. */
void live_reuse(int dir, const char *tag);
/* Calls `one` for each tag in LIVE. */
int live_list(const char *live, void (*one)(void *context, const char *tag), void *context, struct err *err);

#endif
