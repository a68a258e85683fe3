/*
 * test_store.c - what goes into the store comes out of it, and its schema: the same tests on SQLite
 * and on a real PostgreSQL.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "base/mem.h"
#include "store/audit.h"
#include "store/outbox.h"
#include "support/stores.h"

#define NASTY                                                                                                          \
	"quote ' and \" and \\ and \n and \t and $1 ?1 %s; DROP TABLE job; -- \xc3\xa9\xe2\x82\xac\xf0\x9f\x9a\x82"

static void everything_comes_back(void **state)
{
	struct world *w = *state;
	struct store *s = open_store(w->url);

	assert_string_equal(store_kind(s), w->is_postgres ? "postgres" : "sqlite");
	commit(s); /* an empty commit */
	expect_content(s, NULL, "");
	store_put_event(s, &(struct store_event){.seq = 2,
						 .job = job_key(12, 3),
						 .by = 7,
						 .time = 100,
						 .at = -5,
						 .type = 1,
						 .nodes = "n1+n2",
						 .data = "{\"x\": \"" NASTY "\"}"});
	put_event(s, 1, job_key(12, -1));
	store_put_job(s, job_key(12, 3), "{\"head\": 3}", "{\"body\": 3}");
	store_put_job(s, job_key(12, -1), NASTY, NASTY NASTY);
	store_put_job(s, job_key(4, -1), "", "");
	store_put_object(s, "queue", NASTY, NASTY);
	store_put_object(s, "node", "n1", "old");
	store_put_object(s, "node", "n1", "new");
	store_put_script(s, 12, NASTY, sizeof NASTY);
	assert_true(store_pending(s) > 0);
	expect_content(s, NULL, "");
	commit(s);
	store_close(s);

	s = open_store(w->url);
	expect_content(s, NULL,
		       "object node n1 new\nobject queue " NASTY " " NASTY "\n"
		       "job 4[-1] \njob 12[-1] " NASTY "\njob 12[3] {\"head\": 3}\n"
		       "event 1 job 12[-1] by 0 time 1001 at 0 type 3 - -\n"
		       "event 2 job 12[3] by 7 time 100 at -5 type 1 n1+n2 {\"x\": \"" NASTY "\"}\n");
	expect_body(s, job_key(12, -1), NASTY NASTY);
	expect_body(s, job_key(4, -1), "");
	expect_script(s, 12, NASTY, sizeof NASTY);
	store_close(s);
	store_close(NULL);
}

static void what_is_not_committed_is_lost(void **state)
{
	struct world *w = *state;
	struct store *s = open_store(w->url);

	store_put_job(s, job_key(1, -1), "a", "b");
	store_close(s);
	s = open_store(w->url);
	expect_content(s, NULL, "");
	store_close(s);
}

static void pending_changes_are_seen(void **state)
{
	static const char zeros[] = "#!/bin/sh\n\0\0 \xff\xfe binary\0";
	struct world *w = *state;
	struct store *s = open_store(w->url);
	uint64_t job = job_key(1, -1), element = job_key(1, 0);

	expect_body(s, job, NULL);
	expect_script(s, 1, NULL, 0);
	for (int written = 0; written < 2; written++) { /* first without, then with older rows in the database */
		store_put_job(s, job, "h", written ? "body 2" : "body 1");
		store_put_job(s, element, "h", "element");
		expect_body(s, job, written ? "body 2" : "body 1");
		store_put_head(s, job, "h2");
		expect_body(s, job, written ? "body 2" : "body 1");
		store_put_script(s, 1, zeros, sizeof zeros);
		expect_script(s, 1, zeros, sizeof zeros);
		store_put_script(s, 2, NULL, 0);
		expect_script(s, 2, "", 0);
		commit(s);
		expect_script(s, 1, zeros, sizeof zeros);
		expect_script(s, 2, "", 0);
	}
	store_drop_script(s, 1);
	expect_script(s, 1, NULL, 0);
	expect_script(s, 2, "", 0);
	store_drop_job(s, job);
	expect_body(s, job, NULL);
	expect_body(s, element, NULL);
	store_put_job(s, element, "h", "again");
	expect_body(s, element, "again");
	commit(s);
	expect_script(s, 1, NULL, 0);
	expect_content(s, NULL, "job 1[0] h\n");
	expect_body(s, element, "again");
	store_put_head(s, job, "of a job that is gone");
	commit(s);
	expect_content(s, NULL, "job 1[0] h\n");
	store_close(s);
}

