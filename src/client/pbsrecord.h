/*
 * pbsrecord.h - a line of a PBS accounting file, of any PBS, taken apart.
 *
 *	11/15/2026 06:42:53;E;12.server;user=ann group=staff jobname="a b" ... Exit_status=0
 */
#ifndef CLIENT_PBSRECORD_H
#define CLIENT_PBSRECORD_H

#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"

struct record_field {
	const char *key, *value; /* value "" where there was none */
};

struct record_line {
	int64_t time;
	char type;
	const char *id;
	const struct record_field *field;
	int nfields;
};

/* Takes a line apart, of any PBS; its texts live in the arena. Words without '=' belong to the value before them
 * (blanks in unquoted values), or are keys without value when there is none. -EINVAL: no date, type and id. */
int record_parse(const char *line, struct arena *arena, struct record_line *ret, struct err *err);
const char *record_get(const struct record_line *r, const char *key); /* NULL: it is not in it */

#endif
