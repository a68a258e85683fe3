/*
 * test_replay.c - state is the same before and after a restart.
 *
 * A real server with a real store lives through random histories of every operation of the API, of
 * what processes do, and of time. At random points it is dropped and opened again from its store;
 * then everything that the API can show, of every job, array, queue and node, must be as it was. At
 * the end everything is released and allowed, and all jobs must get to their end: none is stuck on
 * an idle machine.
 *
 *	SHUNT_HISTORIES=10000 build-test/tests/test_property_replay	many of them
 *	SHUNT_SEED=7 build-test/tests/test_property_replay		one, with what was done
 *	SHUNT_SEED=2501 SHUNT_HISTORIES=2500 ...			many from there on
 *
 * Each history is a process of its own: a server has no way to be taken down whole.
 */
#include <glob.h>
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/names.h"
#include "core/cluster.h"
#include "hooks/hook.h"
#include "property/history.h"
#include "rules/gate.h"
#include "rules/limit_internal.h"
#include "run/order.h"
#include "server/base/turn.h"
#include "server/base/work.h"
#include "server/book/quotas.h"
#include "server/job/jobs.h"
#include "server/life/wait/amounts.h"
#include "server/life/world/dispatch.h"
#include "server/loop.h"
#include "server/server.h"
#include "store/store.h"
#include "support/bare.h"
#include "support/leaks.h"
#include "support/lua.h"

#define FEW 160	    /* refused requests at the end of a history */
#define MANY 10000  /* refused requests in the case that looks for leaks of memory */
#define SLACK 65536 /* bytes that the server may have more after them: what tables grow by */
#define STEPS 60

/* A crash of the machine: the end of the accounting file was not on disk. */
static void lines_cut(struct history *h)
{
	char pattern[128];
	struct stat st;
	glob_t g;

	snprintf(pattern, sizeof pattern, "%s/accounting/*", h->dir);
	if (glob(pattern, 0, NULL, &g) != 0)
		return;
	const char *last = g.gl_pathv[g.gl_pathc - 1];
	if (stat(last, &st) == 0 && st.st_size > 0)
		assert_int_equal(truncate(last, st.st_size - (off_t)below(h, (uint64_t)st.st_size + 1)), 0);
	globfree(&g);
}

static bool restart(struct history *h)
{
	struct strbuf before = {0}, after = {0};
	bool same;

	owners_away(h);
	/* Actions are not waited for, but what recovery would derive is. */
	for (int i = 0; i == 0 || ((store_pending(h->s->store) || gate_has_news(h->s->gate) ||
				    h->s->slices->queue_works || h->s->turn->route || h->s->slices->accepted) &&
				   i < 1000);
	     i++) {
		h->now_us += 1000; /* a commit may wait for company */
		bare_clock(h->now_us);
		server_turn(h->s);
	}
	owners_silence(h);
	dump(h, &before);
	if (rng_below(&h->extra, 3) == 1) { /* by qterm: what was announced for later is not forgotten */
		void (*between)(struct server * s) = bare_between;
		bare_between = NULL; /* hooks that were asked don't answer any more */
		ask(h, getuid(), "POST", "/v1/shutdown", "{\"mode\":\"quick\"}");
		bare_between = between;
		server_turn(h->s);
	}
	store_close(h->s->store);
	if (h->loud)
		printf("# restart, %zu works were under way\n", h->s->slices->works.n);
	waiting_end(h, true);
	if (one_in(h, 2))
		lines_cut(h);
	lua_forget();
	h->s = server_open(h);
	quota_check(h);
	dump(h, &after);
	same = strcmp(strbuf_text(&before), strbuf_text(&after)) == 0;
	if (!same)
		differ(strbuf_text(&before), strbuf_text(&after));
	strbuf_fini(&before);
	strbuf_fini(&after);
	return same;
}

/* Returns true if the record of earlier users who could be started is right; now and then they are
 * counted again. */
static bool overtakes_right(const struct history *h, int step)
{
	const struct server *s = h->s;
	uint32_t n = (uint32_t)s->jobs->entries.n, first = 1;

	while (first < n && !(entry_get(s, first)->spec && entry_job(s, first)->state <= STATE_ALLOCATED &&
			      entry_job(s, first)->kind == KIND_COMMON && gate_blocks(s->gate, first) == 0))
		first++;
	for (uint32_t i = 1; i < n && step % 3 == 0; i++) {
		uint32_t id = step % 2 ? i : n - i;
		if (quotas_overtakes(s, id) == (first < id))
			continue;
		printf("# job %u could be started, and %u is said to come %s\n", first, id,
		       first < id ? "first" : "later");
		return false;
	}
	return true;
}

