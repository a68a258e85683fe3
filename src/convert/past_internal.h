/*
 * past_internal.h - what the readers of the two kinds of files share.
 */
#ifndef CLIENT_PAST_INTERNAL_H
#define CLIENT_PAST_INTERNAL_H

#include "base/mem.h"
#include "base/names.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "convert/past.h"

/* Of a job of PBS whose end was not seen yet. */
struct past_trail {
	int64_t queued; /* 0: not seen */
	char *queue;
	bool started;
	bool ended;	 /* a record said all */
	int64_t deleted; /* when it was deleted or aborted; 0: it was not */
	bool aborted;
	char *by, *why;	  /* who deleted it; NULL: nobody says */
	const char *file; /* that says so; borrowed */
	int64_t line;
};

struct past_reader {
	char *source;
	struct past_events e;
	const char *file;
	int64_t unfinished;
	struct names ids; /* of PBS: index into trails */
	VEC(struct past_trail) trails;
};

#define PAST_COUNT_MAX 1000000		     /* CPUs, nodes */
#define PAST_TIME_MAX INT64_C(3153600000000) /* 100 years, in ms */

int past_emit(struct past_reader *r, struct past_row *row, int64_t line);
void past_bad(struct past_reader *r, int64_t line, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* "12" to "pbs:12.SOURCE". */
void past_name(const struct past_reader *r, const char *system, const char *id, const char *cluster,
	       struct strbuf *out);
/* "1024kb", "1.5G", "4000M", "123" (bytes if `unit` is 'b', else in that unit): KiB; false: it is none. *rest: what follows. */
bool past_size(const char *text, char unit, int64_t *ret_kib, const char **rest);
/* "[D-]HH:MM:SS[.mmm]", "MM:SS", "SS", and "D:HH:MM:SS" of PBS: milliseconds. */
bool past_clock(const char *text, int64_t *ret_ms);
int64_t past_number(const char *text, int64_t most); /* 0 if it is none, not above `most` */

int past_pbs(struct past_reader *r, struct lines *in, char *first, struct err *err);
int past_pbs_finish(struct past_reader *r);
int past_sacct(struct past_reader *r, struct lines *in, char *head, struct err *err);

#endif
