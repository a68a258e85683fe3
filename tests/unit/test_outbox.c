/*
 * test_outbox.c - accounting lines reach the file of their day once, and those of the event log its
 * only one, whatever happens in between: kills at every point, full disks, and administrators who
 * rename, cut and remove files.
 */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <limits.h>
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
#include "base/strbuf.h"
#include "server/book/outbox.h"
#include "support/stores.h"

#define NOW INT64_C(1794724973) /* 2026-11-15 06:42:53 UTC */
#define DAY 86400

static const struct outbox_host nobody;
static char dir[] = "/tmp/test_outbox.XXXXXX", path[256], text[1 << 16];

static struct strbuf synced; /* names of the files that were synced, in order, each with a space */

int __real_fdatasync(int fd);
int __wrap_fdatasync(int fd)
{
	char link[64], name[PATH_MAX];
	ssize_t n;

	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	n = readlink(link, name, sizeof name - 1);
	name[n > 0 ? n : 0] = '\0';
	if (strrchr(name, '/'))
		strbuf_printf(&synced, "%s ", strrchr(name, '/') + 1);
	return __real_fdatasync(fd);
}

static int setup(void **state)
{
	strbuf_clear(&synced);
	setenv("TZ", "UTC", 1);
	tzset();
	strcpy(dir + strlen(dir) - 6, "XXXXXX");
	return mkdtemp(dir) ? world_setup(state) : -1;
}

static int teardown(void **state)
{
	char pattern[300];
	glob_t g;

	snprintf(pattern, sizeof pattern, "%s/*", dir);
	if (glob(pattern, 0, NULL, &g) == 0) {
		for (size_t i = 0; i < g.gl_pathc; i++)
			unlink(g.gl_pathv[i]);
		globfree(&g);
	}
	rmdir(dir);
	strbuf_fini(&synced);
	return world_teardown(state);
}

static const char *at(const char *name)
{
	snprintf(path, sizeof path, "%s/%s", dir, name);
	return path;
}

/* "-": there is none. */
static const char *content(const char *name)
{
	FILE *f = fopen(at(name), "r");
	size_t n = f ? fread(text, 1, sizeof text - 1, f) : 1;

	if (!f)
		return "-";
	text[n] = '\0';
	fclose(f);
	return text;
}

static void append(const char *name, const char *what)
{
	FILE *f = fopen(at(name), "a");

	assert_non_null(f);
	fputs(what, f);
	fclose(f);
}

static struct outbox *begin_at(struct store *s, const struct outbox_place *place)
{
	struct outbox *o;
	struct err err = {.text = ""};

	if (outbox_open(s, place, &nobody, &o, &err) < 0)
		fail_msg("%s", err.text);
	return o;
}

static struct outbox *begin(struct store *s)
{
	return begin_at(s, &(struct outbox_place){OUTBOX_ACCOUNTING, dir, NULL});
}

static int turn(struct store *s, struct outbox *o, const char *lines, int64_t now, struct err *err)
{
	if (lines)
		outbox_add(o, now, lines, strlen(lines));
	outbox_commit(o);
	commit(s);
	*err = (struct err){.text = ""};
	return outbox_turn(o, err);
}

static void expect_turn(struct store *s, struct outbox *o, const char *lines, int64_t now)
{
	struct err err;

	assert_int_equal(turn(s, o, lines, now, &err), 0);
}

/* The server is gone, and comes again. */
static void again(const struct world *w, struct store **s, struct outbox **o)
{
	outbox_close(*o);
	store_close(*s);
	*s = open_store(w->url);
	*o = begin(*s);
}

static void end(struct store *s, struct outbox *o)
{
	outbox_close(o);
	store_close(s);
}

static void lines_reach_their_day(void **state)
{
	const struct world *w = *state;
	struct store *s = open_store(w->url);
	struct outbox *o = begin(s);

	expect_turn(s, o, "one\ntwo\n", NOW);
	outbox_add(o, NOW + DAY - 1, "three\n", 6);
	expect_turn(s, o, "later\n", NOW + 2 * DAY);
	assert_string_equal(content("20261115"), "one\ntwo\n");
	assert_string_equal(content("20261116"), "three\n");
	assert_string_equal(content("20261117"), "later\n");
	expect_sql(w, "SELECT count(*) FROM outbox", "3");
	assert_string_equal(strbuf_text(&synced), "20261115 20261116 "); /* each before the next is begun */
	assert_true(outbox_settle(o));
	assert_string_equal(strbuf_text(&synced), "20261115 20261116 20261117 "); /* before its rows are dropped */
	commit(s);
	assert_false(outbox_settle(o));
	expect_sql(w, "SELECT count(*) FROM outbox", "0");
	again(w, &s, &o);
	expect_turn(s, o, "more\n", NOW + 2 * DAY);
	assert_string_equal(content("20261117"), "later\nmore\n");
	end(s, o);
}

