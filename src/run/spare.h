/*
 * spare.h - how much jobs may take of the file system that Shunt itself needs: it has the server's
 * store, or what an agent needs to run jobs.
 *
 * A reserve, a tenth of the file system and at most SPARE_KEPT_FREE, stays free of output in the
 * spare directory: files that could not be written to their destination, or wait to be carried
 * there. Each user gets SPARE_PER_USER of it. Only the first SPARE_ALWAYS bytes of a file are kept
 * regardless. $TMPDIR may take half of the reserve as well (tmpwatch.h).
 */
#ifndef RUN_SPARE_H
#define RUN_SPARE_H

#include <stdint.h>
#include <sys/types.h>

#define SPARE_PER_USER (INT64_C(1) << 30)  /* bytes of undelivered output of one user */
#define SPARE_KEPT_FREE (INT64_C(1) << 30) /* maximum bytes that stay free */
#define SPARE_KEPT_FILES 100000		   /* maximum files that can still be made */
#define SPARE_ALWAYS (INT64_C(1) << 18)	   /* bytes of each file that are always kept */

/* What a file system has free, and its reserve. */
struct spare_room {
	int64_t size, bytes, keep_bytes; /* bytes */
	/* files; keep_files 0: their number is not limited */
	int64_t files, keep_files;
};
/* Returns 0 or -errno. */
int spare_look(int fd, struct spare_room *ret);
/* Returns the size in bytes to which a file of `has` bytes may grow before its file system is too
 * full. */
int64_t spare_most(int fd, int64_t has);
/* Returns the bytes on disk of a user's files in the directory, without the file `but`. */
int64_t spare_used(int dir, uid_t uid, ino_t but);

#endif
