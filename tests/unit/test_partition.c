/*
 * test_partition.c - fixed partitions: the table, what is accepted and refused, and the allocator
 * of whole partitions. The sentences are those of section 2.2.1 of the Artaras thesis.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "plan/insert.h"
#include "rules/partition.h"
#include "sim/machine.h"
#include "support/ring.h"
#include "support/world.h"

static struct cluster *machine(const char *text)
{
	struct cluster *c = cluster_create();
	struct err err;

	if (machine_build(c, text, &err) != 0)
		fail_msg("%s", err.text);
	return c;
}

/* "8 AB": how many processors, and in which partitions. Borrowed until the next call. */
static const char *chosen(struct cluster *c, const char *name, int64_t procs)
{
	static char text[64];
	struct partition_ask ask = {.name = name, .procs = procs};
	struct partition_choice got;
	struct err err;
	size_t n;

	if (partition_choose(c, &ask, &got, &err) != 0) {
		snprintf(text, sizeof text, "%.60s", err.text);
		return text;
	}
	n = (size_t)snprintf(text, sizeof text, "%lld ", (long long)got.procs);
	for (size_t i = 0; i < c->partitions.n; i++)
		if (nodeset_has(&c->nodesets.v[got.allowed], (uint32_t)c->partitions.v[i].first))
			text[n++] = *cluster_partition_name(c, &c->partitions.v[i]);
	text[n] = '\0';
	return text;
}

static void refused(struct cluster *c, const char *name, int64_t procs, const char *why)
{
	struct partition_ask ask = {.name = name, .procs = procs};
	struct partition_choice got;
	struct err err;

	assert_int_equal(partition_choose(c, &ask, &got, &err), -EINVAL);
	assert_string_equal(err.text, why);
}

/* ---- the table ---- */

static void partitions_are_named_by_letters(void **state)
{
	(void)state;
	struct cluster *c = machine("parts:8,8,16,32");
	char buf[8];

	assert_int_equal(c->nodes.n, 64);
	assert_int_equal(c->partitions.n, 4);
	assert_int_equal(cluster_partition(c, "A")->procs, 8);
	assert_int_equal(cluster_partition(c, "D")->procs, 32);
	assert_int_equal(cluster_partition(c, "C")->first, 16);
	assert_null(cluster_partition(c, "E"));
	assert_string_equal(partition_letter(25, buf), "Z");
	assert_string_equal(partition_letter(26, buf), "AA");
	assert_string_equal(partition_letter(701, buf), "ZZ");
	assert_string_equal(partition_letter(702, buf), "AAA");
	cluster_destroy(c);
}

static void partitions_of_a_file(void **state)
{
	(void)state;
	struct cluster *c = machine("node n[1-2] cpus=4 partition=big\nnode n3 cpus=8\nnode n4 cpus=4 partition=big\n");

	assert_int_equal(c->partitions.n, 1);
	assert_int_equal(cluster_partition(c, "big")->procs, 12);
	assert_int_equal(c->nodes.v[0].peer, 1);
	assert_int_equal(c->nodes.v[1].peer, 3);
	assert_int_equal(c->nodes.v[3].peer, 0);
	assert_int_equal(c->nodes.v[2].partition, PARTITION_NONE);
	cluster_destroy(c);
}

static void nodes_are_in_one_partition(void **state)
{
	(void)state;
	struct cluster *c = machine("nodes:4x2");
	struct err err;

	ring_join(c, 0, 1);
	assert_int_equal(cluster_add_partition(c, "X", (uint32_t[]){1, 2}, 2, &err), -EINVAL);
	assert_string_equal(err.text, "partition X: nodes n2 and n1 are on one machine, which can't be divided");
	assert_int_equal(cluster_add_partition(c, "X", (uint32_t[]){2, 2}, 2, &err), -EINVAL);
	assert_string_equal(err.text, "partition X: node n3 is listed twice");
	assert_int_equal(cluster_add_partition(c, "X", (uint32_t[]){0, 1, 2}, 3, &err), 0);
	assert_int_equal(cluster_add_partition(c, "X", (uint32_t[]){3}, 1, &err), -EEXIST);
	assert_int_equal(cluster_add_partition(c, "Y", (uint32_t[]){2, 3}, 2, &err), -EINVAL);
	assert_string_equal(err.text, "partition Y: node n3 is in partition X");
	assert_int_equal(cluster_add_partition(c, "Y", NULL, 0, &err), -EINVAL);
	assert_int_equal(c->partitions.n, 1);
	cluster_destroy(c);
}

