/*
 * test_owner.c - the owner of a workstation comes first: policies, hysteresis, learned hours.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "core/habit.h"
#include "station/owner.h"

static struct owner_rules rules(const char *text)
{
	struct owner_rules r;
	struct err err;

	if (owner_rules_parse(text, &r, &err) < 0)
		fail_msg("%s", err.text);
	return r;
}

static void test_text(void **state)
{
	struct owner_rules r = rules("idle");
	struct err err;
#define POLICIES                                                                                                       \
	": a workstation is share, idle or hours=Mon-Fri 08:00-18:00, and after a semicolon quiet=5m, return=1m, "     \
	"keep=10 (percent), pressure=no or owners=ana+bo"
	static const struct {
		const char *text, *why;
	} bad[] = {{"", "\"\"" POLICIES},
		   {"often", "\"often\"" POLICIES},
		   {"idle;quiet=", "quiet=: not a duration (use seconds, HH:MM:SS, D:HH:MM:SS or 1d12h)"},
		   {"idle;quiet=-1", "quiet=-1: not a duration (use seconds, HH:MM:SS, D:HH:MM:SS or 1d12h)"},
		   {"idle;return=x", "return=x: not a duration (use seconds, HH:MM:SS, D:HH:MM:SS or 1d12h)"},
		   {"share;keep=91", "\"keep=91\": must be 0 to 90 percent"},
		   {"share;keep=", "\"keep=\": must be 0 to 90 percent"},
		   {"share; keep=/ ", "\"keep=/\": must be 0 to 90 percent"},
		   {"share;keep=:", "\"keep=:\": must be 0 to 90 percent"},
		   {"hours=8-18",
		    "\"8-18\": must be hours such as 19:00-07:00, for every day or after days such as Sat or Mon-Fri"},
		   {"idle;owners=", "\"owners=\"" POLICIES},
		   {"idle;owners=a b", "\"owners=a b\"" POLICIES},
		   {"idle;;", "\"\"" POLICIES},
		   {"hours", "\"hours\"" POLICIES},
		   {"idle;share", "\"share\"" POLICIES},
		   {"share;keep=1x", "\"keep=1x\": must be 0 to 90 percent"},
		   {"share;keep=x", "\"keep=x\": must be 0 to 90 percent"},
		   {"share;pressure=maybe", "\"pressure=maybe\"" POLICIES}};

	assert_int_equal(r.quiet, 300);
	assert_int_equal(r.give_back, 60);
	assert_int_equal(r.keep, 10);
	r = rules("hours=Mon-Fri 08:00-18:00, Sat 09:00-12:00; quiet=2m;return=5; keep=20 ;owners=ana+bo");
	assert_int_equal(r.policy, OWNER_HOURS);
	assert_int_equal(r.hours.n, 6);
	assert_int_equal(r.quiet, 120);
	assert_int_equal(r.give_back, 5);
	assert_int_equal(r.keep, 20);
	assert_string_equal(r.owners, "ana+bo");
	assert_true(r.pressure);
	r = rules("share;keep=90;pressure=no");
	assert_int_equal(r.policy, OWNER_SHARE);
	assert_int_equal(r.keep, 90);
	assert_false(r.pressure);
	r = rules("idle\t; keep=09;pressure=yes");
	assert_int_equal(r.policy, OWNER_IDLE);
	assert_int_equal(r.keep, 9);
	assert_true(r.pressure);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		r.quiet = 7;
		if (owner_rules_parse(bad[i].text, &r, &err) != -EINVAL)
			fail_msg("\"%s\" is accepted", bad[i].text);
		assert_string_equal(err.text, bad[i].why);
		assert_int_equal(r.quiet, 7);
	}
}

/* A quiet machine with two processors. */
static struct owner_view view(int64_t now)
{
	return (struct owner_view){.now = now, .input = OWNER_NO_INPUT, .cpus = 2, .memory_free = 50};
}

static void test_input(void **state)
{
	struct owner_rules r = rules("idle;quiet=10;return=5");
	struct owner_claim o = {0};
	struct owner_view v = view(1000);

	assert_int_equal(owner_decide(&o, &r, &v), OWNER_RUN);
	v = view(2000);
	v.input = 2000;
	assert_int_equal(owner_decide(&o, &r, &v), OWNER_STOP);
	assert_int_equal(o.cause, OWNER_INPUT);
	v.now = 6999;
	assert_int_equal(owner_decide(&o, &r, &v), OWNER_STOP);
	v.now = 7000;
	assert_int_equal(owner_decide(&o, &r, &v), OWNER_RETURN);
	v.now = 11999;
	assert_int_equal(owner_decide(&o, &r, &v), OWNER_RETURN);
	v.now = 12000;
	assert_int_equal(owner_decide(&o, &r, &v), OWNER_RUN);
	v = view(1000);
	v.input = -8999; /* before the boot */
	assert_int_equal(owner_decide(&o, &r, &v), OWNER_STOP);
	v.now = 1001;
	assert_int_equal(owner_decide(&o, &r, &v), OWNER_RUN);
	r = rules("share"); /* where input alone stops nothing */
	v.now = v.input = 20000;
	assert_int_equal(owner_decide(&o, &r, &v), OWNER_RUN);
}

