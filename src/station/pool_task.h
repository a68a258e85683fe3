/*
 * pool_task.h - one task on its host: its processes below a keeper, a small fork of the daemon that ends them all when the daemon dies, when it says so, or when the lease of the
 * task's origin ends, also while the daemon itself is frozen.
 *
 * A task that has a limit of memory, or an owner to be kept from, has a control group where there are some (run/cgroup.h), called as pool_task_tag() says. The keeper holds it to its memory also where there are
 * none, by looking.
 */
#ifndef STATION_POOL_TASK_H
#define STATION_POOL_TASK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "run/cgroup.h"
#include "station/peer.h"

/* The instant (boot_us() of run/lease.h) at which the tasks of an origin end unless it is heard; in memory that daemon and keepers share. */
struct pool_lease {
	_Atomic int64_t until;
};
struct pool_lease *pool_lease_create(void);
void pool_lease_free(struct pool_lease *l);

struct pool_task {
	pid_t keeper;
	int control; /* a byte is a signal for all processes of the task; closed: they are killed */
	int result;  /* pool_result, then the end; the end alone: killed, without a result */
	int in, out, err;
};

struct pool_result {
	int status; /* as wait() has it */
	int64_t cpu_ms;
};

/* As whom tasks run when the daemon is root. */
struct pool_user {
	uid_t uid; /* 0: nobody is changed to */
	gid_t gid;
	const char *name;
	bool background; /* behind everything else on the machine */
	const struct cgroup *cgroup;
};

#define POOL_TAG_SIZE 16
const char *pool_task_tag(pid_t keeper, char buf[POOL_TAG_SIZE]);

/* All descriptors are non-blocking, close-on-exec and the caller's. */
int pool_task_start(const struct peer_start *s, const struct pool_user *user, const struct pool_lease *lease,
		    struct pool_task *ret, struct err *err);

#endif
