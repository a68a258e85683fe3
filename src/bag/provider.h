/*
 * provider.h - sources of processors: this host, hosts by ssh, a Shunt server, Slurm, PBS. (The
 * source's Table 5.1.)
 *
 * A provider turns a request for `processors` during `seconds` into an allocation, and runs one
 * command of its user on each of its nodes: a worker of a bag, or the agent of a personal server's
 * node (struct provider_user). These connect back by themselves; a provider does not know what they
 * do. It never blocks for long: poll() makes requests and checks on them. A request is PENDING,
 * then RUNNING, then ENDED; or FAILED, with a message.
 *
 * A provider keeps these promises whatever a cluster's commands do, lose or forget: there are never
 * more requests out than it was given; after a failure it pauses, longer each time, and reports
 * why; a request refused as too large is repeated smaller; no command runs longer than six times
 * `pace`.
 *
 * Nothing here depends on the broker: `shunt overlay` uses it as well.
 */
#ifndef BAG_PROVIDER_H
#define BAG_PROVIDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bag/adapter.h"
#include "bag/filler.h"
#include "base/err.h"
#include "base/strbuf.h"

enum {
	TAG_SIZE = 192,
	WHERE_MOST = 128,
	SSH_HOSTS_MOST = 64,
	PROGRESS_SIZE = 65,
};

struct provider_limits {
	/* processors come for a limited time, on request; false: one request takes all there are */
	bool elastic;
	/* requests out at once, at most; 0: none now, during a pause after a failure */
	int64_t pending;
	int64_t processors;  /* maximum processors of one request */
	int64_t seconds;     /* seconds of one request, at most; -1: no end */
	int64_t hosts, used; /* hosts that need no request, and how many of them are in use */
};

enum request_state {
	REQUEST_PENDING,
	REQUEST_RUNNING,
	REQUEST_ENDED,
	REQUEST_FAILED,
};

/* Why a request ended, after something from it had joined. */
enum request_fate {
	FATE_OPEN,    /* it has not ended */
	FATE_UNKNOWN, /* it has ended, and the cluster does not say why */
	FATE_TAKEN,   /* the cluster or its administrator ended it, or its time was over */
	FATE_ENDED,   /* it ended by itself, because of what ran in it */
};

struct provider_request {
	int id; /* number within this provider, from 1 without gaps */
	enum request_state state;
	int64_t processors, seconds;
	int64_t submitted, started, ended; /* seconds since 1970; 0: not yet */
	int64_t planned;		   /* when the cluster plans to start it; 0: unknown */
	bool joined;			   /* provider_kind.joined() was called for it */
	char name[64];			   /* the cluster's name for it */
	enum request_fate fate;
	char outcome[24]; /* the cluster's word for its end; "": none */
	char failure[256];
};

/* The cluster's plan, as far as it is known. */
struct provider_plan {
	int64_t processors; /* processors of the whole cluster */
	int64_t queued;	    /* waiting requests there, of all users */
	/* like adapter_view.free, in seconds since 1970; valid until the next poll() */
	const struct adapter_span *free;
	size_t nfree;
	const struct filler_plan *places;  /* the same by node, valid as long; NULL: unknown */
	const struct provider_node *nodes; /* its kinds of nodes, valid as long; none: unknown */
	size_t nnodes;
	int64_t read; /* when it was queried */
};

/* What must be on one node, and how much of it there is beside each processor. */
struct provider_shape {
	int64_t each;	/* processors that must be on one node */
	int64_t gpus;	/* GPUs next to each group of `each` processors */
	int64_t memory; /* KiB per processor; 0: not stated */
};

/* A kind of node that a cluster has. */
struct provider_node {
	int64_t cpus, gpus, memory; /* memory: KiB; gpus, memory: INT64_MAX if not known */
};

struct provider;
struct provider_kind {
	const char *name; /* such as "local" */
	void (*limits)(struct provider *p, struct provider_limits *ret);
	/* Makes a request; returns its id or -errno. */
	int (*request)(struct provider *p, int64_t processors, int64_t seconds, struct err *err);
	void (*cancel)(struct provider *p, int id); /* waiting or running */
	/* Reduces a waiting request to at most that many processors; it keeps its place. NULL:
	 * not supported. */
	void (*shrink)(struct provider *p, int id, int64_t processors);
	/* Returns the last known state of request `id`; false: there is no request with this id
	 * or a later one. */
	bool (*look)(struct provider *p, int id, struct provider_request *ret);
	/* Does the periodic work; called about ten times a second, and when a child of this
	 * process ended. `now`: provider_now(). */
	void (*poll)(struct provider *p, int64_t now);
	/* Returns the plan. -EAGAIN: not known yet; -ENOTSUP: can't be known now. After the
	 * first call poll() keeps it up to date. */
	int (*plan)(struct provider *p, struct provider_plan *ret, struct err *err);
	/* a node of that request has joined; may be NULL */
	void (*joined)(struct provider *p, int id);
	/* Changes the shape of later requests; NULL: they have none. */
	void (*reshape)(struct provider *p, const struct provider_shape *shape);
	void (*resume)(struct provider *p); /* ends a pause after failures; NULL: it never pauses */
	/* Forgets all requests without cancelling them at the cluster; see provider_clear(). */
	void (*destroy)(struct provider *p);
};
/* Returns seconds of a clock that nobody sets, for pauses and time limits. Times in requests and
 * plans are those of the wall clock, which is shared with the cluster. */
