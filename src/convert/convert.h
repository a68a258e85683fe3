/*
 * convert.h - configurations of other batch systems become directives for qmgr.
 *
 * Files are read one after the other into one conversion: slurm.conf and the dump of its accounts belong together. What they say is kept as attributes of the server,
 * of queues and of objects, by the rules that the server has (rules/attr.h, rules/object.h), so that everything that is printed is accepted. Whatever can't be
 * expressed, or is done elsewhere, is a remark with file and line: no line of a file is passed over in silence.
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

/* The kind of a file by its content; false: it can't be told. */
bool convert_guess(const char *text, enum convert_from *ret);
/* `text` is all of a file, and `name` what remarks call it; it need not stay. */
void conversion_read(struct conversion *c, enum convert_from from, const char *name, const char *text);
/* Directives, then the remarks as comments. */
void conversion_print(struct conversion *c, struct strbuf *out);

#endif
