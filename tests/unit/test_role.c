/*
 * test_role.c - who may do what: the whole table.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "rules/role.h"

/* Those who may, in this order: a stranger, the owner, a coordinator of the job's queue, one of
 * its account, an operator, a manager. */
static const struct {
	enum act act;
	const char *name, *who;
} rows[] = {
	{ACT_SEE, "see", ".OQAom"},
	{ACT_READ, "read", ".O...m"},
	{ACT_DELETE, "delete", ".OQAom"},
	{ACT_PURGE, "purge", ".....m"},
	{ACT_ALTER, "alter", ".OQAom"},
	{ACT_ALTER_FILES, "alter its files", ".O..om"},
	{ACT_HOLD, "hold", ".OQAom"},
	{ACT_HOLD_OTHER, "hold o", "..QAom"},
	{ACT_HOLD_SYSTEM, "hold s", ".....m"},
	{ACT_SIGNAL, "signal", ".OQAom"},
	{ACT_RERUN, "rerun", ".OQAom"},
	{ACT_RUN, "run", "....om"},
	{ACT_MOVE, "move", ".OQAom"},
	{ACT_MESSAGE, "message", ".O..om"},
	{ACT_ORDER, "order", ".OQAom"},
	{ACT_EXCEED, "exceed", "....om"},
	{ACT_OPEN, "open", "..Q.om"},
	{ACT_SET_QUEUE, "set queue", ".....m"},
	{ACT_ADMIT, "admit", "...A.m"},
	{ACT_SET_ACCOUNT, "set account", ".....m"},
	{ACT_OPERATE, "operate", "....om"},
	{ACT_MANAGE, "manage", ".....m"},
};

static const struct role_case cases[] = {
	{.role = ROLE_USER},
	{.role = ROLE_USER, .owns = true},
	{.role = ROLE_USER, .of_queue = true},
	{.role = ROLE_USER, .of_account = true},
	{.role = ROLE_OPERATOR},
	{.role = ROLE_MANAGER},
};

static void the_table_says_who_may_do_what(void **state)
{
	struct err err;

	assert_int_equal(sizeof rows / sizeof *rows, ACTS);
	for (size_t i = 0; i < ACTS; i++) {
		assert_int_equal(rows[i].act, i);
		for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
			bool is = rows[i].who[k] != '.';
			if (role_may(&cases[k], rows[i].act) != is)
				fail_msg("%s: case %zu", rows[i].name, k);
			assert_int_equal(role_check(&cases[k], rows[i].act, "That", &err), is ? 0 : -EPERM);
		}
		assert_int_equal(role_owner_may(rows[i].act), rows[i].who[1] == 'O');
	}
}

static void two_parts_allow_what_either_does(void **state)
{
	for (int bits = 0; bits < 8; bits++)
		for (int act = 0; act < ACTS; act++) {
			struct role_case c = {.owns = bits & 1, .of_queue = bits & 2, .of_account = bits & 4};
			bool any = (bits & 1 && rows[act].who[1] != '.') || (bits & 2 && rows[act].who[2] != '.') ||
				   (bits & 4 && rows[act].who[3] != '.');
			assert_int_equal(role_may(&c, (enum act)act), any);
		}
}

static void refusals_say_who_may(void **state)
{
	struct role_case c = {.queue = "long", .account = "atoms"};
	struct err err;

	assert_true(role_check(&c, ACT_DELETE, "This", &err) < 0);
	assert_int_equal(err.code, CODE_FORBIDDEN);
	assert_string_equal(err.text, "This needs an operator, or a coordinator of queue long or of account atoms");
	c.account = NULL;
	role_check(&c, ACT_DELETE, "This", &err);
	assert_string_equal(err.text, "This needs an operator, or a coordinator of queue long");
	role_check(&c, ACT_RUN, "This", &err);
	assert_string_equal(err.text, "This needs an operator");
	role_check(&c, ACT_HOLD_SYSTEM, "A hold of type s", &err);
	assert_string_equal(err.text, "A hold of type s needs a manager");
	c = (struct role_case){.account = "atoms"};
	role_check(&c, ACT_ADMIT, "acl_users", &err);
	assert_string_equal(err.text, "acl_users needs a manager, or a coordinator of account atoms");
}

