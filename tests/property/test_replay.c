/*
 * test_replay.c - state is the same before and after a restart.
 *
 * A real server with a real store lives through random histories of every operation of the API, of what processes do, and of time. At random points it is
 * dropped and opened again from its store; then everything that the API can show, of every job, array, queue and node, must be as it was. At the end
 * everything is released and allowed, and all jobs must get to their end: none is stuck on an idle machine.
 *
 *	SHUNT_HISTORIES=10000 build-test/tests/test_property_replay	many of them
 *	SHUNT_SEED=7 build-test/tests/test_property_replay		one, with what was done
 *
 * Each history is a process of its own: a server has no way to be taken down whole.
 */
#include <glob.h>
#include <pwd.h>
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
#include "base/map.h"
#include "base/rng.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "core/cluster.h"
#include "core/job.h"
#include "engine/engine.h"
#include "plan/plan.h"
#include "rules/gate.h"
#include "run/order.h"
#include "sched/sched.h"
#include "server/api/show.h"
#include "server/base/work.h"
#include "server/book/ledger.h"
#include "server/job/attempt.h"
#include "server/job/body.h"
#include "server/job/jobs.h"
#include "server/job/spec.h"
#include "server/life/dispatch.h"
#include "server/loop.h"
#include "server/node/nodes.h"
#include "server/server.h"
#include "store/history.h"
#include "store/quota.h"
#include "store/store.h"
#include "support/bare.h"

#define NODES "n[1-2]:cpus=4:mem=8gb n3:cpus=8:mem=8gb:big"
#define STEPS 60
#define EPOCH INT64_C(1800000000)

#define WAITING_MAX 4 /* requests that are under way */

struct history {
	struct server *s;
	struct http_request *waiting[WAITING_MAX]; /* NULL: none */
	struct rng rng;
	char dir[64];
	int64_t now_us;
	uint64_t submitted;  /* the highest number given */
	struct map accepted; /* numbers that became jobs: not those of submissions that a restart cut off */
	int patience;	     /* < 0: a request is begun, and not waited for */
	bool loud;
};

static int64_t below(struct history *h, int64_t n)
{
	return (int64_t)(rng_next(&h->rng) % (uint64_t)n);
}

static bool one_in(struct history *h, int64_t n)
{
	return below(h, n) == 0;
}

static const char *pick(struct history *h, const char *const *list)
{
	int n = 0;

	while (list[n])
		n++;
	return list[below(h, n)];
}
#define PICK(h, ...) pick(h, (const char *const[]){__VA_ARGS__, NULL})

/* Root, who manages, and somebody else. */
static uid_t someone(struct history *h)
{
	return one_in(h, 3) ? 65534 : getuid();
}

/* Those that were answered meanwhile go; all of them do when their server has gone. */
static void waiting_end(struct history *h, bool all)
{
	for (int i = 0; i < WAITING_MAX; i++)
		if (h->waiting[i] && (all || bare_answered(h->waiting[i]))) {
			bare_end(h->waiting[i]);
			h->waiting[i] = NULL;
		}
}

/* A request that is done in slices while others come, and that a restart may cut off. */
static void begin(struct history *h, uid_t uid, const char *method, const char *path, const char *body)
{
	int i = 0;

	while (i < WAITING_MAX && h->waiting[i])
		i++;
	if (i == WAITING_MAX)
		return;
	if (h->loud)
		printf("# %lld %u %s %s %s -> begun\n", (long long)(h->now_us / 1000000 - EPOCH), (unsigned)uid, method,
		       path, body);
	h->waiting[i] = bare_begin(h->s, uid, method, path, NULL, body, NULL);
}

static void ask(struct history *h, uid_t uid, const char *method, const char *path, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));
static void ask(struct history *h, uid_t uid, const char *method, const char *path, const char *fmt, ...)
{
	struct bare_answer a = {0};
	char body[2048];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(body, sizeof body, fmt, ap);
	va_end(ap);
	if (h->patience < 0) {
		begin(h, uid, method, path, body);
		return;
	}
	bare_ask(h->s, uid, method, path, body, &a);
	if (h->loud)
		printf("# %lld %u %s %s %s -> %d %.160s\n", (long long)(h->now_us / 1000000 - EPOCH), (unsigned)uid,
		       method, path, body, a.status, strbuf_text(&a.body));
	strbuf_fini(&a.body);
}

/* ---- what people do ---- */

static const char *resources(struct history *h)
{
	return PICK(h, "nodes=1:ppn=1", "nodes=1:ppn=2", "nodes=2:ppn=2", "nodes=1:ppn=4", "nodes=1:ppn=8", "ncpus=3",
		    "nodes=1:big:ppn=4", "nodes=3:ppn=4", "nodes=2:ppn=1+1:ppn=3", "nodes=1:ppn=2,mem=1gb",
		    "nodes=4:ppn=1,place=excl", "nodes=2:ppn=1,place=scatter:excl", "ncpus=1,place=exclhost");
}