/* ---- acceptance ---- */

static void a_single_partition_needs_no_number(void **state)
{
	(void)state;
	struct cluster *c = machine("parts:8");

	assert_string_equal(chosen(c, NULL, 0), "8 A");
	cluster_destroy(c);
}

static void equal_partitions_need_no_number(void **state)
{
	(void)state;
	struct cluster *c = machine("parts:8,8,8");

	assert_string_equal(chosen(c, NULL, 0), "8 ABC");
	cluster_destroy(c);
}

static void partitions_of_several_sizes_need_one(void **state)
{
	(void)state;
	struct cluster *c = machine("parts:8,8,16");

	refused(c, NULL, 0,
		"the number of processors is missing: partitions have from 8 to 16 of them; name it, or a partition");
	assert_string_equal(chosen(c, NULL, 16), "16 C");
	cluster_destroy(c);
}

static void a_named_partition_says_the_number(void **state)
{
	(void)state;
	struct cluster *c = machine("parts:8,8,16");

	assert_string_equal(chosen(c, "C", 0), "16 C");
	assert_string_equal(chosen(c, "B", 0), "8 B");
	assert_string_equal(chosen(c, "B", 5), "5 B");
	cluster_destroy(c);
}

static void refusals_name_their_cause(void **state)
{
	(void)state;
	struct cluster *c = machine("parts:8,8,16"), *one = machine("parts:8"), *none = machine("nodes:4x8");

	refused(c, "E", 8, "partition E does not exist: there are A, B and C");
	refused(one, "E", 8, "partition E does not exist: there is A");
	refused(none, "E", 8,
		"partition E does not exist: the nodes are not divided into partitions (-q names a queue)");
	refused(c, NULL, 17, "it requests 17 processors, and the largest partition (C) has 16");
	refused(c, "A", 9, "partition A has 8 processors, and the job requests 9");
	cluster_destroy(c);
	cluster_destroy(one);
	cluster_destroy(none);
}

static void the_smallest_that_is_large_enough(void **state)
{
	(void)state;
	struct cluster *c = machine("parts:32,8,16,8");

	assert_string_equal(chosen(c, NULL, 8), "8 BD"); /* exactly */
	assert_string_equal(chosen(c, NULL, 5), "5 BD"); /* one of several smallest */
	assert_string_equal(chosen(c, NULL, 9), "9 C");	 /* the smallest larger one */
	assert_string_equal(chosen(c, NULL, 17), "17 A");
	cluster_destroy(c);
}

static void shared_nodes_beside_partitions(void **state)
{
	(void)state;
	struct cluster *c = machine("node n[1-4] cpus=1 partition=A\nnode n[5-8] cpus=8\n");
	struct partition_ask plain = {.procs = 16}, any = {.any = true}, named = {.name = "A"};
	struct partition_choice got;

	assert_false(partition_wanted(c, &plain));
	assert_int_equal(partition_choose(c, &plain, &got, NULL), 0);
	assert_int_equal(got.allowed, NODES_ALL);
	assert_true(partition_wanted(c, &any) && partition_wanted(c, &named));
	assert_int_equal(partition_choose(c, &any, &got, NULL), 0);
	assert_int_equal(got.procs, 4);
	cluster_destroy(c);
}

