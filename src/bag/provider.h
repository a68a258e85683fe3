/*
 * provider.h - where processors come from: this host, hosts by ssh, a Shunt server, Slurm, PBS. (The source's Table 5.1.)
 *
 * A provider turns a request for `processors` during `seconds` into an allocation, and runs one command of its user on each node of it: a worker of a bag, or
 * the agent of a personal server's node (struct provider_user). These connect outward by themselves; a provider knows nothing of what they do. It never
 * blocks for long: requests are made and looked at in poll(). A request's life: PENDING, then RUNNING, then ENDED; or FAILED, with a sentence.
 *
 * What it promises whatever a cluster's commands do, lose or forget: never more requests are out than it was given; after a failure it pauses, longer each
 * time, and says why; what a cluster refuses as too large is requested smaller; no command runs for longer than six times `pace`.
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
};

struct provider_limits {
	bool elastic; /* processors come for a time, by request; false: they are there, and one request takes them all */
	int64_t pending;    /* requests that may be out at once; 0: none now, it pauses after a failure */
	int64_t processors; /* of one request */
	int64_t seconds;    /* of one request; -1: without end */
};

enum request_state {
	REQUEST_PENDING,
	REQUEST_RUNNING,
	REQUEST_ENDED,
	REQUEST_FAILED,
};

struct provider_request {
	int id; /* from 1, of this provider, without gaps */
	enum request_state state;
	int64_t processors, seconds;
	int64_t submitted, started, ended; /* seconds since 1970; 0: not yet */
	int64_t planned;		   /* when the cluster plans to start it; 0: unknown */
	bool joined;			   /* provider_joined() was called for it */
	char name[64];			   /* what its cluster calls it */
	char failure[256];
};

/* The cluster's plan, as far as it can be known. */
struct provider_plan {
	int64_t processors; /* of the whole cluster */
	int64_t queued;	    /* requests that wait there, whoever's */
	const struct adapter_span
		*free; /* as struct adapter_view wants it, in seconds since 1970; valid until the next poll() */
	size_t nfree;
	const struct filler_plan *places; /* the same on its nodes, as long valid; NULL: they are not known */
	int64_t read;			  /* when it was asked for */
};

struct provider;
struct provider_kind {
	const char *name; /* "local" */
	void (*limits)(struct provider *p, struct provider_limits *ret);
	/* Makes a request, and returns its id or -errno with a sentence. */
	int (*request)(struct provider *p, int64_t processors, int64_t seconds, struct err *err);
	void (*cancel)(struct provider *p, int id); /* also one that runs */
	/* One that waits is to have no more than so many processors; it keeps its place. NULL: it can't be done. */
	void (*shrink)(struct provider *p, int id, int64_t processors);
	/* The state of request `id` as last known; false: there are none from this id on. */
	bool (*look)(struct provider *p, int id, struct provider_request *ret);
	/* Looks after everything; called about ten times a second, and when a child of this process ended. */
	void (*poll)(struct provider *p, int64_t now);
	/* -EAGAIN: it is not known yet; -ENOTSUP: it can't be known now. Asking for it makes poll() keep it up to date. */
	int (*plan)(struct provider *p, struct provider_plan *ret, struct err *err);
	void (*joined)(struct provider *p, int id); /* somebody came from that request; NULL: nobody wants to know */
	void (*resume)(struct provider *p);	    /* ends a pause after failures; NULL: it makes none */
	/* Forgets all requests without telling the cluster; see provider_clear(). */
	void (*destroy)(struct provider *p);
};
/* Each kind's struct begins with this. */
struct provider {
	const struct provider_kind *kind;
};

/* Whose requests they are, and what runs on their nodes. */
struct provider_user {
	const char *
		dir; /* scripts, keys and outputs of requests are kept there, as TAG-ID.SUFFIX; the nodes of a cluster share it */
	const char *tag; /* from provider_tag() */
	int64_t pace;	 /* seconds between questions to the cluster; 10 is polite */
	/*
	 * A request is about to leave, for at most `nodes` nodes: writes what they need to join to the file `key` (mode 600), and appends the command that
	 * each of them runs, one line for sh. It finds in its environment
	 *	SHUNT_KEY		the file; "-": it is on standard input
	 *	SHUNT_NODE		which node of the allocation, from 0
	 *	SHUNT_CPUS		that it may use there; empty: all
	 *	SHUNT_MEMORY		KiB that it may use there; empty: not known
	 *	SHUNT_END		when the allocation ends, seconds since 1970; empty: never
	 *	SHUNT_ALLOCATION	what the cluster calls it
	 */
	int (*prepare)(void *arg, const struct provider_request *r, int64_t nodes, const char *key,
		       struct strbuf *command, struct err *err);
	void (*over)(void *arg, int id); /* nobody comes from that request any more; its key is removed */
	/* Whether somebody from that request is connected now: then it has not ended, whatever the cluster forgets. NULL: unknown. */
	bool (*alive)(void *arg, int id);
	bool once; /* what joins with a key joins once: of two jobs with the same key, one ends by itself */
	void (*warn)(void *arg, const char *text);
	void *arg;
};

struct provider_options {
	const char *words; /* more options for the cluster's submit command, separated by blanks; NULL: none */
	int64_t requests, processors, seconds; /* at once; of one; of one */
	int64_t each;			       /* processors that must be on one node */
	int64_t gpus;			       /* beside each of these */
	int64_t memory;			       /* KiB for each of them; 0: not stated */
	bool filler; /* they come last in its queue, and its plan is read five times as often: it is for filler.h */
	/* An earlier process of the same tag has used ids up to `last`. Those in `live` are looked for and go on as this one's. */
	int last;
	const int *live;
	size_t nlive;
};

/* The kinds that there are, for messages and completions: "local, slurm or ...". */
const char *provider_places(void);
/* Whether `place` is one of them other than local: "slurm", "pbs", "shunt", "shunt:pine" (a name of `shunt clusters`), "shunt:/home/me/other" (a personal
 * server's SHUNT_HOME), "ssh:n[1-4]". */
bool provider_known(const char *place);
bool provider_gpus(const char *place); /* GPUs can be requested from it */
/* A new name for the requests of a run. It goes to a file that survives, before the first request. */
void provider_tag(const char *place, bool filler, char ret[TAG_SIZE]);
/* Strings and `user` are borrowed, options copied. NULL with a sentence. */
struct provider *provider_create(const char *place, const struct provider_user *user,
				 const struct provider_options *options, struct err *err);
/* Ends all requests of a tag, also of a process that was killed, and waits for it up to half a minute. -errno with a sentence: they may still be there. */
int provider_clear(const char *tag, struct err *err);

/* One command on each of the hosts, a list as in base/hostlist.h, through ssh with the key on its standard input; each host is a request, and has no end. */
struct provider *provider_ssh(const char *hosts, const struct provider_user *user, struct err *err);

/* Workers of a broker on this host: `workers` processes that share `cpus` (thousandths) evenly. A worker that dies is started again, at most ten times in a
 * row without a result. The strings are borrowed. */
struct local_options {
	const char *program; /* this one's executable */
	const char *socket;  /* the broker's */
	int workers;
	int64_t cpus, gpus, memory; /* KiB; -1: unknown */
};
struct provider *provider_local(const struct local_options *options);

#endif
