/*
 * test_gang_links.c - attempts on several hosts whose links are cut and healed, which are lost, or
 * which say what they should not.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "engine/engine_internal.h"
#include "support/hosts.h"
#include "support/until.h"

/* ---- links cut and healed ---- */

/* An order that was lost with the connection never ran; one whose answer was lost did. */
static void test_cut_order(void **state)
{
	struct hosts *w = *state;

	hosts_start(w, "1.1", "touch ran", "1");
	host_cut(w, 1);
	for (int i = 0; i < 20; i++)
		hosts_turn(w);
	assert_int_equal(w->tales.n, 0);
	host_heal(w, 1);
	struct tale t = hosts_tale(w, "1.1");
	assert_int_equal(t.what, TOLD_REFUSED);
	assert_null(t.text);
	assert_null(hosts_file(w, 1, "ran"));

	hosts_start(w, "2.1", until_go(w, "2.1"), "1");
	uv_run(w->server, UV_RUN_NOWAIT);
	hosts_await_agents(w, hosts_file(w, 1, "on.2.1"));
	host_cut(w, 1);
	assert_int_equal(hosts_told(w, TOLD_STARTED, "2.1"), 0);
	host_heal(w, 1);
	hosts_await(w, hosts_told(w, TOLD_STARTED, "2.1"));
	go(w, 1, "2.1");
	ended_well(w, "2.1");

	hosts_start(w, "3.1", "exit 3", "1"); /* the whole of it */
	uv_run(w->server, UV_RUN_NOWAIT);
	hosts_await_agents(w, hosts_live(w, 1, "3.1") == LIVE_ENDED);
	host_cut(w, 1);
	host_heal(w, 1);
	ended_well(w, "3.1");
}

static void test_cut_opening(void **state)
{
	struct hosts *w = *state;

	hosts_start(w, "1.1", "touch ran", "123"); /* a room's order is lost */
	host_cut(w, 2);
	hosts_await(w, hosts_live(w, 3, "1.1") == LIVE_RUNNING);
	for (int i = 0; i < 50; i++)
		hosts_turn(w);
	assert_int_equal(w->tales.n, 0);
	host_heal(w, 2);
	struct tale t = hosts_tale(w, "1.1");
	assert_int_equal(t.what, TOLD_REFUSED);
	assert_null(t.text);
	hosts_await(w, hosts_empty(w));

	hosts_start(w, "2.1", until_go(w, "2.1"), "123"); /* a room's answers are lost */
	uv_run(w->server, UV_RUN_NOWAIT);
	hosts_await_agents(w, hosts_live(w, 2, "2.1") == LIVE_RUNNING);
	host_cut(w, 2);
	for (int i = 0; i < 50; i++)
		hosts_turn(w);
	assert_false(hosts_logged(w, "n1 order 2.1"));
	host_heal(w, 2);
	hosts_await(w, hosts_told(w, TOLD_STARTED, "2.1"));
	go(w, 1, "2.1");
	ended_well(w, "2.1");
	assert_null(hosts_file(w, 1, "ran"));
}

static void test_cut_running(void **state)
{
	struct hosts *w = *state;

	run_until_go(w, "1.1", "123");
	for (int i = 1; i <= 3; i++)
		host_cut(w, i);
	for (int i = 0; i < 20; i++)
		hosts_turn(w);
	for (int i = 3; i >= 1; i--)
		host_heal(w, i);
	assert_int_equal(w->tales.n, 1); /* started */
	go(w, 1, "1.1");
	ended_well(w, "1.1");

	run_until_go(w, "2.1", "123"); /* it ends meanwhile */
	host_cut(w, 1);
	go(w, 1, "2.1");
	hosts_await(w, hosts_live(w, 1, "2.1") == LIVE_ENDED);
	assert_int_equal(hosts_live(w, 2, "2.1"), LIVE_RUNNING);
	host_heal(w, 1);
	ended_well(w, "2.1");
}

