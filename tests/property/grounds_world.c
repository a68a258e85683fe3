/*
 * grounds_world.c - see grounds.h: jobs, limits, nodes, reservations, and a theme.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/engine.h"
#include "property/grounds.h"
#include "run/order.h"
#include "server/life/wait/amounts.h"
#include "server/life/world/dispatch.h"
#include "server/loop.h"
#include "server/server.h"
#include "support/bare.h"
#include "support/lua.h"

static bool later_one_in(struct scene *x, uint64_t n)
{
	return rng_below(&x->later, n) == 0;
}

static bool theme_one_in(struct scene *x, uint64_t n)
{
	return rng_below(&x->theme_rng, n) == 0;
}

static bool one_in(struct scene *x, uint64_t n)
{
	return rng_below(&x->rng, n) == 0;
}

int ask(struct scene *x, const char *method, const char *path, const char *fmt, ...)
{
	char body[1000];
	va_list ap;
	int status;

	va_start(ap, fmt);
	vsnprintf(body, sizeof body, fmt, ap);
	va_end(ap);
	status = site_ask(x->f, getuid(), method, path, *body ? body : NULL);
	if (x->loud)
		printf("# %s %s %s: %d%s%s\n", method, path, body, status, status >= 400 ? " " : "",
		       status >= 400 ? strbuf_text(&x->f->a.body) : "");
	return status;
}

void set(struct scene *x, const char *path, const char *name, const char *value)
{
	ask(x, "PATCH", path, "{\"changes\":[{\"op\":\"%s\",\"name\":\"%s\",\"value\":\"%s\"}]}",
	    *value ? "set" : "unset", name, value);
}

void settle(struct scene *x)
{
	const struct bare_attempt *all;
	size_t n;

	server_turn(x->f->s);
	n = bare_attempts(&all);
	for (size_t i = 0; i < n; i++) {
		char tag[64];
		if (all[i].started)
			continue;
		snprintf(tag, sizeof tag, "%s", all[i].tag);
		bare_started(x->f->s, tag);
		n = bare_attempts(&all);
	}
	server_turn(x->f->s);
}

/* What a job asks for, at random. */
static void some_request(struct scene *x, char *ret, size_t size)
{
	static const char *const forms[] = {"ncpus=%d", "nodes=1:ppn=%d", "nodes=2:ppn=%d", "nodes=3:ppn=%d",
					    "nodes=1:fast:ppn=%d"};
	char nodes[60];
	int cpus = (int)rng_range(&x->rng, 1, 4);

	snprintf(nodes, sizeof nodes, forms[rng_below(&x->rng, 5)], cpus); /* NOLINT */
	snprintf(ret, size, "\"%s\",\"walltime=%d\"", nodes, (int)rng_range(&x->rng, 1, 10) * 600);
	if (x->licensed && rng_below(&x->extra, 3))
		snprintf(ret + strlen(ret), size - strlen(ret), ",\"matlab=%d\"", (int)rng_range(&x->extra, 1, 3));
	if (later_one_in(x, 4)) {
		const char *what = (const char *[]){"disk", "swap", "mem"}[rng_below(&x->later, 3)];
		int gb = (int)rng_range(&x->later, 1, 7);
		snprintf(ret + strlen(ret), size - strlen(ret), ",\"%s=%dgb\"", what, gb);
	}
	if (x->theme == THEME_PARTS && !theme_one_in(x, 4)) {
		const char *partition = (const char *[]){"A", "B", "any"}[rng_below(&x->theme_rng, 3)];
		int walltime = (int)rng_range(&x->theme_rng, 1, 10) * 600;
		snprintf(ret, size, "\"ncpus=%d,partition=%s\",\"walltime=%d\"", cpus, partition, walltime);
	}
}