static void one_file_is_rotated(void **state)
{
	const struct world *w = *state;
	const struct outbox_place place = {OUTBOX_JOURNAL, dir, "events.log"};
	struct store *s = open_store(w->url);
	struct outbox *o = begin_at(s, &place);
	char to[300];

	expect_turn(s, o, "one\n", NOW);
	expect_turn(s, o, "two\n", NOW + DAY);
	assert_string_equal(content("events.log"), "one\ntwo\n");
	expect_sql(w, "SELECT count(*) FROM journal", "2");
	expect_sql(w, "SELECT count(*) FROM outbox", "0");
	snprintf(to, sizeof to, "%s/events.log.1", dir);
	assert_int_equal(rename(at("events.log"), to), 0);
	outbox_close(o);
	store_close(s);
	s = open_store(w->url);
	o = begin_at(s, &place);
	expect_turn(s, o, "three\n", NOW);
	assert_true(outbox_settle(o));
	commit(s);
	expect_sql(w, "SELECT count(*) FROM journal", "0");
	end(s, o);
}

/* Written, and the server died before that was stored; then something happens to the file. */
static void files_are_compared(void **state)
{
	static const struct {
		const char *before, *after; /* what is in the file when it comes again, and in the end */
	} form[] = {
		{"old\none\ntwo\n", "old\none\ntwo\nnew\n"},
		{"old\none\ntw", "old\none\ntwo\nnew\n"},
		{"old\none", "old\none\ntwo\nnew\n"},
		{"old\n", "old\none\ntwo\nnew\n"},
		{"old\none\ntwo\nof another\n", "old\none\ntwo\nof another\nnew\n"},
		{"old\nof another\none\n", "old\nof another\none\ntwo\nnew\n"},
		{"old\none\nno end", "old\none\nno end\ntwo\nnew\n"},
	};
	const struct world *w = *state;

	for (size_t i = 0; i < sizeof form / sizeof *form; i++) {
		struct store *s = open_store(w->url);
		struct outbox *o = begin(s);
		expect_turn(s, o, "old\n", NOW);
		outbox_settle(o);
		commit(s);
		expect_turn(s, o, "one\ntwo\n", NOW);
		assert_int_equal(truncate(at("20261115"), 0), 0);
		append("20261115", form[i].before);
		again(w, &s, &o);
		expect_turn(s, o, "new\n", NOW);
		assert_string_equal(content("20261115"), form[i].after);
		outbox_settle(o);
		commit(s);
		end(s, o);
		assert_int_equal(unlink(at("20261115")), 0);
	}
}

static void renamed_files_are_found(void **state)
{
	const struct world *w = *state;
	struct store *s = open_store(w->url);
	struct outbox *o = begin(s);
	char to[300];

	expect_turn(s, o, "old\n", NOW);
	outbox_settle(o);
	expect_turn(s, o, "one\ntwo\n", NOW);
	snprintf(to, sizeof to, "%s/20261115.1", dir);
	assert_int_equal(rename(at("20261115"), to), 0);
	again(w, &s, &o);
	expect_turn(s, o, NULL, NOW);
	assert_string_equal(content("20261115"), "-");
	expect_turn(s, o, "three\n", NOW);
	again(w, &s, &o); /* between the two files: the cursor is still in the first */
	expect_turn(s, o, NULL, NOW);
	assert_string_equal(content("20261115.1"), "old\none\ntwo\n");
	assert_string_equal(content("20261115"), "three\n");
	end(s, o);
}

/* Then nobody knows what was in it: lines are rather written twice than lost. */
static void removed_files_are_written_again(void **state)
{
	const struct world *w = *state;
	struct store *s = open_store(w->url);
	struct outbox *o = begin(s);
	struct err err;

	for (int cut = 0; cut < 2; cut++) {
		expect_turn(s, o, "old\n", NOW);
		outbox_settle(o);
		expect_turn(s, o, "one\n", NOW);
		assert_int_equal(cut ? truncate(at("20261115"), 0) : unlink(at("20261115")), 0);
		again(w, &s, &o);
		assert_int_equal(turn(s, o, NULL, NOW, &err), 1);
		assert_non_null(strstr(err.text, "was removed, replaced or shortened"));
		assert_string_equal(content("20261115"), "one\n");
		outbox_settle(o);
		commit(s);
	}
	end(s, o);
}

