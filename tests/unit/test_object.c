/*
 * test_object.c - named objects: a sorted store of each kind, defaults, and what they name.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "rules/object.h"

static struct object *made(struct objects *o, enum object_kind kind, const char *name)
{
	struct object *x = NULL;
	struct err err;

	assert_int_equal(object_create(o, kind, name, &x, &err), 0);
	return x;
}

static int change(struct objects *o, enum object_kind kind, const char *name, const char *attr, const char *value,
		  struct err *err)
{
	struct object *x = object_find(o, kind, name), next = *x;
	int rc;

	attrs_copy(&next.attrs, &x->attrs);
	rc = attrs_change(&next.attrs, ATTR_SET, attr, value, err);
	if (rc == 0)
		rc = object_check(o, &next, err);
	if (rc < 0) {
		attrs_fini(&next.attrs);
		return rc;
	}
	attrs_fini(&x->attrs);
	x->attrs = next.attrs;
	return 0;
}

static void kinds_are_sorted_by_name(void **state)
{
	struct objects o = {0};
	struct object *x;
	struct err err;

	made(&o, OBJECT_USER, "ben");
	made(&o, OBJECT_USER, "ann");
	made(&o, OBJECT_USER, "cid");
	made(&o, OBJECT_GROUP, "ann");
	assert_int_equal(o.of[OBJECT_USER].n, 3);
	assert_string_equal(o.of[OBJECT_USER].v[0]->name, "ann");
	assert_string_equal(o.of[OBJECT_USER].v[2]->name, "cid");
	assert_true(object_create(&o, OBJECT_USER, "ann", &x, &err) < 0);
	assert_int_equal(err.code, CODE_BAD_STATE);
	assert_true(object_create(&o, OBJECT_USER, "an n", &x, &err) < 0);
	assert_true(object_create(&o, OBJECT_USER, "", &x, &err) < 0);
	assert_true(object_create(&o, OBJECT_PARTITION, "any", &x, &err) < 0);
	assert_true(object_create(&o, OBJECT_PARTITION, "1st", &x, &err) < 0);
	object_destroy(&o, object_find(&o, OBJECT_USER, "ben"));
	assert_null(object_find(&o, OBJECT_USER, "ben"));
	assert_non_null(object_find(&o, OBJECT_USER, "cid"));
	objects_fini(&o);
}

static void a_default_holds_for_the_others(void **state)
{
	struct objects o = {0};
	struct err err;

	assert_int_equal(objects_number(&o, OBJECT_USER, "ann", SET_FAIRSHARE, -1), -1);
	made(&o, OBJECT_USER, OBJECT_DEFAULT);
	made(&o, OBJECT_USER, "ann");
	assert_int_equal(object_count(&o, OBJECT_USER), 1);
	assert_int_equal(change(&o, OBJECT_USER, OBJECT_DEFAULT, "fairshare", "10", &err), 0);
	assert_int_equal(objects_number(&o, OBJECT_USER, "ann", SET_FAIRSHARE, -1), 10);
	assert_int_equal(objects_number(&o, OBJECT_USER, "ben", SET_FAIRSHARE, -1), 10);
	assert_int_equal(change(&o, OBJECT_USER, "ann", "fairshare", "0", &err), 0);
	assert_int_equal(objects_number(&o, OBJECT_USER, "ann", SET_FAIRSHARE, -1), 0);
	objects_fini(&o);
}

static void criu_saves_no_spmd_class(void **state)
{
	struct objects o = {0};
	struct err err;

	made(&o, OBJECT_CLASS, "frozen");
	assert_int_equal(change(&o, OBJECT_CLASS, "frozen", "method", "criu", &err), 0);
	assert_int_equal(change(&o, OBJECT_CLASS, "frozen", "start", "script", &err), 0);
	assert_int_equal(change(&o, OBJECT_CLASS, "frozen", "start", "spmd", &err), -EINVAL);
	assert_non_null(strstr(err.text, "method = criu does not work with start = spmd"));
	made(&o, OBJECT_CLASS, "SPMD"); /* is started so without a word */
	assert_int_equal(change(&o, OBJECT_CLASS, "SPMD", "method", "criu", &err), -EINVAL);
	assert_int_equal(change(&o, OBJECT_CLASS, "SPMD", "start", "script", &err), 0);
	assert_int_equal(change(&o, OBJECT_CLASS, "SPMD", "method", "criu", &err), 0);
	objects_fini(&o);
}

static void accounts_are_a_tree(void **state)
{
	struct objects o = {0};
	struct err err;
	char name[16], above[16];

	made(&o, OBJECT_ACCOUNT, "a");
	made(&o, OBJECT_ACCOUNT, "b");
	made(&o, OBJECT_ACCOUNT, "c");
	assert_int_equal(change(&o, OBJECT_ACCOUNT, "b", "parent", "a", &err), 0);
	assert_int_equal(change(&o, OBJECT_ACCOUNT, "c", "parent", "b", &err), 0);
	assert_true(change(&o, OBJECT_ACCOUNT, "a", "parent", "c", &err) < 0);
	assert_non_null(strstr(err.text, "below itself"));
	assert_true(change(&o, OBJECT_ACCOUNT, "a", "parent", "a", &err) < 0);
	assert_true(change(&o, OBJECT_ACCOUNT, "a", "parent", "x", &err) < 0);
	assert_non_null(strstr(err.text, "there is no account x"));
	assert_ptr_equal(object_named_by(&o, object_find(&o, OBJECT_ACCOUNT, "a")),
			 object_find(&o, OBJECT_ACCOUNT, "b"));
	assert_null(object_named_by(&o, object_find(&o, OBJECT_ACCOUNT, "c")));

	made(&o, OBJECT_ACCOUNT, "d0");
	for (int i = 1; i <= ACCOUNT_DEPTH_MAX + 1; i++) {
		snprintf(name, sizeof name, "d%d", i);
		snprintf(above, sizeof above, "d%d", i - 1);
		made(&o, OBJECT_ACCOUNT, name);
		assert_int_equal(change(&o, OBJECT_ACCOUNT, name, "parent", above, &err) < 0, i > ACCOUNT_DEPTH_MAX);
	}
	objects_fini(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kinds_are_sorted_by_name),
		cmocka_unit_test(a_default_holds_for_the_others),
		cmocka_unit_test(criu_saves_no_spmd_class),
		cmocka_unit_test(accounts_are_a_tree),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
