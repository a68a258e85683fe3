/*
 * test_quota.c - computation time per user and month: every rule of it, its file, and books that
 * balance over random histories.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "base/rng.h"
#include "base/timetext.h"
#include "base/vec.h"
#include "rules/quota_file.h"

#define HOUR 3600

static const int64_t limits[QUOTA_TYPES] = {200 * HOUR, 20 * HOUR, 10 * HOUR};

static struct quota april(void)
{
	struct quota q = {0};
	struct quota_moves m;

	quota_set(&q, limits, 200504, 200504, &m);
	return q;
}

static struct quota_claim taken(struct quota *q, enum quota_type type, int64_t seconds)
{
	struct quota_claim c;
	struct quota_moves m;
	struct err err;

	assert_int_equal(quota_take(q, type, seconds, 200504, &c, &m, &err), 0);
	assert_int_equal(m.n, 1);
	assert_int_equal(m.v[0].seconds, -seconds);
	return c;
}

static void a_job_takes_its_walltime(void **state)
{
	struct quota q = april();

	taken(&q, QUOTA_NORMAL, 150 * HOUR);
	assert_int_equal(q.left[QUOTA_NORMAL], 50 * HOUR);
	assert_int_equal(q.left[QUOTA_PRIORITY], 20 * HOUR);
	taken(&q, QUOTA_NORMAL, 50 * HOUR); /* to the last second */
}

static void more_than_is_left_is_refused(void **state)
{
	struct quota q = april();
	struct quota_claim c;
	struct quota_moves m;
	struct err err;

	assert_int_equal(quota_take(&q, QUOTA_PRIORITY, 20 * HOUR + 1, 200504, &c, &m, &err), -EDQUOT);
	assert_string_equal(err.text,
			    "it needs 20:00:01 of priority quota, and 20:00:00 of 20:00:00 is left this month");
	assert_int_equal(q.left[QUOTA_PRIORITY], 20 * HOUR);
	assert_int_equal(m.n, 0);
}

static void three_quarters_of_the_rest_return(void **state)
{
	struct quota q = april();
	struct quota_claim c = taken(&q, QUOTA_NORMAL, 10 * HOUR);
	struct quota_moves m;

	quota_settle(&q, &c, &(struct quota_use){.seconds = 6 * HOUR + 1, .started = true, .percent = 75}, 200504, &m);
	assert_int_equal(q.left[QUOTA_NORMAL], 190 * HOUR + (4 * HOUR - 1) * 75 / 100);
	assert_int_equal(m.v[0].cause, QUOTA_RETURNED);
	quota_settle(&q, &c, &(struct quota_use){.started = true, .percent = 75}, 200504, &m); /* not twice */
	assert_int_equal(m.n, 0);
}

static void a_job_that_never_ran_costs_nothing(void **state)
{
	struct quota q = april();
	struct quota_claim c = taken(&q, QUOTA_PRIORITY, 10 * HOUR);
	struct quota_moves m;

	quota_settle(&q, &c, &(struct quota_use){.percent = 75}, 200504, &m);
	assert_int_equal(q.left[QUOTA_PRIORITY], 20 * HOUR);
	assert_int_equal(q.left[QUOTA_NORMAL], 200 * HOUR);
}

static void nothing_is_saved_up_or_returned_to_another_month(void **state)
{
	struct quota q = april();
	struct quota_claim c;
	struct quota_moves m;

	quota_set(&q, limits, 0, 200504, &m);
	c = taken(&q, QUOTA_NORMAL, 10 * HOUR);
	quota_settle(&q, &c, &(struct quota_use){.started = true, .percent = 75}, 200505, &m);
	assert_int_equal(q.month, 200505);
	assert_memory_equal(q.left, limits, sizeof limits);
	quota_turn(&q, 200604, &m); /* the server was down for months */
	assert_memory_equal(q.left, limits, sizeof limits);
	quota_turn(&q, 200603, &m); /* the clock was set back */
	assert_int_equal(q.month, 200604);
	assert_int_equal(m.n, 0);
}

