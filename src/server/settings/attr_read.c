/*
 * attr_read.c - attributes from JSON, as the store keeps them.
 */
#include <errno.h>
#include <jansson.h>

#include "server/settings/attr.h"

int attrs_read(struct attrs *a, const json_t *object, struct err *err)
{
	const char *name;
	json_t *value;
	int rc = 0;

	json_object_foreach((json_t *)object, name, value)
	{
		struct strbuf text = {0};
		struct err why = {{0}};
		if (json_is_boolean(value))
			strbuf_puts(&text, json_is_true(value) ? "True" : "False");
		else if (json_is_integer(value))
			strbuf_printf(&text, "%lld", (long long)json_integer_value(value));
		else if (json_is_string(value))
			strbuf_puts(&text, json_string_value(value));
		int one = text.text ? attrs_change(a, ATTR_SET, name, text.text, &why)
				    : err_set(&why, -EINVAL, "%.60s: must be a text, a number or a bool", name);
		if (one < 0 && rc == 0)
			rc = err_set(err, -EINVAL, "%s", why.text);
		strbuf_fini(&text);
	}
	return rc;
}
