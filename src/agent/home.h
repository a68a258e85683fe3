/*
 * home.h - where an agent keeps its things, and what it knows of its cluster (agent.json).
 */
#ifndef AGENT_HOME_H
#define AGENT_HOME_H

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/hostlist.h"
#include "base/strbuf.h"

#define AGENT_PORT 7723
#define SERVER_PORT 7722

struct home {
	char state[PATH_MAX], run[PATH_MAX]; /* docs/cluster.md, "Files" */
	char program[PATH_MAX];		     /* this executable, */
	char nursery[PATH_MAX];		     /* ... that beside it, */
	char bin[PATH_MAX];		     /* ... and where the commands are: @BIN@ */
	bool given;			     /* by SHUNT_AGENT_HOME: nothing of the system's is touched */
};

/* Paths only. -EPERM: not root, and no SHUNT_AGENT_HOME. */
int home_find(struct home *h, struct err *err);
int home_make(const struct home *h, struct err *err); /* the directories */
/* The lock of the one agent that runs here: a descriptor, -EBUSY and the pid in the sentence. */
int home_lock(const struct home *h, struct err *err);

/* A file below STATE as a whole: -ENOENT; at most 1 MiB. */
int home_read(const struct home *h, const char *name, struct strbuf *ret, struct err *err);
/* Never half there, and on the disk when this returns. */
int home_write(const struct home *h, const char *name, int mode, const char *text, size_t n, struct err *err);

/* ---- agent.json ---- */

struct member {
	char *name, *cluster; /* this node, and what it is part of */
	name_list servers;    /* "host:port"; the one that answered last is first */
	char *joined_by;      /* where it was when this node joined: tried when no other is there */
	uint64_t epoch;	      /* the highest seen */
	int port;	      /* of our own; 0: any that is free */
	int cpus;	      /* that it may use here; 0: all */
	int64_t memory;	      /* KiB of it; 0: not known */
	bool guest;	      /* it is here for a time: it ends when no server answers any more, and with its node */
	char *workstation;    /* its policy (station/owner.h); "": it is none */
	int last_port;	      /* what that was: running jobs know it */
	/* What the server said last, for a start without it. */
	char *cgroup;
	bool root_jobs;
	int64_t certificate_life;
	json_t *revoked; /* nodes that were removed, {NAME: JOIN}; NULL: none */
};

int member_load(const struct home *h, struct member *ret, struct err *err); /* -ENOENT: not joined */
int member_store(const struct home *h, const struct member *m, struct err *err);
void member_fini(struct member *m);

/* ---- node.key and node.crt, which belong together ---- */

struct keys {
	char *key, *cert, *ca; /* PEM */
};
int keys_load(const struct home *h, struct keys *ret, struct err *err);
/* Both are new, or both old, whenever this is cut off. */
int keys_store(const struct home *h, const char *key, const char *cert, struct err *err);
void keys_fini(struct keys *k);

#endif
