/*
 * test_store_loss.c - what was committed is there, whole and once, whatever happens: crashes, full
 * disks, locks, lost connections.
 *
 * Run with arguments it is a writer for the crash tests: test_store_loss URL COMMITS, which prints
 * a byte for each commit.
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
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/mem.h"
#include "support/stores.h"

/* Also when it can't be written down: the server must start. */
static void damaged_on_a_full_disk(void **state)
{
	struct world *w = *state;
	struct store *s = open_store(w->url);

	store_put_job(s, job_key(1, -1), "rotten", "b");
	commit(s);
	setenv("SHUNT_STORE_FAIL", "1:999999", 1);
	expect_content(s, "rotten", "damaged job 1: it has 'rotten' in it\n");
	unsetenv("SHUNT_STORE_FAIL");
	assert_true(store_pending(s) > 0);
	commit(s);
	expect_content(s, NULL, "");
	expect_sql(w, "SELECT count(*) FROM damaged", "1");
	store_close(s);
}

static void failed_commits_are_tried_again(void **state)
{
	struct world *w = *state;
	struct store *s = open_store(w->url);

	store_put_job(s, job_key(1, -1), "1", "b");
	setenv("SHUNT_STORE_FAIL", "1:999999", 1);
	expect_failure(s, -ENOSPC, "full");
	store_put_job(s, job_key(2, -1), "2", "b");
	expect_failure(s, -ENOSPC, "full");
	expect_sql(w, "SELECT count(*) FROM job", "0");
	unsetenv("SHUNT_STORE_FAIL");
	commit(s);
	expect_content(s, NULL, "job 1[-1] 1\njob 2[-1] 2\n");
	store_close(s);
}

static void locked_by_another(void **state)
{
	struct world *w = *state;
	struct store *s = open_store(w->url);
	struct raw r;

	raw_open(w, &r);
	raw_run(&r, w->is_postgres ? "BEGIN; LOCK TABLE job" : "BEGIN IMMEDIATE");
	store_put_job(s, job_key(1, -1), "1", "b");
	expect_failure(s, -EBUSY, "lock");
	store_put_job(s, job_key(2, -1), "2", "b");
	raw_run(&r, "ROLLBACK");
	raw_close(&r);
	commit(s);
	expect_content(s, NULL, "job 1[-1] 1\njob 2[-1] 2\n");
	expect_sql(w, COUNT_COMMITS, "1");
	store_close(s);
}

static void another_writer_is_noticed(void **state)
{
	struct world *w = *state;
	struct store *s = open_store(w->url);

	run_sql(w, "UPDATE meta SET value = value + 7 WHERE name = 'last_commit'");
	store_put_job(s, job_key(1, -1), "1", "b");
	expect_failure(s, -ESTALE, "another server");
	expect_failure(s, -ESTALE, "another server");
	expect_sql(w, "SELECT count(*) FROM job", "0");
	store_close(s);
}

/* A commit of ours failed; meanwhile another server did one, with the same count: it must not be
 * taken for ours. */
static void anothers_commit_is_not_ours(void **state)
{
	struct world *w = *state;
	struct store *s = open_store(w->url);
	struct raw r;

	raw_open(w, &r);
	raw_run(&r, w->is_postgres ? "BEGIN; LOCK TABLE job" : "BEGIN IMMEDIATE");
	store_put_job(s, job_key(1, -1), "1", "b");
	expect_failure(s, -EBUSY, "lock");
	raw_run(&r, "UPDATE meta SET value = (value / 16777216 + 1) * 16777216 WHERE name = 'last_commit'");
	raw_run(&r, "COMMIT");
	raw_close(&r);
	expect_failure(s, -ESTALE, "another server");
	expect_sql(w, "SELECT count(*) FROM job", "0");
	store_close(s);
}

/* Crashes: a writer in a process of its own is killed. */

#define BATCH 40 /* jobs of a commit */

