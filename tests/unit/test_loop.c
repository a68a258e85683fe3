/*
 * test_loop.c - the loop never waits for somebody to call while it has something to do; and what
 * comes in while a server takes over.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <uv.h>

#include "base/err.h"
#include "server/api/stream/journal.h"
#include "server/base/turn.h"
#include "server/link/standby.h"
#include "server/loop.h"
#include "server/server.h"
#include "server/site/realm.h"
#include "support/bare.h"
#include "support/site.h"

#define NODES "n1:cpus=4:mem=8gb"

/* What a test does before each poll, after the server has prepared for it. */
struct watch_loop {
	uv_prepare_t prepare;
	struct server *s;
	void (*before)(struct watch_loop *w);
	int polls;
	int waits; /* polls in which the loop would have slept without a time to wake up */
};

static int setup(void **state)
{
	return site_setup(state, NODES, 0);
}

/* Nobody calls in this test: a poll without the server's own timer would never end. */
static void on_prepare(uv_prepare_t *p)
{
	struct watch_loop *w = p->data;

	w->polls++;
	if (w->before)
		w->before(w);
	if (w->s->turn->stopped || uv_is_active((uv_handle_t *)&w->s->turn->timer))
		return;
	w->waits++;
	uv_stop(w->s->loop);
}

/* Until the loop has ended, or would sleep for ever. */
static void run(struct site *f, struct watch_loop *w, void (*before)(struct watch_loop *w))
{
	struct err err;

	*w = (struct watch_loop){.s = f->s, .before = before};
	assert_int_equal(loop_open(f->s, -1, &err), 0);
	uv_prepare_init(f->s->loop, &w->prepare);
	w->prepare.data = w;
	uv_prepare_start(&w->prepare, on_prepare); /* handles that are started later come first */
	loop_run(f->s);
	uv_prepare_stop(&w->prepare);
	uv_close((uv_handle_t *)&w->prepare, NULL);
	uv_signal_stop(&f->s->turn->term);
	uv_signal_stop(&f->s->turn->interrupt);
	uv_signal_stop(&f->s->turn->hangup);
	uv_run(f->s->loop, UV_RUN_NOWAIT); /* it is closed */
}

/* A few turns, then the end. */
static void terminate(struct watch_loop *w)
{
	if (w->polls < 4)
		raise(SIGHUP);
	else if (w->polls == 4)
		raise(SIGTERM);
}

/* The shutdown is written to the event log, in one turn that it begins, in the next that it is
 * complete; only then the server ends. */
static void stop_with_a_log(void **state)
{
	struct site *f = *state;
	struct watch_loop w;

	assert_int_equal(site_set(f, "log_events", "shutdown"), 200);
	run(f, &w, terminate);
	assert_int_equal(w.waits, 0);
	assert_true(f->s->turn->stopped);
	assert_false(journal_waits(f->s));
}

/* What is done between setting the time to wake up and the poll may take longer than that time. */
static void on_check(uv_check_t *c)
{
	struct watch_loop *w = c->data;

	if (w->polls == 3)
		uv_timer_start(&w->s->turn->timer, w->s->turn->timer.timer_cb, 0, 0);
}

static void late(void **state)
{
	struct site *f = *state;
	struct watch_loop w;
	uv_check_t check = {.data = &w};

	uv_check_init(f->s->loop, &check);
	uv_check_start(&check, on_check);
	run(f, &w, terminate);
	uv_check_stop(&check);
	uv_close((uv_handle_t *)&check, NULL);
	uv_run(f->s->loop, UV_RUN_NOWAIT);
	assert_int_equal(w.waits, 0);
	assert_true(f->s->turn->stopped);
}

/* In the turn in which it takes the lead, nothing of the store was read yet: neither jobs nor
 * tokens. */
struct take_over {
	uv_prepare_t prepare;
	struct site *f;
	uint64_t epoch;
	int status;
};

static void on_taken(uv_prepare_t *p)
{
	struct take_over *t = p->data;

	if (t->f->s->realm->epoch != t->epoch && !t->status)
		t->status = site_ask(t->f, getuid(), "GET", "/v1/jobs", NULL);
}

static void take_over(void **state)
{
	struct site *f = *state;
	struct take_over t = {.f = f};
	struct err err;

	assert_int_equal(site_ask(f, getuid(), "GET", "/v1/jobs", NULL), 200); /* its user is known now */
	assert_int_equal(lead_take(f->s, &err), 0);
	t.epoch = f->s->realm->epoch;
	t.prepare.data = &t;
	uv_prepare_init(f->s->loop, &t.prepare);
	uv_prepare_start(&t.prepare, on_taken);
	assert_int_equal(standby_wait(f->s), 0);
	uv_close((uv_handle_t *)&t.prepare, NULL);
	uv_run(f->s->loop, UV_RUN_NOWAIT);
	/* From libuv 1.45 on timers come last in a turn: the loop has stopped before anybody can ask. */
	bool asked = uv_version() < 0x012d00;
	assert_int_equal(t.status, asked ? 503 : 0);
	if (asked)
		assert_non_null(strstr(f->a.body.text, "about to take over"));
	assert_int_equal(site_ask(f, getuid(), "GET", "/v1/jobs", NULL), 200);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(stop_with_a_log, setup, site_teardown),
		cmocka_unit_test_setup_teardown(late, setup, site_teardown),
		cmocka_unit_test_setup_teardown(take_over, setup, site_teardown),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
