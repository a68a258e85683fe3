/*
 * errands_internal.h - an errand and its parcels, shared by errands.c (its life), parcel.c (one file of it) and spool.c (on disk).
 */
#ifndef ENGINE_ERRANDS_INTERNAL_H
#define ENGINE_ERRANDS_INTERNAL_H

#include "base/vec.h"
#include "engine/errands.h"

#define TICK_MS 1000	 /* between two looks at what has grown */
#define FETCH_MS 15000	 /* a host that can't be reached is tried for so long before the start */
#define PAUSE_MOST 30000 /* ms between two tries */

enum errand_state {
	ERRAND_LOOKS,	/* which of its output needs no carrying; where relative paths begin */
	ERRAND_FETCHES, /* files for it */
	ERRAND_RUNS,	/* it is the nursery's */
	ERRAND_BRINGS,	/* it has ended */
	ERRAND_DONE	/* all was done, and the end told */
};

/* A file of an errand. Strings are the errand's arena's, but for `why`. */
struct parcel {
	struct errand *e;
	const struct order_file *f;
	const char *here;   /* absolute; NULL: not known before the working directory is */
	int64_t took, size; /* as in struct carry_order */
	bool over;	    /* nothing is left to be done */
	bool stays;	    /* ... because it could not be: `why` */
	bool last;	    /* what is under way began after the job's end: it has everything */
	char *why;	    /* the last failure */
	struct carry *carry;
	uint64_t next; /* uv_now(): not before */
	int failures;
};

/* What does the user see at a path? */
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
	struct question *question; /* to file systems */
	int nquestions, waiting;   /* ... and how many were not answered */
	struct strbuf result;	   /* JSON, unless: */
	bool lost;		   /* as the local engine told */
	bool stop;		   /* it was told to: nothing more is carried */
	uint64_t deadline;	   /* uv_now() */
	uint64_t doubt;		   /* uv_now(): until then nothing is carried; 0: there was none */
	struct strbuf notes;	   /* what could not be done, for the result's reason */
};

struct errands {
	uv_loop_t *loop;
	struct local *local;
	struct local_listener l;
	struct opener *opener;
	struct files *files;
	char *spool, *live;
	VEC(struct errand *) v;
	uv_timer_t timer;
	uint64_t swept;	 /* uv_now() */
	uint64_t looked; /* uv_now(): when `word` was read */
	int64_t word;	 /* lease_word() */
	bool stopped;	 /* the memory stays: the local engine and file systems may still have something to say */
};

/* ---- errands.c ---- */
struct errand *errand_find(const struct errands *all, const char *tag);
struct opener_user errand_user(const struct errand *e);
bool errand_may(struct errand *e);  /* carry; else what is under way is broken off */
void errand_step(struct errand *e); /* one of its parcels is over: what is next? It may be gone afterwards */

/* ---- parcel.c ---- */
void parcel_begin(struct parcel *p); /* now */
void parcel_drop(struct parcel *p);  /* what is under way is not wanted any more */
bool parcel_is_output(const struct parcel *p);
void parcel_turn(struct parcel *p);			     /* starts it if there is something to do */
void parcel_bring(struct parcel *p);			     /* the job has ended */
void parcel_give_up(struct parcel *p);			     /* it stays where it is */
void parcel_say(const struct parcel *p, struct strbuf *out); /* a sentence about one that stays */

/* ---- spool.c ---- */
void spool_path(const struct errands *all, const char *tag, const char *suffix, char *ret, size_t size);
void spool_write(const struct errand *e);			 /* TAG.json */
struct errand *spool_read(struct errands *all, const char *tag); /* NULL: there is none, or it can't be read */
void spool_remove(const struct errands *all, const char *tag, const char *suffix);
void spool_sweep(
	struct errands *all); /* notes about attempts that never were, and output that nobody has fetched for a month */

/* ---- network.c ---- */
/* A file system that other hosts see, too, by its statfs type; `dir` is on it. */
bool network_is(uint64_t type, const char *dir);

#endif
