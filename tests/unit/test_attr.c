/*
 * test_attr.c - attributes: the table itself, changes and their refusals, what holds, lists of
 * people, JSON there and back.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <cmocka.h>
#include <jansson.h>

#include "server/settings/setting.h"
#include "support/attr_json.h"

static void change(struct attrs *a, enum attr_op op, const char *name, const char *value)
{
	struct err err = {.text = ""};

	if (setting_change(a, op, name, value, &err) != 0)
		fail_msg("%s", err.text);
}

static void refuse(struct attrs *a, enum attr_op op, const char *name, const char *value, const char *says)
{
	struct err err = {.text = ""};
	char *before = attrs_json(a), *after;

	if (setting_change(a, op, name, value, &err) == 0)
		fail_msg("%s = %s was accepted", name, value);
	if (!strstr(err.text, says))
		fail_msg("%s", err.text);
	after = attrs_json(a);
	assert_string_equal(before, after);
	free(before);
	free(after);
}

/* Every row is complete, its default is a value of it, and no name or alias means two rows. */
static void test_table(void **state)
{
	(void)state;
	for (const struct attr *a = attr_table; a < attr_table + ATTR_ROWS; a++) {
		assert_non_null(a->about);
		assert_int_equal(a->about[strlen(a->about) - 1], '.');
		assert_true(a->owner & (ATTR_OWNERS - 1));
		for (int owner = ATTR_SERVER; owner < ATTR_OWNERS; owner <<= 1) {
			if (!(a->owner & owner))
				continue;
			assert_ptr_equal(attr_find(owner, a->name), a);
			if (a->alias)
				assert_ptr_equal(attr_find(owner, a->alias), a);
			struct attrs set;
			attrs_init(&set, owner);
			if (a->initial && !strchr(a->initial, '='))
				change(&set, ATTR_SET, a->name, a->initial);
			if (a->initial && !strchr(a->initial, '='))
				assert_string_equal(set.set.v[0].text, a->initial);
			attrs_fini(&set);
		}
	}
}

/* A key is spelled as its attribute, followed by an owner if it is not the first row of that name.
 * The first row leads to all others. */
static void test_keys(void **state)
{
	static const char *const key[] = {
#define ROW(KEY, ...) #KEY,
#include "rules/attr_rows.h"
#undef ROW
	};

	(void)state;
	for (int i = 0; i < ATTR_ROWS; i++) {
		const struct attr *a = &attr_table[i];
		size_t n = strlen(a->name);
		int first = 0, last;
		while (strcmp(attr_table[first].name, a->name) != 0)
			first++;
		assert_int_equal(strncasecmp(key[i], a->name, n), 0);
		assert_int_equal(key[i][n], first == i ? '\0' : '_');
		for (last = first; last != i; last = (int)attr_table[last].also) {
			assert_int_equal(attr_table[last].owner & a->owner, 0);
			assert_true((int)attr_table[last].also > last);
		}
	}
}

static void test_defaults(void **state)
{
	struct attrs s, q;

	(void)state;
	attrs_init(&s, ATTR_SERVER);
	attrs_init(&q, ATTR_QUEUE);
	assert_true(attrs_bool(&s, SET_SCHEDULING));
	assert_false(attrs_bool(&q, SET_ENABLED));
	assert_int_equal(attrs_number(&s, SET_KEEP_COMPLETED), 86400);
	assert_int_equal(attrs_number(&q, SET_KEEP_COMPLETED), -1);
	assert_int_equal(attrs_number(&s, SET_MAX_RUNNING), -1);
	assert_int_equal(attrs_number(&q, SET_PRIORITY), 0);
	assert_null(attrs_text(&s, SET_DEFAULT_QUEUE));
	assert_string_equal(attrs_text(&q, SET_QUEUE_TYPE), "Execution");
	assert_int_equal(attrs_amount(&s, SET_RESOURCES_DEFAULT, "walltime"), 3600);
	assert_int_equal(attrs_amount(&q, SET_RESOURCES_DEFAULT, "walltime"), -1);
	assert_int_equal(attrs_amount(&s, SET_RESOURCES_MAX, "walltime"), -1);
	assert_false(attrs_is_set(&s, SET_SCHEDULING));
	attrs_fini(&s);
	attrs_fini(&q);
}

