/*
 * test_gang_restart.c - attempts on several hosts while the server is started again.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine/engine_internal.h"
#include "support/hosts.h"
#include "support/until.h"

static bool all_know(void *context, const char *tag)
{
	return true;
}

static void test_restart_running(void **state)
{
	struct hosts *w = *state;

	run_until_go(w, "1.1", "123");
	hosts_restart(w);
	assert_int_equal(hosts_attach(w, "1.1", "123"), ATTEMPT_UNKNOWN);
	engine_sweep(w->e, nobody_knows, NULL);
	host_heal(w, 2);
	host_heal(w, 3);
	assert_int_equal(w->tales.n, 0);
	host_heal(w, 1);
	hosts_await(w, hosts_told(w, TOLD_STARTED, "1.1"));
	go(w, 1, "1.1");
	ended_well(w, "1.1");

	run_until_go(w, "2.1", "12"); /* it ends while nobody looks; its room is in no hurry */
	hosts_restart(w);
	go(w, 1, "2.1");
	hosts_await(w, hosts_live(w, 1, "2.1") == LIVE_ENDED);
	host_heal(w, 1); /* before it is asked for */
	assert_int_equal(hosts_attach(w, "2.1", "12"), ATTEMPT_UNKNOWN);
	engine_sweep(w->e, nobody_knows, NULL);
	host_heal(w, 2);
	ended_well(w, "2.1");
}

static void test_restart_starting(void **state)
{
	struct hosts *w = *state;

	hosts_start(w, "1.1", "touch ran", "123"); /* the other parts are ready, the script was never ordered */
	hosts_await(w, hosts_live(w, 2, "1.1") == LIVE_RUNNING);
	host_cut(w, 1);
	hosts_restart(w);
	assert_int_equal(hosts_attach(w, "1.1", "123"), ATTEMPT_UNKNOWN);
	engine_sweep(w->e, nobody_knows, NULL);
	for (int i = 1; i <= 3; i++)
		host_heal(w, i);
	struct tale t = hosts_tale(w, "1.1");
	assert_int_equal(t.what, TOLD_REFUSED);
	assert_null(t.text);
	hosts_await(w, hosts_empty(w));

	hosts_restart(w); /* nothing of it left the server */
	host_heal(w, 1);
	assert_int_equal(hosts_attach(w, "2.1", "1"), ATTEMPT_NEVER);
	assert_int_equal(hosts_attach(w, "3.1", "2"), ATTEMPT_UNKNOWN);
	engine_sweep(w->e, nobody_knows, NULL);
	host_heal(w, 2);
	t = hosts_tale(w, "3.1");
	assert_int_equal(t.what, TOLD_REFUSED);
	assert_null(t.text);
	host_heal(w, 3);
	assert_null(hosts_file(w, 1, "ran"));
}

static void test_restart_ending(void **state)
{
	struct hosts *w = *state;

	run_until_go(w, "1.1", "123"); /* the script has ended, the other parts have not */
	host_cut(w, 3);
	go(w, 1, "1.1");
	hosts_await(w, hosts_live(w, 2, "1.1") == LIVE_ENDED);
	hosts_restart(w);
	hosts_attach(w, "1.1", "123");
	engine_sweep(w->e, nobody_knows, NULL);
	for (int i = 1; i <= 3; i++)
		host_heal(w, i);
	ended_well(w, "1.1");

	run_until_go(w, "2.1", "12"); /* told, not stored */
	go(w, 1, "2.1");
	hosts_await(w, hosts_told(w, TOLD_ENDED, "2.1"));
	hosts_restart(w);
	hosts_attach(w, "2.1", "12");
	engine_sweep(w->e, nobody_knows, NULL);
	for (int i = 1; i <= 3; i++)
		host_heal(w, i);
	ended_well(w, "2.1");

	run_until_go(w, "3.1", "123"); /* a room was killed meanwhile */
	hosts_restart(w);
	kill(hosts_shepherd(w, 2, "3.1"), SIGKILL);
	hosts_await(w, hosts_live(w, 2, "3.1") == LIVE_LOST);
	hosts_attach(w, "3.1", "123");
	engine_signal(w->e, "3.1", SIGUSR1);
	engine_sweep(w->e, nobody_knows, NULL);
	host_heal(w, 2);
	for (int i = 0; i < 20; i++)
		hosts_turn(w);
	assert_int_equal(w->tales.n, 0);
	host_heal(w, 1);
	host_heal(w, 3);
	struct tale t = hosts_tale(w, "3.1");
	assert_int_equal(t.what, TOLD_LOST);
	contains(t.text, "its part on n2 was lost");
}

