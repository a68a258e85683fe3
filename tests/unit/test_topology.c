/*
 * test_topology.c - the tree of switches: its file, and jobs that are kept at as few of them as
 * possible, beside trying all sets of switches.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/lines.h"
#include "base/rng.h"
#include "core/cluster.h"
#include "plan/insert.h"
#include "plan/near.h"

static int read_text(const char *text, struct topology **ret, struct err *err)
{
	struct lines *in = lines_over(text, strlen(text));
	int rc = topology_read(in, "topology.conf", ret, err);

	lines_close(in);
	return rc;
}

static void file(void **state)
{
	struct topology *t;
	struct err err;
	uint32_t id;

	assert_int_equal(
		read_text(
			"# Slurm's\nSwitchName=top Switches=s[1-2]\nSwitchName=s1 Switches=l[1,3]\n"
			"SwitchName=l1 Nodes=n[1-2] LinkSpeed=10\nSwitchName=l2 nodes=n3\nSwitchName=l3 Nodes=n[4-5]\n"
			"SwitchName=s2 Switches=l2\n",
			&t, &err),
		0);
	assert_int_equal(t->leaf.n, 3);
	assert_true(names_find(&t->switches, "s1", &id));
	assert_int_equal(t->v.v[id].to - t->v.v[id].from, 2);
	assert_int_equal(t->v.v[id].level, 1);
	assert_true(names_find(&t->switches, "top", &id));
	assert_int_equal(t->v.v[id].to - t->v.v[id].from, 3);
	assert_int_equal(t->v.v[id].level, 2);
	assert_int_equal(topology_leaf(t, "n1"), topology_leaf(t, "n2"));
	assert_true(topology_leaf(t, "n1") != topology_leaf(t, "n4"));
	assert_int_equal(topology_leaf(t, "n9"), 0);
	topology_free(t);
}

static void refused(const char *text, const char *why)
{
	struct topology *t;
	struct err err;

	assert_true(read_text(text, &t, &err) < 0);
	if (!strstr(err.text, why))
		fail_msg("\"%s\" instead of \"%s\"", err.text, why);
}

static void mistakes(void **state)
{
	refused("SwitchName=a Nodes=n1\nSwitchName=a Nodes=n2\n", "topology.conf line 2: switch a is defined twice");
	refused("SwitchName=a Nodes=n1\nSwitchName=b Nodes=n1\n", "line 2: node n1 is connected to two switches");
	refused("SwitchName=a Nodes=n1\nSwitchName=b Switches=c\n", "switch c is listed below b but is not defined");
	refused("SwitchName=l Nodes=n1\nSwitchName=a Switches=b\nSwitchName=b Switches=a\n", "is below itself");
	refused("SwitchName=a Nodes=n1\nSwitchName=b Switches=a\nSwitchName=c Switches=a\n", "a is below two others");
	refused("SwitchName=a\n", "a switch needs a name and nodes or other switches");
	refused("Switch=a Nodes=n1\n", "\"Switch\" is not known");
	refused("# nothing\n", "no switch has nodes");
}

/* The fewest leaves that have enough. */
static int fewest(const int64_t *room, int leaves, int64_t count)
{
	int best = -1;

	for (int set = 1; set < 1 << leaves; set++) {
		int64_t sum = 0;
		int n = 0;
		for (int i = 0; i < leaves; i++)
			if (set >> i & 1) {
				sum += room[i];
				n++;
			}
		if (sum >= count && (best < 0 || n < best))
			best = n;
	}
	return best;
}

static void fewest_switches(void **state)
{
	struct topology *t;
	struct err err;

	assert_int_equal(read_text("SwitchName=l[1] Nodes=n1\n", &t, &err), 0);
	topology_free(t);
	assert_int_equal(read_text("SwitchName=a Nodes=n[1-4]\nSwitchName=b Nodes=n[5-8]\nSwitchName=c Nodes=n[9-12]\n"
				   "SwitchName=d Nodes=n[13-16]\nSwitchName=x Switches=a,b\nSwitchName=y Switches=c,d\n"
				   "SwitchName=top Switches=x,y\n",
				   &t, &err),
			 0);
	for (uint64_t seed = 1; seed <= 2000; seed++) {
		struct cluster *c = cluster_create();
		struct topology *own;
		struct rng r;
		int64_t room[4] = {0};
		int nodes[16], count, span, best;
		uint32_t leaf[16];
		struct frag f[16];
		struct plan *p;
		rng_seed(&r, seed);
		for (int n = 0; n < 16; n++) {
			struct res total = {.v = {rng_range(&r, 1, 3)}};
			char name[16];
			snprintf(name, sizeof name, "n%d", n + 1);
			assert_int_equal(cluster_add_node(c, name, &total, &err), 0);
		}
		assert_int_equal(
			read_text("SwitchName=a Nodes=n[1-4]\nSwitchName=b Nodes=n[5-8]\nSwitchName=c Nodes=n[9-12]\n"
				  "SwitchName=d Nodes=n[13-16]\nSwitchName=x Switches=a,b\nSwitchName=y Switches=c,d\n"
				  "SwitchName=top Switches=x,y\n",
				  &own, &err),
			0);
		cluster_set_topology(c, own);
		p = plan_create(c);
		count = (int)rng_range(&r, 1, 16);
		struct shape one = {.need = {.v = {rng_range(&r, 1, 2)}}};
		for (int n = 0; n < 16; n++)
			room[n / 4] += c->nodes.v[n].total.v[RES_CPU] / one.need.v[RES_CPU];
		for (int i = 0; i < count; i++)
			f[i] = (struct frag){.shape = cluster_shape(c, &one), .node = NODE_ANY};
		struct job *job = cluster_add_job(c);
		job->request = cluster_intern(c, f, (uint32_t)count);
		job->state = STATE_ALLOCATED;
		struct manner m = {.alloc = (enum alloc)rng_below(&r, ALLOC_CONTIGUOUS + 1)};
		best = fewest(room, 4, count);
		if (plan_insert(p, &m, job->id, 1, 2) != (best > 0))
			fail_msg("seed %llu", (unsigned long long)seed);
		plan_check(p);
		if (best > 0) {
			plan_nodes(p, job->id, nodes);
			for (int i = 0; i < count; i++)
				leaf[i] = c->nodes.v[nodes[i]].leaf;
			span = (int)near_span(leaf, (uint32_t)count);
			if (span > best)
				fail_msg("seed %llu, method %d: %d switches, %d are enough", (unsigned long long)seed,
					 m.alloc, span, best);
		}
		plan_destroy(p);
		cluster_destroy(c);
	}
	topology_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(file),
		cmocka_unit_test(mistakes),
		cmocka_unit_test(fewest_switches),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
