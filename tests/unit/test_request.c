/*
 * test_request.c - what a machine makes of the text of a request: what it can't run, and why; which
 * chunk each fragment comes from. And the text that says when a job is run again.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "core/cluster.h"
#include "core/retries.h"

/* Adds a node with a feature and a resource "lic", unless they are NULL and 0. */
static void node_add(struct cluster *c, const char *name, int64_t cpus, int64_t gb, int64_t gpus, const char *feature,
		     int64_t licences)
{
	struct res total = {.v = {[RES_CPU] = cpus, [RES_MEM] = gb << 20, [RES_GPU] = gpus}};
	uint32_t node = (uint32_t)c->nodes.n;

	if (licences)
		total.v[cluster_resource(c, "lic", NULL)] = licences;
	assert_int_equal(cluster_add_node(c, name, &total, NULL), 0);
	if (feature)
		assert_int_equal(cluster_add_feature(c, node, feature, NULL), 0);
}

/* n1 has 8 CPUs and 16 GB, n2 4 CPUs, 64 GB, two GPUs and the feature ib, n3 2 CPUs and 5
 * licences. */
static struct cluster *machine(void)
{
	struct cluster *c = cluster_create();

	node_add(c, "n1", 8, 16, 0, NULL, 0);
	node_add(c, "n2", 4, 64, 2, "ib", 0);
	node_add(c, "n3", 2, 8, 0, NULL, 5);
	return c;
}

static void parse(const char *text, struct arena *arena, struct reqtext *ret)
{
	struct err err;

	reqtext_init(ret);
	if (reqtext_parse(ret, text, arena, &err) < 0)
		fail_msg("%s", err.text);
}

static void refused(void **state)
{
	static const struct {
		const char *text, *why;
	} row[] = {
		{"ncpus=9", "it needs 9 CPUs on one node; the largest suitable node has 8"},
		{"nodes=1:ppn=5:ib", "it needs 5 CPUs on one node; the largest suitable node has 4"},
		{"select=1:ncpus=1:mem=65gb",
		 "it needs 65gb of memory on one node; the largest suitable node has 64gb"},
		{"select=1:ncpus=1:disk=1gb", "it needs 1gb of disk on one node; the largest suitable node has 0kb"},
		{"select=1:ngpus=3", "it needs 3 GPUs on one node; the largest suitable node has 2"},
		{"select=1:ncpus=1:lic=6", "it needs 6 lic on one node; the largest suitable node has 5"},
		{"nodes=1:ppn=5:gpus=1", "no single node has everything that is requested of one node"},
		{"nodes=n3:ppn=3", "node n3 does not have the requested resources"},
		{"nodes=n4", "n4: no node and no feature has that name"},
		{"select=1:ncpus=5+1:ncpus=5,place=pack",
		 "it needs 10 CPUs on one node; the largest suitable node has 8"},
		{"select=1:ncpus=1:mem=40gb+1:ncpus=1:mem=25gb,place=pack",
		 "it needs 65gb of memory on one node; the largest suitable node has 64gb"},
		{"select=1:ncpus=1:mem=40gb+1:ncpus=4,place=pack",
		 "no single node has everything that is requested of one node"},
		{"ncpus=1,tape=2",
		 "unknown resource 'tape' (known: walltime nodes select ncpus procs mem pmem disk swap gpus ngpus place partition qos advres estimate deadline budget lic)"},
	};
	struct arena *arena = arena_create();

	(void)state;
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		struct cluster *c = machine();
		struct err err = {.text = ""};
		struct reqtext text;
		uint32_t id = 77;
		parse(row[i].text, arena, &text);
		assert_int_equal(cluster_request(c, &text, &id, &err), -EINVAL);
		assert_string_equal(err.text, row[i].why);
		assert_int_equal(id, 77);
		cluster_destroy(c);
	}
	arena_destroy(arena);
}

/* Prints each fragment as NODE*CPUS/CHUNK, "-" where any node will do or all chunks are one. */
static void chunks(void **state)
{
	static const struct {
		const char *text, *fragments;
	} row[] = {
		{"ncpus=3", "-*3/0"},
		{"select=1:ncpus=4+2:ncpus=1", "-*1/1 -*1/1 -*4/0"},
		{"select=1:ncpus=2+1:ncpus=2:mem=1gb", "-*2/0 -*2/1"},
		{"nodes=1:ppn=2+n2:ppn=3+n1", "n1*1/2 n2*3/1 -*2/0"},
		{"nodes=2:ppn=1+ib:ppn=2", "-*1/0 -*1/0 -*2/1"},
		{"nodes=1:ib+n3", "n3*1/1 -*1/0"},
		{"select=2:ncpus=2+1:ncpus=1,place=pack", "-*5/-"},
		{"select=1:ncpus=8,place=pack", "-*8/-"},
		{"nodes=n1:ppn=2+n1:ppn=1", "n1*1/1 n1*2/0"},
	};
	struct arena *arena = arena_create();

	(void)state;
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		struct cluster *c = machine();
		struct strbuf got = {0};
		struct reqtext text;
		struct err err;
		int chunk[8];
		uint32_t id;
		parse(row[i].text, arena, &text);
		if (cluster_request(c, &text, &id, &err) < 0)
			fail_msg("%s: %s", row[i].text, err.text);
		const struct request *r = &c->requests.v[id];
		assert_in_range(r->nfrags, 1, 8);
		assert_int_equal(cluster_request_chunks(c, &text, r, chunk), 0);
		for (uint32_t k = 0; k < r->nfrags; k++) {
			const struct frag *f = &r->frag[k];
			strbuf_printf(&got, "%s%s*%lld/", k ? " " : "",
				      f->node < 0 ? "-" : names_get(&c->node_names, c->nodes.v[f->node].name),
				      (long long)c->shapes.v[f->shape].need.v[RES_CPU]);
			strbuf_printf(&got, chunk[k] < 0 ? "-" : "%d", chunk[k]);
		}
		assert_string_equal(strbuf_text(&got), row[i].fragments);
		/* a text that is not the request's says so */
		parse("select=9:ncpus=1", arena, &text);
		assert_int_equal(cluster_request_chunks(c, &text, r, chunk), -EINVAL);
		strbuf_fini(&got);
		cluster_destroy(c);
	}
	arena_destroy(arena);
}

