/*
 * small.c - see small.h.
 */
#include "golden/small.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "run/nursery.h"
#include "run/order.h"
#include "server/life/world/dispatch.h"
#include "server/loop.h"
#include "server/server.h"
#include "support/skip.h"

#define NOW INT64_C(1800000000)
#define STARTED (NOW + 10) /* when all jobs start that can */

static void ask(struct site *site, uid_t uid, const char *method, const char *path, const char *body, int wanted)
{
	int status = site_ask(site, uid, method, path, body);

	if (status != wanted)
		fail_msg("%s %s %s: %d %s", method, path, body ? body : "", status, strbuf_text(&site->a.body));
}

void small_pass(struct site *site, int64_t seconds)
{
	site->now += seconds;
	bare_clock(site->now * 1000000);
	for (int i = 0; i < 3; i++)
		server_turn(site->s);
}

#define SET(name, value) "{\"changes\":[{\"op\":\"set\",\"name\":\"" name "\",\"value\":\"" value "\"}]}"
#define JOB(members) "{\"script\":\"true\\n\",\"workdir\":\"/tmp\"," members "}"

static void objects_make(struct site *site)
{
	static const char *const rows[][3] = {
		{"/v1/server", SET("resources_default.walltime", "3600"), ""},
		{"/v1/server", SET("query_other_jobs", "True"), ""},
		{"/v1/server", SET("resources_available.matlab", "4"), ""},
		{"/v1/server", SET("quota", "False"), ""},
		{"/v1/server", SET("log_events", "all"), ""},
		{"/v1/queues/long", SET("priority", "50"), "PUT"},
		{"/v1/queues/long", SET("enabled", "True"), ""},
		{"/v1/queues/long", SET("started", "True"), ""},
		{"/v1/queues/long", SET("max_user_run", "3"), ""},
		{"/v1/accounts/money", SET("credit_unit", "cpu_hours"), "PUT"},
		{"/v1/accounts/money", SET("acl_users", "daemon"), ""},
		{"/v1/accounts/plain", SET("parent", "money"), "PUT"},
		{"/v1/qos/high", SET("priority", "10"), "PUT"},
		{"/v1/users/daemon", SET("priority", "5"), "PUT"},
		{"/v1/groups/bin", SET("max_running", "7"), "PUT"},
		{"/v1/classes/own", SET("preempt_signal", "15"), "PUT"},
		{"/v1/reservations/later", SET("nodes", "n3"), "PUT"},
		{"/v1/reservations/later", SET("acl_users", "daemon"), ""},
		{"/v1/nodes/n4", "{\"offline\":true,\"note\":\"a disk\"}", ""},
		{"/v1/nodes/n2", "{\"drain_at\":1800500000}", ""},
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		if (*rows[i][2])
			ask(site, getuid(), "PUT", rows[i][0], NULL, 201);
		ask(site, getuid(), "PATCH", rows[i][0], rows[i][1], 200);
	}
	ask(site, getuid(), "POST", "/v1/credits", "{\"op\":\"deposit\",\"account\":\"money\",\"amount\":360000}", 200);
	ask(site, SMALL_DAEMON, "PUT", "/v1/templates/kept", "{\"job\":{\"script\":\"true\",\"comment\":\"kept\"}}",
	    201);
}

