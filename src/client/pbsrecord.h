/*
 * pbsrecord.h - parses one line of an accounting file of any PBS.
 *
 *	11/15/2026 06:42:53;E;12.server;user=ann group=staff jobname="a b" ... Exit_status=0
 */
#ifndef CLIENT_PBSRECORD_H
#define CLIENT_PBSRECORD_H

#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"

struct record_field {
	const char *key, *value; /* `value` is "" if there was none */
};

struct record_line {
	int64_t time;
	char type;
	const char *id;
	const struct record_field *field;
	int nfields;
};

/* Parses a line of any PBS; its texts live in the arena. A word without '=' belongs to the value
 * before it (blanks in unquoted values), or is a key without a value if none came before. Returns
 * -EINVAL without a date, a type and an id. */
int record_parse(const char *line, struct arena *arena, struct record_line *ret, struct err *err);
const char *record_get(const struct record_line *r, const char *key); /* NULL: no such key */

#endif
