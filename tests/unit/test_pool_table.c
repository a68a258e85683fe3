/*
 * test_pool_table.c - what a station knows of a pool: frames of its members, the table and its
 * ages, where tasks go, and in which order.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/rng.h"
#include "station/discover.h"
#include "station/pool_table.h"
#include "station/pool_waiting.h"

#define INTERVAL 1000

static struct peer_report report_of(double speed, int cpus)
{
	return (struct peer_report){.run = 7,
				    .seq = 1,
				    .load = {.speed = speed, .idle = 1, .free = 1},
				    .cpus = cpus,
				    .memory = 1 << 20,
				    .arch = "x86_64"};
}

static void frames(void **state)
{
	const char *argv[] = {"prog", "", "\xff\xfe", NULL}, *env[] = {"A=1", NULL};
	struct peer_start s = {.id = 9,
			       .priority = -3,
			       .path = 70,
			       .job = 4,
			       .argv = argv,
			       .env = env,
			       .dir = "/tmp",
			       .memory = 5},
			  got;
	struct peer_report r = report_of(2.5, 4), back;
	struct arena *a = arena_create();
	struct strbuf data = {0};
	char *text = peer_start_write(&s, &data);
	json_t *head = json_loads(text, 0, NULL);
	struct err err;

	assert_int_equal(peer_start_read(head, data.text, data.n, a, &got, &err), 0);
	assert_int_equal(got.id, 9);
	assert_int_equal(got.priority, -3);
	assert_int_equal(got.path, 70);
	assert_int_equal(got.job, 4);
	assert_string_equal(got.dir, "/tmp");
	assert_string_equal(got.argv[2], "\xff\xfe");
	assert_null(got.argv[3]);
	assert_string_equal(got.env[0], "A=1");
	assert_null(got.env[1]);
	assert_int_equal(peer_start_read(head, data.text, data.n - 1, a, &got, &err), -EINVAL);
	json_decref(head);
	free(text);

	text = peer_report_write(&r);
	head = json_loads(text, 0, NULL);
	assert_int_equal(peer_report_read(head, &back, &err), 0);
	assert_true(back.load.speed == 2.5 && back.cpus == 4 && !back.closed);
	assert_true(back.run == r.run && back.seq == r.seq && back.memory == r.memory && back.load.idle == 1 &&
		    back.load.free == 1 && back.load.ours == 0);
	assert_string_equal(back.arch, "x86_64");
	json_object_set_new(head, "idle", json_real(1.5));
	assert_int_equal(peer_report_read(head, &back, &err), -EINVAL);
	json_decref(head);
	free(text);
	strbuf_fini(&data);
	arena_destroy(a);
}

static void needs(void **state)
{
	struct pool_need need;
	struct err err;

	assert_int_equal(pool_need_parse("arch=arm64,mem=2gb", &need, &err), 0);
	assert_string_equal(need.arch, "arm64");
	assert_int_equal(need.memory, 2 << 20);
	assert_int_equal(pool_need_parse("", &need, &err), 0);
	assert_int_equal(pool_need_parse("cpus=2", &need, &err), -EINVAL);
	assert_int_equal(pool_need_parse("mem=lots", &need, &err), -EINVAL);
	assert_int_equal(pool_need_parse("mem=0", &need, &err), -EINVAL);
	assert_int_equal(pool_need_parse("arch=", &need, &err), -EINVAL);
	assert_string_equal(err.text, "arch=: allowed are arch=NAME and mem=SIZE (as in mem=2gb)");
	assert_int_equal(pool_need_parse("mem=1kb,", &need, &err), 0);
	assert_int_equal(need.memory, 1);
	assert_string_equal(need.arch, "");
	char text[80];
	snprintf(text, sizeof text, "arch=%0*d", (int)sizeof need.arch - 1, 1);
	assert_int_equal(pool_need_parse(text, &need, &err), 0);
	assert_int_equal(strlen(need.arch), sizeof need.arch - 1);
	snprintf(text, sizeof text, "arch=%0*d", (int)sizeof need.arch, 1);
	assert_int_equal(pool_need_parse(text, &need, &err), -EINVAL);
	snprintf(text, sizeof text, "mem=%060d", 1);
	assert_int_equal(pool_need_parse(text, &need, &err), -EINVAL);
	assert_non_null(strstr(err.text, "a word has at most 63 characters"));
}

/* What must be true of a station for a task to go there; what is worth a report. */
static void usable(void **state)
{
	const struct pool_need need = {.arch = "x86_64", .memory = 1 << 20};
	struct peer_report r = report_of(2, 2), other;
	struct pool_table t = {0};
	struct pool_entry *e = pool_table_add(&t, "m", "h:1"), good;

	assert_string_equal(e->member.where, "h:1");
	e->linked = true;
	assert_false(pool_entry_usable(e, &need, 0, INTERVAL)); /* nothing was heard of it */
	assert_true(pool_table_report(e, &r, 1000));
	good = *e;
	assert_true(pool_entry_usable(e, &need, 1000 + 3 * INTERVAL, INTERVAL));
	assert_false(pool_entry_usable(e, &need, 1001 + 3 * INTERVAL, INTERVAL));
	assert_false(pool_entry_usable(e, &(struct pool_need){.memory = (1 << 20) + 1}, 1000, INTERVAL));
	assert_false(pool_entry_usable(e, &(struct pool_need){.arch = "x86"}, 1000, INTERVAL));
	assert_false(pool_table_has(&t, &(struct pool_need){.memory = (1 << 20) + 1}));
	for (int i = 0; i < 4; i++) {
		*e = good;
		if (i == 0)
			e->linked = false;
		else if (i == 1)
			e->removed = true;
		else if (i == 2)
			e->report.closed = true;
		else
			e->report.run = 0;
		assert_false(pool_entry_usable(e, &need, 1000, INTERVAL));
	}
	*e = good;
	e->placed = 5;
	r.seq = 1;
	r.run = 8; /* it was restarted, and counts from the beginning */
	assert_true(pool_table_report(e, &r, 1500));
	assert_int_equal(e->placed, 0);
	assert_int_equal(e->heard, 1500);
	assert_null(pool_table_find(&t, "l"));
	assert_null(pool_table_find(&t, "n"));
	pool_table_add(&t, "n", "h:2");
	pool_table_add(&t, "a", "h:3");
	assert_string_equal(t.entries.v[0].member.name, "a");
	assert_string_equal(pool_table_find(&t, "n")->member.where, "h:2");
	pool_table_fini(&t);
	for (int i = 0; i < 12; i++) {
		other = r;
		switch (i) {
		case 0:
			other.run++;
			break;
		case 1:
			other.closed = true;
			break;
		case 2:
			other.cpus++;
			break;
		case 3:
			other.load.ours++;
			break;
		case 4:
			other.load.interactive++;
			break;
		case 5:
			other.load.batch++;
			break;
		case 6:
			other.load.idle -= 0.11;
			break;
		case 7:
			other.load.free -= 0.11;
			break;
		case 8:
			other.load.speed *= 1.11;
			break;
		case 9:
			other.load.idle -= 0.09;
			break;
		case 10:
			other.load.speed *= 1.09;
			break;
		default:
			other.seq++;
			other.memory++;
			break;
		}
		assert_int_equal(pool_band_left(&r, &other), i < 9);
	}
}

