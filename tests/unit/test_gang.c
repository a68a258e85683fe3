/*
 * test_gang.c - attempts on several hosts: what is decided, case by case, and then with real jobs whose hosts come and go.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/engine_internal.h"
#include "support/hosts.h"

static void contains(const char *text, const char *part)
{
	if (!text || !strstr(text, part))
		fail_msg("'%s' does not hold '%s'", text ? text : "(nothing)", part);
}

/* ---- deciding ---- */

struct decision {
	const char *parts; /* Waits Ordered o(pening) Runs Away Ended Lost Never; small e, l: asked to, by the server */
	const char *flags; /* f: not flushed, s: started was told, x: ending, b: broken, t: told */
	enum result_cause cause; /* of the script */
	enum gang_move move;
};

static const struct decision decisions[] = {
	/* an attempt on one host */
	{"W", "f", 0, MOVE_NONE},
	{"W", "", 0, MOVE_SCRIPT},
	{"O", "", 0, MOVE_NONE},
	{"R", "", 0, MOVE_STARTED},
	{"R", "s", 0, MOVE_NONE},
	{"E", "s", 0, MOVE_ENDED},
	{"E", "", 0, MOVE_ENDED},
	{"E", "s", CAUSE_LEASE, MOVE_LOST},
	{"E", "st", 0, MOVE_NONE},
	{"L", "s", 0, MOVE_LOST},
	{"N", "", 0, MOVE_REFUSED},
	{"A", "", 0, MOVE_NONE},
	/* rooms first, all of them, then the script */
	{"WWW", "f", 0, MOVE_NONE},
	{"WWW", "", 0, MOVE_ROOMS},
	{"WOO", "", 0, MOVE_NONE},
	{"WRo", "", 0, MOVE_NONE},
	{"WRR", "", 0, MOVE_SCRIPT},
	{"ORR", "", 0, MOVE_NONE},
	{"RRR", "", 0, MOVE_STARTED},
	{"RRR", "s", 0, MOVE_NONE},
	/* one that does not start releases the others */
	{"WRN", "", 0, MOVE_END},
	{"WNO", "", 0, MOVE_END},
	{"WRE", "", 0, MOVE_END},
	{"WRL", "", 0, MOVE_END},
	{"WNN", "", 0, MOVE_END},
	{"NRN", "x", 0, MOVE_NONE},
	{"NEN", "x", 0, MOVE_REFUSED},
	{"NRR", "", 0, MOVE_END},
	{"NNN", "", 0, MOVE_REFUSED},
	/* the script ends, then the rooms */
	{"ERR", "s", 0, MOVE_END},
	{"ERR", "sx", 0, MOVE_NONE},
	{"EER", "sx", 0, MOVE_NONE},
	{"EAE", "sx", 0, MOVE_NONE},
	{"EEE", "sx", 0, MOVE_ENDED},
	{"EEL", "sx", 0, MOVE_ENDED},
	{"EEE", "sx", CAUSE_LEASE, MOVE_LOST},
	{"LEE", "sx", 0, MOVE_LOST},
	/* a room goes first */
	{"RRE", "s", 0, MOVE_END},
	{"RRL", "s", 0, MOVE_END},
	{"ORE", "", 0, MOVE_END},
	{"RRE", "sxb", 0, MOVE_NONE},
	{"EEE", "sxb", 0, MOVE_LOST},
	{"NEE", "xb", 0, MOVE_REFUSED},
	/* unless it was asked to: then the script decides */
	{"RRe", "s", 0, MOVE_NONE},
	{"Ree", "s", 0, MOVE_NONE},
	{"Eee", "s", CAUSE_ORDERED, MOVE_ENDED},
	/* after a new start of the server */
	{"ARR", "", 0, MOVE_NONE},
	{"AER", "", 0, MOVE_NONE},
	{"AEL", "", 0, MOVE_NONE},
	{"RAA", "s", 0, MOVE_NONE},
	{"EAA", "", 0, MOVE_END},
	{"NAA", "", 0, MOVE_END},
	{"EEE", "", 0, MOVE_ENDED},
	{"EEL", "", 0, MOVE_ENDED},
	{"EEL", "", CAUSE_ORDERED, MOVE_LOST},
	{"EEE", "", CAUSE_ORDERED, MOVE_ENDED},
};

