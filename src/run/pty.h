/*
 * pty.h - interactive jobs: a terminal of the job's own, joined with the one at which the user waits.
 *
 *	user's terminal <-> pty_serve() <-> server <-> (agent <->) shepherd <-> pseudo terminal <-> the job's shell
 *
 * Both ends speak frames: a byte that says what it is, 4 bytes length (little endian), and that many bytes.
 *
 *	h  hello       both ways, the first of a connection: 8 bytes, how much of the other's data has come so far. To the job: also the window's size
 *	d  data        both ways
 *	a  taken       both ways: 8 bytes, how much of the other's data is used up. To the job now and then, which answers it
 *	w  window size to the job: rows and columns, 2 bytes each
 *	s  signal      to the job: 1 byte, its number, to the job's whole tree
 *	x  exit        from the job, the last: its result as JSON (order.h); answered by an empty one
 *
 * Numbers are little endian. What lies between the ends carries bytes and remembers nothing. When it breaks, both ends call again, and each
 * repeats what the other has not got: nothing is lost, nothing comes twice. At most PTY_WINDOW bytes of data are under way: that is what
 * holds back who is too fast, and so a connection is always read.
 *
 * A client that hangs up shuts its direction; a connection that is closed both ways has only been broken, and may come back.
 */
#ifndef RUN_PTY_H
#define RUN_PTY_H

#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "run/order.h"

#define PTY_FRAME_MAX 65536
#define PTY_HEAD 5
#define PTY_WINDOW 262144
#define PTY_PATIENCE 30 /* seconds that either end waits for the other to come back, if nobody says otherwise */
#define PTY_PROTOCOL "shunt-terminal"
enum pty_frame {
	PTY_HELLO = 'h',
	PTY_DATA = 'd',
	PTY_TAKEN = 'a',
	PTY_SIZE = 'w',
	PTY_SIGNAL = 's',
	PTY_EXIT = 'x',
};

/* After the window's size a client's hello may have the settings of its terminal: flags for input, output and the rest, 4 bytes each, and
 * PTY_KEYS keys with a meaning (termios.h: c_iflag, c_oflag, c_lflag, c_cc). They count when the job starts. */
#define PTY_KEYS 19
#define PTY_SETTINGS (12 + PTY_KEYS)

/* ---- what both ends are made of (pty_wire.c) ---- */

struct pty_wire {
	struct strbuf in, out; /* from and to the present connection: frames, or parts of them */
	struct strbuf kept;    /* our data that the other has not used up, from byte `base` of it on */
	uint64_t base, got;    /* got: bytes of the other's data that have come, and */
	uint64_t used, told;   /* ... that were used up here, and that the other knows of */
	bool greeted;	       /* its hello has come */
};

/* A new connection: says hello, with `n` bytes more. */
void wire_begin(struct pty_wire *w, const void *more, size_t n);
size_t wire_room(const struct pty_wire *w);			/* bytes of data that may be sent */
void wire_send(struct pty_wire *w, const void *data, size_t n); /* data; kept until it was used up */
void wire_put(struct pty_wire *w, enum pty_frame kind, const void *data, size_t n);
void wire_used(struct pty_wire *w, size_t n); /* of the other's data */
void wire_tell(struct pty_wire *w);	      /* ... and tells how much that is in all */
/* Hands over the frames that are there, after doing its own part of them. -EPROTO: it talks nonsense. */
int wire_take(struct pty_wire *w, void (*obey)(void *context, char kind, const char *data, size_t n), void *context);
/* Reads, and hands over. 0; 1: the other has hung up; -EPIPE: the connection broke; -EPROTO. */
int wire_read(struct pty_wire *w, int fd, void (*obey)(void *context, char kind, const char *data, size_t n),
	      void *context);
void wire_fini(struct pty_wire *w);
/* Sends or writes what it takes without waiting, and forgets it: so many bytes, or -errno if it took none and never will. */
ssize_t pty_push(int fd, struct strbuf *b);

/* ---- the shepherd's side ---- */

struct pty {
	int master, conn; /* the terminal; the way to the client, or -1 */
	struct pty_wire wire;
	struct strbuf keys; /* for the terminal */
	struct winsize size;
	unsigned char settings[PTY_SETTINGS];
	bool has_settings;	      /* its client sent some */
	const char *path, *tag;	      /* where the host's server or agent takes terminals, and whose this is */
	int64_t patience;	      /* us */
	int64_t retry_at, give_up_at; /* boot_us(), while no client is there */
	struct strbuf last;	      /* the result, once it is over; */
	bool said;		      /* ... all else was said before */
	bool over;		      /* the client has the result */
	bool hung_up;		      /* the client is gone for good */
	int signal;		      /* asked for by the client, to be sent by the shepherd, who sets it back to 0 */
};

/* Begins to look for its client; texts are the caller's. */
void pty_begin(struct pty *p, const char *path, const char *tag, int64_t seconds);
/* A client is there: its hello has come. */
bool pty_attached(const struct pty *p);
/* The pseudo terminal, with the user's rights to files; *ret_slave is for the job, to be closed when it is forked. */
int pty_terminal(struct pty *p, int *ret_slave, struct err *err);
/* What to poll for; then relays what came, with those same entries. */
#define PTY_FDS 2
void pty_fds(const struct pty *p, struct pollfd fds[PTY_FDS]);
void pty_turn(struct pty *p, const struct pollfd fds[PTY_FDS]);
/* Shows text of our own on the client's terminal. False: not now, since the client has not yet read enough of what was sent before. */
bool pty_show(struct pty *p, const char *text);
/* Calls again if there is no connection, gives up after a while; and when to look next, or INT64_MAX. */
void pty_look(struct pty *p, int64_t now);
int64_t pty_next(const struct pty *p);
/* What the job still wrote, and its result, to the client, as long as that takes it or may come back; then it is closed. */
void pty_finish(struct pty *p, const struct result *r);

/* ---- the user's side ---- */

/* A connection to the job. */
struct pty_way {
	int fd;		    /* is not closed here */
	struct strbuf rest; /* what has been read of it already */
	/* It broke: makes another. 0; -EAGAIN: try later; else the reason why there can't be one. */
	int (*again)(void *context, struct pty_way *w, struct err *err);
	void *context;
};
/* Relays between the job and the terminal `in`/`out` (which need not be terminals) until the job has ended. The terminal is as before afterwards, also when a signal
 * ends this process. *ret is in the arena. -ETIMEDOUT: the connection broke and did not come back for `patience` seconds; or what `again` returned; -EIO: the terminal is gone. */
int pty_serve(struct pty_way *w, int in, int out, int patience, struct arena *a, struct result *ret, struct err *err);

#endif
