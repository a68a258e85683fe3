/*
 * test_gang.c - attempts on several hosts, with real jobs: they start and end, or can't; signals
 * and checkpoints reach all their parts.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "engine/engine_internal.h"
#include "support/hosts.h"
#include "support/until.h"

/* ---- all goes well ---- */

static void test_gang(void **state)
{
	struct hosts *w = *state;

	run_until_go(w, "1.1", "123");
	int script = hosts_logged(w, "n1 order 1.1");
	assert_true(script > hosts_logged(w, "n2 order 1.1") && hosts_logged(w, "n2 order 1.1"));
	assert_true(script > hosts_logged(w, "n3 order 1.1") && hosts_logged(w, "n3 order 1.1"));
	for (int i = 1; i <= 3; i++)
		assert_int_equal(hosts_live(w, i, "1.1"), LIVE_RUNNING);
	assert_false(hosts_logged(w, "n2 signal 1.1"));
	go(w, 1, "1.1");
	struct tale t = hosts_tale(w, "1.1");
	assert_int_equal(t.what, TOLD_ENDED);
	assert_int_equal(t.r.status, 3);
	assert_int_equal(t.r.cause, CAUSE_ITSELF);
	assert_true(t.r.cpu_ms == w->cpu_ms && t.r.memory_kib == w->memory_kib);
	assert_true(hosts_logged(w, "n2 signal 1.1") && hosts_logged(w, "n3 signal 1.1"));
	assert_false(hosts_logged(w, "n1 signal 1.1"));
	hosts_await(w, hosts_empty(w));
	assert_true(hosts_logged(w, "n1 forget 1.1") && hosts_logged(w, "n2 forget 1.1"));
	assert_int_equal(hosts_told(w, TOLD_STARTED, "1.1"), 1);
}

static void test_flush(void **state)
{
	struct hosts *w = *state;
	struct gang_parts g = hosts_parts(w, "1.1", until_go(w, "1.1"), "12");

	engine_start(w->e, g.part, g.n);
	for (int i = 0; i < 20; i++)
		hosts_turn(w);
	assert_int_equal(w->log.n, 0);
	engine_flush(w->e);
	hosts_await(w, hosts_told(w, TOLD_STARTED, "1.1"));
	go(w, 1, "1.1");
	ended_well(w, "1.1");
}

/* A job's parts on the server's own machine: with the script, and as a room. */
static void test_here(void **state)
{
	struct hosts *w = *state;

	run_until_go(w, "1.1", "012");
	assert_int_equal(hosts_live(w, 0, "1.1"), LIVE_RUNNING);
	go(w, 0, "1.1");
	ended_well(w, "1.1");

	run_until_go(w, "2.1", "20");
	assert_int_equal(hosts_live(w, 0, "2.1"), LIVE_RUNNING);
	go(w, 2, "2.1");
	ended_well(w, "2.1");

	run_until_go(w, "3.1", "0");
	engine_signal(w->e, "3.1", SIGKILL);
	engine_flush(w->e);
	assert_int_equal(hosts_tale(w, "3.1").r.cause, CAUSE_ORDERED);

	run_until_go(w, "4.1", "10"); /* a room here is killed */
	kill(hosts_shepherd(w, 0, "4.1"), SIGKILL);
	contains(hosts_tale(w, "4.1").text, "its part on the server's machine was lost");

	struct gang_parts g = hosts_parts(w, "5.1", "exit 0", "01");
	g.part[0].order.out = "relative";
	engine_start(w->e, g.part, g.n);
	engine_flush(w->e);
	contains(hosts_tale(w, "5.1").text, "the server's machine: ");
}

