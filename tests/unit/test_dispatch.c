/*
 * test_dispatch.c - running jobs that an emergency job stops while something else was asked of
 * them: what was asked holds, even where the scheduler finds another place for them at once; and
 * jobs that hold their places for longer than was planned.
 */
#include <pwd.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "run/order.h"
#include "server/base/clock.h"
#include "server/base/turn.h"
#include "server/book/quotas.h"
#include "server/job/jobs.h"
#include "server/job/keys.h"
#include "server/life/world/dispatch.h"
#include "server/loop.h"
#include "server/server.h"
#include "server/settings/conf.h"
#include "support/bare.h"
#include "support/site.h"

#define NODES "n[1-2]:cpus=4:mem=8gb"
#define EPOCH INT64_C(1800000000)

static int setup(void **state)
{
	return site_setup(state, NODES, EPOCH);
}

static int ask(struct site *f, const char *method, const char *path, const char *body)
{
	return site_ask(f, getuid(), method, path, body);
}

static void shows(struct site *f, const char *text)
{
	assert_int_equal(ask(f, "GET", "/v1/jobs/1", NULL), 200);
	if (!strstr(f->a.body.text, text))
		fail_msg("%s is not in %s", text, f->a.body.text);
}

static void pass(struct site *f, int64_t seconds)
{
	for (; seconds > 0; seconds--) {
		f->now++;
		bare_clock(f->now * 1000000);
		server_turn(f->s);
	}
}

static void all_start(struct site *f)
{
	const struct bare_attempt *all;
	size_t n = bare_attempts(&all);

	for (size_t i = 0; i < n; i++)
		if (!all[i].started)
			bare_started(f->s, all[i].tag);
	server_turn(f->s);
}

/* Job 1, with these members, runs on a node whose every CPU an emergency job needs after that
 * many seconds; the other is idle. */
static void victim_make_for(struct site *f, const char *members, int64_t seconds)
{
	const char *where;
	char body[400];

	assert_int_equal(ask(f, "PATCH", "/v1/server",
			     "{\"changes\":[{\"op\":\"set\",\"name\":\"kill_delay\",\"value\":\"1\"}]}"),
			 200);
	snprintf(body, sizeof body, "{\"script\":\"true\",\"resources\":[\"nodes=1:ppn=1\",\"walltime=3600\"]%s}",
		 members);
	assert_int_equal(ask(f, "POST", "/v1/jobs", body), 201);
	pass(f, 1);
	all_start(f);
	shows(f, "\"exec_host\":\"n");
	where = strstr(f->a.body.text, "\"exec_host\":\"n") + strlen("\"exec_host\":\"");
	snprintf(
		body, sizeof body,
		"{\"script\":\"true\",\"type\":\"E\",\"deadline\":%lld,\"resources\":[\"nodes=%.2s:ppn=4\",\"walltime=30\"],"
		"\"powers\":[\"c_exec\",\"s_exec\",\"sc_alloc\"]}",
		(long long)(f->now + 30 + seconds), where);
	assert_int_equal(ask(f, "POST", "/v1/jobs", body), 201);
	server_turn(f->s);
	shows(f, "\"state\":\"R\"");
}

static void victim_make(struct site *f, const char *members)
{
	victim_make_for(f, members, 7);
}

static int victim_signal(void)
{
	const struct bare_attempt *all;

	assert_true(bare_attempts(&all) > 0);
	return all[0].signal;
}

/* It is stopped early enough for all that an end may take: kill_delay, the epilogue, and orders
 * on their way. */
static void stopped_in_time(void **state)
{
	struct site *f = *state;

	free(f->s->conf->epilogue);
	f->s->conf->epilogue = strdup("/bin/true");
	f->s->conf->program_limit = 20;
	victim_make_for(f, "", 40);
	pass(f, 40 - (1 + 5 + 20) - 1);
	assert_int_equal(victim_signal(), 0);
	pass(f, 1);
	assert_int_equal(victim_signal(), SIGTERM);
}

