/*
 * test_store_copy.c - a store is copied to another, of the same kind and of the other: everything
 * is there, and nothing that is not whole is used.
 *
 * Run with arguments it copies: test_store_copy FROM TO.
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
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "store/audit.h"
#include "store/copy.h"
#include "store/outbox.h"
#include "store/quota.h"
#include "support/stores.h"

#define EVENTS 12000 /* several commits */

/* Where a copy goes: a file beside, and a schema of its own. */
static struct world other_sqlite, other_postgres = {.is_postgres = true};

static void others_setup(const struct world *w)
{
	char path[] = "/tmp/shunt-copy-XXXXXX";

	assert_non_null(mkdtemp(path));
	snprintf(other_sqlite.dir, sizeof other_sqlite.dir, "%s", path);
	snprintf(other_sqlite.url, sizeof other_sqlite.url, "%s/copy.db", path);
	postgres_url(&server, 5432, other_postgres.url, sizeof other_postgres.url);
	run_sql(&other_postgres, "DROP SCHEMA IF EXISTS second CASCADE; CREATE SCHEMA second");
	strcat(other_postgres.url, "&options=-csearch_path%3Dsecond");
}

static void others_end(void)
{
	static const char *const ends[] = {"", "-wal", "-shm"};
	char path[300];

	for (int i = 0; i < 3; i++) {
		snprintf(path, sizeof path, "%s%s", other_sqlite.url, ends[i]);
		unlink(path);
	}
	rmdir(other_sqlite.dir);
}

static void fill(const struct world *w)
{
	struct store *s = open_store(w->url);

	store_put_object(s, "server", "Z", "{}");
	store_put_object(s, "server", "a", "{\"text\":\"\xc3\xa9 \\\" ' \\u0000\"}");
	store_put_object(s, "node", "a-b", "");
	store_put_object(s, "node", "ab", "{}");
	for (uint64_t i = 1; i <= 300; i++)
		store_put_job(s, job_key(i, (int64_t)i % 3 - 1), "{\"head\":1}", "{\"body\":2}");
	store_put_body(s, job_key(1000, -1), "a body without a job");
	for (uint64_t i = 1; i <= EVENTS; i++)
		store_put_event(s, &(struct store_event){.seq = i * 3,
							 .job = job_key(i % 300 + 1, -1),
							 .by = i % 2,
							 .time = 1000 - (int64_t)i,
							 .at = INT64_MAX - (int64_t)i,
							 .type = (int)i % 40,
							 .nodes = i % 3 ? "n1+n2" : NULL,
							 .data = i % 5	 ? "{}"
								 : i % 2 ? ""
									 : NULL});
	store_put_script(s, 1, "a\0b\xff\n", 5);
	store_put_script(s, 2, "", 0);
	store_put_life(s, &(struct store_life){7, "node", "n1", 10, 11, "drain", NULL, "why"});
	store_put_audit(s,
			&(struct store_audit){8, 10, "ann", "queue", "q", "deleted", NULL, "qmgr -c 'create queue q'"});
	store_put_life(s, &(struct store_life){8, "queue", "q", 10, 0, "created", "ana", NULL});
	store_put_quota(s, &(struct store_quota){"ana", {1, 2, 3}, 200504, 200503, {0, 1, 2}});
	store_put_quota(s, &(struct store_quota){"Bo", {1, 2, 3}, 0, 0, {0}});
	store_put_move(s, &(struct store_move){9, "ana", 10, 200503, "normal", "taken", job_key(1, -1), -5});
	store_put_outbox(s, OUTBOX_ACCOUNTING, &(struct outbox_row){7, 20261115, "a line\n", 7});
	store_put_outbox(s, OUTBOX_JOURNAL, &(struct outbox_row){9, 1, "an event\n", 9});
	commit(s);
	run_sql(w, "INSERT INTO damaged (time, what, reason, record) VALUES (5, 'job 9', 'it is rotten', 'r')");
	run_sql(w,
		"INSERT INTO history VALUES (1048576, 1, 2, NULL, 'ana', 'users', NULL, '', 'batch', 'n', 'nodes=1', NULL, 'C', '',"
		" -1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 'high', '{\"label\":\"x\"}'), (1048576, 2, 3, '1.h', 'Bo', 'users', 'a', NULL, 'batch', 'n',"
		" '', 'h', 'F', NULL, 271, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, NULL, NULL)");
	run_sql(w,
		"INSERT INTO ledger VALUES (1, 'ana', 'g', '', 'q', 1, 2, 3, 4, 5), (1, 'Bo', 'g', '', 'q', 6, 7, 8, 9, 10),"
		" (1, 'a-b', 'g', 'x', 'q', 1, 1, 1, 1, 1), (1, 'ab', 'g', 'x', 'q', 1, 1, 1, 1, 1)");
	run_sql(w, "INSERT INTO pile VALUES (4, 'rows')");
	store_close(s);
	run_sql(w, "UPDATE lead SET until = 0, epoch = 7000000000000");
}

