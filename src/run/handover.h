/*
 * handover.h - the messages between the nursery and its shepherds.
 *
 *	nursery --orders, signals--> a socket for each shepherd that may take several orders
 *	nursery <------reports------ one socket that all shepherds share
 *
 * A signal names its attempt, so that one that comes late can't reach the shepherd's next job. It
 * is announced by SHEPHERD_SIGNAL, so that a shepherd need not watch the socket while its job runs.
 * When the nursery is gone both sockets are closed: the shepherd ends with its attempt.
 */
#ifndef RUN_HANDOVER_H
#define RUN_HANDOVER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "run/identity.h"

#define HANDOVER_MAX 65536 /* bytes of the largest message; a shepherd is forked for larger orders */

/* An order on its way to a shepherd. */
struct handover {
	const char *tag, *user;
	struct identity who; /* without `server` */
	const char *text;    /* the order, as in its frame */
	size_t n;
	int live; /* LIVE/TAG, locked */
};

enum handover_kind {
	HANDOVER_NONE, /* nothing is there yet */
	HANDOVER_ORDER,
	HANDOVER_SIGNAL,
	HANDOVER_CLOSED, /* the nursery is gone, or needs this shepherd no more */
};

/* Send without waiting. They return 0 or -errno; -EMSGSIZE: the order is too large. */
int handover_order(int fd, const struct handover *h);
int handover_signal(int fd, const char *tag, int signal);
/* Receives the next message: an order, which is valid until the next call, or a signal for the
 * attempt `tag`. Signals for other attempts are dropped. */
enum handover_kind handover_receive(int fd, const char *tag, struct handover *ret, int *ret_signal);
/* Waits for an order between two attempts; SIGTERM ends the process meanwhile. Returns false if
 * there will be none. */
bool handover_wait(int fd, struct handover *ret);

/* What a shepherd reports. */
enum handover_report {
	REPORT_WAITS = 'w',   /* its attempt is over, and it waits for another order */
	REPORT_LEAVES = 'l',  /* its attempt is over, and it exits */
	REPORT_REFUSES = 'r', /* the order can't be read: `text` has the reason; it exits */
};
/* The text of REPORT_WAITS and REPORT_LEAVES is the result, once it is in the live file; none: the
 * live file decides. */
struct handover_head {
	size_t slot; /* number of the shepherd, from its nursery */
	pid_t pid;
	enum handover_report report;
};
/* Returns 0 or -errno if the nursery is gone or takes no messages. */
int handover_report(int fd, const struct handover_head *head, const char *text, size_t n);
/* Reads a report without waiting: returns the length of its text, which a NUL follows; -EAGAIN:
 * there is none. */
ssize_t handover_report_read(int fd, struct handover_head *ret, char *text, size_t size);

#endif
