/*
 * rights.h - the only way in which root touches files for a user.
 *
 * A nursery, its shepherds and an agent are root in system mode, and users choose paths. Two rules keep one user's files from another:
 *  - A path that a user chose, or that lies where a user can write, is resolved with that user's rights.
 *  - Only what the server's account has made, and what nobody else has a link to, is ever given to a user.
 * tools/check-rights rejects calls that bypass these functions. Nothing here waits for a FIFO's other end or takes a terminal.
 */
#ifndef RUN_RIGHTS_H
#define RUN_RIGHTS_H

#include <sys/stat.h>

#include "run/identity.h"

/* Everything between these two happens with the file rights of `who`: user, group, none of root's capabilities. They don't nest.
 * identity_groups() comes first, once. Aborts if root's rights can't be left. */
void rights_begin(const struct identity *who);
void rights_end(const struct identity *who);

/* With the rights of `who`. 0 or a descriptor, or -errno. */
int rights_open(const struct identity *who, const char *path, int flags, mode_t mode);
int rights_stat(const struct identity *who, const char *path, struct stat *ret);
/* The file behind a descriptor, opened in another way, even if it has no name any more: -EACCES if `who` may not. */
int rights_reopen(const struct identity *who, int fd, int flags);

/* What the server's account has made becomes the user's, with this mode; what is the user's already is left as it is. A regular file
 * with a second link, a device other than a pseudo terminal, and everything that belongs to somebody else is not given: -EPERM. */
int rights_give(const struct identity *who, int fd, mode_t mode);

#endif
