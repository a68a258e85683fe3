/*
 * test_same.c - what the simulator shows is what the cluster does.
 *
 * Random workloads with queues, limits, arrays, dependencies, holds and -a are given to both: to the simulator as a workload file and a site, and to a real
 * server with a real store, job by job, its clock set and its processes ended by the test. Every job must start at the same instant in both, or in neither.
 *
 *	SHUNT_CASES=1000 build-test/tests/test_property_same	many of them
 *	SHUNT_SEED=7 build-test/tests/test_property_same		one, with the workload and what became of each job
 *
 * At one instant, in both: what opens by time, then submissions, then ends. Each case is a process of its own: a server has no way to be taken down whole.
 */
#include <pwd.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/rng.h"
#include "base/strbuf.h"
#include "base/timetext.h"
#include "base/vec.h"
#include "core/cluster.h"
#include "core/job.h"
#include "property/same_sim.h"
#include "rules/attr.h"
#include "rules/gate.h"
#include "rules/queue.h"
#include "run/order.h"
#include "sched/sched.h"
#include "server/base/clock.h"
#include "server/base/turn.h"
#include "server/job/attempt.h"
#include "server/job/jobs.h"
#include "server/life/dispatch.h"
#include "server/loop.h"
#include "server/server.h"
#include "store/store.h"
#include "support/bare.h"

#define EPOCH INT64_C(1800000000)
#define MACHINE "nodes:2x4+1x8"
#define NODES "n[1-2]:cpus=4:mem=8gb n3:cpus=8:mem=8gb"
#define LINES 40

/* One line of the workload, as both are told it. */
struct line {
	int64_t at, run;
	uint64_t number; /* of the server */
	int64_t id;	 /* of the workload */
	uint32_t first, count;
	int exit;
	int64_t release; /* 0: not held */
	uid_t uid;
	char body[1024]; /* of the server's request */
};

struct same {
	struct rng rng;
	struct server *s;
	struct ruleset site;
	VEC(struct line) lines;
	struct strbuf file;
	int64_t now;
	bool loud;
	char dir[64];
	char policy[32];
};

static int64_t below(struct same *x, int64_t n)
{
	return (int64_t)rng_below(&x->rng, (uint64_t)n);
}