static void test_changes(void **state)
{
	struct attrs s, q, copy;

	(void)state;
	attrs_init(&s, ATTR_SERVER);
	attrs_init(&q, ATTR_QUEUE);
	change(&q, ATTR_SET, "Queue_Type", "e");
	assert_string_equal(attrs_text(&q, SET_QUEUE_TYPE), "Execution");
	change(&q, ATTR_SET, "queue_type", "ROUTE");
	assert_string_equal(attrs_text(&q, SET_QUEUE_TYPE), "Route");
	change(&q, ATTR_SET, "enabled", "t");
	change(&q, ATTR_SET, "started", "1");
	assert_true(attrs_bool(&q, SET_ENABLED) && attrs_bool(&q, SET_STARTED));
	change(&q, ATTR_SET, "Priority", "-5");
	change(&q, ATTR_ADD, "priority", "15");
	assert_int_equal(attrs_number(&q, SET_PRIORITY), 10);
	change(&q, ATTR_SET, "resources_max.walltime", "2:00:00");
	change(&q, ATTR_SET, "resources_max.procs", "64");
	change(&q, ATTR_SET, "resources_max.mem", "16gb");
	change(&q, ATTR_SET, "resources_max.MEM", "8gb");
	assert_int_equal(attrs_amount(&q, SET_RESOURCES_MAX, "walltime"), 7200);
	assert_int_equal(attrs_amount(&q, SET_RESOURCES_MAX, "ncpus"), 64);
	assert_int_equal(attrs_amount(&q, SET_RESOURCES_MAX, "mem"), 8 << 20);
	change(&q, ATTR_ADD, "resources_max.walltime", "30:00");
	assert_int_equal(attrs_amount(&q, SET_RESOURCES_MAX, "walltime"), 9000);
	change(&q, ATTR_SET, "resources_default.nodes", "1:ppn=4");
	change(&q, ATTR_SET, "max_queued", "7"); /* the other family's name */
	assert_int_equal(attrs_number(&q, SET_MAX_QUEUABLE), 7);
	char *json = attrs_json(&q);
	assert_string_equal(
		json, "{\"queue_type\":\"Route\",\"enabled\":true,\"started\":true,\"priority\":10,"
		      "\"resources_default.nodes\":\"1:ppn=4\",\"resources_max.mem\":\"8gb\","
		      "\"resources_max.ncpus\":\"64\",\"resources_max.walltime\":\"02:30:00\",\"max_queuable\":7}");
	free(json);
	attrs_copy(&copy, &q);
	change(&q, ATTR_UNSET, "resources_max.mem", NULL);
	assert_int_equal(attrs_amount(&q, SET_RESOURCES_MAX, "mem"), -1);
	change(&q, ATTR_UNSET, "resources_max", NULL);
	assert_false(attrs_is_set(&q, SET_RESOURCES_MAX));
	assert_int_equal(attrs_amount(&copy, SET_RESOURCES_MAX, "mem"), 8 << 20);

	change(&s, ATTR_SET, "keep_completed", "2d");
	assert_int_equal(attrs_number(&s, SET_KEEP_COMPLETED), 172800);
	assert_string_equal(attrs_text(&s, SET_KEEP_COMPLETED), "172800");
	change(&s, ATTR_SET, "job_history_duration", "336:00:00");
	assert_int_equal(attrs_number(&s, SET_KEEP_COMPLETED), 1209600);
	change(&s, ATTR_SET, "policy", "easy");
	change(&s, ATTR_SET, "comment", "down on Monday; \"really\"");
	change(&s, ATTR_UNSET, "comment", NULL);
	change(&s, ATTR_UNSET, "comment", NULL);
	assert_null(attrs_text(&s, SET_COMMENT));
	attrs_fini(&s);
	attrs_fini(&q);
	attrs_fini(&copy);
}

