/*
 * test_lead.c - one of several servers on a store leads, and an old leader that wakes up writes
 * nothing.
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/ticks.h"
#include "store/store_internal.h"
#include "support/stores.h"

#define LONG 60000 /* ms: it does not end during a test */
#define SHORT 1	   /* over by the next statement */

static struct store *open_only(const char *url)
{
	struct store *s = NULL;
	struct err err = {.text = ""};

	if (store_open(url, &s, &err) < 0)
		fail_msg("%s", err.text);
	return s;
}

/* The epoch. */
static uint64_t lead(struct store *s, const char *owner, uint64_t at_least, int64_t lease_ms)
{
	struct store_leader l;
	struct err err = {.text = ""};

	if (store_lead(s, owner, owner, at_least, lease_ms, &l, &err) < 0)
		fail_msg("%s", err.text);
	assert_string_equal(l.owner, owner);
	return l.epoch;
}

static void expect_other(struct store *s, const char *owner, const char *leader)
{
	struct store_leader l;
	struct err err = {.text = ""};

	assert_int_equal(store_lead(s, owner, owner, 0, LONG, &l, &err), -EBUSY);
	assert_string_equal(l.address, leader);
	assert_non_null(strstr(err.text, leader));
	assert_true(l.left > 0);
}

/* What a leader does that was asleep while another took over. */
static void expect_deposed(struct store *s)
{
	struct err err = {.text = ""};

	expect_failure(s, -ESTALE, "another server");
	expect_failure(s, -ESTALE, "another server");
	assert_int_equal(store_keep(s, LONG, &err), -ESTALE);
	assert_non_null(strstr(err.text, "another server"));
}

static void put_job(struct store *s, uint64_t number, const char *head)
{
	store_put_job(s, job_key(number, -1), head, "b");
}

static void only_a_leader_writes(void **state)
{
	struct world *w = *state;
	struct store *s = open_only(w->url);

	assert_false(store_leads(s));
	put_job(s, 1, "1");
	expect_failure(s, -EPERM, "does not lead");
	lead(s, "a", 0, LONG);
	assert_true(store_leads(s));
	commit(s);
	assert_int_equal(store_yield(s, NULL), 0);
	assert_false(store_leads(s));
	put_job(s, 2, "2");
	expect_failure(s, -EPERM, "does not lead");
	expect_sql(w, "SELECT count(*) FROM job", "1");
	store_close(s);
}

static void epochs_grow(void **state)
{
	struct world *w = *state;
	struct store_leader l;
	struct store *s = open_only(w->url);

	assert_int_equal(store_get_leader(s, &l, NULL), 0);
	assert_int_equal(l.epoch, 0);
	assert_int_equal(lead(s, "a", 0, LONG), 1);
	assert_int_equal(store_keep(s, LONG, NULL), 0);
	store_close(s); /* as if it had crashed: the same may lead at once */
	s = open_only(w->url);
	assert_int_equal(lead(s, "a", 1000, LONG), 1000);
	assert_int_equal(store_yield(s, NULL), 0);
	assert_int_equal(lead(s, "a", 1000, LONG), 1001);
	assert_int_equal(lead(s, "a", 7, LONG), 1002);
	assert_int_equal(store_get_leader(s, &l, NULL), 0);
	assert_int_equal(l.epoch, 1002);
	assert_string_equal(l.owner, "a");
	put_job(s, 1, "1");
	commit(s);
	store_close(s);
}

static int list_object(void *context, const char *name, const char *value)
{
	strbuf_printf(context, "%s=%s\n", name, value);
	return strcmp(name, "stop") == 0 ? 7 : 0;
}

