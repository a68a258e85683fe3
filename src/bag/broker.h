/*
 * broker.h - one bag, from its directory to its results.
 *
 *	BAG/tasks	the tasks as they were when the bag was made (bagfile.h)
 *	BAG/journal	what became of them (journal.h)
 *	BAG/socket	workers and commands connect here while a broker runs
 *	BAG/gate	and here those from other hosts, through its gate (gate.c)
 *	BAG/worker-1.key	credentials of workers that are started by hand (credential.h)
 *
 * The loop: read messages; give results to the queue; add them to the journal; write the journal once; then send tasks and print. Nothing is reported that
 * is not in the journal. Workers get more tasks than they can run when tasks are short, so that they need not wait for messages: as many as take about
 * 20 ms. When others are idle, tasks that have not begun are recalled.
 */
#ifndef BAG_BROKER_H
#define BAG_BROKER_H

#include <stdbool.h>
#include <stdint.h>

#include "bag/journal.h"
#include "bag/provider.h"
#include "bag/queue.h"
#include "base/err.h"

struct broker_summary {
	struct queue_counts counts;
	uint32_t tasks;
	uint32_t before;  /* done before this run */
	int64_t took;	  /* microseconds */
	int workers;	  /* now */
	uint32_t running; /* tasks in flight that have begun */
	double rate;	  /* tasks per second, lately */
	int64_t left;	  /* seconds until the end, at that rate; -1: unknown */
	bool cancelled, interrupted;
};

struct broker_options {
	const char *dir;     /* the bag's directory, with `tasks` in it */
	const char *program; /* starts workers: the executable of `shunt` */
	int workers;	     /* local ones; 0: none */
	int invite;	     /* workers on other hosts that are started by hand */
	bool apart;	     /* these, and those of clusters, don't see our files: in= and out= are copied */
	int64_t cpus, gpus;  /* of this host, for all local workers; thousandths of CPUs */
	int64_t memory;	     /* the same, KiB; -1: unknown */
	struct queue_rules rules;
	const char *const *places; /* clusters that give processors on request (provider_known()) */
	int nplaces;
	struct provider_options request; /* to each of them, at most */
	enum adapter_heuristic adapter;
	bool filler; /* only what nobody else would have is requested (filler.h); Shunt servers only */
	bool retry;  /* tasks that were set aside wait again */
	/* A task is done, or set aside; it is in the journal. NULL: nobody wants to know. */
	void (*finished)(void *arg, const struct record *r);
	/* About ten times a second. NULL: the same. */
	void (*progress)(void *arg, const struct broker_summary *s);
	/* Something that the user should know, but goes on. NULL: the same. */
	void (*warn)(void *arg, const char *text);
	void *arg;
};

/* Runs the bag to its end, or until SIGINT or SIGTERM. -EBUSY: another broker does. */
int broker_run(const struct broker_options *options, struct broker_summary *ret, struct err *err);

/* Cancels a bag without a broker, and what one that was killed has requested from clusters. -EINVAL: it is complete, and nothing is left. */
int broker_cancel(const char *dir, void (*warn)(void *arg, const char *text), void *arg, struct err *err);

/* Asks the broker of a directory: "status", "workers", "allocations", "cancel", "retry". -ENOENT: none runs. `ret` is the caller's to free. */
int broker_ask(const char *dir, const char *word, char **ret, struct err *err);

#endif