static const char *pick(struct same *x, const char *const *list, int n)
{
	return list[below(x, n)];
}
#define PICK(x, ...)                                                                                                   \
	pick(x, (const char *const[]){__VA_ARGS__}, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

/* ---- the site, told to both ---- */

static void set(struct same *x, const char *queue, const char *name, const char *value)
{
	struct attrs *a = queue ? &x->site.queues.v[ruleset_find(&x->site, queue)].attrs : &x->site.attrs;
	char path[80], body[200];
	struct err err;

	assert_int_equal(attrs_change(a, ATTR_SET, name, value, &err), 0);
	snprintf(path, sizeof path, "/v1/%s%s", queue ? "queues/" : "server", queue ? queue : "");
	snprintf(body, sizeof body, "{\"changes\":[{\"op\":\"set\",\"name\":\"%s\",\"value\":\"%s\"}]}", name, value);
	assert_int_equal(bare_ask(x->s, getuid(), "PATCH", path, body, NULL), 200);
	if (x->loud)
		printf("# set %s %s = %s\n", queue ? queue : "server", name, value);
}

static void maybe_limit(struct same *x, const char *queue, const char *name)
{
	char value[16];

	if (below(x, 2))
		return;
	snprintf(value, sizeof value, "%d", 1 + (int)below(x, 4));
	set(x, queue, name, value);
}

static void site_make(struct same *x)
{
	static const char *const names[] = {"batch", "fast"};

	for (int i = 0; i < 2; i++) {
		char path[80];
		ruleset_add(&x->site, names[i]);
		snprintf(path, sizeof path, "/v1/queues/%s", names[i]);
		bare_ask(x->s, getuid(), "PUT", path, "{}", NULL); /* batch is there */
		set(x, names[i], "enabled", "True");
		set(x, names[i], "started", "True");
		maybe_limit(x, names[i], "max_running");
		maybe_limit(x, names[i], "max_user_run");
	}
	set(x, "fast", "priority", PICK(x, "0", "2", "5"));
	set(x, NULL, "default_queue", "batch");
	set(x, NULL, "policy", x->policy);
	maybe_limit(x, NULL, "max_running");
	maybe_limit(x, NULL, "max_user_run");
}

/* ---- the workload, told to both ---- */

static void depend_make(struct same *x, struct line *l, struct strbuf *body)
{
	const struct line *on = &x->lines.v[below(x, (int64_t)x->lines.n)];
	const char *type = PICK(x, "afterok", "afterok", "afterany", "afternotok", "after");
	const char *whole = on->count > 1 ? "[]" : "";

	strbuf_printf(&x->file, " depend=%s:%lld%s", type, (long long)on->id, whole);
	strbuf_printf(body, ",\"depend\":\"%s:%llu%s\"", type, (unsigned long long)on->number, whole);
}

static void line_make(struct same *x, int64_t at)
{
	const char *request = PICK(x, "ncpus=1", "ncpus=1", "ncpus=2", "ncpus=4", "ncpus=8", "nodes=2:ppn=2",
				   "nodes=3:ppn=4", "nodes=1:ppn=3");
	const struct line *last = x->lines.n ? &x->lines.v[x->lines.n - 1] : NULL;
	int64_t walltime = 10 + below(x, 200);
	struct strbuf body = {0};
	struct line l = {.at = at,
			 .run = 1 + below(x, walltime - 1),
			 .number = last ? last->number + 1 : 1,
			 .id = last ? last->id + last->count : 1,
			 .first = last ? last->first + last->count : 1,
			 .count = 1,
			 .uid = below(x, 3) ? getuid() : 65534};

	strbuf_printf(&x->file, "at=%lld user=%s req=%s walltime=%lld run=%lld", (long long)at,
		      getpwuid(l.uid)->pw_name, request, (long long)walltime, (long long)l.run);
	strbuf_printf(&body, "{\"script\":\"true\",\"resources\":[\"%s\",\"walltime=%lld\"]", request,
		      (long long)walltime);
	if (below(x, 2)) {
		strbuf_puts(&x->file, " queue=fast");
		strbuf_puts(&body, ",\"queue\":\"fast\"");
	}
	if (below(x, 4) == 0) {
		l.count = 2 + (uint32_t)below(x, 5);
		char array[32], limit[16] = "";
		if (below(x, 2))
			snprintf(limit, sizeof limit, "%%%d", 1 + (int)below(x, 3));
		snprintf(array, sizeof array, "1-%u%s", l.count, limit);
		strbuf_printf(&x->file, " array=%s", array);
		strbuf_printf(&body, ",\"array\":\"%s\"", array);
	}
	if (x->lines.n && below(x, 4) == 0)
		depend_make(x, &l, &body);
	if (below(x, 8) == 0) {
		int64_t start = at + 1 + below(x, 200);
		strbuf_printf(&x->file, " start=%lld", (long long)start);
		strbuf_printf(&body, ",\"at\":%lld", (long long)start);
	}
	if (below(x, 10) == 0) {
		l.release = at + 1 + below(x, 200);
		strbuf_printf(&x->file, " hold=%lld", (long long)l.release);
		strbuf_puts(&body, ",\"hold\":\"u\"");
	}
	if (below(x, 10) == 0) {
		int64_t deadline = at + 2 * walltime + below(x, 2000);
		strbuf_printf(&x->file, " type=Q deadline=%lld", (long long)deadline);
		strbuf_printf(&body, ",\"type\":\"Q\",\"deadline\":%lld", (long long)deadline);
	}
	if (below(x, 6) == 0) {
		l.exit = 3;
		strbuf_puts(&x->file, " exit=3");
	}
	strbuf_puts(&x->file, "\n");
	strbuf_puts(&body, "}");
	snprintf(l.body, sizeof l.body, "%s", body.text);
	strbuf_fini(&body);
	vec_push(&x->lines, l);
}

static void workload_make(struct same *x)
{
	int64_t at = EPOCH;

	strbuf_printf(&x->file, "#shunt-workload 1\nmachine %s\n", MACHINE);
	for (int i = 0; i < LINES; i++) {
		at += below(x, 3) ? below(x, 40) : 0;
		line_make(x, at);
	}
	if (x->loud)
		printf("%s", x->file.text);
}

/* ---- the server ---- */

static const struct line *line_of(const struct same *x, uint32_t id)
{
	size_t i = 0;

	while (i + 1 < x->lines.n && x->lines.v[i + 1].first <= id)
		i++;
	return &x->lines.v[i];
}

/* Turns at this instant until nothing more follows: all that is ordered starts at once. */
static void pump(struct same *x)
{
	const struct bare_attempt *all;
	bool any;

	do {
		x->s->turn->commit_us = 1; /* do not wait for company */
		server_turn(x->s);
		any = x->s->turn->dirty || gate_has_news(x->s->gate);
		size_t n = bare_attempts(&all);
		for (size_t i = 0; i < n; i++)
			if (!all[i].started) {
				char tag[64];
				memcpy(tag, all[i].tag, sizeof tag);
				bare_started(x->s, tag);
				any = true;
				n = bare_attempts(&all);
			}
	} while (any);
}

static int64_t end_of(const struct same *x, uint32_t id)
{
	return entry_job(x->s, id)->start + line_of(x, id)->run;
}

/* The running job that ends next. */
static bool next_end(const struct same *x, uint32_t *ret)
{
	bool found = false;

	for (uint32_t id = 1; id < x->s->jobs->entries.n; id++)
		if (entry_job(x->s, id)->state == STATE_RUNNING && (!found || end_of(x, id) < end_of(x, *ret))) {
			*ret = id;
			found = true;
		}
	return found;
}

static void finish(struct same *x, uint32_t id)
{
	int64_t now_us = x->now * 1000000;
	char tag[64];

	attempt_tag(x->s, id, entry_job(x->s, id)->attempt, tag);
	bare_forget(tag);
	dispatch_engine.attempt_ended(x->s, &(struct result){.tag = tag,
							     .how = RESULT_EXITED,
							     .status = line_of(x, id)->exit,
							     .started_us = now_us - 1000000,
							     .ended_us = now_us,
							     .session = 1});
}

static void submit_line(struct same *x, const struct line *l)
{
	struct bare_answer a = {0};

	bare_ask(x->s, l->uid, "POST", "/v1/jobs", l->body, &a);
	if (a.status != 201)
		printf("# %s -> %d %s\n", l->body, a.status, strbuf_text(&a.body));
	assert_int_equal(a.status, 201);
	assert_int_equal(x->s->jobs->next_number - 1, l->number);
	strbuf_fini(&a.body);
}

/* Holds that end now, all by one request. */
static bool release(struct same *x)
{
	struct strbuf body = {0};
	bool any = false;

	strbuf_puts(&body, "{\"holds\":\"u\",\"ids\":[");
	for (size_t i = 0; i < x->lines.n; i++)
		if (x->lines.v[i].release == x->now) {
			strbuf_printf(&body, "%s\"%llu%s\"", any ? "," : "", (unsigned long long)x->lines.v[i].number,
				      x->lines.v[i].count > 1 ? "[]" : "");
			any = true;
		}
	strbuf_puts(&body, "]}");
	if (any)
		bare_ask(x->s, getuid(), "POST", "/v1/jobs/release", body.text, NULL);
	strbuf_fini(&body);
	return any;
}

static void earlier(int64_t *at, int64_t other)
{
	if (other < *at)
		*at = other;
}

static void serve(struct same *x)
{
	size_t next = 0;

	for (;;) {
		int64_t at = sched_next_wake(x->s->sched);
		uint32_t id = 0;
		earlier(&at, gate_next(x->s->gate));
		if (next_end(x, &id))
			earlier(&at, end_of(x, id));
		if (next < x->lines.n)
			earlier(&at, x->lines.v[next].at);
		for (size_t i = 0; i < x->lines.n; i++)
			if (x->lines.v[i].release > x->now)
				earlier(&at, x->lines.v[i].release);
		if (at == TIME_NEVER)
			return;
		if (at > x->now) {
			x->now = at;
			bare_clock(x->now * 1000000);
			bool due = gate_next(x->s->gate) <= x->now;
			clock_read(x->s);
			if (release(x) || due)
				pump(x);
		}
		if (next < x->lines.n && x->lines.v[next].at <= x->now)
			submit_line(x, &x->lines.v[next++]);
		else if (next_end(x, &id) && end_of(x, id) <= x->now)
			finish(x, id);
		else
			x->s->turn->dirty = true; /* what the scheduler wanted to wake for */
		pump(x);
	}
}

/* ---- both ---- */

static bool compare(const struct same *x, const int64_t *simulated, int64_t n)
{
	bool same = true;

	for (int64_t i = 0; i < n; i++) {
		uint32_t id = (uint32_t)i + 1;
		const struct entry *e = &x->s->jobs->entries.v[id];
		int64_t start = e->ran ? entry_job(x->s, id)->start : -1;
		if (x->loud || start != simulated[i])
			printf("# job %lld (number %llu of the server, %s): server %lld, simulator %lld%s\n",
			       (long long)i + 1, (unsigned long long)job_key_number(e->key),
			       job_state_name(entry_job(x->s, id)->state), (long long)(start < 0 ? -1 : start - EPOCH),
			       (long long)(simulated[i] < 0 ? -1 : simulated[i] - EPOCH),
			       start != simulated[i] ? "  <---" : "");
		same &= start == simulated[i];
	}
	return same;
}

static void workload_save(const struct same *x, const char *path)
{
	FILE *out = fopen(path, "w");

	assert_non_null(out);
	fputs(x->file.text, out);
	fclose(out);
}

static bool live_through(uint64_t seed, bool loud)
{
	struct same x = {.loud = loud, .now = EPOCH};
	struct err err = {.text = ""};
	char command[128], path[128];
	bool good;

	snprintf(x.dir, sizeof x.dir, "%s/shunt-same-XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	assert_non_null(mkdtemp(x.dir));
	rng_seed(&x.rng, seed);
	ruleset_init(&x.site);
	bare_clock(x.now * 1000000);
	x.s = bare_open(x.dir, NODES);
	snprintf(x.policy, sizeof x.policy, "%s", PICK(&x, "shunt", "shunt", "easy", "fcfs", "conservative", "oscar"));
	x.s->turn->wake = TIME_NEVER; /* the loop's, which is not there: the test wakes it */
	site_make(&x);
	workload_make(&x);
	serve(&x);

	const struct line *last = &x.lines.v[x.lines.n - 1];
	int64_t n = last->first + last->count - 1, *starts = mem_zalloc((size_t)n * sizeof *starts);

	snprintf(path, sizeof path, "%s/same.work", x.dir);
	workload_save(&x, path);
	if (same_simulate(path, x.policy, MACHINE, &x.site, &x.s->cluster->settings, starts, n, &err) < 0)
		fail_msg("%s", err.text);
	good = compare(&x, starts, n);
	free(starts);
	ruleset_fini(&x.site);
	strbuf_fini(&x.file);
	vec_free(&x.lines);
	snprintf(command, sizeof command, "rm -rf %s", x.dir);
	if (system(command) != 0)
		printf("# %s is left\n", x.dir);
	fflush(stdout);
	return good;
}

static void same_starts(void **state)
{
	const char *one = getenv("SHUNT_SEED"), *many = getenv("SHUNT_CASES");
	uint64_t first = one ? strtoull(one, NULL, 10) : 1, n = one ? 1 : many ? strtoull(many, NULL, 10) : 30;
	int bad = 0;

	for (uint64_t seed = first; seed < first + n; seed++) {
		int status;
		pid_t pid;
		fflush(stdout);
		pid = fork();
		assert_true(pid >= 0);
		if (pid == 0)
			_exit(live_through(seed, one != NULL) ? 0 : 1);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		if (status != 0) {
			printf("# seed %llu differs: SHUNT_SEED=%llu shows it\n", (unsigned long long)seed,
			       (unsigned long long)seed);
			bad++;
		}
	}
	assert_int_equal(bad, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(same_starts)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
