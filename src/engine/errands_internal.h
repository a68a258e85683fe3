/*
 * errands_internal.h - an errand and its parcels, shared by errands.c (its life), parcel.c (one
 * file of it) and spool.c (on disk).
 */
#ifndef ENGINE_ERRANDS_INTERNAL_H
#define ENGINE_ERRANDS_INTERNAL_H

#include "base/map.h"
#include "base/vec.h"
#include "engine/errands.h"

#define TICK_MS 1000	 /* ms between two checks for new output */
#define FETCH_MS 15000	 /* ms to keep trying an unreachable host before the start */
#define PAUSE_MOST 30000 /* ms between two tries */

enum errand_state {
	/* finding out which output needs no transfer, and where relative paths begin */
	ERRAND_LOOKS,
	ERRAND_FETCHES, /* fetching its input files */
	ERRAND_RUNS,	/* the nursery has it */
	ERRAND_BRINGS,	/* it has ended; delivering files */
	ERRAND_DONE	/* all is done, and the end was reported */
};

/* A file of an errand. Strings are in the errand's arena, except `why`. */
struct parcel {
	struct errand *e;
	const struct order_file *f;
	const char *here;   /* absolute; NULL: not known before the working directory is */
	int64_t took, size; /* see struct carry_order */
	bool over;	    /* nothing is left to do */
	bool stays;	    /* it could not be delivered and stays here: see `why` */
	bool last;	    /* the transfer in progress began after the job's end: it includes everything */
	char *why;	    /* last failure */
	struct carry *carry;
	uint64_t next; /* uv_now() of the next try */
	int failures;
};

/* A query about what the user sees at a path. */
struct question {
	struct errand *e;
	const char *path;
	int parcel; /* -1: the working directory */
	struct opening *opening;
};

struct errand {
	struct errands *all;
	enum errand_state state;
	struct arena *a;
	struct order o;
	struct parcel *parcel;
	int n;
	struct question *question; /* queries to file systems */
	int nquestions, waiting;   /* number of queries; number without an answer */
	struct strbuf result;	   /* JSON, unless `lost` */
	bool lost;		   /* the local engine reported a loss */
	bool stop;		   /* it was asked to stop: nothing more is transferred */
	uint64_t deadline;	   /* uv_now() */
	uint64_t doubt;		   /* uv_now() until which nothing is transferred; 0: none */
	struct strbuf notes;	   /* failures, for the result's reason */
};

#define DAY_MS UINT64_C(86400000)

struct errands {
	uv_loop_t *loop;
	struct local *local;
	struct local_listener l;
	struct opener *opener;
	struct files *files;
	char *spool, *live;
	VEC(struct errand *) v;
	uv_timer_t timer;
	uint64_t swept; /* uv_now() */
	/* uv_now() at which files of the spool were first seen to be old, by the hash of their path */
	struct map aging;
	uint64_t looked; /* uv_now(): when `word` was read */
	int64_t word;	 /* lease_word() */
	/* stopped, but not freed: the local engine and file systems may still answer */
	bool stopped;
};

/* ---- errands.c ---- */
struct opener_user errand_user(const struct errand *e);
/* Returns true if it may transfer files; else the ones in progress are aborted. */
bool errand_may(struct errand *e);
/* Does the next step after a parcel is over; may free the errand. */
void errand_step(struct errand *e);

/* ---- parcel.c ---- */
void parcel_begin(struct parcel *p); /* starts a transfer now */
void parcel_drop(struct parcel *p);  /* cancels the transfer in progress */
bool parcel_is_output(const struct parcel *p);
void parcel_turn(struct parcel *p);    /* starts a transfer if there is something to do */
void parcel_bring(struct parcel *p);   /* called when the job has ended */
void parcel_give_up(struct parcel *p); /* leaves it where it is */
/* Adds a sentence about one that stays. */
void parcel_say(const struct parcel *p, struct strbuf *out);

/* ---- spool.c ---- */
void spool_path(const struct errands *all, const char *tag, const char *suffix, char *ret, size_t size);
void spool_write(const struct errand *e); /* writes TAG.json */
/* Reads TAG.json; returns NULL if there is none, or it can't be read. */
struct errand *spool_read(struct errands *all, const char *tag);
void spool_remove(const struct errands *all, const char *tag, const char *suffix);
/* Removes notes about attempts that never ran, and output not fetched for a month. */
void spool_sweep(struct errands *all);

/* ---- network.c ---- */
/* Returns true if other hosts see the file system as well, by its statfs type; `dir` is on it. */
bool network_is(uint64_t type, const char *dir);

#endif