static void some_job(struct history *h, char ret[64])
{
	uint64_t number = 1 + (uint64_t)below(h, (int64_t)h->submitted + 1);

	if (one_in(h, 3))
		snprintf(ret, 64, "%llu[]", (unsigned long long)number);
	else if (one_in(h, 3))
		snprintf(ret, 64, "%llu[%d]", (unsigned long long)number, (int)below(h, 7));
	else if (one_in(h, 8))
		snprintf(ret, 64, "%llu[1-3]", (unsigned long long)number);
	else
		snprintf(ret, 64, "%llu", (unsigned long long)number);
}

static void job_write(struct history *h, uid_t uid, struct strbuf *b)
{
	int64_t now = h->now_us / 1000000;

	strbuf_printf(b, "{\"name\":\"j%d\",\"script\":\"exit %d\",\"resources\":[\"%s\",\"walltime=%lld\"]",
		      (int)below(h, 9), (int)below(h, 3), resources(h), (long long)(1 + below(h, 400)));
	if (one_in(h, 3))
		strbuf_printf(b, ",\"array\":\"%s\"", PICK(h, "1-6", "0-4%2", "1-8%3", "1-3%1", "2,4,6%2"));
	if (one_in(h, 5))
		strbuf_printf(b, ",\"hold\":\"%s\"", uid ? "u" : PICK(h, "u", "o", "s", "uos"));
	if (one_in(h, 6))
		strbuf_printf(b, ",\"at\":%lld", (long long)(now + below(h, 300)));
	if (one_in(h, 3) && h->submitted)
		strbuf_printf(b, ",\"depend\":\"%s:%lld%s\"",
			      PICK(h, "afterok", "afterany", "afternotok", "after", "before", "beforeok"),
			      (long long)(1 + below(h, (int64_t)h->submitted)), one_in(h, 3) ? "[]" : "");
	if (one_in(h, 4))
		strbuf_printf(b, ",\"type\":\"Q\",\"deadline\":%lld", (long long)(now + 100 + below(h, 3000)));
	else if (one_in(h, 12) && uid == getuid())
		strbuf_printf(
			b,
			",\"type\":\"E\",\"deadline\":%lld,\"powers\":[\"sc_alloc\",\"q_alloc\",\"c_exec\",\"s_exec\",\"q_exec\"]",
			(long long)(now + 100 + below(h, 1000)));
	if (one_in(h, 4))
		strbuf_printf(b, ",\"queue\":\"%s\"", PICK(h, "batch", "fast", "slow"));
	if (one_in(h, 6))
		strbuf_printf(b, ",\"priority\":%d", (int)below(h, 5));
	if (one_in(h, 8))
		strbuf_puts(b, ",\"rerunnable\":false");
	if (one_in(h, 12))
		strbuf_puts(b, ",\"interactive\":true");
	if (one_in(h, 8))
		strbuf_printf(b, ",\"exclusive\":\"%s\"", PICK(h, "none", "node", "host"));
	if (one_in(h, 3))
		strbuf_printf(b, ",\"checkpoint\":\"%s\"", PICK(h, "enabled", "n", "c=1", "interval=90s,duration=5"));
	strbuf_puts(b, "}");
}

/* One, or a list, which is taken over in slices. */
static void op_submit(struct history *h)
{
	struct strbuf b = {0};
	uid_t uid = someone(h);
	int64_t n = one_in(h, 4) ? 1 + below(h, 4) : 0;

	strbuf_puts(&b, n ? "{\"jobs\":[" : "");
	for (int64_t i = 0; i == 0 || i < n; i++) {
		strbuf_puts(&b, i ? "," : "");
		job_write(h, uid, &b);
	}
	strbuf_puts(&b, n ? "]}" : "");
	h->patience = n ? -(int)below(h, 2) : 0;
	ask(h, uid, "POST", "/v1/jobs", "%s", b.text);
	h->patience = 0;
	h->submitted = h->s->jobs->next_number - 1;
	strbuf_fini(&b);
}