static void large_scripts(void **state)
{
	struct world *w = *state;
	struct store *s = open_store(w->url);
	size_t n = 5 << 20;
	char *text = mem_alloc(n);

	for (size_t i = 0; i < n; i++)
		text[i] = (char)(i * 31 ^ i >> 11);
	for (uint64_t id = 1; id <= 3; id++)
		store_put_script(s, id, text, n);
	commit(s);
	expect_script(s, 2, text, n);
	free(text);
	store_close(s);
}

static void drops_take_what_belongs_to_it(void **state)
{
	struct world *w = *state;
	struct store *s = open_store(w->url);
	uint64_t keys[] = {job_key(1, 5), job_key(2, -1), job_key(2, 0), job_key(2, JOB_INDEX_MAX), job_key(3, -1)};

	for (uint64_t i = 0; i < 5; i++) {
		store_put_job(s, keys[i], "h", "b");
		put_event(s, i + 1, keys[i]);
	}
	store_put_object(s, "queue", "a", "1");
	store_put_object(s, "node", "a", "2");
	commit(s);
	store_drop_job(s, keys[2]);
	store_drop_object(s, "queue", "a");
	commit(s);
	expect_content(
		s, NULL,
		"object node a 2\njob 1[5] h\njob 2[-1] h\njob 2[1048574] h\njob 3[-1] h\n"
		"event 1 job 1[5] by 0 time 1001 at 0 type 3 - -\nevent 2 job 2[-1] by 0 time 1002 at 0 type 3 - -\n"
		"event 4 job 2[1048574] by 0 time 1004 at 0 type 3 - -\nevent 5 job 3[-1] by 0 time 1005 at 0 type 3 - -\n");
	store_drop_job(s, keys[1]);
	commit(s);
	expect_content(
		s, NULL,
		"object node a 2\njob 1[5] h\njob 3[-1] h\n"
		"event 1 job 1[5] by 0 time 1001 at 0 type 3 - -\nevent 5 job 3[-1] by 0 time 1005 at 0 type 3 - -\n");
	expect_sql(w, "SELECT count(*) FROM body", "2");
	store_close(s);
}

struct seen {
	uint64_t seq[8];
	int n, limit;
};

static int see_event(void *context, const struct store_event *e)
{
	struct seen *seen = context;

	seen->seq[seen->n++] = e->seq;
	return seen->n == seen->limit ? 77 : 0;
}

static void events_of_one_job(void **state)
{
	struct world *w = *state;
	struct store *s = open_store(w->url);
	struct seen seen = {.limit = -1}, two = {.limit = 2}, none = {0}, later = {.limit = -1}, few = {.limit = -1};

	put_event(s, 30, job_key(1, -1));
	put_event(s, 10, job_key(1, -1));
	put_event(s, 40, job_key(1, 0));
	put_event(s, 20, job_key(1, -1));
	commit(s);
	assert_int_equal(store_get_events(s, job_key(1, -1), 0, 100, see_event, &seen, NULL), 0);
	assert_int_equal(seen.n, 3);
	assert_true(seen.seq[0] == 10 && seen.seq[1] == 20 && seen.seq[2] == 30);
	assert_int_equal(store_get_events(s, job_key(1, -1), 0, 100, see_event, &two, NULL), 77);
	assert_int_equal(two.n, 2);
	assert_int_equal(store_get_events(s, job_key(9, -1), 0, 100, see_event, &none, NULL), 0);
	assert_int_equal(none.n, 0);
	assert_int_equal(store_get_events(s, job_key(1, -1), 20, 100, see_event, &later, NULL), 0);
	assert_true(later.n == 2 && later.seq[0] == 20 && later.seq[1] == 30);
	assert_int_equal(store_get_events(s, job_key(1, -1), 0, 1, see_event, &few, NULL), 0);
	assert_true(few.n == 1 && few.seq[0] == 10);
	store_close(s);
}

