/*
 * test_offline_foresee.c - when jobs are expected to start while the server is down: from what it
 * wrote down, and the changes since.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>
#include <jansson.h>

#include "client/offline.h"
#include "client/offline_internal.h"

/* Four shared CPUs, partitions A and B of two, C of four. Job 1 has the shared CPUs until 200, 2
 * the partition A until 150; 3 follows 1, and 4 follows 2. */
static const char machine_text[] =
	"{\"scheduling\": true, \"partitions\": [{\"name\": \"A\", \"cpus\": 2}, {\"name\": \"B\", \"cpus\": 2}, {\"name\": \"C\", \"cpus\": 4}], \"shutdown\": %s}";
static const char plan_text[] =
	"{\"shared\": 4, \"after\": 0, \"queue\": \"batch\", \"walltime\": 60, \"walltimes\": {\"long\": 1000}, \"pools\": ["
	"{\"partition\": null, \"runs\": [[50, 4], [200, 0]], \"waits\": [[200, 4], [300, 0]]},"
	"{\"partition\": \"A\", \"runs\": [[50, 1], [150, 0]], \"waits\": [[150, 1], [250, 0]]},"
	"{\"partition\": \"B\", \"runs\": [], \"waits\": []},"
	"{\"partition\": \"C\", \"runs\": [[50, 1], [400, 0]], \"waits\": []}]}";
static const char jobs_text[] =
	"{\"1\": {\"id\": \"1.x\", \"number\": 1, \"state\": \"R\", \"started\": 50, \"expected_end\": 200},"
	"\"2\": {\"id\": \"2.x\", \"number\": 2, \"state\": \"R\", \"started\": 50, \"expected_end\": 150},"
	"\"3\": {\"id\": \"3.x\", \"number\": 3, \"state\": \"Q\", \"cpus\": 4, \"walltime\": 100, \"resources\": \"nodes=1:ppn=4\", \"expected_start\": 200, \"expected_end\": 300},"
	"\"4\": {\"id\": \"4.x\", \"number\": 4, \"state\": \"Q\", \"cpus\": 2, \"walltime\": 100, \"resources\": \"nodes=1:ppn=2,partition=A\", \"expected_start\": 150, \"expected_end\": 250}}";

static json_t *jobs, *plan, *machine;
static struct line line;

static void begin(const char *outage)
{
	char text[1000];

	snprintf(text, sizeof text, machine_text, outage);
	machine = json_loads(text, 0, NULL);
	plan = json_loads(plan_text, 0, NULL);
	jobs = json_loads(jobs_text, 0, NULL);
	assert_true(machine && plan && jobs);
	line = (struct line){0};
	line_begin(&line, jobs);
}

/* A submission; its members after the id. */
static json_t *submit(int number, const char *more)
{
	char text[1000], key[16];
	json_t *row;

	snprintf(text, sizeof text, "{\"id\": \"%d.x\", \"number\": %d, \"state\": \"Q\"%s}", number, number, more);
	snprintf(key, sizeof key, "%d", number);
	assert_non_null(row = json_loads(text, 0, NULL));
	json_object_set_new(jobs, key, row);
	line_add(&line, row);
	return row;
}

static json_t *job(const char *id)
{
	return json_object_get(jobs, id);
}

static void foresee(int64_t now, int64_t late)
{
	line_foresee(&line, jobs, plan, machine, now, late);
}

/* "ID:START-END ...", ? for not known, of all that wait. */
static void expect(const char *want)
{
	char text[1000] = "";
	const char *key;
	json_t *row;
	size_t n = 0;

	json_object_foreach(jobs, key, row)
	{
		const json_t *start = json_object_get(row, "expected_start"),
			     *end = json_object_get(row, "expected_end");
		assert_null(json_object_get(row, "offline_changed"));
		if (json_object_get(row, "started"))
			continue;
		n += (size_t)snprintf(text + n, sizeof text - n, json_is_integer(start) ? "%s%s:%d-%d" : "%s%s:?",
				      n ? " " : "", key, (int)json_integer_value(start), (int)json_integer_value(end));
	}
	assert_string_equal(text, want);
	line_fini(&line);
	json_decref(jobs);
	json_decref(plan);
	json_decref(machine);
}

static void submissions_come_behind(void **state)
{
	begin("null");
	submit(5, ",\"cpus\": 2, \"resources\": \"nodes=1:ppn=2\"");
	submit(6, ",\"cpus\": 2, \"resources\": \"nodes=1:ppn=2,walltime=10\"");
	submit(7, ",\"cpus\": 1, \"queue\": \"long\"");
	submit(8, ",\"cpus\": 9");
	foresee(100, 0);
	expect("3:200-300 4:150-250 5:300-360 6:300-310 7:310-1310 8:?");
}

static void partitions_are_chosen_by_their_size(void **state)
{
	begin("null");
	submit(5, ",\"resources\": \"partition=A\"");
	submit(6, ",\"cpus\": 1, \"resources\": \"procs=1,partition=any\"");
	submit(7, ",\"cpus\": 2, \"resources\": \"procs=2,partition=any\"");
	submit(8, ",\"cpus\": 3, \"resources\": \"procs=3,partition=any\"");
	submit(9, ",\"resources\": \"partition=any\"");
	submit(10, ",\"resources\": \"partition=none\"");
	foresee(100, 0);
	expect("3:200-300 4:150-250 5:250-310 6:100-160 7:160-220 8:400-460 9:? 10:?");
}