/* 1 to 5 run, 1 and 2 come to their end; the others wait, each for a reason of its own. */
static void jobs_make(struct site *site)
{
	static const char *const jobs[] = {
		JOB("\"name\":\"ends\",\"resources\":[\"nodes=1:ppn=2,walltime=600\"],\"account\":\"money\""),
		JOB("\"name\":\"fails\",\"rerunnable\":false,\"mail\":\"abe\",\"mail_to\":\"ann\""),
		JOB("\"name\":\"runs\",\"queue\":\"long\",\"resources\":[\"nodes=1:ppn=3,walltime=9000,mem=2gb\"],"
		    "\"environment\":[\"A=b\",\"C=d e\"],\"project\":\"p\",\"label\":\"l\",\"comment\":\"c\""),
		JOB("\"name\":\"stops\",\"resources\":[\"ncpus=1\"],\"output\":\"o\",\"error\":\"e\",\"join\":\"oe\""),
		JOB("\"name\":\"whole\",\"resources\":[\"nodes=1:ppn=4,walltime=700\"],\"exclusive\":\"node\""),
		JOB("\"name\":\"wide\",\"resources\":[\"nodes=2:ppn=4,walltime=500\"]"),
		JOB("\"name\":\"held\",\"hold\":\"u\",\"umask\":\"027\",\"shell\":\"/bin/bash\",\"args\":[\"a b\",\"c\"]"),
		JOB("\"name\":\"at\",\"at\":1800090000,\"priority\":-5,\"resources\":[\"nodes=1,walltime=60\"]"),
		JOB("\"name\":\"after\",\"depend\":\"afterok:3\",\"resources\":[\"walltime=60\"]"),
		JOB("\"name\":\"due\",\"deadline\":1800050000,\"resources\":[\"nodes=2:ppn=2,walltime=1200\"]"),
		JOB("\"name\":\"many\",\"array\":\"1-4%2\",\"hold\":\"u\",\"resources\":[\"walltime=50\"]"),
		JOB("\"name\":\"licensed\",\"resources\":[\"matlab=3,mem=1gb,walltime=60\"]"),
		JOB("\"name\":\"saves\",\"checkpoint\":\"interval=60,duration=5\",\"resources\":[\"nodes=4:ppn=4,walltime=60\"]"),
	};

	for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++)
		ask(site, i % 4 == 3 ? SMALL_BIN : SMALL_DAEMON, "POST", "/v1/jobs", jobs[i], 201);
	for (int i = 0; i < 3; i++)
		server_turn(site->s);
}

/* Reports the start of all that was ordered. */
static void starts(struct site *site)
{
	const struct bare_attempt *all;

	for (size_t i = 0; i < bare_attempts(&all); i++)
		if (!all[i].started)
			bare_started(site->s, all[i].tag);
	server_turn(site->s);
}

/* Reports the end of a job, or of an element ("14-1"), that started at an instant. */
static void ends(struct site *site, const char *id, int64_t started, struct result r)
{
	const struct bare_attempt *all;
	char tag[64] = "";
	size_t n = strlen(id);

	for (size_t i = 0; i < bare_attempts(&all); i++)
		if (strncmp(all[i].tag, id, n) == 0 && (all[i].tag[n] == '.' || strncmp(all[i].tag + n, "-x", 2) == 0))
			snprintf(tag, sizeof tag, "%s", all[i].tag);
	if (!*tag)
		fail_msg("job %s was not started", id);
	bare_forget(tag);
	r.tag = tag;
	r.started_us = started * 1000000;
	r.ended_us = site->now * 1000000;
	r.ran_ms = (site->now - started) * 1000;
	dispatch_engine.attempt_ended(site->s, &r);
	for (int i = 0; i < 3; i++)
		server_turn(site->s);
}

void small_open(void **state)
{
	if (getuid() != 0)
		skip_because("root's group was recorded");
	setenv("TZ", "UTC", 1);
	tzset();
	site_setup(state, "n[1-4]:cpus=4", NOW);
	objects_make(*state);
	jobs_make(*state);
}

/* An array, of which one element succeeds and the other fails. */
static void elements_run(struct site *site)
{
	int64_t started = site->now;

	ask(site, SMALL_DAEMON, "POST", "/v1/jobs",
	    JOB("\"name\":\"parts\",\"array\":\"1-2\",\"resources\":[\"mem=512mb,walltime=300\"]"), 201);
	small_pass(site, 0);
	starts(site);
	small_pass(site, 40);
	ends(site, "14-1", started,
	     (struct result){.how = RESULT_EXITED, .cpu_ms = 39000, .memory_kib = 300 << 10, .session = 79});
	small_pass(site, 20);
	ends(site, "14-2", started,
	     (struct result){
		     .how = RESULT_EXITED, .status = 3, .cpu_ms = 30000, .memory_kib = 20 << 10, .session = 80});
}

void small_live(struct site *site)
{
	small_pass(site, STARTED - NOW);
	starts(site);
	small_pass(site, 100);
	ends(site, "1", STARTED,
	     (struct result){.how = RESULT_EXITED, .cpu_ms = 90000, .memory_kib = 2048, .session = 77});
	small_pass(site, 20);
	ends(site, "2", STARTED,
	     (struct result){
		     .how = RESULT_SIGNALED, .status = 9, .cause = CAUSE_MEMORY, .session = 78, .memory_kib = 9999});
	ask(site, SMALL_BIN, "POST", "/v1/jobs/signal", "{\"ids\":[\"4\"],\"signal\":\"suspend\"}", 200);
	starts(site);
	small_pass(site, 100);
	elements_run(site);
	small_pass(site, 840);
}
