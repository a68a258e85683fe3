/*
 * broker.h - runs one bag, from its directory to its results.
 *
 *	BAG/tasks	the tasks, fixed when the bag was created (bagfile.h)
 *	BAG/journal	what became of them (journal.h)
 *	BAG/socket	workers and commands connect here while a broker runs
 *	BAG/gate	workers on other hosts connect here, through the gate (gate.c)
 *	BAG/worker-1.key	credentials of workers that are started by hand (credential.h)
 *
 * The loop: read messages; give results to the queue; add them to the journal; write the journal
 * once; then send tasks and print. Nothing is reported that is not in the journal. When tasks are
 * short, workers get more of them than they can run, about 20 ms of work, so that they need not
 * wait for messages. When other workers are idle, tasks that have not begun are recalled.
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
	uint32_t before;  /* tasks done before this run */
	int64_t took;	  /* microseconds */
	int workers;	  /* connected now */
	uint32_t running; /* tasks in flight that have begun */
	double rate;	  /* recent rate, tasks per second */
	int64_t left;	  /* estimated seconds until the end at that rate; -1: unknown */
	bool cancelled, interrupted;
	bool ending; /* running tasks have their grace now */
};

struct broker_options {
	const char *dir;     /* directory of the bag, which contains `tasks` */
	const char *program; /* executable of `shunt`, which starts workers */
	int workers;	     /* number of local workers; 0: none */
	int invite;	     /* number of workers on other hosts that are started by hand */
	/* invited workers and those of clusters don't see our files: in= and out= are copied */
	bool apart;
	int64_t grace;	    /* seconds from SIGTERM to SIGKILL for tasks that must end */
	int64_t output;	    /* bytes kept of each output of a task */
	int64_t cpus, gpus; /* resources of this host for all local workers; thousandths of CPUs */
	int64_t memory;	    /* memory for all local workers, KiB; -1: unknown */
	struct queue_rules rules;
	const char *const *places; /* clusters that give processors on request (provider_known()) */
	int nplaces;
	struct provider_options request; /* limits for each of them */
	enum adapter_heuristic adapter;
	bool filler; /* request only what nobody else would use (filler.h); Shunt servers only */
	bool retry;  /* tasks that were set aside wait again */
	/* Called when a task is done or set aside, and is in the journal. May be NULL. */
	void (*finished)(void *arg, const struct record *r);
	/* Called about ten times a second. May be NULL. */
	void (*progress)(void *arg, const struct broker_summary *s);
	/* Called with a warning for the user; the run continues. May be NULL. */
	void (*warn)(void *arg, const char *text);
	void *arg;
};

/* Runs the bag to its end, or until SIGINT or SIGTERM. -EBUSY: another broker is running it. */
int broker_run(const struct broker_options *options, struct broker_summary *ret, struct err *err);

/* Cancels a bag that has no broker, and any cluster requests left by a broker that was killed.
 * -EINVAL: the bag is complete, and nothing is left. */
int broker_cancel(const char *dir, void (*warn)(void *arg, const char *text), void *arg, struct err *err);

/* Sends a word to the broker of a directory: "status", "workers", "allocations", "cancel" or
 * "retry". The caller frees `ret`. -ENOENT: no broker is running. */
int broker_ask(const char *dir, const char *word, char **ret, struct err *err);

#endif