static void test_many(void **state)
{
	struct hosts *w = *state;

	for (int i = 0; i < 500; i++) {
		char tag[16];
		snprintf(tag, sizeof tag, "%d.1", i);
		hosts_start(w, tag, "exit 3", (const char *[]){"0", "1", "2", "3"}[i % 4]);
		if (i % 20 == 0)
			hosts_turn(w);
	}
	for (int i = 0; i < 500; i++) {
		char tag[16];
		snprintf(tag, sizeof tag, "%d.1", i);
		struct tale t = hosts_tale(w, tag);
		assert_int_equal(t.what, TOLD_ENDED);
		assert_int_equal(t.r.status, 3);
		assert_int_equal(hosts_told(w, TOLD_ENDED, tag), 1);
	}
	assert_int_equal(engine_backlog(w->e), 0);
}

/* ---- it can't be started ---- */

static void test_refused(void **state)
{
	struct hosts *w = *state;
	struct gang_parts g = hosts_parts(w, "1.1", "touch ran", "123");

	g.part[1].order.uid = 0; /* nobody's job is root's */
	g.part[1].order.gid = 0;
	g.part[1].order.user = "root";
	engine_start(w->e, g.part, g.n);
	engine_flush(w->e);
	struct tale t = hosts_tale(w, "1.1");
	assert_int_equal(t.what, TOLD_REFUSED);
	contains(t.text, "n2: ");
	contains(t.text, "root");
	assert_string_equal(t.host, "n2");
	assert_true(t.r.unclear);
	hosts_await(w, hosts_empty(w));
	assert_false(hosts_logged(w, "n1 order 1.1"));

	g = hosts_parts(w, "2.1", "touch ran", "123"); /* the prologue of a room fails */
	nest_write(w->far[3].nest, nest_path(w->far[3].nest, "prologue"), "#!/bin/sh\nexit 4\n", 17, 0755);
	g.part[2].order.site.prologue = nest_path(w->far[3].nest, "prologue");
	engine_start(w->e, g.part, g.n);
	engine_flush(w->e);
	t = hosts_tale(w, "2.1");
	assert_int_equal(t.what, TOLD_REFUSED);
	contains(t.text, "n3: ");
	contains(t.text, "prologue");
	assert_string_equal(t.host, "n3");
	assert_true(t.r.unclear);
	hosts_await(w, hosts_empty(w));

	g = hosts_parts(w, "3.1", "touch ran", "123"); /* the script's own part, when all other parts are ready */
	g.part[0].order.uid = 0;
	g.part[0].order.user = "root";
	engine_start(w->e, g.part, g.n);
	engine_flush(w->e);
	t = hosts_tale(w, "3.1");
	assert_int_equal(t.what, TOLD_REFUSED);
	contains(t.text, "n1: ");
	hosts_await(w, hosts_empty(w));

	g = hosts_parts(w, "4.1", "touch ran", "1"); /* alone: the server knows where */
	g.part[0].order.uid = 0;
	g.part[0].order.user = "root";
	engine_start(w->e, g.part, g.n);
	engine_flush(w->e);
	t = hosts_tale(w, "4.1");
	assert_int_equal(t.what, TOLD_REFUSED);
	assert_null(strstr(t.text, "n1: "));
	assert_null(hosts_file(w, 1, "ran"));
	assert_int_equal(hosts_told(w, TOLD_STARTED, "1.1") + hosts_told(w, TOLD_STARTED, "2.1"), 0);
}

static void test_not_connected(void **state)
{
	struct hosts *w = *state;

	host_cut(w, 2);
	hosts_start(w, "1.1", "touch ran", "2");
	hosts_start(w, "2.1", "touch ran", "123");
	hosts_start(w, "3.1", "touch ran", "21");
	for (int i = 1; i <= 3; i++) {
		struct tale t = hosts_tale(w, arena_printf(w->a, "%d.1", i));
		assert_int_equal(t.what, TOLD_REFUSED);
		assert_null(t.text);
	}
	assert_int_equal(w->log.n, 0);
	host_heal(w, 2);
	assert_int_equal(w->log.n, 0);
}

static void test_too_long(void **state)
{
	struct hosts *w = *state;
	size_t n = LINK_DATA_MAX + 1;
	char *script = mem_alloc(n + 1);

	memset(script, '#', n);
	script[n] = '\0';
	hosts_start(w, "1.1", script, "1");
	contains(hosts_tale(w, "1.1").text, "its script has 4194305 bytes");
	free(script);
}