static void op_alter(struct history *h)
{
	struct strbuf b = {0};
	char id[64];
	int64_t now = h->now_us / 1000000;

	some_job(h, id);
	strbuf_printf(&b, "{\"ids\":[\"%s\"]", id);
	switch (below(h, 13)) {
	case 9:
		strbuf_printf(&b, ",\"exclusive\":\"%s\"", PICK(h, "none", "node", "host"));
		break;
	case 10:
	case 11:
		strbuf_printf(&b, ",\"max_run_subjobs\":%d%s", (int)below(h, 4), one_in(h, 3) ? ",\"name\":\"t\"" : "");
		break;
	case 0:
	case 1:
	case 2:
		strbuf_printf(&b, ",\"resources\":[\"%s\"]", resources(h));
		break;
	case 3:
		strbuf_printf(&b, ",\"resources\":[\"walltime=%d\"]", (int)(1 + below(h, 500)));
		break;
	case 4:
		strbuf_printf(&b, ",\"name\":\"a%d\",\"mail\":\"be\"", (int)below(h, 9));
		break;
	case 5:
		strbuf_printf(&b, ",\"priority\":%d", (int)below(h, 5));
		break;
	case 6:
		strbuf_puts(&b, ",\"type\":\"C\",\"deadline\":null");
		break;
	case 7:
		strbuf_printf(&b, ",\"type\":\"Q\",\"deadline\":%lld", (long long)(now + 100 + below(h, 2000)));
		break;
	case 8:
		strbuf_printf(&b, ",\"at\":%lld,\"comment\":\"mine\",\"output\":\"/tmp/x\"",
			      (long long)(now + below(h, 100)));
		break;
	default:
		strbuf_printf(&b, ",\"hold\":\"%s\"", PICK(h, "u", "n"));
		break;
	}
	strbuf_puts(&b, "}");
	ask(h, someone(h), "POST", "/v1/jobs/alter", "%s", b.text);
	strbuf_fini(&b);
}

/* Of a job that runs, around what it has used and what it may. */
static void op_walltime(struct history *h)
{
	VEC(uint32_t) running = {0};
	struct strbuf id = {0};

	for (uint32_t i = 1; i < h->s->jobs->entries.n; i++)
		if (h->s->jobs->entries.v[i].spec && entry_running(h->s, i))
			vec_push(&running, i);
	if (running.n) {
		uint32_t x = running.v[below(h, (int64_t)running.n)];
		entry_id(h->s, x, &id);
		ask(h, someone(h), "POST", "/v1/jobs/alter", "{\"ids\":[\"%s\"],\"resources\":[\"walltime=%lld\"]}",
		    id.text, (long long)(1 + below(h, 2 * h->s->jobs->entries.v[x].spec->walltime + 100)));
	}
	vec_free(&running);
	strbuf_fini(&id);
}

static void op_action(struct history *h)
{
	char id[64], path[64];
	const char *what =
		PICK(h, "hold", "release", "release", "delete", "rerun", "signal", "signal", "move", "run", "delete");
	struct strbuf more = {0};

	some_job(h, id);
	if (strcmp(what, "hold") == 0 || strcmp(what, "release") == 0)
		strbuf_printf(&more, ",\"holds\":\"%s\"", PICK(h, "u", "u", "o", "s", "uos"));
	else if (strcmp(what, "delete") == 0)
		strbuf_printf(&more, ",\"message\":\"%s\",\"delay\":%d%s", PICK(h, "no more", "because", ""),
			      (int)below(h, 30), one_in(h, 6) ? ",\"purge\":true" : "");
	else if (strcmp(what, "signal") == 0)
		strbuf_printf(&more, ",\"signal\":\"%s\"", PICK(h, "STOP", "suspend", "CONT", "resume", "USR1"));
	else if (strcmp(what, "move") == 0)
		strbuf_printf(&more, ",\"queue\":\"%s\"", PICK(h, "batch", "fast", "slow", "none"));
	snprintf(path, sizeof path, "/v1/jobs/%s", what);
	if (one_in(h, 10))
		ask(h, someone(h), "POST", path, "{\"filter\":{\"queue\":\"%s\"}%s}", PICK(h, "fast", "slow"),
		    strbuf_text(&more));
	else
		ask(h, someone(h), "POST", path, "{\"ids\":[\"%s\"]%s}", id, strbuf_text(&more));
	strbuf_fini(&more);
}

static void op_order(struct history *h)
{
	char a[64], b[64];

	some_job(h, a);
	some_job(h, b);
	ask(h, getuid(), "POST", "/v1/jobs/order", "{\"ids\":[\"%s\",\"%s\"]}", a, b);
}

static void attribute(struct history *h, const char *path, const char *name, const char *value)
{
	ask(h, getuid(), "PATCH", path, "{\"changes\":[{\"op\":\"set\",\"name\":\"%s\",\"value\":\"%s\"}]}", name,
	    value);
}

/* Of both users, or others would be refused everything. */
static void quota_give(struct history *h)
{
	const struct passwd *me = getpwuid(getuid());

	ask(h, getuid(), "POST", "/v1/quota",
	    "{\"quota\":[{\"user\":\"%s\",\"limit\":{\"normal\":%d,\"priority\":%d,\"interactive\":%d},\"end\":%s},"
	    "{\"user\":\"nobody\",\"limit\":{\"normal\":%d,\"priority\":0,\"interactive\":9000}}]}",
	    me ? me->pw_name : "root", (int)below(h, 400000), (int)below(h, 20000), (int)below(h, 20000),
	    PICK(h, "null", "202704", "202701"), (int)below(h, 400000));
}

