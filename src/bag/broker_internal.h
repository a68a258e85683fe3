/*
 * broker_internal.h - shared by the broker's loop (broker.c), its workers (broker_peer.c), their
 * files (broker_files.c), workers on other hosts (broker_remote.c), requests to clusters
 * (broker_cluster.c), ends of tasks (broker_verdict.c) and commands (broker_ask.c).
 */
#ifndef BAG_BROKER_INTERNAL_H
#define BAG_BROKER_INTERNAL_H

#include "bag/broker.h"
#include "bag/journal.h"
#include "bag/link.h"
#include "bag/provider.h"
#include "bag/wire.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "base/vec.h"

/* Output received in chunks. */
struct flight_output {
	struct strbuf out, err;
};

/* A copy of a task at a worker. */
struct flight {
	uint32_t task, attempt;
	int64_t since;		      /* when it was sent; microseconds, CLOCK_MONOTONIC */
	bool dropped;		      /* its result is no longer wanted */
	struct flight_output *output; /* owned; NULL: none */
	int64_t received;	      /* bytes of files received, plus one for each piece */
	int unwritten;		      /* -errno: a received file could not be stored */
};

/* A connection: a worker after its HELLO, or a command. Its index in `peers` is the worker's
 * number; NULL: free. */
struct peer {
	int fd;
	int number;
	bool worker, closing;	   /* closing: close it when everything is sent */
	int request;		   /* cluster request that brought it; 0: none */
	bool remote;		   /* it came through the gate: it may do nothing before a HELLO with a secret */
	bool apart;		   /* it does not see our files */
	int64_t since;		   /* time of connection; microseconds, CLOCK_MONOTONIC */
	char session[SECRET_SIZE]; /* key with which it may reconnect; "": it may not */
	char name[128];
	uint32_t pid;
	int64_t cpus, gpus, memory;	     /* its total resources */
	int64_t end;			     /* when it ends, microseconds, CLOCK_MONOTONIC; -1: never */
	int64_t load, gpu_load, memory_load; /* resources used by all its flights */
	int64_t usual;			     /* recent time of its tasks, microseconds; -1: unknown */
	uint64_t results;
	bool alone;		    /* its task must run alone */
	bool recalled;		    /* tasks were recalled since it got its last one */
	VEC(struct flight) flights; /* in the order they were sent */
	struct strbuf in, out;
	size_t sent;
};

/* A secret with which one worker may join. */
struct invitation {
	char secret[SECRET_SIZE];
	int64_t until; /* microseconds, CLOCK_MONOTONIC; -1: while the broker runs */
	int request;   /* cluster request whose workers it admits; 0: a worker started by hand */
};

/* A task that was lost with its worker, for a reason that is not known yet. */
struct doubt {
	uint32_t task, attempt;
	bool alone;		   /* the worker ran nothing else */
	int request;		   /* cluster request that brought the worker; 0: none */
	int64_t since;		   /* microseconds, CLOCK_MONOTONIC */
	char session[SECRET_SIZE]; /* key with which the worker may reconnect */
	char worker[128];	   /* its name */
};

struct broker {
	const struct broker_options *options;
	struct bag bag;
	struct queue *queue;
	struct journal *journal;
	struct provider *provider;
	int listener, signals;
	int remote_listener; /* behind the gate; -1: none */
	struct gate_link gate;
	VEC(struct invitation) invitations;
	VEC(struct doubt) doubts;
	VEC(struct cluster *) clusters;
	int64_t allocations; /* number of allocations in the journal */
	VEC(char *) tags;    /* tags of requests of earlier runs that may still be at a cluster */
	VEC(struct peer *) peers;
	struct broker_summary summary;
	struct strbuf finished; /* records to report after the next flush */
	int64_t began, now;	/* microseconds, CLOCK_MONOTONIC; now: start of this turn */
	int64_t looked;		/* when tasks that are too large were last looked for */
	int64_t measured;	/* when the rate was last measured */
	uint32_t measured_done;
	double usual; /* total seconds that tasks took */
	uint64_t nusual;
	bool ending; /* workers are ending: their tasks are not lost, but wait again */
};

static inline const struct bag_need *broker_need(const struct broker *b, uint64_t task)
{
	return &b->bag.needs.v[b->bag.tasks.v[task - 1].need];
}