static void deleted(void **state)
{
	struct site *f = *state;

	victim_make(f, "");
	assert_int_equal(ask(f, "POST", "/v1/jobs/delete", "{\"ids\":[\"1\"],\"message\":\"not wanted\",\"delay\":60}"),
			 200);
	pass(f, 10);
	shows(f, "\"state\":\"C\"");
	shows(f, "\"cause\":\"deleted\"");
	shows(f, "not wanted");
	site_reopen(f);
	shows(f, "\"cause\":\"deleted\"");
	shows(f, "not wanted");
}

static void held(void **state)
{
	struct site *f = *state;

	victim_make(f, "");
	assert_int_equal(ask(f, "POST", "/v1/jobs/hold", "{\"ids\":[\"1\"]}"), 200);
	pass(f, 10);
	shows(f, "\"state\":\"H\"");
	site_reopen(f);
	shows(f, "\"state\":\"H\"");
}

/* A job that was purged, and whose processes stay, is not forgotten before they have gone: they
 * hold CPUs. */
static void purged(void **state)
{
	struct site *f = *state;
	const struct bare_attempt *all;
	uint32_t id;

	assert_int_equal(ask(f, "POST", "/v1/jobs", "{\"script\":\"true\",\"resources\":[\"nodes=1:ppn=2\"]}"), 201);
	pass(f, 1);
	all_start(f);
	assert_int_equal(ask(f, "POST", "/v1/jobs/delete", "{\"ids\":[\"1\"],\"purge\":true}"), 200);
	shows(f, "\"state\":\"C\"");
	f->now += 30 * 86400;
	pass(f, 1);
	shows(f, "\"state\":\"C\"");
	assert_int_equal(bare_attempts(&all), 1);
	char tag[64];
	memcpy(tag, all[0].tag, sizeof tag);
	bare_forget(tag);
	dispatch_engine.attempt_ended(
		f->s, &(struct result){.tag = tag, .how = RESULT_EXITED, .ended_us = f->now * 1000000, .session = 1});
	f->now += 120;
	pass(f, 2); /* its history is committed first */
	assert_false(entry_find(f->s, 1, -1, &id));
}

/* An attempt of job 1, by its number. */
static const struct bare_attempt *attempt_number(int number)
{
	const struct bare_attempt *all;

	for (size_t i = 0, n = bare_attempts(&all); i < n; i++)
		if (atoi(all[i].tag) == 1 && atoi(strrchr(all[i].tag, '.') + 1) == number)
			return &all[i];
	return NULL;
}

static const struct bare_attempt *attempt_first(void)
{
	return attempt_number(1);
}

static void attempt_end_number(struct site *f, int number, const struct result *r)
{
	struct result x = *r;
	char tag[64];

	snprintf(tag, sizeof tag, "%s", attempt_number(number)->tag);
	bare_forget(tag);
	x.tag = tag;
	dispatch_engine.attempt_ended(f->s, &x);
	pass(f, 1);
}

static void attempt_end(struct site *f, const struct result *r)
{
	attempt_end_number(f, 1, r);
}

/* A stopped job, which still saves its work, is deleted: nobody resumes it, so that its
 * processes end, by force if need be. */
static void deleted_while_saving(void **state)
{
	struct site *f = *state;

	victim_make(f, ",\"checkpoint\":\"enabled\"");
	pass(f, 5);
	assert_int_equal(attempt_first()->saves, 1);
	assert_int_equal(attempt_first()->signal, 0);
	shows(f, "\"attempt\":2"); /* it has another place, but the first is not over */
	assert_int_equal(ask(f, "POST", "/v1/jobs/delete", "{\"ids\":[\"1\"]}"), 200);
	server_turn(f->s);
	shows(f, "\"state\":\"C\"");
	assert_int_equal(attempt_first()->signal, SIGTERM);
	pass(f, 2);
	assert_int_equal(attempt_first()->signal, SIGKILL);
	site_reopen(f);
	shows(f, "\"state\":\"C\"");
	attempt_end(f, &(struct result){.how = RESULT_SIGNALED, .status = SIGKILL, .ended_us = f->now * 1000000});
	shows(f, "\"cause\":\"deleted\"");
}