static void standby_reads_and_registers(void **state)
{
	struct world *w = *state;
	struct store *a = open_only(w->url), *b = w->is_postgres ? open_only(w->url) : a;
	struct strbuf text = {0};

	lead(a, "a", 0, LONG);
	store_put_object(a, "cluster", "secret", "s");
	store_put_object(a, "queue", "batch", "q");
	commit(a);
	assert_int_equal(store_register(b, "cluster", "server:b", "1", NULL), 0);
	assert_int_equal(store_register(b, "cluster", "server:b", "2", NULL), 0);
	assert_int_equal(store_get_objects(b, "cluster", list_object, &text, NULL), 0);
	assert_string_equal(text.text, "secret=s\nserver:b=2\n");
	store_put_object(a, "cluster", "stop", "");
	commit(a); /* what the other wrote does not disturb it */
	assert_int_equal(store_get_objects(b, "cluster", list_object, &text, NULL), 7);
	strbuf_fini(&text);
	store_close(a);
	if (b != a)
		store_close(b);
}

/* PostgreSQL alone. */

static void second_server_waits(void **state)
{
	struct world *w = *state;
	struct store *a = open_only(w->url), *b = open_only(w->url);

	lead(a, "a", 0, LONG);
	expect_other(b, "b", "a");
	put_job(a, 1, "1");
	commit(a);
	expect_other(b, "b", "a");
	expect_content(b, NULL, "job 1[-1] 1\n");
	assert_int_equal(store_yield(a, NULL), 0);
	assert_int_equal(lead(b, "b", 0, LONG), 2);
	expect_other(a, "a", "b");
	put_job(b, 2, "2");
	commit(b);
	expect_content(b, NULL, "job 1[-1] 1\njob 2[-1] 2\n");
	store_close(a);
	store_close(b);
}

static void paused_leader_is_fenced(void **state)
{
	struct world *w = *state;
	struct store *a = open_only(w->url), *b = open_only(w->url);

	lead(a, "a", 0, LONG);
	put_job(a, 1, "1");
	commit(a);
	assert_int_equal(store_keep(a, SHORT, NULL) == 0 || !store_leads(a), 1);
	while (store_leads(a)) /* until the lease ends */
		usleep(1000);
	assert_int_equal(lead(b, "b", 0, LONG), 2);
	put_job(a, 2, "old");
	expect_failure(a, -ENOTCONN, "no connection"); /* its connection was cut off; then it asks who leads */
	expect_deposed(a);
	put_job(b, 2, "new");
	commit(b);
	expect_deposed(a);
	expect_content(b, NULL, "job 1[-1] 1\njob 2[-1] new\n");
	expect_sql(w, COUNT_COMMITS, "2");
	store_close(a);
	put_job(b, 3, "3"); /* the deposed server has not cut it off */
	commit(b);
	store_close(b);
}

/* Nobody took over meanwhile: it leads on. */
static void late_renewal(void **state)
{
	struct world *w = *state;
	struct store *a = open_only(w->url), *b = open_only(w->url);

	lead(a, "a", 0, LONG);
	assert_int_equal(store_keep(a, SHORT, NULL) == 0 || !store_leads(a), 1);
	while (store_leads(a)) /* until the lease ends */
		usleep(1000);
	assert_int_equal(store_keep(a, LONG, NULL), 0);
	assert_true(store_leads(a));
	expect_other(b, "b", "a");
	put_job(a, 1, "1");
	commit(a);
	store_close(a);
	store_close(b);
}

/* A commit that takes longer than the lease succeeds only if it renews the lease afterwards. */
static void lease_ends_during_a_commit(void **state)
{
	struct world *w = *state;
	struct store *a = open_only(w->url);
	struct err err = {.text = ""};

	lead(a, "a", 0, LONG);
	run_sql(w, "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS"
		   " 'BEGIN PERFORM pg_sleep(0.3); RETURN NEW; END'");
	run_sql(w, "CREATE TRIGGER slow BEFORE INSERT ON job FOR EACH ROW EXECUTE FUNCTION slow()");
	assert_int_equal(store_keep(a, 200, NULL) == 0 || !store_leads(a), 1);
	put_job(a, 1, "1");
	int64_t began = clock_us(CLOCK_BOOTTIME);
	int rc = store_commit(a, &err);
	if (rc == 0) {
		assert_true(store_kept(a) > began + 200 * 1000);
	} else { /* the renewal also took longer than the lease */
		assert_int_equal(rc, -EBUSY);
		assert_false(store_leads(a));
	}
	assert_int_equal(store_pending(a), 0);
	expect_sql(w, "SELECT count(*) FROM job", "1");
	run_sql(w, "UPDATE lead SET epoch = epoch + 1, owner = 'b'");
	usleep(250000);
	assert_int_equal(store_commit(a, &err), -ESTALE); /* also with nothing to write */
	store_close(a);
}

