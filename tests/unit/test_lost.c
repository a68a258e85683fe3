/*
 * test_lost.c - the jobs of a host that is silent are given up when their leases have ended for
 * certain: not before every host had the time to call a server that begins to lead, nor because
 * another batch system says that the host is gone, or because a machine joins by its name.
 */
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
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
#include "server/settings/conf.h"
#include "server/site/realm.h"
#include "server/site/revoke.h"
#include "support/bare.h"
#include "support/site.h"
#include "tls/revoked.h"

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

static const char facts[] = "{\"cpus\": 2, \"memory\": 1048576}";

static int node_join(struct site *f, uint64_t *join, struct err *err)
{
	json_t *known = json_loads(facts, 0, NULL);
	int rc = nodes_join(f->s, "far", known, "root", join, err);

	json_decref(known);
	return rc;
}

/* Starts a job on a host, with that lease in seconds; returns the number of the host's join. */
static uint64_t job_run(struct site *f, const char *lease)
{
	const struct bare_attempt *all;
	uint64_t join = 0;

	assert_int_equal(site_set(f, "node_down_after", "1"), 200);
	assert_int_equal(site_set(f, "node_lost_after", lease), 200);
	assert_int_equal(site_set(f, "kill_delay", "1"), 200);
	f->s->realm->authority.secret = mem_strdup("secret"); /* its job's token is made of it */
	assert_int_equal(node_join(f, &join, NULL), 0);
	bare_agent_hear(f->s, &(struct cert_names){CERT_NODE, "far", join}, facts, NULL);
	assert_int_equal(site_ask(f, getuid(), "POST", "/v1/jobs",
				  "{\"script\":\"x\",\"resources\":[\"nodes=far:ppn=1\",\"walltime=1000\"]}"),
			 201);
	server_turn(f->s);
	assert_int_equal(bare_attempts(&all), 1);
	bare_started(f->s, all[0].tag);
	server_turn(f->s);
	return join;
}