/* Returns further members for a job of the theme. */
static const char *themed(struct scene *x)
{
	if (x->theme == THEME_PARTS && theme_one_in(x, 2))
		return ",\"checkpoint\":\"interval=600s,duration=60\"";
	if (x->theme == THEME_WHOLE && theme_one_in(x, 2))
		return theme_one_in(x, 2) ? ",\"exclusive\":\"node\"" : ",\"exclusive\":\"host\"";
	if (x->theme == THEME_HOOK && theme_one_in(x, 2))
		return theme_one_in(x, 2) ? ",\"name\":\"doubtful\"" : ",\"name\":\"late\"";
	return "";
}

static void submit(struct scene *x, const char *more)
{
	char request[120];

	some_request(x, request, sizeof request);
	ask(x, "POST", "/v1/jobs", "{\"script\":\"true\",\"resources\":[%s]%s%s}", request, more, themed(x));
}

static void some_jobs(struct scene *x, int n)
{
	for (int i = 0; i < n; i++) {
		submit(x, one_in(x, 12)	 ? ",\"deadline\":1800010800,\"type\":\"Q\""
			  : one_in(x, 3) ? ",\"account\":\"a\""
					 : "");
		if (one_in(x, 2))
			settle(x);
	}
	settle(x);
}

static const char *value_of(struct scene *x, char *buf, size_t size)
{
	snprintf(buf, size, "%d", (int)rng_range(&x->rng, 0, 3));
	return buf;
}

static void some_limits(struct scene *x)
{
	char v[8];

	if (one_in(x, 5))
		set(x, "/v1/server", "max_running", value_of(x, v, sizeof v));
	if (one_in(x, 6))
		set(x, "/v1/server", "max_user_run", value_of(x, v, sizeof v));
	if (one_in(x, 5))
		set(x, "/v1/queues/side", "max_running", value_of(x, v, sizeof v));
	if (one_in(x, 6))
		set(x, "/v1/queues/side", "max_user_run", value_of(x, v, sizeof v));
	if (one_in(x, 5))
		set(x, "/v1/accounts/a", "max_cpus", value_of(x, v, sizeof v));
	if (one_in(x, 6))
		set(x, "/v1/accounts/top", "max_running", value_of(x, v, sizeof v));
}

/* Limits of people and QoS, and accounts that pay. */
static void some_more_limits(struct scene *x)
{
	static const char *const limits[] = {"max_running", "max_cpus", "max_memory", "max_cpu_seconds"};
	static const char *const of[] = {"/v1/qos/q", "/v1/users/root", "/v1/groups/root", "/v1/accounts/top"};
	static const int unit[] = {1, 2, 0, 3600};

	for (int i = 0; i < 4; i++) {
		int which = (int)rng_below(&x->later, 4), n = (int)rng_range(&x->later, 0, 3);
		char v[16];
		snprintf(v, sizeof v, unit[which] ? "%d" : "%dgb", n * (unit[which] ? unit[which] : 3)); /* NOLINT */
		if (later_one_in(x, 6))
			set(x, of[i], limits[which], v);
	}
	for (int i = 0; i < 2; i++) {
		char path[40];
		snprintf(path, sizeof path, "/v1/accounts/%s", i ? "a" : "top");
		if (!later_one_in(x, 5))
			continue;
		set(x, path, "credit_unit", later_one_in(x, 3) ? "node_hours" : "cpu_hours");
		ask(x, "POST", "/v1/credits", "{\"op\":\"deposit\",\"account\":\"%s\",\"amount\":%d}", path + 13,
		    (int)rng_range(&x->later, 1, 8) * 1000);
	}
}

