/*
 * object.h - values out of the API's objects, and words and times for people.
 */
#ifndef CMD_OBJECT_H
#define CMD_OBJECT_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>
#include <strings.h>

#include "base/amount.h"

/* A value of the API's objects; "used.cput" looks inside. NULL, "", `otherwise` where there is none. */
const json_t *object_value(const json_t *object, const char *key);
/* Texts on one line, clean (base/text.h); the value itself becomes so. What must not be changed, such as a certificate, is read with
 * json_string_value(). */
const char *value_text(const json_t *value);
const char *object_text(const json_t *object, const char *key);
/* "true" or "false", in any case: 1 or 0; -1: neither. */
static inline int truth_of(const char *text)
{
	return strcasecmp(text, "true") == 0 ? 1 : strcasecmp(text, "false") == 0 ? 0 : -1;
}
int64_t object_number(const json_t *object, const char *key, int64_t otherwise);

/* "Wed Nov 16 10:02:03 2016", local time. Returns buf, of 40 or more. */
const char *instant_ctime(int64_t t, char *buf, size_t size);
/* For people: "14:05" today, else "Wed 14:05" within a week, else "2016-11-16 14:05". */
const char *instant_near(int64_t t, int64_t now, char *buf, size_t size);
/* A job's state in a word: "queued". */
const char *state_word(const char *letter);
/* "12" of "12.name". Returns buf. */
const char *id_short(const char *id, char *buf, size_t size);

#endif