/* A job that ends by itself at the moment in which it is stopped for another has ended: it is not
 * run again, its end is in the books, and nothing of its work counts as lost. */
static void ended_while_stopped(void **state)
{
	struct site *f = *state;
	const struct bare_attempt *all;

	victim_make(f, ",\"checkpoint\":\"enabled\"");
	pass(f, 5);
	assert_int_equal(attempt_first()->saves, 1);
	shows(f, "\"attempt\":2");
	site_reopen(f); /* the word to save may have been lost with the server */
	attempt_end(f, &(struct result){.how = RESULT_EXITED,
					.status = 3,
					.ran_ms = 6000,
					.started_us = (f->now - 6) * 1000000,
					.ended_us = f->now * 1000000,
					.saves = {.state = SAVE_GOOD, .good = 1, .number = 1, .covers_ms = 1000}});
	for (int i = 0; i < 2; i++, site_reopen(f)) {
		shows(f, "\"state\":\"C\"");
		shows(f, "\"exit_status\":3");
		shows(f, "\"cause\":null");
		shows(f, "\"lost\":0");
	}
	pass(f, 60);
	for (size_t i = 0, n = bare_attempts(&all); i < n; i++)
		assert_int_not_equal(atoi(all[i].tag), 1);
	assert_int_equal(ask(f, "GET", "/v1/jobs/1/events", NULL), 200);
	if (!strstr(f->a.body.text, "ended with exit status 3"))
		fail_msg("its end is not in %s", f->a.body.text);
}

/* One that was stopped in time is run again, whatever its exit status. */
static void stopped_and_saved(void **state)
{
	struct site *f = *state;

	victim_make(f, ",\"checkpoint\":\"enabled\"");
	pass(f, 5);
	attempt_end(f, &(struct result){.how = RESULT_EXITED, .cause = CAUSE_ORDERED, .ended_us = f->now * 1000000});
	pass(f, 1);
	all_start(f);
	shows(f, "\"state\":\"R\"");
	shows(f, "\"attempt\":2");
}

/* The older of two jobs is stopped, since its checkpoint leaves less to lose; also by a server
 * that has only read of it. */
static void saved_is_stopped(void **state)
{
	struct site *f = *state;
	struct saves v = {.state = SAVE_GOOD, .good = 1, .number = 1, .covers_ms = 100000};

	for (int i = 0; i < 2; i++) {
		assert_int_equal(ask(f, "POST", "/v1/jobs",
				     "{\"script\":\"true\",\"checkpoint\":\"enabled\",\"resources\":[\"nodes=1:ppn=4\","
				     "\"walltime=3600\"]}"),
				 201);
		pass(f, 1);
		all_start(f);
		pass(f, 60);
	}
	dispatch_engine.attempt_saved(f->s, attempt_first()->tag, &v);
	assert_int_equal(ask(f, "POST", "/v1/jobs/hold", "{\"ids\":[\"2\"]}"),
			 200); /* what came before is also stored */
	assert_int_equal(ask(f, "POST", "/v1/jobs/release", "{\"ids\":[\"2\"]}"), 200);
	site_reopen(f);
	shows(f, "\"checkpoints\":{");
	char body[300];
	snprintf(
		body, sizeof body,
		"{\"script\":\"true\",\"type\":\"E\",\"deadline\":%lld,\"resources\":[\"nodes=1:ppn=4\",\"walltime=30\"],"
		"\"powers\":[\"c_exec\",\"s_exec\"]}",
		(long long)f->now + 30 + 5);
	assert_int_equal(ask(f, "POST", "/v1/jobs", body), 201);
	pass(f, 5);
	assert_int_equal(attempt_first()->saves, 1);
}