static int copy_to(const struct world *from, const struct world *to, struct store_copied *ret, struct err *err)
{
	*err = (struct err){.text = ""};
	return store_copy(from->url, to->url, false, NULL, NULL, ret, err);
}

static void expect_copy(const struct world *from, const struct world *to)
{
	struct store_copied c;
	struct err err;

	if (copy_to(from, to, &c, &err) < 0)
		fail_msg("%s", err.text);
	for (int i = 0; i < COPY_TABLES; i++) {
		assert_true(c.table[i].rows > 0); /* else it is not tried here: fill() is to put something in */
		if (strcmp(c.table[i].name, "job") == 0)
			assert_int_equal(c.table[i].rows, 300);
		if (strcmp(c.table[i].name, "event") == 0)
			assert_int_equal(c.table[i].rows, EVENTS);
	}
	assert_true(c.epoch >= 7000000000000);
}

static void expect_no_copy(const struct world *from, const struct world *to, int code, const char *part)
{
	struct store_copied c;
	struct err err;

	assert_int_equal(copy_to(from, to, &c, &err), code);
	if (!strstr(err.text, part))
		fail_msg("\"%s\" is not in: %s", part, err.text);
}

static void expect_all(const struct world *w, const char *id)
{
	struct store *s = open_store(w->url);

	assert_string_equal(store_id(s), id);
	assert_false(store_is_new(s));
	expect_body(s, job_key(1000, -1), "a body without a job");
	expect_script(s, 1, "a\0b\xff\n", 5);
	expect_script(s, 2, "", 0);
	store_put_job(s, job_key(9999, -1), "rotten", "b"); /* it continues */
	commit(s);
	store_drop_job(s, job_key(9999, -1));
	commit(s);
	store_close(s);
	expect_sql(w, "SELECT count(*) FROM event WHERE nodes IS NULL", "4000");
	expect_sql(w, "SELECT count(*) FROM event WHERE data = ''", "1200");
	expect_sql(w, "SELECT what || reason || record || time FROM damaged", "job 9it is rottenr5");
	expect_sql(w, "SELECT count(*) FROM history WHERE account IS NULL AND id IS NULL AND exit_status = -1", "1");
	expect_sql(w, "SELECT sum(ran_ms * 100 + cpu_ms) FROM ledger", "1117");
	expect_sql(w, "SELECT count(*) FROM pile WHERE seq = 4", "1");
	expect_sql(w, "SELECT count(*) FROM audit WHERE seq = 8 AND time = 10 AND who = 'ann' AND change IS NULL", "1");
	expect_sql(w, "SELECT count(*) FROM life WHERE at = 11 AND who IS NULL AND reason = 'why'", "1");
	run_sql(w, "UPDATE lead SET until = 0");
}

