/*
 * doctor_limits.c - checks for queues, limits, reservations, quota and credits that keep everybody
 * from running anything.
 */
#include <stdlib.h>
#include <string.h>

#include "base/hostlist.h"
#include "base/strbuf.h"
#include "base/timetext.h"
#include "cmd/admin/doctor.h"
#include "cmd/lib/object.h"

#define DAY INT64_C(86400)

static const json_t *queue_named(const struct doctor *d, const char *name, size_t n)
{
	const json_t *q;
	size_t i;

	json_array_foreach(json_object_get(d->queues, "queues"), i, q)
	{
		const char *x = object_text(q, "name");
		if (strlen(x) == n && strncmp(x, name, n) == 0)
			return q;
	}
	return NULL;
}

/* ---- amounts ---- */

/* Returns the value of resources_max.walltime and the like, in seconds, KiB or units; -1: unset or
 * not a number. */
static int64_t amount(const json_t *of, const char *name)
{
	const json_t *v = json_object_get(json_object_get(of, "attributes"), name);
	const char *resource = strchr(name, '.') + 1, *text = v ? value_text(v) : NULL;
	struct err err;
	int64_t n = -1;
	char *end;

	if (json_is_integer(v))
		return json_integer_value(v);
	if (!text || !*text)
		return -1;
	if (strstr(resource, "mem") || strcmp(resource, "disk") == 0 || strcmp(resource, "swap") == 0)
		return memory_parse(text, &n, &err) < 0 ? -1 : n;
	if (strcmp(resource, "walltime") == 0 || strcmp(resource, "cput") == 0)
		return duration_parse(text, &n, &err) < 0 ? -1 : n;
	n = strtoll(text, &end, 10);
	return *end ? -1 : n;
}

/* Returns the total of all nodes; -1: not known. */
static int64_t capacity(const struct doctor *d, const char *resource)
{
	static const char *const fields[][2] = {
		{"ncpus", "cpus"}, {"ngpus", "gpus"}, {"mem", "memory"}, {"disk", "disk"}, {"swap", "swap"}};
	const json_t *list = json_object_get(d->nodes, "nodes"), *n;
	const char *field = NULL;
	int64_t sum = 0;
	size_t i;

	if (!d->nodes)
		return -1;
	if (strcmp(resource, "nodect") == 0)
		return (int64_t)json_array_size(list);
	for (i = 0; i < sizeof fields / sizeof *fields; i++)
		if (strcmp(resource, fields[i][0]) == 0)
			field = fields[i][1];
	json_array_foreach(list, i, n)
	{
		int64_t has = field ? object_number(n, field, -1) : -1;
		if (has < 0)
			return -1;
		sum += has;
	}
	return field ? sum : -1;
}

/* Writes "queue big" or "the server". */
static const char *title(const json_t *of, bool server, char *buf, size_t size)
{
	snprintf(buf, size, server ? "the server" : "queue %s", object_text(of, "name"));
	return buf;
}

/* Compares every resources_min of `low` with the resources_max of `high` and with the nodes'
 * total. */
static void bounds(struct doctor *d, const json_t *low, bool low_server, const json_t *high, bool high_server)
{
	char below[128], above[128], other[128], advice[256];
	const char *key;
	json_t *v;

	title(low, low_server, below, sizeof below);
	title(high, high_server, above, sizeof above);
	json_object_foreach(json_object_get(low, "attributes"), key, v)
	{
		if (strncmp(key, "resources_min.", 14) != 0 || strlen(key) > 100)
			continue;
		snprintf(other, sizeof other, "resources_max.%s", key + 14);
		int64_t least = amount(low, key), most = amount(high, other), all = capacity(d, key + 14);
		snprintf(advice, sizeof advice, "qmgr -c 'unset %s %s', or correct one of them",
			 low_server ? "server" : below, key);
		if (most >= 0 && least > most)
			doctor_find(d, LEVEL_PROBLEM, "limits", advice,
				    "%s has %s = %s, but %s has %s = %s: no job can meet both", below, key,
				    value_text(v), above, other,
				    value_text(json_object_get(json_object_get(high, "attributes"), other)));
		if (all >= 0 && least > all && low == high)
			doctor_find(d, LEVEL_PROBLEM, "limits", advice,
				    "%s has %s = %s, which is more than all nodes have together: no job can meet it",
				    below, key, value_text(v));
	}
}

