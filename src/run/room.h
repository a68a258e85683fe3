/*
 * room.h - what a job finds when it starts, besides its output files: node file, directory for temporary files, environment.
 */
#ifndef RUN_ROOM_H
#define RUN_ROOM_H

#include "run/identity.h"
#include "run/order.h"

/* -errno and the reason. The script, which the server wrote for itself, becomes the user's to read. */
int room_make(const struct order *o, const struct identity *who, struct err *err);
void room_clear(const struct order *o, const struct identity *who);
/* The job's own directory for temporary files, which room_make() and room_clear() also see to. */
int tmpdir_make(const struct order *o, const struct identity *who, struct err *err);
void tmpdir_remove(const struct order *o, const struct identity *who);
/* One that `who` owns, by its directory and name (AT_FDCWD: its path). */
void tmpdir_clear(int at, const char *name, const struct identity *who);
/* The order's, and what only this host knows; all in the arena. */
char **room_environment(const struct order *o, const char *instance, struct arena *a);

#endif