static void test_restart_here(void **state)
{
	struct hosts *w = *state;

	run_until_go(w, "1.1", "01");
	run_until_go(w, "2.1", "0");
	run_until_go(w, "3.1", "10");
	hosts_restart(w);
	assert_int_equal(hosts_attach(w, "1.1", "01"), ATTEMPT_RUNS);
	assert_int_equal(hosts_attach(w, "2.1", "0"), ATTEMPT_RUNS);
	assert_int_equal(hosts_attach(w, "3.1", "10"), ATTEMPT_UNKNOWN);
	assert_int_equal(hosts_attach(w, "4.1", "0"), ATTEMPT_NEVER);
	engine_sweep(w->e, all_know, NULL);
	for (int i = 1; i <= 3; i++)
		host_heal(w, i);
	go(w, 0, "1.1");
	go(w, 0, "2.1");
	go(w, 1, "3.1");
	for (int i = 1; i <= 3; i++) {
		struct tale t = hosts_tale(w, arena_printf(w->a, "%d.1", i));
		assert_int_equal(t.what, TOLD_ENDED);
		assert_int_equal(t.r.status, 3);
	}
}

/* A script on this machine that ended while no server ran: its end is known before the other part
 * is, and counts all the same. */
static void test_restart_ended_here(void **state)
{
	struct hosts *w = *state;

	run_until_go(w, "1.1", "01");
	go(w, 0, "1.1");
	hosts_await_agents(w, hosts_live(w, 0, "1.1") == LIVE_ENDED);
	hosts_restart(w);
	assert_int_equal(w->tales.n, 0);
	assert_int_equal(hosts_attach(w, "1.1", "01"), ATTEMPT_UNKNOWN);
	assert_int_equal(w->tales.n, 0); /* its room may be running */
	engine_sweep(w->e, all_know, NULL);
	for (int i = 1; i <= 3; i++)
		host_heal(w, i);
	ended_well(w, "1.1");
}

/* Attempts that nobody claims, on hosts that are there before the sweep, and after. */
static void test_sweep(void **state)
{
	struct hosts *w = *state;

	run_until_go(w, "1.1", "1");
	run_until_go(w, "2.1", "2");
	run_until_go(w, "3.1", "3");
	hosts_restart(w);
	assert_int_equal(hosts_attach(w, "3.1", "3"), ATTEMPT_UNKNOWN);
	host_heal(w, 1);
	host_heal(w, 3);
	for (int i = 0; i < 20; i++)
		hosts_turn(w);
	assert_int_equal(hosts_live(w, 1, "1.1"), LIVE_RUNNING); /* the server may not have come to it yet */
	engine_sweep(w->e, nobody_knows, NULL);
	hosts_await(w, hosts_live(w, 1, "1.1") == LIVE_NONE);
	assert_int_equal(hosts_live(w, 2, "2.1"), LIVE_RUNNING);
	host_heal(w, 2);
	hosts_await(w, hosts_live(w, 2, "2.1") == LIVE_NONE);
	go(w, 3, "3.1");
	ended_well(w, "3.1");
	assert_int_equal(hosts_told(w, TOLD_LOST, "1.1") + hosts_told(w, TOLD_ENDED, "1.1"), 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, hosts_setup, hosts_teardown)
#define TEST_HERE(f) cmocka_unit_test_setup_teardown(f, hosts_setup_here, hosts_teardown)

static int tests(void)
{
	const struct CMUnitTest all[] = {
		TEST(test_restart_running),   TEST(test_restart_starting),	  TEST(test_restart_ending),
		TEST_HERE(test_restart_here), TEST_HERE(test_restart_ended_here), TEST(test_sweep),
	};

	return cmocka_run_group_tests_name("gang-restart", all, NULL, NULL);
}

int main(int argc, char **argv)
{
	return nest_main(argc, argv, tests);
}
