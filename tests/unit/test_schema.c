/*
 * test_schema.c - what values pass their table, and what is said of the rest.
 */
#include <errno.h>
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/schema.h"

static const struct field inner_fields[] = {{"op", .is = REQUIRED | IS_TEXT, .words = "set|unset"}, {0}};
static const struct schema inner = {.fields = inner_fields};
static const struct field base_fields[] = {{"ids", .is = IS_LIST, .item = IS_TEXT, .least = 1, .most = 2}, {0}};
static const struct schema base = {.fields = base_fields};
static const struct field outer_fields[] = {
	{"name", .is = REQUIRED | IS_TEXT, .least = 1, .most = 5},
	{"count", .is = IS_INT | IS_TEXT, .most = 9},
	{"on", .is = IS_BOOL},
	{"note", .is = IS_TEXT | IS_NULL},
	{"load", .is = IS_REAL},
	{"changes", .is = IS_LIST, .of = &inner, .item = IS_OBJECT},
	{"one", .is = IS_OBJECT, .of = &inner},
	{0},
};
static const struct schema outer = {.fields = outer_fields, .base = &base};
static const struct schema wide = {.fields = inner_fields, .open = true};
static const struct schema late = {.fields = outer_fields, .base = &base, .late = true};
static const struct schema either = {.fields = outer_fields, .base = &base, .either = &inner};

static void expect(const struct schema *t, const char *text, const char *problem)
{
	json_t *v = json_loads(text, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
	struct err err = {.text = ""};
	int rc;

	assert_non_null(v);
	rc = schema_check(t, v, &err);
	assert_string_equal(err.text, problem ? problem : "");
	assert_int_equal(rc, problem ? -EINVAL : 0);
	json_decref(v);
}

static void test_bodies(void **state)
{
	(void)state;
	expect(&outer, "{\"name\": \"a\"}", NULL);
	expect(&outer, "{\"name\": \"a\", \"note\": null, \"load\": 1, \"ids\": [\"1\"]}", NULL);
	expect(&outer, "{\"name\": \"a\", \"count\": 9, \"one\": {\"op\": \"set\"}, \"changes\": []}", NULL);
	expect(&outer, "[]", "it must be a JSON object");
	expect(&outer, "{}", "name is missing");
	expect(&outer, "{\"name\": null}", "name is missing");
	expect(&outer, "{\"name\": 1}", "name must be a text");
	expect(&outer, "{\"name\": \"\"}", "name must be a text of 1 to 5 bytes");
	expect(&outer, "{\"name\": \"a\\u0000\"}", "name must not have a NUL in it");
	expect(&outer, "{\"name\": \"a\", \"count\": -1}", "count must be a whole number from 0 to 9");
	expect(&outer, "{\"name\": \"a\", \"count\": 1.5}", "count must be a text or a whole number");
	expect(&outer, "{\"name\": \"a\", \"on\": 1}", "on must be true or false");
	expect(&outer, "{\"name\": \"a\", \"on\": null}", "on must be true or false");
	expect(&outer, "{\"name\": \"a\", \"ids\": \"1\"}", "ids must be an array");
	expect(&outer, "{\"name\": \"a\", \"ids\": []}", "ids must be an array of 1 to 2 elements");
	expect(&outer, "{\"name\": \"a\", \"ids\": [\"1\", 2]}", "ids[1]: each must be a text");
	expect(&outer, "{\"name\": \"a\", \"one\": {\"op\": \"odd\"}}",
	       "one: op must be one of set|unset, not \"odd\"");
	expect(&outer, "{\"name\": \"a\", \"changes\": [{\"op\": \"set\"}, {}]}", "changes[1]: op is missing");
}

static void test_names(void **state)
{
	(void)state;
	expect(&outer, "{\"nmae\": \"a\"}", "unknown member \"nmae\"; did you mean name?");
	expect(&outer, "{\"name\": \"a\", \"id\": []}", "unknown member \"id\"; did you mean ids?");
	expect(&outer, "{\"name\": \"a\", \"colour\": 1}",
	       "unknown member \"colour\"; known: name count on note load changes one ids");
	expect(&outer, "{\"name\": \"a\", \"changes\": [{\"op\": \"set\", \"to\": 1}]}",
	       "changes[0]: unknown member \"to\"; known: op");
	expect(&wide, "{\"op\": \"set\", \"more\": 1}", NULL);
	expect(&late, "{\"colour\": 1}", NULL);
}

static void test_kinds(void **state)
{
	json_t *v = json_pack("{s:s}", "op", "set");
	struct err err;

	(void)state;
	expect(&late, "{\"name\": 7}", NULL);
	expect(&late, "{\"ids\": 7}", "ids must be an array");
	assert_int_equal(schema_check(&either, v, &err), 0);
	json_decref(v);
}

static void test_texts(void **state)
{
	const struct field number = {"limit", .is = IS_INT, .least = 1, .most = 10},
			   word = {"by", .is = IS_TEXT, .words = "user|queue"}, free = {"name", .is = IS_TEXT};
	struct err err;

	(void)state;
	assert_int_equal(field_check_text(&number, "10", &err), 0);
	for (const char *const *p = (const char *const[]){"0", "11", "", "-1", "1x", "9999999999999999999", NULL}; *p;
	     p++) {
		assert_int_equal(field_check_text(&number, *p, &err), -EINVAL);
		assert_non_null(strstr(err.text, "it must be a whole number from 1 to 10"));
	}
	assert_int_equal(field_check_text(&word, "queue", &err), 0);
	assert_int_equal(field_check_text(&word, "que", &err), -EINVAL);
	assert_string_equal(err.text, "by=que: it must be one of user|queue");
	assert_int_equal(field_check_text(&free, "", &err), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bodies),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
