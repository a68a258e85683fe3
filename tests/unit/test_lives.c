/*
 * test_lives.c - the events of a node or a job come in pages; none is missing, none comes twice.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "base/mem.h"
#include "core/job.h"
#include "core/jobid.h"
#include "server/job/jobs.h"
#include "server/server.h"
#include "store/store.h"
#include "support/bare.h"

#define CHANGES 620
#define JOB_CHANGES 2100
#define LARGE 120

static json_t *ask(struct server *s, const char *method, const char *path, const char *body)
{
	struct bare_answer a = {0};
	json_t *root;

	assert_int_equal(bare_ask(s, getuid(), method, path, body, &a), 200);
	root = json_loads(strbuf_text(&a.body), 0, NULL);
	strbuf_fini(&a.body);
	return root;
}

static struct server *open_in(char dir[64])
{
	snprintf(dir, 64, "%s/shunt-lives-XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	assert_non_null(mkdtemp(dir));
	return bare_open(dir, "n[1-2]:cpus=4");
}

static void removed(const char *dir)
{
	char command[100];

	snprintf(command, sizeof command, "rm -rf %s", dir);
	assert_int_equal(system(command), 0);
}

/* Reads all pages; returns the number of events, each of which came once and in order. */
static size_t pages_read(struct server *s, const char *of, size_t most)
{
	char path[100];
	json_int_t last = -1;
	size_t found = 0;
	bool more = true;

	snprintf(path, sizeof path, "%s", of);
	for (int page = 0; more; page++) {
		json_t *root = ask(s, "GET", path, NULL), *events = json_object_get(root, "events"), *e;
		size_t i;
		assert_true(page < 4 && json_array_size(events) <= most);
		json_array_foreach(events, i, e)
		{
			assert_true(json_integer_value(json_object_get(e, "seq")) > last);
			last = json_integer_value(json_object_get(e, "seq"));
			found++;
		}
		more = json_object_get(root, "next") != NULL;
		assert_true(!more || json_integer_value(json_object_get(root, "next")) == last);
		snprintf(path, sizeof path, "%s?after=%lld", of, (long long)last);
		json_decref(root);
	}
	json_t *rest = ask(s, "GET", path, NULL); /* behind the last one: nothing, and no error */
	assert_int_equal(json_array_size(json_object_get(rest, "events")), 0);
	json_decref(rest);
	return found;
}

static void pages_of_a_node(void **state)
{
	char dir[64];
	struct server *s = open_in(dir);

	for (int i = 0; i < CHANGES; i++)
		json_decref(ask(s, "PATCH", "/v1/nodes/n1", i % 2 ? "{\"offline\":false}" : "{\"offline\":true}"));
	assert_true(pages_read(s, "/v1/nodes/n1/events", 500) >= CHANGES);
	removed(dir);
}

static struct server *open_with_job(char dir[64])
{
	struct server *s = open_in(dir);
	struct bare_answer a = {0};

	assert_int_equal(bare_ask(s, getuid(), "POST", "/v1/jobs", "{\"script\":\"true\",\"hold\":\"u\"}", &a), 201);
	strbuf_fini(&a.body);
	return s;
}

static void pages_of_a_job(void **state)
{
	char dir[64];
	struct server *s = open_with_job(dir);

	for (int i = 0; i < JOB_CHANGES; i++)
		json_decref(ask(s, "PATCH", "/v1/jobs/1", i % 2 ? "{\"name\":\"a\"}" : "{\"name\":\"b\"}"));
	assert_true(pages_read(s, "/v1/jobs/1/events", 1000) >= JOB_CHANGES);
	removed(dir);
}

/* A page also ends with its size: events may name many nodes. */
static void large_pages_of_a_job(void **state)
{
	char dir[64], *nodes = mem_zalloc(20001);
	struct server *s = open_with_job(dir);
	struct bare_answer a = {0};

	memset(nodes, 'n', 20000);
	for (int i = 0; i < LARGE; i++)
		store_put_event(s->store, &(struct store_event){.seq = s->jobs->next_seq++,
								.job = job_key(1, -1),
								.type = EVENT_START,
								.nodes = nodes});
	json_decref(ask(s, "PATCH", "/v1/jobs/1", "{\"name\":\"a\"}")); /* commits them */
	assert_int_equal(bare_ask(s, getuid(), "GET", "/v1/jobs/1/events", NULL, &a), 200);
	assert_true(a.body.n > 1 << 20 && a.body.n < 3 << 19);
	strbuf_fini(&a.body);
	assert_true(pages_read(s, "/v1/jobs/1/events", 1000) > LARGE);
	free(nodes);
	removed(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(pages_of_a_node), cmocka_unit_test(pages_of_a_job),
					   cmocka_unit_test(large_pages_of_a_job)};

	return cmocka_run_group_tests_name("lives", tests, NULL, NULL);
}
