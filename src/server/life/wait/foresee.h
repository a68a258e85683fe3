/*
 * foresee.h - when waiting jobs will start.
 */
#ifndef SERVER_FORESEE_H
#define SERVER_FORESEE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "base/scratch.h"
#include "base/vec.h"

struct foresight;
struct server;
struct strbuf;

/* A waiting job's fragment where it is foreseen. */
struct foreseen_piece {
	uint32_t job, node;
	int64_t cpus, start, end;
};

typedef VEC(struct foreseen_piece) foreseen_pieces;

/* Starts as they were foreseen at an instant. */
struct starts {
	struct map at;	  /* core id -> when it will start */
	int64_t made;	  /* 0: none */
	bool partial;	  /* the time for it was up: later starts are not in it */
	int64_t rough;	  /* starts from this instant on are rough (forecast_rest()); TIME_NEVER: none are */
	uint64_t version; /* of the plan */
	uint64_t commits; /* before it */
};

struct outlook {
	struct starts whole; /* of every job that can be foreseen, or those that come first while more is not known */
	struct starts first; /* of a long queue: of the jobs that come first, perhaps newer */
	foreseen_pieces pieces;	     /* the newest of both, with nodes, of those that come first */
	struct foresight *foresight; /* the next ones, while they are made */
	struct scratch scratch;	     /* for copies of the scheduler that answer at once: grounds.c */
};

#define FORECAST_OLD 10		       /* seconds, from which its age is mentioned */
#define FORECAST_OLDEST 60	       /* seconds, after which it is not shown */
void foresee_update(struct server *s); /* brings what is foreseen up to date, or a step nearer to it */
void foresee_again(struct server *s);  /* the rules have changed: what was foreseen counts no longer */
void foresee_started(struct server *s, uint32_t id, int64_t now);
void foresee_forget(struct server *s, uint32_t id);
int64_t foresee_made(const struct server *s,
		     uint32_t id); /* the instant of the forecast that foresee_start() is from */
bool foresee_rough(const struct server *s,
		   uint32_t id);	      /* that start takes the jobs ahead of it only as a sum of CPUs */
int64_t foresee_last(const struct server *s); /* of the newest one; 0: none yet */
bool foresee_start(const struct server *s, uint32_t id, int64_t *ret); /* false: it is not known, */
bool foresee_not(const struct server *s, uint32_t id,
		 struct strbuf *why); /* ... and why not; false: it does not wait */

#endif