/* In broker_peer.c. */
void peer_accept(struct broker *b, int listener);
void peer_read(struct broker *b, struct peer *p);
void peer_write(struct broker *b, struct peer *p);
/* Closes a connection. The tasks of a worker are lost, or return to the queue. */
void peer_close(struct broker *b, struct peer *p);
uint32_t peers_running(const struct broker *b); /* number of tasks that have begun */
void peers_fill(struct broker *b);		/* gives tasks to workers */

/* In broker_verdict.c. */
/* Records what became of a task, and drops its other copies. */
void verdict_apply(struct broker *b, enum verdict verdict, struct record *r);
/* Finds the copy of a task at a worker; NULL: none. */
struct flight *flight_find(struct peer *p, uint64_t task, size_t *ret_at);
/* Keeps a task in mind that was lost with a worker on another host. */
void loss_doubt(struct broker *b, const struct peer *p, uint32_t task, uint32_t attempt, bool alone);
/* Notes that a worker came back with its session key. `died`: its working process was killed. */
void loss_rejoined(struct broker *b, const char *session, bool died);
/* Counts or forgets doubt number `at`, if what became of its request shows the reason. */
void loss_judge(struct broker *b, size_t at, enum request_fate fate);
void loss_record(struct broker *b, uint32_t task, uint32_t attempt, const char *worker, enum verdict verdict);

/* In broker_files.c. */
/* Sends the files that a task needs to a worker that does not see ours, before the task itself.
 * On error nothing is sent. */
int task_files_send(const struct broker *b, struct peer *p, uint32_t task, struct err *err);
int task_file_take(const struct broker *b, const struct peer *p, struct flight *f, const struct wire *m);
/* Moves received files to their places. */
int task_files_settle(const struct broker *b, const struct peer *p, const struct flight *f, struct err *err);
void task_files_drop(const struct broker *b, const struct peer *p, const struct flight *f);
void task_files_clear(const struct broker *b); /* removes what a killed broker left */

/* In broker_remote.c. */
/* Opens the gate, and writes the credentials of invited workers. */
int remote_open(struct broker *b, struct err *err);
int remote_look(struct broker *b, struct err *err);
void remote_close(struct broker *b);
/* Writes a credential for that many workers of a cluster request (0: none). */
int remote_invite(struct broker *b, const char *path, int64_t workers, int request, struct err *err);
void remote_uninvite(struct broker *b, int request);
/* Returns false if no worker with this secret is expected. */
bool invitation_take(struct broker *b, const char *secret, size_t n, int *ret_request);
void remote_begin(struct broker *b, struct peer *p);
void remote_end(struct broker *b, const struct peer *p);

/* In broker_cluster.c. */
/* Takes a record of earlier requests. */
void cluster_known(struct broker *b, const struct record *r);
int cluster_open(struct broker *b, struct err *err);
/* Cancels requests of brokers that were killed; those it could not cancel remain in `tags`. */
void cluster_clear(struct broker *b);
void cluster_look(struct broker *b);
void cluster_joined(struct broker *b, int request); /* a worker of that request joined */
/* Notes that a worker of a request (0: none) finished a task, which took `took` microseconds. */
void cluster_done(struct broker *b, int request, int64_t took, int64_t cpus);
/* Returns true if a worker left because its request ended, with a task that it had had for
 * `stay` microseconds. */
bool cluster_cut(struct broker *b, const struct peer *p, int64_t stay);
/* Returns true if a worker left because we cancelled its request. */
bool cluster_dropped(const struct broker *b, const struct peer *p);
/* Returns what became of a request; FATE_OPEN: nothing yet, or it is 0. */
enum request_fate cluster_fate(const struct broker *b, int request);
/* Returns the longest time that a worker can run, in seconds; -1: not limited. */
int64_t cluster_longest(const struct broker *b);
/* Writes an array of the requests that were made and have not ended. */
void cluster_put(struct broker *b, struct json *j);
void cluster_close(struct broker *b); /* cancels all requests */

/* In broker_class.c. */
/* Returns true if some place may hold tasks with that need; otherwise appends the reasons. */
bool cluster_holds(const struct broker *b, uint32_t need, struct strbuf *why);

/* In broker_ask.c: answers one word. */
void ask_answer(struct broker *b, struct peer *p, const char *word, size_t n);

#endif