static void requests_are_cut_for_the_nodes(void **state)
{
	(void)state;
	struct cluster *c = machine("node n[1-2] cpus=4 partition=A\nnode n3 cpus=8 partition=B\n");
	struct partition_choice got;
	const struct request *r;
	uint32_t id;

	assert_int_equal(partition_choose(c, &(struct partition_ask){.procs = 7}, &got, NULL), 0);
	id = partition_request(c, &got);
	r = &c->requests.v[id];
	assert_int_equal(r->nfrags, 2);
	assert_int_equal(r->total.v[RES_CPU], 7);
	assert_int_equal(r->whole, WHOLE_HOST);
	cluster_destroy(c);
}

/* ---- the allocator ---- */

static const struct manner plain;

static uint32_t job(struct cluster *c, const char *name, int64_t procs)
{
	struct partition_ask ask = {.name = name, .procs = procs};
	struct job *j = cluster_add_job(c);

	if (partition_wanted(c, &ask)) {
		struct partition_choice got;
		assert_int_equal(partition_choose(c, &ask, &got, NULL), 0);
		j->request = partition_request(c, &got);
		j->allowed = got.allowed;
	} else {
		assert_int_equal(cluster_request_procs(c, procs, &j->request, NULL), 0);
	}
	j->walltime = 100;
	j->deadline = TIME_NEVER;
	return j->id;
}

/* The partition of all fragments of a job, or '-'. */
static char where(const struct plan *p, uint32_t id)
{
	uint32_t first;

	if (!plan_holds(p, id))
		return '-';
	first = p->cluster->nodes.v[plan_place(p, id, 0)->node].partition;
	for (uint32_t i = 0; i < plan_hold(p, id)->nfrags; i++)
		assert_int_equal(p->cluster->nodes.v[plan_place(p, id, i)->node].partition, first);
	return first ? *names_get(&p->cluster->partition_names, first - 1) : 's';
}

static void a_job_has_a_partition_to_itself(void **state)
{
	(void)state;
	struct cluster *c = machine("parts:8,8,16");
	struct plan *p = plan_create(c);
	uint32_t a = job(c, NULL, 5), b = job(c, NULL, 3), d = job(c, NULL, 1), e = job(c, NULL, 16);

	assert_true(plan_insert(p, &plain, a, 0, 100));
	assert_int_equal(where(p, a), 'A');
	assert_true(plan_insert(p, &plain, b, 0, 50));
	assert_int_equal(where(p, b), 'B');
	assert_false(plan_insert(p, &plain, d, 0, 100)); /* C is free, but not the smallest */
	plan_check(p);
	assert_int_equal(plan_insert_earliest(p, &plain, d, 0, 100), 50);
	assert_int_equal(where(p, d), 'B');
	assert_true(plan_insert(p, &plain, e, 0, 100));
	assert_int_equal(where(p, e), 'C');
	plan_check(p);
	plan_destroy(p);
	cluster_destroy(c);
}

static void a_named_partition_is_waited_for(void **state)
{
	(void)state;
	struct cluster *c = machine("parts:8,8");
	struct plan *p = plan_create(c);
	uint32_t a = job(c, "A", 0), b = job(c, "A", 0);

	assert_true(plan_insert(p, &plain, a, 0, 100));
	assert_int_equal(plan_insert_earliest(p, &plain, b, 0, 100), 100);
	assert_int_equal(where(p, b), 'A');
	plan_check(p);
	plan_destroy(p);
	cluster_destroy(c);
}

static void shared_jobs_stay_off_partitions(void **state)
{
	(void)state;
	struct cluster *c = machine("node n[1-4] cpus=1 partition=A\nnode n5 cpus=2\n");
	struct plan *p = plan_create(c);
	uint32_t a = job(c, NULL, 1), b = job(c, NULL, 1), d = job(c, NULL, 1), e = job(c, "A", 2);

	assert_true(plan_insert(p, &plain, a, 0, 100));
	assert_true(plan_insert(p, &plain, b, 0, 100));
	assert_int_equal(where(p, b), 's');
	assert_int_equal(plan_insert_earliest(p, &plain, d, 0, 10), 100);
	assert_int_equal(where(p, d), 's');
	assert_true(plan_insert(p, &plain, e, 0, 100));
	plan_check(p);
	plan_destroy(p);
	cluster_destroy(c);
}

