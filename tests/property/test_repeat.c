/*
 * test_repeat.c - an action on many jobs that a restart cuts off, and that is repeated with its
 * key, does what it would have done at once.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/json.h"
#include "property/history.h"
#include "server/base/work.h"
#include "server/job/jobs.h"
#include "server/loop.h"
#include "server/server.h"
#include "store/store.h"
#include "support/bare.h"
#include "support/leaks.h"

static const struct {
	const char *path, *body;
} keyed[] = {
	{"/v1/jobs/hold", "{\"ids\":[\"1\",\"2[]\",\"99\",\"3\",\"4[2-5]\",\"1\"],\"holds\":\"o\"}"},
	{"/v1/jobs/hold", "{\"filter\":{\"queue\":\"batch\"},\"holds\":\"s\"}"},
	{"/v1/jobs/release", "{\"ids\":[\"2[]\",\"4[]\",\"nonsense\"]}"},
	{"/v1/jobs/alter", "{\"ids\":[\"2[]\",\"1\",\"4[]\"],\"name\":\"other\",\"priority\":3}"},
	{"/v1/jobs/delete", "{\"filter\":{\"name\":\"x\"},\"message\":\"why not\"}"},
	{"/v1/jobs/delete", "{\"ids\":[\"2[1-4]\",\"3\",\"4[]\"]}"},
	{"/v1/jobs/signal", "{\"ids\":[\"1\",\"2[]\"],\"signal\":\"USR1\"}"},
	{"/v1/jobs/move", "{\"filter\":{},\"queue\":\"fast\"}"},
};
#define KEYED ((int)(sizeof keyed / sizeof *keyed))

/* The action runs to its end, after `cuts` restarts in the middle; then everything that is to be
 * seen, and each job's history. */
static void keyed_world(int which, int cuts, int turns, struct strbuf *out)
{
	struct history h = {.now_us = EPOCH * 1000000};
	struct bare_answer a = {0};
	struct http_request *r;
	char command[128], path[64];

	/* The same each time, since it is shown. */
	snprintf(h.dir, sizeof h.dir, "%s/shunt-keyed-%d", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp",
		 (int)getpid());
	assert_int_equal(mkdir(h.dir, 0700), 0);
	rng_seed(&h.rng, 1);
	bare_clear();
	bare_clock(h.now_us);
	h.s = server_open(&h);
	ask(&h, getuid(), "PUT", "/v1/classes/own", "{}");
	ask(&h, getuid(), "PUT", "/v1/queues/fast", "{}");
	attribute(&h, "/v1/server", "scheduling", "False");
	for (int i = 0; i < 4; i++)
		ask(&h, getuid(), "POST", "/v1/jobs", "{\"name\":\"x\",\"script\":\"true\",\"hold\":\"%s\"%s}",
		    i % 3 ? "u" : "", i % 2 ? ",\"array\":\"1-6\"" : "");
	for (int i = 0; i <= cuts; i++) {
		h.s->slices->slice_steps = 2;
		r = bare_begin(h.s, getuid(), "POST", keyed[which].path, "the-key", keyed[which].body,
			       i < cuts ? NULL : &a);
		for (int k = 0; k < (i < cuts ? turns : 1000) && !bare_answered(r); k++)
			server_turn(h.s);
		assert_true(i < cuts || bare_answered(r));
		if (i < cuts) {
			store_close(h.s->store);
			h.s = server_open(&h);
		}
		bare_end(r);
	}
	while (h.s->slices->works.n) /* priorities */
		server_turn(h.s);
	strbuf_printf(out, "%d %s\n", a.status, strbuf_text(&a.body));
	dump(&h, out);
	for (uint32_t id = 1; id < h.s->jobs->entries.n; id++) {
		json_t *events;
		if (!entry_get(h.s, id)->spec)
			continue;
		struct strbuf name = {0};
		entry_id(h.s, id, &name);
		snprintf(path, sizeof path, "/v1/jobs/%s/events", name.text);
		strbuf_clear(&a.body);
		bare_ask(h.s, getuid(), "GET", path, NULL, &a);
		events = json_loads(strbuf_text(&a.body), 0, NULL);
		for (size_t k = 0; k < json_array_size(json_object_get(events, "events")); k++)
			strbuf_printf(out, "%s %s\n", name.text,
				      json_string_value(json_object_get(
					      json_array_get(json_object_get(events, "events"), k), "text")));
		json_decref(events);
		strbuf_fini(&name);
	}
	strbuf_fini(&a.body);
	store_close(h.s->store);
	snprintf(command, sizeof command, "rm -rf %s", h.dir);
	assert_int_equal(system(command), 0);
}

static bool repeats_well(int which)
{
	struct strbuf once = {0};
	bool good = true;

	keyed_world(which, 0, 0, &once);
	for (int turns = 1; turns < 16 && good; turns += 2) {
		struct strbuf cut = {0};
		keyed_world(which, 1 + turns % 3, turns, &cut);
		good = strcmp(strbuf_text(&once), strbuf_text(&cut)) == 0;
		if (!good) {
			printf("# %s, cut off after %d turns\n", keyed[which].path, turns);
			differ(strbuf_text(&once), strbuf_text(&cut));
		}
		strbuf_fini(&cut);
	}
	strbuf_fini(&once);
	return good;
}

static void repeated_equals_once(void **state)
{
	int status;

	for (int which = 0; which < KEYED; which++) {
		pid_t pid = (fflush(stdout), fork());
		if (pid == 0) {
			bool good = repeats_well(which) && leaks_none();
			fflush(stdout);
			_exit(good ? 0 : 1);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(repeated_equals_once)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