/* Finds limits of 0. */
static void zeros(struct doctor *d, const json_t *of, const char *what, const char *object)
{
	static const char *const limits[] = {"max_running",	"max_user_run", "max_cpus",	"max_memory",
					     "max_cpu_seconds", "max_queued",	"max_queuable", "max_user_queuable"};
	char advice[256];

	for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
		const json_t *v = json_object_get(json_object_get(of, "attributes"), limits[i]);
		bool zero =
			json_is_integer(v) ? json_integer_value(v) == 0 : v && strtoll(value_text(v), NULL, 10) == 0;
		if (!zero)
			continue;
		snprintf(advice, sizeof advice, "qmgr -c 'unset %s %s', or set a larger value", object, limits[i]);
		doctor_find(d, LEVEL_PROBLEM, "limits", advice, "%s has %s = 0: none of its jobs can %s", what,
			    limits[i], strstr(limits[i], "queu") ? "be submitted" : "start");
	}
}

/* Finds access lists that are enabled and empty. */
static void lists(struct doctor *d, const json_t *of, const char *what, const char *object)
{
	static const char *const pairs[][2] = {
		{"acl_user_enable", "acl_users"}, {"acl_group_enable", "acl_groups"}, {"acl_host_enable", "acl_hosts"}};
	char advice[256];

	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
		if (doctor_attr_is(of, pairs[i][0], true) && !doctor_attr(of, pairs[i][1])) {
			snprintf(advice, sizeof advice, "qmgr -c 'set %s %s = False', or set %s", object, pairs[i][0],
				 pairs[i][1]);
			doctor_find(d, LEVEL_PROBLEM, "limits", advice,
				    "%s has %s = True and an empty %s: nobody may submit", what, pairs[i][0],
				    pairs[i][1]);
		}
}

/* ---- queues ---- */

static void routing(struct doctor *d, const json_t *q)
{
	const char *name = object_text(q, "name"), *list = value_text(doctor_attr(q, "route_destinations"));
	char advice[256];
	size_t there = 0;

	snprintf(advice, sizeof advice, "qmgr -c 'set queue %s route_destinations = QUEUE,...' with queues that exist",
		 name);
	for (const char *p = list ? list : ""; *p; p += *p == ',') {
		size_t n = strcspn(p, ",");
		bool remote = memchr(p, '@', n); /* another server's: cannot be checked here */
		if (remote || queue_named(d, p, n))
			there++;
		else
			doctor_find(d, LEVEL_PROBLEM, "queues", advice,
				    "queue %s routes to queue %.*s, which does not exist", name, (int)n, p);
		p += n;
	}
	if (!there)
		doctor_find(d, LEVEL_PROBLEM, "queues", advice, "queue %s has nowhere to route its jobs to", name);
}

static void queue(struct doctor *d, const json_t *q)
{
	const char *name = object_text(q, "name");
	char advice[128], what[128], object[128];

	snprintf(what, sizeof what, "queue %s", name);
	snprintf(object, sizeof object, "queue %s", name);
	snprintf(advice, sizeof advice, "qenable %s", name);
	if (doctor_attr_is(q, "enabled", false))
		doctor_find(d, LEVEL_WARNING, "queues", advice, "queue %s is disabled: it accepts no jobs", name);
	snprintf(advice, sizeof advice, "qstart %s", name);
	if (doctor_attr_is(q, "started", false))
		doctor_find(d, LEVEL_WARNING, "queues", advice, "queue %s is stopped: its jobs do not start", name);
	if (strcmp(value_text(doctor_attr(q, "queue_type")), "Route") == 0)
		routing(d, q);
	zeros(d, q, what, object);
	lists(d, q, what, object);
	bounds(d, q, false, q, false);
	bounds(d, q, false, d->server, true);
	bounds(d, d->server, true, q, false);
}

/* Checks users, groups, accounts and QoS: the limits of "default" apply to everybody. */
static void parties(struct doctor *d)
{
	static const char *const kinds[][2] = {
		{"users", "user"}, {"groups", "group"}, {"accounts", "account"}, {"qos", "qos"}};

	for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
		char path[32], what[64];
		const json_t *x;
		size_t i;
		snprintf(path, sizeof path, "/v1/%s", kinds[k][0]);
		snprintf(what, sizeof what, "%s default", kinds[k][1]);
		json_t *answer = doctor_get(d, path);
		json_array_foreach(json_object_get(answer, kinds[k][0]), i, x)
		{
			if (strcmp(object_text(x, "name"), "default") == 0)
				zeros(d, x, what, what);
		}
		json_decref(answer);
	}
}