static void test_step(void **state)
{
	static const char letters[] = "WOoRAELN";
	static const enum part_state states[] = {PART_WAITS, PART_ORDERED, PART_OPENING, PART_RUNS,
						 PART_AWAY,  PART_ENDED,   PART_LOST,	 PART_NEVER};

	for (size_t i = 0; i < sizeof decisions / sizeof *decisions; i++) {
		const struct decision *d = &decisions[i];
		struct result results[4] = {{.cause = d->cause}};
		struct gang *g = mem_zalloc(sizeof *g + 4 * sizeof *g->part);
		g->n = (int)strlen(d->parts);
		for (int k = 0; k < g->n; k++) {
			char c = d->parts[k];
			g->part[k].gang = g;
			g->part[k].result = &results[k];
			g->part[k].asked = c == 'e' || c == 'l';
			c = c == 'e' ? 'E' : c == 'l' ? 'L' : c;
			g->part[k].state = states[strchr(letters, c) - letters];
		}
		g->released = !strchr(d->flags, 'f');
		g->started = strchr(d->flags, 's');
		g->ending = strchr(d->flags, 'x') ? SIGTERM : 0;
		g->broken = strchr(d->flags, 'b') ? 1 : 0;
		g->told = strchr(d->flags, 't');
		if (gang_step(g) != d->move)
			fail_msg("%s %s cause %d: move %d instead of %d", d->parts, d->flags, d->cause, gang_step(g),
				 d->move);
		free(g);
	}
}

/* ---- jobs that run until they are told to end ---- */

static bool nobody_knows(void *context, const char *tag)
{
	return false;
}

/* A script that runs until go() is called for it. */
static char *until_go(struct hosts *w, const char *tag)
{
	return arena_printf(w->a, "echo $$ >on.%s; while [ ! -e go.%s ]; do sleep 0.01; done; exit 3", tag, tag);
}

static void go(struct hosts *w, int i, const char *tag)
{
	hosts_touch(w, i, arena_printf(w->a, "go.%s", tag));
}

static void run_until_go(struct hosts *w, const char *tag, const char *hosts)
{
	hosts_start(w, tag, until_go(w, tag), hosts);
	hosts_await(w, hosts_told(w, TOLD_STARTED, tag));
	hosts_await(w, hosts_file(w, hosts[0] - '0', arena_printf(w->a, "on.%s", tag)));
}

static void ended_well(struct hosts *w, const char *tag)
{
	struct tale t = hosts_tale(w, tag);

	if (t.what != TOLD_ENDED)
		fail_msg("%s: told %d: %s", tag, t.what, t.text ? t.text : "(nothing)");
	assert_int_equal(t.r.how, RESULT_EXITED);
	assert_int_equal(t.r.status, 3);
	hosts_await(w, hosts_empty(w));
	assert_int_equal(hosts_told(w, TOLD_ENDED, tag), 1);
	assert_int_equal(hosts_told(w, TOLD_LOST, tag) + hosts_told(w, TOLD_REFUSED, tag), 0);
}

