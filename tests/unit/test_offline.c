/*
 * test_offline.c - the offer by which commands leave work while no server runs, over starts that
 * are cut short.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "client/tray.h"
#include "server/base/turn.h"
#include "server/offline/offline.h"
#include "server/server.h"
#include "server/settings/conf.h"
#include "support/site.h"

static int setup(void **state)
{
	int rc = site_setup(state, "n1:cpus=4", INT64_C(1800000000));
	struct site *f = *state;
	char dir[128];

	snprintf(dir, sizeof dir, "%s/offline", f->dir);
	return rc || mkdir(dir, 0700);
}

static void offer_get(const struct site *f, struct offer *ret)
{
	char dir[128];
	struct err err;

	snprintf(dir, sizeof dir, "%s/offline", f->dir);
	if (offer_read(dir, ret, &err) < 0)
		fail_msg("%s", err.text);
}

static uint64_t put(const struct site *f, const struct offer *l)
{
	struct change c = {.path = "/v1/jobs", .body = "{\"script\":\"true\"}"};
	uint64_t number;
	struct err err;
	char dir[128];

	snprintf(dir, sizeof dir, "%s/offline", f->dir);
	if (tray_put(dir, l, &c, &number, &err) < 0)
		fail_msg("%s", err.text);
	return number;
}

/* A server that is killed before it has written its first number leaves an offer with a tray and
 * numbers of its own, and what was left before is still there for the next one. */
static void killed_while_it_begins(void **state)
{
	struct site *f = *state;
	struct offer first, second;
	uint64_t last = 0;
	struct err err;

	f->s->conf->offline = true;
	assert_int_equal(offline_begin(f->s, &err), 0);
	assert_int_equal(offline_open(f->s, &err), 0);
	offer_get(f, &first);
	site_reopen(f);
	for (int i = 0; i < 150; i++)
		last = put(f, &first);
	f->s->conf->offline = true;
	assert_int_equal(offline_begin(f->s, &err), 0);
	offer_get(f, &second);
	assert_string_not_equal(first.tray, second.tray);
	assert_true(second.next > last);
	site_reopen(f);
	assert_true(put(f, &second) > last);
	f->s->conf->offline = true;
	assert_int_equal(offline_begin(f->s, &err), 0);
	assert_int_equal(offline_open(f->s, &err), 0);
	offer_get(f, &first);
	assert_string_not_equal(first.tray, second.tray);
	assert_true(first.next > second.next);
	assert_true(f->s->turn->merging);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(killed_while_it_begins, setup, site_teardown),
	};

	return cmocka_run_group_tests_name("offline", tests, NULL, NULL);
}
