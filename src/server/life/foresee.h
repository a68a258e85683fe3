/*
 * foresee.h - when waiting jobs will start.
 */
#ifndef SERVER_FORESEE_H
#define SERVER_FORESEE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "base/vec.h"

struct foresight;
struct server;
struct strbuf;

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

#define FORECAST_OLD 10		      /* seconds, from which its age is mentioned */
void foresee(struct server *s);	      /* brings s->outlook->expected up to date, or a step nearer to it */
void foresee_again(struct server *s); /* the rules have changed: what was foreseen counts no longer */
void foresee_started(struct server *s, uint32_t id, int64_t now);
void foresee_forget(struct server *s, uint32_t id);
bool foresee_start(const struct server *s, uint32_t id, int64_t *ret); /* false: it is not known, */
bool foresee_not(const struct server *s, uint32_t id,
		 struct strbuf *why); /* ... and why not; false: it does not wait */

#endif