static void after_the_last_month_there_is_nothing(void **state)
{
	struct quota q = april();
	struct quota_claim c = taken(&q, QUOTA_NORMAL, HOUR), other;
	struct quota_moves m;
	struct err err;

	quota_settle(&q, &c, &(struct quota_use){.started = true, .percent = 75}, 200505, &m);
	for (int i = 0; i < QUOTA_TYPES; i++)
		assert_int_equal(q.left[i], 0);
	assert_int_equal(quota_take(&q, QUOTA_NORMAL, 1, 200505, &other, &m, &err), -EDQUOT);
	assert_string_equal(err.text, "it needs 00:00:01 of normal quota, and this user's quota ended with 04/2005");
	quota_set(&q, limits, 200506, 200505, &m); /* the end is moved: it begins again */
	assert_memory_equal(q.left, limits, sizeof limits);
	quota_set(&q, limits, 200503, 200505, &m);
	assert_int_equal(q.left[QUOTA_NORMAL], 0);
}

static void priority_that_was_not_needed_is_charged_as_normal(void **state)
{
	struct quota q = april();
	struct quota_claim c = taken(&q, QUOTA_PRIORITY, 10 * HOUR);
	struct quota_moves m;

	quota_settle(&q, &c, &(struct quota_use){.seconds = 6 * HOUR, .started = true, .percent = 75}, 200504, &m);
	assert_int_equal(q.left[QUOTA_PRIORITY], 20 * HOUR);
	assert_int_equal(q.left[QUOTA_NORMAL], 200 * HOUR - 7 * HOUR); /* 10 taken, 3 of 4 returned */
	c = taken(&q, QUOTA_PRIORITY, 10 * HOUR);
	quota_settle(&q, &c, &(struct quota_use){.seconds = 6 * HOUR, .started = true, .urgent = true, .percent = 75},
		     200504, &m);
	assert_int_equal(q.left[QUOTA_PRIORITY], 13 * HOUR);
}

static void unless_normal_is_too_small(void **state)
{
	struct quota q = april();
	struct quota_claim c = taken(&q, QUOTA_PRIORITY, 10 * HOUR);
	struct quota_moves m;

	taken(&q, QUOTA_NORMAL, 194 * HOUR);
	quota_settle(&q, &c, &(struct quota_use){.seconds = 6 * HOUR, .started = true, .percent = 75}, 200504, &m);
	assert_int_equal(q.left[QUOTA_NORMAL], 6 * HOUR);
	assert_int_equal(q.left[QUOTA_PRIORITY], 13 * HOUR);
}

static void a_walltime_that_is_altered_takes_more_or_less(void **state)
{
	struct quota q = april();
	struct quota_claim c = taken(&q, QUOTA_NORMAL, 10 * HOUR);
	struct quota_moves m;
	struct err err;

	assert_int_equal(quota_alter(&q, &c, QUOTA_NORMAL, 4 * HOUR, false, 200504, &m, &err), 0);
	assert_int_equal(q.left[QUOTA_NORMAL], 196 * HOUR);
	assert_int_equal(quota_alter(&q, &c, QUOTA_NORMAL, 300 * HOUR, false, 200504, &m, &err), -EDQUOT);
	assert_int_equal(c.seconds, 4 * HOUR);
	assert_int_equal(quota_alter(&q, &c, QUOTA_NORMAL, 200 * HOUR, false, 200504, &m, &err), 0);
	assert_int_equal(q.left[QUOTA_NORMAL], 0);
}

