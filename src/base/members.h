/*
 * members.h - members of a JSON object that a client sent: of the right type, or -EINVAL with a sentence that names the
 * member. One that is missing or null leaves *ret as it is.
 */
#ifndef BASE_MEMBERS_H
#define BASE_MEMBERS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

/* A string without NULs of at most `max` bytes; NULL when it is missing or null. Borrowed. */
int member_read_text(const json_t *job, const char *key, size_t max, const char **ret, struct err *err);
int member_read_number(const json_t *job, const char *key, int64_t min, int64_t max, int64_t *ret, struct err *err);
int member_read_bool(const json_t *job, const char *key, bool *ret, struct err *err);
/* The same for a value that was found already. */
int value_read_text(const json_t *v, const char *name, size_t max, const char **ret, struct err *err);
int value_read_number(const json_t *v, const char *name, int64_t min, int64_t max, int64_t *ret, struct err *err);
int value_read_bool(const json_t *v, const char *name, bool *ret, struct err *err);
/* Every element a string without NULs, or, where `base64` says so, {"base64": ...}. */
int member_read_list(const json_t *job, const char *key, bool base64, struct err *err);

#endif
