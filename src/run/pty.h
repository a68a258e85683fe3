/*
 * pty.h - interactive jobs: the job's own terminal, connected to the one at which the user waits.
 *
 *	user's terminal <-> pty_serve() <-> server <-> (agent <->) shepherd <-> pty <-> job
 *
 * Both ends send frames: a byte for the kind, 4 bytes length (little endian), and that many bytes.
 *
 *	h  hello       both ways, first: 8 bytes, data received so far; to the job also window size
 *	d  data        both ways
 *	a  taken       both ways: 8 bytes, data consumed so far; the job answers it
 *	w  window size to the job: rows and columns, 2 bytes each
 *	s  signal      to the job: 1 byte, its number, to the job's whole tree
 *	x  exit        from the job, last: its result as JSON (order.h); answered by an empty one
 *
 * Numbers are little endian. The processes in between only pass bytes on. When the connection
 * breaks, both ends connect again and repeat what the other has not received: nothing is lost,
 * nothing arrives twice. At most PTY_WINDOW bytes of data are in flight, which slows down a fast
 * sender and allows connections to be read at all times.
 *
 * A client that hangs up shuts down its direction. A connection closed in both directions is merely
 * broken, and may come back.
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
/* default of the seconds that either end waits for the other to come back */
#define PTY_PATIENCE 30
#define PTY_PROTOCOL "shunt-terminal"
enum pty_frame {
	PTY_HELLO = 'h',
	PTY_DATA = 'd',
	PTY_TAKEN = 'a',
	PTY_SIZE = 'w',
	PTY_SIGNAL = 's',
	PTY_EXIT = 'x',
};

/* After the window's size a client's hello may contain the settings of its terminal: flags for
 * input, output and the rest, 4 bytes each, and PTY_KEYS special keys (termios.h: c_iflag, c_oflag,
 * c_lflag, c_cc). They apply when the job starts. */
#define PTY_KEYS 19
#define PTY_SETTINGS (12 + PTY_KEYS)

/* ---- both ends (pty_wire.c) ---- */

struct pty_wire {
	struct strbuf in, out; /* from and to the current connection: complete and partial frames */
	struct strbuf kept;    /* our data that the other end has not consumed, from byte `base` on */
	uint64_t base, got;    /* got: bytes of the other's data received */
	uint64_t used, told;   /* bytes of it consumed here; bytes of it reported as consumed */
	bool greeted;	       /* the other's hello has arrived */
};

/* Starts a new connection: sends hello, followed by `n` more bytes. */
void wire_begin(struct pty_wire *w, const void *more, size_t n);
size_t wire_room(const struct pty_wire *w); /* returns the bytes of data that may be sent now */
/* Sends data, and keeps it until it is consumed. */
void wire_send(struct pty_wire *w, const void *data, size_t n);
void wire_put(struct pty_wire *w, enum pty_frame kind, const void *data, size_t n);
void wire_used(struct pty_wire *w, size_t n); /* counts data of the other end as consumed */
void wire_tell(struct pty_wire *w);	      /* reports the total consumed to the other end */
/* Handles the complete frames, then passes them to `obey`. Returns -EPROTO if they are
 * malformed. */
int wire_take(struct pty_wire *w, void (*obey)(void *context, char kind, const char *data, size_t n), void *context);
/* Reads, then calls wire_take(). Returns 0; 1: the other end hung up; -EPIPE: the connection broke;
 * -EPROTO. */
int wire_read(struct pty_wire *w, int fd, void (*obey)(void *context, char kind, const char *data, size_t n),
	      void *context);
void wire_fini(struct pty_wire *w);
/* Sends or writes what the descriptor accepts without waiting, and removes it from `b`. Returns the
 * bytes written, or -errno if none were and none ever will be. */
ssize_t pty_push(int fd, struct strbuf *b);

/* ---- the shepherd's side ---- */

struct pty {
	int master, conn; /* the terminal; the connection to the client, or -1 */
	struct pty_wire wire;
	struct strbuf keys; /* input waiting to be written to the terminal */
	struct winsize size;
	unsigned char settings[PTY_SETTINGS];
	bool has_settings; /* the client sent terminal settings */
	/* where the host's server or agent accepts terminals; the tag of this attempt */
	const char *path, *tag;
	int64_t patience;	      /* us */
	int64_t retry_at, give_up_at; /* boot_us(), while no client is connected */
	struct strbuf last;	      /* the result, once the job has ended */
	bool said;		      /* everything before the result was sent */
	bool over;		      /* the client has received the result */
	bool hung_up;		      /* the client is gone for good */
	int signal;		      /* signal requested by the client; the shepherd sends it and resets this to 0 */
};

/* Starts to look for the client. The texts stay the caller's. */
void pty_begin(struct pty *p, const char *path, const char *tag, int64_t seconds);
/* Returns true if a client is connected and its hello has arrived. */
bool pty_attached(const struct pty *p);
/* Opens the pseudo terminal, with the user's file rights. *ret_slave is for the job; close it after
 * the fork. */
int pty_terminal(struct pty *p, int *ret_slave, struct err *err);
/* pty_fds() fills in what to poll for; pty_turn() relays what arrived, with the same entries. */
#define PTY_FDS 2
void pty_fds(const struct pty *p, struct pollfd fds[PTY_FDS]);
void pty_turn(struct pty *p, const struct pollfd fds[PTY_FDS]);
/* Shows our own text on the client's terminal. Returns false if it can't now, because the client
 * has not read enough of the earlier data. */
bool pty_show(struct pty *p, const char *text);
/* pty_look() reconnects if there is no connection and gives up after a while; pty_next() returns
 * when to call it, or INT64_MAX. */
void pty_look(struct pty *p, int64_t now);
int64_t pty_next(const struct pty *p);
/* Sends the job's remaining output and its result to the client, as long as that reads it or may
 * come back; then closes the connection. */
void pty_finish(struct pty *p, const struct result *r);

/* ---- the user's side ---- */

/* A client's connection to the job. */
struct pty_way {
	int fd;		    /* not closed here */
	struct strbuf rest; /* bytes already read from it */
	/* Connects again after the connection broke. Returns 0; -EAGAIN: try later; else an error
	 * with the reason. */
	int (*again)(void *context, struct pty_way *w, struct err *err);
	void *context;
};
/* Relays between the job and the terminal `in`/`out` (which need not be terminals) until the job
 * has ended. Restores the terminal's settings, even if a signal ends this process. *ret is in the
 * arena. Returns -ETIMEDOUT if the connection broke and did not come back for `patience` seconds;
 * the error from `again`; or -EIO if the terminal is gone. */
int pty_serve(struct pty_way *w, int in, int out, int patience, struct arena *a, struct result *ret, struct err *err);

#endif