static void another_type_is_charged_as_that_one(void **state)
{
	struct quota q = april();
	struct quota_claim c = taken(&q, QUOTA_NORMAL, 10 * HOUR);
	int64_t priority = q.left[QUOTA_PRIORITY];
	struct quota_moves m;
	struct err err;

	assert_int_equal(quota_alter(&q, &c, QUOTA_PRIORITY, 4 * HOUR, false, 200504, &m, &err), 0);
	assert_int_equal(q.left[QUOTA_NORMAL], 200 * HOUR);
	assert_int_equal(q.left[QUOTA_PRIORITY], priority - 4 * HOUR);
	assert_int_equal(c.type, QUOTA_PRIORITY);
	assert_int_equal(quota_alter(&q, &c, QUOTA_NORMAL, 300 * HOUR, false, 200504, &m, &err), -EDQUOT);
	assert_int_equal(c.type, QUOTA_PRIORITY);
	assert_int_equal(quota_alter(&q, &c, QUOTA_NORMAL, 4 * HOUR, false, 200504, &m, &err), 0);
	assert_int_equal(q.left[QUOTA_PRIORITY], priority);
	assert_int_equal(q.left[QUOTA_NORMAL], 196 * HOUR);
}

static void a_lower_limit_keeps_what_was_taken(void **state)
{
	struct quota q = april();
	struct quota_claim c = taken(&q, QUOTA_NORMAL, 150 * HOUR), other;
	struct quota_moves m;
	struct err err;

	quota_set(&q, (int64_t[]){100 * HOUR, 0, 0}, 0, 200504, &m);
	assert_int_equal(q.left[QUOTA_NORMAL], -50 * HOUR);
	assert_int_equal(quota_take(&q, QUOTA_NORMAL, 1, 200504, &other, &m, &err), -EDQUOT);
	assert_string_equal(err.text,
			    "it needs 00:00:01 of normal quota, and 00:00:00 of 100:00:00 is left this month");
	quota_set(&q, limits, 0, 200504, &m);
	assert_int_equal(q.left[QUOTA_NORMAL], 50 * HOUR);
	quota_set(&q, limits, 200503, 200504, &m); /* so does an end that is taken back */
	quota_set(&q, limits, 0, 200504, &m);
	assert_int_equal(q.left[QUOTA_NORMAL], 50 * HOUR);
	quota_set(&q, (int64_t[]){100 * HOUR, 0, 0}, 0, 200504, &m);
	quota_settle(&q, &c, &(struct quota_use){.percent = 75}, 200504, &m);
	assert_int_equal(q.left[QUOTA_NORMAL], 100 * HOUR); /* not 150 */
}

static void a_shorter_walltime_of_a_started_job_returns_nothing_before_its_end(void **state)
{
	struct quota q = april();
	struct quota_claim c = taken(&q, QUOTA_NORMAL, 10 * HOUR);
	struct quota_moves m;
	struct err err;

	assert_int_equal(quota_alter(&q, &c, QUOTA_NORMAL, 6 * HOUR, true, 200504, &m, &err), 0);
	assert_int_equal(q.left[QUOTA_NORMAL], 190 * HOUR);
	assert_int_equal(quota_alter(&q, &c, QUOTA_NORMAL, 9 * HOUR, true, 200504, &m, &err), 0);
	assert_int_equal(q.left[QUOTA_NORMAL], 190 * HOUR); /* it has been taken already */
	assert_int_equal(quota_alter(&q, &c, QUOTA_NORMAL, 12 * HOUR, true, 200504, &m, &err), 0);
	assert_int_equal(q.left[QUOTA_NORMAL], 188 * HOUR);
	assert_int_equal(quota_alter(&q, &c, QUOTA_NORMAL, 8 * HOUR, true, 200504, &m, &err), 0);
	quota_settle(&q, &c, &(struct quota_use){.seconds = 8 * HOUR, .started = true, .percent = 75}, 200504, &m);
	assert_int_equal(q.left[QUOTA_NORMAL], 191 * HOUR); /* 12 taken, 3 of 4 returned */
}

