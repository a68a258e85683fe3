/*
 * room.h - what could start right now beside everything that runs and is reserved: so many CPUs for so long.
 */
#ifndef SCHED_ROOM_H
#define SCHED_ROOM_H

#include "sched/sched.h"

struct room {
	int64_t cpus, nodes; /* CPUs, and the nodes that they are on */
	int64_t length;	     /* the longest walltime for which they are free; TIME_NEVER: any */
};
typedef VEC(struct room) room_vec;

/* Appends the rooms for jobs of single CPUs on the nodes with may[node], wider and shorter ones first: such a job starts at once, one of a CPU more or a second more
 * does not. None where the policy lets nobody pass a job that waits. `job` is only asked which reservations it passes, and
 * how much longer than its walltime its place lasts. */
void sched_room(struct sched *s, const struct job *job, const bool *may, room_vec *ret);

#endif
