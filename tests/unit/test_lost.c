/*
 * test_lost.c - a server that begins to lead gives every host the time to call before it is lost.
 */
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/names.h"
#include "core/cluster.h"
#include "run/lease.h"
#include "server/base/clock.h"
#include "server/link/nodes.h"
#include "server/loop.h"
#include "server/server.h"
#include "server/site/realm.h"
#include "support/bare.h"
#include "support/site.h"

#define NOW INT64_C(1800000000)

static int setup(void **state)
{
	return site_setup(state, "n1:cpus=1", NOW);
}

static struct node_info *far(struct site *f)
{
	uint32_t node;

	assert_true(names_find(&f->s->cluster->node_names, "far", &node));
	return &f->s->hosts->nodes.v[node];
}

static void node_join(struct site *f)
{
	static const char facts[] = "{\"cpus\": 2, \"memory\": 1048576}";
	json_t *known = json_loads(facts, 0, NULL);
	uint64_t join = 0;
	struct err err;

	assert_int_equal(nodes_join(f->s, "far", known, "root", &join, &err), 0);
	bare_agent_hear(f->s, &(struct cert_names){CERT_NODE, "far", join}, facts, NULL);
	json_decref(known);
}

/* A job runs on a host that falls silent then. */
static void job_start(struct site *f)
{
	const struct bare_attempt *all;

	assert_int_equal(site_set(f, "node_down_after", "1"), 200);
	assert_int_equal(site_set(f, "node_lost_after", "2"), 200);
	assert_int_equal(site_set(f, "kill_delay", "1"), 200);
	f->s->realm->authority.secret = mem_strdup("secret"); /* its job's token is made of it */
	node_join(f);
	assert_int_equal(site_ask(f, getuid(), "POST", "/v1/jobs",
				  "{\"script\":\"x\",\"resources\":[\"nodes=far:ppn=1\",\"walltime=1000\"]}"),
			 201);
	server_turn(f->s);
	assert_int_equal(bare_attempts(&all), 1);
	bare_started(f->s, all[0].tag);
	server_turn(f->s);
	bare_agent_go(false);
}

/* Seconds of its lead after which the host is lost, at most `most`. */
static int lost_after(struct site *f, int64_t now, int most)
{
	int n = 0;

	for (; n < most && far(f)->life.link != LINK_LOST; n++) {
		bare_clock((now + n + 1) * 1000000);
		server_turn(f->s);
	}
	return n;
}

static void every_host_may_call(void **state)
{
	struct site *f = *state;
	int n;

	job_start(f);
	bare_clock((NOW + 600) * 1000000);
	site_reopen(f);
	f->s->realm->lead_us = f->s->clock->boot_us;
	n = lost_after(f, NOW + 600, 100);
	assert_in_range(n, CALL_PAUSE_MOST + CALL_WELCOME_MOST, 99);
}

/* Nobody waits for that once the server has led for longer. */
static void silence_counts_later(void **state)
{
	struct site *f = *state;

	f->s->realm->lead_us = f->s->clock->boot_us - INT64_C(600000000);
	job_start(f);
	assert_in_range(lost_after(f, NOW, 100), 3, CALL_PAUSE_MOST + CALL_WELCOME_MOST - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(every_host_may_call, setup, site_teardown),
		cmocka_unit_test_setup_teardown(silence_counts_later, setup, site_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