/* Only the hosts' side goes on; the server hears nothing. */
#define hosts_await_agents(w, condition)                                                                               \
	do {                                                                                                           \
		for (int patience_ = 0; !(condition); patience_++) {                                                   \
			if (patience_ > 30000)                                                                         \
				fail_msg("%s:%d: %s does not come", __FILE__, __LINE__, #condition);                   \
			uv_run((w)->agents, UV_RUN_NOWAIT);                                                            \
			usleep(1000);                                                                                  \
		}                                                                                                      \
	} while (0)

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

	g = hosts_parts(w, "3.1", "touch ran", "123"); /* the script's own part, when all rooms are open */
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
	contains(hosts_tale(w, "1.1").text, "its script has 1048577 bytes");
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

	/* The rooms end at SIGTERM, the script takes its time and says how it ended. */
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
	hosts_await(w, hosts_file(w, 1, "usr"));
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

/* What is ordered while the host is away is done when it is back, and what happened there meanwhile is told. */
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

	/* The next attempt begins there. Its shepherd is killed, and what there was is told with the loss. */
	w->saves = (struct saves){0};
	save_start(w, "1.2", "1");
	hosts_await(w, w->saves.restarted >= 3);
	assert_string_equal(hosts_file(w, 1, "arguments"), "<>\n<-Restart>\n");
	w->saves = (struct saves){0};
	kill(hosts_shepherd(w, 1, "1.2"), SIGKILL);
	assert_int_equal(hosts_tale(w, "1.2").what, TOLD_LOST);
	assert_true(w->saves.number >= 3);
}

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

	run_until_go(w, "2.1", "12"); /* that it may be forgotten is lost */
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

	run_until_go(w, "2.1", "123"); /* back before the loss could be told: a room is away, too */
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
	engine_host_lost(w->e, "n9"); /* nobody */
	engine_host_down(w->e, "n9");
}

/* ---- the server is started again ---- */

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

	hosts_start(w, "1.1", "touch ran", "123"); /* the rooms are open, the script was never ordered */
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

	run_until_go(w, "1.1", "123"); /* the script has ended, its rooms have not */
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

/* ---- what hosts say that they should not ---- */

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

	run_until_go(w, "2.1", "12"); /* numbers that are no numbers of anything */
	json_t *head = json_loads(
		"{\"t\":\"ended\",\"result\":{\"tag\":\"2.1\",\"how\":\"exited\",\"cpu_ms\":2305843009213693951,"
		"\"memory_kib\":2305843009213693951}}",
		0, NULL);
	engine_frame(w->e, "n1", head, NULL, 0);
	engine_frame(w->e, "n2", head, NULL, 0);
	json_decref(head);
	struct tale t = hosts_tale(w, "2.1");
	assert_true(t.r.cpu_ms == INT64_MAX / 4 * 2 && t.r.memory_kib == t.r.cpu_ms);
	go(w, 1, "2.1");
	kill(hosts_shepherd(w, 2, "2.1"), SIGTERM);
	engine_sweep(w->e, nobody_knows, NULL);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, hosts_setup, hosts_teardown)
#define TEST_HERE(f) cmocka_unit_test_setup_teardown(f, hosts_setup_here, hosts_teardown)

static int tests(void)
{
	const struct CMUnitTest all[] = {
		cmocka_unit_test(test_step),
		TEST(test_gang),
		TEST(test_flush),
		TEST_HERE(test_here),
		TEST_HERE(test_many),
		TEST(test_refused),
		TEST(test_not_connected),
		TEST(test_too_long),
		TEST(test_room_killed),
		TEST(test_room_killed_stubborn),
		TEST(test_script_killed),
		TEST(test_lease),
		TEST(test_signals),
		TEST(test_signal_away),
		TEST(test_save),
		TEST(test_cut_order),
		TEST(test_cut_opening),
		TEST(test_cut_running),
		TEST(test_cut_ending),
		TEST(test_host_lost),
		TEST(test_restart_running),
		TEST(test_restart_starting),
		TEST(test_restart_ending),
		TEST_HERE(test_restart_here),
		TEST(test_sweep),
		TEST(test_nonsense),
	};

	return cmocka_run_group_tests_name("gang", all, NULL, NULL);
}

int main(int argc, char **argv)
{
	return nest_main(argc, argv, tests);
}