static void op_admin(struct history *h)
{
	char path[64], value[16];

	snprintf(path, sizeof path, "/v1/queues/%s", PICK(h, "batch", "fast", "slow"));
	snprintf(value, sizeof value, "%d", (int)below(h, 5));
	if (one_in(h, 8)) {
		if (one_in(h, 2))
			quota_give(h);
		else
			attribute(h, "/v1/server", "quota", PICK(h, "True", "False"));
		return;
	}
	switch (below(h, 11)) {
	case 0:
		attribute(h, "/v1/server", "max_running", value);
		break;
	case 1:
		attribute(h, "/v1/server", "max_user_run", value);
		break;
	case 2:
		attribute(h, path, "max_running", value);
		break;
	case 3:
		attribute(h, path, "max_user_run", value);
		break;
	case 4:
		attribute(h, path, "started", PICK(h, "True", "False"));
		break;
	case 5:
		attribute(h, "/v1/server", "scheduling", PICK(h, "True", "True", "False"));
		break;
	case 6:
		ask(h, getuid(), "PATCH", PICK(h, "/v1/nodes/n1", "/v1/nodes/n3"), "{\"offline\":%s,\"note\":\"x\"}",
		    PICK(h, "true", "false"));
		break;
	case 7:
		ask(h, getuid(), "PATCH", PICK(h, "/v1/nodes/n1", "/v1/nodes/n2"), "{\"drain_at\":%lld,\"note\":\"y\"}",
		    (long long)(h->now_us / 1000000 + 1 + below(h, 600)));
		break;
	case 8:
		ask(h, getuid(), "PATCH", PICK(h, "/v1/nodes/n1", "/v1/nodes/n2"), "%s",
		    PICK(h, "{\"drain_at\":null}", "{\"note\":null}"));
		break;
	case 9:
		ask(h, getuid(), PICK(h, "PUT", "DELETE"), "/v1/queues/extra", "{}");
		attribute(h, PICK(h, "/v1/queues/extra", "/v1/queues/slow"), "enabled",
			  PICK(h, "True", "True", "False"));
		break;
	default:
		attribute(h, "/v1/server", "policy", PICK(h, "shunt", "easy", "conservative", "oscar"));
		break;
	}
}

/* ---- what processes do ---- */

static struct saves some_saves(struct history *h)
{
	struct saves v = {.state = (enum save_state)below(h, 4)};

	if (v.state == SAVE_NONE)
		return v;
	v.cause = (enum checkpoint_cause)below(h, SAVE_CAUSES);
	v.good = (int)below(h, 3);
	v.failed = (int)below(h, 2);
	v.number = below(h, 5);
	v.covers_ms = below(h, 6000);
	v.saved_us = h->now_us;
	v.took_ms = below(h, 1000);
	v.restarted = below(h, 3);
	return v;
}

static void op_process(struct history *h)
{
	const struct bare_attempt *all;
	size_t n = bare_attempts(&all);
	struct bare_attempt x;

	if (!n)
		return;
	x = all[below(h, (int64_t)n)];
	if (h->loud)
		printf("# process %s%s\n", x.tag, x.started ? " runs" : "");
	if (!x.started && !one_in(h, 4)) {
		bare_started(h->s, x.tag);
		return;
	}
	if (x.started && one_in(h, 3)) {
		struct saves v = some_saves(h);
		dispatch_engine.attempt_saved(h->s, x.tag, &v);
		return;
	}
	bare_forget(x.tag);
	if (!x.started && one_in(h, 3)) {
		dispatch_engine.attempt_refused(
			h->s, &(struct refusal){.tag = x.tag, .reason = one_in(h, 3) ? NULL : "it can't"});
	} else if (one_in(h, 8)) {
		dispatch_engine.attempt_lost(h->s, x.tag, NULL, one_in(h, 2) ? "the host is gone" : NULL);
	} else {
		struct result r = {.tag = x.tag,
				   .how = x.started ? (one_in(h, 4) ? RESULT_SIGNALED : RESULT_EXITED)
						    : RESULT_NOT_STARTED,
				   .status = (int)below(h, 3),
				   .cause = one_in(h, 6) ? CAUSE_WALLTIME : 0,
				   .cpu_ms = below(h, 100000),
				   .memory_kib = below(h, 100000),
				   .started_us = h->now_us - 5000000,
				   .ended_us = h->now_us,
				   .session = 4711,
				   .saves = some_saves(h),
				   .reason = one_in(h, 5) ? "some reason" : NULL};
		dispatch_engine.attempt_ended(h->s, &r);
	}
}

static void op_time(struct history *h)
{
	h->now_us += one_in(h, 4) ? below(h, 400) * 1000000 : below(h, 5000000);
	if (one_in(h, 60)) /* another month, perhaps */
		h->now_us += (int64_t)below(h, 20) * 86400000000;
	bare_clock(h->now_us);
	if (h->loud)
		printf("# time %lld\n", (long long)(h->now_us / 1000000 - EPOCH));
}

