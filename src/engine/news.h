/*
 * news.h - what a machine reports about a part of an attempt that it was given: that it is running,
 * that it has ended.
 *
 * The machine's own engine (local.h) reports it; errands.h may hold it back until files are
 * delivered; on this machine the part receives it directly (part_hear), from other machines it
 * comes as a frame of an agent. Strings are borrowed for the call.
 */
#ifndef ENGINE_NEWS_H
#define ENGINE_NEWS_H

#include <stdbool.h>
#include <sys/types.h>

#include "run/order.h"

/* The names of the first seven are on the wire (news.c) and must keep their order. */
enum report {
	SAYS_STARTED,
	SAYS_READY,    /* a room (order.h) is open: its prologue has finished */
	SAYS_SAVED,    /* its checkpoints have changed (run/checkpoint.h) */
	SAYS_USED,     /* usage so far */
	SAYS_REFUSED,  /* it never ran */
	SAYS_ENDED,    /* may be repeated until the attempt is forgotten */
	SAYS_LOST,     /* its shepherd was killed; nothing of it runs any more */
	SAYS_NOTHING,  /* another machine's inventory does not have it */
	SAYS_GIVEN_UP, /* the host itself is lost */
};

struct news {
	enum report report;
	const char *tag;	   /* tag of the attempt; part_hear() ignores it */
	pid_t pid;		   /* STARTED; 0: not known */
	const char *reason;	   /* REFUSED; NULL: the host is not to blame */
	bool unclear;		   /* REFUSED: the cause may be the job or its user as well as the host */
	const struct result *r;	   /* ENDED; USED: cpu_ms and memory_kib count */
	const struct saves *saves; /* SAVED */
};

struct json;
struct json_t;

/* Writes news as the head of an agent's frame. */
void news_frame(const struct news *n, struct strbuf *out);
/* Writes news as an item of an inventory, an open array. */
void news_item(const struct news *n, struct json *j);
/* Reads a frame's head, or an item: *ret points into it, into the arena, and at *r. Returns false
 * if it is something else or malformed. */
bool news_read(const struct json_t *o, struct arena *a, struct result *r, struct news *ret);

#endif
