/*
 * herd.h - the nursery's children: shepherds with an attempt, shepherds that wait for another
 * order, and processes that end leftovers.
 *
 * A shepherd takes one order at a time. When its attempt is over and was an ordinary one, it waits
 * for the next order instead of exiting, which saves a fork for most jobs.
 */
#ifndef RUN_HERD_H
#define RUN_HERD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "run/handover.h"
#include "run/shepherd.h"

struct child {
	pid_t pid;     /* 0: the slot is free */
	char *tag;     /* attempt that it runs or cleans up; NULL: none */
	bool shepherd; /* false: it ends leftovers */
	int orders;    /* socket for its orders; -1: it takes no other */
	bool doubted;  /* it was waiting when it got the order, and has not been seen to take it */
	int64_t since; /* boot_us() of the order, or of the end of its last attempt */
};

struct herd {
	struct shepherd_place place;  /* shared by all attempts */
	void (*leave)(void *context); /* closes what a forked child must not hold */
	void *context;
	VEC(struct child) children;
	VEC(size_t) waiting; /* slots of shepherds without an order, the last one first */
	size_t sockets;	     /* shepherds with a socket */
	int reports;	     /* descriptor from which to read reports */
	int64_t look_at;     /* boot_us() of the next herd_look(); INT64_MAX: none */
};

/* Creates the socket for reports. Returns 0 or -errno. */
int herd_init(struct herd *h);
void herd_fini(struct herd *h);
/* Closes, in a forked child, all descriptors of the herd. */
void herd_close(struct herd *h);
/* Adds a child that ends leftovers. */
void herd_add(struct herd *h, pid_t pid, const char *tag);
/* Gives an order to a waiting shepherd, or forks one. Returns its pid, or -errno. */
pid_t herd_order(struct herd *h, const struct handover *o);
/* Returns the shepherd of an attempt; NULL: it is not ours. */
struct child *herd_find(struct herd *h, const char *tag);
/* Sends a signal to the attempt of a shepherd of ours. Returns 0 or -errno. */
int herd_signal(struct child *c, int signal);

/* Reads the next report. Returns the child, which still has its tag; NULL: none. The
 * caller calls herd_over() afterwards. */
struct child *herd_report(struct herd *h, enum handover_report *ret_report, char *text, size_t size, ssize_t *ret_n);
/* Ends the child's attempt: it waits for another order, or is about to exit. */
void herd_over(struct herd *h, struct child *c, bool waits);
/* Returns true if no shepherd of ours has an attempt. */
bool herd_is_idle(const struct herd *h);
/* Forgets a child that was reaped. Returns its tag, which the caller frees, or NULL. */
char *herd_reaped(struct herd *h, pid_t pid, bool *ret_shepherd);
/* Dismisses shepherds that have waited long, and ends those that do not take their order because
 * someone has stopped them: nothing of that attempt has started. */
void herd_look(struct herd *h);

#endif
