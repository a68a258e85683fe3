/*
 * doctor.h - `shunt doctor`: findings, and the checks that make them. A check looks at answers of
 * the API alone.
 */
#ifndef CMD_DOCTOR_H
#define CMD_DOCTOR_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "client/client.h"

/* Also the exit codes. */
enum level { LEVEL_OK, LEVEL_WARNING, LEVEL_PROBLEM };

struct finding {
	enum level level;
	const char *check; /* a word: borrowed, a constant */
	char *what;	   /* what was found */
	char *advice;	   /* what to do about it; "" if nothing */
};

struct doctor {
	struct client *client;
	const json_t *server, *nodes,
		*queues;    /* answers that several checks look at; NULL: the server did not give it */
	const json_t *site; /* managers only */
	int64_t now;
	VEC(struct finding) findings;
};

/* doctor_findings.c */
/* Adds a finding. Advice may be "". */
void doctor_find(struct doctor *d, enum level level, const char *check, const char *advice, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));
/* The same for one of several things with the same trouble, which are listed in one line in the
 * end: "n[1-3]: offline". */
void doctor_collect(json_t *groups, enum level level, const char *advice, const char *name, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));
void doctor_collected(struct doctor *d, const char *check, json_t *groups); /* frees them */
/* Everything is as it should be, unless the check has found something. */
void doctor_fine(struct doctor *d, const char *check, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* GETs; NULL: it can't be had, or is not for this user. The caller frees with json_decref(). */
json_t *doctor_get(struct doctor *d, const char *path);

/* An attribute of the server, a queue or an object, or its default; NULL: unset. */
const json_t *doctor_attr(const json_t *of, const char *name);
bool doctor_attr_is(const json_t *of, const char *name, bool value);
int64_t doctor_attr_number(const json_t *of, const char *name, int64_t otherwise);

/* The checks. */
void doctor_server(struct doctor *d);	    /* doctor_site.c: what it says of itself */
void doctor_site(struct doctor *d);	    /* its machine */
void doctor_nodes(struct doctor *d);	    /* doctor_nodes.c */
void doctor_queues(struct doctor *d);	    /* doctor_limits.c: queues and limits that nothing can meet */
void doctor_payments(struct doctor *d);	    /* quota and credits */
void doctor_reservations(struct doctor *d); /* ... that leave nothing */
void doctor_jobs(struct doctor *d); /* doctor_jobs.c: jobs that can never start, directories that were missing */

#endif