/* ---- what is seen ---- */

static void see(struct history *h, const char *path, struct strbuf *out)
{
	struct bare_answer a = {0};

	bare_ask(h->s, getuid(), "GET", path, NULL, &a);
	strbuf_printf(out, "%s\n%s\n", path, strbuf_text(&a.body));
	strbuf_fini(&a.body);
}

static void job_see(struct history *h, uint32_t id, const struct array *a, struct strbuf *out)
{
	struct field_list all;
	struct err err;
	json_t *body = NULL;
	struct json j;

	show_whole(&all);
	body_read(h->s, id, &body, &err);
	json_init(&j, out, false);
	json_open_object(&j, NULL);
	show_members(h->s, &j, id, a, &all, body);
	json_close_object(&j);
	strbuf_puts(out, "\n");
	json_decref(body);
}

/* When it is planned to end, and that its host has its walltime. */
static void running_see(struct history *h, uint32_t id, struct strbuf *out)
{
	const struct entry *e = &h->s->jobs->entries.v[id];
	const struct bare_attempt *all;
	size_t n = bare_attempts(&all);
	char tag[64];

	if (!entry_running(h->s, id))
		return;
	strbuf_printf(out, "  ends %lld limited %d\n", (long long)plan_piece(h->s->plan, id, 0)->end, e->limited);
	attempt_tag(h->s, id, entry_job(h->s, id)->attempt, tag);
	for (size_t i = 0; i < n; i++)
		if (strcmp(all[i].tag, tag) == 0)
			assert_int_equal(all[i].walltime, e->spec->walltime + h->s->cluster->settings.tolerance);
	assert_int_equal(entry_job(h->s, id)->walltime, e->spec->walltime);
}

/* A user's quota as the store has them, and what the book adds up to. */
struct balance {
	char user[64];
	int64_t month, limit[QUOTA_TYPES], left[QUOTA_TYPES], added[QUOTA_TYPES];
};
struct balances {
	struct balance v[4];
	size_t n;
};

static int quota_add(void *context, const struct store_quota *q)
{
	struct balances *all = context;
	struct balance *b = &all->v[all->n++];

	assert_true(all->n <= 4);
	snprintf(b->user, sizeof b->user, "%s", q->user);
	b->month = q->month;
	memcpy(b->limit, q->limit, sizeof b->limit);
	memcpy(b->left, q->left, sizeof b->left);
	return 0;
}

static int move_add(void *context, const struct store_move *m)
{
	struct balance *b = context;

	for (int type = 0; type < QUOTA_TYPES; type++)
		if (strcmp(m->type, quota_type_name(type)) == 0)
			b->added[type] += m->seconds;
	return 0;
}

static void quota_check(struct history *h)
{
	struct balances all = {0};

	assert_int_equal(store_get_quota(h->s->store, quota_add, &all, NULL), 0);
	for (size_t i = 0; i < all.n; i++) {
		struct balance *b = &all.v[i];

		assert_int_equal(store_get_moves(h->s->store, b->month, b->user, move_add, b, NULL), 0);
		assert_memory_equal(b->added, b->left, sizeof b->left);
		for (int type = 0; type < QUOTA_TYPES; type++)
			assert_true(b->left[type] >= 0 && b->left[type] <= b->limit[type]);
	}
}

/* Everything, a line each. */
static void dump(struct history *h, struct strbuf *out)
{
	struct server *s = h->s;

	for (uint32_t id = 1; id < s->jobs->entries.n; id++)
		if (s->jobs->entries.v[id].spec) {
			const struct entry *e = &s->jobs->entries.v[id];
			job_see(h, id, NULL, out);
			strbuf_printf(out, "  claim %d %d %lld spent %lld\n", e->spec->claim.month, e->spec->claim.type,
				      (long long)e->spec->claim.seconds,
				      (long long)(e->outcome ? e->outcome->spent_ms : 0));
			strbuf_printf(out, "  key %llx block %x limited %d rank %.6f guaranteed %d since %lld\n",
				      (unsigned long long)e->key, gate_blocks(s->gate, id), sched_limited(s->sched, id),
				      entry_job(s, id)->rank, entry_job(s, id)->guaranteed,
				      (long long)entry_job(s, id)->since);
			running_see(h, id, out);
			job_check(entry_job(s, id));
		}
	for (size_t i = 0; i < s->jobs->arrays.n; i++)
		if (s->jobs->arrays.v[i]->spec)
			job_see(h, s->jobs->arrays.v[i]->first, s->jobs->arrays.v[i], out);
	strbuf_printf(out, "priorities %d\n", s->jobs->priorities);
	see(h, "/v1/queues", out);
	see(h, "/v1/nodes", out);
	see(h, "/v1/quota?all=1", out);
	for (uint32_t n = 0; n < s->hosts->nodes.n; n++) {
		const struct node_info *i = &s->hosts->nodes.v[n];
		char path[64];
		strbuf_printf(out, "  life %d %d %lld %lld drained %d leaves %lld\n", i->life.service, i->life.link,
			      (long long)i->life.at, (long long)i->life.since, i->drained, (long long)i->leaves);
		snprintf(path, sizeof path, "/v1/nodes/n%u/events", n + 1);
		see(h, path, out);
	}
	see(h, "/v1/queues/slow/events", out);
	see(h, "/v1/queues/extra/events", out);
	see(h, "/v1/server", out);
	if (h->loud)
		for (uint32_t n = 0; n < s->plan->nnodes; n++)
			for (size_t i = 0; i < s->plan->node[n].pieces.n; i++) {
				const struct piece *x = &s->plan->node[n].pieces.v[i];
				printf("#   node %u: job %u %lld..%lld%s\n", n, x->job, (long long)(x->start - EPOCH),
				       (long long)(x->end - EPOCH), x->running ? " runs" : "");
			}
	plan_check(s->plan);
}