static void test_refusals(void **state)
{
	struct attrs s, q;

	(void)state;
	attrs_init(&s, ATTR_SERVER);
	attrs_init(&q, ATTR_QUEUE);
	change(&q, ATTR_SET, "priority", "5");
	refuse(&s, ATTR_SET, "defalt_queue", "x", "did you mean default_queue?");
	refuse(&s, ATTR_SET, "enabled", "true", "that is one of queues");
	refuse(&q, ATTR_SET, "managers", "x", "that is one of the server");
	refuse(&q, ATTR_SET, "enabled", "maybe", "True or False");
	refuse(&q, ATTR_SET, "enabled", "", "True or False");
	refuse(&q, ATTR_SET, "priority", "2000", "from -1024 to 1023");
	refuse(&q, ATTR_ADD, "priority", "1020", "not 1025");
	refuse(&q, ATTR_SET, "priority", "high", "whole number");
	refuse(&q, ATTR_SET, "max_running", "-1", "from 0 to");
	refuse(&q, ATTR_REMOVE, "max_running", "1", "not -1");
	refuse(&q, ATTR_SET, "queue_type", "X", "Execution Route");
	refuse(&q, ATTR_ADD, "comment", "x", "set it instead");
	refuse(&q, ATTR_SET, "comment", "two\nlines", "one line");
	refuse(&q, ATTR_SET, "resources_max", "5", "needs a resource");
	refuse(&q, ATTR_SET, "resources_max.", "5", "needs a resource");
	refuse(&q, ATTR_SET, "resources_max.walltime", "soon", "resources_max.walltime");
	refuse(&q, ATTR_SET, "resources_max.ncpus", "4gb", "whole number");
	refuse(&q, ATTR_SET, "resources_default.nodes", "1:ppn=x", "ppn");
	refuse(&q, ATTR_SET, "resources_default.nodes", "1,walltime=5", "one resource");
	refuse(&q, ATTR_SET, "keep_completed.x", "5", "no attribute");
	refuse(&s, ATTR_SET, "policy", "magic", "unknown policy");
	refuse(&s, ATTR_SET, "policy", "easy-clairvoyant", "simulator");
	refuse(&s, ATTR_SET, "managers", "", "unset");
	refuse(&s, ATTR_SET, "managers", "a b", "blanks");
	refuse(&s, ATTR_SET, "keep_completed", "1000d", "seconds");
	refuse(&s, ATTR_SET, "max_array_size", "100001", "100000");
	attrs_fini(&s);
	attrs_fini(&q);
}