/* It was to be run again before its program ran: that is not a failure. */
static void rerun_before_it_runs(void **state)
{
	struct site *f = *state;

	assert_int_equal(ask(f, "POST", "/v1/jobs", "{\"script\":\"true\",\"resources\":[\"nodes=1:ppn=1\"]}"), 201);
	pass(f, 1);
	all_start(f);
	assert_int_equal(ask(f, "POST", "/v1/jobs/rerun", "{\"ids\":[\"1\"]}"), 200);
	server_turn(f->s);
	attempt_end(f, &(struct result){.how = RESULT_NOT_STARTED,
					.cause = CAUSE_ORDERED,
					.reason = "it was ended while the prologue ran",
					.unclear = true});
	shows(f, "\"attempt\":2"); /* at once, without the pause after a failure */
	shows(f, "\"failures\":0");
}

/* Owners pay for a rerun by what the attempt has used: nothing of one that has not begun,
 * whenever an earlier one began. */
static void rerun_is_paid_once(void **state)
{
	struct site *f = *state;
	const char *user = getpwuid(getuid())->pw_name;
	struct quota q;
	char body[200];

	snprintf(body, sizeof body,
		 "{\"quota\":[{\"user\":\"%s\",\"limit\":{\"normal\":100000,\"priority\":0,\"interactive\":0}}]}",
		 user);
	assert_int_equal(ask(f, "POST", "/v1/quota", body), 200);
	assert_int_equal(
		ask(f, "POST", "/v1/jobs", "{\"script\":\"true\",\"resources\":[\"nodes=1:ppn=1\",\"walltime=3600\"]}"),
		201);
	pass(f, 1);
	all_start(f);
	pass(f, 60);
	assert_int_equal(ask(f, "POST", "/v1/jobs/rerun", "{\"ids\":[\"1\"]}"), 200);
	attempt_end(f, &(struct result){.how = RESULT_SIGNALED, .status = SIGTERM, .ran_ms = 60000});
	shows(f, "\"attempt\":2");
	pass(f, 20);
	assert_int_equal(ask(f, "POST", "/v1/jobs/rerun", "{\"ids\":[\"1\"]}"), 200);
	assert_true(quotas_get(f->s, user, &q));
	assert_int_equal(q.left[QUOTA_NORMAL], 100000 - 3600 - 60);
}

/* So is what is run again since it has failed; without quota it is not. */
static void retries_are_paid(void **state)
{
	struct site *f = *state;
	const char *user = getpwuid(getuid())->pw_name;
	struct quota q;
	char body[200];

	snprintf(body, sizeof body,
		 "{\"quota\":[{\"user\":\"%s\",\"limit\":{\"normal\":5400,\"priority\":0,\"interactive\":0}}]}", user);
	assert_int_equal(ask(f, "POST", "/v1/quota", body), 200);
	assert_int_equal(ask(f, "POST", "/v1/jobs",
			     "{\"script\":\"true\",\"retries\":\"9\",\"resources\":[\"nodes=1:ppn=1\","
			     "\"walltime=3600\"]}"),
			 201);
	for (int n = 1; n <= 2; n++) {
		pass(f, 1);
		all_start(f);
		pass(f, 1200);
		attempt_end_number(
			f, n,
			&(struct result){
				.how = RESULT_EXITED, .status = 1, .ran_ms = 1200000, .ended_us = f->now * 1000000});
		assert_true(quotas_get(f->s, user, &q));
		if (n == 1) {
			shows(f, "\"retried\":1");
			assert_int_equal(q.left[QUOTA_NORMAL], 5400 - 3600 - 1200);
			site_reopen(f);
		}
	}
	shows(f, "\"state\":\"C\"");
	shows(f, "\"retried\":1");
	shows(f, "not run again: it needs 00:20:00 of normal quota, and 00:10:00 of 01:30:00 is left this month");
	/* both attempts, and a quarter of what the second one did not use */
	assert_int_equal(q.left[QUOTA_NORMAL], 5400 - 1200 - 1200 - (3600 - 1200) / 4);
}