static int unfinished(const struct history *h)
{
	int n = 0;

	for (uint32_t id = 1; id < h->s->jobs->entries.n; id++)
		n += entry_get(h->s, id)->spec && !entry_ended(h->s, id);
	return n;
}

/* Jobs that need nodes outside partitions (0), and those that need partitions, of one kind of
 * nodes or another (1, 2), have their turns. */
static void divide(struct history *h, int divided)
{
	ask(h, getuid(), "DELETE", "/v1/partitions/A", "{}");
	ask(h, getuid(), "DELETE", "/v1/partitions/B", "{}");
	if (!divided)
		return;
	ask(h, getuid(), "PUT", "/v1/partitions/A", "{}");
	ask(h, getuid(), "PUT", "/v1/partitions/B", "{}");
	attribute(h, "/v1/partitions/A", "nodes", divided == 1 ? "n[1-2]" : "n3");
	attribute(h, "/v1/partitions/B", "nodes", divided == 1 ? "n3" : "n[1-2]");
}

/* All that people may have forbidden is allowed, and everything that starts ends: the queue must
 * empty itself. */
static bool drain(struct history *h)
{
	static const char *const queues[] = {"/v1/queues/batch", "/v1/queues/fast", "/v1/queues/slow"};

	for (int i = 0; i < 3; i++) {
		attribute(h, queues[i], "started", "True");
		attribute(h, queues[i], "enabled", "True");
		attribute(h, queues[i], "max_running", "1"); /* one at a time: nobody may be left behind */
		attribute(h, queues[i], "max_user_run", "1");
	}
	for (int i = 1; i < 3; i++) {
		attribute(h, queues[i], "max_queuable", "100000");
		attribute(h, queues[i], "resources_max.walltime", "1000:00:00");
	}
	/* these may be less than a single job asks for; not all of them are there */
	for (const char *const *p =
		     (const char *const[]){"/v1/users/default", "/v1/users/nobody", "/v1/queues/fast",
					   "/v1/accounts/low", "/v1/accounts/top", "/v1/qos/high", "/v1/qos/low", NULL};
	     *p; p++) {
		attribute(h, *p, "max_cpus", "1000");
		attribute(h, *p, "max_cpu_seconds", "1000000000");
	}
	attribute(h, "/v1/accounts/low", "credit_rate", "0");
	attribute(h, "/v1/accounts/top", "credit_rate", "0");
	attribute(h, "/v1/queues/entry", "route_destinations", "fast,slow");
	attribute(h, "/v1/queues/entry", "started", "True");
	attribute(h, "/v1/server", "long_checkpoint_rule", "remove"); /* nobody waits for a night */
	attribute(h, "/v1/server", "max_running", "3");
	attribute(h, "/v1/server", "max_user_run", "2");
	attribute(h, "/v1/server", "scheduling", "True");
	for (const char *p = "123"; *p; p++) {
		char path[32];
		snprintf(path, sizeof path, "/v1/nodes/n%c", *p);
		ask(h, getuid(), "PATCH", path, "{\"offline\":false}");
	}
	owners_go(h);
	/* jobs that are bound to it run in it, all others too */
	ask(h, getuid(), "DELETE", "/v1/reservations/course", "{}");
	ask(h, getuid(), "DELETE", "/v1/reservations/disks", "{}");
	attribute(h, "/v1/reservations/course", "ignore_jobs", "True");
	attribute(h, "/v1/reservations/course", "breaks_deadlines", "True");
	attribute(h, "/v1/reservations/course", "acl_users", "*");
	attribute(h, "/v1/reservations/course", "hours", "Mon-Sun 00:00-24:00");
	attribute(h, "/v1/reservations/course", "nodes", "all");
	attribute(h, "/v1/queues/fast", "nodes", "all");
	attribute(h, "/v1/queues/slow", "nodes", "all");
	attribute(h, "/v1/server", "resources_available.matlab", "5");
	/* a job that was routed to a site that has it may be back */
	attribute(h, "/v1/server", "resources_available.other", "1");
	assert_int_equal(amounts_reported(h->s, "matlab 5\n", 9, NULL), 0);
	sites_add(h);
	ask(h, getuid(), "POST", "/v1/jobs/release", "{\"filter\":{},\"holds\":\"uos\"}");
	for (int i = 0; i < 2000 && unfinished(h); i++) {
		const struct bare_attempt *all;
		char tag[64];
		if (i % 40 == 0)
			divide(h, (int[]){1, 0, 2, 0}[i / 40 % 4]);
		for (int n = 1; i % 40 == 20 && n <= 2; n++) /* while they have no jobs, and are in no partition */
			ask(h, getuid(), "PATCH", n == 1 ? "/v1/nodes/n1" : "/v1/nodes/n2", "{\"shared\":false}");
		sites_drain(h);
		h->now_us += 30000000;
		bare_clock(h->now_us);
		owners_hear(h);
		do /* the loop does not sleep before everything is decided */
			server_turn(h->s);
		while (h->s->turn->undecided);
		lua_answer(h->s, 1);
		while (bare_attempts(&all) && bare_reached(&all[0])) {
			struct result r = {.how = RESULT_EXITED,
					   .started_us = h->now_us - 1000000,
					   .ended_us = h->now_us,
					   .session = 1};
			memcpy(tag, all[0].tag, sizeof tag);
			r.tag = tag;
			if (!all[0].started)
				bare_started(h->s, tag);
			bare_forget(tag);
			dispatch_engine.attempt_ended(h->s, &r);
			server_turn(h->s);
		}
	}
	if (unfinished(h) == 0)
		return true;
	for (uint32_t id = 1; id < h->s->jobs->entries.n; id++)
		if (entry_get(h->s, id)->spec && !entry_ended(h->s, id)) {
			struct strbuf text = {0};
			const struct entry *e = entry_get(h->s, id);
			job_see(h, id, NULL, &text);
			printf("# stuck, block %x: %s: %.300s\n", gate_blocks(h->s->gate, id),
			       e->outcome && e->outcome->comment ? e->outcome->comment : "", text.text);
			strbuf_clear(&text);
			strbuf_puts(&text, "/v1/jobs/");
			entry_id(h->s, id, &text);
			strbuf_puts(&text, "/why");
			ask(h, getuid(), "GET", text.text, "%s", "");
			strbuf_fini(&text);
			if (!h->loud)
				break;
		}
	return false;
}