/* A job runs on a host that falls silent then. */
static void job_start(struct site *f)
{
	job_run(f, "2");
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

static size_t attempts(void)
{
	const struct bare_attempt *all;

	return bare_attempts(&all);
}

/* Seconds until the host is gone, at most `most`; nothing of its job may have been given up
 * before its lease, of 2 s, and the time to kill it have ended. */
static int gone_after(struct site *f, int most)
{
	int n = 0;

	for (; n < most && !node_gone(&far(f)->life); n++) {
		if (n < 3)
			assert_int_equal(attempts(), 1);
		bare_clock((NOW + n + 1) * 1000000);
		server_turn(f->s);
	}
	return n;
}

static void remove_far(struct site *f, enum removal how)
{
	uint32_t node;

	assert_true(names_find(&f->s->cluster->node_names, "far", &node));
	assert_int_equal(nodes_remove(f->s, node, how, "test", NULL), 0);
}

/* An overlay's node that is not heard: its allocation is over, as the other batch system says. */
static void allocation_over(void **state)
{
	struct site *f = *state;

	f->s->realm->lead_us = f->s->clock->boot_us - INT64_C(600000000);
	job_start(f);
	remove_far(f, REMOVE_ENDED);
	assert_in_range(gone_after(f, 100), 3, 99);
	assert_int_equal(attempts(), 0);
}

/* The same, and its agent is known to have ended. */
static void allocation_ended(void **state)
{
	struct site *f = *state;

	job_start(f);
	json_object_set_new(far(f)->agent->facts, "guest", json_true());
	far(f)->agent->ended = true;
	remove_far(f, REMOVE_ENDED);
	bare_clock((NOW + 1) * 1000000);
	server_turn(f->s);
	assert_int_equal(attempts(), 0);
}

/* An administrator who removes a node by force vouches that nothing of it runs. */
static void removed_by_force(void **state)
{
	struct site *f = *state;

	job_start(f);
	remove_far(f, REMOVE_DEAD);
	assert_int_equal(attempts(), 0);
}

/* A node that is there and is cut off before it has ended its job: the job waits for its lease,
 * which is longer than the time in which it was to end. */
static void cut_off_while_leaving(void **state)
{
	struct site *f = *state;
	int n = 0;

	f->s->realm->lead_us = f->s->clock->boot_us - INT64_C(600000000);
	job_run(f, "200");
	remove_far(f, REMOVE_DEAD);
	bare_agent_go(false);
	for (; n < 190; n++) {
		bare_clock((NOW + n + 1) * 1000000);
		server_turn(f->s);
		assert_int_equal(attempts(), 1);
	}
	for (; n < 300 && !node_gone(&far(f)->life); n++) {
		bare_clock((NOW + n + 1) * 1000000);
		server_turn(f->s);
	}
	assert_in_range(n, 200, 299);
}

/* A server that was stopped in order has suspended leases. A guest ends what it has
 * nevertheless, ten minutes after it has heard its last server. */
static void guest_after_bye(void **state)
{
	struct site *f = *state;
	int n = 0;

	f->s->realm->lead_us = f->s->clock->boot_us;
	job_run(f, "2");
	json_object_set_new(far(f)->agent->facts, "guest", json_true());
	bare_agent_go(false);
	far(f)->agent->bye = true;
	remove_far(f, REMOVE_ENDED);
	for (; n < 2000 && !node_gone(&far(f)->life); n++) {
		bare_clock((NOW + n + 1) * 1000000);
		server_turn(f->s);
	}
	assert_in_range(n, GUEST_ALONE_MOST, 1999);
}

/* A machine that joins by the name of a node that is silent does not make its jobs run again
 * while they may still run. */
static void joined_by_its_name(void **state)
{
	struct site *f = *state;
	uint64_t join = 0;
	struct err err;

	f->s->realm->lead_us = f->s->clock->boot_us - INT64_C(600000000);
	job_start(f);
	assert_true(node_join(f, &join, &err) < 0);
	assert_non_null(strstr(err.text, "1 job may still run on the machine that was node far before"));
	assert_int_equal(attempts(), 1);
	lost_after(f, NOW, 100);
	assert_int_equal(attempts(), 0);
	assert_int_equal(node_join(f, &join, &err), 0);
}

/* A node that shows its old certificate keeps the number of its join, and its jobs. */
static void joined_again(void **state)
{
	struct site *f = *state;
	uint64_t join = job_run(f, "2");

	bare_agent_go(false);
	assert_int_equal(node_join(f, &join, NULL), 0);
	assert_int_equal(attempts(), 1);
}

static bool far_revoked(struct site *f, uint64_t join)
{
	return revoked_has(revoked_list(f->s), &(struct cert_names){CERT_NODE, "far", join});
}

/* Another machine that joins by the name of a node revokes that one's certificate, until a
 * month after it would have expired; also after a restart of the server. */
static void certificate_is_revoked(void **state)
{
	struct site *f = *state;
	uint64_t join = 0, again = 0;
	int64_t life = f->s->conf->certificate_life;

	assert_int_equal(node_join(f, &join, NULL), 0);
	assert_int_equal(far(f)->certified, NOW + life);
	assert_false(far_revoked(f, join));
	assert_int_equal(node_join(f, &again, NULL), 0);
	server_turn(f->s);
	bare_clock((NOW + life + 29 * 86400) * 1000000);
	for (int i = 0; i < 2; i++) {
		assert_true(far_revoked(f, join));
		assert_false(far_revoked(f, again));
		site_reopen(f);
	}
	assert_int_equal(far(f)->certified, NOW + life);
	bare_clock((NOW + life + 31 * 86400) * 1000000);
	site_reopen(f);
	assert_false(far_revoked(f, join));
}

/* Jobs that start before it connects send their output where it was. */
static void address_is_kept(void **state)
{
	struct site *f = *state;
	uint64_t join = 0, again = 0;

	assert_int_equal(node_join(f, &join, NULL), 0);
	strcpy(far(f)->agent->address, "192.0.2.5:7723");
	assert_int_equal(node_join(f, &again, NULL), 0);
	assert_true(again != join);
	assert_string_equal(far(f)->agent->address, "192.0.2.5:7723");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(every_host_may_call, setup, site_teardown),
		cmocka_unit_test_setup_teardown(silence_counts_later, setup, site_teardown),
		cmocka_unit_test_setup_teardown(allocation_over, setup, site_teardown),
		cmocka_unit_test_setup_teardown(allocation_ended, setup, site_teardown),
		cmocka_unit_test_setup_teardown(removed_by_force, setup, site_teardown),
		cmocka_unit_test_setup_teardown(cut_off_while_leaving, setup, site_teardown),
		cmocka_unit_test_setup_teardown(guest_after_bye, setup, site_teardown),
		cmocka_unit_test_setup_teardown(joined_by_its_name, setup, site_teardown),
		cmocka_unit_test_setup_teardown(joined_again, setup, site_teardown),
		cmocka_unit_test_setup_teardown(certificate_is_revoked, setup, site_teardown),
		cmocka_unit_test_setup_teardown(address_is_kept, setup, site_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
