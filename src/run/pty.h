/*
 * pty.h - interactive jobs: a terminal of the job's own, joined with the one at which the user waits.
 *
 *	user's terminal <-> pty_serve() <-> UNIX socket <-> shepherd <-> pseudo terminal <-> the job's shell
 *
 * On the socket go frames: a byte that says what it is, 4 bytes length (little endian), and that many bytes.
 *
 *	d  data        both ways
 *	w  window size to the job: rows and columns, 2 bytes each (little endian)
 *	s  signal      to the job: 1 byte, its number, to the job's whole tree
 *	x  exit        from the job, the last: its result as JSON (order.h)
 *
 * The user's side listens in a directory that only the user may enter; the shepherd connects with the user's rights.
 */
#ifndef RUN_PTY_H
#define RUN_PTY_H

#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "run/order.h"

#define PTY_FRAME_MAX 65536
#define PTY_HEAD 5
enum pty_frame { PTY_DATA = 'd', PTY_WINDOW = 'w', PTY_SIGNAL = 's', PTY_EXIT = 'x' };

void pty_put(struct strbuf *out, enum pty_frame kind, const void *data, size_t n);
/* Bytes of the first frame; 0 if it is not whole, -EMSGSIZE if it is none. */
ssize_t pty_next(const struct strbuf *in, size_t at, char *ret_kind, const char **ret_data, size_t *ret_n);
/* Sends or writes what it takes without waiting, and forgets it. 0, or -errno if that end is gone. */
int pty_push(int fd, struct strbuf *b);

/* ---- the shepherd's side ---- */

struct pty {
	int master, conn;      /* the terminal, the client */
	struct strbuf in, out; /* from and to the client, whole frames or parts of them */
	struct strbuf keys;    /* for the terminal */
	bool hung_up;	       /* the client is gone */
	int signal;	       /* asked for by the client, to be sent by the shepherd, who sets it back to 0 */
};

/* Connects to `path`; -errno and the reason. Both with the user's rights to files. */
int pty_connect(struct pty *p, const char *path, struct err *err);
/* The pseudo terminal; *ret_slave is for the job, to be closed when it is forked. */
int pty_terminal(struct pty *p, int *ret_slave, struct err *err);
/* What to poll for; then relays what came, with those same entries. */
#define PTY_FDS 2
void pty_fds(const struct pty *p, struct pollfd fds[PTY_FDS]);
void pty_turn(struct pty *p, const struct pollfd fds[PTY_FDS]);
/* What the job still wrote, and its result, to the client (for at most a few seconds); then it is closed. */
void pty_finish(struct pty *p, const struct result *r);

/* ---- the user's side ---- */

struct pty_client {
	int fd;		/* listens: readable when the job has come */
	char path[108]; /* for the order */
	char dir[96];
};
int pty_listen(struct pty_client *c, struct err *err);
/* When fd is readable: accepts, and relays between the job and the terminal `in`/`out` (which need not be terminals) until the job has
 * ended. The terminal is as before afterwards, also when a signal ends this process. *ret is in the arena. -EPIPE: the
 * connection broke before a result came. */
int pty_serve(struct pty_client *c, int in, int out, struct arena *a, struct result *ret, struct err *err);
void pty_close(struct pty_client *c); /* removes socket and directory */

#endif
