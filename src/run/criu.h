/*
 * criu.h - jobs that CRIU saves and restores without help from their programs (method criu of a
 * class).
 *
 * A checkpoint contains the memory, credentials and open files of processes, and root recreates the
 * processes from it. So images are kept where only root can write: in one directory of the host,
 * $SHUNT_IMAGES of the daemon, else /var/lib/shunt/criu. A server only names a job's place in it:
 * "@IMAGES@/12-x5f3a9c01".
 *
 * Such a job has its own PID namespace from the beginning, whose first process (shunt-init) is
 * saved with it: CRIU creates a new namespace when it restores, so process ids never clash.
 * shunt-init runs as root, because CRIU briefly mounts the namespace's /proc through it, which
 * users may not do. A dump leaves the processes stopped: the shepherd continues or kills them once
 * the result of the dump is known.
 */
#ifndef RUN_CRIU_H
#define RUN_CRIU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdnoreturn.h>
#include <sys/stat.h>

#include "base/err.h"
#include "run/identity.h"

#define IMAGES "@IMAGES@/"
#define CRIU_WHY 200

bool images_named(const char *path); /* returns true if the path is IMAGES and a name */
/* Writes the path on this host. Returns -EPERM if anyone but root could write there. */
int images_path(const char *named, char *ret, size_t size, struct err *err);
/* Checks that this host can save jobs of the user: it needs root, a program `criu`, and a kernel
 * that CRIU supports. Returns -errno and a sentence otherwise. CRIU reopens a job's files by path,
 * as root and following links, so a user who replaces files with links gets access to root's files.
 * So only root's jobs are accepted, unless $SHUNT_CRIU_TRUSTS_USERS of the daemon is "yes". */
int criu_check(const struct identity *who, struct err *err);
#define CRIU_LACKS_INIT "the program shunt-init, which belongs to Shunt, is missing on this host"
/* Returns the words to put before a job's program: the path of shunt-init, which is next to the
 * running program, and the user that the program is to run as; NULL if it is missing. The next call
 * overwrites them. */
char **criu_init(const struct identity *who, const char *tag);

/* Saves the processes from `first` down into the directory, and records the length of the files
 * that they write. The processes that still exist are stopped afterwards. `output`: the attempt's
 * output and error output. Returns 0, or -errno with the reason in `why` (CRIU_WHY bytes). */
int criu_dump(pid_t first, const char *dir, const struct stat output[2], char *why);
/* Restores a checkpoint. Runs in a child of the shepherd and does not return. The restored first
 * process becomes the shepherd's child; its pid is in DIR/pid. `output`: descriptors for the job's
 * output. Files that the job wrote after the checkpoint are first cut to their saved length, with
 * the user's rights. */
noreturn void criu_restore(const char *dir, const struct identity *who, const int output[2]);
/* Returns the pid in DIR/pid; or -errno, with CRIU's last error in `why`. */
pid_t criu_restored(const char *dir, char *why);

#endif
