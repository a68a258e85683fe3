/*
 * object.h - reads values from the API's objects, and formats words and times for people.
 */
#ifndef CMD_OBJECT_H
#define CMD_OBJECT_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>
#include <strings.h>

#include "base/amount.h"
#include "base/outcome.h"

/* Returns a value of an object; "used.cput" looks inside. NULL, "" or `otherwise` if it is
 * missing. */
const json_t *object_value(const json_t *object, const char *key);
/* Return a text on one line, cleaned in place (base/text.h). Read what must not change, such as a
 * certificate, with json_string_value(). */
const char *value_text(const json_t *value);
const char *object_text(const json_t *object, const char *key);
/* Parses "true" or "false", in any case. Returns 1, 0, or -1 for neither. */
static inline int truth_of(const char *text)
{
	return strcasecmp(text, "true") == 0 ? 1 : strcasecmp(text, "false") == 0 ? 0 : -1;
}
int64_t object_number(const json_t *object, const char *key, int64_t otherwise);

/* Formats local time as "Wed Nov 16 10:02:03 2016". Returns buf, of at least 40 bytes. */
const char *instant_ctime(int64_t t, char *buf, size_t size);
/* Formats a time for people: "14:05" today, "Wed 14:05" within a week, else "2016-11-16 14:05". */
const char *instant_near(int64_t t, int64_t now, char *buf, size_t size);
/* Returns a job's state as a word: "queued". */
const char *state_word(const char *letter);
/* Does the same for an array: "3 of 20 failed", "succeeded, 20". */
const char *array_outcome_text(int64_t failed, int64_t elements, int64_t status, char *buf, size_t size);
/* Writes "12" for "12.name". Returns buf. */
const char *id_short(const char *id, char *buf, size_t size);

#endif