static void test_lists(void **state)
{
	struct attrs s;

	(void)state;
	attrs_init(&s, ATTR_SERVER);
	assert_false(attrs_list_has(&s, SET_MANAGERS, "root", "h"));
	change(&s, ATTR_SET, "managers", "ann@gw, bob@*.site.org,carl");
	change(&s, ATTR_ADD, "managers", "dora@*,ann@gw");
	assert_string_equal(attrs_text(&s, SET_MANAGERS), "ann@gw,bob@*.site.org,carl,dora@*");
	assert_true(attrs_list_has(&s, SET_MANAGERS, "ann", "gw"));
	assert_true(attrs_list_has(&s, SET_MANAGERS, "ann", "GW"));
	assert_true(attrs_list_has(&s, SET_MANAGERS, "ann", NULL));
	assert_false(attrs_list_has(&s, SET_MANAGERS, "ann", "gw2"));
	assert_false(attrs_list_has(&s, SET_MANAGERS, "an", "gw"));
	assert_true(attrs_list_has(&s, SET_MANAGERS, "bob", "n1.site.org"));
	assert_false(attrs_list_has(&s, SET_MANAGERS, "bob", "n1.other.org"));
	assert_true(attrs_list_has(&s, SET_MANAGERS, "carl", "anywhere"));
	assert_true(attrs_list_has(&s, SET_MANAGERS, "dora", "anywhere"));
	assert_false(attrs_list_has(&s, SET_MANAGERS, "eve", "gw"));
	change(&s, ATTR_REMOVE, "managers", "carl,dora@*,nobody");
	assert_string_equal(attrs_text(&s, SET_MANAGERS), "ann@gw,bob@*.site.org");
	change(&s, ATTR_REMOVE, "managers", "ann@gw,bob@*.site.org");
	assert_false(attrs_is_set(&s, SET_MANAGERS));

	change(&s, ATTR_SET, "acl_users", "-eve,+frank,*");
	assert_false(attrs_list_has(&s, SET_ACL_USERS, "eve", "h"));
	assert_true(attrs_list_has(&s, SET_ACL_USERS, "frank", "h"));
	assert_true(attrs_list_has(&s, SET_ACL_USERS, "anybody", "h"));
	change(&s, ATTR_SET, "acl_hosts", "H1+h2.Site.org");
	assert_string_equal(attrs_text(&s, SET_ACL_HOSTS), "h1,h2.site.org");
	assert_true(attrs_list_has(&s, SET_ACL_HOSTS, "h2.site.org", NULL));
	attrs_fini(&s);
}

static void test_json(void **state)
{
	struct attrs s, back;
	struct err err = {.text = ""};

	(void)state;
	attrs_init(&s, ATTR_SERVER);
	change(&s, ATTR_SET, "managers", "ann@gw,bob");
	change(&s, ATTR_SET, "scheduling", "false");
	change(&s, ATTR_SET, "tolerance", "90");
	change(&s, ATTR_SET, "resources_default.walltime", "90:00");
	change(&s, ATTR_SET, "comment", "a \"quoted\" text, with a comma");
	char *text = attrs_json(&s), *again;
	json_t *object = json_loads(text, 0, NULL);
	attrs_init(&back, ATTR_SERVER);
	assert_int_equal(attrs_read(&back, object, &err), 0);
	again = attrs_json(&back);
	assert_string_equal(text, again);
	json_decref(object);
	attrs_fini(&back);
	free(text);
	free(again);

	/* What a newer version wrote, or what is damaged, does not take the rest with it. */
	object = json_loads("{\"new_thing\": 5, \"scheduling\": false, \"policy\": [], \"tolerance\": 7}", 0, NULL);
	attrs_init(&back, ATTR_SERVER);
	assert_int_equal(attrs_read(&back, object, &err), -EINVAL);
	assert_non_null(strstr(err.text, "new_thing"));
	assert_false(attrs_bool(&back, SET_SCHEDULING));
	assert_int_equal(attrs_number(&back, SET_TOLERANCE), 7);
	json_decref(object);
	attrs_fini(&back);

	text = attrs_defaults_json(ATTR_SERVER);
	object = json_loads(text, 0, NULL);
	assert_true(json_is_true(json_object_get(object, "scheduling")));
	assert_int_equal(json_integer_value(json_object_get(object, "keep_completed")), 86400);
	assert_string_equal(json_string_value(json_object_get(object, "resources_default.walltime")), "01:00:00");
	json_decref(object);
	free(text);
	text = attr_table_json();
	object = json_loads(text, 0, NULL);
	assert_int_equal(json_array_size(object), ATTR_ROWS);
	json_decref(object);
	free(text);
	attrs_fini(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),	cmocka_unit_test(test_keys),	 cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_changes), cmocka_unit_test(test_refusals), cmocka_unit_test(test_lists),
		cmocka_unit_test(test_json),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