/* The old leader's transaction is open, with its statements done, when the other takes over. */
static void commit_under_way(void **state)
{
	struct world *w = *state;
	struct store *b = open_only(w->url);
	struct err err = {.text = ""};
	int fd[2], go[2];
	char c;

	assert_int_equal(pipe(fd) + pipe(go), 0);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		struct store *a = open_only(w->url);
		lead(a, "a", 0, LONG);
		run_sql(w, "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS"
			   " 'BEGIN PERFORM pg_sleep(30); RETURN NEW; END'");
		run_sql(w, "CREATE TRIGGER slow BEFORE INSERT ON body FOR EACH ROW EXECUTE FUNCTION slow()");
		put_job(a, 1, "old");
		if (write(fd[1], "+", 1) != 1)
			_exit(9);
		int rc = store_commit(a, &err);
		if (read(go[0], &c, 1) != 1)
			_exit(9);
		int again = store_commit(a, &err);
		_exit(rc == -ENOTCONN && again == -ESTALE && store_pending(a) ? 0 : 1);
	}
	assert_int_equal(read(fd[0], &c, 1), 1);
	close(fd[0]);
	close(fd[1]);
	for (int i = 0; i < 500; i++) { /* until it is in its transaction */
		struct raw r;
		raw_open(w, &r);
		int n = atoi(raw_run(&r, "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'"));
		raw_close(&r);
		if (n)
			break;
		usleep(20000);
	}
	/* As if its lease was over; its transaction has the row locked, so only we can say so. */
	struct store_leader l;
	assert_int_equal(store_lead(b, "a", "b", 0, LONG, &l, &err), 0);
	assert_int_equal(write(go[1], "+", 1), 1);
	close(go[0]);
	close(go[1]);
	int status;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	run_sql(w, "DROP TRIGGER slow ON body");
	put_job(b, 2, "new");
	commit(b);
	expect_content(b, NULL, "job 2[-1] new\n");
	store_close(b);
}

/* COMMIT was sent and its answer lost; another took over before we could ask. */
static void commit_in_doubt(void **state)
{
	for (int after = 0; after < 2; after++) {
		struct world *w = *state;
		char url[256];
		world_setup(state);
		struct store *b = open_only(w->url);
		postgres_url(&server, 5433, url, sizeof url);
		pid_t relay = relay_start(&server, 5433, after ? RELAY_CUT_AFTER : RELAY_CUT_BEFORE);
		struct store *a = open_only(url);
		lead(a, "a", 0, LONG);
		put_job(a, 1, "1");
		expect_failure(a, -ENOTCONN, "no connection");
		run_sql(w, "UPDATE lead SET until = 0");
		assert_int_equal(lead(b, "b", 0, LONG), 2);
		expect_content(b, NULL, after ? "job 1[-1] 1\n" : "");
		put_job(b, 2, "2");
		commit(b);
		expect_deposed(a);
		expect_content(b, NULL, after ? "job 1[-1] 1\njob 2[-1] 2\n" : "job 2[-1] 2\n");
		store_close(a);
		store_close(b);
		kill(relay, SIGKILL);
		waitpid(relay, NULL, 0);
	}
}

static void cut_connections(void)
{
	run_sql(&postgres_world,
		"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'shunt'");
}