/* Each attempt that is followed by another is in the history by how it ended. */
static void retries_are_in_the_history(void **state)
{
	static const struct {
		struct result r;
		const char *shows;
	} ends[] = {
		{{.how = RESULT_EXITED, .status = 7}, "\"state\":\"failed\",\"exit_status\":7,"},
		{{.how = RESULT_SIGNALED, .status = SIGKILL, .cause = CAUSE_MEMORY},
		 "\"state\":\"memory\",\"exit_status\":265,"},
		{{.how = RESULT_SIGNALED, .status = SIGSEGV}, "\"state\":\"failed\",\"exit_status\":267,"},
		{{.how = RESULT_EXITED}, "\"state\":\"completed\",\"exit_status\":0,"},
	};
	struct site *f = *state;

	assert_int_equal(
		ask(f, "POST", "/v1/jobs",
		    "{\"script\":\"true\",\"retries\":\"3\",\"resources\":[\"nodes=1:ppn=1\",\"walltime=60\"]}"),
		201);
	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
		struct result r = ends[i].r;
		pass(f, 1);
		all_start(f);
		pass(f, 10);
		r.ended_us = f->now * 1000000;
		r.ran_ms = 10000;
		attempt_end_number(f, (int)i + 1, &r);
		pass(f, 60);
	}
	assert_int_equal(ask(f, "GET", "/v1/history?attempts=1", NULL), 200);
	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
		if (!strstr(f->a.body.text, ends[i].shows))
			fail_msg("%s is not in %s", ends[i].shows, f->a.body.text);
}

/* Returns the unit-seconds that account `lab` has paid. */
static int64_t spent(struct site *f)
{
	assert_int_equal(ask(f, "GET", "/v1/credits?account=lab", NULL), 200);
	const char *at = strstr(f->a.body.text, "\"spent\":");
	assert_non_null(at);
	return atoll(at + strlen("\"spent\":"));
}

static void lab_make(struct site *f)
{
	assert_int_equal(ask(f, "PUT", "/v1/accounts/lab", "{}"), 201);
	assert_int_equal(ask(f, "PATCH", "/v1/accounts/lab",
			     "{\"changes\":[{\"op\":\"set\",\"name\":\"credit_unit\",\"value\":\"cpu_hours\"}]}"),
			 200);
	assert_int_equal(ask(f, "POST", "/v1/credits", "{\"op\":\"deposit\",\"account\":\"lab\",\"amount\":360000}"),
			 200);
}

/* An account pays for an attempt that failed and is run again. */
static void failures_are_paid(void **state)
{
	struct site *f = *state;

	lab_make(f);
	assert_int_equal(
		ask(f, "POST", "/v1/jobs",
		    "{\"script\":\"true\",\"retries\":\"1\",\"account\":\"lab\",\"resources\":[\"nodes=1:ppn=1\","
		    "\"walltime=3600\"]}"),
		201);
	pass(f, 1);
	all_start(f);
	pass(f, 100);
	attempt_end(
		f, &(struct result){.how = RESULT_EXITED, .status = 1, .ran_ms = 100000, .ended_us = f->now * 1000000});
	shows(f, "\"retried\":1");
	assert_int_equal(spent(f), 100);
	all_start(f);
	attempt_end_number(f, 2, &(struct result){.how = RESULT_EXITED, .ran_ms = 1000, .ended_us = f->now * 1000000});
	assert_int_equal(spent(f), 101);
}

/* One that made way for another job of its user is paid. */
static void own_victims_are_paid(void **state)
{
	struct site *f = *state;

	lab_make(f);
	victim_make(f, ",\"account\":\"lab\"");
	pass(f, 20);
	int64_t paid = spent(f);
	assert_true(paid > 0 && paid <= 21);
	/* it has ended by itself before: once is enough */
	site_reopen(f);
	attempt_end(f, &(struct result){.how = RESULT_EXITED, .ran_ms = 3000, .ended_us = f->now * 1000000});
	shows(f, "it ended by itself while it was being stopped");
	assert_int_equal(spent(f), paid);
}