/* One of nodes or parts of nodes that admits nobody, now or soon; or one that a QoS is bound to. */
static void some_reservations(struct scene *x)
{
	bool binds = later_one_in(x, 2);
	time_t at = NOW + 60 * rng_range(&x->later, binds ? 1 : -40, 40);
	char start[40];

	if (!later_one_in(x, 3))
		return;
	strftime(start, sizeof start, "%Y-%m-%dT%H:%M", localtime(&at));
	const char *nodes = (const char *[]){"n1", "n[2-3]", "n[1-3]"}[rng_below(&x->later, 3)];
	int seconds = (int)rng_range(&x->later, 1, 5) * 3600;
	ask(x, "PUT", "/v1/reservations/exam", "{}");
	ask(x, "PATCH", "/v1/reservations/exam",
	    "{\"changes\":[{\"op\":\"set\",\"name\":\"nodes\",\"value\":\"%s\"},{\"op\":\"set\",\"name\":\"start\",\"value\":\"%s\"},"
	    "{\"op\":\"set\",\"name\":\"duration\",\"value\":\"%d\"},{\"op\":\"set\",\"name\":\"acl_users\",\"value\":\"%s\"},"
	    "{\"op\":\"set\",\"name\":\"ignore_jobs\",\"value\":\"True\"},{\"op\":\"set\",\"name\":\"breaks_deadlines\",\"value\":\"True\"}]}",
	    nodes, start, seconds, binds ? "root" : "nobody");
	if (at / 60 % 4)
		set(x, "/v1/reservations/exam", "per_node.ncpus", (const char *[]){"1", "2", "3"}[at / 60 % 4 - 1]);
	if (binds)
		set(x, "/v1/qos/q", "reservation", "exam");
}

static void some_nodes(struct scene *x)
{
	if (one_in(x, 4))
		ask(x, "PATCH", "/v1/nodes/n3", "{\"offline\":true}");
	if (one_in(x, 6))
		ask(x, "PATCH", "/v1/nodes/n1", "{\"offline\":true}");
	if (one_in(x, 6))
		ask(x, "PATCH", "/v1/nodes/n2", "{\"drain_at\":%lld}", (long long)NOW + rng_range(&x->rng, 5, 60) * 60);
}

/* The tag of an attempt: "12-x5f3a9c01.1", of an element "12-3-x5f3a9c01.1". */
bool is_tag_of(const char *tag, const char *id)
{
	int number = atoi(id), tag_number = atoi(tag), k = -1, tag_k = -1;

	sscanf(id, "%*d[%d]", &k);
	sscanf(tag, "%*d-%d", &tag_k);
	return number == tag_number && k == tag_k;
}

/* ---- themes ---- */

static void themed_site(struct scene *x)
{
	ask(x, "PUT", "/v1/queues/quiet", "{}"); /* without limits */
	set(x, "/v1/queues/quiet", "enabled", "True");
	set(x, "/v1/queues/quiet", "started", "True");
	if (x->theme == THEME_PARTS) {
		set(x, "/v1/server", "policy", "artaras");
		ask(x, "PUT", "/v1/partitions/A", "{}");
		ask(x, "PUT", "/v1/partitions/B", "{}");
		set(x, "/v1/partitions/A", "nodes", "n1");
		set(x, "/v1/partitions/B", "nodes", "n2");
		if (theme_one_in(x, 2))
			set(x, "/v1/server", "time_slice", "900");
		if (theme_one_in(x, 2)) {
			set(x, "/v1/server", "long_checkpoint", "30");
			set(x, "/v1/server", "long_checkpoint_rule", "nights");
			set(x, "/v1/server", "long_checkpoint_hours", "Mon-Sun 20:00-06:00");
		}
	} else if (x->theme == THEME_ROUTE) {
		ask(x, "PUT", "/v1/queues/small", "{}");
		set(x, "/v1/queues/small", "enabled", "True");
		set(x, "/v1/queues/small", "started", "True");
		ask(x, "PUT", "/v1/queues/entry", "{}");
		set(x, "/v1/queues/entry", "queue_type", "Route");
		set(x, "/v1/queues/entry", "route_destinations", "small");
		set(x, "/v1/queues/entry", "enabled", "True");
	} else if (x->theme == THEME_SITE) {
		ask(x, "PUT", "/v1/sites/east",
		    "{\"servers\":\"east.example.org:7722\",\"token\":\"s1.secret.0123456789abcdef0123456789abcdef\"}");
	}
	lua_set(x->theme == THEME_HOOK ? "function on_submit(job) "
					 "if job.name == 'doubtful' then job.hold = 'o' end "
					 "if job.name == 'late' then job.at = site.now + 7200 end end"
				       : NULL);
}