static void full_disks_are_waited_for(void **state)
{
	const struct world *w = *state;
	struct store *s = open_store(w->url);
	struct outbox *o = begin(s);
	struct err err;

	assert_int_equal(symlink("/dev/full", at("20261115")), 0);
	assert_int_equal(turn(s, o, "one\n", NOW, &err), -ENOSPC);
	assert_non_null(strstr(err.text, "they wait in the store"));
	assert_non_null(strstr(err.text, "20261115"));
	expect_turn(s, o, "two\n", NOW); /* said once */
	outbox_settle(o);
	commit(s);
	expect_sql(w, "SELECT count(*) FROM outbox", "2");
	again(w, &s, &o);
	assert_int_equal(turn(s, o, "three\n", NOW, &err), -ENOSPC);
	assert_int_equal(unlink(at("20261115")), 0);
	assert_int_equal(turn(s, o, "four\n", NOW, &err), 1);
	assert_string_equal(err.text, "accounting records can be written again");
	assert_string_equal(content("20261115"), "one\ntwo\nthree\nfour\n");

	assert_int_equal(unlink(at("20261115")), 0);
	assert_int_equal(rmdir(dir), 0);
	assert_int_equal(turn(s, o, "five\n", NOW, &err), -ENOENT);
	assert_int_equal(mkdir(dir, 0700), 0);
	assert_int_equal(turn(s, o, NULL, NOW, &err), 1);
	assert_string_equal(content("20261115"), "five\n");
	end(s, o);
}

static void bad_directories_are_refused(void **state)
{
	const struct world *w = *state;
	struct store *s = open_store(w->url);
	struct outbox *o;
	struct err err;

	append("file", "");
	assert_int_equal(outbox_open(s, &(struct outbox_place){OUTBOX_ACCOUNTING, at("file"), NULL}, &nobody, &o, &err),
			 -ENOTDIR);
	assert_int_equal(outbox_open(s, &(struct outbox_place){OUTBOX_JOURNAL, at("no/such"), "x"}, &nobody, &o, &err),
			 -ENOENT);
	store_close(s);
}

static void count(void *context)
{
	++*(int *)context;
}

/* With a loop it continues by itself, also with more than is written at once. */
static void much_is_written_in_turns(void **state)
{
	enum { ROWS = 5, SIZE = 3 << 20 };
	const struct world *w = *state;
	struct store *s = open_store(w->url);
	uv_loop_t loop;
	int woken = 0;
	const struct outbox_host host = {&loop, count, &woken};
	char *big = mem_alloc(SIZE + 1);
	struct outbox *o;
	struct err err;
	struct stat st;

	uv_loop_init(&loop);
	memset(big, 'x', SIZE);
	strcpy(big + SIZE - 1, "\n");
	assert_int_equal(outbox_open(s, &(struct outbox_place){OUTBOX_ACCOUNTING, dir, NULL}, &host, &o, &err), 0);
	assert_int_equal(symlink("/dev/full", at("20261115")), 0);
	for (int i = 0; i < ROWS; i++) {
		big[0] = (char)('a' + i);
		assert_int_equal(turn(s, o, big, NOW, &err), i ? 0 : -ENOSPC);
	}
	assert_int_equal(unlink(at("20261115")), 0);
	for (int i = 0; i < 2000; i++) {
		uv_run(&loop, UV_RUN_NOWAIT);
		turn(s, o, NULL, NOW, &err);
		usleep(5000);
		if (stat(at("20261115"), &st) == 0 && st.st_size == (off_t)ROWS * SIZE && i > 300)
			break;
	}
	assert_int_equal(st.st_size, (off_t)ROWS * SIZE);
	assert_true(woken > 0);
	outbox_settle(o);
	commit(s);
	expect_sql(w, "SELECT count(*) FROM outbox", "0");
	outbox_close(o);
	while (uv_run(&loop, UV_RUN_DEFAULT))
		;
	assert_int_equal(uv_loop_close(&loop), 0);
	store_close(s);
	free(big);
}