static void test_pause(void **state)
{
	struct owner_rules r = rules("share;return=1h");
	struct owner_claim o = {0};
	struct owner_view v = view(1000);

	v.paused = true;
	assert_int_equal(owner_decide(&o, &r, &v), OWNER_STOP);
	assert_int_equal(o.cause, OWNER_PAUSED);
	v.paused = false;
	v.now++;
	assert_int_equal(owner_decide(&o, &r, &v), OWNER_RUN);
}

/* The wall clock is set: the pause lasts as long as was ordered. */
static void test_pause_length(void **state)
{
	struct owner_pause p = {0};

	assert_false(owner_pause_over(&p, 100));
	owner_pause_set(&p, 5060, 5000, 100);
	assert_false(owner_pause_over(&p, 159));
	assert_true(owner_pause_over(&p, 160));
	owner_pause_set(&p, PAUSE_NEVER_ENDS, 5000, 100);
	assert_false(owner_pause_over(&p, INT64_MAX));
	owner_pause_set(&p, 4000, 5000, 100); /* it ended while no daemon ran */
	assert_true(owner_pause_over(&p, 100));
}

static void test_hours(void **state)
{
	struct owner_rules r = rules("hours=Mon-Fri 08:00-18:00");
	struct owner_claim o = {0};
	struct owner_view v = view(1000);
	struct tm tm = {.tm_year = 126, .tm_mon = 10, .tm_mday = 17, .tm_hour = 8, .tm_isdst = -1}; /* a Tuesday */

	v.instant = mktime(&tm);
	assert_int_equal(owner_decide(&o, &r, &v), OWNER_STOP);
	assert_int_equal(o.cause, OWNER_HOUR);
	v.instant += 10 * 3600 - 1;
	assert_int_equal(owner_decide(&o, &r, &v), OWNER_STOP);
	v.instant++;
	assert_int_equal(owner_decide(&o, &r, &v), OWNER_RUN);
	v.input = v.now; /* in the evening as with idle */
	assert_int_equal(owner_decide(&o, &r, &v), OWNER_STOP);
}

/* How often our tasks are stopped while what is seen goes up and down every second. */
static int stops(const char *policy, void (*seen)(struct owner_view *v, int second))
{
	struct owner_rules r = rules(policy);
	struct owner_claim o = {0};
	enum owner_act before = OWNER_RUN;
	int n = 0;

	for (int i = 0; i < 600; i++) {
		struct owner_view v = view(i * 1000 + 1);
		seen(&v, i);
		enum owner_act act = owner_decide(&o, &r, &v);
		n += before == OWNER_RUN && act != OWNER_RUN;
		before = act;
	}
	return n;
}

static void load_swings(struct owner_view *v, int second)
{
	v->running = second % 20 < 10 ? 3 : 0;
}

static void load_blips(struct owner_view *v, int second)
{
	v->running = second % 2 ? 5 : 0;
}

static void memory_swings(struct owner_view *v, int second)
{
	v->memory_free = second % 2 ? 9.5 : 11;
}

static void memory_stalls(struct owner_view *v, int second)
{
	v->memory_stalls = second >= 100 && second < 200 ? 40 : 0;
}

static void test_hysteresis(void **state)
{
	assert_int_equal(stops("share;return=1h", load_swings), 1);
	assert_int_equal(stops("share", load_blips), 0);
	assert_int_equal(stops("share", memory_swings), 1);
	assert_int_equal(stops("share", memory_stalls), 1);
	assert_int_equal(stops("share;pressure=no", memory_stalls), 0);
	assert_int_equal(stops("share;pressure=no", load_swings), 0);
}

static void test_memory_comes_back(void **state)
{
	struct owner_rules r = rules("share;return=1h");
	struct owner_claim o = {0};
	struct owner_view v = view(1000);

	v.memory_free = 5;
	assert_int_equal(owner_decide(&o, &r, &v), OWNER_STOP);
	v.memory_free = 50;
	assert_int_equal(owner_decide(&o, &r, &v), OWNER_STOP);
	v.now += 29999;
	assert_int_equal(owner_decide(&o, &r, &v), OWNER_STOP);
	v.now++;
	assert_int_equal(owner_decide(&o, &r, &v), OWNER_RUN);
}