static void a_partition_without_a_node_takes_what_fits(void **state)
{
	(void)state;
	struct cluster *c = machine("parts:4,4");
	struct plan *p;
	uint32_t all = job(c, "A", 0), few = job(c, "A", 3);

	p = plan_create(c);
	c->nodes.v[0].up = false;
	res_sub(&c->total, &c->nodes.v[0].total);
	plan_node_up(p, 0, false);
	assert_false(plan_insert(p, &plain, all, 0, 100));
	assert_true(plan_insert(p, &plain, few, 0, 100));
	plan_check(p);
	plan_destroy(p);
	cluster_destroy(c);
}

/* A waiting job without a partition says nothing about one that comes later and asks for
 * more in a partition, which is empty. */
static void shared_jobs_keep_nobody_off_partitions(void **state)
{
	static const char *const names[] = {"easy", "shunt"};

	(void)state;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		struct partition_ask ask = {.name = "A", .any = true};
		struct partition_choice got;
		struct world w;
		struct job *job;

		world_init(&w, names[i]);
		world_add_nodes(&w, 3, 4);
		assert_int_equal(cluster_add_partition(w.c, "A", (uint32_t[]){0}, 1, NULL), 0);
		world_open(&w);
		uint32_t runs = world_common(&w, 0, "nodes=2:ppn=4", 100);
		world_cycle(&w, 0);
		uint32_t waits = world_common(&w, 0, "ncpus=1", 50);
		assert_int_equal(partition_choose(w.c, &ask, &got, NULL), 0);
		job = cluster_add_job(w.c);
		job->request = partition_request(w.c, &got);
		job->allowed = got.allowed;
		job->walltime = 200;
		job->deadline = TIME_NEVER;
		sched_submit(w.s, job->id, 0);
		world_cycle(&w, 0);
		assert_int_equal(world_job(&w, runs)->state, STATE_RUNNING);
		assert_int_equal(world_job(&w, waits)->state, STATE_CANDIDATE);
		assert_int_equal(job->state, STATE_RUNNING);
		world_fini(&w);
	}
}

/* The server was started with other partitions while the job ran: each of them is taken and
 * given back, once. */
static void a_running_job_in_two_partitions(void **state)
{
	(void)state;
	static const int32_t nodes[][3] = {{0, 1, 3}, {3, 1, 0}, {0, 3, 1}, {5, 0, 1}, {1, 5, 4}};
	struct cluster *c = machine("node n[1-3] cpus=4 partition=A\nnode n[4-5] cpus=4 partition=B\nnode n6 cpus=4\n");
	struct plan *p = plan_create(c);
	uint32_t a = job(c, "A", 0);

	for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++) {
		for (uint32_t k = 0; k < 3; k++)
			plan_put(p, a, k, nodes[i][k], 0, 100);
		plan_run(p, a);
		plan_set_end(p, a, 150);
		plan_check(p);
		plan_take_job(p, a);
		plan_check(p);
	}
	plan_destroy(p);
	cluster_destroy(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(partitions_are_named_by_letters),
		cmocka_unit_test(partitions_of_a_file),
		cmocka_unit_test(nodes_are_in_one_partition),
		cmocka_unit_test(a_single_partition_needs_no_number),
		cmocka_unit_test(equal_partitions_need_no_number),
		cmocka_unit_test(partitions_of_several_sizes_need_one),
		cmocka_unit_test(a_named_partition_says_the_number),
		cmocka_unit_test(refusals_name_their_cause),
		cmocka_unit_test(the_smallest_that_is_large_enough),
		cmocka_unit_test(shared_nodes_beside_partitions),
		cmocka_unit_test(requests_are_cut_for_the_nodes),
		cmocka_unit_test(a_job_has_a_partition_to_itself),
		cmocka_unit_test(a_named_partition_is_waited_for),
		cmocka_unit_test(shared_jobs_stay_off_partitions),
		cmocka_unit_test(shared_jobs_keep_nobody_off_partitions),
		cmocka_unit_test(a_partition_without_a_node_takes_what_fits),
		cmocka_unit_test(a_running_job_in_two_partitions),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
