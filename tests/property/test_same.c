/*
 * test_same.c - what the simulator shows is what the cluster does.
 *
 * Random workloads with queues, routing, defaults, limits, credits, arrays, dependencies, holds,
 * -a, deadlines, prices, emergency jobs, priorities, and jobs that exceed their walltime are given
 * to both: to the simulator as a workload file and a site, and to a real server with a real store,
 * job by job, its clock set and its processes ended by the test. Every job must start at the same
 * instant in both, or in neither, and be refused by both or by neither. In every second case jobs
 * that use up their walltimes take long to end; no guaranteed deadline may be missed for that.
 *
 *	SHUNT_CASES=1000 build-test/tests/test_property_same	many of them
 *	SHUNT_SEED=7 build-test/tests/test_property_same	one, with its workload and outcome
 *	SHUNT_SEED=1000 SHUNT_CASES=400 ...			many from there on
 *
 * Not compared, because the simulator can't know it: interactive jobs, whose users are asked and
 * may take their time to agree, and checkpoints, since how long one takes and what it covers is up
 * to the program; the simulator takes the duration that the job names, the server what its shepherd
 * reports. What both decide from is the same code: test_property_month has it in virtual time,
 * tests/scenario/displace and checkpoint have it with processes.
 *
 * At one instant, in both: what opens by time, then submissions, then ends. Each case is a process
 * of its own: a server has no way to be taken down whole.
 */
#include <pwd.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
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
#include "server/base/work.h"
#include "server/job/attempt.h"
#include "server/job/jobs.h"
#include "server/job/spec.h"
#include "server/life/wait/reservations.h"
#include "server/life/world/dispatch.h"
#include "server/loop.h"
#include "server/server.h"
#include "store/store.h"
#include "support/bare.h"
#include "support/leaks.h"

#define EPOCH INT64_C(1800000000)
#define MACHINE "nodes:2x4+1x8"
#define MACHINE_LINES "node n[1-2] cpus=4 mem=8gb disk=100gb\nnode n3 cpus=8 mem=8gb disk=20gb swap=4gb"
#define NODES "n[1-2]:cpus=4:mem=8gb:disk=100gb n3:cpus=8:mem=8gb:disk=20gb:swap=4gb"
#define LINES 40

/* One line of the workload, as both get it. */
struct line {
	int64_t at, run;
	uint64_t number; /* number in the server; 0: not submitted yet, or refused */
	int64_t id;	 /* id in the workload; the elements of an array have this one and those that follow */
	uint32_t first;	 /* its core id in the server */
	uint32_t count;
	int exit;
	int64_t release; /* 0: not held */
	uid_t uid;
	int on;		  /* the line that it depends on; -1: none */
	const char *type; /* kind of that dependency */
	char body[1024];  /* the server's request, without its end */
	char refused[512];
};