void doctor_queues(struct doctor *d)
{
	const json_t *list = json_object_get(d->queues, "queues"), *q,
		     *initial = json_object_get(json_object_get(d->server, "attributes"), "default_queue");
	size_t i;

	json_array_foreach(list, i, q) queue(d, q);
	if (d->queues && json_array_size(list) == 0)
		doctor_find(d, LEVEL_PROBLEM, "queues", "qmgr -c 'create queue batch enabled=True, started=True'",
			    "no queue is defined");
	if (initial && d->queues && !queue_named(d, value_text(initial), strlen(value_text(initial))))
		doctor_find(d, LEVEL_PROBLEM, "queues",
			    "qmgr -c 'set server default_queue = QUEUE' with a queue that exists",
			    "default_queue = %s, which does not exist", value_text(initial));
	zeros(d, d->server, "the server", "server");
	lists(d, d->server, "the server", "server");
	bounds(d, d->server, true, d->server, true);
	parties(d);
	doctor_fine(d, "queues",
		    json_array_size(list) == 1 ? "%zu, which accepts and starts jobs" : "all %zu accept and start jobs",
		    json_array_size(list));
	doctor_fine(d, "limits", "all can be met");
}

/* ---- reservations ---- */

static bool holds_all(const struct doctor *d, const char *nodes)
{
	const json_t *list = json_object_get(d->nodes, "nodes"), *n;
	size_t i;

	if (strcmp(nodes, "all") == 0)
		return true;
	name_list names = {0};
	struct err err;
	bool all = json_array_size(list) > 0 && hostlist_parse(nodes, &names, &err) == 0;
	json_array_foreach(list, i, n)
	{
		bool found = false;
		for (size_t k = 0; k < names.n && !found; k++)
			found = strcmp(names.v[k], object_text(n, "name")) == 0;
		all = all && found;
	}
	name_list_free(&names);
	return all;
}

void doctor_reservations(struct doctor *d)
{
	json_t *answer = doctor_get(d, "/v1/reservations");
	const json_t *r;
	char advice[256], end[40];
	size_t i;

	json_array_foreach(json_object_get(answer, "reservations"), i, r)
	{
		const char *name = object_text(r, "name"), *state = object_text(r, "state");
		const json_t *nodes = doctor_attr(r, "nodes");
		int64_t ends = object_number(r, "ends", INT64_MAX), begins = object_number(r, "begins", INT64_MAX);
		if (strcmp(state, "incomplete") == 0) {
			snprintf(advice, sizeof advice, "set nodes and times with 'shunt reservations change %s'",
				 name);
			doctor_find(d, LEVEL_WARNING, "reservations", advice,
				    "reservation %s has no nodes or no times: it has no effect", name);
		} else if (strcmp(state, "over") != 0 && nodes && holds_all(d, value_text(nodes)) &&
			   ends - (begins > d->now ? begins : d->now) > 30 * DAY) {
			snprintf(advice, sizeof advice,
				 "shunt reservations remove %s, or give it fewer nodes or an earlier end", name);
			doctor_find(d, LEVEL_PROBLEM, "reservations", advice,
				    "reservation %s keeps all nodes from other jobs until %s", name,
				    ends == INT64_MAX ? "it is removed" : instant_format(ends, end, sizeof end));
		}
	}
	json_decref(answer);
	doctor_fine(d, "reservations", "none keeps all nodes for long");
}

/* ---- quota and credits ---- */

static void quota(struct doctor *d)
{
	json_t *answer = doctor_get(d, "/v1/quota");
	const json_t *list = json_object_get(answer, "quota"), *x;
	size_t i, spent = 0;

	json_array_foreach(list, i, x) spent += object_number(x, "left.normal", 0) <= 0 &&
						object_number(x, "left.priority", 0) <= 0 &&
						object_number(x, "left.interactive", 0) <= 0;
	if (json_is_true(json_object_get(answer, "counted")) && spent && spent == json_array_size(list))
		doctor_find(d, LEVEL_PROBLEM, "quota",
			    "raise it with 'shunt quota set', or qmgr -c 'set server quota = False'",
			    spent == 1 ? "%zu user has quota, and none of it is left"
				       : "%zu users have quota, and none has any left",
			    spent);
	json_decref(answer);
	doctor_fine(d, "quota", "it does not block everybody");
}

static void credits(struct doctor *d)
{
	json_t *answer = doctor_get(d, "/v1/credits");
	const json_t *x;
	size_t i;

	json_array_foreach(json_object_get(answer, "accounts"), i, x)
	{
		char advice[128];
		snprintf(advice, sizeof advice, "shunt credit deposit %s AMOUNT", object_text(x, "account"));
		if (object_number(x, "available", 1) <= 0 && object_number(x, "rate", 1) > 0)
			doctor_find(d, LEVEL_WARNING, "credits", advice,
				    "account %s has no credits available: its jobs do not start",
				    object_text(x, "account"));
	}
	json_decref(answer);
	doctor_fine(d, "credits", "every account that pays has some");
}

void doctor_payments(struct doctor *d)
{
	quota(d);
	credits(d);
}
