/*
 * live.h - live files as nursery and shepherd write them; nursery.h says what they promise, and how the server reads them.
 *
 *	pid 4711            the shepherd, its first act
 *	user 1000 TIME ID   whose job it is, when this was written (microseconds since 1970), and the job; for pam/
 *	lease 610 TIME      of one with a lease: seconds without a word from the server after which nothing of it runs, and boot_us() at its start
 *	group DIR           a control group of it (version 1: one for each hierarchy); it is there soon after
 *	session 4712 BOOT   the job's first process, and the kernel's boot id: after another boot the number means nothing
 *	ready               of a room: it is open
 *	gone                of one with a lease: no process of the job is left
 *	saves {"state"...    its checkpoints (checkpoint.h), a line that is written over
 *	{"tag": ...}        the result, its last
 *
 * A line counts when its newline is there. The lock (flock) lasts as long as the shepherd.
 *
 * Files that the server has done with are kept as .free.0 and so on, and taken for new ones: some file systems are slow to give out
 * inodes where many were given back a moment ago.
 */
#ifndef RUN_LIVE_H
#define RUN_LIVE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "run/identity.h"

/* Creates and locks LIVE/TAG: a descriptor, or -EEXIST if that attempt has been made, -errno. It is the `owner`'s: a nursery that is
 * root serves a server that need not be. */
int live_create(int dir, const char *tag, const struct identity *owner, struct err *err);
/* The shepherd of LIVE/TAG as a pidfd, whichever nursery forked it; -ESRCH if it has ended, -ENOENT if there was none. */
int live_shepherd(int dir, const char *tag);
/* Session of the job; 0 if it has none, or had it before the machine was started. */
pid_t live_session(int dir, const char *tag);
/* Returns boot_us() at which nothing of a running attempt may be left unless there is another word from the server, whose last one was at `word` (lease_word());
 * INT64_MAX: never, as it has no lease, or nothing of it is left already. */
int64_t live_lease_end(int dir, const char *tag, int64_t word);
/* Adds a line with one write at `*at`, which moves on; what was written in part is taken back. 0 or -errno. */
int live_add(int fd, off_t *at, const char *line, size_t n);
/* "pid" or "session", as above. */
int live_say(int fd, off_t *at, const char *what, pid_t pid);
/* "user" and its groups. */
struct cgroup;
struct order;
int live_owner(int fd, off_t *at, const struct order *o, uid_t uid, const struct cgroup *c);
/* The kernel's boot id, read once. */
const char *live_boot(void);
/* The server removed the file: it has all it wants. */
bool live_removed(int fd);

#endif
