/*
 * stores.c - see stores.h.
 */
#include "support/stores.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

struct world sqlite_world, postgres_world = {.is_postgres = true};
struct postgres_server server;

void raw_open(const struct world *w, struct raw *r)
{
	memset(r, 0, sizeof *r);
	if (!w->is_postgres) {
		assert_int_equal(sqlite3_open(w->url, &r->sqlite), SQLITE_OK);
		return;
	}
	r->postgres = PQconnectdb(w->url);
	assert_int_equal(PQstatus(r->postgres), CONNECTION_OK);
	PQclear(PQexec(r->postgres, "SET client_min_messages = warning"));
}

void raw_close(struct raw *r)
{
	sqlite3_close(r->sqlite);
	PQfinish(r->postgres);
}

static int take_value(void *context, int n, char **values, char **names)
{
	struct raw *r = context;

	snprintf(r->value, sizeof r->value, "%s", values[0] ? values[0] : "NULL");
	return 0;
}

const char *raw_run(struct raw *r, const char *sql)
{
	strcpy(r->value, "nothing");
	if (r->sqlite) {
		assert_int_equal(sqlite3_exec(r->sqlite, sql, take_value, r, NULL), SQLITE_OK);
		return r->value;
	}
	PGresult *res = PQexec(r->postgres, sql);
	ExecStatusType status = PQresultStatus(res);
	if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
		fail_msg("%s: %s", sql, PQerrorMessage(r->postgres));
	if (PQntuples(res) > 0)
		snprintf(r->value, sizeof r->value, "%s", PQgetvalue(res, 0, 0));
	PQclear(res);
	return r->value;
}

void expect_sql(const struct world *w, const char *sql, const char *value)
{
	struct raw r;

	raw_open(w, &r);
	assert_string_equal(raw_run(&r, sql), value);
	raw_close(&r);
}

void run_sql(const struct world *w, const char *sql)
{
	struct raw r;

	raw_open(w, &r);
	raw_run(&r, sql);
	raw_close(&r);
}

/* ---- each test begins with an empty store ---- */

static void remove_files(const struct world *w)
{
	static const char *const ends[] = {"", "-wal", "-shm"};
	char path[300];

	for (int i = 0; i < 3; i++) {
		snprintf(path, sizeof path, "%s%s", w->url, ends[i]);
		unlink(path);
	}
}

int world_setup(void **state)
{
	struct world *w = *state;

	if (w->is_postgres) {
		postgres_url(&server, 5432, w->url, sizeof w->url);
		run_sql(w, "DROP SCHEMA public CASCADE; CREATE SCHEMA public");
		return 0;
	}
	strcpy(w->dir, "/tmp/shunt-store-XXXXXX");
	assert_non_null(mkdtemp(w->dir));
	snprintf(w->url, sizeof w->url, "%s/it's a store.db", w->dir);
	return 0;
}

int world_teardown(void **state)
{
	struct world *w = *state;

	if (w->is_postgres)
		return 0;
	remove_files(w);
	return rmdir(w->dir);
}

int world_start(void **state)
{
	postgres_start(&server);
	return 0;
}

int world_stop(void **state)
{
	postgres_stop(&server);
	return 0;
}

struct store *open_store(const char *url)
{
	struct store *s = NULL;
	struct store_leader leader;
	struct err err = {.text = ""};

	if (store_open(url, &s, &err) < 0 || store_lead(s, "test", "", 0, 60000, &leader, &err) < 0)
		fail_msg("%s", err.text);
	return s;
}

void commit(struct store *s)
{
	struct err err = {.text = ""};

	if (store_commit(s, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(store_pending(s), 0);
}

void expect_failure(struct store *s, int code, const char *part)
{
	struct err err = {.text = ""};

	assert_int_equal(store_commit(s, &err), code);
	if (!strstr(err.text, part))
		fail_msg("\"%s\" is not in: %s", part, err.text);
	assert_true(store_pending(s) > 0);
}

void put_event(struct store *s, uint64_t seq, uint64_t job)
{
	store_put_event(s, &(struct store_event){.seq = seq, .job = job, .time = 1000 + (int64_t)seq, .type = 3});
}

/* ---- the content as text ---- */

static int list(struct listing *l, const char *line, struct err *err)
{
	if (l->reject && strstr(line, l->reject))
		return err_set(err, -EINVAL, "it has '%s' in it", l->reject);
	strbuf_printf(&l->text, "%s\n", line);
	return 0;
}

static int list_format(struct listing *l, struct err *err, const char *fmt, ...)
{
	struct strbuf b = {0};
	va_list ap;

	va_start(ap, fmt);
	strbuf_vprintf(&b, fmt, ap);
	va_end(ap);
	int rc = list(l, b.text, err);
	strbuf_fini(&b);
	return rc;
}

static int on_object(void *context, const char *kind, const char *name, const char *value, struct err *err)
{
	return list_format(context, err, "object %s %s %s", kind, name, value);
}

static int on_job(void *context, uint64_t key, const char *head, struct err *err)
{
	return list_format(context, err, "job %d[%d] %s", (int)job_key_number(key), (int)job_key_index(key), head);
}

static int on_event(void *context, const struct store_event *e, struct err *err)
{
	return list_format(context, err, "event %d job %d[%d] by %d time %d at %d type %d %s %s", (int)e->seq,
			   (int)job_key_number(e->job), (int)job_key_index(e->job), (int)e->by, (int)e->time,
			   (int)e->at, e->type, e->nodes ? e->nodes : "-", e->data ? e->data : "-");
}

void on_damaged(void *context, const char *what, const char *reason)
{
	struct listing *l = context;

	strbuf_printf(&l->text, "damaged %s: %s\n", what, reason);
}

void expect_content(struct store *s, const char *reject, const char *text)
{
	struct listing l = {.reject = reject};
	struct store_reader reader = {
		.object = on_object, .job = on_job, .event = on_event, .damaged = on_damaged, .context = &l};
	struct err err = {.text = ""};

	if (store_read(s, &reader, &err) < 0)
		fail_msg("%s", err.text);
	assert_string_equal(strbuf_text(&l.text), text);
	strbuf_fini(&l.text);
}

void expect_body(struct store *s, uint64_t key, const char *text)
{
	struct err err = {.text = ""};
	char *body = NULL;

	assert_int_equal(store_get_body(s, key, &body, &err), text ? 0 : -ENOENT);
	if (text)
		assert_string_equal(body, text);
	else
		assert_true(err.text[0] != '\0' && !body);
	free(body);
}

void expect_script(struct store *s, uint64_t id, const void *bytes, size_t n)
{
	char *text = NULL;
	size_t got;

	assert_int_equal(store_get_script(s, id, &text, &got, NULL), bytes ? 0 : -ENOENT);
	if (!bytes)
		return;
	assert_int_equal(got, n);
	assert_memory_equal(text, bytes, n);
	assert_int_equal(text[n], '\0');
	free(text);
}

void expect_refusal(const char *url, int code, const char *part)
{
	struct err err = {.text = ""};
	struct store *s = NULL;

	assert_int_equal(store_open(url, &s, &err), code);
	assert_null(s);
	if (!strstr(err.text, part))
		fail_msg("\"%s\" is not in: %s", part, err.text);
	assert_null(strstr(err.text, "secret"));
}