static void what_was_foreseen_comes_later(void **state)
{
	begin("null");
	for (const char *p = "34"; *p; p++) { /* like offline_put_off() */
		json_t *row = job((char[]){*p, '\0'});
		json_object_set_new(row, "expected_start",
				    json_integer(json_integer_value(json_object_get(row, "expected_start")) + 50));
		json_object_set_new(row, "expected_end",
				    json_integer(json_integer_value(json_object_get(row, "expected_end")) + 50));
	}
	submit(5, ",\"cpus\": 4");
	submit(6, ",\"resources\": \"partition=A\"");
	submit(7, ",\"cpus\": 4, \"resources\": \"walltime=40\"");
	foresee(160, 50);
	expect("3:250-350 4:200-300 5:350-410 6:300-360 7:200-240");
}

static void who_waits_for_something(void **state)
{
	begin("null");
	submit(5, ",\"cpus\": 1, \"depend\": \"afterok:4\"");
	submit(6, ",\"cpus\": 1, \"depend\": \"afterany:3,after:4\"");
	submit(7, ",\"cpus\": 1, \"depend\": \"afternotok:3\"");
	submit(8, ",\"cpus\": 1, \"at\": 900");
	json_object_set_new(submit(9, ",\"cpus\": 1"), "state", json_string("H"));
	submit(10, ",\"cpus\": 1, \"depend\": \"afterok:9\"");
	foresee(100, 0);
	expect("3:200-300 4:150-250 5:300-360 6:300-360 7:? 8:900-960 9:? 10:?");
}

static void moves_and_removals(void **state)
{
	json_t *five;

	begin("null");
	five = submit(5, ",\"cpus\": 4");
	line_move(&line, five, NULL);
	foresee(100, 0);
	expect("3:260-360 4:150-250 5:200-260");
	begin("null");
	submit(5, ",\"cpus\": 4");
	line_move(&line, job("3"), job("5"));
	foresee(100, 0);
	expect("3:260-360 4:150-250 5:200-260");
	begin("null");
	submit(5, ",\"cpus\": 4");
	json_object_del(jobs, "3");
	foresee(100, 0);
	expect("4:150-250 5:200-260");
	begin("null");
	submit(5, ",\"cpus\": 4");
	json_object_set_new(job("3"), "state", json_string("H"));
	line_changed(job("3"));
	foresee(100, 0);
	expect("3:? 4:150-250 5:200-260");
	begin("null");
	json_object_set_new(job("3"), "walltime", json_integer(10));
	line_changed(job("3"));
	foresee(100, 0);
	expect("3:200-210 4:150-250");
}

static void deadlines_move_up(void **state)
{
	begin("null");
	submit(5, ",\"cpus\": 4, \"deadline\": 270");
	submit(6, ",\"cpus\": 4, \"deadline\": 90");
	foresee(100, 0);
	expect("3:260-360 4:150-250 5:200-260 6:360-420");
}

static void arrays_take_turns(void **state)
{
	begin("null");
	json_t *row = submit(5, ",\"cpus\": 2, \"array_spec\": \"1-4\"");
	json_object_set_new(row, "id", json_string("5[].x"));
	json_object_set(jobs, "5[]", row);
	json_object_del(jobs, "5");
	submit(6, ",\"cpus\": 4");
	foresee(100, 0);
	expect("3:200-300 4:150-250 5[]:300-420 6:420-480");
}

static void shutdowns(void **state)
{
	begin("{\"kind\": \"delay\", \"begin\": 320, \"until\": 500}");
	submit(5, ",\"cpus\": 4");
	submit(6, ",\"cpus\": 4, \"resources\": \"walltime=20\"");
	foresee(100, 0);
	expect("3:200-300 4:150-250 5:500-560 6:300-320");
	begin("{\"kind\": \"quick\", \"begin\": 320, \"until\": 500}");
	submit(5, ",\"cpus\": 4");
	foresee(100, 0);
	expect("3:200-300 4:150-250 5:300-360");
	begin("{\"kind\": \"delay\", \"begin\": 320, \"until\": null}");
	submit(5, ",\"cpus\": 4");
	foresee(100, 0);
	expect("3:200-300 4:150-250 5:?");
}

/* Others' jobs are in the plan, and not among the rows. */
static void what_is_not_seen_stays(void **state)
{
	begin("null");
	json_object_clear(jobs);
	line_fini(&line);
	line = (struct line){0};
	submit(5, ",\"cpus\": 4");
	foresee(100, 0);
	expect("5:300-360");
}

static void nothing_is_known_without_a_plan(void **state)
{
	begin("null");
	submit(5, ",\"cpus\": 4");
	line_foresee(&line, jobs, NULL, machine, 100, 0);
	expect("3:200-300 4:150-250 5:?");
	begin("null");
	submit(5, ",\"cpus\": 4");
	json_object_set_new(machine, "scheduling", json_false());
	foresee(100, 0);
	expect("3:200-300 4:150-250 5:?");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(submissions_come_behind),
		cmocka_unit_test(partitions_are_chosen_by_their_size),
		cmocka_unit_test(what_was_foreseen_comes_later),
		cmocka_unit_test(who_waits_for_something),
		cmocka_unit_test(moves_and_removals),
		cmocka_unit_test(deadlines_move_up),
		cmocka_unit_test(arrays_take_turns),
		cmocka_unit_test(shutdowns),
		cmocka_unit_test(what_is_not_seen_stays),
		cmocka_unit_test(nothing_is_known_without_a_plan),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