static void there_are_few_resources(void **state)
{
	struct cluster *c = cluster_create();
	struct err err;
	char name[16];

	(void)state;
	for (int i = RES_NAMED; i < RES_MAX; i++) {
		snprintf(name, sizeof name, "r%d", i);
		assert_int_equal(cluster_resource(c, name, &err), i);
	}
	assert_int_equal(cluster_resource(c, "r6", &err), 6);
	assert_int_equal(cluster_resource(c, "more", &err), -ENOSPC);
	assert_string_equal(err.text, "resource more: a cluster can have at most 2 named resources");
	assert_int_equal(cluster_amount(c, "r7", &err), -EEXIST);
	assert_string_equal(err.text, "r7: nodes have a resource of that name");
	cluster_destroy(c);
}

/* "2 75,100-110 x2": what was understood. */
static void retries(void **state)
{
	static const char form[] =
		"write how often, up to 100, and perhaps after which exit codes and with how much memory after it was too little, as in 2:on=75,100-110:mem=x2",
			  codes[] = "after on= come exit codes from 1 to 255 or ranges of them, as in 75,100-110",
			  factor[] = "after mem= comes a factor above 1 and up to 1000, as in x2 or x1.5";
	static const struct {
		const char *text, *why; /* why: NULL: it is right */
		int64_t n;
		int from, to; /* exit codes; 0: any */
		double memory;
	} row[] = {
		{"0", NULL, 0, 0, 0, 0},
		{"100", NULL, 100, 0, 0, 0},
		{"2:on=75", NULL, 2, 75, 75, 0},
		{"2:on=1-255", NULL, 2, 1, 255, 0},
		{"3:mem=x1.5", NULL, 3, 0, 0, 1.5},
		{"3:mem=x1000:on=7-8", NULL, 3, 7, 8, 1000},
		{"3:on=7-8:mem=x2", NULL, 3, 7, 8, 2},
		{"101", form, 0, 0, 0, 0},
		{"", form, 0, 0, 0, 0},
		{"-1", form, 0, 0, 0, 0},
		{"2x", form, 0, 0, 0, 0},
		{"2:", form, 0, 0, 0, 0},
		{"2:off=3", form, 0, 0, 0, 0},
		{"2:on=", codes, 0, 0, 0, 0},
		{"2:on=0", codes, 0, 0, 0, 0},
		{"2:on=256", codes, 0, 0, 0, 0},
		{"2:on=1-3%2", codes, 0, 0, 0, 0},
		{"2:on=1:on=2", codes, 0, 0, 0, 0},
		{"2:on=1:mem=x2:on=2", codes, 0, 0, 0, 0},
		{"2:mem=2", factor, 0, 0, 0, 0},
		{"2:mem=x1", factor, 0, 0, 0, 0},
		{"2:mem=x1001", factor, 0, 0, 0, 0},
		{"2:mem=x2y", factor, 0, 0, 0, 0},
		{"2:mem=x", factor, 0, 0, 0, 0},
		{"2:mem=x2:mem=x3", factor, 0, 0, 0, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		struct retries r;
		struct err err;
		int rc = retries_parse(row[i].text, &r, &err);
		if (row[i].why) {
			char whole[300];
			snprintf(whole, sizeof whole, "retries \"%s\": %s", row[i].text, row[i].why);
			assert_int_equal(rc, -EINVAL);
			assert_string_equal(err.text, whole);
			continue;
		}
		assert_int_equal(rc, 0);
		assert_int_equal(r.n, row[i].n);
		assert_true(r.memory == row[i].memory);
		assert_int_equal(r.on.nranges, row[i].from ? 1 : 0);
		for (int code = 1; row[i].from && code < 256; code++)
			assert_int_equal(array_has(&r.on, code), code >= row[i].from && code <= row[i].to);
		retries_fini(&r);
	}
}

static void who_is_run_again(void **state)
{
	struct retries any, some, more;

	(void)state;
	assert_int_equal(retries_parse("2", &any, NULL), 0);
	assert_int_equal(retries_parse("1:on=75", &some, NULL), 0);
	assert_int_equal(retries_parse("1:on=75:mem=x2", &more, NULL), 0);
	assert_true(retries_due(&any, 0, 1, false));
	assert_true(retries_due(&any, 1, 271, true));
	assert_false(retries_due(&any, 2, 1, false));
	assert_false(retries_due(&any, 0, 0, false));
	assert_true(retries_due(&some, 0, 75, false));
	assert_false(retries_due(&some, 0, 76, false));
	assert_false(retries_due(&some, 0, 137, true));
	assert_true(retries_due(&more, 0, 137, true));
	assert_false(retries_due(&more, 0, 137, false));
	assert_false(retries_due(&more, 1, 137, true));
	retries_fini(&any);
	retries_fini(&some);
	retries_fini(&more);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refused),
		cmocka_unit_test(chunks),
		cmocka_unit_test(there_are_few_resources),
		cmocka_unit_test(retries),
		cmocka_unit_test(who_is_run_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
