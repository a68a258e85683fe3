/*
 * test_store_quota.c - quota of users and the book of their changes, in both stores.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "store/quota.h"
#include "support/stores.h"

static int add_quota(void *context, const struct store_quota *q)
{
	strbuf_printf(
		context,
		"%s %" PRId64 "/%" PRId64 " %" PRId64 "/%" PRId64 " %" PRId64 "/%" PRId64 " %" PRId64 " %" PRId64 "\n",
		q->user, q->left[0], q->limit[0], q->left[1], q->limit[1], q->left[2], q->limit[2], q->month, q->end);
	return 0;
}

static int add_move(void *context, const struct store_move *m)
{
	strbuf_printf(context, "%" PRIu64 " %s %s %s %" PRIu64 " %" PRId64 "\n", m->seq, m->user, m->type, m->cause,
		      m->job, m->seconds);
	return m->seconds == 99 ? 7 : 0;
}

static void expect_quota(struct store *s, const char *text)
{
	struct strbuf b = {0};
	struct err err;

	assert_int_equal(store_get_quota(s, add_quota, &b, &err), 0);
	assert_string_equal(strbuf_text(&b), text);
	strbuf_fini(&b);
}

static void expect_moves(struct store *s, int64_t month, const char *user, int rc, const char *text)
{
	struct strbuf b = {0};
	struct err err;

	assert_int_equal(store_get_moves(s, month, user, add_move, &b, &err), rc);
	assert_string_equal(strbuf_text(&b), text);
	strbuf_fini(&b);
}

static void a_row_replaces_the_one_before(void **state)
{
	const struct world *w = *state;
	struct store *s = open_store(w->url);

	store_put_quota(s, &(struct store_quota){"bo", {10, 20, 30}, 0, 200503, {1, 2, 3}});
	store_put_quota(s, &(struct store_quota){"Zoe", {1, 1, 1}, 0, 200503, {1, 1, 1}});
	store_put_quota(s, &(struct store_quota){"ana", {1, 1, 1}, 0, 0, {0}});
	commit(s);
	store_put_quota(s, &(struct store_quota){"bo", {10, 20, INT64_C(1) << 40}, 200505, 200504, {4, 5, 6}});
	store_drop_quota(s, "ana");
	store_drop_quota(s, "nobody");
	commit(s);
	store_close(s);
	s = open_store(w->url);
	expect_quota(s, "Zoe 1/1 1/1 1/1 200503 0\nbo 4/10 5/20 6/1099511627776 200504 200505\n");
	store_close(s);
}

static void the_book_is_read_by_month_and_user(void **state)
{
	const struct world *w = *state;
	struct store *s = open_store(w->url);

	store_put_move(s, &(struct store_move){12, "bo", 1, 200504, "normal", "taken", 5, -60});
	store_put_move(s, &(struct store_move){11, "ana", 1, 200504, "normal", "month", 0, 100});
	store_put_move(s, &(struct store_move){13, "bo", 2, 200505, "priority", "month", 0, 99});
	store_put_move(s, &(struct store_move){14, "bo", 3, 200504, "normal", "returned", 5, 30});
	commit(s);
	expect_moves(s, 200504, NULL, 0,
		     "11 ana normal month 0 100\n12 bo normal taken 5 -60\n14 bo normal returned 5 30\n");
	expect_moves(s, 200504, "bo", 0, "12 bo normal taken 5 -60\n14 bo normal returned 5 30\n");
	expect_moves(s, 200505, NULL, 7, "13 bo priority month 0 99\n");
	expect_moves(s, 200506, "bo", 0, "");
	store_close(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		BOTH(a_row_replaces_the_one_before),
		BOTH(the_book_is_read_by_month_and_user),
	};

	return cmocka_run_group_tests(tests, world_start, world_stop);
}
