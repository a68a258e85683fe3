/*
 * lock.h - one process per file: a daemon holds the lock on its file for as long as it lives.
 */
#ifndef BASE_LOCK_H
#define BASE_LOCK_H

#define LOCK_PID_SIZE 24

/*
 * Takes the exclusive lock of a file whose first line may be the process number of its holder. A
 * killed holder keeps the lock until the kernel has freed its memory, so this waits up to a minute
 * while the holder is seen to be exiting, otherwise two seconds. Returns 0; or -EBUSY, with the
 * holder's number in `pid` ("?" if the file has none); or another negative errno.
 */
int lock_take(int fd, char pid[LOCK_PID_SIZE]);

#endif