static void months_turn_at_local_midnight(void **state)
{
	setenv("TZ", "Europe/Amsterdam", 1);
	tzset();
	assert_int_equal(month_of(1114898399), 200504); /* 2005-04-30 23:59:59 +0200 */
	assert_int_equal(month_of(1114898400), 200505);
	assert_int_equal(month_end(1114898399), 1114898400);
	assert_int_equal(month_of(month_end(1114898400) - 1), 200505);
	assert_int_equal(month_end(1133391600), 1136070000); /* December ends with the year */
	assert_int_equal(month_of(1136070000), 200601);
	unsetenv("TZ");
	tzset();
}

typedef VEC(struct quota_line) line_vec;

static int keep(void *context, const struct quota_line *line)
{
	struct quota_line copy = *line;

	copy.user = strdup(line->user);
	vec_push((line_vec *)context, copy);
	return 0;
}

static int read_text(const char *text, line_vec *ret, struct err *err)
{
	struct lines *in = lines_over(text, strlen(text));
	int rc = quota_file_read(in, keep, ret, err);

	lines_close(in);
	return rc;
}

static void forget(line_vec *v)
{
	for (size_t i = 0; i < v->n; i++)
		free((char *)v->v[i].user);
	vec_free(v);
}

static void the_file_of_figure_3_3_is_read(void **state)
{
	line_vec v = {0};
	struct strbuf out = {0};
	struct err err;

	assert_int_equal(
		read_text("# User #\tQuota/month, normal\tQuota/month, interactive\tQuota/month, priority\tEnd-date\n"
			  "Ape\t200:00\t20:00\t0:00\tApr 2005\nNote\t200:00\t20:00\t50:00\tJul 2005\n"
			  "\n  Meece 100:00 10:00 0:00\n",
			  &v, &err),
		0);
	assert_int_equal(v.n, 3);
	assert_string_equal(v.v[1].user, "Note");
	assert_int_equal(v.v[1].limit[QUOTA_NORMAL], 200 * HOUR);
	assert_int_equal(v.v[1].limit[QUOTA_INTERACTIVE], 20 * HOUR);
	assert_int_equal(v.v[1].limit[QUOTA_PRIORITY], 50 * HOUR);
	assert_int_equal(v.v[1].end, 200507);
	assert_int_equal(v.v[2].end, 0);
	quota_file_head(&out);
	quota_file_line(&v.v[0], &out);
	quota_file_line(&v.v[2], &out);
	assert_string_equal(strbuf_text(&out), "# User\tnormal\tinteractive\tpriority\tEnd-date\n"
					       "Ape\t200:00\t20:00\t0:00\tApr 2005\nMeece\t100:00\t10:00\t0:00\t-\n");
	strbuf_fini(&out);
	forget(&v);
}

static void a_wrong_file_is_refused_as_a_whole(void **state)
{
	static const struct {
		const char *text, *why;
	} wrong[] = {
		{"a 1:00 1:00 1:00\nb 1:00\n", "line 2: the interactive quota of user b is missing"},
		{"a 1:00 1:00 1:00\na 1:00 1:00 1:00\n", "line 2: user a has a line already"},
		{"a 1:60 1:00 1:00\n",
		 "line 1: normal quota of user a: a time is hours and minutes up to 876000:00, for "
		 "example 200:00, and not \"1:60\""},
		{"a -1:00 1:00 1:00\n",
		 "line 1: normal quota of user a: a time is hours and minutes up to 876000:00, for "
		 "example 200:00, and not \"-1:00\""},
		{"a 1:00 1:00 1:00 Mai 2005\n",
		 "line 1: end of user a: an end is a month and a year, for example \"Apr "
		 "2005\", and not \"Mai 2005\""},
	};

	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		line_vec v = {0};
		struct err err;

		assert_int_equal(read_text(wrong[i].text, &v, &err), -EINVAL);
		assert_string_equal(err.text, wrong[i].why);
		assert_int_equal(v.n, 0);
		forget(&v);
	}
}

/* What is left, from the book alone: the moves of the month. */
struct book {
	VEC(struct quota_move) moves;
};

static void write_down(struct book *b, const struct quota_moves *m)
{
	for (size_t i = 0; i < m->n; i++)
		vec_push(&b->moves, m->v[i]);
}