static void connection_cut(void **state)
{
	struct world *w = *state;
	struct store *a = open_only(w->url), *b = open_only(w->url);
	struct store_leader l;
	struct err err = {.text = ""};

	lead(a, "a", 0, LONG);
	cut_connections();
	assert_int_equal(store_lead(b, "b", "b", 0, LONG, &l, &err), -ENOTCONN);
	expect_other(b, "b", "a"); /* the lease counts, not the connection */
	assert_int_equal(store_keep(a, LONG, &err), -ENOTCONN);
	assert_true(store_leads(a)); /* by what it knew before */
	assert_int_equal(store_keep(a, LONG, &err), 0);
	put_job(a, 1, "1");
	commit(a);
	cut_connections();
	run_sql(w, "UPDATE lead SET until = 0");
	assert_int_equal(store_lead(b, "b", "b", 0, LONG, &l, &err), -ENOTCONN);
	assert_int_equal(lead(b, "b", 0, LONG), 2);
	put_job(a, 2, "old");
	expect_failure(a, -ENOTCONN, "no connection");
	expect_deposed(a);
	put_job(b, 3, "new");
	commit(b);
	expect_content(b, NULL, "job 1[-1] 1\njob 3[-1] new\n");
	store_close(a);
	store_close(b);
}

/* Its old connection still lives over there, as far as the database knows. */
static void old_connection_lingers(void **state)
{
	struct world *w = *state;
	struct store *old = open_only(w->url), *again = open_only(w->url);

	lead(old, "a", 0, LONG);
	assert_int_equal(lead(again, "a", 0, LONG), 2);
	put_job(again, 1, "1");
	commit(again);
	put_job(old, 1, "old");
	expect_failure(old, -ENOTCONN, "no connection");
	expect_deposed(old);
	expect_content(again, NULL, "job 1[-1] 1\n");
	store_close(old);
	store_close(again);
}

/* Many at once: one leads, and all make the schema together. */
static void everybody_at_once(void **state)
{
	struct world *w = *state;
	enum { SERVERS = 6 };
	pid_t pid[SERVERS];
	int led = 0;

	for (int i = 0; i < SERVERS; i++) {
		pid[i] = fork();
		assert_true(pid[i] >= 0);
		if (pid[i])
			continue;
		struct store *s = NULL;
		struct store_leader l;
		char name[16];
		snprintf(name, sizeof name, "s%d", i);
		int rc = store_open(w->url, &s, NULL);
		if (rc == 0)
			rc = store_lead(s, name, name, 0, LONG, &l, NULL);
		if (rc == 0) {
			put_job(s, (uint64_t)i + 1, "1");
			rc = store_commit(s, NULL);
		}
		_exit(-rc);
	}
	for (int i = 0; i < SERVERS; i++) {
		int status;
		assert_int_equal(waitpid(pid[i], &status, 0), pid[i]);
		assert_true(WIFEXITED(status));
		assert_true(WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == EBUSY);
		led += WEXITSTATUS(status) == 0;
	}
	assert_int_equal(led, 1);
	expect_sql(w, "SELECT count(*) FROM job", "1");
	expect_sql(w, "SELECT epoch FROM lead", "1");
}

static void older_schema_in_use(void **state)
{
	struct world *w = *state;
	struct store *a = open_only(w->url);

	lead(a, "a", 0, LONG);
	run_sql(w, "UPDATE meta SET value = 2 WHERE name = 'schema_version'");
	expect_refusal(w->url, -EBUSY, "another server uses this database");
	store_close(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		BOTH(only_a_leader_writes),
		BOTH(epochs_grow),
		BOTH(standby_reads_and_registers),
		POSTGRES(second_server_waits),
		POSTGRES(paused_leader_is_fenced),
		POSTGRES(late_renewal),
		POSTGRES(lease_ends_during_a_commit),
		POSTGRES(commit_under_way),
		POSTGRES(commit_in_doubt),
		POSTGRES(connection_cut),
		POSTGRES(old_connection_lingers),
		POSTGRES(everybody_at_once),
		POSTGRES(older_schema_in_use),
	};

	return cmocka_run_group_tests(tests, world_start, world_stop);
}