/* Somebody runs, and a job that needs everything has a place soon after. */
static void promise(struct scene *x)
{
	int64_t soon = 600 * rng_range(&x->theme_rng, 1, 4);

	ask(x, "POST", "/v1/jobs", "{\"script\":\"true\",\"resources\":[\"ncpus=1,walltime=%d\"]}", (int)soon - 60);
	settle(x);
	ask(x, "POST", "/v1/jobs",
	    "{\"script\":\"true\",\"resources\":[\"nodes=3:ppn=4,walltime=3600\"],\"deadline\":%lld,\"type\":\"Q\"}",
	    (long long)(NOW + soon + 3600));
	settle(x);
}

/* Its start is refused, by the node or for no node's fault. */
static void subject_fail(struct scene *x)
{
	const struct bare_attempt *all;
	size_t n = bare_attempts(&all);
	char tag[64] = "";

	for (size_t i = 0; i < n; i++)
		if (!all[i].started && is_tag_of(all[i].tag, x->subject))
			snprintf(tag, sizeof tag, "%s", all[i].tag);
	if (!*tag)
		return;
	set(x, "/v1/server", "scheduling", "False");
	bare_forget(tag);
	const char *host = rng_below(&x->theme_rng, 5) < 3 ? HOST_HERE : NULL;
	bool unclear = theme_one_in(x, 2);
	dispatch_engine.attempt_refused(
		x->f->s, &(struct refusal){.tag = tag, .host = host, .reason = "no such program", .unclear = unclear});
	if (x->loud)
		printf("# %s failed\n", tag);
	if (!theme_one_in(x, 4)) { /* only where it failed it could run */
		ask(x, "PATCH", "/v1/nodes/n2", "{\"offline\":true}");
		ask(x, "PATCH", "/v1/nodes/n3", "{\"offline\":true}");
	}
	set(x, "/v1/server", "scheduling", "True");
}

/* Later the site has less than it had. */
static void shrink(struct scene *x)
{
	if (!theme_one_in(x, 3))
		set(x, "/v1/server", "resources_available.matlab", "0");
	if (!theme_one_in(x, 3))
		set(x, "/v1/queues/side", "nodes", "n1");
}

/* The job that is asked about: an element of an array, one that depends on others, ... */
static void subject_submit(struct scene *x)
{
	char more[300] = "", id[20];
	bool array = one_in(x, 6);

	if (x->theme == THEME_FAILED)
		array = false;
	if (array)
		strcat(more, ",\"array\":\"1-3%1\"");
	if (one_in(x, 3) && x->theme != THEME_ROUTE && x->theme != THEME_SITE)
		strcat(more, ",\"queue\":\"side\"");
	if (x->theme == THEME_ROUTE || x->theme == THEME_SITE)
		strcat(more, x->theme == THEME_ROUTE ? ",\"queue\":\"entry\"" : ",\"queue\":\"long@east\"");
	if (one_in(x, 3))
		strcat(more, ",\"account\":\"a\"");
	if (one_in(x, 6) && x->theme != THEME_HOOK && x->theme != THEME_FAILED)
		strcat(more, ",\"at\":1800007200");
	if (one_in(x, 6)) {
		int first = (int)rng_range(&x->rng, 1, 3);
		snprintf(more + strlen(more), sizeof more - strlen(more), ",\"depend\":\"afterany:%d%s\"", first,
			 one_in(x, 2) ? ",afterany:4" : "");
	}
	if (later_one_in(x, 2))
		strcat(more, ",\"qos\":\"q\"");
	submit(x, more);
	const char *p = strstr(strbuf_text(&x->f->a.body), "\"id\":\"");
	snprintf(id, sizeof id, "%d", p ? atoi(p + 6) : 1);
	snprintf(x->subject, sizeof x->subject, array ? "%s[2]" : "%s", id); /* NOLINT */
	server_turn(x->f->s);
	if (x->theme == THEME_FAILED)
		subject_fail(x);
	settle(x);
}

