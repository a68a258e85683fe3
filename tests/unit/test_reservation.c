/*
 * test_reservation.c - reservations as objects: times, weeks with exceptions and summer time,
 * lists, overlaps.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "base/timetext.h"
#include "rules/reservation.h"

static struct objects o;
static struct cluster *c;

static int setup(void **state)
{
	struct res total = {.v = {[RES_CPU] = 8}};

	(void)state;
	setenv("TZ", "Europe/Berlin", 1);
	tzset();
	c = cluster_create();
	for (int i = 1; i <= 4; i++) {
		char name[8] = {'n', (char)('0' + i)};
		cluster_add_node(c, name, &total, NULL);
	}
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	objects_fini(&o);
	cluster_destroy(c);
	return 0;
}

static int64_t at(const char *text)
{
	int64_t t;

	assert_int_equal(instant_parse(text, 0, &t, NULL), 0);
	return t;
}

static void put(struct object *x, const char *name, const char *value)
{
	struct err err;

	if (attrs_change(&x->attrs, ATTR_SET, name, value, &err) < 0)
		fail_msg("%s", err.text);
}

static struct object *make(const char *name, const char *nodes, const char *start, const char *end)
{
	struct object *x = object_make(&o, OBJECT_RESERVATION, name);

	if (nodes)
		put(x, "nodes", nodes);
	if (start)
		put(x, "start", start);
	if (end)
		put(x, "end", end);
	return x;
}

static void spans_are(const struct object *x, const char *from, int days, const char *const *texts)
{
	span_vec v = {0};
	size_t n = 0;

	reservation_spans(x, at(from), at(from) + days * 86400, &v);
	for (; texts[2 * n]; n++) {
		assert_true(n < v.n);
		assert_int_equal(v.v[n].start, at(texts[2 * n]));
		assert_int_equal(v.v[n].end, at(texts[2 * n + 1]));
	}
	assert_int_equal(v.n, n);
	vec_free(&v);
}

static void test_times(void **state)
{
	struct object *x = make("one", "n[1-2]", "2026-12-24T08:00", NULL);
	struct err err;

	(void)state;
	assert_false(reservation_holds(x));
	put(x, "duration", "4:00:00");
	assert_true(reservation_holds(x));
	spans_are(x, "2026-12-01T00:00", 60, (const char *const[]){"2026-12-24T08:00", "2026-12-24T12:00", NULL});
	assert_true(reservation_over(x, at("2026-12-24T12:00")));
	assert_false(reservation_over(x, at("2026-12-24T11:59")));
	put(x, "end", "2026-12-25T08:00");
	assert_int_equal(reservation_check(x, &err), -EINVAL);
	attrs_change(&x->attrs, ATTR_UNSET, "duration", NULL, NULL);
	assert_int_equal(reservation_check(x, &err), 0);
	put(x, "start", "2026-12-26T08:00");
	assert_int_equal(reservation_check(x, &err), -EINVAL);
	assert_string_equal(err.text, "end: must be after start");
	assert_int_equal(attrs_change(&x->attrs, ATTR_SET, "start", "+2h", &err), -EINVAL);
	assert_string_equal(attrs_text(&x->attrs, SET_START), "2026-12-26T07:00:00Z");
}

/* The clock on the wall counts: of the Sundays, one has 23 hours and one 25. */
static void test_weekly(void **state)
{
	struct object *x = make("course", "n1", NULL, NULL);
	struct err err;

	(void)state;
	put(x, "hours", "Mon 08:00-12:00, Sun 01:00-04:00");
	put(x, "except", "2026-10-26,2026-11-02");
	assert_int_equal(reservation_check(x, &err), 0);
	spans_are(x, "2026-10-19T13:00", 28,
		  (const char *const[]){"2026-10-24T23:00Z", "2026-10-25T03:00Z", "2026-11-01T00:00Z",
					"2026-11-01T03:00Z", "2026-11-08T00:00Z", "2026-11-08T03:00Z",
					"2026-11-09T08:00", "2026-11-09T12:00", "2026-11-15T01:00", "2026-11-15T04:00",
					"2026-11-16T08:00", "2026-11-16T12:00", NULL});
	put(x, "hours", "Mon-Sun 00:00-24:00");
	put(x, "start", "2026-10-25T00:00");
	put(x, "end", "2026-10-28T00:00");
	spans_are(x, "2026-10-19T13:00", 28,
		  (const char *const[]){"2026-10-25T00:00", "2026-10-26T00:00", "2026-10-27T00:00", "2026-10-28T00:00",
					NULL});
	put(x, "except", "2026-02-30");
	assert_int_equal(reservation_check(x, &err), -EINVAL);
	assert_string_equal(err.text, "except: 2026-02-30 is not a day of the calendar");
	assert_int_equal(reservations_next(&o, at("2026-10-25T12:00Z")), at("2026-10-26T00:00Z"));
}

