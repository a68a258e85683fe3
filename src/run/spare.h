/*
 * spare.h - how much output the spare directory may hold: what could not be written where it belongs, or waits to be carried there.
 *
 * It shares its file system with the server's store, or with what an agent needs to run jobs. So it is bounded: SPARE_PER_USER for each user, and
 * a tenth of the file system (at most SPARE_KEPT_FREE) is left free; only the first SPARE_ALWAYS of a file are kept without that.
 */
#ifndef RUN_SPARE_H
#define RUN_SPARE_H

#include <stdint.h>
#include <sys/types.h>

#define SPARE_PER_USER (INT64_C(1) << 30)  /* bytes of output that could not be delivered */
#define SPARE_KEPT_FREE (INT64_C(1) << 30) /* bytes */
#define SPARE_ALWAYS (INT64_C(1) << 18)	   /* bytes */

/* Returns how many bytes a file that has `has` bytes may have before its file system is too full. */
int64_t spare_most(int fd, int64_t has);
/* Returns how many bytes a user's files in the directory take on disk, but for one of them. */
int64_t spare_used(int dir, uid_t uid, ino_t but);

#endif