/* An attempt that is lost before it has begun loses no work, whenever an earlier one began. */
static void lost_before_it_began(void **state)
{
	struct site *f = *state;
	const struct bare_attempt *all;
	char tag[64];

	assert_int_equal(ask(f, "POST", "/v1/jobs",
			     "{\"script\":\"true\",\"checkpoint\":\"enabled\",\"resources\":[\"nodes=1:ppn=1\","
			     "\"walltime=3600\"]}"),
			 201);
	pass(f, 1);
	all_start(f);
	pass(f, 60);
	assert_int_equal(ask(f, "POST", "/v1/jobs/rerun", "{\"ids\":[\"1\"]}"), 200);
	attempt_end(f, &(struct result){.how = RESULT_EXITED,
					.cause = CAUSE_ORDERED,
					.ran_ms = 60000,
					.saves = {.state = SAVE_GOOD, .good = 1, .number = 1, .covers_ms = 59000}});
	shows(f, "\"attempt\":2");
	shows(f, "\"lost\":1");
	pass(f, 20);
	assert_int_equal(bare_attempts(&all), 1);
	snprintf(tag, sizeof tag, "%s", all[0].tag);
	bare_forget(tag);
	dispatch_engine.attempt_lost(f->s, tag, NULL, NULL);
	pass(f, 1);
	shows(f, "\"lost\":1");
}

/* The pause after a failure continues under a hold, where the state is that of the hold, and ends
 * at the same instant with and without a restart. */
static void pause_under_hold(void **state)
{
	struct site *f = *state;
	const struct bare_attempt *all;

	assert_int_equal(site_set(f, "start_retry", "5"), 200);
	assert_int_equal(ask(f, "POST", "/v1/jobs", "{\"script\":\"true\",\"resources\":[\"nodes=1:ppn=1\"]}"), 201);
	pass(f, 1);
	assert_int_equal(bare_attempts(&all), 1);
	char *tag = strdup(all[0].tag);
	bare_forget(tag);
	dispatch_engine.attempt_refused(f->s, &(struct refusal){.tag = tag, .reason = "it can't"});
	free(tag);
	server_turn(f->s);
	shows(f, "\"comment\":\"could not be started: it can't; it will be retried at ");
	shows(f, "\"state\":\"W\"");
	assert_int_equal(ask(f, "POST", "/v1/jobs/hold", "{\"ids\":[\"1\"]}"), 200);
	shows(f, "\"comment\":\"held: qrls releases it\"");
	for (int second = 0; second < 5; second++, pass(f, 1)) {
		shows(f, "\"state\":\"H\"");
		shows(f, "\"blocks\":\"user,retry\"");
		site_reopen(f);
		shows(f, "\"blocks\":\"user,retry\"");
	}
	shows(f, "\"blocks\":\"user\"");
	site_reopen(f);
	shows(f, "\"blocks\":\"user\"");
}

/* The server that led when a job failed to start had a clock that was an hour ahead: the next
 * one waits for the pause only. */
static void pause_by_another_clock(void **state)
{
	struct site *f = *state;
	const struct bare_attempt *all;

	assert_int_equal(site_set(f, "start_retry", "5"), 200);
	assert_int_equal(site_set(f, "node_retry", "7"), 200);
	assert_int_equal(site_set(f, "node_start_failures", "1"), 200);
	f->now += 3600;
	bare_clock(f->now * 1000000);
	server_turn(f->s);
	assert_int_equal(ask(f, "POST", "/v1/jobs", "{\"script\":\"true\",\"resources\":[\"nodes=n1:ppn=1\"]}"), 201);
	pass(f, 1);
	assert_int_equal(bare_attempts(&all), 1);
	char *tag = strdup(all[0].tag);
	bare_forget(tag);
	dispatch_engine.attempt_refused(f->s, &(struct refusal){.tag = tag, .host = HOST_HERE, .reason = "it can't"});
	free(tag);
	pass(f, 2); /* it is committed */
	shows(f, "\"state\":\"W\"");
	assert_int_equal(ask(f, "GET", "/v1/nodes/n1", NULL), 200);
	assert_non_null(strstr(f->a.body.text, "jobs could not be started here"));
	f->now -= 3600;
	bare_clock(f->now * 1000000);
	site_reopen(f);
	shows(f, "\"blocks\":\"retry\"");
	pass(f, 5);
	shows(f, "\"blocks\":null");
	assert_int_equal(bare_attempts(&all), 0); /* its node is out of service */
	pass(f, 3);
	assert_int_equal(bare_attempts(&all), 1);
}

