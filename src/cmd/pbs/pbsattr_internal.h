/*
 * pbsattr_internal.h - shared by pbsattr.c (jobs) and pbsattr_things.c (queues, the server, nodes).
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
	AS_COUNT, /* omitted if 0 */
	AS_INSTANT,
	AS_DURATION,
	AS_MEMORY,
	AS_BOOL,
	AS_NONE, /* "n" if empty */
	AS_PATH, /* prefixed by the host */
};

#define BY_W 4 /* qsub -W NAME=TEXT sets the member as it is */

/* The PBS name of a job's member. Every member that jobs may be submitted with, or that is shown,
 * has a row. */
struct job_attr {
	const char *name;     /* NULL: the member is not an attribute */
	const char *resource; /* "walltime" of Resource_List, or NULL */
	const char *key;      /* key in the API's job; "used.cput" is inside an object */
	enum attr_form form;
	unsigned family; /* bits of enum pbs_family that show it, and BY_W */
	void (*add)(struct pbsattrs *a, const struct job_attr *row, const json_t *job,
		    enum pbs_family family); /* NULL: format by `form` */
};
extern const struct job_attr job_attrs[]; /* ends with a row without a key */

#endif
