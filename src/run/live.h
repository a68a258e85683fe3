/*
 * live.h - live files, as the nursery and shepherds write them; nursery.h has their guarantees and
 * how the server reads them.
 *
 *	pid 4711            the shepherd; the first line
 *	user 1000 TIME ID   the job's user, time of writing (us since 1970), job id; for pam/
 *	disk 20971520       if it requested some: KiB for its $TMPDIR
 *	lease 610 TIME      if it has a lease: its length in seconds, and boot_us() at the start
 *	group DIR           a control group of it (version 1: one for each hierarchy), created next
 *	session 4712 BOOT   the job's first process, and the kernel's boot id
 *	ready               a room is open
 *	gone                if it has a lease: no process of the job is left
 *	saves {"state"...    its checkpoints (checkpoint.h); this line is overwritten
 *	{"tag": ...}        the result; the last line
 *
 * A line counts once its newline is written. The shepherd holds the lock (flock) until it has
 * written the result.
 *
 * Files that the server no longer needs are kept as .free.0 and so on, and reused: some file
 * systems are slow to allocate inodes where many were freed a moment ago.
 */
#ifndef RUN_LIVE_H
#define RUN_LIVE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "run/identity.h"

/* Creates and locks LIVE/TAG. Returns a descriptor, -EEXIST if that attempt was already made, or
 * -errno. The file belongs to `owner`: a nursery that is root may serve a server that is not. */
int live_create(int dir, const char *tag, const struct identity *owner, struct err *err);
/* Returns a pidfd of the shepherd of LIVE/TAG, whichever nursery forked it; -ESRCH if it has ended,
 * -ENOENT if there was none. */
int live_shepherd(int dir, const char *tag);
/* Returns the shepherd's pid, whether it still lives or not; 0: it has not begun. */
pid_t live_pid(int dir, const char *tag);
/* Writes the job's id; false if the attempt has not begun. */
bool live_job(int dir, const char *tag, char *ret, size_t size);
/* Returns the KiB that it requested for its $TMPDIR. */
int64_t live_disk(int dir, const char *tag);
/* Returns the job's session; 0 if it has none or the machine has rebooted since. */
pid_t live_session(int dir, const char *tag);
/* Returns the boot_us() at which nothing of a running attempt may be left, unless the server is
 * heard from again after `word` (lease_word()); INT64_MAX: never, because the attempt has no lease
 * or nothing of it is left. */
int64_t live_lease_end(int dir, const char *tag, int64_t word);
/* Appends a line with one write at `*at` and advances it; a partial write is undone. Returns 0 or
 * -errno. */
int live_add(int fd, off_t *at, const char *line, size_t n);
/* Appends the "session" line, see above. */
int live_session_say(int fd, off_t *at, pid_t pid);
/* Appends the first lines: this process, which is the shepherd, and the user, the lease and the
 * groups of the attempt. */
struct cgroup;
struct order;
int live_begin(int fd, off_t *at, const struct order *o, uid_t uid, const struct cgroup *c);
/* Returns the kernel's boot id, read once. */
const char *live_boot(void);
/* Returns true if the server has removed the file: it has the result. */
bool live_removed(int fd);

#endif
