/*
 * cgroup.h - control groups: one for this instance, and in it one for each job.
 *
 * Groups are used where they can do more than a shepherd alone: limit memory. `auto` takes version
 * 2 if we may use its memory controller, else version 1 under the same condition, else none. A
 * version chosen by name is used for whatever it can do. A hierarchy is ours if we are in its root,
 * or if its manager delegated our part to us (systemd's Delegate=yes). In version 2 the part of
 * shunt-jobs.service, next to our unit, is preferred: systemd can't restart a unit that has groups
 * with controllers below it.
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
	/* v1: this instance's group in each hierarchy, NULL: none; v2: dir[0] only */
	char *dir[CGROUP_DIRS];
	bool memory, cpuset; /* true if the resource can be limited */
};

/* Finds the hierarchy and creates the group of `instance`. `wish`: "auto", "v2", "v1" or "none".
 * Returns -ENOTSUP if the wish can't be fulfilled. */
int cgroup_init(struct cgroup *c, const char *wish, const char *instance, struct err *err);
void cgroup_fini(struct cgroup *c); /* removes the instance's group if it holds no job */

/* Operations on the group of one job. They do nothing if kind is CGROUP_NONE. */
int cgroup_create(const struct cgroup *c, const struct order *o, struct err *err);
/* v2: returns a descriptor for clone3(); else -1 */
int cgroup_open(const struct cgroup *c, const char *tag);
/* v1: moves the calling process into the group */
void cgroup_enter(const struct cgroup *c, const char *tag);
/* Sends SIGKILL to its processes, if there are any. */
void cgroup_kill(const struct cgroup *c, const char *tag);
/* Removes the group. Kills what is still in it: adopted logins (pam/), which are not our
 * children. */
void cgroup_remove(const struct cgroup *c, const char *tag);

/* Returns true if the job has a group in hierarchy `i` of version 1. CGROUP_CPU is only used for
 * jobs with a share and on workstations. */
static inline bool cgroup_has(const struct cgroup *c, int i, const struct order *o)
{
	return c->kind != CGROUP_NONE && c->dir[i] && (i != CGROUP_CPU || o->share.share > 0 || o->share.background);
}
/* Sets the quota and the weight of a job with a share (share.h), in thousandths of a CPU. Returns
 * -ENOTSUP if they can't be set here. */
int cgroup_share(const struct cgroup *c, const char *tag, int64_t quota, int64_t weight);

/* Returns the directory of the group that a process is in, of version 2 if `controller` is NULL;
 * NULL if there is none. The caller frees it. */
char *cgroup_of(pid_t pid, const char *controller);

struct cgroup_usage {
	int64_t cpu_ms, memory_kib; /* -1: not known */
	bool out_of_memory;	    /* the kernel killed a process in the group */
};
struct cgroup_usage cgroup_usage(const struct cgroup *c, const char *tag);

#endif