/* The first line that differs, cut to what differs. */
static void differ(const char *a, const char *b)
{
	while (*a && *b) {
		size_t n = strcspn(a, "\n"), m = strcspn(b, "\n");
		if (n != m || memcmp(a, b, n) != 0) {
			size_t k = 0, from;
			while (k < n && k < m && a[k] == b[k])
				k++;
			from = k > 60 ? k - 60 : 0;
			printf("# %.*s\n# before: ...%.*s\n# after:  ...%.*s\n", n < 60 ? (int)n : 60, a,
			       (int)(n - from < 160 ? n - from : 160), a + from, (int)(m - from < 160 ? m - from : 160),
			       b + from);
		}
		a += n + (a[n] == '\n');
		b += m + (b[m] == '\n');
	}
}

/* ---- histories ---- */

static struct server *server_open(struct history *h)
{
	struct server *s = bare_open(h->dir, NODES);

	s->slices->slice_steps = 1 + (int64_t)below(h, 4);
	return s;
}

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

	/* Actions are not waited for, but what recovery would derive is. */
	for (int i = 0; i == 0 || ((store_pending(h->s->store) || gate_has_news(h->s->gate) ||
				    h->s->slices->queue_works || h->s->slices->accepted) &&
				   i < 1000);
	     i++) {
		h->now_us += 1000; /* a commit may wait for company */
		bare_clock(h->now_us);
		server_turn(h->s);
	}
	dump(h, &before);
	store_close(h->s->store);
	if (h->loud)
		printf("# restart, %zu works were under way\n", h->s->slices->works.n);
	waiting_end(h, true);
	if (one_in(h, 2))
		lines_cut(h);
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

static int unfinished(const struct history *h)
{
	int n = 0;

	for (uint32_t id = 1; id < h->s->jobs->entries.n; id++)
		n += h->s->jobs->entries.v[id].spec && !entry_ended(h->s, id);
	return n;
}

