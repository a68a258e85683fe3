/*
 * room.h - what a job finds when it starts, apart from its output files: node file, directory for
 * temporary files, environment.
 */
#ifndef RUN_ROOM_H
#define RUN_ROOM_H

#include "run/identity.h"
#include "run/order.h"

/* Makes it. Returns -errno and the reason. */
int room_make(const struct order *o, const struct identity *who, struct err *err);
/* Removes it. `keep`: the directory of the node file is kept, empty, for this process's next
 * attempt; room_leave() removes it. */
void room_clear(const struct order *o, const struct identity *who, bool keep);
void room_leave(const struct identity *server);
/* Prefix of the names of kept directories, next to those of attempts. */
#define ROOM_KEPT ".kept."
/* Makes the job's own directory for temporary files, for room_make(). */
int tmpdir_make(const struct order *o, const struct identity *who, struct err *err);
/* Removes a temporary directory that `who` owns, given by directory and name (AT_FDCWD: by
 * path). */
void tmpdir_clear(int at, const char *name, const struct identity *who);
/* Returns the order's environment with the variables that only this host knows; all in the
 * arena. */
char **room_environment(const struct order *o, const char *instance, struct arena *a);

#endif
