/*
 * provider.h - where workers come from: this host, hosts by ssh, a Shunt server, Slurm, PBS. (The source's Table 5.1.)
 *
 * A provider turns a request for `processors` during `seconds` into workers that connect to the broker by themselves. It never blocks for long: requests
 * are made and looked at in poll(). A request's life: PENDING, then RUNNING, then ENDED; or FAILED, with a sentence. One broker may use several providers;
 * the adapter (adapter.h) decides what is requested from those whose processors must be requested (`limits.elastic`).
 */
#ifndef BAG_PROVIDER_H
#define BAG_PROVIDER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct provider_limits {
	bool elastic; /* processors come for a time, by request; false: they are there, and one request takes them all */
	int64_t pending;    /* requests that may wait at once */
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
	int id; /* from 1, of this provider */
	enum request_state state;
	int64_t processors, seconds;
	int64_t submitted, started, ended; /* seconds since 1970; 0: not yet */
	char name[64];			   /* what its cluster calls it */
	char failure[256];
};

/* A free part of the cluster's plan: so many processors from `from` to `to`, in seconds from now. */
struct provider_hole {
	int64_t from, to, processors;
};

/* Where workers find the broker. */
struct provider_broker {
	const char *program; /* this one's executable */
	const char *socket;  /* UNIX socket, for workers on this host */
};

struct provider;
struct provider_kind {
	const char *name; /* "local" */
	void (*limits)(struct provider *p, struct provider_limits *ret);
	/* Makes a request, and returns its id or -errno with a sentence. */
	int (*request)(struct provider *p, int64_t processors, int64_t seconds, struct err *err);
	void (*cancel)(struct provider *p, int id); /* also one that runs: its workers are ended */
	/* The state of request `id` as last known; false: unknown id. */
	bool (*look)(struct provider *p, int id, struct provider_request *ret);
	/* Looks after everything; called about ten times a second, and when a child of this process ended. */
	void (*poll)(struct provider *p, int64_t now);
	/* Free parts of the plan, the earliest first, up to `most`; -ENOTSUP: unknown. */
	int (*holes)(struct provider *p, struct provider_hole *ret, int most, struct err *err);
	void (*destroy)(struct provider *p); /* after all requests were cancelled */
};
/* Each kind's struct begins with this. */
struct provider {
	const struct provider_kind *kind;
};

/* Workers on this host: `workers` processes that share `cpus` (thousandths) evenly. A worker that dies is started again, at most ten times in a row
 * without a result. The strings of `broker` are borrowed. */
struct local_options {
	int workers;
	int64_t cpus, gpus, memory; /* KiB; -1: unknown */
};
struct provider *provider_local(const struct provider_broker *broker, const struct local_options *options);

#endif