static void agree(const struct book *b, const struct quota *q)
{
	int64_t left[QUOTA_TYPES] = {0}, taken[QUOTA_TYPES] = {0};

	for (size_t i = 0; i < b->moves.n; i++)
		if (b->moves.v[i].month == q->month) {
			left[b->moves.v[i].type] += b->moves.v[i].seconds;
			if (b->moves.v[i].cause > QUOTA_LIMIT)
				taken[b->moves.v[i].type] -= b->moves.v[i].seconds;
		}
	for (int t = 0; t < QUOTA_TYPES; t++) {
		assert_int_equal(left[t], q->left[t]);
		assert_true(taken[t] >= 0);
		assert_int_equal(q->left[t], (q->end && q->month > q->end ? 0 : q->limit[t]) - taken[t]);
	}
}

/* 2,000 histories of up to 60 changes: limits, submissions, alterations, ends, months. */
static void books_balance(void **state)
{
	struct rng r;

	rng_seed(&r, 2005);
	for (int history = 0; history < 2000; history++) {
		struct quota q = {0};
		struct book book = {0};
		VEC(struct quota_claim) claims = {0};
		int32_t month = 200501;
		struct quota_moves m = {0};
		struct err err;

		for (int64_t left = rng_range(&r, 1, 60); left > 0; left--) {
			struct quota_claim c;
			size_t i = claims.n ? rng_below(&r, claims.n) : 0;

			if (rng_below(&r, 12) == 0)
				month = month % 100 == 12 ? month + 89 : month + 1;
			switch (rng_below(&r, 6)) {
			case 0:
				quota_set(&q,
					  (int64_t[]){rng_range(&r, 0, 400), rng_range(&r, 0, 400),
						      rng_range(&r, 0, 400)},
					  rng_below(&r, 3) ? 0 : month + (int32_t)rng_range(&r, -1, 1), month, &m);
				break;
			case 1:
				if (claims.n)
					quota_alter(&q, &claims.v[i], rng_below(&r, QUOTA_TYPES), rng_range(&r, 1, 300),
						    rng_below(&r, 2), month, &m, &err);
				break;
			case 2:
				if (claims.n)
					quota_settle(&q, &claims.v[i],
						     &(struct quota_use){rng_range(&r, 0, 300), rng_below(&r, 4) > 0,
									 rng_below(&r, 2), (int)rng_below(&r, 101)},
						     month, &m);
				break;
			default:
				if (!quota_take(&q, rng_below(&r, QUOTA_TYPES), rng_range(&r, 1, 200), month, &c, &m,
						&err))
					vec_push(&claims, c);
			}
			write_down(&book, &m);
			m.n = 0;
			agree(&book, &q);
		}
		vec_free(&claims);
		vec_free(&book.moves);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_job_takes_its_walltime),
		cmocka_unit_test(more_than_is_left_is_refused),
		cmocka_unit_test(three_quarters_of_the_rest_return),
		cmocka_unit_test(a_job_that_never_ran_costs_nothing),
		cmocka_unit_test(nothing_is_saved_up_or_returned_to_another_month),
		cmocka_unit_test(after_the_last_month_there_is_nothing),
		cmocka_unit_test(priority_that_was_not_needed_is_charged_as_normal),
		cmocka_unit_test(unless_normal_is_too_small),
		cmocka_unit_test(a_walltime_that_is_altered_takes_more_or_less),
		cmocka_unit_test(another_type_is_charged_as_that_one),
		cmocka_unit_test(a_lower_limit_keeps_what_was_taken),
		cmocka_unit_test(a_shorter_walltime_of_a_started_job_returns_nothing_before_its_end),
		cmocka_unit_test(months_turn_at_local_midnight),
		cmocka_unit_test(the_file_of_figure_3_3_is_read),
		cmocka_unit_test(a_wrong_file_is_refused_as_a_whole),
		cmocka_unit_test(books_balance),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
