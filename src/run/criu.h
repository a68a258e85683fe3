/*
 * criu.h - jobs that CRIU saves and restores, without help by their programs (method criu of a class).
 *
 * What a checkpoint has is memory, credentials and open files of processes, and root makes processes from it again. So images lie where only root can write: in one directory of the host,
 * $SHUNT_IMAGES of the daemon, else /var/lib/shunt/criu. A server names a job's place in it, no more: "@IMAGES@/12-x5f3a9c01".
 *
 * Such a job has a PID namespace of its own from the beginning, whose first process (shunt-init) is saved with it: CRIU makes a new namespace for those that it restores, so numbers
 * never clash. That process is root's, as CRIU has it mount the namespace's /proc for a moment, which no user may. A dump leaves the processes stopped: the shepherd lets them go on, or kills them, when it is known what became of the dump.
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

bool images_named(const char *path); /* it is IMAGES and a name */
/* The path on this host. -EPERM: somebody else than root could write there. */
int images_path(const char *named, char *ret, size_t size, struct err *err);
/* Checks that this host can save jobs of that user: root, a program `criu`, a kernel that it knows. -errno and a sentence.
 * CRIU opens everything that a job had open again by its path, as root and following links: a user who puts links in the place of his files gets root's. So
 * jobs of others than root are refused, unless $SHUNT_CRIU_TRUSTS_USERS of the daemon is "yes". */
int criu_check(const struct identity *who, struct err *err);
/* What stands before the program of a job: the path of shunt-init, which is beside the program that runs, and whose user the program is to be. NULL: it is missing. Overwritten
 * by the next call. */
char **criu_init(const struct identity *who, const char *tag);

/* Saves the processes from `first` down into the directory, and notes the length of files that they write. They are stopped then, as far as they are there. `output`: the
 * attempt's output and error output. 0 or -errno, and why (CRIU_WHY bytes). */
int criu_dump(pid_t first, const char *dir, const struct stat output[2], char *why);
/* In a child of the shepherd: does not return. The restored first process becomes the shepherd's child; its number is in DIR/pid. `output`: descriptors for the job's output.
 * Files that the job wrote after it was saved are first cut to what they were, with the user's rights. */
noreturn void criu_restore(const char *dir, const struct identity *who, const int output[2]);
/* Of DIR/pid; -errno and, in `why`, what CRIU said last. */
pid_t criu_restored(const char *dir, char *why);

#endif
