/*
 * history_people.c - what people do: submit, alter, hold, delete, order jobs; administer queues,
 * nodes and quota.
 */
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "base/vec.h"
#include "net/http.h"
#include "property/history.h"
#include "server/job/jobs.h"
#include "server/job/spec.h"
#include "server/life/wait/amounts.h"
#include "server/server.h"
#include "support/bare.h"

static const char *usual_resources(struct history *h)
{
	if (one_in(h, 5))
		return PICK(h, "partition=A", "partition=any", "ncpus=2,partition=A", "nodes=2:ppn=2,partition=A",
			    "ncpus=3,partition=any", "nodes=1:ppn=1,partition=B");
	return PICK(h, "nodes=1:ppn=1", "nodes=1:ppn=2", "nodes=2:ppn=2", "nodes=1:ppn=4", "nodes=1:ppn=8", "ncpus=3",
		    "nodes=1:big:ppn=4", "nodes=3:ppn=4", "ncpus=1,qos=high", "nodes=1:ppn=2,qos=low",
		    "ncpus=1,advres=course", "nodes=2:ppn=1+1:ppn=3", "nodes=1:ppn=2,mem=1gb",
		    "nodes=4:ppn=1,place=excl", "nodes=2:ppn=1,place=scatter:excl", "ncpus=1,place=exclhost");
}