/* Each threshold from both sides, and the lower one that holds a claim. */
static void test_thresholds(void **state)
{
	struct owner_rules r = rules("share;return=1h;keep=20");
	struct owner_claim o = {0};
	struct owner_view v = view(1000);

	v.memory_free = 20;
	assert_int_equal(owner_decide(&o, &r, &v), OWNER_RUN);
	v.memory_free = 19.9;
	assert_int_equal(owner_decide(&o, &r, &v), OWNER_STOP);
	assert_int_equal(o.cause, OWNER_MEMORY);
	v.now += 60000;
	v.memory_free = 29.9; /* holds it */
	assert_int_equal(owner_decide(&o, &r, &v), OWNER_STOP);
	v.now += 60000;
	v.memory_free = 30; /* calm begins */
	assert_int_equal(owner_decide(&o, &r, &v), OWNER_STOP);
	v.now += 30000;
	assert_int_equal(owner_decide(&o, &r, &v), OWNER_RUN);
	v = view(1000);
	v.memory_stalls = 10;
	assert_int_equal(owner_decide(&o, &r, &v), OWNER_RUN);
	v.memory_stalls = 10.1;
	assert_int_equal(owner_decide(&o, &r, &v), OWNER_STOP);
	v.memory_stalls = 5.1;
	v.now += 60000;
	assert_int_equal(owner_decide(&o, &r, &v), OWNER_STOP);
	v.memory_stalls = 5;
	assert_int_equal(owner_decide(&o, &r, &v), OWNER_STOP);
	v.now += 30000;
	assert_int_equal(owner_decide(&o, &r, &v), OWNER_RUN);
	v = view(1000);
	v.cpus = v.running = 4;
	assert_int_equal(owner_decide(&o, &r, &v), OWNER_RUN);
	v.now += 1999;
	assert_int_equal(owner_decide(&o, &r, &v), OWNER_RUN);
	v.now++;
	assert_int_equal(owner_decide(&o, &r, &v), OWNER_STOP);
	assert_int_equal(o.cause, OWNER_LOAD);
	assert_int_equal(o.since, 3000);
	v.running = 3;
	v.now += 60000;
	assert_int_equal(owner_decide(&o, &r, &v), OWNER_STOP);
	v.running = 2;
	assert_int_equal(owner_decide(&o, &r, &v), OWNER_STOP);
	v.now += 30000;
	assert_int_equal(owner_decide(&o, &r, &v), OWNER_RUN);
	v.running = 3; /* not enough to stop it again */
	v.now += 60000;
	assert_int_equal(owner_decide(&o, &r, &v), OWNER_RUN);
	assert_int_equal(rules("share;keep=0").keep, 0);
	assert_int_equal(rules("share;keep=90").keep, 90);
	assert_true(rules("share;pressure=yes").pressure && !rules("share;pressure=no").pressure);
	assert_int_equal(rules("share").policy, OWNER_SHARE);
	assert_int_equal(rules("idle").policy, OWNER_IDLE);
	static const char *const causes[] = {
		[OWNER_NOTHING] = "nothing",	    [OWNER_PAUSED] = "paused by the owner",
		[OWNER_HOUR] = "the owner's hours", [OWNER_INPUT] = "input at this machine",
		[OWNER_MEMORY] = "memory is short", [OWNER_LOAD] = "the owner's programs need the processors"};
	for (int i = 0; i < OWNER_CAUSES; i++)
		assert_string_equal(owner_cause_text((enum owner_cause)i), causes[i]);
}

static void test_habit(void **state)
{
	char text[HABIT_HOURS + 1], again[HABIT_HOURS + 1];
	struct habit h, copy;
	int64_t sunday = 3 * 86400; /* 1970-01-04 */

	habit_init(&h);
	assert_true(habit_expect(&h, sunday, 86400) == 0);
	habit_learn(&h, 9, 100); /* Sunday, 9:00 to 10:00 */
	assert_true(habit_expect(&h, sunday + 9 * 3600, 3600) == 1);
	assert_true(habit_expect(&h, sunday + 9 * 3600 + 1800, 3600) == 0.5);
	habit_utc(&h, 3600, &copy); /* an hour east */
	assert_true(habit_expect(&copy, sunday + 8 * 3600, 3600) == 1);
	habit_utc(&h, -12 * 3600, &copy);
	assert_true(habit_expect(&copy, sunday + 21 * 3600, 3600) == 1);
	assert_true(habit_known(&h));
	assert_true(habit_expect(&h, sunday + 10 * 3600, 3600) == 0);
	assert_true(habit_expect(&h, sunday + 7 * 86400 + 9 * 3600, 60) == 1);
	assert_true(habit_expect(&h, sunday, 1000 * INT64_C(86400)) > 0);
	habit_learn(&h, 9, 0);
	assert_true(habit_expect(&h, sunday + 9 * 3600, 3600) == 0.6);
	habit_text(&h, text);
	assert_true(habit_read(text, &copy));
	habit_text(&copy, again);
	assert_string_equal(text, again);
	text[3] = 'z';
	assert_false(habit_read(text, &copy));
	assert_false(habit_read("abc", &copy));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_input),
		cmocka_unit_test(test_pause),
		cmocka_unit_test(test_pause_length),
		cmocka_unit_test(test_hours),
		cmocka_unit_test(test_hysteresis),
		cmocka_unit_test(test_memory_comes_back),
		cmocka_unit_test(test_thresholds),
		cmocka_unit_test(test_habit),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