/* At the same load the station with more processors gets the task. */
static void shared_load(void **state)
{
	struct pool_table t = {.rule = {.policy = PLACE_FIM}};
	struct peer_report narrow = report_of(1, 1), wide = report_of(1, 4);

	for (int kind = 0; kind < 3; kind++) {
		*(kind == 0 ? &narrow.load.ours : kind == 1 ? &narrow.load.interactive : &narrow.load.batch) = 1;
		wide.load = narrow.load;
		struct pool_entry *e = pool_table_add(&t, "a", "h:1");
		e->linked = true;
		narrow.seq++, wide.seq++;
		pool_table_report(e, &narrow, 0);
		e = pool_table_add(&t, "b", "h:2");
		e->linked = true;
		pool_table_report(e, &wide, 0);
		struct pool_entry *got = pool_table_choose(&t, &(struct pool_need){0}, 0, INTERVAL);
		if (got)
			assert_string_equal(got->member.name, "b");
		else
			assert_int_not_equal(kind, 0);
		narrow.load.ours = narrow.load.interactive = narrow.load.batch = 0;
	}
	pool_table_fini(&t);
}

static const struct pool_entry *chosen(struct pool_table *t, int64_t now)
{
	return pool_table_choose(t, &(struct pool_need){0}, now, INTERVAL);
}

/* Only who was heard lately, takes tasks and has what is needed gets one. */
static void ages(void **state)
{
	struct pool_table t = {.rule = {.policy = PLACE_FIM}};
	struct peer_report fast = report_of(2, 1), slow = report_of(1, 2);
	struct pool_entry *e;

	assert_null(chosen(&t, 0));
	e = pool_table_add(&t, "slow", "h:1");
	e->linked = true;
	assert_null(chosen(&t, 0));
	assert_true(pool_table_report(e, &slow, 0));
	assert_false(pool_table_report(e, &slow, 500));
	e = pool_table_add(&t, "fast", "h:2");
	e->linked = true;
	pool_table_report(e, &fast, 2000);
	assert_ptr_equal(pool_table_add(&t, "fast", "h:3"), e);
	assert_int_equal(t.entries.n, 2);
	assert_string_equal(chosen(&t, 2000)->member.name, "fast");
	assert_string_equal(chosen(&t, 2000)->member.name,
			    "fast"); /* one of ours there costs as much as the slow one */
	assert_string_equal(chosen(&t, 2000)->member.name, "slow");
	assert_int_equal(e->placed, 2);
	pool_table_ended(&t, e);
	assert_int_equal(e->placed, 1);
	assert_string_equal(chosen(&t, 3500)->member.name,
			    "fast"); /* the other has been silent for more than three intervals */
	assert_null(chosen(&t, 6000));
	fast.seq++;
	fast.closed = true;
	pool_table_report(e, &fast, 6000);
	assert_null(chosen(&t, 6000));
	assert_true(pool_table_has(&t, &(struct pool_need){.arch = "x86_64"}));
	assert_false(pool_table_has(&t, &(struct pool_need){.arch = "pdp11"}));
	assert_true(pool_band_left(&slow, &fast));
	assert_false(pool_band_left(&fast, &fast));
	pool_table_fini(&t);
}

