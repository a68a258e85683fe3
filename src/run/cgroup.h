/*
 * cgroup.h - control groups: one for this instance, and in it one for each job.
 *
 * A group is used where it can do more than a shepherd without one: limit memory. `auto` takes version 2 if its memory
 * controller is ours, else version 1 if its is, else none; asked for by name, a version is used for what it can do. A
 * hierarchy is ours if we are in its root, or if whoever manages it handed our part over (systemd's Delegate=yes): in version 2 that of
 * shunt-jobs.service beside our unit if it is there, since systemd can't start a unit again that has groups with controllers below it.
 */
#ifndef RUN_CGROUP_H
#define RUN_CGROUP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "run/order.h"

enum cgroup_kind { CGROUP_NONE, CGROUP_V1, CGROUP_V2 };
enum { CGROUP_FREEZER, CGROUP_MEMORY, CGROUP_CPUSET, CGROUP_CPUACCT, CGROUP_CPU, CGROUP_DIRS };

struct cgroup {
	enum cgroup_kind kind;
	char *dir[CGROUP_DIRS]; /* v1: this instance's group in each hierarchy, NULL: not there; v2: dir[0] */
	bool memory, cpuset;	/* can be limited */
};

/* `wish`: "auto", "v2", "v1", "none"; `instance`: what the group is called by. -ENOTSUP if it can't be. */
int cgroup_init(struct cgroup *c, const char *wish, const char *instance, struct err *err);
void cgroup_fini(struct cgroup *c); /* removes the instance's group if no job is in it */

/* The group of one job. All do nothing if kind is CGROUP_NONE. */
int cgroup_create(const struct cgroup *c, const struct order *o, struct err *err);
int cgroup_open(const struct cgroup *c, const char *tag);   /* v2: descriptor for clone3(); else -1 */
void cgroup_enter(const struct cgroup *c, const char *tag); /* v1: the calling process moves into it */
bool cgroup_kill(const struct cgroup *c, const char *tag);  /* SIGKILL to all in it; false if there is none */
/* What is in it still is killed: logins that were adopted (pam/), which are nobody's children here. */
void cgroup_remove(const struct cgroup *c, const char *tag);

/* Whether a job is in that group of version 1: CGROUP_CPU is for those with shares, and on workstations. */
static inline bool cgroup_has(const struct cgroup *c, int i, const struct order *o)
{
	return c->kind != CGROUP_NONE && c->dir[i] && (i != CGROUP_CPU || o->share.share > 0 || o->share.background);
}
/* A job with a share (share.h): its quota and weight in thousandths of a CPU. -ENOTSUP: they can't be set here. */
int cgroup_share(const struct cgroup *c, const char *tag, int64_t quota, int64_t weight);

/* The directory of the group that a process is in: of version 2 if `controller` is NULL. NULL: none; to be freed. */
char *cgroup_of(pid_t pid, const char *controller);

struct cgroup_usage {
	int64_t cpu_ms, memory_kib; /* -1: not known here */
	bool out_of_memory;	    /* the kernel ended something in it */
};
struct cgroup_usage cgroup_usage(const struct cgroup *c, const char *tag);

#endif
