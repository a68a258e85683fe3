/* backup.h - `shunt backup` and `shunt restore`. */
#ifndef SERVER_BACKUP_H
#define SERVER_BACKUP_H

#include <stdbool.h>
#include <stdint.h>

struct err;

#define BACKUP_MARK "/backed-up" /* in the state directory: its time is that of the last backup */

/* Writes the contents of a store, which a server may be using, to a new file in `dir`, which
 * exists, and removes all but the newest `keep` files of this kind there; 0: none. `mark`: a file
 * whose time is that of the last backup. */
int backup_make(const char *url, const char *dir, int64_t keep, const char *mark, bool json, struct err *err);
/* Replaces the contents of a store that no server uses with those of a backup. A SQLite file that
 * was there is kept beside it, under another name. */
int backup_restore(const char *file, const char *url, bool json, struct err *err);

#endif
