/* foresee.h - forecasts the starts of waiting jobs. */
#ifndef SERVER_FORESEE_H
#define SERVER_FORESEE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "base/scratch.h"
#include "base/vec.h"

struct array;
struct foresight;
struct server;
struct strbuf;

/* Forecast place of a fragment of a waiting job. */
struct foreseen_piece {
	uint32_t job, node;
	int64_t cpus, start, end;
};

typedef VEC(struct foreseen_piece) foreseen_pieces;

/* A forecast of starts. */
struct starts {
	struct map at; /* core id -> forecast start */
	int64_t made;  /* instant of the forecast; 0: none */
	bool partial;  /* time ran out: later starts are missing */
	/* starts from this instant on are rough (forecast_rest()); TIME_NEVER: none */
	int64_t rough;
	uint64_t version;   /* version of the plan */
	uint64_t commits;   /* number of commits before it */
	uint64_t submitted; /* number of jobs submitted before it */
};

struct outlook {
	/* every job that can be forecast, or the first ones while more is not known */
	struct starts whole;
	struct starts first;	     /* first jobs of a long queue, perhaps newer than `whole` */
	foreseen_pieces pieces;	     /* the newer of both, with nodes, for the first jobs */
	struct foresight *foresight; /* the next forecast while it is made */
	/* for copies of the scheduler that answer at once (grounds.c) */
	struct scratch scratch;
};

#define FORECAST_OLD 10		       /* seconds after which its age is mentioned */
#define FORECAST_OLDEST 60	       /* seconds after which it is not shown */
void foresee_update(struct server *s); /* brings the forecast up to date, or one step closer */
void foresee_again(struct server *s);  /* discards the forecast because the rules have changed */
void foresee_started(struct server *s, uint32_t id, int64_t now);
void foresee_forget(struct server *s, uint32_t id);
/* Returns the instant of the forecast used by foresee_start(). */
int64_t foresee_made(const struct server *s, uint32_t id);
/* Returns true if that start counts the jobs ahead only as a sum of CPUs. */
bool foresee_rough(const struct server *s, uint32_t id);
/* Returns the instant of the newest forecast; 0: none yet. */
int64_t foresee_last(const struct server *s);
/* Returns the forecast start of a job; false: it is not known. */
bool foresee_start(const struct server *s, uint32_t id, int64_t *ret);
/* Returns the latest end of a job that runs, or starts as forecast; false: it is not known. */
bool foresee_end(const struct server *s, uint32_t id, int64_t *ret);
/* Returns the latest end of all elements of an array; false: that of one is not known, or all have
 * ended. */
bool foresee_array_end(const struct server *s, const struct array *a, int64_t *ret);
/* Appends why the start is not known. Returns false if the job does not wait. */
bool foresee_not(const struct server *s, uint32_t id, struct strbuf *why);

#endif
