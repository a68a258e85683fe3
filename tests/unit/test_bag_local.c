/*
 * test_bag_local.c - workers on this host, which a script stands in for: how they are started, how
 * often one that dies is started again, and how all of them end. The clock is the test's.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "bag/files.h"
#include "bag/provider.h"
#include "base/file.h"
#include "support/closed.h"

/* Notes its arguments and dies at once. The tenth one, or each if there is a file `all`, lives
 * while there is a file `stay`. */
static const char worker[] = "#!/bin/sh\ncd ${0%/*}\necho \"$*\" >>ran\n"
			     "[ -e all ] || [ $(wc -l <ran) = 10 ] || exit 1\n"
			     "while [ -e stay ]; do sleep 0.01; done\n";

static char dir[64], program[80];
static int64_t now;

int64_t __wrap_provider_now(void);
int64_t __wrap_provider_now(void)
{
	return now;
}

static const char *at(const char *name)
{
	static char path[128];

	snprintf(path, sizeof path, "%s/%s", dir, name);
	return path;
}

static int setup(void **state)
{
	strcpy(dir, "/tmp/shunt-test-XXXXXX");
	assert_non_null(mkdtemp(dir));
	snprintf(program, sizeof program, "%s/worker", dir);
	assert_int_equal(file_replace(program, 0700, worker, sizeof worker - 1, 0), 0);
	now = 1000;
	return 0;
}

static int teardown(void **state)
{
	files_remove(dir);
	return 0;
}

static struct provider *made(int workers)
{
	struct provider *p = provider_local(&(struct local_options){.program = program,
								    .socket = "/the/socket",
								    .workers = workers,
								    .cpus = 2000 * workers,
								    .gpus = workers,
								    .memory = 1024 * workers});
	struct err err = {.text = ""};

	assert_int_equal(p->kind->request(p, 2, 60, &err), 1);
	return p;
}

/* Returns how many workers have begun; all of them were called alike. */
static int ran(void)
{
	struct strbuf text = {0};
	int n = 0;

	if (file_read(at("ran"), 0, 10000, &text) == 0)
		for (const char *s = text.text; s && *s; s = strchr(s, '\n') + 1, n++) {
			static const char first[] = "bag worker --socket /the/socket --name local-";
			static const char second[] = " --milli-cpus 2000 --gpus 1 --memory 1024\n";

			assert_memory_equal(s, first, sizeof first - 1);
			assert_in_range(s[sizeof first - 1], '1', '2');
			assert_memory_equal(s + sizeof first, second, sizeof second - 1);
		}
	strbuf_fini(&text);
	return n;
}

static struct provider_request state_of(struct provider *p)
{
	struct provider_request r;

	usleep(1000);
	p->kind->poll(p, now);
	assert_true(p->kind->look(p, 1, &r));
	return r;
}

/* Waits until that many workers have begun; one more may have, if the last one died at once. */
static void ran_await(struct provider *p, int n)
{
	while (ran() < n)
		assert_int_equal(state_of(p).state, REQUEST_RUNNING);
}

static void dies(void **state)
{
	struct provider *p = made(1);
	struct provider_request r;

	while ((r = state_of(p)).state == REQUEST_RUNNING)
		;
	assert_int_equal(r.state, REQUEST_FAILED);
	assert_string_equal(r.failure, "worker local-1 died 10 times in a row, each within two seconds");
	assert_true(r.ended >= r.started && r.started > 0);
	p->kind->cancel(p, 1);
	assert_int_equal(ran(), 10);
	p->kind->destroy(p);
}

/* One that lived for two seconds has not died in a row. */
static void dies_slowly(void **state)
{
	struct provider *p = made(1);

	for (int i = 1; i < 25; i++) {
		ran_await(p, i);
		now += 2;
	}
	assert_int_equal(state_of(p).state, REQUEST_RUNNING);
	p->kind->cancel(p, 1);
	p->kind->destroy(p);
}

/* One that has worked begins to count again. */
static void dies_at_work(void **state)
{
	struct provider *p = (assert_int_equal(mkdir(at("stay"), 0700), 0), made(1));

	ran_await(p, 10);
	p->kind->joined(p, 1);
	assert_int_equal(rmdir(at("stay")), 0);
	while (state_of(p).state == REQUEST_RUNNING)
		;
	p->kind->cancel(p, 1);
	assert_int_equal(ran(), 19);
	p->kind->destroy(p);
}

static void lives(void **state)
{
	struct provider *p;
	struct provider_limits l;
	struct provider_request r;
	struct err err;

	assert_int_equal(mkdir(at("all"), 0700) || mkdir(at("stay"), 0700), 0);
	p = made(2);
	p->kind->limits(p, &l);
	assert_true(!l.elastic && l.pending == 1 && l.processors == 4 && l.seconds == -1);
	assert_int_equal(p->kind->request(p, 2, 60, &err), -EBUSY);
	assert_string_equal(err.text, "the workers of this host are running already");
	assert_int_equal(p->kind->plan(p, NULL, &err), -ENOTSUP);
	ran_await(p, 2);
	r = state_of(p);
	assert_true(r.state == REQUEST_RUNNING && r.id == 1 && r.processors == 2 && r.seconds == 60);
	assert_string_equal(r.name, "local");
	assert_false(p->kind->look(p, 2, &r));
	assert_int_equal(rmdir(at("stay")), 0);
	p->kind->cancel(p, 1);
	assert_int_equal(state_of(p).state, REQUEST_ENDED);
	assert_int_equal(ran(), 2);
	p->kind->destroy(p);
}

/* One that does not end by itself is killed. */
static void stays(void **state)
{
	struct provider *p;

	assert_int_equal(mkdir(at("all"), 0700) || mkdir(at("stay"), 0700), 0);
	p = made(1);
	ran_await(p, 1);
	p->kind->cancel(p, 1);
	assert_int_equal(state_of(p).state, REQUEST_ENDED);
	p->kind->destroy(p);
}

static void missing(void **state)
{
	struct provider *p =
		provider_local(&(struct local_options){.program = "/no/worker", .socket = "", .workers = 1});
	struct provider_request r;
	struct err err;

	assert_int_equal(p->kind->request(p, 1, 60, &err), -ENOENT);
	assert_string_equal(err.text, "/no/worker: can't start a worker: No such file or directory");
	assert_true(p->kind->look(p, 1, &r) && r.state == REQUEST_ENDED);
	p->kind->destroy(p);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {TEST(dies),	TEST(dies_slowly), TEST(dies_at_work), TEST(lives),
					   TEST(stays), TEST(missing),	   CLOSED_TEST};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("bag_local", tests, closed_begin, NULL);
}