static void damaged_records_are_set_aside(void **state)
{
	struct world *w = *state;
	struct store *s = open_store(w->url);
	struct listing l = {0};

	store_put_object(s, "queue", "bad", "rotten queue");
	store_put_object(s, "queue", "good", "fine");
	store_put_job(s, job_key(1, -1), "rotten job", "its body");
	store_put_job(s, job_key(1, 2), "fine", "b");
	store_put_job(s, job_key(2, 0), "rotten element", "b");
	put_event(s, 1, job_key(1, 2));
	store_put_event(s, &(struct store_event){.seq = 2, .job = job_key(1, 2), .data = "rotten"});
	commit(s);
	expect_content(
		s, "rotten",
		"damaged queue bad: it has 'rotten' in it\nobject queue good fine\n"
		"damaged job 1: it has 'rotten' in it\njob 1[2] fine\ndamaged job 2[0]: it has 'rotten' in it\n"
		"event 1 job 1[2] by 0 time 1001 at 0 type 3 - -\ndamaged event 2 of job 1[2]: it has 'rotten' in it\n");
	assert_int_equal(store_pending(s), 0);
	store_close(s);

	s = open_store(w->url);
	expect_content(s, NULL,
		       "object queue good fine\njob 1[2] fine\nevent 1 job 1[2] by 0 time 1001 at 0 type 3 - -\n");
	assert_int_equal(store_get_damaged(s, on_damaged, &l, NULL), 0);
	assert_string_equal(l.text.text,
			    "damaged queue bad: it has 'rotten' in it\ndamaged job 1: it has 'rotten' in it\n"
			    "damaged job 2[0]: it has 'rotten' in it\n"
			    "damaged event 2 of job 1[2]: it has 'rotten' in it\n");
	strbuf_fini(&l.text);
	expect_sql(w, "SELECT record FROM damaged WHERE what = 'job 1'", "rotten job\nits body");
	expect_sql(w, "SELECT record FROM damaged WHERE what LIKE 'event%'",
		   "job 1048579 time 0 type 0 at 0 by 0 nodes - data rotten");
	expect_sql(w, "SELECT count(*) FROM damaged WHERE time > 1600000000", "4");
	store_close(s);
}