size_t __sanitizer_get_current_allocated_bytes(void) __attribute__((weak));

/* What the server has in memory: numbers of interned things, and bytes. */
struct level {
	size_t words, names, requests, shapes, features, sets, classes, counters, rules;
	size_t bytes;
};

static struct level level_of(const struct history *h)
{
	const struct cluster *c = h->s->cluster;
	const struct limits *l = h->s->limits;

	return (struct level){
		.words = h->s->words->n - h->s->words->spare.n,
		.names = c->node_names.n + c->feature_names.n + c->user_names.n + c->partition_names.n +
			 c->res_names.n + c->amount_names.n + c->reservation_names.n,
		.requests = c->requests.n - c->spare_requests.n,
		.shapes = c->shapes.n - c->spare_shapes.n,
		.features = c->features.sets.n - c->features.spare.n,
		.sets = c->nodesets.n,
		.classes = l->classes.n - l->spare_classes.n,
		.counters = l->counters.n - l->spare_counters.n,
		.rules = l->rules.n - l->spare_rules.n,
		.bytes = __sanitizer_get_current_allocated_bytes ? __sanitizer_get_current_allocated_bytes()
								 : mallinfo2().uordblks,
	};
}

static void level_print(const char *when, const struct level *x)
{
	printf("# %s: %zu words, %zu names, %zu requests, %zu shapes, %zu sets of features, %zu of nodes, %zu classes, %zu counters, %zu rules, %zu bytes\n",
	       when, x->words, x->names, x->requests, x->shapes, x->features, x->sets, x->classes, x->counters,
	       x->rules, x->bytes);
}

/* What is refused or only asked about leaves nothing in memory. */
static bool memory_returns(struct history *h, uint32_t requests)
{
	struct level before, after;

	ask(h, getuid(), "PATCH", "/v1/nodes/n1", "{\"shared\":true}"); /* some ask for shares of its CPUs */
	ask(h, getuid(), "PUT", "/v1/reservations/kept", "{}");
	attribute(h, "/v1/reservations/kept", "nodes", "n1");
	for (uint32_t i = 0; i < requests / REFUSED_EACH; i++) /* caches fill, and tables that grow have room */
		refused_ask(h, i);
	before = level_of(h);
	for (uint32_t i = 0; i < requests / REFUSED_EACH; i++)
		refused_ask(h, requests + i);
	after = level_of(h);
	if (memcmp(&before, &after, offsetof(struct level, bytes)) == 0 &&
	    (after.bytes <= before.bytes + SLACK || requests < MANY))
		return true;
	level_print("before", &before);
	level_print("after refused requests", &after);
	return false;
}