/* A task of ours that was on its way when its station reported counts, before and after its end;
 * policies that count nothing of their own don't count it. */
static void on_their_way(void **state)
{
	struct pool_table t = {.rule = {.policy = PLACE_OURS}};
	struct peer_report r = report_of(1, 1);
	struct pool_entry *e = pool_table_add(&t, "one", "h:1");

	e->linked = true;
	pool_table_report(e, &r, 0);
	assert_ptr_equal(chosen(&t, 0), e);
	e->own = 1;
	r.seq++;
	pool_table_report(e, &r, 100);
	assert_null(chosen(&t, 100));
	t.rule.policy = PLACE_FI;
	assert_ptr_equal(chosen(&t, 100), e);
	t.rule.policy = PLACE_OURS;
	pool_table_ended(&t, e);
	e->own = 0;
	assert_ptr_equal(chosen(&t, 200), e);
	e->own = 1;
	assert_null(chosen(&t, 200));
	pool_table_fini(&t);
}

/* A station that listens on one address announces itself from that one only: receivers take the
 * sender's address for the one where it listens. */
static void announces_where_it_listens(void **state)
{
	struct discover mine = {.name = "here", .port = 1234}, got;
	struct sockaddr_in from;
	int fd = discover_open(true), heard = 0;

	if (fd < 0)
		skip(); /* another program has the port, or there is no multicast */
	snprintf(mine.print, sizeof mine.print, "%032llx", (unsigned long long)getpid());
	mine.only.s_addr = htonl(INADDR_LOOPBACK);
	discover_send(fd, &mine);
	while (discover_take(fd, &got, &from))
		if (strcmp(got.print, mine.print) == 0) {
			heard++;
			assert_int_equal(ntohl(from.sin_addr.s_addr), INADDR_LOOPBACK);
		}
	mine.only.s_addr = INADDR_ANY;
	discover_send(fd, &mine);
	while (discover_take(fd, &got, &from))
		heard -= strcmp(got.print, mine.print) == 0;
	assert_true(heard <= 0); /* it is heard on every interface otherwise */
	close(fd);
}

#define RISING 200000 /* far more than an insertion that looks at all others could bear */
#define MIXED 2000

static bool in_order(const struct waiting *a, const struct waiting *b)
{
	if (a->priority != b->priority)
		return a->priority > b->priority;
	if (a->job != b->job)
		return a->job < b->job;
	return a->path > b->path || (a->path == b->path && a->number < b->number);
}

static void list_check(const struct waiting_list *l)
{
	size_t n = 0;

	for (const struct waiting *w = l->first[0]; w; w = w->after[0], n++)
		if (w->after[0])
			assert_true(in_order(w, w->after[0]));
	assert_int_equal(n, l->n);
}

static void waiting_tasks_in_order(void **state)
{
	struct waiting *w = calloc(RISING, sizeof *w);
	struct waiting_list l = {0};
	struct rng r;

	(void)state;
	rng_seed(&r, 3);
	for (size_t i = 0; i < RISING; i++) {
		w[i] = (struct waiting){.path = (int64_t)i};
		waiting_add(&l, &w[i]);
	}
	list_check(&l);
	for (size_t i = RISING; i-- > 0;)
		waiting_remove(&l, &w[i]);
	assert_true(l.n == 0 && !l.first[0]);
	for (int k = 0; k < 20 * MIXED; k++) {
		struct waiting *x = &w[rng_below(&r, MIXED)];
		if (x->task) {
			waiting_remove(&l, x);
			x->task = NULL;
		} else {
			*x = (struct waiting){.task = (struct errand *)(void *)x,
					      .priority = rng_range(&r, -2, 2),
					      .job = rng_below(&r, 3),
					      .path = rng_range(&r, 0, 5)};
			waiting_add(&l, x);
		}
		if (k % 500 == 0)
			list_check(&l);
	}
	free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames),
		cmocka_unit_test(needs),
		cmocka_unit_test(usable),
		cmocka_unit_test(shared_load),
		cmocka_unit_test(ages),
		cmocka_unit_test(on_their_way),
		cmocka_unit_test(announces_where_it_listens),
		cmocka_unit_test(waiting_tasks_in_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
