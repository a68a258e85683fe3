/*
 * members.c - see members.h.
 */
#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/err.h"
#include "base/members.h"

int value_read_text(const json_t *v, const char *name, size_t max, const char **ret, struct err *err)
{
	if (!json_is_string(v))
		return err_set(err, -EINVAL, "%s must be a string", name);
	if (json_string_length(v) > max)
		return err_set(err, -EINVAL, "%s has %zu characters: at most %zu are taken", name,
			       json_string_length(v), max);
	if (strlen(json_string_value(v)) != json_string_length(v))
		return err_set(err, -EINVAL, "%s has a NUL character in it", name);
	*ret = json_string_value(v);
	return 0;
}

int value_read_number(const json_t *v, const char *name, int64_t min, int64_t max, int64_t *ret, struct err *err)
{
	if (!json_is_integer(v) || json_integer_value(v) < min || json_integer_value(v) > max)
		return err_set(err, -EINVAL, "%s must be a whole number from %lld to %lld", name, (long long)min,
			       (long long)max);
	*ret = json_integer_value(v);
	return 0;
}

int value_read_bool(const json_t *v, const char *name, bool *ret, struct err *err)
{
	if (!json_is_boolean(v))
		return err_set(err, -EINVAL, "%s must be true or false", name);
	*ret = json_is_true(v);
	return 0;
}

/* Returns NULL for a member that is missing or null. */
static const json_t *given(const json_t *job, const char *key)
{
	const json_t *v = json_object_get(job, key);

	return json_is_null(v) ? NULL : v;
}

int member_read_text(const json_t *job, const char *key, size_t max, const char **ret, struct err *err)
{
	const json_t *v = given(job, key);

	*ret = NULL;
	return v ? value_read_text(v, key, max, ret, err) : 0;
}

int member_read_number(const json_t *job, const char *key, int64_t min, int64_t max, int64_t *ret, struct err *err)
{
	const json_t *v = given(job, key);

	return v ? value_read_number(v, key, min, max, ret, err) : 0;
}

int member_read_bool(const json_t *job, const char *key, bool *ret, struct err *err)
{
	const json_t *v = given(job, key);

	return v ? value_read_bool(v, key, ret, err) : 0;
}

int member_read_list(const json_t *job, const char *key, bool base64, struct err *err)
{
	const json_t *v = given(job, key), *x;
	size_t i;

	if (!v)
		return 0;
	if (!json_is_array(v))
		return err_set(err, -EINVAL, "%s must be an array of strings", key);
	json_array_foreach(v, i, x)
	{
		if (base64 && json_is_string(json_object_get(x, "base64")))
			continue;
		if (!json_is_string(x) || strlen(json_string_value(x)) != json_string_length(x))
			return err_set(err, -EINVAL, "%s[%zu] must be a string without NUL characters", key, i);
	}
	return 0;
}

int64_t member_number(const json_t *o, const char *key)
{
	return json_integer_value(json_object_get(o, key));
}

const char *member_find_text(const json_t *o, const char *key)
{
	return json_string_value(json_object_get(o, key));
}

const char *member_text(const json_t *o, const char *key)
{
	const char *text = member_find_text(o, key);

	return text ? text : "";
}
