/*
 * rights.h - the only way in which root touches files for a user.
 *
 * A nursery, its shepherds and an agent are root in system mode, and users choose paths. Two rules
 * keep one user's files from another:
 *  - A path that a user chose, or that is where a user can write, is resolved with that user's
 *    rights.
 *  - Only files that the server's account made and that have no other link are given to a user.
 *    tools/check-rights rejects calls that bypass these functions. No function here waits for the
 *    other end of a FIFO or acquires a controlling terminal.
 */
#ifndef RUN_RIGHTS_H
#define RUN_RIGHTS_H

#include <sys/stat.h>

#include "run/identity.h"

/* Run everything between these two calls with the file rights of `who`: user, group, none of root's
 * capabilities. They don't nest. Call identity_groups() once before. They abort if root's rights
 * can't be dropped. */
void rights_begin(const struct identity *who);
void rights_end(const struct identity *who);

/* Open or stat a file with the rights of `who`. They return 0 or a descriptor, or -errno. */
int rights_open(const struct identity *who, const char *path, int flags, mode_t mode);
int rights_stat(const struct identity *who, const char *path, struct stat *ret);
/* Opens the file behind a descriptor again with other flags, even if it has no name any more.
 * Returns -EACCES if `who` may not. */
int rights_reopen(const struct identity *who, int fd, int flags);

/* Gives a file that the server's account made to the user, with this mode; a file that is already
 * the user's is left as it is. Returns -EPERM for a regular file with a second link, a device other
 * than a pseudo terminal, and anything that belongs to someone else. */
int rights_give(const struct identity *who, int fd, mode_t mode);

#endif
