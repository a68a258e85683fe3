/*
 * members.h - reads members of a JSON object that a client sent. A member of the wrong type is
 * -EINVAL with a message that names it. A missing or null member leaves *ret unchanged.
 */
#ifndef BASE_MEMBERS_H
#define BASE_MEMBERS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

/* Return 0, "" or NULL if the member is missing or has another type. Texts are borrowed. */
int64_t member_number(const json_t *o, const char *key);
const char *member_text(const json_t *o, const char *key);
const char *member_find_text(const json_t *o, const char *key);

/* Reads a string without NULs of at most `max` bytes; NULL if it is missing or null. Borrowed. */
int member_read_text(const json_t *job, const char *key, size_t max, const char **ret, struct err *err);
int member_read_number(const json_t *job, const char *key, int64_t min, int64_t max, int64_t *ret, struct err *err);
int member_read_bool(const json_t *job, const char *key, bool *ret, struct err *err);
/* Read a value that was already looked up. */
int value_read_text(const json_t *v, const char *name, size_t max, const char **ret, struct err *err);
int value_read_number(const json_t *v, const char *name, int64_t min, int64_t max, int64_t *ret, struct err *err);
int value_read_bool(const json_t *v, const char *name, bool *ret, struct err *err);
/* Checks that every element is a string without NULs or, if `base64`, {"base64": ...}. */
int member_read_list(const json_t *job, const char *key, bool base64, struct err *err);

#endif