static int writer_main(const char *url, int commits)
{
	struct err err = {.text = ""};
	struct store_leader leader;
	struct store *s;

	if (store_open(url, &s, &err) < 0 || store_lead(s, "test", "", 0, 60000, &leader, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	for (uint64_t i = 0; i < (uint64_t)commits; i++) {
		for (uint64_t k = i * BATCH + 1; k <= (i + 1) * BATCH; k++) {
			store_put_job(s, job_key(k, -1), "head", "body");
			put_event(s, k, job_key(k, -1));
		}
		if (store_commit(s, &err) < 0 || write(1, "+", 1) != 1)
			return 1;
	}
	store_close(s);
	return 0;
}

static pid_t writer_start(const struct world *w, const char *crash, int *ret_fd)
{
	int fd[2];

	assert_int_equal(pipe(fd), 0);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		dup2(fd[1], 1);
		close(fd[0]);
		close(fd[1]);
		if (crash)
			setenv("SHUNT_CRASH", crash, 1);
		execl("/proc/self/exe", "test_store_loss", w->url, "100000", NULL);
		_exit(127);
	}
	close(fd[1]);
	*ret_fd = fd[0];
	return pid;
}

static int acknowledged(int fd, int limit)
{
	char c;
	int n = 0;

	while (n < limit && read(fd, &c, 1) == 1)
		n++;
	return n;
}

static void expect_killed(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

/* Whole commits: at least `least`, at most `most`. */
static void expect_commits(const struct world *w, int least, int most)
{
	struct store *s = open_store(w->url); /* it recovers, or waits until the dead writer's last statement ends */
	struct raw r;

	raw_open(w, &r);
	int commits = atoi(raw_run(&r, COUNT_COMMITS));
	assert_in_range(commits, least, most);
	assert_int_equal(atoi(raw_run(&r, "SELECT count(*) FROM job")), commits * BATCH);
	assert_int_equal(atoi(raw_run(&r, "SELECT count(*) FROM body")), commits * BATCH);
	assert_int_equal(atoi(raw_run(&r, "SELECT count(*) FROM event")), commits * BATCH);
	raw_close(&r);
	store_put_object(s, "meta", "a", "b");
	commit(s);
	store_close(s);
}

static void crash_points(void **state)
{
	static const struct {
		const char *crash;
		int told, done;
	} cases[] = {{"3:before", 2, 2}, {"3:during", 2, 2}, {"3:after", 2, 3}, {"1:during", 0, 0}, {"1:after", 0, 1}};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		int fd;
		assert_int_equal(i == 0 ? 0 : (world_teardown(state), world_setup(state)), 0);
		pid_t pid = writer_start(*state, cases[i].crash, &fd);
		assert_int_equal(acknowledged(fd, 1000), cases[i].told);
		close(fd);
		expect_killed(pid);
		expect_commits(*state, cases[i].done, cases[i].done);
	}
}

static void killed_at_any_moment(void **state)
{
	for (int i = 0; i < 6; i++) {
		int fd;
		assert_int_equal(i == 0 ? 0 : (world_teardown(state), world_setup(state)), 0);
		pid_t pid = writer_start(*state, NULL, &fd);
		int told = acknowledged(fd, 1 + i * 7);
		usleep((useconds_t)i * 300);
		kill(pid, SIGKILL);
		expect_killed(pid);
		told += acknowledged(fd, 1000);
		close(fd);
		expect_commits(*state, told, told + 1);
	}
}

/* SQLite alone. */

static void disk_full(void **state)
{
	struct world *w = *state;
	struct store *s = open_store(w->url);
	struct rlimit old, small;
	char *text = mem_zalloc(1 << 20);

	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	small = old;
	small.rlim_cur = 300000;
	store_put_job(s, job_key(1, -1), "1", "b");
	commit(s);
	store_put_job(s, job_key(2, -1), "2", "b");
	store_put_script(s, 2, text, 1 << 20);
	free(text);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	expect_failure(s, -ENOSPC, w->url);
	expect_failure(s, -ENOSPC, "room");
	expect_content(s, NULL, "job 1[-1] 1\n");
	expect_body(s, job_key(2, -1), "b");
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	commit(s);
	expect_content(s, NULL, "job 1[-1] 1\njob 2[-1] 2\n");
	expect_sql(w, "PRAGMA integrity_check", "ok");
	store_close(s);
}

/* Somebody writes over the file of a running server. */
static void cut_short(void **state)
{
	struct world *w = *state;
	struct store *s = open_store(w->url);

	store_put_job(s, job_key(1, -1), "1", "b");
	commit(s);
	run_sql(w, "PRAGMA wal_checkpoint(PASSIVE)");
	store_put_job(s, job_key(2, -1), "2", "b");
	commit(s);
	run_sql(w, "PRAGMA wal_checkpoint(TRUNCATE)"); /* smaller by right */
	store_put_job(s, job_key(3, -1), "3", "b");
	commit(s);
	assert_int_equal(truncate(w->url, 4096), 0);
	store_put_job(s, job_key(4, -1), "4", "b");
	expect_failure(s, -EIO, "bytes while the server ran, and nothing is accepted any more");
	expect_failure(s, -EIO, "restore a copy");
	assert_int_equal(truncate(w->url, 0), 0);
	expect_failure(s, -EIO, "to 0 bytes");
	store_close(s);
}

/* Somebody deletes or replaces a file of a running server, which saves all to another store. */
static void lost_file(struct world *w, const char *end, bool replace)
{
	struct err err = {.text = ""};
	struct store *s = open_store(w->url);
	char path[300], *saved, *after;

	snprintf(path, sizeof path, "%s%s", w->url, end);
	store_put_job(s, job_key(1, -1), "1", "b");
	commit(s);
	assert_int_equal(unlink(path), 0);
	if (replace)
		assert_int_equal(file_replace(path, 0600, "", 0, 0), 0);
	store_put_job(s, job_key(2, -1), "2", "b");
	assert_int_equal(store_commit(s, &err), -EIDRM);
	assert_true(store_lost(s));
	expect_failure(s, -EIDRM, "was deleted or replaced while the server ran. All of it is saved in");
	store_close(s);

	saved = strstr(err.text, "saved in ") + strlen("saved in ");
	after = strchr(saved, ':');
	*after = '\0';
	s = open_store(saved);
	expect_content(s, NULL, "job 1[-1] 1\njob 2[-1] 2\n");
	store_close(s);
	unlink(saved);
	unlink(w->url);
}

static void lost_files(void **state)
{
	struct world *w = *state;

	lost_file(w, "", false);
	lost_file(w, "-wal", false);
	lost_file(w, "-wal", true);
}

/* PostgreSQL alone. */

static void lost_connection(void **state)
{
	struct world *w = *state;
	struct store *s = open_store(w->url);
	static const char end[] =
		"SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = 'shunt'";
	char *body = NULL;

	store_put_job(s, job_key(1, -1), "1", "b");
	expect_sql(w, end, "1");
	expect_failure(s, -ENOTCONN, "no connection");
	store_put_job(s, job_key(2, -1), "2", "b");
	commit(s);
	expect_content(s, NULL, "job 1[-1] 1\njob 2[-1] 2\n");
	expect_sql(w, COUNT_COMMITS, "1");
	expect_sql(w, end, "1");
	assert_int_equal(store_get_body(s, job_key(1, -1), &body, NULL), -ENOTCONN);
	expect_body(s, job_key(1, -1), "b");
	expect_sql(w, end, "1");
	assert_int_equal(store_get_body(s, job_key(1, -1), &body, NULL), -ENOTCONN);
	store_put_job(s, job_key(3, -1), "3", "b");
	commit(s); /* which connects, as a reader does */
	store_close(s);
}

/* The connection is lost while COMMIT is on its way: did it happen? */
static void commit_in_doubt(struct world *w, enum relay_cut cut, bool more)
{
	bool happened = cut == RELAY_CUT_AFTER;
	char url[256];
	pid_t relay;

	postgres_url(&server, 5433, url, sizeof url);
	store_close(open_store(w->url)); /* so that the first COMMIT is not the schema's */
	relay = relay_start(&server, 5433, cut);
	struct store *s = open_store(url);
	store_put_job(s, job_key(1, -1), "1", "b");
	expect_failure(s, -ENOTCONN, "no connection");
	if (more)
		store_put_job(s, job_key(2, -1), "2", "b");
	expect_body(s, job_key(1, -1), "b");
	commit(s);
	expect_sql(w, COUNT_COMMITS, happened && more ? "2" : "1");
	expect_content(s, NULL, more ? "job 1[-1] 1\njob 2[-1] 2\n" : "job 1[-1] 1\n");
	store_put_head(s, job_key(1, -1), "new");
	commit(s);
	store_close(s);
	kill(relay, SIGKILL);
	waitpid(relay, NULL, 0);
}

static void commits_in_doubt(void **state)
{
	for (int i = 0; i < 4; i++) {
		world_setup(state);
		commit_in_doubt(*state, i & 1 ? RELAY_CUT_AFTER : RELAY_CUT_BEFORE, i & 2);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		BOTH(damaged_on_a_full_disk),
		BOTH(failed_commits_are_tried_again),
		BOTH(locked_by_another),
		BOTH(another_writer_is_noticed),
		BOTH(anothers_commit_is_not_ours),
		BOTH(crash_points),
		BOTH(killed_at_any_moment),
		SQLITE(disk_full),
		SQLITE(cut_short),
		SQLITE(lost_files),
		POSTGRES(lost_connection),
		POSTGRES(commits_in_doubt),
	};

	if (argc == 3)
		return writer_main(argv[1], atoi(argv[2]));
	return cmocka_run_group_tests(tests, world_start, world_stop);
}
