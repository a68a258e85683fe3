/*
 * convert.h - converts configurations of other batch systems to directives for qmgr.
 *
 * Several files are read into one conversion: slurm.conf and the dump of its accounts belong
 * together. Settings are kept as attributes of the server, of queues and of objects by the server's
 * own rules (rules/attr.h, rules/object.h), so the server accepts everything that is printed.
 * Anything that cannot be expressed, or is done elsewhere, becomes a remark with file and line: no
 * line of a file is dropped silently.
 */
#ifndef CLIENT_CONVERT_H
#define CLIENT_CONVERT_H

#include <stdbool.h>

#include "base/strbuf.h"

enum convert_from {
	CONVERT_MAUI,	  /* maui.cfg */
	CONVERT_SLURM,	  /* slurm.conf */
	CONVERT_SACCTMGR, /* sacctmgr dump, or sacctmgr -P show qos */
	CONVERT_QMGR,	  /* qmgr -c 'print server' of TORQUE, PBS Pro or OpenPBS */
	CONVERT_KINDS
};

const char *convert_name(enum convert_from from); /* "maui", ... */

struct conversion;

struct conversion *conversion_new(void);
void conversion_free(struct conversion *c);

/* Guesses the kind of a file from its content; returns false if it is unclear. */
bool convert_guess(const char *text, enum convert_from *ret);
/* Reads a whole file. Remarks call it `name`. Neither string needs to outlive the call. */
void conversion_read(struct conversion *c, enum convert_from from, const char *name, const char *text);
/* Prints the directives, then the remarks as comments. */
void conversion_print(struct conversion *c, struct strbuf *out);

#endif
