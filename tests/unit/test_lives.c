/*
 * test_lives.c - what happened to a node comes in pages, none is missing, and none comes twice.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "support/bare.h"

#define CHANGES 620

static json_t *ask(struct server *s, const char *method, const char *path, const char *body)
{
	struct bare_answer a = {0};
	json_t *root;

	assert_int_equal(bare_ask(s, getuid(), method, path, body, &a), 200);
	root = json_loads(strbuf_text(&a.body), 0, NULL);
	strbuf_fini(&a.body);
	return root;
}

static void pages(void **state)
{
	char dir[64], command[100], path[100] = "/v1/nodes/n1/events";
	json_int_t last = -1;
	size_t found = 0;
	bool more = true;

	snprintf(dir, sizeof dir, "%s/shunt-lives-XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	assert_non_null(mkdtemp(dir));
	struct server *s = bare_open(dir, "n[1-2]:cpus=4");
	for (int i = 0; i < CHANGES; i++)
		json_decref(ask(s, "PATCH", "/v1/nodes/n1", i % 2 ? "{\"offline\":false}" : "{\"offline\":true}"));
	for (int page = 0; more; page++) {
		json_t *root = ask(s, "GET", path, NULL), *events = json_object_get(root, "events"), *e;
		size_t i;
		assert_true(page < 4 && json_array_size(events) <= 500);
		json_array_foreach(events, i, e)
		{
			assert_true(json_integer_value(json_object_get(e, "seq")) > last);
			last = json_integer_value(json_object_get(e, "seq"));
			found++;
		}
		more = json_object_get(root, "next") != NULL;
		assert_true(!more || json_integer_value(json_object_get(root, "next")) == last);
		snprintf(path, sizeof path, "/v1/nodes/n1/events?after=%lld", (long long)last);
		json_decref(root);
	}
	assert_true(found >= CHANGES);
	json_t *rest = ask(s, "GET", path, NULL); /* behind the last one: nothing, and no error */
	assert_int_equal(json_array_size(json_object_get(rest, "events")), 0);
	json_decref(rest);
	snprintf(command, sizeof command, "rm -rf %s", dir);
	assert_int_equal(system(command), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(pages)};

	return cmocka_run_group_tests_name("lives", tests, NULL, NULL);
}