static bool live_through(uint64_t seed, bool loud, uint32_t refused)
{
	struct history h = {.loud = loud, .now_us = EPOCH * 1000000 + (int64_t)(seed % 1000000)};
	bool good = true;
	char command[128];

	snprintf(h.dir, sizeof h.dir, "%s/shunt-replay-XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	assert_non_null(mkdtemp(h.dir));
	rng_seed(&h.rng, seed);
	rng_seed(&h.extra, rng_seed_of(seed, 1));
	rng_seed(&h.sites, rng_seed_of(seed, 2));
	rng_seed(&h.overlays, rng_seed_of(seed, 3));
	rng_seed(&h.visits, rng_seed_of(seed, 4));
	rng_seed(&h.owners, rng_seed_of(seed, 6));
	rng_seed(&h.hooks, rng_seed_of(seed, 5));
	rng_seed(&h.floods, rng_seed_of(seed, 7));
	h.connects = seed % 5 > 2; /* the others mean what they meant before there was one */
	h.owned = seed % 5 == 4;
	bare_clock(h.now_us);
	h.s = server_open(&h);
	visits_begin(&h);
	owners_begin(&h);
	sites_add(&h);
	ask(&h, getuid(), "PUT", "/v1/classes/own", "{}");
	attribute(&h, "/v1/classes/own", "preempt_signal", "15");
	ask(&h, getuid(), "PUT", "/v1/queues/fast", "{}");
	ask(&h, getuid(), "PUT", "/v1/queues/slow", "{}");
	attribute(&h, "/v1/queues/fast", "enabled", "True");
	attribute(&h, "/v1/queues/fast", "started", "True");
	attribute(&h, "/v1/queues/fast", "priority", "3");
	attribute(&h, "/v1/queues/slow", "enabled", "True");
	attribute(&h, "/v1/queues/slow", "started", "True");
	ask(&h, getuid(), "PUT", "/v1/queues/entry", "{}");
	attribute(&h, "/v1/queues/entry", "queue_type", "Route");
	attribute(&h, "/v1/queues/entry", "route_destinations", "fast,slow");
	attribute(&h, "/v1/queues/entry", "enabled", "True");
	attribute(&h, "/v1/queues/entry", "started", "True");
	h.hooked = rng_below(&h.hooks, 2);
	if (h.hooked)
		hooks_change(&h);
	for (int i = 0; i < STEPS && good; i++) {
		step(&h);
		good = overtakes_right(&h, i);
		if (good && one_in(&h, 12))
			good = restart(&h);
	}
	if (loud)
		printf("# hooks were called %u times for submit, %u modify, %u start, %u end\n",
		       lua_called(HOOK_SUBMIT), lua_called(HOOK_MODIFY), lua_called(HOOK_START), lua_called(HOOK_END));
	if (loud)
		printf("# digest of the requests: %016llx\n", (unsigned long long)h.digest);
	good = good && restart(&h) && drain(&h) && restart(&h) && memory_returns(&h, refused) && books_balance(&h) &&
	       lines_balance(&h);
	store_close(h.s->store);
	map_fini(&h.accepted);
	map_fini(&h.leased);
	snprintf(command, sizeof command, "rm -rf %s", h.dir);
	if (system(command) != 0)
		good = false;
	return good;
}

static bool history_runs(uint64_t seed, bool loud, uint32_t refused)
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		setvbuf(stdout, NULL, _IOLBF, 0);
		bool good = live_through(seed, loud, refused) && leaks_none();
		fflush(stdout);
		_exit(good ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status == 0;
}

/* Histories in which jobs were stuck, or not the same after a restart. */
static const uint64_t once_bad[] = {126, 203, 872, 3478, 5630, 8651, 8959, 9367, 30588, 31663, 38516, 59783, 820752};

static void replay_equals_live(void **state)
{
	const char *one = getenv("SHUNT_SEED"), *many = getenv("SHUNT_HISTORIES");
	uint64_t first = one ? strtoull(one, NULL, 10) : 1, n = many ? strtoull(many, NULL, 10) : one ? 1 : 20;
	int bad = 0;

	for (size_t i = 0; i < sizeof once_bad / sizeof *once_bad && !one; i++)
		if (!history_runs(once_bad[i], false, FEW)) {
			printf("# seed %llu\n", (unsigned long long)once_bad[i]);
			bad++;
		}
	for (uint64_t seed = first; seed < first + n && bad < 5; seed++)
		if (!history_runs(seed, one && !many, FEW)) {
			printf("# seed %llu\n", (unsigned long long)seed);
			bad++;
		}
	assert_int_equal(bad, 0);
}

static void refused_requests_leave_nothing(void **state)
{
	if (getenv("SHUNT_SEED"))
		skip();
	assert_true(history_runs(1, false, MANY));
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(replay_equals_live),
					   cmocka_unit_test(refused_requests_leave_nothing)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
