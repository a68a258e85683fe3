/*
 * test_access.c - which account and QoS a job has, and who may.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "rules/access.h"

static void set(struct objects *o, enum object_kind kind, const char *name, const char *attr, const char *value)
{
	struct object *x = object_make(o, kind, name);
	struct err err;

	if (attr)
		assert_int_equal(attrs_change(&x->attrs, ATTR_SET, attr, value, &err), 0);
}

static int ask(const struct objects *o, const char *user, const char *group, struct access *x, struct err *err)
{
	static struct attrs server = {.owner = ATTR_SERVER};
	const char *groups[] = {group, NULL};
	struct access_party p = {.by = {user, "pine", groups}, .group = group, .server = &server};

	return access_resolve(o, &p, x, err);
}

static void any_name_is_an_account_until_one_is_defined(void **state)
{
	struct objects o = {0};
	struct access x = {.account = "whatever"};
	struct err err;

	assert_int_equal(ask(&o, "ann", "phys", &x, &err), 0);
	assert_string_equal(x.account, "whatever");
	set(&o, OBJECT_ACCOUNT, OBJECT_DEFAULT, "comment", "no account");
	assert_int_equal(ask(&o, "ann", "phys", &x, &err), 0);
	set(&o, OBJECT_ACCOUNT, "atoms", NULL, NULL);
	assert_true(ask(&o, "ann", "phys", &x, &err) < 0);
	assert_int_equal(err.code, CODE_REFUSED);
	assert_string_equal(err.text, "unknown account whatever; known: atoms");
	x.account = "atoms";
	assert_int_equal(ask(&o, "ann", "phys", &x, &err), 0);
	objects_fini(&o);
}

static void lists_say_who_may(void **state)
{
	struct objects o = {0};
	struct access x = {.account = "low"};
	struct err err;

	set(&o, OBJECT_ACCOUNT, "top", "acl_groups", "phys");
	set(&o, OBJECT_ACCOUNT, "low", "parent", "top");
	assert_int_equal(ask(&o, "ann", "phys", &x, &err), 0); /* by the lists above it */
	assert_true(ask(&o, "ben", "bio", &x, &err) < 0);
	assert_non_null(strstr(err.text, "user ben may not use"));
	set(&o, OBJECT_ACCOUNT, "low", "acl_users", "ben");
	assert_int_equal(ask(&o, "ben", "bio", &x, &err), 0);
	assert_true(ask(&o, "ann", "phys", &x, &err) < 0); /* its own count instead */

	set(&o, OBJECT_QOS, "high", "acl_accounts", "low");
	x = (struct access){.account = "low", .qos = "high"};
	assert_int_equal(ask(&o, "ben", "bio", &x, &err), 0);
	x = (struct access){.account = "top", .qos = "high"};
	assert_true(ask(&o, "ann", "phys", &x, &err) < 0);
	x = (struct access){.qos = "nix"};
	assert_true(ask(&o, "ann", "phys", &x, &err) < 0);
	assert_string_equal(err.text, "unknown qos nix; known: high");
	objects_fini(&o);
}

static void defaults_are_those_of_the_nearest(void **state)
{
	struct objects o = {0};
	struct access x = {0};
	struct err err;

	assert_int_equal(ask(&o, "ann", "phys", &x, &err), 0);
	assert_null(x.account);
	assert_null(x.qos);
	set(&o, OBJECT_QOS, "low", NULL, NULL);
	set(&o, OBJECT_QOS, "high", "acl_users", "ann");
	set(&o, OBJECT_ACCOUNT, "atoms", "default_qos", "low");
	set(&o, OBJECT_GROUP, "phys", "default_account", "atoms");
	assert_int_equal(ask(&o, "ann", "phys", &x, &err), 0);
	assert_string_equal(x.account, "atoms");
	assert_string_equal(x.qos, "low");
	x = (struct access){0};
	set(&o, OBJECT_USER, "ann", "default_qos", "high");
	set(&o, OBJECT_USER, "ben", "default_qos", "high");
	assert_int_equal(ask(&o, "ann", "phys", &x, &err), 0);
	assert_string_equal(x.qos, "high");
	x = (struct access){0};
	assert_int_equal(ask(&o, "ben", "phys", &x, &err), 0); /* one that he may not use is passed over */
	assert_string_equal(x.qos, "low");
	objects_fini(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_name_is_an_account_until_one_is_defined),
		cmocka_unit_test(lists_say_who_may),
		cmocka_unit_test(defaults_are_those_of_the_nearest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
