/*
 * test_layout.c - partitions that change while jobs have places in the plan, and amounts that
 * change while jobs wait.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "plan/plan.h"
#include "rules/gate.h"
#include "sched/sched.h"
#include "server/job/jobs.h"
#include "server/life/world/world.h"
#include "server/loop.h"
#include "server/server.h"
#include "server/settings/overlays.h"
#include "support/bare.h"
#include "support/site.h"

static int setup(void **state)
{
	return site_setup(state, "n[1-3]:cpus=4", 0);
}

static void ask(struct site *f, const char *method, const char *path, const char *body, int status)
{
	if (site_ask(f, getuid(), method, path, body) != status)
		fail_msg("%s %s: %s", method, path, strbuf_text(&f->a.body));
	server_turn(f->s);
	plan_check(f->s->plan);
}

static void submit(struct site *f, const char *body)
{
	ask(f, "POST", "/v1/jobs", body, 201);
}

/* The policy keeps the place of a job that waits. It is on nodes of which one comes into a
 * partition, and so it gets another. */
static void a_kept_place(void **state)
{
	struct site *f = *state;
	uint32_t waits;

	assert_int_equal(site_set(f, "policy", "artaras"), 200);
	submit(f, "{\"script\":\"true\",\"resources\":[\"nodes=n2:ppn=4+n3:ppn=4\",\"walltime=1000\"]}");
	submit(f, "{\"script\":\"true\",\"resources\":[\"nodes=2:ppn=4\",\"walltime=1000\"],\"exclusive\":\"host\"}");
	waits = (uint32_t)f->s->jobs->entries.n - 1;
	assert_true(sched_kept(f->s->sched, waits));
	ask(f, "PUT", "/v1/partitions/A", "{}", 201);
	ask(f, "PATCH", "/v1/partitions/A", "{\"changes\":[{\"op\":\"set\",\"name\":\"nodes\",\"value\":\"n1\"}]}",
	    200);
	assert_true(sched_kept(f->s->sched, waits));
	for (uint32_t i = 0; i < 2; i++)
		assert_true(plan_place(f->s->plan, waits, i)->node > 0);
	ask(f, "POST", "/v1/jobs/delete", "{\"ids\":[\"2\"]}", 200);
}

/* The configuration file has other partitions when the server is started again, and a job runs
 * on nodes in and outside of them. */
static void a_running_job(void **state)
{
	struct site *f = *state;
	const struct bare_attempt *x;

	submit(f, "{\"script\":\"true\",\"resources\":[\"nodes=3:ppn=4\",\"walltime=1000\"],\"exclusive\":\"host\"}");
	assert_int_equal(bare_attempts(&x), 1);
	bare_started(f->s, x->tag);
	f->nodes = "n[1-2]:cpus=4:partition=A n3:cpus=4";
	site_reopen(f);
	plan_check(f->s->plan);
	submit(f, "{\"script\":\"true\",\"resources\":[\"partition=A\",\"walltime=1000\"]}");
	ask(f, "POST", "/v1/jobs/delete", "{\"ids\":[\"1\"],\"purge\":true}", 200);
}

/* What the site has less of than a job asks for does not come with nodes of an overlay. */
static void an_amount_that_is_gone(void **state)
{
	struct site *f = *state;
	struct overlay *o = overlay_add(f->s, "cloud",
					&(struct overlay){.place = mem_strdup("slurm"),
							  .tag = mem_strdup("slurm:shunt-bag-0123456789ab"),
							  .nodes = 4,
							  .cpus = 4,
							  .seconds = 3600});

	overlay_store(f->s, o);
	world_changed(f->s);
	assert_int_equal(site_set(f, "resources_available.matlab", "1"), 200);
	submit(f, "{\"script\":\"true\",\"hold\":\"u\",\"resources\":[\"ncpus=1,matlab=1,walltime=60\"]}");
	assert_int_equal(gate_blocks(f->s->gate, 1) & BLOCK_MISFIT, 0);
	assert_int_equal(site_set(f, "resources_available.matlab", "0"), 200);
	assert_int_not_equal(gate_blocks(f->s->gate, 1) & BLOCK_MISFIT, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_kept_place, setup, site_teardown),
		cmocka_unit_test_setup_teardown(a_running_job, setup, site_teardown),
		cmocka_unit_test_setup_teardown(an_amount_that_is_gone, setup, site_teardown),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
