/*
 * spare.h - limits the output in the spare directory: files that could not be written to their
 * destination, or wait to be carried there.
 *
 * The directory shares its file system with the server's store, or with what an agent needs to run
 * jobs. So it is limited: each user gets SPARE_PER_USER, and a tenth of the file system (at most
 * SPARE_KEPT_FREE) stays free. Only the first SPARE_ALWAYS bytes of a file are kept regardless.
 */
#ifndef RUN_SPARE_H
#define RUN_SPARE_H

#include <stdint.h>
#include <sys/types.h>

#define SPARE_PER_USER (INT64_C(1) << 30)  /* bytes of undelivered output of one user */
#define SPARE_KEPT_FREE (INT64_C(1) << 30) /* maximum bytes that stay free */
#define SPARE_ALWAYS (INT64_C(1) << 18)	   /* bytes of each file that are always kept */

/* Returns the size in bytes to which a file of `has` bytes may grow before its file system is too
 * full. */
int64_t spare_most(int fd, int64_t has);
/* Returns the bytes on disk of a user's files in the directory, without the file `but`. */
int64_t spare_used(int dir, uid_t uid, ino_t but);

#endif