/* All that people may have forbidden is allowed, and everything that starts ends: the queue must empty itself. */
static bool drain(struct history *h)
{
	static const char *const queues[] = {"/v1/queues/batch", "/v1/queues/fast", "/v1/queues/slow"};

	for (int i = 0; i < 3; i++) {
		attribute(h, queues[i], "started", "True");
		attribute(h, queues[i], "enabled", "True");
		attribute(h, queues[i], "max_running", "1"); /* one at a time: nobody may be left behind */
		attribute(h, queues[i], "max_user_run", "1");
	}
	attribute(h, "/v1/server", "max_running", "3");
	attribute(h, "/v1/server", "max_user_run", "2");
	attribute(h, "/v1/server", "scheduling", "True");
	for (const char *p = "123"; *p; p++) {
		char path[32];
		snprintf(path, sizeof path, "/v1/nodes/n%c", *p);
		ask(h, getuid(), "PATCH", path, "{\"offline\":false}");
	}
	ask(h, getuid(), "POST", "/v1/jobs/release", "{\"filter\":{},\"holds\":\"uos\"}");
	for (int i = 0; i < 2000 && unfinished(h); i++) {
		const struct bare_attempt *all;
		char tag[64];
		h->now_us += 30000000;
		bare_clock(h->now_us);
		server_turn(h->s);
		while (bare_attempts(&all)) {
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
		if (h->s->jobs->entries.v[id].spec && !entry_ended(h->s, id)) {
			struct strbuf text = {0};
			const struct entry *e = &h->s->jobs->entries.v[id];
			job_see(h, id, NULL, &text);
			printf("# stuck, block %x: %s: %.300s\n", gate_blocks(h->s->gate, id),
			       e->outcome && e->outcome->comment ? e->outcome->comment : "", text.text);
			strbuf_fini(&text);
			if (!h->loud)
				break;
		}
	return false;
}

/* ---- the books ---- */

struct usage_books {
	struct map ends;     /* job's number -> rows that say how it, or an element of it, ended */
	struct names places; /* of the ledger: a day, a user, ..., and which of its numbers */
	VEC(int64_t) sums;   /* of each: by the history, less the ledger's own */
};

static void entry_sum(struct usage_books *b, const struct ledger_row *x, int64_t sign)
{
	const int64_t v[] = {x->attempts, x->used.ran_ms, x->used.alloc_ms, x->used.gpu_ms, x->used.cpu_ms};
	char text[400];

	for (int i = 0; i < 5; i++) {
		snprintf(text, sizeof text, "%lld %s %s %s %s: %d", (long long)x->day, x->user, x->group, x->account,
			 x->queue, i);
		uint32_t at = names_add(&b->places, text);
		if (at == b->sums.n)
			vec_push(&b->sums, 0);
		b->sums.v[at] += sign * v[i];
	}
}

static void day_sum(void *context, const struct ledger_row *x)
{
	entry_sum(context, x, 1);
}

static int entry_take(void *context, const struct ledger_row *x)
{
	entry_sum(context, x, -1);
	return 0;
}

static int row_take(void *context, const struct history_row *row)
{
	struct usage_books *b = context;

	ledger_split(row, day_sum, b);
	*map_at(&b->ends, job_key_number(row->key)) += row->last;
	return 0;
}

static int row_count(void *context, const struct history_row *row)
{
	*(int *)context += row->last;
	return 0;
}

/* Each job that was accepted has ended, once, and the ledger is what the history adds up to. */
static bool books_balance(struct history *h)
{
	struct usage_books b = {0};
	struct err err;
	uint64_t value;
	bool good = history_read(h->s->store, &(struct history_filter){.attempts = true}, row_take, &b, &err) == 0 &&
		    ledger_read(h->s->store, 0, INT64_MAX, entry_take, &b, &err) == 0;

	for (uint64_t n = 1; n <= h->submitted && good; n++)
		if (map_get(&h->accepted, n, &value) && (!map_get(&b.ends, n, &value) || value == 0)) {
			printf("# job %llu is not in the history\n", (unsigned long long)n);
			good = false;
		}
	for (uint32_t id = 1; id < h->s->jobs->entries.n && good; id++) {
		int rows = 0;
		if (h->s->jobs->entries.v[id].spec &&
		    (history_job(h->s->store, h->s->jobs->entries.v[id].key, row_count, &rows, &err) < 0 ||
		     (job_key_index(h->s->jobs->entries.v[id].key) >= 0 && rows != 1))) {
			printf("# %d ends of one job\n", rows);
			good = false;
		}
	}
	for (uint32_t i = 0; i < b.sums.n && good; i++)
		if (b.sums.v[i]) {
			printf("# the ledger differs by %lld: %s\n", (long long)b.sums.v[i], names_get(&b.places, i));
			good = false;
		}
	map_fini(&b.ends);
	names_fini(&b.places);
	vec_free(&b.sums);
	return good;
}

static void accepted_note(struct history *h)
{
	for (uint32_t id = 1; id < h->s->jobs->entries.n; id++)
		if (h->s->jobs->entries.v[id].spec)
			map_set(&h->accepted, job_key_number(h->s->jobs->entries.v[id].key), 1);
}

/* What the accounting files say. */
struct line_books {
	struct map ends, queued; /* key, or number -> lines */
	uint64_t lines, rows;	 /* that a job ended: there, and in the history */
	bool good;
};

static int end_compare(void *context, const struct history_row *row)
{
	struct line_books *b = context;
	uint64_t n = *map_at(&b->ends, row->key);

	b->rows++;
	if (n != 1) {
		printf("# %llu accounting lines that job %llu[%lld] ended\n", (unsigned long long)n,
		       (unsigned long long)job_key_number(row->key), (long long)job_key_index(row->key));
		b->good = false;
	}
	return 0;
}

/* "11/15/2026 06:42:53;E;12[3].bare;user=..." */
static void line_take(struct line_books *b, const char *line)
{
	unsigned long long number;
	long long index = -1;
	int used = 0;
	char type;

	if (sscanf(line, "%*2d/%*2d/%*4d %*2d:%*2d:%*2d;%c;%llu%n", &type, &number, &used) != 2 ||
	    !strchr(line, '\n')) {
		printf("# not a whole accounting line: %s\n", line);
		b->good = false;
		return;
	}
	sscanf(line + used, "[%lld]", &index);
	if (type == 'Q')
		++*map_at(&b->queued, number);
	if (type != 'E' && type != 'D')
		return;
	++*map_at(&b->ends, job_key(number, index));
	b->lines++;
}

static void lines_read(const struct history *h, struct line_books *b)
{
	char pattern[128], *line = NULL;
	size_t size = 0;
	glob_t g;

	snprintf(pattern, sizeof pattern, "%s/accounting/*", h->dir);
	if (glob(pattern, 0, NULL, &g) != 0)
		return;
	for (size_t i = 0; i < g.gl_pathc; i++) {
		FILE *f = fopen(g.gl_pathv[i], "r");
		while (f && getline(&line, &size, f) > 0)
			line_take(b, line);
		if (f)
			fclose(f);
	}
	free(line);
	globfree(&g);
}

/* The accounting files have each job's submission and end, once. */
static bool lines_balance(struct history *h)
{
	struct line_books b = {.good = true};
	uint64_t n = 0;
	struct err err;

	server_turn(h->s); /* what a restart found missing */
	lines_read(h, &b);
	if (history_read(h->s->store, &(struct history_filter){0}, end_compare, &b, &err) < 0 || b.rows != b.lines)
		b.good = false;
	for (uint64_t k = 1; k <= h->submitted && b.good; k++)
		if (map_get(&h->accepted, k, &n) && (!map_get(&b.queued, k, &n) || n != 1)) {
			printf("# %llu accounting lines that job %llu was queued\n", (unsigned long long)n,
			       (unsigned long long)k);
			b.good = false;
		}
	map_fini(&b.ends);
	map_fini(&b.queued);
	return b.good;
}

static void step(struct history *h)
{
	switch (below(h, 18)) {
	case 16:
	case 17:
		op_walltime(h);
		break;
	case 0:
	case 1:
	case 2:
	case 3:
		op_submit(h);
		break;
	case 4:
	case 5:
		h->patience = -(int)below(h, 2);
		op_alter(h);
		h->patience = 0;
		break;
	case 6:
	case 7:
	case 8:
		h->patience = -(int)below(h, 2);
		op_action(h);
		h->patience = 0;
		break;
	case 9:
		op_admin(h);
		break;
	case 10:
		op_order(h);
		break;
	case 11:
		op_time(h);
		break;
	default:
		op_process(h);
		break;
	}
	server_turn(h->s);
	waiting_end(h, false);
	accepted_note(h);
}

static bool live_through(uint64_t seed, bool loud)
{
	struct history h = {.loud = loud, .now_us = EPOCH * 1000000 + (int64_t)(seed % 1000000)};
	bool good = true;
	char command[128];

	snprintf(h.dir, sizeof h.dir, "%s/shunt-replay-XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	assert_non_null(mkdtemp(h.dir));
	rng_seed(&h.rng, seed);
	bare_clock(h.now_us);
	h.s = server_open(&h);
	ask(&h, getuid(), "PUT", "/v1/queues/fast", "{}");
	ask(&h, getuid(), "PUT", "/v1/queues/slow", "{}");
	attribute(&h, "/v1/queues/fast", "enabled", "True");
	attribute(&h, "/v1/queues/fast", "started", "True");
	attribute(&h, "/v1/queues/fast", "priority", "3");
	attribute(&h, "/v1/queues/slow", "enabled", "True");
	attribute(&h, "/v1/queues/slow", "started", "True");
	for (int i = 0; i < STEPS && good; i++) {
		step(&h);
		if (one_in(&h, 12))
			good = restart(&h);
	}
	good = good && restart(&h) && drain(&h) && restart(&h) && books_balance(&h) && lines_balance(&h);
	store_close(h.s->store);
	map_fini(&h.accepted);
	snprintf(command, sizeof command, "rm -rf %s", h.dir);
	if (system(command) != 0)
		good = false;
	return good;
}

static bool history_runs(uint64_t seed, bool loud)
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		setvbuf(stdout, NULL, _IOLBF, 0);
		bool good = live_through(seed, loud);
		fflush(stdout);
		_exit(good ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status == 0;
}

static void replay_equals_live(void **state)
{
	const char *one = getenv("SHUNT_SEED"), *many = getenv("SHUNT_HISTORIES");
	uint64_t first = one ? strtoull(one, NULL, 10) : 1, n = one ? 1 : many ? strtoull(many, NULL, 10) : 150;
	int bad = 0;

	for (uint64_t seed = first; seed < first + n && bad < 5; seed++)
		if (!history_runs(seed, one != NULL)) {
			printf("# seed %llu\n", (unsigned long long)seed);
			bad++;
		}
	assert_int_equal(bad, 0);
}

/* ---- an action that is cut off, and repeated with its key ---- */

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

/* The action runs to its end, after `cuts` restarts in the middle; then everything that is to be seen, and each job's history. */
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
		if (!h.s->jobs->entries.v[id].spec)
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
			bool good = repeats_well(which);
			fflush(stdout);
			_exit(good ? 0 : 1);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(replay_equals_live),
					   cmocka_unit_test(repeated_equals_once)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