static void everything_is_copied(void **state)
{
	const struct world *w = *state;
	struct world third = {.is_postgres = false};
	struct stat st;
	char id[33];

	others_setup(w);
	fill(w);
	struct store *s = open_store(w->url);
	snprintf(id, sizeof id, "%s", store_id(s));
	store_yield(s, NULL);
	store_close(s);
	expect_copy(w, &other_sqlite);
	assert_int_equal(stat(other_sqlite.url, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	expect_all(&other_sqlite, id);
	expect_copy(&other_sqlite, &other_postgres);
	expect_all(&other_postgres, id);
	snprintf(third.url, sizeof third.url, "%s/third.db", other_sqlite.dir);
	expect_copy(&other_postgres, &third); /* and back */
	expect_all(&third, id);
	unlink(third.url);
	expect_no_copy(w, &other_sqlite, -EEXIST, "is the same store, or a copy of it");
	others_end();
}

/* A table that is not copied would be lost. */
static void no_table_is_forgotten(void **state)
{
	const struct world *w = *state;
	struct strbuf sql = {0};
	struct store_copied c;
	struct err err;

	others_setup(w);
	fill(w);
	assert_int_equal(copy_to(w, &other_sqlite, &c, &err), 0);
	strbuf_puts(&sql, "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'"
			  " AND name NOT IN ('meta', 'lead', 'identity'");
	for (int i = 0; i < COPY_TABLES; i++)
		strbuf_printf(&sql, ", '%s'", c.table[i].name);
	strbuf_puts(&sql, ")");
	expect_sql(w, strbuf_text(&sql), "0");
	strbuf_fini(&sql);
	others_end();
}

static void what_can_not_be_copied(void **state)
{
	const struct world *w = *state;
	struct world none = {0};

	others_setup(w);
	snprintf(none.url, sizeof none.url, "%s/no/such.db", other_sqlite.dir);
	expect_no_copy(&none, w, -EIO, "unable to open database file");
	assert_int_not_equal(access(none.url, F_OK), 0);
	snprintf(none.url, sizeof none.url, "%s/empty", other_sqlite.dir);
	fclose(fopen(none.url, "w"));
	expect_no_copy(&none, &other_postgres, -EINVAL, "is not a store of Shunt");
	assert_int_equal(unlink(none.url), 0);
	expect_no_copy(&other_postgres, &other_sqlite, -EINVAL, "is not a store of Shunt");
	store_close(open_store(w->url));
	run_sql(w, "UPDATE lead SET until = 0");
	expect_no_copy(w, &other_sqlite, -EINVAL, "was never used");
	fill(w);
	expect_no_copy(w, w, w->is_postgres ? -EEXIST : -EINVAL, "the same");
	snprintf(none.url, sizeof none.url, "%s/no/such.db", other_sqlite.dir);
	expect_no_copy(w, &none, -EIO, "unable to open database file");
	snprintf(none.url, sizeof none.url, "postgres://shunt@127.0.0.1:1/x");
	expect_no_copy(w, &none, -ENOTCONN, "no connection");
	fill(&other_postgres);
	expect_no_copy(w, &other_postgres, -EEXIST, "is in use");
	assert_int_not_equal(access(other_sqlite.url, F_OK), 0);
	others_end();
}

static void not_while_a_server_leads(void **state)
{
	const struct world *w = *state;
	struct store *s;

	others_setup(w);
	fill(w);
	s = open_store(w->url);
	expect_no_copy(w, &other_sqlite, -EBUSY, w->is_postgres ? "the server test leads. Stop it first" : "locked");
	store_yield(s, NULL);
	store_close(s);
	s = open_store(other_postgres.url);
	expect_no_copy(w, &other_postgres, -EBUSY, "the server test leads. Stop it first");
	store_close(s);
	others_end();
}

struct meddler {
	const struct world *w;
	struct store *s; /* the store of the server that runs; NULL: one is started */
	bool done;
};

/* A server that is started during the copy. */
static void meddle(void *context, const char *step, const char *rows, uint64_t done, uint64_t total)
{
	struct meddler *m = context;

	if (strcmp(step, "comparing") != 0 || m->done)
		return;
	m->done = true;
	struct store *s = open_store(m->w->url);
	store_put_job(s, job_key(5000, -1), "new", "b");
	commit(s);
	store_yield(s, NULL);
	store_close(s);
}

/* A server that writes while its store is backed up. */
static void writes(void *context, const char *step, const char *rows, uint64_t done, uint64_t total)
{
	struct meddler *m = context;

	if (strcmp(step, "copying") != 0 || m->done)
		return;
	m->done = true;
	store_put_job(m->s, job_key(5000, -1), "new", "b");
	commit(m->s);
}

static void backed_up_while_a_server_writes(void **state)
{
	const struct world *w = *state;
	struct store_copied before, after;
	struct meddler m = {.w = w};
	struct err err = {.text = ""};

	others_setup(w);
	fill(w);
	m.s = open_store(w->url);
	if (store_copy(w->url, other_sqlite.url, true, writes, &m, &before, &err) < 0)
		fail_msg("%s", err.text);
	assert_true(m.done);
	store_yield(m.s, NULL);
	store_close(m.s);
	/* it has what was there when it began; the copy of the server's own store has one more */
	assert_int_equal(copy_to(w, &other_postgres, &after, &err), 0);
	assert_int_equal(after.table[1].rows, before.table[1].rows + 1);
	others_end();
}

static void used_meanwhile(void **state)
{
	const struct world *w = *state;
	struct meddler m = {.w = w};
	struct store_copied c;
	struct err err = {.text = ""};

	others_setup(w);
	fill(w);
	assert_int_equal(store_copy(w->url, other_sqlite.url, false, meddle, &m, &c, &err), -ESTALE);
	assert_non_null(strstr(err.text, "a server has used it during the copy"));
	expect_refusal(other_sqlite.url, -EINPROGRESS, "is incomplete");
	others_end();
}

static void killed(const struct world *from, const struct world *to, const char *when)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) { /* a program of its own, since commits are counted */
		setenv("SHUNT_CRASH", when, 1);
		execl("/proc/self/exe", "test_store_copy", from->url, to->url, NULL);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
}

/* Nothing uses half a copy; the next one starts over. */
static void interrupted(void **state)
{
	static const char *const when[] = {"1:after", "4:during", "7:after"};
	const struct world *w = *state, *to[] = {&other_sqlite, &other_postgres};

	others_setup(w);
	fill(w);
	for (int k = 0; k < 2; k++) {
		for (int i = 0; i < 3; i++) {
			killed(w, to[k], when[i]);
			expect_refusal(to[k]->url, -EINPROGRESS, "'shunt store copy' again");
			expect_no_copy(to[k], w, -EINPROGRESS, "is incomplete");
		}
		expect_copy(w, to[k]);
		store_close(open_store(to[k]->url));
	}
	others_end();
}

/* What fails while the target is written or emptied ends the copy, and the next one starts over. */
static void failing_target(void **state)
{
	static const char *const when[] = {"DELETE ON object", "INSERT ON event", "INSERT ON audit",
					   "UPDATE ON identity"};
	const struct world *w = *state;
	char sql[200];

	others_setup(w);
	fill(w);
	killed(w, &other_sqlite, "4:during");
	for (size_t i = 0; i < sizeof when / sizeof *when; i++) {
		snprintf(sql, sizeof sql, "CREATE TRIGGER refuses BEFORE %s BEGIN SELECT RAISE(ABORT, 'not here'); END",
			 when[i]);
		run_sql(&other_sqlite, sql);
		run_sql(&other_sqlite, "UPDATE lead SET until = 0");
		expect_no_copy(w, &other_sqlite, -EIO, "not here");
		expect_refusal(other_sqlite.url, -EINPROGRESS, "is incomplete");
		run_sql(&other_sqlite, "DROP TRIGGER refuses");
	}
	run_sql(&other_sqlite, "UPDATE lead SET until = 0");
	expect_copy(w, &other_sqlite);
	others_end();
}

static void passwords_in_urls(void **state)
{
	assert_true(store_url_has_password("postgres://shunt:secret@h/db"));
	assert_true(store_url_has_password("postgresql://h/db?password=secret"));
	assert_false(store_url_has_password("postgres://shunt@h/db"));
	assert_false(store_url_has_password("postgres:///db?host=/run"));
	assert_false(store_url_has_password("sqlite:/var/x:y@z"));
	assert_false(store_url_has_password("postgres://["));
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		BOTH(everything_is_copied),
		SQLITE(no_table_is_forgotten),
		BOTH(what_can_not_be_copied),
		BOTH(interrupted),
		BOTH(not_while_a_server_leads),
		POSTGRES(used_meanwhile),
		BOTH(backed_up_while_a_server_writes),
		SQLITE(failing_target),
		SQLITE(passwords_in_urls),
	};

	if (argc == 3)
		return store_copy(argv[1], argv[2], false, NULL, NULL, &(struct store_copied){0}, NULL) < 0;
	return cmocka_run_group_tests(tests, world_start, world_stop);
}