/* A job is killed in time though it was asked to end by a server whose clock was an hour ahead. */
static void kill_by_another_clock(void **state)
{
	struct site *f = *state;
	const struct bare_attempt *all;

	f->now += 3600;
	bare_clock(f->now * 1000000);
	assert_int_equal(ask(f, "POST", "/v1/jobs", "{\"script\":\"true\",\"resources\":[\"nodes=1:ppn=1\"]}"), 201);
	pass(f, 1);
	all_start(f);
	assert_int_equal(ask(f, "POST", "/v1/jobs/delete", "{\"ids\":[\"1\"],\"delay\":5}"), 200);
	pass(f, 1);
	f->now -= 3600;
	bare_clock(f->now * 1000000);
	site_reopen(f);
	pass(f, 6);
	assert_int_equal(bare_attempts(&all), 1);
	assert_int_equal(all[0].signal, SIGKILL);
}

/* A wall clock that jumps ahead makes nobody forget that a submission was made. */
static void key_over_a_jump(void **state)
{
	struct site *f = *state;
	struct submission_key k = {.first = 1, .count = 1, .time = f->now};

	subkey_add(f->s, getuid(), "once", &k);
	f->s->clock->now += 40 * 86400;
	subkeys_turn(f->s);
	assert_non_null(subkey_find(f->s, getuid(), "once"));
	f->s->clock->boot_us += INT64_C(86400) * 1000000;
	f->s->clock->now += 120;
	subkeys_turn(f->s);
	assert_null(subkey_find(f->s, getuid(), "once"));
}

/* Processes that were lost while no server ran had begun, even if no server knew. */
static void lost_had_begun(void **state)
{
	struct site *f = *state;
	const struct bare_attempt *all;

	assert_int_equal(ask(f, "POST", "/v1/jobs", "{\"script\":\"true\",\"resources\":[\"nodes=1:ppn=1\"]}"), 201);
	pass(f, 1);
	shows(f, "\"substate\":\"now\"");
	assert_int_equal(bare_attempts(&all), 1);
	bare_lose(all[0].tag);
	site_reopen(f);
	shows(f, "\"substate\":\"running\"");
}

/* A start that waits until others' processes are gone keeps nobody busy; then both are started, the
 * job that was stopped as well. */
static void waits_for_cpus(void **state)
{
	struct site *f = *state;

	victim_make(f, "");
	pass(f, 8); /* it was to end by now */
	assert_int_equal(ask(f, "GET", "/v1/jobs/2", NULL), 200);
	assert_non_null(strstr(f->a.body.text, "\"substate\":\"now\""));
	for (int i = 0; i < 10; i++)
		server_turn(f->s);
	assert_false(f->s->turn->dirty);

	const struct bare_attempt *all;
	assert_int_equal(bare_attempts(&all), 1);
	attempt_end(f, &(struct result){.how = RESULT_SIGNALED,
					.status = SIGKILL,
					.cause = CAUSE_ORDERED,
					.ended_us = f->now * 1000000});
	pass(f, 1);
	assert_int_equal(bare_attempts(&all), 2);
	all_start(f);
	shows(f, "\"substate\":\"running\"");
	shows(f, "\"attempt\":2");
	assert_int_equal(ask(f, "GET", "/v1/jobs/2", NULL), 200);
	assert_non_null(strstr(f->a.body.text, "\"substate\":\"running\""));
}

/* The planned end of job 1 has come, but it is still there when a job with a deadline comes,
 * about which the scheduler decides before the next turn: nobody is started in its place. */
