/*
 * attr_json.c - attributes as JSON text.
 */
#include "support/attr_json.h"

#include "base/json.h"

char *attrs_json(const struct attrs *a)
{
	struct strbuf out = {0};
	struct json j;

	json_init(&j, &out, false);
	json_open_object(&j, NULL);
	attrs_write(a, &j);
	json_close_object(&j);
	return out.text;
}

char *attrs_defaults_json(enum attr_owner owner)
{
	struct strbuf out = {0};
	struct json j;

	json_init(&j, &out, false);
	json_open_object(&j, NULL);
	attrs_write_defaults(owner, &j);
	json_close_object(&j);
	return out.text;
}

char *attr_table_json(void)
{
	struct strbuf out = {0};
	struct json j;

	json_init(&j, &out, false);
	json_open_array(&j, NULL);
	attr_table_write(&j);
	json_close_array(&j);
	return out.text;
}
