/*
 * broker_internal.h - the broker's loop (broker.c), its workers (broker_peer.c), those on other hosts (broker_remote.c) and what it is asked (broker_ask.c).
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

/* Output that came in chunks. */
struct flight_output {
	struct strbuf out, err;
};

/* A copy of a task at a worker. */
struct flight {
	uint32_t task, attempt;
	int64_t since;		      /* microseconds, CLOCK_MONOTONIC */
	bool dropped;		      /* nobody wants its result */
	struct flight_output *output; /* owned; NULL: none */
	int64_t received;	      /* bytes of files, and one for each piece */
	int unwritten;		      /* -errno: one of them could not be kept */
};

/* A connection: a worker after its HELLO, or a command that asks. Its position in `peers` is the worker's number; NULL: free. */
struct peer {
	int fd;
	int number;
	bool worker, closing;	   /* closing: when everything is sent */
	int request;		   /* of a cluster, that brought it; 0: none */
	bool remote;		   /* it came through the gate: it is nobody before its HELLO with a secret */
	bool apart;		   /* it does not see our files */
	int64_t since;		   /* it is connected; microseconds, CLOCK_MONOTONIC */
	char session[SECRET_SIZE]; /* with which it may come back; "": not at all */
	char name[128];
	uint32_t pid;
	int64_t cpus, gpus, memory;	     /* all it has */
	int64_t end;			     /* when it ends, microseconds, CLOCK_MONOTONIC; -1: never */
	int64_t load, gpu_load, memory_load; /* of all its flights */
	int64_t usual;			     /* microseconds that its tasks take lately; -1: unknown */
	uint64_t results;
	bool recalled;		    /* since it got its last task */
	VEC(struct flight) flights; /* in the order in which they were sent */
	struct strbuf in, out;
	size_t sent;
};

/* A secret with which one worker may join. */
struct invitation {
	char secret[SECRET_SIZE];
	int64_t until; /* microseconds, CLOCK_MONOTONIC; -1: while the broker runs */
	int request;   /* of a cluster, for whose workers it is; 0: for somebody by hand */
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
	VEC(struct cluster *) clusters;
	int64_t allocations; /* in the journal */
	VEC(char *) tags;    /* of requests that may still be at a cluster, from runs before this one */
	VEC(struct peer *) peers;
	struct broker_summary summary;
	struct strbuf finished; /* records to be reported after the next flush */
	int64_t began, now;	/* microseconds, CLOCK_MONOTONIC; now: of this turn */
	int64_t measured;	/* when the rate was */
	uint32_t measured_done;
	double usual; /* seconds that tasks took, together */
	uint64_t nusual;
	bool retried;
};

int64_t monotonic(void);

/* In broker_peer.c. */
void peer_accept(struct broker *b, int listener);
void peer_read(struct broker *b, struct peer *p);
void peer_write(struct broker *b, struct peer *p);
void peer_close(struct broker *b, struct peer *p); /* a worker: its tasks are lost, or return */
uint32_t peers_running(const struct broker *b);	   /* tasks that have begun */
int64_t peers_oldest(const struct broker *b); /* microseconds that the longest of them has been there; 0: none is */
void peers_fill(
	struct broker *
		b); /* Files of a task for a worker that does not see ours: those that it needs, before it is sent; -errno with a sentence: nothing was sent. */
int task_files_send(const struct broker *b, struct peer *p, uint32_t task, struct err *err);
int task_file_take(const struct broker *b, const struct peer *p, struct flight *f, const struct wire *m);
int task_files_settle(const struct broker *b, const struct peer *p, const struct flight *f,
		      struct err *err); /* to their places */
void task_files_drop(const struct broker *b, const struct peer *p, const struct flight *f);
void task_files_clear(const struct broker *b); /* what a broker that was killed has left */

/* gives tasks to workers */

/* In broker_remote.c. */
int remote_open(struct broker *b, struct err *err); /* the gate, and the files of those who are invited */
int remote_look(struct broker *b, struct err *err);
void remote_close(struct broker *b);
/* Writes a credential for that many workers, of a request (0: none). */
int remote_invite(struct broker *b, const char *path, int64_t workers, int request, struct err *err);
void remote_uninvite(struct broker *b, int request);
/* False: nobody with this secret is expected. */
bool invitation_take(struct broker *b, const char *secret, size_t n, int *ret_request);
void session_begin(struct broker *b, struct peer *p);
void session_end(struct broker *b, const struct peer *p);

/* In broker_cluster.c. */
void cluster_known(struct broker *b, const struct record *r); /* a record of earlier requests */
int cluster_open(struct broker *b, struct err *err);
void cluster_clear(
	struct broker *b); /* cancels requests of brokers that were killed; those that it could not remain in `tags` */
void cluster_look(struct broker *b);
void cluster_joined(struct broker *b, int request); /* a worker of that request came */
/* A task was done by a worker of that request (0: of none), in so many microseconds. */
void cluster_done(struct broker *b, int request, int64_t took, int64_t cpus);
/* Whether a worker went because its request ended, with a task that it had for `stay` microseconds. */
bool cluster_cut(struct broker *b, const struct peer *p, int64_t stay);
/* Whether it went because its request was cancelled by us. */
bool cluster_dropped(const struct broker *b, const struct peer *p);
int64_t cluster_longest(const struct broker *b);    /* seconds that a worker can have at most; -1: without end */
void cluster_put(struct broker *b, struct json *j); /* an array of the requests that are out */
void cluster_close(struct broker *b);		    /* cancels all requests */

/* In broker_ask.c: answers one word. */
void ask_answer(struct broker *b, struct peer *p, const char *word, size_t n);

#endif