static void there_after_its_end(void **state)
{
	struct site *f = *state;
	char body[200];

	assert_int_equal(site_set(f, "tolerance", "0"), 200);
	for (int i = 0; i < 2; i++)
		assert_int_equal(ask(f, "POST", "/v1/jobs",
				     "{\"script\":\"true\",\"resources\":[\"nodes=2:ppn=4\",\"walltime=60\"]}"),
				 201);
	server_turn(f->s);
	all_start(f);
	shows(f, "\"state\":\"R\"");
	f->now += 60;
	bare_clock(f->now * 1000000);
	snprintf(body, sizeof body,
		 "{\"script\":\"true\",\"type\":\"Q\",\"deadline\":%lld,\"resources\":[\"nodes=1:ppn=1\","
		 "\"walltime=60\"]}",
		 (long long)f->now + 86400);
	assert_int_equal(ask(f, "POST", "/v1/jobs", body), 201);
	assert_int_equal(ask(f, "GET", "/v1/jobs/2", NULL), 200);
	if (!strstr(f->a.body.text, "\"state\":\"Q\""))
		fail_msg("it does not wait: %s", f->a.body.text);
}

/* A job whose order was lost with the server comes first again, in the same second; also if all of
 * them have waited for long. */
static void never_sent_after(struct site *f, int64_t seconds)
{
	const struct bare_attempt *all;
	char tag[64];

	for (int i = 0; i < 9; i++)
		assert_int_equal(ask(f, "POST", "/v1/jobs",
				     "{\"script\":\"true\",\"resources\":[\"nodes=2:ppn=4\",\"walltime=60\"]}"),
				 201);
	server_turn(f->s);
	assert_int_equal(bare_attempts(&all), 1);
	snprintf(tag, sizeof tag, "%s", all[0].tag);
	bare_forget(tag);
	f->now += seconds;
	bare_clock(f->now * 1000000);
	site_reopen(f);
	for (int i = 0; i < 5; i++)
		server_turn(f->s);
	assert_int_equal(bare_attempts(&all), 1);
	assert_int_equal(strtol(all[0].tag, NULL, 10), 1);
}

static void never_sent(void **state)
{
	never_sent_after(*state, 0);
}

static void never_sent_overdue(void **state)
{
	never_sent_after(*state, 2000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(deleted, setup, site_teardown),
		cmocka_unit_test_setup_teardown(held, setup, site_teardown),
		cmocka_unit_test_setup_teardown(stopped_in_time, setup, site_teardown),
		cmocka_unit_test_setup_teardown(purged, setup, site_teardown),
		cmocka_unit_test_setup_teardown(deleted_while_saving, setup, site_teardown),
		cmocka_unit_test_setup_teardown(ended_while_stopped, setup, site_teardown),
		cmocka_unit_test_setup_teardown(stopped_and_saved, setup, site_teardown),
		cmocka_unit_test_setup_teardown(saved_is_stopped, setup, site_teardown),
		cmocka_unit_test_setup_teardown(rerun_before_it_runs, setup, site_teardown),
		cmocka_unit_test_setup_teardown(rerun_is_paid_once, setup, site_teardown),
		cmocka_unit_test_setup_teardown(retries_are_paid, setup, site_teardown),
		cmocka_unit_test_setup_teardown(retries_are_in_the_history, setup, site_teardown),
		cmocka_unit_test_setup_teardown(failures_are_paid, setup, site_teardown),
		cmocka_unit_test_setup_teardown(own_victims_are_paid, setup, site_teardown),
		cmocka_unit_test_setup_teardown(lost_before_it_began, setup, site_teardown),
		cmocka_unit_test_setup_teardown(pause_under_hold, setup, site_teardown),
		cmocka_unit_test_setup_teardown(pause_by_another_clock, setup, site_teardown),
		cmocka_unit_test_setup_teardown(kill_by_another_clock, setup, site_teardown),
		cmocka_unit_test_setup_teardown(key_over_a_jump, setup, site_teardown),
		cmocka_unit_test_setup_teardown(lost_had_begun, setup, site_teardown),
		cmocka_unit_test_setup_teardown(waits_for_cpus, setup, site_teardown),
		cmocka_unit_test_setup_teardown(there_after_its_end, setup, site_teardown),
		cmocka_unit_test_setup_teardown(never_sent, setup, site_teardown),
		cmocka_unit_test_setup_teardown(never_sent_overdue, setup, site_teardown),
	};

	return cmocka_run_group_tests_name("dispatch", tests, NULL, NULL);
}
