/*
 * lock.h - one process per file: the lock on a daemon's file lives as long as the daemon does.
 */
#ifndef BASE_LOCK_H
#define BASE_LOCK_H

#define LOCK_PID_SIZE 24

/*
 * Takes the exclusive lock of a file whose first line may be the process number of its holder. A killed holder keeps the lock until the kernel has
 * freed its memory: it is waited for, up to a minute while it is seen to be ending, else for two seconds. Returns 0; or -EBUSY, and in `pid` the
 * holder's number, "?" if the file has none; or another negative errno.
 */
int lock_take(int fd, char pid[LOCK_PID_SIZE]);

#endif