static void test_cut_ending(void **state)
{
	struct hosts *w = *state;

	run_until_go(w, "1.1", "123"); /* a room's host is away when the script ends */
	host_cut(w, 3);
	go(w, 1, "1.1");
	hosts_await(w, hosts_live(w, 2, "1.1") == LIVE_ENDED);
	for (int i = 0; i < 20; i++)
		hosts_turn(w);
	assert_int_equal(hosts_told(w, TOLD_ENDED, "1.1"), 0);
	assert_int_equal(hosts_live(w, 3, "1.1"), LIVE_RUNNING);
	host_heal(w, 3);
	ended_well(w, "1.1");

	run_until_go(w, "2.1", "12"); /* the permission to forget it is lost */
	go(w, 1, "2.1");
	hosts_await(w, hosts_told(w, TOLD_ENDED, "2.1"));
	host_cut(w, 1);
	host_cut(w, 2);
	host_heal(w, 1); /* told again, and not forgotten yet */
	assert_int_equal(hosts_live(w, 1, "2.1"), LIVE_ENDED);
	engine_forget(w->e, "2.1");
	host_cut(w, 1);
	engine_sweep(w->e, nobody_knows, NULL);
	host_heal(w, 1);
	host_heal(w, 2);
	hosts_await(w, hosts_empty(w));
	assert_int_equal(hosts_told(w, TOLD_ENDED, "2.1"), 1);
}

/* ---- hosts lost ---- */

static void test_host_lost(void **state)
{
	struct hosts *w = *state;

	engine_sweep(w->e, nobody_knows, NULL);
	run_until_go(w, "1.1", "123");
	pid_t old = hosts_shepherd(w, 1, "1.1");
	host_cut(w, 1);
	engine_host_lost(w->e, "n1");
	struct tale t = hosts_tale(w, "1.1");
	assert_int_equal(t.what, TOLD_LOST);
	contains(t.text, "n1");
	assert_true(nest_alive(old));
	host_heal(w, 1); /* it comes back with the old attempt */
	hosts_await(w, !nest_alive(old));
	hosts_await(w, hosts_empty(w));
	assert_true(hosts_logged(w, "n1 clean 1.1"));
	assert_int_equal(hosts_told(w, TOLD_LOST, "1.1"), 1);

	run_until_go(w, "2.1", "123"); /* back before the loss could be reported: a part is away as well */
	host_cut(w, 1);
	host_cut(w, 2);
	engine_host_lost(w->e, "n1");
	host_heal(w, 1);
	hosts_await(w, hosts_live(w, 1, "2.1") == LIVE_ENDED); /* kept until the loss is stored */
	assert_int_equal(hosts_told(w, TOLD_LOST, "2.1"), 0);
	host_heal(w, 2);
	t = hosts_tale(w, "2.1");
	assert_int_equal(t.what, TOLD_LOST);
	hosts_await(w, hosts_empty(w));
	assert_true(hosts_logged(w, "n1 clean 2.1"));

	run_until_go(w, "3.1", "12"); /* a room's host: the script is ended */
	host_cut(w, 2);
	engine_host_lost(w->e, "n2");
	t = hosts_tale(w, "3.1");
	assert_int_equal(t.what, TOLD_LOST);
	contains(t.text, "n2");
	host_heal(w, 2);
	hosts_await(w, hosts_empty(w));

	run_until_go(w, "4.1", "1"); /* its result is there, and comes too late */
	host_cut(w, 1);
	go(w, 1, "4.1");
	engine_host_lost(w->e, "n1");
	assert_int_equal(hosts_told(w, TOLD_LOST, "4.1"), 1);
	hosts_await(w, hosts_live(w, 1, "4.1") == LIVE_ENDED);
	host_heal(w, 1);
	engine_forget(w->e, "4.1");
	hosts_await(w, hosts_empty(w));
	assert_int_equal(hosts_told(w, TOLD_ENDED, "4.1"), 0);
	run_until_go(w, "5.1", "12"); /* its program fails with a room's host, which is known to be lost only later */
	host_cut(w, 2);
	go(w, 1, "5.1");
	hosts_await(w, hosts_live(w, 1, "5.1") == LIVE_ENDED);
	for (int i = 0; i < 20; i++)
		hosts_turn(w);
	assert_int_equal(hosts_told(w, TOLD_ENDED, "5.1"), 0);
	engine_host_lost(w->e, "n2");
	t = hosts_tale(w, "5.1");
	assert_int_equal(t.what, TOLD_LOST);
	contains(t.text, "no word came from n2");
	engine_forget(w->e, "5.1");
	host_heal(w, 2);
	hosts_await(w, hosts_empty(w));
	engine_host_lost(w->e, "n9"); /* nobody */
	engine_host_down(w->e, "n9");
}

