/*
 * doctor.h - `shunt doctor`: findings, and the checks that make them. Checks only read answers of
 * the API.
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
	const char *check; /* one word; a constant */
	char *what;	   /* the problem */
	char *advice;	   /* the remedy; "": none */
};

struct doctor {
	struct client *client;
	const json_t *server, *nodes, *queues; /* answers shared by several checks; NULL: not available */
	const json_t *site;		       /* for managers only */
	int64_t now;
	VEC(struct finding) findings;
};

/* doctor_findings.c */
/* Adds a finding. Advice may be "". */
void doctor_find(struct doctor *d, enum level level, const char *check, const char *advice, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));
/* Adds a finding for one of several things with the same problem; they end up in one line: "n[1-3]:
 * offline". */
void doctor_collect(json_t *groups, enum level level, const char *advice, const char *name, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));
/* Adds the groups' findings and frees them. */
void doctor_collected(struct doctor *d, const char *check, json_t *groups);
/* Adds an OK finding unless the check has found something. */
void doctor_fine(struct doctor *d, const char *check, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* GETs a path; returns NULL if it fails or is not for this user. The caller frees with
 * json_decref(). */
json_t *doctor_get(struct doctor *d, const char *path);

/* Return an attribute of the server, a queue or an object, or its default; NULL: unset. */
const json_t *doctor_attr(const json_t *of, const char *name);
bool doctor_attr_is(const json_t *of, const char *name, bool value);

/* The checks. */
/* In doctor_site.c: finds what the server reports about itself. */
void doctor_server(struct doctor *d);
void doctor_site(struct doctor *d);  /* the server's machine */
void doctor_nodes(struct doctor *d); /* in doctor_nodes.c */
/* In doctor_limits.c: finds queues and limits that no job can meet. */
void doctor_queues(struct doctor *d);
void doctor_payments(struct doctor *d);	    /* quota and credits */
void doctor_reservations(struct doctor *d); /* reservations that leave nothing for others */
/* In doctor_jobs.c: finds jobs that can never start, and missing directories. */
void doctor_jobs(struct doctor *d);

#endif
