/*
 * foresee.h - when waiting jobs will start.
 */
#ifndef SERVER_FORESEE_H
#define SERVER_FORESEE_H

#include "base/map.h"
#include "base/vec.h"

/* A waiting job's fragment where it is foreseen. */
struct foreseen_piece {
	uint32_t job, node;
	int64_t cpus, start, end;
};

struct outlook {
	struct map expected;		   /* core id -> when it will start, as foreseen */
	int64_t expected_at;		   /* when, and */
	uint64_t expected_of;		   /* of which version of the plan that was foreseen */
	VEC(struct foreseen_piece) pieces; /* the same with nodes, of those that come first */
	struct foresight *foresight;	   /* the next one, while it is made */
};

#endif