/* ---- it ends otherwise ---- */

static void test_room_killed(void **state)
{
	struct hosts *w = *state;

	run_until_go(w, "1.1", "123");
	kill(hosts_shepherd(w, 3, "1.1"), SIGKILL);
	struct tale t = hosts_tale(w, "1.1");
	assert_int_equal(t.what, TOLD_LOST);
	contains(t.text, "its part on n3 was lost");
	hosts_await(w, hosts_empty(w));

	run_until_go(w, "2.1", "123"); /* somebody there ends it in order */
	kill(hosts_shepherd(w, 2, "2.1"), SIGTERM);
	t = hosts_tale(w, "2.1");
	assert_int_equal(t.what, TOLD_LOST);
	assert_string_equal(t.text, "its part on n2 ended: that host was shut down");
}

/* A script that does not hear SIGTERM is killed after its grace. */
static void test_room_killed_stubborn(void **state)
{
	struct hosts *w = *state;
	struct gang_parts g = hosts_parts(w, "1.1", "trap '' TERM; echo x >on; while :; do sleep 0.01; done", "12");

	g.part[0].order.grace = 0;
	engine_start(w->e, g.part, g.n);
	engine_flush(w->e);
	hosts_await(w, hosts_file(w, 1, "on"));
	kill(hosts_shepherd(w, 2, "1.1"), SIGKILL);
	assert_int_equal(hosts_tale(w, "1.1").what, TOLD_LOST);
}

static void test_script_killed(void **state)
{
	struct hosts *w = *state;

	run_until_go(w, "1.1", "12");
	kill(hosts_shepherd(w, 1, "1.1"), SIGKILL);
	struct tale t = hosts_tale(w, "1.1");
	assert_int_equal(t.what, TOLD_LOST);
	contains(t.text, "its part on n1 was lost");
	run_until_go(w, "2.1", "1");
	kill(hosts_shepherd(w, 1, "2.1"), SIGKILL);
	t = hosts_tale(w, "2.1");
	assert_int_equal(t.what, TOLD_LOST);
	assert_null(t.text);
}

/* A lease that ends is nobody's fault, be it the script's or a room's. */
static void test_lease(void **state)
{
	struct hosts *w = *state;
	struct gang_parts g = hosts_parts(w, "1.1", until_go(w, "1.1"), "12");

	g.part[1].order.lease = 1;
	engine_start(w->e, g.part, g.n);
	engine_flush(w->e);
	struct tale t = hosts_tale(w, "1.1");
	assert_int_equal(t.what, TOLD_LOST);
	contains(t.text, "its part on n2 ended: ");
	contains(t.text, "no word from the server");

	g = hosts_parts(w, "2.1", until_go(w, "2.1"), "1");
	g.part[0].order.lease = 1;
	engine_start(w->e, g.part, g.n);
	engine_flush(w->e);
	t = hosts_tale(w, "2.1");
	assert_int_equal(t.what, TOLD_LOST);
	contains(t.text, "no word from the server");
}

/* ---- signals ---- */