static void broken_text_is_mended(void **state)
{
	struct world *w = *state;
	struct store *s = open_store(w->url);

	store_put_job(s, job_key(1, -1), "a\xff\xc3", "\xed\xa0\x80 \xc3\xa9");
	commit(s);
	expect_content(s, NULL, "job 1[-1] a\xef\xbf\xbd\xef\xbf\xbd\n");
	expect_body(s, job_key(1, -1), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd \xc3\xa9");
	store_close(s);
}

static void many_at_once(void **state)
{
	struct world *w = *state;
	struct store *s = open_store(w->url);

	for (uint64_t i = 1; i <= 5000; i++) {
		store_put_job(s, job_key(i, -1), "{\"user\": \"someone\"}", "{}");
		put_event(s, i, job_key(i, -1));
	}
	commit(s);
	expect_sql(w, "SELECT count(*) FROM job", "5000");
	expect_sql(w, "SELECT count(*) FROM event", "5000");
	expect_sql(w, COUNT_COMMITS, "1");
	store_close(s);
}

static int take_row(void *context, const struct outbox_row *row)
{
	strbuf_printf(context, "%d %d %.*s|", (int)row->seq, (int)row->day, (int)row->n, row->lines);
	return 0;
}

static void lines_wait_in_the_outbox(void **state)
{
	struct world *w = *state;
	struct store *s = open_store(w->url);
	struct strbuf seen = {0};

	for (uint64_t i = 1; i <= 4; i++)
		store_put_outbox(s, OUTBOX_ACCOUNTING,
				 &(struct outbox_row){i, 20261110 + (int64_t)i, "a\nb\xff\n", i + 1});
	assert_int_equal(store_get_outbox(s, OUTBOX_ACCOUNTING, 0, 10, take_row, &seen, NULL), 0);
	assert_int_equal(seen.n, 0);
	commit(s);
	store_trim_outbox(s, OUTBOX_ACCOUNTING, 1);
	commit(s);
	assert_int_equal(store_get_outbox(s, OUTBOX_ACCOUNTING, 0, 2, take_row, &seen, NULL), 0);
	assert_string_equal(seen.text, "2 20261112 a\nb|3 20261113 a\nb\xff|");
	strbuf_clear(&seen);
	assert_int_equal(store_get_outbox(s, OUTBOX_ACCOUNTING, 3, 10, take_row, &seen, NULL), 0);
	assert_string_equal(seen.text, "4 20261114 a\nb\xff\n|");
	strbuf_clear(&seen);
	assert_int_equal(store_get_outbox(s, OUTBOX_JOURNAL, 0, 10, take_row, &seen, NULL), 0);
	assert_int_equal(seen.n, 0);
	strbuf_fini(&seen);
	store_close(s);
}

static int take_audit(void *context, const struct store_audit *a)
{
	strbuf_printf(context, "%d %d %s %s %s %s %s|", (int)a->seq, (int)a->time, a->who, a->name, a->action,
		      a->change ? a->change : "-", a->undo ? a->undo : "-");
	return a->seq == 4;
}

static void audit_is_kept(void **state)
{
	struct world *w = *state;
	struct store *s = open_store(w->url);
	struct strbuf seen = {0};

	for (uint64_t i = 1; i <= 5; i++)
		store_put_audit(s, &(struct store_audit){i, 10 * (int64_t)i, "ann", "queue", "q", "changed",
							 i == 2 ? NASTY : NULL, i == 3 ? "undo" : NULL});
	commit(s);
	assert_int_equal(store_get_audit(s, 20, 0, take_audit, &seen, NULL), 1);
	assert_string_equal(seen.text,
			    "2 20 ann q changed " NASTY " -|3 30 ann q changed - undo|4 40 ann q changed - -|");
	strbuf_clear(&seen);
	store_trim_audit(s, 50, 2); /* the oldest first */
	commit(s);
	assert_int_equal(store_get_audit(s, 0, 3, take_audit, &seen, NULL), 1);
	assert_string_equal(seen.text, "4 40 ann q changed - -|");
	expect_sql(w, "SELECT min(seq) FROM audit", "3");
	strbuf_fini(&seen);
	store_close(s);
}

/* Version 1 had neither the table of damaged records nor the index of events, nor who leads. */
static void older_schema_is_migrated(void **state)
{
	struct world *w = *state;
	struct store *s = open_store(w->url);

	store_put_job(s, job_key(1, -1), "rotten", "b");
	put_event(s, 1, job_key(1, -1));
	store_put_object(s, "meta", "next", "2");
	commit(s);
	store_close(s);
	run_sql(w, "DROP TABLE damaged");
	run_sql(w, "DROP TABLE lead");
	run_sql(w, "DROP TABLE identity");
	run_sql(w, "DROP TABLE history");
	run_sql(w, "DROP TABLE ledger");
	run_sql(w, "DROP TABLE outbox");
	run_sql(w, "DROP TABLE audit");
	run_sql(w, "DROP TABLE journal");
	run_sql(w, "DROP TABLE pile");
	run_sql(w, "DROP TABLE life");
	run_sql(w, "DROP TABLE quota");
	run_sql(w, "DROP TABLE quota_move");
	run_sql(w, "DROP INDEX event_job");
	run_sql(w, "UPDATE meta SET value = 1 WHERE name = 'schema_version'");

	s = open_store(w->url);
	expect_sql(w, "SELECT value FROM meta WHERE name = 'schema_version'", "15");
	expect_sql(w, COUNT_COMMITS, "1");
	expect_content(s, "rotten",
		       "object meta next 2\ndamaged job 1: it has 'rotten' in it\n"
		       "event 1 job 1[-1] by 0 time 1001 at 0 type 3 - -\n");
	run_sql(w, "DROP INDEX event_job");
	store_close(s);
}

static int life_note(void *context, const struct store_life *e)
{
	strbuf_printf(context, "%llu %s %s %lld %s %lld %s %s\n", (unsigned long long)e->seq, e->kind, e->name,
		      (long long)e->time, e->type, (long long)e->at, e->who ? e->who : "-",
		      e->reason ? e->reason : "-");
	return 0;
}

static int life_read(void *context, const struct store_life *e, struct err *err)
{
	if (strcmp(e->type, "rotten") == 0)
		return err_set(err, -EINVAL, "it is rotten");
	return life_note(context, e);
}

static void expect_life(struct store *s, const char *kind, const char *name, const char *expected)
{
	struct strbuf text = {0};
	struct err err;

	assert_int_equal(store_get_life(s, kind, name, life_note, &text, &err), 0);
	assert_string_equal(strbuf_text(&text), expected);
	strbuf_fini(&text);
}

/* What happened to nodes and queues is kept in order, found by name, trimmed, and set aside when
 * it can't be read. */
static void lives_are_kept(void **state)
{
	struct world *w = *state;
	struct store *s = open_store(w->url);
	struct strbuf text = {0};
	struct err err;

	store_put_life(s, &(struct store_life){3, "node", "n1", 10, 0, "offline", "ana", NASTY});
	store_put_life(s, &(struct store_life){1, "node", "n1", 9, 77, "drain", NULL, NULL});
	store_put_life(s, &(struct store_life){2, "queue", "n1", 9, 0, "created", "root", ""});
	store_put_life(s, &(struct store_life){4, "node", "n1", 11, 0, "rotten", NULL, NULL});
	commit(s);
	store_close(s);
	s = open_store(w->url);

	struct store_reader reader = {.life = life_read, .context = &text};

	assert_int_equal(store_read(s, &reader, &err), 0);
	assert_string_equal(strbuf_text(&text), "1 node n1 9 drain 77 - -\n2 queue n1 9 created 0 root \n"
						"3 node n1 10 offline 0 ana " NASTY "\n");
	expect_life(s, "node", "n1", "1 node n1 9 drain 77 - -\n3 node n1 10 offline 0 ana " NASTY "\n");
	expect_life(s, "node", "n2", "");
	expect_sql(w, "SELECT what || ': ' || reason FROM damaged", "event 4 of node n1: it is rotten");
	store_trim_life(s, "node", "n1", 1);
	store_trim_life(s, "queue", "n1", 1);
	commit(s);
	expect_life(s, "node", "n1", "3 node n1 10 offline 0 ana " NASTY "\n");
	expect_life(s, "queue", "n1", "2 queue n1 9 created 0 root \n");
	strbuf_fini(&text);
	store_close(s);
}

/* It has an id from the beginning, which stays. */
static void it_knows_itself(void **state)
{
	struct world *w = *state;
	struct store *s = open_store(w->url);
	char id[64];

	assert_true(store_is_new(s));
	assert_int_equal(strspn(store_id(s), "0123456789abcdef"), 32);
	snprintf(id, sizeof id, "%s", store_id(s));
	store_close(s);
	s = open_store(w->url);
	assert_true(store_is_new(s));
	store_put_object(s, "meta", "next", "2");
	commit(s);
	assert_false(store_is_new(s));
	store_close(s);
	s = open_store(w->url);
	assert_false(store_is_new(s));
	assert_string_equal(store_id(s), id);
	store_close(s);

	run_sql(w, "DROP TABLE identity");
	run_sql(w, "DROP TABLE history");
	run_sql(w, "DROP TABLE ledger");
	run_sql(w, "DROP TABLE outbox");
	run_sql(w, "DROP TABLE audit");
	run_sql(w, "DROP TABLE journal");
	run_sql(w, "DROP TABLE pile");
	run_sql(w, "DROP TABLE life");
	run_sql(w, "DROP TABLE quota");
	run_sql(w, "DROP TABLE quota_move");
	run_sql(w, "UPDATE meta SET value = 3 WHERE name = 'schema_version'");
	s = open_store(w->url); /* another is never called the same */
	assert_string_not_equal(store_id(s), id);
	store_close(s);
}

/* A migration that fails leaves the store as it was, with the previous version. */
static void failed_migration_is_undone(void **state)
{
	struct world *w = *state;
	struct store *s = open_store(w->url);
	struct err err = {.text = ""};

	store_close(s);
	run_sql(w, "DROP INDEX event_job");
	run_sql(w, "UPDATE meta SET value = 1 WHERE name = 'schema_version'");
	assert_int_equal(store_open(w->url, &s, &err), -EIO);
	assert_non_null(strstr(err.text, "version 2"));
	assert_non_null(strstr(err.text, "damaged"));
	expect_sql(w, "SELECT value FROM meta WHERE name = 'schema_version'", "1");
	run_sql(w, "DROP TABLE damaged");
	run_sql(w, "DROP TABLE lead");
	run_sql(w, "DROP TABLE identity");
	run_sql(w, "DROP TABLE history");
	run_sql(w, "DROP TABLE ledger");
	run_sql(w, "DROP TABLE outbox");
	run_sql(w, "DROP TABLE audit");
	run_sql(w, "DROP TABLE journal");
	run_sql(w, "DROP TABLE pile");
	run_sql(w, "DROP TABLE life");
	run_sql(w, "DROP TABLE quota");
	run_sql(w, "DROP TABLE quota_move");
	s = open_store(w->url);
	store_close(s);
}

static void newer_schema_is_refused(void **state)
{
	struct world *w = *state;
	struct store *s = open_store(w->url);
	struct err err = {.text = ""};

	store_close(s);
	run_sql(w, "UPDATE meta SET value = 99 WHERE name = 'schema_version'");
	assert_int_equal(store_open(w->url, &s, &err), -ENOTSUP);
	assert_non_null(strstr(err.text, "version 99"));
	assert_non_null(strstr(err.text, "up to 15"));
}

/* SQLite alone. */

static void files_are_private(void **state)
{
	struct world *w = *state;
	static const char *const ends[] = {"", "-wal", "-shm"};
	mode_t mask = umask(0);
	struct store *s = open_store(w->url);

	store_put_object(s, "a", "b", "c");
	commit(s);
	for (int i = 0; i < 3; i++) {
		char path[300];
		struct stat st;
		snprintf(path, sizeof path, "%s%s", w->url, ends[i]);
		assert_int_equal(stat(path, &st), 0);
		assert_int_equal(st.st_mode & 0777, 0600);
	}
	store_close(s);
	assert_int_equal(umask(mask), 0);
}

static void bad_urls(void **state)
{
	struct world *w = *state;
	char url[300];

	expect_refusal("mysql://host/db", -EINVAL, "unknown kind");
	expect_refusal("", -EINVAL, "no path");
	expect_refusal("sqlite:", -EINVAL, "no path");
	expect_refusal("sqlite:/nonexistent/x.db", -EIO, "No such file");
	expect_refusal("postgres://me:secret@/db?host=/nonexistent", -ENOTCONN, "/nonexistent");
	expect_refusal("postgres://me:secret@/db?nonsense=1", -ENOTCONN, "nonsense");

	FILE *f = fopen(w->url, "w");
	assert_non_null(f);
	for (int i = 0; i < 1000; i++)
		fputs("this is no database\n", f);
	fclose(f);
	snprintf(url, sizeof url, "sqlite:%s", w->url);
	expect_refusal(url, -EIO, "not a database");
}

static void sqlite_url_and_path_are_the_same(void **state)
{
	struct world *w = *state;
	char url[300];
	struct store *s = open_store(w->url);

	store_put_object(s, "a", "b", "c");
	commit(s);
	store_close(s);
	snprintf(url, sizeof url, "sqlite:%s", w->url);
	s = open_store(url);
	expect_content(s, NULL, "object a b c\n");
	store_close(s);
}

/* Returns how many system calls of this process have written. */
static long writes_made(void)
{
	FILE *f = fopen("/proc/self/io", "r");
	char line[80];
	long n = -1;

	assert_non_null(f);
	while (n < 0 && fgets(line, sizeof line, f))
		sscanf(line, "syscw: %ld", &n);
	fclose(f);
	assert_true(n >= 0);
	return n;
}

static void commit_is_one_write(void **state)
{
	struct world *w = *state;
	struct store *s = open_store(w->url);

	store_put_object(s, "a", "b", "c");
	commit(s); /* makes the log */
	for (uint64_t i = 1; i <= 3; i++) {
		store_put_job(s, job_key(i, -1), "head", "body");
		store_put_script(s, i, NASTY, sizeof NASTY);
		store_put_object(s, "a", "b", i % 2 ? "d" : "e");
		put_event(s, i, job_key(i, -1));
		long before = writes_made();
		commit(s);
		assert_int_equal(writes_made() - before, 1);
	}
	store_close(s);
}

/* More pages than SQLite keeps in memory are written before their commit, and read again from the
 * log. */
static void commit_larger_than_the_cache(void **state)
{
	enum { COUNT = 4000 };
	struct world *w = *state;
	struct store *s = open_store(w->url);
	char *text = mem_alloc(9000);

	for (int round = 0; round < 2; round++) {
		for (uint64_t i = 1; i <= COUNT; i++) {
			memset(text, 'a' + (int)(i + (uint64_t)round) % 26, 9000);
			store_put_script(s, 1 + i * 7919 % COUNT, text, 9000);
		}
		commit(s);
		expect_sql(w, "PRAGMA integrity_check", "ok");
		for (uint64_t i = 1; i <= COUNT; i++) {
			memset(text, 'a' + (int)(i + (uint64_t)round) % 26, 9000);
			expect_script(s, 1 + i * 7919 % COUNT, text, 9000);
		}
	}
	store_close(s);
	free(text);
}

/* Writes the same rows as a later round, but with other texts. */
static void put_many(struct store *s, char letter)
{
	char *text = mem_alloc(9000);

	memset(text, letter, 9000);
	for (uint64_t i = 1; i <= 1000; i++)
		store_put_script(s, i, text, 9000);
	free(text);
}

/* A server that was replaced while it wrote has more pages to write than it keeps in memory. None
 * of them may reach the log after the commits of its successor. */
static void leaves_nothing_of_a_failed_commit(void **state)
{
	struct world *w = *state;
	struct store *old = open_store(w->url), *new;
	struct err err;

	put_many(old, 'o');
	new = open_store(w->url);
	store_put_object(new, "a", "b", "c");
	commit(new);
	run_sql(w, "PRAGMA wal_checkpoint(TRUNCATE)"); /* so that to roll back it reads nothing from the log */
	assert_int_equal(store_commit(old, &err), -ESTALE);
	for (int i = 0; i < 3; i++) {
		put_many(new, (char)('a' + i));
		store_put_script(new, 2000, "x", 1);
		commit(new);
	}
	char text[9000];
	memset(text, 'c', sizeof text);
	expect_script(old, 2000, "x", 1); /* from the log */
	expect_sql(w, "PRAGMA integrity_check", "ok");
	for (uint64_t i = 1; i <= 1000; i++)
		expect_script(new, i, text, sizeof text);
	store_close(old);
	store_close(new);
}

/* PostgreSQL alone. */

static void other_encodings_are_refused(void **state)
{
	char url[256], other[300];
	struct world *w = *state;

	run_sql(w, "CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0");
	postgres_url(&server, 5432, url, sizeof url);
	snprintf(other, sizeof other, "postgres:///latin%s", strchr(url, '?'));
	expect_refusal(other, -EINVAL, "UTF8");
	run_sql(w, "DROP DATABASE latin");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		BOTH(everything_comes_back),
		BOTH(what_is_not_committed_is_lost),
		BOTH(pending_changes_are_seen),
		BOTH(large_scripts),
		BOTH(drops_take_what_belongs_to_it),
		BOTH(events_of_one_job),
		BOTH(damaged_records_are_set_aside),
		BOTH(broken_text_is_mended),
		BOTH(many_at_once),
		BOTH(lines_wait_in_the_outbox),
		BOTH(audit_is_kept),
		BOTH(older_schema_is_migrated),
		BOTH(it_knows_itself),
		BOTH(lives_are_kept),
		BOTH(failed_migration_is_undone),
		BOTH(newer_schema_is_refused),
		SQLITE(files_are_private),
		SQLITE(bad_urls),
		SQLITE(sqlite_url_and_path_are_the_same),
		SQLITE(commit_is_one_write),
		SQLITE(commit_larger_than_the_cache),
		SQLITE(leaves_nothing_of_a_failed_commit),
		POSTGRES(other_encodings_are_refused),
	};

	return cmocka_run_group_tests(tests, world_start, world_stop);
}
