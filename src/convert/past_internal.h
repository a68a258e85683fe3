/*
 * past_internal.h - shared by the readers of the two kinds of files.
 */
#ifndef CLIENT_PAST_INTERNAL_H
#define CLIENT_PAST_INTERNAL_H

#include "base/mem.h"
#include "base/names.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "convert/past.h"

/* A PBS job whose end has not been seen yet. */
struct past_trail {
	int64_t queued; /* 0: not seen */
	char *queue;
	bool started;
	bool ended;	 /* a complete record was seen */
	int64_t deleted; /* when it was deleted or aborted; 0: neither */
	bool aborted;
	char *by, *why;	  /* who deleted it and why; NULL: not known */
	const char *file; /* file of the deletion record; borrowed */
	int64_t line;
};

struct past_reader {
	char *source;
	struct past_events e;
	const char *file;
	int64_t unfinished;
	struct names ids; /* PBS only: id to index in `trails` */
	VEC(struct past_trail) trails;
};

#define PAST_COUNT_MAX 1000000		     /* limit for CPUs and nodes */
#define PAST_TIME_MAX INT64_C(3153600000000) /* 100 years, in ms */

int past_emit(struct past_reader *r, struct past_row *row, int64_t line);
void past_bad(struct past_reader *r, int64_t line, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* Writes the id of a job: "12" becomes "pbs:12.SOURCE". */
void past_name(const struct past_reader *r, const char *system, const char *id, const char *cluster,
	       struct strbuf *out);
/* Parses "1024kb", "1.5G", "4000M" or "123" (bytes if `unit` is 'b', else in that unit) into KiB.
 * Returns false if it is not a size. *rest is what follows. */
bool past_size(const char *text, char unit, int64_t *ret_kib, const char **rest);
/* Parses "[D-]HH:MM:SS[.mmm]", "MM:SS", "SS", and PBS's "D:HH:MM:SS" into milliseconds. */
bool past_clock(const char *text, int64_t *ret_ms);
int64_t past_number(const char *text, int64_t most); /* clamped to `most`; 0 if not a number */

int past_pbs(struct past_reader *r, struct lines *in, char *first, struct err *err);
int past_pbs_finish(struct past_reader *r);
int past_sacct(struct past_reader *r, struct lines *in, char *head, struct err *err);

#endif