static void test_signals(void **state)
{
	struct hosts *w = *state;

	run_until_go(w, "1.1", "123");
	engine_signal(w->e, "1.1", SIGKILL);
	engine_flush(w->e);
	struct tale t = hosts_tale(w, "1.1");
	assert_int_equal(t.what, TOLD_ENDED);
	assert_int_equal(t.r.cause, CAUSE_ORDERED);
	for (int i = 1; i <= 3; i++)
		assert_true(hosts_logged(w, arena_printf(w->a, "n%d signal 1.1", i)));

	/* The other parts end at SIGTERM, the script takes its time and says how it ended. */
	hosts_start(w, "2.1",
		    "trap 'echo x >heard' TERM; echo x >on.2.1; while [ ! -e go.2.1 ]; do sleep 0.01; done; exit 3",
		    "123");
	hosts_await(w, hosts_file(w, 1, "on.2.1"));
	engine_signal(w->e, "2.1", SIGTERM);
	engine_flush(w->e);
	hosts_await(w, hosts_file(w, 1, "heard"));
	hosts_await(w, hosts_live(w, 2, "2.1") == LIVE_ENDED && hosts_live(w, 3, "2.1") == LIVE_ENDED);
	for (int i = 0; i < 20; i++)
		hosts_turn(w);
	assert_int_equal(hosts_live(w, 1, "2.1"), LIVE_RUNNING);
	go(w, 1, "2.1");
	ended_well(w, "2.1");

	/* Before the script was ordered: it never ran. */
	hosts_start(w, "3.1", "touch ran", "123");
	engine_signal(w->e, "3.1", SIGTERM);
	engine_flush(w->e);
	t = hosts_tale(w, "3.1");
	assert_int_equal(t.what, TOLD_REFUSED);
	assert_null(t.text);
	assert_null(hosts_file(w, 1, "ran"));

	/* Between start and flush. */
	struct gang_parts g = hosts_parts(w, "4.1", "touch ran", "1");
	engine_start(w->e, g.part, g.n);
	engine_signal(w->e, "4.1", SIGKILL);
	engine_flush(w->e);
	assert_int_equal(hosts_tale(w, "4.1").what, TOLD_REFUSED);
	assert_null(hosts_file(w, 1, "ran"));
	engine_signal(w->e, "4.1", SIGKILL);
	engine_signal(w->e, "9.9", SIGKILL); /* nobody */
}

static void test_signal_away(void **state)
{
	struct hosts *w = *state;

	run_until_go(w, "1.1", "123");
	host_cut(w, 1);
	host_cut(w, 3);
	engine_signal(w->e, "1.1", SIGTERM);
	engine_signal(w->e, "1.1", SIGKILL);
	engine_flush(w->e);
	hosts_await(w, hosts_live(w, 2, "1.1") == LIVE_ENDED);
	assert_int_equal(hosts_live(w, 1, "1.1"), LIVE_RUNNING);
	assert_int_equal(hosts_told(w, TOLD_LOST, "1.1") + hosts_told(w, TOLD_ENDED, "1.1"), 0);
	host_heal(w, 1);
	hosts_await(w, hosts_live(w, 1, "1.1") == LIVE_ENDED);
	host_heal(w, 3);
	struct tale t = hosts_tale(w, "1.1");
	assert_int_equal(t.what, TOLD_ENDED);
	assert_int_equal(t.r.cause, CAUSE_ORDERED);

	/* One that is lost with the connection is repeated; SIGUSR1 that arrived is not. */
	hosts_start(w, "2.1", "trap 'echo x >>usr' USR1; echo x >on; while :; do sleep 0.01; done", "1");
	hosts_await(w, hosts_file(w, 1, "on"));
	engine_signal(w->e, "2.1", SIGUSR1);
	hosts_await(w, hosts_file(w, 1, "usr") && *hosts_file(w, 1, "usr"));
	engine_signal(w->e, "2.1", SIGTERM);
	host_cut(w, 1); /* before it is read */
	host_heal(w, 1);
	t = hosts_tale(w, "2.1");
	assert_int_equal(t.what, TOLD_ENDED);
	assert_int_equal(t.r.status, SIGTERM);
	assert_string_equal(hosts_file(w, 1, "usr"), "x\n");

	/* While it is there nothing is given twice. */
	hosts_start(w, "3.1", "trap '' TERM; trap 'echo x >>usr3' USR1; echo x >on3; while :; do sleep 0.01; done",
		    "1");
	hosts_await(w, hosts_file(w, 1, "on3"));
	engine_signal(w->e, "3.1", SIGTERM);
	engine_signal(w->e, "3.1", SIGCONT);
	engine_signal(w->e, "3.1", SIGUSR1);
	hosts_await(w, hosts_file(w, 1, "usr3"));
	int given = 0;
	for (size_t i = 0; i < w->log.n; i++)
		given += strcmp(w->log.v[i], "n1 signal 3.1") == 0;
	assert_int_equal(given, 3);
	engine_signal(w->e, "3.1", SIGKILL);
	assert_int_equal(hosts_tale(w, "3.1").r.status, SIGKILL);
}