/* Also disk, swap and licences: some that the site may have, and some that it never has. */
static const char *resources(struct history *h)
{
	static const char *const licensed[] = {
		"ncpus=1,matlab=1", "nodes=2:ppn=1:matlab=1", "nodes=1:ppn=3,Matlab=2",	 "ncpus=2,matlab=4",
		"ncpus=1,other=1",  "ncpus=1,disk=60gb",      "nodes=2:ppn=1:disk=50gb", "ncpus=1,swap=3gb"};
	const char *usual = usual_resources(h);

	return rng_below(&h->extra, 6) == 1 ? licensed[rng_below(&h->extra, 8)] : usual;
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

/* One with a price, which may start at once. */
static void priced_write(struct history *h, struct strbuf *b)
{
	int name = (int)below(h, 9), status = (int)below(h, 3);
	const char *needs = resources(h);
	int64_t estimate = 1 + below(h, 400), deadline = h->now_us / 1000000 + 10 + below(h, 3000);

	strbuf_printf(
		b,
		"{\"name\":\"p%d\",\"script\":\"exit %d\",\"resources\":[\"%s\"],\"estimate\":%lld,\"deadline\":%lld,\"budget\":%lld",
		name, status, needs, (long long)estimate, (long long)deadline, (long long)below(h, 20000));
	if (!one_in(h, 3))
		strbuf_printf(b, ",\"account\":\"%s\"", PICK(h, "low", "top", "low"));
	strbuf_puts(b, "}");
}

static void job_write(struct history *h, uid_t uid, struct strbuf *b)
{
	int64_t now = h->now_us / 1000000;

	if (one_in(h, 8)) {
		priced_write(h, b);
		return;
	}
	int name = (int)below(h, 9), status = (int)below(h, 3);
	const char *needs = resources(h);
	strbuf_printf(b, "{\"name\":\"j%d\",\"script\":\"exit %d\",\"resources\":[\"%s\",\"walltime=%lld\"]", name,
		      status, needs, (long long)(1 + below(h, 400)));
	if (one_in(h, 3))
		strbuf_printf(b, ",\"array\":\"%s\"", PICK(h, "1-6", "0-4%2", "1-8%3", "1-3%1", "2,4,6%2"));
	if (one_in(h, 5))
		strbuf_printf(b, ",\"hold\":\"%s\"", uid ? "u" : PICK(h, "u", "o", "s", "uos"));
	if (one_in(h, 6))
		strbuf_printf(b, ",\"at\":%lld", (long long)(now + below(h, 300)));
	if (one_in(h, 3) && h->submitted) {
		const char *kind = PICK(h, "afterok", "afterany", "afternotok", "after", "before", "beforeok");
		int64_t other = 1 + below(h, (int64_t)h->submitted);
		strbuf_printf(b, ",\"depend\":\"%s:%lld%s\"", kind, (long long)other, one_in(h, 3) ? "[]" : "");
	}
	if (one_in(h, 4))
		strbuf_printf(b, ",\"type\":\"Q\",\"deadline\":%lld", (long long)(now + 100 + below(h, 3000)));
	else if (one_in(h, 12) && uid == getuid())
		strbuf_printf(
			b,
			",\"type\":\"E\",\"deadline\":%lld,\"powers\":[\"sc_alloc\",\"q_alloc\",\"c_exec\",\"s_exec\",\"q_exec\"]",
			(long long)(now + 100 + below(h, 1000)));
	else if (one_in(h, 6))
		strbuf_printf(b, ",\"type\":\"N\",\"deadline\":%lld", (long long)(now + 1 + below(h, 1000)));
	if (one_in(h, 4))
		strbuf_printf(b, ",\"queue\":\"%s\"", PICK(h, "batch", "fast", "slow", "entry", "entry"));
	if (one_in(h, 6))
		strbuf_printf(b, ",\"priority\":%d", (int)below(h, 5));
	if (one_in(h, 8))
		strbuf_puts(b, ",\"rerunnable\":false");
	if (one_in(h, 12)) {
		strbuf_puts(b, ",\"interactive\":true");
		if (!one_in(h, 3)) /* under artaras it may take the place of others */
			strbuf_printf(b, ",\"displace\":%d", (int)(one_in(h, 2) ? 1000 : below(h, 30)));
	}
	if (one_in(h, 8))
		strbuf_printf(b, ",\"exclusive\":\"%s\"", PICK(h, "none", "node", "host"));
	if (one_in(h, 3))
		strbuf_printf(b, ",\"checkpoint\":\"%s\"", PICK(h, "enabled", "n", "c=1", "interval=90s,duration=5"));
	if (one_in(h, 5))
		strbuf_printf(b, ",\"class\":\"%s\"", PICK(h, "own", "own", "own", "other"));
	if (one_in(h, 4))
		strbuf_printf(b, ",\"program\":\"%s\"", PICK(h, "/bin/sim -n 3", "x", "./run.sh a b", ""));
	if (one_in(h, 4))
		strbuf_printf(b, ",\"account\":\"%s\"", PICK(h, "top", "low", "low", "none"));
	if (one_in(h, 6) && h->submitted)
		strbuf_printf(b, ",\"restart\":\"%lld\"", (long long)(1 + below(h, (int64_t)h->submitted)));
	strbuf_puts(b, "}");
}

/* One that was left while there was no server; some are refused, and are jobs all the same. A
 * repeated one is made once. */
static void left(struct history *h, uid_t uid, const char *body)
{
	char key[40];
	struct inner x = {.key = key, .body = body};
	uint64_t any;

	if (one_in(h, 3)) {
		x.number = LEASED_FIRST + (uint64_t)below(h, 3) * LEASED_EACH;
		x.number += (uint64_t)below(h, 50);
	} else {
		x.number = h->s->jobs->next_number + (uint64_t)below(h, 4);
	}
	x.time_us = h->now_us - below(h, 500) * 1000000;
	while (number_leased(x.number) && map_get(&h->leased, x.number, &any)) /* a host gives each number once */
		x.number++;
	map_set(&h->leased, x.number, 1);
	snprintf(key, sizeof key, "spool:%llu", (unsigned long long)x.number);
	for (int i = 0; i < 2; i++) {
		struct bare_answer a = {0};
		bare_left(h->s, uid, &x, &a);
		if (h->loud)
			printf("# %lld %u left %s -> %d %.160s\n", (long long)(h->now_us / 1000000 - EPOCH),
			       (unsigned)uid, body, a.status, strbuf_text(&a.body));
		strbuf_fini(&a.body);
	}
	h->submitted = h->s->jobs->next_number - 1;
}

static void op_left(struct history *h)
{
	struct strbuf b = {0};
	uid_t uid = someone(h);

	if (one_in(h, 4)) {
		int nodes = (int)(90 + below(h, 9));
		const char *more = PICK(h, "", ",\"queue\":\"none\"", ",\"hold\":\"u\"");
		strbuf_printf(&b, "{\"script\":\"x\",\"resources\":[\"nodes=%d\"]%s%s}", nodes, more,
			      one_in(h, 3) ? ",\"array\":\"1-9\"" : "");
	} else {
		job_write(h, uid, &b);
	}
	if (!strstr(b.text, "interactive"))
		left(h, uid, b.text);
	strbuf_fini(&b);
}

/* One, or a list, which is taken over in slices. */
void op_submit(struct history *h)
{
	if (one_in(h, 8)) {
		op_left(h);
		return;
	}

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

void op_alter(struct history *h)
{
	struct strbuf b = {0};
	char id[64];
	int64_t now = h->now_us / 1000000;
	int n;

	some_job(h, id);
	strbuf_printf(&b, "{\"ids\":[\"%s\"]", id);
	switch (below(h, 15)) {
	case 13:
		strbuf_printf(&b, ",\"type\":\"N\",\"deadline\":%lld", (long long)(now + below(h, 1000)));
		break;
	case 14: /* what its deadline meant goes with its type */
		strbuf_printf(&b, ",\"type\":\"%s\"", PICK(h, "C", "Q", "E", "N"));
		break;
	case 9:
		strbuf_printf(&b, ",\"exclusive\":\"%s\"", PICK(h, "none", "node", "host"));
		break;
	case 10:
	case 11:
		n = (int)below(h, 4);
		strbuf_printf(&b, ",\"max_run_subjobs\":%d%s", n, one_in(h, 3) ? ",\"name\":\"t\"" : "");
		break;
	case 0:
	case 1:
	case 2:
		strbuf_printf(&b, ",\"resources\":[\"%s\"]", resources(h));
		break;
	case 3:
		n = (int)(1 + below(h, 500));
		strbuf_printf(&b, ",\"resources\":[\"walltime=%d%s\"]", n,
			      rng_below(&h->extra, 3) == 1 ? ",advres=" : ""); /* some are not bound, and refuse it */
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

/* Alters a running job around what it has used and what it may. */
void op_walltime(struct history *h)
{
	VEC(uint32_t) running = {0};
	struct strbuf id = {0};

	for (uint32_t i = 1; i < h->s->jobs->entries.n; i++)
		if (entry_get(h->s, i)->spec && entry_running(h->s, i))
			vec_push(&running, i);
	if (running.n) {
		uint32_t x = running.v[below(h, (int64_t)running.n)];
		uid_t uid = someone(h);
		entry_id(h->s, x, &id);
		ask(h, uid, "POST", "/v1/jobs/alter", "{\"ids\":[\"%s\"],\"resources\":[\"walltime=%lld\"]}", id.text,
		    (long long)(1 + below(h, 2 * entry_get(h->s, x)->spec->walltime + 100)));
	}
	vec_free(&running);
	strbuf_fini(&id);
}

void op_action(struct history *h)
{
	char id[64], path[64];
	const char *what =
		PICK(h, "hold", "release", "release", "delete", "rerun", "signal", "signal", "move", "run", "delete");
	struct strbuf more = {0};

	some_job(h, id);
	if (strcmp(what, "hold") == 0 || strcmp(what, "release") == 0) {
		strbuf_printf(&more, ",\"holds\":\"%s\"", PICK(h, "u", "u", "o", "s", "uos"));
	} else if (strcmp(what, "delete") == 0) {
		const char *message = PICK(h, "no more", "because", "");
		int delay = (int)below(h, 30);
		strbuf_printf(&more, ",\"message\":\"%s\",\"delay\":%d%s", message, delay,
			      one_in(h, 6) ? ",\"purge\":true" : "");
	} else if (strcmp(what, "signal") == 0) {
		strbuf_printf(&more, ",\"signal\":\"%s\"", PICK(h, "STOP", "suspend", "CONT", "resume", "USR1"));
	} else if (strcmp(what, "move") == 0) {
		strbuf_printf(&more, ",\"queue\":\"%s\"", PICK(h, "batch", "fast", "slow", "entry", "none"));
	}
	snprintf(path, sizeof path, "/v1/jobs/%s", what);
	bool many = one_in(h, 10);
	uid_t uid = someone(h);
	if (many)
		ask(h, uid, "POST", path, "{\"filter\":{\"queue\":\"%s\"}%s}", PICK(h, "fast", "slow", "entry"),
		    strbuf_text(&more));
	else
		ask(h, uid, "POST", path, "{\"ids\":[\"%s\"]%s}", id, strbuf_text(&more));
	strbuf_fini(&more);
}

void op_order(struct history *h)
{
	char a[64], b[64];

	some_job(h, a);
	some_job(h, b);
	ask(h, getuid(), "POST", "/v1/jobs/order", "{\"ids\":[\"%s\",\"%s\"]}", a, b);
}

void op_place(struct history *h)
{
	char a[64], b[64];

	some_job(h, a);
	some_job(h, b);
	uid_t uid = someone(h);
	ask(h, uid, "POST", "/v1/jobs/place", "{\"ids\":[\"%s\"],\"after\":\"%s\"}", a, below(h, 4) ? b : "0");
}

/* Names both users, or others would be refused everything. */
static void quota_give(struct history *h)
{
	const struct passwd *me = getpwuid(getuid());
	int normal = (int)below(h, 400000), priority = (int)below(h, 20000), interactive = (int)below(h, 20000);
	const char *end = PICK(h, "null", "202704", "202701");

	ask(h, getuid(), "POST", "/v1/quota",
	    "{\"quota\":[{\"user\":\"%s\",\"limit\":{\"normal\":%d,\"priority\":%d,\"interactive\":%d},\"end\":%s},"
	    "{\"user\":\"nobody\",\"limit\":{\"normal\":%d,\"priority\":0,\"interactive\":9000}}]}",
	    me ? me->pw_name : "root", normal, priority, interactive, end, (int)below(h, 400000));
}

/* A is of small nodes, B of one node: at the end, when they are as large as they get, whatever
 * was accepted fits (test_replay.c). */
static void partition_change(struct history *h)
{
	const char *name = PICK(h, "A", "A", "B");
	char path[64];

	snprintf(path, sizeof path, "/v1/partitions/%s", name);
	if (one_in(h, 4)) {
		ask(h, getuid(), "DELETE", path, "{}");
		return;
	}
	ask(h, getuid(), "PUT", path, "{}");
	ATTRIBUTE(h, path, "nodes", *name == 'A' ? PICK(h, "n1", "n[1-2]", "n2", "") : PICK(h, "n3", "n2", "n3"));
}

/* So far away that it never begins. */
static void shutdown_announce(struct history *h)
{
	long long begin = h->now_us / 1000000 + 3000000000LL;

	if (one_in(h, 3))
		ask(h, getuid(), "POST", "/v1/shutdown", "{\"mode\":\"cancel\"}");
	else if (one_in(h, 2))
		ask(h, getuid(), "POST", "/v1/shutdown", "{\"mode\":\"delay\",\"begin\":%lld}", begin);
	else
		ask(h, getuid(), "POST", "/v1/shutdown", "{\"mode\":\"%s\",\"begin\":%lld,\"until\":%lld}",
		    PICK(h, "quick", "immediate"), begin, begin + 10000);
}

/* A class that jobs have can't be deleted; what it says is part of their next start. */
static void class_change(struct history *h)
{
	const char *path = PICK(h, "/v1/classes/own", "/v1/classes/other");

	if (one_in(h, 4))
		ask(h, getuid(), PICK(h, "PUT", "DELETE"), path, "{}");
	else if (one_in(h, 2))
		attribute(h, path, "move", PICK(h, "True", "False"));
	else
		ATTRIBUTE(h, path, PICK(h, "checkpoint_interval", "checkpoint_duration", "periodic_signal"),
			  PICK(h, "5", "30"));
}

/* What accounts pay for, and with what. */
static void credits_change(struct history *h)
{
	const char *account = PICK(h, "low", "top"), *path = *account == 'l' ? "/v1/accounts/low" : "/v1/accounts/top";
	int amount = 1 + (int)below(h, 50000);

	switch (below(h, 6)) {
	case 0:
		attribute(h, path, "credit_unit", PICK(h, "cpu_hours", "cpu_hours", "node_hours", "memory_gb_hours"));
		break;
	case 1:
		attribute(h, path, "credit_rate", PICK(h, "100", "50", "133"));
		break;
	case 2:
		ask(h, getuid(), "POST", "/v1/credits", "{\"op\":\"withdraw\",\"account\":\"%s\",\"amount\":%d}",
		    account, amount / 10 + 1);
		break;
	case 3:
		ask(h, getuid(), "POST", "/v1/credits",
		    "{\"op\":\"transfer\",\"account\":\"%s\",\"to\":\"%s\",\"amount\":%d}", account,
		    *account == 'l' ? "top" : "low", amount / 10 + 1);
		break;
	case 4:
		ask(h, getuid(), "POST", "/v1/credits",
		    "{\"op\":\"deposit\",\"account\":\"%s\",\"amount\":%d,\"expires\":%lld}", account, amount,
		    (long long)(h->now_us / 1000000 + 1 + below(h, 3000)));
		break;
	default:
		ask(h, getuid(), "POST", "/v1/credits", "{\"op\":\"deposit\",\"account\":\"%s\",\"amount\":%d}",
		    account, amount);
	}
}

/* Who manages the jobs of an account or a queue. */
static void coordinators_change(struct history *h)
{
	const char *path = PICK(h, "/v1/accounts/low", "/v1/accounts/top", "/v1/queues/fast", "/v1/queues/slow");

	if (strstr(path, "accounts"))
		ask(h, getuid(), "PUT", path, "{}");
	attribute(h, path, "coordinators", PICK(h, "nobody", "nobody", "-nobody,*", "nobody@elsewhere"));
	attribute(h, "/v1/server", "query_other_jobs", PICK(h, "True", "False", "False"));
}

/* There are more licences, or fewer, or none; or others use some. */
static void amounts_change(struct history *h)
{
	static const char *const reports[] = {"matlab 5\n", "matlab 5 1\n", "matlab 2 1\n", "matlab 9 9\n",
					      "matlab x\n"};
	static const char *const totals[] = {"0", "1", "2", "5"};
	const char *report = reports[rng_below(&h->extra, 5)];
	struct err err;

	switch (rng_below(&h->extra, 4)) {
	case 0:
		amounts_reported(h->s, report, strlen(report), &err);
		break;
	case 1:
		ask(h, getuid(), "PATCH", "/v1/server",
		    "{\"changes\":[{\"op\":\"unset\",\"name\":\"resources_available\"}]}");
		break;
	default:
		attribute(h, "/v1/server", "resources_available.matlab", totals[rng_below(&h->extra, 4)]);
		break;
	}
}

/* Jobs of a queue run only on some nodes, or on all again. */
static void queue_nodes_change(struct history *h)
{
	static const char *const nodes[] = {"n1", "n2,n3", "big", "n[1-2],big", "nowhere"};
	const char *path = rng_below(&h->extra, 2) ? "/v1/queues/fast" : "/v1/queues/slow";

	if (rng_below(&h->extra, 2))
		attribute(h, path, "nodes", nodes[rng_below(&h->extra, 5)]);
	else
		ask(h, getuid(), "PATCH", path, "{\"changes\":[{\"op\":\"unset\",\"name\":\"nodes\"}]}");
}

/* Who may charge an account or use a QoS, and which are there at all. */
static void party_change(struct history *h)
{
	const char *path = PICK(h, "/v1/accounts/low", "/v1/accounts/top", "/v1/qos/high", "/v1/qos/low");

	switch (below(h, 12)) {
	case 10:
	case 11:
		credits_change(h);
		break;
	case 9:
		ATTRIBUTE(h, PICK(h, path, "/v1/users/default", "/v1/users/nobody", "/v1/queues/fast"),
			  PICK(h, "soft_max_running", "soft_max_cpus", "soft_max_cpu_seconds"),
			  PICK(h, "1", "2", "1000"));
		break;
	case 8:
		ATTRIBUTE(h, PICK(h, path, "/v1/users/default", "/v1/users/nobody", "/v1/queues/fast"),
			  "max_cpu_seconds", PICK(h, "600", "3600", "20000", "1000000"));
		break;
	case 6:
		ATTRIBUTE(h, PICK(h, path, path, "/v1/users/default", "/v1/users/nobody", "/v1/queues/fast"),
			  "max_cpus", PICK(h, "2", "4", "8", "100"));
		break;
	case 7:
		ATTRIBUTE(h, PICK(h, path, "/v1/groups/default", "/v1/users/nobody"), "max_running",
			  PICK(h, "1", "2", "50"));
		break;
	case 0:
		ask(h, getuid(), PICK(h, "PUT", "PUT", "DELETE"), path, "{}");
		break;
	case 1:
		attribute(h, path, "acl_users", PICK(h, "nobody", "*", "root,nobody"));
		break;
	case 2:
		ATTRIBUTE(h, PICK(h, "/v1/users/nobody", "/v1/users/default", "/v1/queues/fast", "/v1/server"),
			  "default_qos", PICK(h, "high", "low"));
		break;
	case 3:
		ATTRIBUTE(h, PICK(h, "/v1/users/nobody", "/v1/groups/nogroup"), "default_account",
			  PICK(h, "top", "low"));
		break;
	case 4:
		ATTRIBUTE(h, PICK(h, "/v1/qos/high", "/v1/qos/low"), "may_preempt", PICK(h, "True", "False"));
		attribute(h, "/v1/accounts/low", "parent", "top");
		break;
	default:
		attribute(h, "/v1/qos/high", "dedicated", PICK(h, "True", "False"));
		break;
	}
}

/* Nodes or parts of them for some, now, soon or weekly. */
static void reservation_change(struct history *h)
{
	const char *path = PICK(h, "/v1/reservations/course", "/v1/reservations/course", "/v1/reservations/disks");
	int64_t at = h->now_us / 1000000 - 20 + below(h, 300);
	char body[600], start[32];
	time_t t = (time_t)at;
	struct tm tm;

	gmtime_r(&t, &tm);
	strftime(start, sizeof start, "%Y-%m-%dT%H:%M:%SZ", &tm);
	switch (below(h, 5)) {
	case 0:
		ask(h, getuid(), "DELETE", path, "{}");
		return;
	case 1:
		ATTRIBUTE(h, path, PICK(h, "acl_users", "acl_queues", "acl_qos"),
			  PICK(h, "nobody", "*", "fast", "high"));
		return;
	case 2:
		attribute(h, path, "hours", "Mon-Sun 00:00-12:00, Mon-Sun 13:00-20:00");
		return;
	default:
		if (rng_below(&h->extra, 2))
			attribute(h, path, "amounts.matlab", rng_below(&h->extra, 2) ? "1" : "2");
		if (rng_below(&h->extra, 2))
			attribute(h, path, "per_node.ncpus", rng_below(&h->extra, 2) ? "1" : "3");
		const char *nodes = PICK(h, "n1", "n2", "n1,n2", "all"), *duration = PICK(h, "20", "300", "4000");
		const char *ignore_jobs = PICK(h, "True", "True", "False");
		snprintf(
			body, sizeof body,
			"{\"changes\":[{\"op\":\"set\",\"name\":\"nodes\",\"value\":\"%s\"},{\"op\":\"set\",\"name\":\"start\","
			"\"value\":\"%s\"},{\"op\":\"set\",\"name\":\"duration\",\"value\":\"%s\"},"
			"{\"op\":\"set\",\"name\":\"ignore_jobs\",\"value\":\"%s\"},{\"op\":\"set\",\"name\":\"maintenance\",\"value\":\"%s\"}]}",
			nodes, start, duration, ignore_jobs, PICK(h, "False", "False", "True"));
		ask(h, getuid(), "PATCH", path, "%s", body);
	}
}

/* Jobs are refused by one destination or all of them, are left in the routing queue, and
 * are routed later. */
static void routes_change(struct history *h)
{
	switch (below(h, 6)) {
	case 0:
		attribute(h, "/v1/queues/entry", "route_destinations",
			  PICK(h, "fast,slow", "slow,fast", "slow", "batch"));
		break;
	case 1:
		attribute(h, "/v1/queues/entry", "started", PICK(h, "True", "True", "False"));
		break;
	case 2:
		attribute(h, "/v1/queues/entry", "enabled", PICK(h, "True", "True", "False"));
		break;
	case 3:
		ATTRIBUTE(h, PICK(h, "/v1/queues/fast", "/v1/queues/slow"), "resources_max.walltime",
			  PICK(h, "00:01:00", "00:04:00", "10:00:00"));
		break;
	case 4:
		ATTRIBUTE(h, PICK(h, "/v1/queues/fast", "/v1/queues/slow"), "max_queuable", PICK(h, "1", "4", "100"));
		break;
	default:
		attribute(h, "/v1/queues/slow", "from_route_only", PICK(h, "True", "False", "False"));
		break;
	}
}

void op_admin(struct history *h)
{
	char path[64], value[16];
	const char *node;

	snprintf(path, sizeof path, "/v1/queues/%s", PICK(h, "batch", "fast", "slow"));
	snprintf(value, sizeof value, "%d", (int)below(h, 5));
	if (rng_below(&h->extra, 5) == 1)
		amounts_change(h);
	if (rng_below(&h->extra, 8) == 1)
		queue_nodes_change(h);
	if (one_in(h, 12)) {
		shutdown_announce(h);
		return;
	}
	if (one_in(h, 8)) {
		if (one_in(h, 8))
			ask(h, getuid(), "DELETE", "/v1/quota/nobody", "{}");
		else if (one_in(h, 2))
			quota_give(h);
		else
			attribute(h, "/v1/server", "quota", PICK(h, "True", "False"));
		return;
	}
	if (one_in(h, 5)) {
		coordinators_change(h);
		return;
	}
	if (one_in(h, 5)) {
		partition_change(h);
		return;
	}
	if (one_in(h, 6)) {
		routes_change(h);
		return;
	}
	if (one_in(h, 12)) {
		class_change(h);
		return;
	}
	if (one_in(h, 8)) {
		if (one_in(h, 3))
			reservation_change(h);
		else
			party_change(h);
		return;
	}
	switch (below(h, 12)) {
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
		node = PICK(h, "/v1/nodes/n1", "/v1/nodes/n3");
		ask(h, getuid(), "PATCH", node, "{\"offline\":%s,\"note\":\"x\"}", PICK(h, "true", "false"));
		break;
	case 7:
		node = PICK(h, "/v1/nodes/n1", "/v1/nodes/n2");
		ask(h, getuid(), "PATCH", node, "{\"drain_at\":%lld,\"note\":\"y\"}",
		    (long long)(h->now_us / 1000000 + 1 + below(h, 600)));
		break;
	case 8:
		node = PICK(h, "/v1/nodes/n1", "/v1/nodes/n2");
		ask(h, getuid(), "PATCH", node, "%s",
		    PICK(h, "{\"drain_at\":null}", "{\"note\":null}", "{\"speed\":2.5}", "{\"speed\":null}",
			 "{\"shared\":true}", "{\"shared\":true}", "{\"shared\":false}"));
		break;
	case 9:
		ask(h, getuid(), PICK(h, "PUT", "DELETE"), "/v1/queues/extra", "{}");
		ATTRIBUTE(h, PICK(h, "/v1/queues/extra", "/v1/queues/slow"), "enabled",
			  PICK(h, "True", "True", "False"));
		break;
	case 10:
		if (one_in(h, 2)) {
			attribute(h, "/v1/server", "long_checkpoint_rule",
				  PICK(h, "nights", "nights", "times", "remove"));
			attribute(h, "/v1/server", "long_checkpoint", PICK(h, "3", "3", "30", "1000"));
			ATTRIBUTE(h, "/v1/server", PICK(h, "long_checkpoint_hours", "long_checkpoint_times"),
				  PICK(h, "08:05-08:15,08:20-08:40", "08:10-08:13", "Fri 08:00-10:00", "10:00-08:30"));
			break;
		}
		ATTRIBUTE(h, "/v1/server", PICK(h, "move", "move", "interactive_breaks_deadlines"),
			  PICK(h, "True", "True", "False"));
		break;
	default:
		if (one_in(h, 3))
			attribute(h, "/v1/server", "node_allocation",
				  PICK(h, "first_available", "load", "fastest", "spread", "contiguous", "push"));
		attribute(h, "/v1/server", "policy",
			  PICK(h, "shunt", "easy", "conservative", "oscar", "artaras", "artaras"));
		break;
	}
}