struct same {
	struct rng rng;
	struct rng extra; /* for what came later: seeds mean what they meant before */
	struct server *s;
	struct ruleset site;
	VEC(struct line) lines;
	struct strbuf file;
	int64_t now;
	int64_t overrun; /* seconds that the end of a job may take which uses up its walltime */
	bool loud;
	bool priorities;	/* some jobs have one */
	bool divided;		/* some nodes are in partitions */
	bool licensed;		/* the site has licences */
	bool parties;		/* there are accounts and QoS, with limits */
	bool reserved;		/* it has reservations */
	struct strbuf deposits; /* credits: lines of the workload */
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

static void queue_make(struct same *x, const char *name)
{
	char path[80];

	ruleset_add(&x->site, name);
	snprintf(path, sizeof path, "/v1/queues/%s", name);
	bare_ask(x->s, getuid(), "PUT", path, "{}", NULL); /* batch is there */
	set(x, name, "enabled", "True");
	set(x, name, "started", "True");
}

static void maybe_set(struct same *x, const char *queue, const char *name, const char *value)
{
	if (below(x, 3) == 0)
		set(x, queue, name, value);
}

/* Jobs are ordered by priorities, or (mostly) by the policy. */
static void priorities_make(struct same *x)
{
	if (strcmp(x->policy, "artaras") == 0 || below(x, 3))
		return;
	set(x, NULL, "priority_order", PICK(x, "sum", "product"));
	maybe_set(x, NULL, "priority_weight.queue_time", PICK(x, "0", "3"));
	maybe_set(x, NULL, "priority_weight.cpus", PICK(x, "7", "-5"));
	maybe_set(x, NULL, "priority_weight.walltime", PICK(x, "100", "-100"));
	maybe_set(x, NULL, "priority_weight.expansion", PICK(x, "10", "1"));
	maybe_set(x, NULL, "priority_weight.memory", PICK(x, "1", "-1"));
	maybe_set(x, NULL, "priority_weight.queue", "2");
	maybe_set(x, NULL, "priority_weight.fairshare", PICK(x, "10", "1000"));
	maybe_set(x, NULL, "priority_high.cpus", "4");
}

/* Jobs are routed to a queue with narrow limits, else to the others. */
static void routes_make(struct same *x)
{
	queue_make(x, "small");
	maybe_set(x, "small", "from_route_only", "True");
	maybe_set(x, "small", "resources_max.walltime", PICK(x, "60", "120"));
	maybe_set(x, "small", "resources_min.ncpus", "2");
	maybe_set(x, "small", "resources_max.nodect", "1");
	maybe_set(x, "small", "resources_default.walltime", PICK(x, "30", "90"));
	maybe_set(x, "small", "resources_default.ncpus", "2");
	maybe_set(x, "small", "resources_default.nodes", "2:ppn=2");
	maybe_set(x, "small", "max_queuable", PICK(x, "1", "2", "6"));
	maybe_set(x, "small", "max_user_queuable", PICK(x, "1", "3"));
	if (below(x, 4) == 0) {
		set(x, "small", "acl_user_enable", "True");
		set(x, "small", "acl_users", getpwuid(65534)->pw_name);
	}
	queue_make(x, "feed");
	set(x, "feed", "queue_type", "Route");
	set(x, "feed", "route_destinations",
	    PICK(x, "small", "small,fast", "small,fast,batch", "small,inner", "gone,small,batch"));
	maybe_set(x, "feed", "resources_default.walltime", "45");
	queue_make(x, "inner");
	set(x, "inner", "queue_type", "Route");
	set(x, "inner", "route_destinations", PICK(x, "feed,batch", "fast", "batch,fast"));
}

static void partition_make(struct same *x, const char *name, const char *nodes)
{
	char path[80], body[200];
	struct err err;

	assert_int_equal(attrs_change(&object_make(&x->site.objects, OBJECT_PARTITION, name)->attrs, ATTR_SET, "nodes",
				      nodes, &err),
			 0);
	snprintf(path, sizeof path, "/v1/partitions/%s", name);
	assert_int_equal(bare_ask(x->s, getuid(), "PUT", path, "{}", NULL), 201);
	snprintf(body, sizeof body, "{\"changes\":[{\"op\":\"set\",\"name\":\"nodes\",\"value\":\"%s\"}]}", nodes);
	assert_int_equal(bare_ask(x->s, getuid(), "PATCH", path, body, NULL), 200);
	if (x->loud)
		printf("# partition %s: %s\n", name, nodes);
}

static void partitions_make(struct same *x)
{
	x->divided = below(x, 3) == 0;
	if (!x->divided)
		return;
	if (below(x, 2)) {
		partition_make(x, "A", "n1,n2");
	} else {
		partition_make(x, "A", "n1");
		partition_make(x, "B", "n2");
	}
}

static void object_set(struct same *x, enum object_kind kind, const char *name, const char *attr, const char *value)
{
	char path[80], body[200];
	struct err err;

	assert_int_equal(attrs_change(&object_make(&x->site.objects, kind, name)->attrs, ATTR_SET, attr, value, &err),
			 0);
	snprintf(path, sizeof path, "/v1/%s/%s", object_table[kind].plural, name);
	snprintf(body, sizeof body, "{\"changes\":[{\"op\":\"set\",\"name\":\"%s\",\"value\":\"%s\"}]}", attr, value);
	if (!object_table[kind].implicit)
		bare_ask(x->s, getuid(), "PUT", path, "{}", NULL); /* perhaps it is there */
	assert_int_equal(bare_ask(x->s, getuid(), "PATCH", path, body, NULL), 200);
	if (x->loud)
		printf("# set %s %s %s = %s\n", object_table[kind].name, name, attr, value);
}

/* Nodes that only some jobs may use, at a time or weekly; another is for maintenance. */
static void reservations_make(struct same *x)
{
	char start[32];
	time_t at = (time_t)(EPOCH + below(x, 1500));
	struct tm tm;

	x->reserved = below(x, 2) == 0;
	if (!x->reserved)
		return;
	gmtime_r(&at, &tm);
	strftime(start, sizeof start, "%Y-%m-%dT%H:%M:%SZ", &tm);
	object_set(x, OBJECT_RESERVATION, "course", "nodes", PICK(x, "n1", "n2", "n1,n2"));
	object_set(x, OBJECT_RESERVATION, "course", "start", start);
	if (below(x, 3))
		object_set(x, OBJECT_RESERVATION, "course", "duration", PICK(x, "100", "500", "1500"));
	else
		object_set(x, OBJECT_RESERVATION, "course", "hours", "Mon-Sun 00:00-12:05, Mon-Sun 12:10-24:00");
	if (below(x, 2))
		object_set(x, OBJECT_RESERVATION, "course", "acl_users", PICK(x, "nobody", "*"));
	if (below(x, 2))
		object_set(x, OBJECT_RESERVATION, "course", "acl_queues", PICK(x, "fast", "small"));
	if (below(x, 3) == 0) {
		object_set(x, OBJECT_RESERVATION, "disks", "maintenance", "True");
		object_set(x, OBJECT_RESERVATION, "disks", "nodes", PICK(x, "n1", "n3", "all"));
		object_set(x, OBJECT_RESERVATION, "disks", "start", start);
		object_set(x, OBJECT_RESERVATION, "disks", "duration", PICK(x, "60", "300"));
	}
}

static void deposit(struct same *x, const char *account)
{
	int64_t amount = 500 + below(x, 8000);
	char body[200], text[40];

	object_set(x, OBJECT_ACCOUNT, account, "credit_unit", PICK(x, "cpu_hours", "cpu_hours", "node_hours"));
	object_set(x, OBJECT_ACCOUNT, account, "credit_rate", PICK(x, "100", "50", "133"));
	snprintf(body, sizeof body, "{\"op\":\"deposit\",\"account\":\"%s\",\"amount\":%lld}", account,
		 (long long)amount);
	assert_int_equal(bare_ask(x->s, getuid(), "POST", "/v1/credits", body, NULL), 200);
	strbuf_printf(&x->deposits, "deposit %s %s\n", account, duration_format(amount, text, sizeof text));
}

/* Accounts, one below the other, QoS, and limits of them and of users. */
static void parties_make(struct same *x)
{
	static const struct {
		enum object_kind kind;
		const char *name;
	} parties[] = {{OBJECT_USER, "default"}, {OBJECT_USER, "nobody"}, {OBJECT_ACCOUNT, "top"},
		       {OBJECT_ACCOUNT, "low"},	 {OBJECT_QOS, "default"}, {OBJECT_QOS, "fine"}};

	x->parties = below(x, 2) == 0;
	if (!x->parties)
		return;
	object_set(x, OBJECT_ACCOUNT, "top", "max_running", "20");
	object_set(x, OBJECT_ACCOUNT, "low", "parent", "top");
	object_set(x, OBJECT_QOS, "fine", "ignores_limits", PICK(x, "False", "False", "True"));
	object_set(x, OBJECT_QOS, "fine", "may_preempt", PICK(x, "False", "True"));
	if (below(x, 2))
		deposit(x, "low");
	if (below(x, 3) == 0)
		deposit(x, "top");
	maybe_set(x, NULL, "libra_alpha", PICK(x, "0", "150"));
	maybe_set(x, NULL, "libra_beta", PICK(x, "0", "30"));
	for (size_t i = 0; i < sizeof parties / sizeof *parties; i++) {
		if (below(x, 3) == 0)
			object_set(x, parties[i].kind, parties[i].name, "max_running", PICK(x, "1", "2", "4"));
		if (below(x, 3) == 0)
			object_set(x, parties[i].kind, parties[i].name, "max_cpus", PICK(x, "4", "8", "11"));
		if (below(x, 3) == 0)
			object_set(x, parties[i].kind, parties[i].name, "max_cpu_seconds",
				   PICK(x, "300", "1000", "2000"));
		if (below(x, 4) == 0)
			object_set(x, parties[i].kind, parties[i].name, "soft_max_running", PICK(x, "1", "2"));
		if (below(x, 4) == 0)
			object_set(x, parties[i].kind, parties[i].name, "soft_max_cpus", PICK(x, "2", "4", "6"));
		if (below(x, 4) == 0)
			object_set(x, parties[i].kind, parties[i].name, "soft_max_cpu_seconds", PICK(x, "200", "600"));
	}
}

static void site_make(struct same *x)
{
	static const char *const names[] = {"batch", "fast"}, *const nodes[] = {"n1", "n3", "n2,n3", "n1,n2"};

	for (int i = 0; i < 2; i++) {
		queue_make(x, names[i]);
		maybe_limit(x, names[i], "max_running");
		maybe_limit(x, names[i], "max_user_run");
	}
	routes_make(x);
	partitions_make(x);
	set(x, "fast", "priority", PICK(x, "0", "2", "5"));
	maybe_set(x, "fast", "resources_max.ncpus", PICK(x, "4", "8"));
	maybe_set(x, "batch", "resources_default.ncpus", "3");
	if (rng_below(&x->extra, 3) == 0)
		set(x, "fast", "nodes", nodes[rng_below(&x->extra, 4)]);
	set(x, NULL, "default_queue", PICK(x, "batch", "batch", "feed"));
	set(x, NULL, "policy", x->policy);
	set(x, NULL, "query_other_jobs", "True"); /* jobs depend on those of other users */
	priorities_make(x);
	set(x, NULL, "operators", getpwuid(getuid())->pw_name);
	maybe_set(x, NULL, "tolerance", PICK(x, "1", "20"));
	maybe_set(x, NULL, "node_pack", PICK(x, "True", "False"));
	if (!attrs_bool(&x->site.attrs, SET_NODE_PACK) && !policy_find(x->policy)->position)
		maybe_set(x, NULL, "node_allocation",
			  PICK(x, "first_available", "min_resource", "load", "fastest", "spread", "contiguous",
			       policy_find(x->policy)->keep ? "push" : "cover"));
	if (policy_find(x->policy)->order != ORDER_DUE && !policy_find(x->policy)->keep)
		maybe_set(x, NULL, "backfill", PICK(x, "none", "first_fit", "best_fit", "greedy"));
	maybe_set(x, NULL, "reservation_depth", PICK(x, "1", "3", "0"));
	maybe_set(x, NULL, "kill_delay", PICK(x, "0", "30"));
	maybe_set(x, NULL, "resources_max.walltime", "180");
	maybe_set(x, NULL, "max_queued", PICK(x, "8", "20"));
	maybe_set(x, NULL, "max_user_queuable", PICK(x, "6", "12"));
	maybe_set(x, NULL, "max_array_size", "5");
	maybe_limit(x, NULL, "max_running");
	maybe_limit(x, NULL, "max_user_run");
	x->licensed = rng_below(&x->extra, 2) == 0;
	if (x->licensed)
		set(x, NULL, "resources_available.matlab", rng_below(&x->extra, 2) ? "3" : "5");
	parties_make(x);
	reservations_make(x);
	if (x->licensed && x->reserved && rng_below(&x->extra, 2))
		object_set(x, OBJECT_RESERVATION, "course", "amounts.matlab", rng_below(&x->extra, 2) ? "2" : "3");
}

/* ---- the workload, told to both ---- */

static void depend_make(struct same *x, struct line *l)
{
	l->on = (int)below(x, (int64_t)x->lines.n);
	l->type = PICK(x, "afterok", "afterok", "afterany", "afternotok", "after");
	strbuf_printf(&x->file, " depend=%s:%lld%s", l->type, (long long)x->lines.v[l->on].id,
		      x->lines.v[l->on].count > 1 ? "[]" : "");
}

/* What it asks for: sometimes less than all, so that defaults count. Returns its walltime, or
 * what may become of it. */
static int64_t request_make(struct same *x, struct line *l, struct strbuf *body)
{
	const char *request = PICK(x, "ncpus=1", "ncpus=1", "ncpus=2", "ncpus=4", "ncpus=8", "nodes=2:ppn=2",
				   "nodes=3:ppn=4", "nodes=1:ppn=3", "");
	char licensed[64];
	int64_t walltime = 10 + below(x, 200);
	const char *partition = x->divided && *request && below(x, 2) ? PICK(x, "A", "A", "B", "any") : "";
	bool said = below(x, 8) != 0;

	if (x->licensed && *request && rng_below(&x->extra, 2)) { /* at times more than there are, which both refuse */
		static const char *const words[] = {"matlab=1", "matlab=1",  "matlab=2",  "MATLAB=2",
						    "matlab=4", "disk=60gb", "disk=20gb", "swap=3gb"};
		snprintf(licensed, sizeof licensed, "%s,%s", request, words[rng_below(&x->extra, 8)]);
		request = licensed;
	}
	l->run = below(x, 8) ? 1 + below(x, walltime - 1) : walltime + below(x, 60); /* killed */
	strbuf_printf(&x->file, "at=%lld user=%s req=%s run=%lld", (long long)l->at, getpwuid(l->uid)->pw_name, request,
		      (long long)l->run);
	if (*partition)
		strbuf_printf(&x->file, " partition=%s", partition);
	strbuf_printf(body, "{\"script\":\"true\",\"resources\":[%s%s%s%s%s", *request ? "\"" : "", request,
		      *partition ? ",partition=" : "", partition, *request ? "\"" : "");
	if (said) {
		strbuf_printf(&x->file, " walltime=%lld", (long long)walltime);
		strbuf_printf(body, "%s\"walltime=%lld\"", *request ? "," : "", (long long)walltime);
	}
	if (x->parties && below(x, 3) == 0) {
		strbuf_puts(&x->file, " qos=fine");
		strbuf_printf(body, "%s\"qos=fine\"", *request || said ? "," : "");
	}
	if (x->reserved && *request && below(x, 6) == 0) {
		strbuf_puts(&x->file, " reservation=course");
		strbuf_puts(body, ",\"advres=course\"");
	}
	strbuf_puts(body, "]");
	return walltime;
}

static void kind_make(struct same *x, struct line *l, int64_t walltime, struct strbuf *body)
{
	static const struct {
		const char *file, *body;
	} powers[] = {
		{"", ""},
		{" powers=sc_alloc,q_alloc", ",\"powers\":[\"sc_alloc\",\"q_alloc\"]"},
		{" powers=sc_alloc,c_exec", ",\"powers\":[\"sc_alloc\",\"c_exec\"]"},
		{" powers=sc_alloc,s_exec", ",\"powers\":[\"sc_alloc\",\"s_exec\"]"},
	};
	int64_t deadline = l->at + 2 * walltime + below(x, 2000);
	bool emergency = below(x, 3) == 0;
	int power = emergency ? (int)below(x, 4) : 0;

	strbuf_printf(&x->file, " type=%c deadline=%lld%s", emergency ? 'E' : 'Q', (long long)deadline,
		      powers[power].file);
	strbuf_printf(body, ",\"type\":\"%c\",\"deadline\":%lld%s", emergency ? 'E' : 'Q', (long long)deadline,
		      powers[power].body);
}

/* A job with a price. */
static void priced_make(struct same *x, const struct line *l, int64_t walltime, struct strbuf *body)
{
	int64_t deadline = l->at + walltime + below(x, 1000), budget = below(x, 30000);
	char text[40];

	strbuf_printf(&x->file, " type=Q deadline=%lld estimate=%lld budget=%s", (long long)deadline,
		      (long long)walltime, duration_format(budget, text, sizeof text));
	strbuf_printf(body, ",\"deadline\":%lld,\"estimate\":%lld,\"budget\":%lld", (long long)deadline,
		      (long long)walltime, (long long)budget);
}

static void nice_make(struct same *x, const struct line *l, struct strbuf *body)
{
	int64_t until = l->at + 1 + below(x, 400);

	strbuf_printf(&x->file, " type=nice deadline=%lld", (long long)until);
	strbuf_printf(body, ",\"type\":\"N\",\"deadline\":%lld", (long long)until);
}

static void line_make(struct same *x, int64_t at)
{
	const struct line *last = x->lines.n ? &x->lines.v[x->lines.n - 1] : NULL;
	struct strbuf body = {0};
	struct line l = {.at = at,
			 .id = last ? last->id + last->count : 1,
			 .count = 1,
			 .on = -1,
			 .uid = below(x, 3) ? getuid() : 65534};
	int64_t walltime = request_make(x, &l, &body);
	bool priced = below(x, 8) == 0 && policy_find(x->policy)->deadlines && !policy_find(x->policy)->position;
	const char *queue = PICK(x, "", "", "fast", "fast", "feed", "small", "inner");

	if (*queue) {
		strbuf_printf(&x->file, " queue=%s", queue);
		strbuf_printf(&body, ",\"queue\":\"%s\"", queue);
	}
	if (!priced && below(x, 4) == 0) {
		l.count = 2 + (uint32_t)below(x, 5);
		char array[32], limit[16] = "";
		if (below(x, 2))
			snprintf(limit, sizeof limit, "%%%d", 1 + (int)below(x, 3));
		snprintf(array, sizeof array, "1-%u%s", l.count, limit);
		strbuf_printf(&x->file, " array=%s", array);
		strbuf_printf(&body, ",\"array\":\"%s\"", array);
	}
	if (!priced && x->lines.n && below(x, 4) == 0)
		depend_make(x, &l);
	if (!priced && below(x, 8) == 0) {
		int64_t start = at + 1 + below(x, 200);
		strbuf_printf(&x->file, " start=%lld", (long long)start);
		strbuf_printf(&body, ",\"at\":%lld", (long long)start);
	}
	if (!priced && below(x, 10) == 0) {
		l.release = at + 1 + below(x, 200);
		strbuf_printf(&x->file, " hold=%lld", (long long)l.release);
		strbuf_puts(&body, ",\"hold\":\"u\"");
	}
	if (priced)
		priced_make(x, &l, walltime, &body);
	else if (below(x, 8) == 0 && policy_find(x->policy)->deadlines)
		kind_make(x, &l, walltime, &body);
	else if (policy_find(x->policy)->position && below(x, 5) == 0)
		nice_make(x, &l, &body);
	if (below(x, 6) == 0) {
		l.exit = 3;
		strbuf_puts(&x->file, " exit=3");
	}
	if (x->parties && below(x, 4)) {
		const char *account = PICK(x, "top", "low", "low");
		strbuf_printf(&x->file, " account=%s", account);
		strbuf_printf(&body, ",\"account\":\"%s\"", account);
	}
	if (x->priorities && below(x, 4) == 0) {
		int priority = (int)below(x, 7) - 3;
		strbuf_printf(&x->file, " priority=%d", priority);
		strbuf_printf(&body, ",\"priority\":%d", priority);
	}
	strbuf_puts(&x->file, "\n");
	snprintf(l.body, sizeof l.body, "%s", body.text);
	strbuf_fini(&body);
	vec_push(&x->lines, l);
}

static void workload_make(struct same *x)
{
	int64_t at = EPOCH;

	strbuf_printf(&x->file, "#shunt-workload 1\nmachine %s\n%s", MACHINE, strbuf_text(&x->deposits));
	for (int i = 0; i < LINES; i++) {
		at += below(x, 3) ? below(x, 40) : 0;
		line_make(x, at);
	}
	if (x->loud)
		printf("%s", x->file.text);
}

/* ---- the server ---- */

/* The line of a job of the server. */
static const struct line *line_of(const struct same *x, uint32_t id)
{
	size_t i = 0;

	while (id < x->lines.v[i].first || id >= x->lines.v[i].first + x->lines.v[i].count || !x->lines.v[i].number)
		i++;
	return &x->lines.v[i];
}

static void end(struct same *x, const char *tag, enum result_how how, int status, enum result_cause cause)
{
	uint32_t id, attempt;
	int64_t began = tag_parse(x->s, tag, &id, &attempt) ? entry_job(x->s, id)->start : x->now - 1;
	struct result r = {.tag = tag,
			   .how = how,
			   .status = status,
			   .cause = cause,
			   .started_us = began * 1000000,
			   .ended_us = x->now * 1000000,
			   .session = 1};

	bare_forget(tag);
	dispatch_engine.attempt_ended(x->s, &r);
}

/* What the server wants to end, ends at once; what it wants to start has started. Whether there
 * was any. */
static bool obey(struct same *x)
{
	const struct bare_attempt *all;

	for (size_t i = 0, n = bare_attempts(&all); i < n; i++) {
		char tag[64];
		memcpy(tag, all[i].tag, sizeof tag);
		if (all[i].signal == SIGTERM || all[i].signal == SIGKILL)
			end(x, tag, RESULT_SIGNALED, all[i].signal, CAUSE_ORDERED);
		else if (!all[i].started)
			bare_started(x->s, tag);
		else
			continue;
		return true;
	}
	return false;
}

/* Turns at this instant until nothing more follows. */
static void pump(struct same *x)
{
	bool any;

	do {
		x->s->turn->commit_us = 1; /* do not wait for company */
		server_turn(x->s);
		any = x->s->turn->dirty || x->s->turn->undecided || gate_has_news(x->s->gate) || x->s->slices->works.n;
		while (obey(x))
			any = true;
	} while (any);
}

/* How long it may run. */
static int64_t most(const struct same *x, uint32_t id)
{
	return entry_get(x->s, id)->spec->walltime + x->s->cluster->settings.tolerance;
}

static int64_t end_of(const struct same *x, uint32_t id)
{
	const struct line *l = line_of(x, id);
	int64_t over = same_overrun(l->id + (id - l->first), x->overrun), start = entry_job(x->s, id)->start;

	if (over && l->run >= entry_get(x->s, id)->spec->walltime)
		return start + most(x, id) + over;
	return start + (l->run < most(x, id) ? l->run : most(x, id));
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
	char tag[64];

	attempt_tag(x->s, id, entry_job(x->s, id)->attempt, tag);
	if (line_of(x, id)->run > most(x, id))
		end(x, tag, RESULT_SIGNALED, SIGTERM, CAUSE_WALLTIME);
	else
		end(x, tag, RESULT_EXITED, line_of(x, id)->exit, CAUSE_ITSELF);
}

static void submit_line(struct same *x, struct line *l)
{
	struct bare_answer a = {0};
	struct strbuf body = {0};
	uint64_t number = x->s->jobs->next_number;
	uint32_t first = x->s->cluster->jobs.n;

	strbuf_puts(&body, l->body);
	if (l->on >= 0) {
		const struct line *on = &x->lines.v[l->on];
		strbuf_printf(&body, ",\"depend\":\"%s:%llu%s\"", l->type,
			      on->number ? (unsigned long long)on->number : 999999ull, on->count > 1 ? "[]" : "");
	}
	strbuf_puts(&body, "}");
	bare_ask(x->s, l->uid, "POST", "/v1/jobs", body.text, &a);
	if (a.status == 201) {
		l->number = number;
		l->first = first;
	} else {
		const char *text = strstr(strbuf_text(&a.body), "\"message\":\"");
		snprintf(l->refused, sizeof l->refused, "%s", text ? text + 11 : strbuf_text(&a.body));
		l->refused[strcspn(l->refused, "\"")] = '\0';
	}
	strbuf_fini(&body);
	strbuf_fini(&a.body);
}

/* Holds that end now, all by one request. */
static bool release(struct same *x)
{
	struct strbuf body = {0};
	bool any = false;

	strbuf_puts(&body, "{\"holds\":\"u\",\"ids\":[");
	for (size_t i = 0; i < x->lines.n; i++)
		if (x->lines.v[i].release == x->now && x->lines.v[i].number) {
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

/* Weekly reservations begin for ever: as in the simulator. */
#define IDLE_WAKES 500

static void serve(struct same *x)
{
	size_t next = 0;

	for (int idle = 0; idle <= IDLE_WAKES; idle++) {
		int64_t at = sched_next_wake(x->s->sched);
		uint32_t id = 0;
		earlier(&at, gate_next(x->s->gate));
		earlier(&at, reservations_wake(x->s));
		if (next_end(x, &id)) {
			earlier(&at, end_of(x, id));
			idle = 0;
		}
		if (next < x->lines.n) {
			earlier(&at, x->lines.v[next].at);
			idle = 0;
		}
		for (size_t i = 0; i < x->lines.n; i++)
			if (x->lines.v[i].release > x->now && x->lines.v[i].number)
				earlier(&at, x->lines.v[i].release);
		if (at == TIME_NEVER)
			return;
		if (at > x->now) {
			x->now = at;
			bare_clock(x->now * 1000000);
			bool due = gate_next(x->s->gate) <= x->now || reservations_wake(x->s) <= x->now;
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

/* The start of a job of the server; -1: it never started. */
static int64_t start_of(const struct same *x, uint32_t id)
{
	return entry_get(x->s, id)->ran ? entry_job(x->s, id)->start : -1;
}

static int64_t since(int64_t start)
{
	return start < 0 ? start : start - EPOCH;
}

static bool compare(const struct same *x, const struct same_job *simulated)
{
	bool same = true;

	for (size_t i = 0; i < x->lines.n; i++)
		for (uint32_t k = 0; k < x->lines.v[i].count; k++) {
			const struct line *l = &x->lines.v[i];
			const struct same_job *j = &simulated[l->id - 1 + k];
			int64_t start = l->number ? start_of(x, l->first + k) : -1;
			bool differs = start != j->start || !l->number != j->refused || j->broken;
			if (x->loud || differs)
				printf("# job %lld (number %llu of the server, %s): server %lld%s%s, simulator %lld%s%s\n",
				       (long long)l->id + k, (unsigned long long)l->number,
				       l->number ? job_state_name(entry_job(x->s, l->first + k)->state) : "refused",
				       (long long)since(start), l->number ? "" : ": ", l->refused,
				       (long long)since(j->start), j->refused ? ", refused" : "",
				       j->broken ? "  <--- and its guaranteed deadline is missed"
				       : differs ? "  <---"
						 : "");
			same &= !differs;
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
	rng_seed(&x.extra, rng_seed_of(seed, 1));
	ruleset_init(&x.site);
	bare_clock(x.now * 1000000);
	x.s = bare_open(x.dir, NODES);
	snprintf(x.policy, sizeof x.policy, "%s",
		 PICK(&x, "shunt", "shunt", "easy", "fcfs", "conservative", "oscar", "artaras"));
	x.s->turn->wake = TIME_NEVER; /* the loop's, which is not there: the test wakes it */
	x.priorities = below(&x, 2);
	site_make(&x);
	workload_make(&x);
	if (seed % 2) /* all that the plan allows for */
		x.overrun = attrs_number(x.s->attrs, SET_KILL_DELAY) + 5;
	serve(&x);

	const struct line *last = &x.lines.v[x.lines.n - 1];
	int64_t n = last->id + last->count - 1;
	struct same_job *jobs = mem_zalloc((size_t)n * sizeof *jobs);

	snprintf(path, sizeof path, "%s/same.work", x.dir);
	workload_save(&x, path);
	if (same_simulate(path, x.policy, MACHINE_LINES, &x.site, &x.s->cluster->settings, x.overrun, jobs, n, &err) <
	    0)
		fail_msg("%s", err.text);
	good = compare(&x, jobs);
	free(jobs);
	ruleset_fini(&x.site);
	strbuf_fini(&x.file);
	strbuf_fini(&x.deposits);
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
	uint64_t first = one ? strtoull(one, NULL, 10) : 1, n = many ? strtoull(many, NULL, 10) : one ? 1 : 30;
	int bad = 0;

	for (uint64_t seed = first; seed < first + n; seed++) {
		int status;
		pid_t pid;
		fflush(stdout);
		pid = fork();
		assert_true(pid >= 0);
		if (pid == 0)
			_exit(live_through(seed, one && !many) && leaks_none() ? 0 : 1);
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