void hold(struct scene *x, const char *id, const char *holds)
{
	ask(x, "POST", "/v1/jobs/hold", "{\"ids\":[\"%s\"],\"holds\":\"%s\"}", id, holds);
}

void elsewhere(struct scene *x, int n)
{
	char report[32];
	struct err err;

	snprintf(report, sizeof report, "matlab " LICENCES_TEXT " %d\n", n);
	assert_int_equal(amounts_reported(x->f->s, report, strlen(report), &err), 0);
	if (x->loud)
		printf("# %s", report);
}

void world(struct scene *x, uint64_t seed)
{
	static const char *const policy[] = {"easy", "fcfs", "conservative", "shunt", "oscar", "shortest", "easy"};
	size_t which;

	rng_seed(&x->rng, seed);
	site_setup((void **)&x->f, "n1:cpus=4:mem=8gb:disk=8gb:swap=8gb n[2-3]:cpus=4:mem=8gb:disk=8gb:swap=8gb:fast",
		   NOW);
	which = rng_below(&x->rng, 7);
	set(x, "/v1/server", "policy", policy[which]);
	rng_seed(&x->extra, rng_seed_of(seed, 1));
	rng_seed(&x->later, rng_seed_of(seed, 2));
	rng_seed(&x->theme_rng, rng_seed_of(seed, 3));
	x->theme = rng_below(&x->theme_rng, 2) ? (enum theme)rng_below(&x->theme_rng, THEMES) : THEME_NONE;
	x->licensed = rng_below(&x->extra, 2) || x->theme == THEME_MISFIT;
	if (x->licensed)
		set(x, "/v1/server", "resources_available.matlab", LICENCES_TEXT);
	if (which == 6)
		set(x, "/v1/server", "priority_order", "sum");
	ask(x, "PUT", "/v1/queues/side", "{}");
	set(x, "/v1/queues/side", "enabled", "True");
	set(x, "/v1/queues/side", "started", "True");
	ask(x, "PUT", "/v1/accounts/top", "{}");
	ask(x, "PUT", "/v1/accounts/a", "{}");
	set(x, "/v1/accounts/a", "parent", "top");
	ask(x, "PUT", "/v1/qos/q", "{}");
	ask(x, "PUT", "/v1/users/root", "{}");
	ask(x, "PUT", "/v1/groups/root", "{}");
	themed_site(x);
	if (x->theme == THEME_FAILED)
		subject_submit(x);
	if (x->theme == THEME_PROMISE)
		promise(x);
	some_jobs(x, (int)rng_range(&x->rng, 4, 8));
	if (one_in(x, 2))
		some_limits(x);
	some_nodes(x);
	some_reservations(x);
	if (later_one_in(x, 2))
		some_more_limits(x);
	if (one_in(x, 2))
		some_jobs(x, (int)rng_range(&x->rng, 1, 4));
	if (x->theme != THEME_FAILED)
		subject_submit(x);
	if (x->theme == THEME_MISFIT)
		shrink(x);
	if (x->theme == THEME_ROUTE && !theme_one_in(x, 4)) {
		set(x, "/v1/queues/small", "enabled", theme_one_in(x, 3) ? "True" : "False");
		set(x, "/v1/queues/entry", "started", "True");
	}
	if (one_in(x, 2))
		some_limits(x);
	if (one_in(x, 5))
		set(x, "/v1/queues/side", "started", "False");
	for (const char *h = "uos"; *h; h++)
		if (one_in(x, 8))
			hold(x, x->subject, (char[]){*h, '\0'});
	if (one_in(x, 2))
		some_jobs(x, (int)rng_range(&x->rng, 1, 3));
	if (x->licensed && rng_below(&x->extra, 3) == 0)
		elsewhere(x, (int)rng_below(&x->extra, LICENCES + 1));
	if (one_in(x, 8))
		set(x, "/v1/server", "scheduling", "False");
	settle(x);
}