static void test_lists(void **state)
{
	struct object *x = make("r", "n1", NULL, NULL);
	struct reservation_party p = {.user = "ann", .group = "staff", .queue = "batch", .job = "12"};

	(void)state;
	assert_false(reservation_admits(x, &p));
	put(x, "acl_users", "bob,carl");
	assert_false(reservation_admits(x, &p));
	put(x, "acl_jobs", "11,12");
	assert_true(reservation_admits(x, &p));
	put(x, "acl_jobs", "11");
	put(x, "acl_queues", "batch");
	assert_true(reservation_admits(x, &p));

	uint32_t keys = reservations_keys(&o, c, &p);

	assert_true(nodeset_has(&c->nodesets.v[keys], reservation_id(c, "r")));
	p.queue = "night";
	assert_int_equal(reservations_keys(&o, c, &p), KEYS_NONE);
	put(x, "acl_users", "*");
	assert_true(reservation_admits(x, &p));
	put(x, "maintenance", "True");
	assert_false(reservation_admits(x, &p));
}

/* Maintenance prevails where it lies over another. */
static void test_overlaps(void **state)
{
	struct object *a = make("a", "n[1-2]", "2026-12-24T08:00", "2026-12-24T12:00"),
		      *b = make("b", "n[2-3]", "2026-12-24T11:00", "2026-12-24T14:00");
	int64_t now = at("2026-12-01T00:00");
	node_fence_vec v = {0};
	struct err err;

	(void)state;
	assert_true(reservations_overlap(&o, c, b, now, &err) < 0);
	assert_string_equal(
		err.text,
		"node n2 is already in reservation a at 2026-12-24 11:00:00; only maintenance may overlap other reservations");
	put(b, "nodes", "n3");
	assert_int_equal(reservations_overlap(&o, c, b, now, &err), 0);
	put(b, "nodes", "n[2-3]");
	put(b, "maintenance", "True");
	assert_int_equal(reservations_overlap(&o, c, b, now, &err), 0);
	assert_int_equal(reservations_overlap(&o, c, a, now, &err), 0);
	reservations_fences(&o, c, now, &v);
	assert_int_equal(v.n, 4);
	assert_int_equal(v.v[1].node, 1);
	assert_int_equal(v.v[1].fence.id, reservation_id(c, "a"));
	assert_int_equal(v.v[1].fence.end, at("2026-12-24T11:00"));
	assert_int_equal(v.v[2].node, 1);
	assert_int_equal(v.v[2].fence.id, reservation_id(c, "b"));
	vec_free(&v);
	put(b, "start", "2026-12-24T09:00");
	put(b, "end", "2026-12-24T10:00");
	reservations_fences(&o, c, now, &v);
	assert_int_equal(v.n, 5); /* a's is in two parts on n2 */
	vec_free(&v);
}

/* Amounts are reserved for each time, at most as many as the site has. */
static void test_amounts(void **state)
{
	struct object *a = make("a", NULL, "2026-12-24T08:00", "2026-12-24T12:00"),
		      *b = make("b", NULL, "2026-12-25T08:00", "2026-12-25T12:00");
	int64_t now = at("2026-12-01T00:00");
	reservation_amount_vec amounts = {0};
	node_fence_vec v = {0};
	struct err err;

	(void)state;
	assert_int_equal(cluster_amount(c, "matlab", NULL), 0);
	assert_int_equal(cluster_amount(c, "ansys", NULL), 1);
	c->amounts.v[0].total = 4;
	c->amounts.v[1].total = 9;
	put(a, "amounts.matlab", "4");
	put(a, "amounts.ansys", "1");
	put(b, "amounts.ansys", "9");
	put(b, "amounts.matlab", "0"); /* keeps none */
	assert_int_equal(reservation_amounts(a, c, &amounts, &err), 0);
	assert_int_equal(amounts.n, 2);
	vec_free(&amounts);
	reservations_fences(&o, c, now, &v);
	assert_int_equal(v.n, 3);
	for (size_t i = 0; i < v.n; i++) {
		const struct node_fence *f = &v.v[i];
		bool first = f->fence.id == reservation_id(c, "a");
		assert_int_equal(f->keep, !first ? 9 : f->node == 0 ? 4 : 1);
		assert_true(first || f->node == 1);
		assert_int_equal(f->fence.start, at(first ? "2026-12-24T08:00" : "2026-12-25T08:00"));
		assert_int_equal(f->fence.end, at(first ? "2026-12-24T12:00" : "2026-12-25T12:00"));
	}
	vec_free(&v);
	put(b, "amounts.ansys", "10");
	assert_int_equal(reservation_amounts(b, c, &amounts, &err), -EINVAL);
	assert_string_equal(err.text, "amounts.ansys: the site has 9 (resources_available)");
	put(b, "amounts.more", "1");
	attrs_change(&b->attrs, ATTR_UNSET, "amounts.ansys", NULL, NULL);
	assert_int_equal(reservation_amounts(b, c, &amounts, &err), -EINVAL);
	assert_string_equal(err.text, "amounts.more: the site has 0 (resources_available)");
	vec_free(&amounts);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_times, setup, teardown),
		cmocka_unit_test_setup_teardown(test_weekly, setup, teardown),
		cmocka_unit_test_setup_teardown(test_lists, setup, teardown),
		cmocka_unit_test_setup_teardown(test_overlaps, setup, teardown),
		cmocka_unit_test_setup_teardown(test_amounts, setup, teardown),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
