/*
 * room.h - computes what could start right now next to all running and reserved jobs: a number of
 * CPUs and the time for which they are free.
 */
#ifndef SCHED_ROOM_H
#define SCHED_ROOM_H

#include "sched/sched.h"

struct room {
	int64_t cpus, nodes; /* CPUs, and the nodes that have them */
	int64_t length;	     /* longest walltime for which they are free; TIME_NEVER: any */
};
typedef VEC(struct room) room_vec;

/* Appends the combinations of CPUs and time free for jobs of single CPUs on the nodes with
 * may[node], wide and short ones first. A job that fits one of them starts at once; with one more
 * CPU or one more second it does not. There are none where the policy lets no job pass
 * a waiting one. `job` only determines which reservations are passed and by how much a place is
 * longer than the walltime. */
void sched_room(struct sched *s, const struct job *job, const bool *may, room_vec *ret);

#endif