int64_t provider_now(void);
/* Each kind's struct begins with this. */
struct provider {
	const struct provider_kind *kind;
};

/* The owner of the requests, and the command that runs on their nodes. */
struct provider_user {
	/* directory for scripts, keys and outputs of requests, named TAG-ID.SUFFIX; a cluster's
	 * nodes share it */
	const char *dir;
	const char *tag; /* from provider_tag() */
	int64_t pace;	 /* seconds between queries to the cluster; 10 is polite */
	/*
	 * Called before a request is submitted, for at most `nodes` nodes: writes what they need to
	 * join to the file `key` (mode 600), and appends the command that each of them runs, one
	 * line for sh. The command's environment has
	 *	SHUNT_KEY		the file; "-": it is on standard input
	 *	SHUNT_NODE		number of the node in the allocation, from 0
	 *	SHUNT_CPUS		CPUs it may use there; empty: all
	 *	SHUNT_MEMORY		KiB it may use there; empty: not known
	 *	SHUNT_END		when the allocation ends, seconds since 1970; empty: never
	 *	SHUNT_ALLOCATION	the cluster's name for it
	 */
	int (*prepare)(void *arg, const struct provider_request *r, int64_t nodes, const char *key,
		       struct strbuf *command, struct err *err);
	/* the request is over and its key removed: nothing can join from it any more */
	void (*over)(void *arg, int id);
	/* Returns true if something from that request is connected now: then the request has not
	 * ended, even if the cluster forgot it. NULL: unknown. */
	bool (*alive)(void *arg, int id);
	/* only one node can join with a key: of two jobs with the same key, one ends by itself */
	bool once;
	/* The cluster refuses even the smallest request of the current shape, for its size. Returns
	 * true if a smaller shape was set; otherwise a pause follows. NULL: always a pause. */
	bool (*refused)(void *arg, const char *why);
	/* Writes how far the work is, for the job of a request to show; "": nothing. NULL: never. */
	void (*progress)(void *arg, char ret[PROGRESS_SIZE]);
	void (*warn)(void *arg, const char *text);
	void *arg;
};

struct provider_options {
	/* additional options for the cluster's submit command, separated by blanks; NULL: none */
	const char *words;
	/* requests at once; processors of one; seconds of one */
	int64_t requests, processors, seconds;
	struct provider_shape shape;
	/* for filler.h: requests queue behind all others, and the plan is read five times as
	 * often */
	bool filler;
	/* An earlier process with the same tag has used ids up to `last`. The requests in `live`
	 * are looked up and adopted. */
	int last;
	const int *live;
	size_t nlive;
};

/* Lists the kinds for messages and completions: "local, slurm or ...". */
const char *provider_places(void);
/* Returns true if `place` names one of them other than local: "slurm", "pbs", "shunt",
 * "shunt:pine" (a name of `shunt clusters`), "shunt:/home/me/other" (a personal server's
 * SHUNT_HOME), "ssh:n[1-4]". */
bool provider_known(const char *place);
bool provider_gpus(const char *place); /* true if GPUs can be requested from it */
/* Makes a new name for the requests of a run. Store it durably before the first request. */
void provider_tag(const char *place, bool filler, char ret[TAG_SIZE]);
/* Creates a provider. Strings and `user` are borrowed, options copied. Returns NULL with a
 * message on error. */
struct provider *provider_create(const char *place, const struct provider_user *user,
				 const struct provider_options *options, struct err *err);
/* Cancels all requests of a tag, including those of a killed process, and waits for that up to
 * half a minute. -errno: they may still be there. */
int provider_clear(const char *tag, struct err *err);

/* Runs one command on each of the hosts, a list as in base/hostlist.h, through ssh with the key
 * on its standard input. Each host is a request without end. */
struct provider *provider_ssh(const char *hosts, const struct provider_user *user, struct err *err);

/* Workers of a broker on this host: `workers` processes that share `cpus` (thousandths) evenly.
 * A worker that dies is restarted, at most ten times in a row without having had a task. The
 * strings are borrowed. */
struct local_options {
	const char *program; /* executable of this program */
	const char *socket;  /* path of the broker's socket */
	int workers;
	int64_t cpus, gpus, memory; /* memory: KiB; -1: unknown */
};
struct provider *provider_local(const struct local_options *options);

#endif
