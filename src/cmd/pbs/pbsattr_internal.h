/*
 * pbsattr_internal.h - what pbsattr.c (jobs) and pbsattr_things.c (queues, the server, nodes) share.
 */
#ifndef CMD_PBSATTR_INTERNAL_H
#define CMD_PBSATTR_INTERNAL_H

#include "cmd/pbs/pbsattr.h"

void pbsattr_add(struct pbsattrs *a, const char *name, const char *resource, enum pbsattr_kind kind, const char *fmt,
		 ...) __attribute__((format(printf, 5, 6)));

/* How a member's value becomes text. */
enum attr_form {
	AS_TEXT,
	AS_NUMBER,
	AS_COUNT, /* left out if it is 0 */
	AS_INSTANT,
	AS_DURATION,
	AS_MEMORY,
	AS_BOOL,
	AS_NONE, /* "n" if it is empty */
	AS_PATH, /* behind the host */
};

#define BY_W 4 /* qsub -W NAME=TEXT sets the member as it is */

/* A name of a job's member in PBS. Every member that jobs may be submitted with, or that is shown, has a row. */
struct job_attr {
	const char *name;     /* NULL: the member is not an attribute */
	const char *resource; /* "walltime" of Resource_List, or NULL */
	const char *key;      /* of the API's job; "used.cput": inside an object */
	enum attr_form form;
	unsigned family; /* of enum pbs_family those that show it, and BY_W */
	void (*add)(struct pbsattrs *a, const struct job_attr *row, const json_t *job,
		    enum pbs_family family); /* NULL: by `form` */
};
extern const struct job_attr job_attrs[]; /* up to one without a key */

#endif
