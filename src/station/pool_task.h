/*
 * pool_task.h - one task on its host: its processes run under a keeper, a small fork of the daemon
 * that ends them all when the daemon dies, when the daemon orders it, or when the lease of the
 * task's origin ends, even while the daemon itself is frozen.
 *
 * A task with a memory limit, or on a machine with an owner to protect, gets a control group
 * (run/cgroup.h) where these are available, named by pool_task_tag(). Without control groups the
 * keeper enforces the memory limit by polling.
 */
#ifndef STATION_POOL_TASK_H
#define STATION_POOL_TASK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "run/cgroup.h"
#include "station/peer.h"

/* The instant (boot_us() of run/lease.h) at which an origin's tasks end unless it is heard from
 * again. Lives in memory that the daemon and the keepers share. */
struct pool_lease {
	_Atomic int64_t until;
};
struct pool_lease *pool_lease_create(void);
void pool_lease_free(struct pool_lease *l);

struct pool_task {
	pid_t keeper;
	/* a byte written is a signal for all processes of the task; closing it kills them */
	int control;
	int result; /* yields a pool_result, then EOF; EOF alone: killed without a result */
	int in, out, err;
};

struct pool_result {
	int status; /* status of wait() */
	int64_t cpu_ms;
};

/* Account that runs the tasks when the daemon is root. */
struct pool_user {
	uid_t uid; /* 0: keep the daemon's account */
	gid_t gid;
	const char *name;
	bool background; /* lower priority than everything else on the machine */
	const struct cgroup *cgroup;
};

#define POOL_TAG_SIZE 16
const char *pool_task_tag(pid_t keeper, char buf[POOL_TAG_SIZE]);

/* Kills all processes of a task and its keeper, which may be stopped. */
void pool_task_end(const struct pool_task *t, const struct pool_user *user);
/* Starts a task. All descriptors are non-blocking and close-on-exec, and belong to the caller. */
int pool_task_start(const struct peer_start *s, const struct pool_user *user, const struct pool_lease *lease,
		    struct pool_task *ret, struct err *err);

#endif