static void attributes_are_acts(void **state)
{
	assert_int_equal(role_act_of(ATTR_QUEUE, "enabled"), ACT_OPEN);
	assert_int_equal(role_act_of(ATTR_QUEUE, "Started"), ACT_OPEN);
	assert_int_equal(role_act_of(ATTR_ACCOUNT, "acl_users"), ACT_ADMIT);
	for (int i = 0; i < ATTR_ROWS; i++) { /* nothing else, and never who coordinates */
		const char *name = attr_table[i].name;
		if (attr_table[i].owner & ATTR_QUEUE && strcmp(name, "enabled") && strcmp(name, "started"))
			assert_int_equal(role_act_of(ATTR_QUEUE, name), ACT_SET_QUEUE);
		if (attr_table[i].owner & ATTR_ACCOUNT && strcmp(name, "acl_users"))
			assert_int_equal(role_act_of(ATTR_ACCOUNT, name), ACT_SET_ACCOUNT);
		if (attr_table[i].owner & ATTR_SERVER)
			assert_int_equal(role_act_of(ATTR_SERVER, name), ACT_MANAGE);
		if (attr_table[i].owner & ATTR_QOS)
			assert_int_equal(role_act_of(ATTR_QOS, name), ACT_MANAGE);
	}
	assert_int_equal(role_act_of(ATTR_QUEUE, "nonsense"), ACT_SET_QUEUE);
	assert_true(role_key_is_harmless("priority"));
	assert_false(role_key_is_harmless("output"));
	assert_false(role_key_is_harmless("environment"));
	assert_false(role_key_is_harmless("shell"));
	assert_false(role_key_is_harmless("mail_to"));
	assert_false(role_key_is_harmless("stagein"));
}

static void set(struct attrs *a, const char *attr, const char *value)
{
	struct err err;

	assert_int_equal(attrs_change(a, ATTR_SET, attr, value, &err), 0);
}

static void coordinators_of_an_account_cover_those_below(void **state)
{
	struct objects o = {0};
	struct object *top = object_make(&o, OBJECT_ACCOUNT, "top"), *mid = object_make(&o, OBJECT_ACCOUNT, "mid"),
		      *low = object_make(&o, OBJECT_ACCOUNT, "low"), *other = object_make(&o, OBJECT_ACCOUNT, "other");

	set(&mid->attrs, "parent", "top");
	set(&low->attrs, "parent", "mid");
	assert_false(role_coordinates_account(&o, low, "ann", "pine"));
	set(&mid->attrs, "coordinators", "ann,bo@oak");
	assert_true(role_coordinates_account(&o, low, "ann", "pine"));
	assert_true(role_coordinates_account(&o, mid, "ann", "pine"));
	assert_false(role_coordinates_account(&o, top, "ann", "pine"));
	assert_false(role_coordinates_account(&o, other, "ann", "pine"));
	assert_true(role_coordinates_account(&o, low, "bo", "oak"));
	assert_false(role_coordinates_account(&o, low, "bo", "pine"));
	set(&low->attrs, "coordinators", "cy");
	assert_true(role_coordinates_account(&o, low, "ann", "pine")); /* it adds to those above */
	assert_false(role_coordinates_account(&o, mid, "cy", "pine"));
	objects_fini(&o);
}

static void lists_of_queues(void **state)
{
	struct attrs q;

	attrs_init(&q, ATTR_QUEUE);
	assert_false(role_coordinates_queue(&q, "ann", "pine"));
	set(&q, "coordinators", "-bo,ann,b*@pine");
	assert_true(role_coordinates_queue(&q, "ann", "pine"));
	assert_false(role_coordinates_queue(&q, "bo", "pine"));
	assert_true(role_coordinates_queue(&q, "bea", "pine"));
	assert_false(role_coordinates_queue(&q, "bea", "oak"));
	attrs_fini(&q);
}

static void the_account_default_has_none(void **state)
{
	struct objects o = {0};
	struct object *x = object_make(&o, OBJECT_ACCOUNT, OBJECT_DEFAULT);
	struct err err;

	set(&x->attrs, "coordinators", "ann");
	assert_true(object_check(&o, x, &err) < 0);
	objects_fini(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_table_says_who_may_do_what),
		cmocka_unit_test(two_parts_allow_what_either_does),
		cmocka_unit_test(refusals_say_who_may),
		cmocka_unit_test(attributes_are_acts),
		cmocka_unit_test(coordinators_of_an_account_cover_those_below),
		cmocka_unit_test(lists_of_queues),
		cmocka_unit_test(the_account_default_has_none),
	};

	return cmocka_run_group_tests_name("role", tests, NULL, NULL);
}