/* ---- what hosts say that they should not ---- */

/* Lets n1 and n2 report that their parts have ended and used that many milliseconds and KiB. */
static void both_used(struct hosts *w, const char *tag, json_int_t amount)
{
	json_t *head = json_pack("{s:s,s:{s:s,s:s,s:I,s:I}}", "t", "ended", "result", "tag", tag, "how", "exited",
				 "cpu_ms", amount, "memory_kib", amount);

	engine_frame(w->e, "n1", head, NULL, 0);
	engine_frame(w->e, "n2", head, NULL, 0);
	json_decref(head);
}

/* Ends parts that run though their hosts have reported their ends. */
static void both_end(struct hosts *w, const char *tag)
{
	go(w, 1, tag);
	kill(hosts_shepherd(w, 2, tag), SIGTERM);
}

static void test_nonsense(void **state)
{
	static const char *const frames[] = {
		"{}",
		"{\"t\":\"ended\"}",
		"{\"t\":\"ended\",\"result\":7}",
		"{\"t\":\"ended\",\"result\":{\"tag\":\"../x\"}}",
		"{\"t\":\"started\",\"tag\":7}",
		"{\"t\":\"refused\",\"tag\":\"1.1\",\"reason\":\"of another's\"}",
		"{\"t\":\"ended\",\"result\":{\"tag\":\"1.1\",\"how\":\"exited\",\"status\":0}}",
		"{\"t\":\"lost\",\"tag\":\"1.1\"}",
		"{\"t\":\"ready\",\"tag\":\"1.1\"}",
		"{\"t\":\"hello\"}",
	};
	struct hosts *w = *state;

	run_until_go(w, "1.1", "12");
	for (size_t i = 0; i < sizeof frames / sizeof *frames; i++) {
		json_t *head = json_loads(frames[i], 0, NULL);
		engine_frame(w->e, "n3", head, NULL, 0); /* it has no part in it */
		engine_frame(w->e, "n9", head, NULL, 0);
		json_decref(head);
	}
	assert_int_equal(w->tales.n, 1);
	go(w, 1, "1.1");
	ended_well(w, "1.1");

	run_until_go(w, "2.1", "12"); /* each reports the maximum */
	both_used(w, "2.1", RESULT_USE_MAX);
	struct tale t = hosts_tale(w, "2.1");
	assert_int_equal(t.what, TOLD_ENDED);
	assert_true(t.r.cpu_ms == 2 * RESULT_USE_MAX && t.r.memory_kib == t.r.cpu_ms);
	both_end(w, "2.1");

	run_until_go(w, "3.1", "12"); /* and more */
	both_used(w, "3.1", RESULT_USE_MAX + 1);
	assert_int_equal(hosts_tale(w, "3.1").what, TOLD_LOST);
	both_end(w, "3.1");
	engine_sweep(w->e, nobody_knows, NULL);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, hosts_setup, hosts_teardown)

static int tests(void)
{
	const struct CMUnitTest all[] = {
		TEST(test_cut_order),  TEST(test_cut_opening), TEST(test_cut_running),
		TEST(test_cut_ending), TEST(test_host_lost),   TEST(test_nonsense),
	};

	return cmocka_run_group_tests_name("gang-links", all, NULL, NULL);
}

int main(int argc, char **argv)
{
	return nest_main(argc, argv, tests);
}