/* ---- kills ---- */

#define TURNS 7

static int take_done(void *context, const char *name, const char *value)
{
	*(int *)context = atoi(value);
	return 0;
}

/* Each turn stores its number with its lines; it continues where the store says. */
static void work(const char *url)
{
	struct store *s = open_store(url);
	struct outbox *o = begin(s), *log = begin_at(s, &(struct outbox_place){OUTBOX_JOURNAL, dir, "events.log"});
	char lines[64], number[16];
	struct err err;
	int done = 0;

	store_get_objects(s, "test", take_done, &done, NULL);
	outbox_commit(log);
	expect_turn(s, o, NULL, NOW);
	assert_int_equal(outbox_turn(log, &err), 0);
	while (done++ < TURNS) {
		snprintf(number, sizeof number, "%d", done);
		store_put_object(s, "test", "done", number);
		for (int i = 0; i < done % 3 + 1; i++) {
			snprintf(lines, sizeof lines, "%d line %d\n", done, i);
			outbox_add(o, NOW + (done > 4) * DAY, lines, strlen(lines));
			if (i == 0)
				outbox_add(log, NOW + (done > 4) * DAY, lines, strlen(lines));
		}
		outbox_commit(log);
		expect_turn(s, o, NULL, NOW);
		assert_int_equal(outbox_turn(log, &err), 0);
		if (done % 2)
			outbox_settle(o);
		if (done % 3)
			outbox_settle(log);
	}
	outbox_settle(o);
	outbox_settle(log);
	commit(s);
	outbox_close(log);
	end(s, o);
}

/* How often it was killed. */
static int killed_at(const struct world *w, const char *fault)
{
	for (int kills = 0;; kills++) {
		int status;
		pid_t pid = fork();
		assert_true(pid >= 0);
		if (pid == 0) {
			if (kills == 0)
				setenv("SHUNT_CRASH", fault, 1);
			work(w->url);
			_exit(0);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
			return kills;
		assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
		assert_true(kills == 0);
	}
}

static void killed_at_every_point(void **state)
{
	static const char *const points[] = {"before",	     "during",	    "after",	   "lines-before",
					     "lines-during", "lines-after", "lines-synced"};
	const struct world *w = *state;
	char fault[64];
	int total = 0;

	for (size_t p = 0; p < sizeof points / sizeof *points; p++) {
		int number = 0, kills;
		do {
			snprintf(fault, sizeof fault, "%d:%s", ++number, points[p]);
			kills = killed_at(w, fault);
			total += kills;
			assert_string_equal(content("20261115"),
					    "1 line 0\n1 line 1\n2 line 0\n2 line 1\n2 line 2\n3 line 0\n"
					    "4 line 0\n4 line 1\n");
			assert_string_equal(content("20261116"),
					    "5 line 0\n5 line 1\n5 line 2\n6 line 0\n7 line 0\n7 line 1\n");
			assert_string_equal(content("events.log"),
					    "1 line 0\n2 line 0\n3 line 0\n4 line 0\n5 line 0\n6 line 0\n7 line 0\n");
			unlink(at("events.log"));
			unlink(at("20261115"));
			unlink(at("20261116"));
			void *again = (void *)w;
			world_teardown(&again);
			again = (void *)w;
			assert_int_equal(world_setup(&again), 0);
		} while (kills);
		if (number <= 3)
			fail_msg("%s: %d", points[p], number);
	}
	assert_true(total > 40);
}

#undef SQLITE
#undef POSTGRES
#define SQLITE(test)                                                                                                   \
	{                                                                                                              \
		"sqlite: " #test, test, setup, teardown, &sqlite_world                                                 \
	}
#define POSTGRES(test)                                                                                                 \
	{                                                                                                              \
		"postgres: " #test, test, setup, teardown, &postgres_world                                             \
	}

int main(void)
{
	const struct CMUnitTest tests[] = {
		BOTH(killed_at_every_point), /* first: faults are counted by process, from its beginning */
		BOTH(lines_reach_their_day),	 BOTH(files_are_compared),
		SQLITE(renamed_files_are_found), SQLITE(removed_files_are_written_again),
		BOTH(full_disks_are_waited_for), SQLITE(bad_directories_are_refused),
		BOTH(one_file_is_rotated),	 BOTH(much_is_written_in_turns),
	};

	return cmocka_run_group_tests(tests, world_start, world_stop);
}
