/*
 * home.h - an agent's directories and files, and what it knows of its cluster (agent.json).
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
	char state[PATH_MAX], run[PATH_MAX]; /* see docs/cluster.md, "Files" */
	char program[PATH_MAX];		     /* this executable */
	char nursery[PATH_MAX];		     /* the nursery's executable, next to this one */
	char bin[PATH_MAX];		     /* directory of the commands: @BIN@ */
	bool given;			     /* set by SHUNT_AGENT_HOME: nothing of the system is touched */
};

/* Determines the paths only. Returns -EPERM if not root and without SHUNT_AGENT_HOME. */
int home_find(struct home *h, struct err *err);
int home_make(const struct home *h, struct err *err); /* makes the directories */
/* Takes the lock that only one agent per home can hold. Returns a descriptor, or -EBUSY with the
 * pid in the sentence. */
int home_lock(const struct home *h, struct err *err);

/* Reads a whole file below STATE, at most 1 MiB. Returns -ENOENT if there is none. */
int home_read(const struct home *h, const char *name, struct strbuf *ret, struct err *err);
/* Replaces a file atomically; it is on disk when this returns. */
int home_write(const struct home *h, const char *name, int mode, const char *text, size_t n, struct err *err);

/* ---- agent.json ---- */

struct member {
	char name[256], cluster[256]; /* names of this node and of its cluster */
	name_list servers;	      /* "host:port"; the last one that answered is first */
	char joined_by[512];	      /* the server's address when this node joined, tried last */
	uint64_t epoch;		      /* highest epoch seen */
	int port;		      /* our own port; 0: any free one */
	int cpus;		      /* CPUs that it may use here; 0: all */
	int64_t memory;		      /* KiB that it may use; 0: not known */
	/* it runs here for a limited time: it exits when no server answers any more, and with its
	 * node */
	bool guest;
	char *workstation; /* policy of a workstation (station/owner.h); NULL: not a workstation */
	int last_port;	   /* last port in use, which running jobs know */
	/* Last settings from the server, for a start without it. */
	char cgroup[64];
	bool root_jobs;
	int64_t certificate_life;
	json_t *revoked; /* removed nodes, {NAME: JOIN}; NULL: none */
};

/* Reads agent.json; returns -ENOENT if this machine has not joined. */
int member_load(const struct home *h, struct member *ret, struct err *err);
int member_store(const struct home *h, const struct member *m, struct err *err);
void member_fini(struct member *m);
/* Replaces the servers by those of a list, unless it is empty or damaged. */
void member_servers(struct member *m, const json_t *list);

/* ---- node.key and node.crt, which belong together ---- */

struct keys {
	char *key, *cert, *ca; /* PEM */
};
int keys_load(const struct home *h, struct keys *ret, struct err *err);
/* Stores both files so that they are both new or both old after a crash, and after an error. */
int keys_store(const struct home *h, const char *key, const char *cert, struct err *err);
void keys_fini(struct keys *k);

#endif