/* ---- checkpoints ---- */

static void save_start(struct hosts *w, const char *tag, const char *hosts)
{
	struct gang_parts g = hosts_parts(
		w, tag,
		"echo \"<$1>\" >>arguments; trap ': >$SHUNT_CHECKPOINT_DIR/new/done' USR1\n"
		"trap ': >$SHUNT_CHECKPOINT_DIR/new/done; exit' USR2; echo x >on; while :; do sleep 0.02; done",
		hosts);

	g.part[0].order.checkpoint = (struct order_checkpoint){.method = CHECKPOINT_SIGNAL,
							       .saves_in = "saves",
							       .periodic_signal = SIGUSR1,
							       .preempt_signal = SIGUSR2,
							       .duration = 20,
							       .restart_argument = true};
	engine_start(w->e, g.part, g.n);
	engine_flush(w->e);
}

/* What is ordered while the host is away is done when it is back, and what happened there
 * in the meantime is reported. */
static void test_save(void **state)
{
	struct hosts *w = *state;

	save_start(w, "1.1", "12");
	hosts_await(w, hosts_file(w, 1, "on"));
	engine_save(w->e, "1.1", SAVE_ASKED, 0);
	host_cut(w, 1); /* before it is read */
	engine_settle(w->e);
	assert_int_equal(w->saves.good, 0);
	host_heal(w, 1);
	hosts_await(w, w->saves.state == SAVE_GOOD);
	assert_int_equal(w->saves.number, 1);

	host_cut(w, 1);
	local_save(w->far[1].local, "1.1", SAVE_ASKED, 0);
	local_flush(w->far[1].local);
	hosts_await(w, hosts_file(w, 1, "saves/2/done"));
	struct result r;
	pid_t pid;
	hosts_await(w, live_look(w->far[1].nest->live, "1.1", w->a, &r, &pid) == LIVE_RUNNING && r.saves.number == 2);
	assert_int_equal(w->saves.number, 1);
	host_heal(w, 1);
	hosts_await(w, w->saves.number >= 2);

	engine_save(w->e, "1.1", SAVE_PREEMPTED, 0);
	struct tale t = hosts_tale(w, "1.1");
	assert_int_equal(t.what, TOLD_ENDED);
	assert_int_equal(t.r.cause, CAUSE_ORDERED);
	assert_int_equal(t.r.saves.state, SAVE_GOOD);
	assert_int_equal(t.r.saves.cause, SAVE_PREEMPTED);

	/* The next attempt begins there. Its shepherd is killed, and what there was is reported with
	 * the loss. */
	w->saves = (struct saves){0};
	save_start(w, "1.2", "1");
	hosts_await(w, w->saves.restarted >= 3);
	assert_string_equal(hosts_file(w, 1, "arguments"), "<>\n<-Restart>\n");
	w->saves = (struct saves){0};
	kill(hosts_shepherd(w, 1, "1.2"), SIGKILL);
	assert_int_equal(hosts_tale(w, "1.2").what, TOLD_LOST);
	assert_true(w->saves.number >= 3);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, hosts_setup, hosts_teardown)
#define TEST_HERE(f) cmocka_unit_test_setup_teardown(f, hosts_setup_here, hosts_teardown)

static int tests(void)
{
	const struct CMUnitTest all[] = {
		TEST(test_gang),	  TEST(test_flush),	  TEST_HERE(test_here),
		TEST_HERE(test_many),	  TEST(test_refused),	  TEST(test_not_connected),
		TEST(test_too_long),	  TEST(test_room_killed), TEST(test_room_killed_stubborn),
		TEST(test_script_killed), TEST(test_lease),	  TEST(test_signals),
		TEST(test_signal_away),	  TEST(test_save),
	};

	return cmocka_run_group_tests_name("gang", all, NULL, NULL);
}

int main(int argc, char **argv)
{
	return nest_main(argc, argv, tests);
}
