/*
 * test_history.c - jobs that have ended are found by what is asked for, and the ledger adds up.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "store/history.h"
#include "store/pile.h"
#include "support/stores.h"

static struct history_row row_of(int i)
{
	static const char *const users[] = {"alice", "bob", "carol \"'\xc3\xa9"}, *const states[] = {"completed",
												     "failed"};

	return (struct history_row){.key = job_key((uint64_t)i, i % 7 == 0 ? i : -1),
				    .attempt = i % 11 == 0 ? 0 : 1,
				    .last = true,
				    .user = users[i % 3],
				    .group = "staff",
				    .account = i % 4 == 0 ? "physics" : NULL,
				    .queue = i % 2 ? "batch" : "long",
				    .name = i % 5 == 0	 ? "a_b%c"
					    : i % 5 == 1 ? "aXb"
							 : "simulation",
				    .resources = "nodes=1:ppn=2",
				    .hosts = i % 11 == 0 ? NULL : "n1/0+n1/1",
				    .state = states[i % 2],
				    .exit_status = i % 2 ? -i : 0,
				    .submitted = 1000 + i,
				    .started = i % 11 == 0 ? 0 : 1010 + i,
				    .ended = 2000 + i / 3, /* some at the same instant */
				    .nodes = 1,
				    .cpus = 2,
				    .gpus = i % 2,
				    .memory_kib = 1 << 20,
				    .walltime = 3600,
				    .ran_ms = i % 11 == 0 ? 0 : 1000 * i,
				    .cpu_ms = 10 * i,
				    .peak_kib = INT64_C(1) << 40,
				    .qos = i % 3 == 0 ? "high" : NULL,
				    .members = i % 4 == 1 ? "{\"label\":\"x\"}" : NULL};
}

static void file_all(struct store *s)
{
	struct err err;

	while (store_file(s, 1, &err) > 0)
		;
	commit(s);
	assert_false(store_unfiled(s));
}

/* PostgreSQL has a pile only when a SQLite store with one was copied into it. */
static void pile_up(struct store *s)
{
	if (!store_unfiled(s))
		s->pile.newest++;
}

/* A half is filed. */
static void fill(struct store *s, int n)
{
	for (int i = 1; i <= n; i++) {
		struct history_row row = row_of(i);
		store_put_history(s, &row);
		if (i == n / 2) {
			commit(s);
			file_all(s);
			pile_up(s);
		}
	}
	commit(s);
}

static int add_line(void *context, const struct history_row *row)
{
	struct strbuf *out = context;

	strbuf_printf(out, "%llu", (unsigned long long)job_key_number(row->key));
	if (row->attempt > 1)
		strbuf_printf(out, ".%lld", (long long)row->attempt);
	strbuf_puts(out, " ");
	return 0;
}

static void expect_rows(struct store *s, const struct history_filter *f, const char *ids)
{
	struct strbuf out = {0};
	struct err err;

	if (history_read(s, f, add_line, &out, &err) < 0)
		fail_msg("%s", err.text);
	assert_string_equal(strbuf_text(&out), ids);
	strbuf_fini(&out);
}

/* By the same condition in C. */
static bool fits(const struct history_row *r, const struct history_filter *f)
{
	return (!f->user || !strcmp(f->user, r->user)) && (!f->queue || !strcmp(f->queue, r->queue)) &&
	       (!f->account || (r->account && !strcmp(f->account, r->account))) &&
	       (!f->state || !strcmp(f->state, r->state)) && (!f->name || !strcmp(f->name, r->name)) &&
	       (!f->prefix || !strncmp(f->prefix, r->name, strlen(f->prefix))) && (!f->since || r->ended >= f->since) &&
	       (!f->until || r->ended < f->until) && (!f->qos || (r->qos && !strcmp(f->qos, r->qos)));
}

static void finds_what_is_asked_for(void **state)
{
	struct store *s = open_store(((struct world *)*state)->url);

	fill(s, 200);
	for (int mask = 0; mask < 512; mask += mask < 256 ? 1 : 37) {
		struct history_filter f = {.user = mask & 1 ? "carol \"'\xc3\xa9" : NULL,
					   .queue = mask & 2 ? "batch" : NULL,
					   .account = mask & 4 ? "physics" : NULL,
					   .state = mask & 8 ? "completed" : NULL,
					   .name = mask & 16 ? "simulation" : NULL,
					   .prefix = mask & 32 ? "a_b%" : NULL,
					   .since = mask & 64 ? 2020 : 0,
					   .until = mask & 128 ? 2050 : 0,
					   .qos = mask & 256 ? "high" : NULL};
		struct strbuf expected = {0};
		for (int i = 200; i > 0; i--) {
			struct history_row row = row_of(i);
			if (fits(&row, &f))
				strbuf_printf(&expected, "%d ", i);
		}
		expect_rows(s, &f, strbuf_text(&expected));
		strbuf_fini(&expected);
	}
	expect_rows(s, &(struct history_filter){.user = "' OR 1=1 --"}, "");
	store_close(s);
}

/* Names in lists are compared as a whole, letter by letter. */
static void who_sees_some_finds_these(void **state)
{
	static const char *const queues[] = {"", ",long,", ",xlong,long_,LONG,lon,", ",batch,long,"},
				 *const accounts[] = {"", ",physics,", ",phys_cs,%,"};
	struct store *s = open_store(((struct world *)*state)->url);

	fill(s, 60);
	for (size_t k = 0; k < 12; k++) {
		struct history_filter f = {.sight = {"bob", queues[k % 4], accounts[k / 4]},
					   .state = k % 2 ? "failed" : NULL};
		struct strbuf expected = {0};
		for (int i = 60; i > 0; i--) {
			struct history_row row = row_of(i);
			bool queue = k % 4 == 3 || (k % 4 == 1 && i % 2 == 0), account = k / 4 == 1 && i % 4 == 0;
			if (fits(&row, &f) && (!strcmp(row.user, "bob") || queue || account))
				strbuf_printf(&expected, "%d ", i);
		}
		expect_rows(s, &f, strbuf_text(&expected));
		strbuf_fini(&expected);
	}
	store_close(s);
}

static int take_last(void *context, const struct history_row *row)
{
	struct history_filter *f = context;

	f->after_ended = row->ended;
	f->after_key = row->key;
	f->after_attempt = row->attempt;
	f->since++; /* counts */
	return 0;
}

static void pages_meet(void **state)
{
	struct store *s = open_store(((struct world *)*state)->url);
	struct history_filter f = {.most = 7, .user = "bob"}, at = {0};
	struct err err;
	int64_t before = -1;

	fill(s, 200);
	while (before != at.since) {
		before = at.since;
		assert_int_equal(history_read(s, &f, take_last, &at, &err), 0);
		f.after_ended = at.after_ended;
		f.after_key = at.after_key;
		f.after_attempt = at.after_attempt;
	}
	assert_int_equal(at.since, 67); /* 1, 4, ... 199 */
	store_close(s);
}

static int compare_row(void *context, const struct history_row *row)
{
	struct history_row expected = row_of(*(int *)context);
	const char *const *a = &row->id, *const *b = &expected.id;

	for (int i = 0; i < 13; i++, a++, b++) /* id ... members */
		if (*a || *b)
			assert_string_equal(*a ? *a : "(none)", *b ? *b : "(none)");
	assert_memory_equal(&row->exit_status, &expected.exit_status,
			    sizeof *row - offsetof(struct history_row, exit_status));
	assert_int_equal(row->last, expected.last);
	*(int *)context += 1000;
	return 0;
}

static void comes_back_as_it_was(void **state)
{
	struct store *s = open_store(((struct world *)*state)->url), *reader;
	struct err err;

	fill(s, 30);
	assert_int_equal(store_open_reader(((struct world *)*state)->url, &reader, &err), 0);
	for (int i = 1; i <= 30; i++) {
		int at = i;
		assert_int_equal(history_job(reader, job_key((uint64_t)i, -1), compare_row, &at, &err), 0);
		assert_int_equal(at, i + 1000); /* once */
	}
	store_close(reader);
	store_close(s);
}

static void attempts_are_apart(void **state)
{
	struct store *s = open_store(((struct world *)*state)->url);
	struct history_row row = row_of(1);

	row.last = false;
	store_put_history(s, &row);
	row.attempt = 2;
	row.last = true;
	store_put_history(s, &row);
	store_put_history(s, &row); /* again: the same */
	commit(s);
	expect_rows(s, &(struct history_filter){0}, "1.2 ");
	expect_rows(s, &(struct history_filter){.attempts = true}, "1.2 1 ");
	store_close(s);
}

static void trimmed_oldest_first(void **state)
{
	struct store *s = open_store(((struct world *)*state)->url);

	int64_t oldest = -1;
	struct err err;

	assert_int_equal(history_oldest(s, &oldest, &err), 0);
	assert_int_equal(oldest, 0);
	fill(s, 12);
	assert_int_equal(history_oldest(s, &oldest, &err), 0);
	assert_int_equal(oldest, 2000);
	file_all(s); /* only what was filed is trimmed */
	store_trim_history(s, 2003, 3);
	commit(s);
	expect_rows(s, &(struct history_filter){0}, "12 11 10 9 8 7 6 5 4 ");
	store_trim_history(s, 2003, 100);
	commit(s);
	expect_rows(s, &(struct history_filter){0}, "12 11 10 9 ");
	store_close(s);
}

static int add_lost(void *context, const struct history_row *row)
{
	strbuf_printf(context, "%llu %s lost %lld\n", (unsigned long long)job_key_number(row->key), row->state,
		      (long long)row->lost_ms);
	return 0;
}

static void expect_lost(struct store *s, const char *text)
{
	struct strbuf out = {0};
	struct err err;

	assert_int_equal(history_read(s, &(struct history_filter){.attempts = true}, add_lost, &out, &err), 0);
	assert_string_equal(strbuf_text(&out), text);
	strbuf_fini(&out);
}

/* What comes later counts, whether the row that it is about was filed or not. */
static void later_rows_replace(void **state)
{
	struct store *s = open_store(((struct world *)*state)->url);
	struct history_row row = row_of(1);

	for (int filed = 0; filed < 2; filed++) {
		pile_up(s);
		row.key = job_key((uint64_t)filed + 1, -1);
		row.state = "lost";
		store_put_history(s, &row);
		commit(s);
		if (filed)
			file_all(s);
		pile_up(s);
		row.state = "rerun";
		row.ended++;
		store_put_history(s, &row);
		commit(s);
		store_set_lost(s, row.key, row.attempt, 7);
		commit(s);
	}
	expect_lost(s, "2 rerun lost 7\n1 rerun lost 7\n");
	file_all(s);
	expect_lost(s, "2 rerun lost 7\n1 rerun lost 7\n");
	store_set_lost(s, row.key, row.attempt, 8);
	commit(s);
	expect_lost(s, "2 rerun lost 8\n1 rerun lost 7\n");
	store_close(s);
}

/* A commit of many rows makes several blocks. A server that is started again continues where
 * the last one was. */
static void filed_once(void **state)
{
	struct world *w = *state;
	struct store *s = open_store(w->url);
	struct err err;

	pile_up(s);
	for (int i = 1; i <= 1201; i++) {
		struct history_row row = row_of(i);
		store_put_history(s, &row);
	}
	commit(s);
	expect_sql(w, "SELECT count(*) FROM pile", "3");
	assert_int_equal(store_file(s, 1, &err), 1);
	store_close(s); /* what was to be filed and is not committed is there again */
	s = open_store(w->url);
	assert_true(store_unfiled(s));
	file_all(s);
	expect_sql(w, "SELECT count(*) FROM history", "1201");
	expect_sql(w, "SELECT count(*) FROM pile", "0");
	for (int i = 1; i <= 1201; i += 100) {
		int at = i;
		assert_int_equal(history_job(s, row_of(i).key, compare_row, &at, &err), 0);
		assert_int_equal(at, i + 1000);
	}
	store_close(s);
}

/* Nothing is read beyond a block, whatever it has become. */
static void block_try(const char *block, size_t n)
{
	char *part = malloc(n + 1); /* the sanitizer sees where it ends */
	struct pile_reader r;

	memcpy(part, block, n);
	for (int flip = 0; flip < (n ? 9 : 1); flip++) {
		if (flip)
			part[n - 1] ^= (char)(1 << (flip - 1));
		pile_begin(&r, part, n);
		for (enum pile_item x = PILE_ROW; x == PILE_ROW || x == PILE_LOSS;)
			x = pile_next(&r);
	}
	free(part);
}

/* What can be read is filed, the whole is set aside. */
static void damaged_block_is_kept(void **state)
{
	struct world *w = *state;
	struct store *s = open_store(w->url);
	struct history_row row = row_of(1);
	struct strbuf hex = {0};

	pile_up(s);
	row.text = "broken \xff text";
	store_put_history(s, &row);
	store_set_lost(s, row.key, row.attempt, -1);
	for (size_t n = 0; n <= s->pile.block.n; n++)
		block_try(s->pile.block.text, n);
	for (size_t i = 0; i + 1 < s->pile.block.n; i++)
		strbuf_printf(&hex, "%02x", (unsigned char)s->pile.block.text[i]);
	commit(s);
	run_sql(w, "UPDATE pile SET \"rows\" = substr(\"rows\", 1, length(\"rows\") - 1)");
	file_all(s);
	expect_sql(w, "SELECT reason FROM damaged", "it can't be read to its end");
	expect_sql(w, "SELECT record FROM damaged", strbuf_text(&hex));
	strbuf_fini(&hex);
	expect_sql(w, "SELECT text || lost_ms FROM history", "broken \xef\xbf\xbd text0");
	store_close(s);
}

static int add_sum(void *context, const struct history_sum *x)
{
	strbuf_printf(context,
		      "%s %lld jobs, ran %lld, had %lld, gpus %lld, cpu %lld, asked %lld, waited %lld of %lld\n",
		      x->name ? x->name : "-", (long long)x->jobs, (long long)x->used.ran_ms,
		      (long long)x->used.alloc_ms, (long long)x->used.gpu_ms, (long long)x->used.cpu_ms,
		      (long long)x->asked, (long long)x->waited, (long long)x->started);
	return 0;
}

static void sums_up(void **state)
{
	struct store *s = open_store(((struct world *)*state)->url);
	struct strbuf out = {0};
	struct err err;

	assert_int_equal(history_sum(s, &(struct history_filter){0}, BY_ALL, add_sum, &out, &err), 0);
	fill(s, 12);
	assert_int_equal(history_sum(s, &(struct history_filter){0}, BY_ALL, add_sum, &out, &err), 0);
	assert_int_equal(history_sum(s, &(struct history_filter){.user = "bob"}, BY_USER, add_sum, &out, &err), 0);
	assert_string_equal(strbuf_text(&out),
			    "- 0 jobs, ran 0, had 0, gpus 0, cpu 0, asked 0, waited 0 of 0\n"
			    "- 12 jobs, ran 67000, had 134000, gpus 25000, cpu 780, asked 79200, waited 110 of 11\n"
			    "bob 4 jobs, ran 22000, had 44000, gpus 8000, cpu 220, asked 28800, waited 40 of 4\n");
	strbuf_fini(&out);
	store_close(s);
}

struct grouped {
	struct history_sum all;
	int64_t groups;
};

static int add_group(void *context, const struct history_sum *x)
{
	struct grouped *g = context;

	g->groups++;
	g->all.jobs += x->jobs;
	g->all.used.ran_ms += x->used.ran_ms;
	g->all.used.alloc_ms += x->used.alloc_ms;
	g->all.used.gpu_ms += x->used.gpu_ms;
	g->all.used.cpu_ms += x->used.cpu_ms;
	g->all.started += x->started;
	g->all.asked += x->asked;
	g->all.waited += x->waited;
	return 0;
}

static void groups_make_up_the_whole(void **state)
{
	struct store *s = open_store(((struct world *)*state)->url);
	const int64_t since[] = {0, 1, 2000, 2001, 2003, 9999};
	struct err err;

	fill(s, 12);
	for (size_t i = 0; i < sizeof since / sizeof *since; i++)
		for (enum history_by by = BY_USER; by < HISTORY_BY_COUNT; by++) {
			struct history_filter f = {.since = since[i]};
			struct grouped whole = {0}, parts = {0};
			assert_int_equal(history_sum(s, &f, BY_ALL, add_group, &whole, &err), 0);
			assert_int_equal(history_sum(s, &f, by, add_group, &parts, &err), 0);
			assert_memory_equal(&whole.all, &parts.all, sizeof whole.all);
			assert_true(whole.all.jobs ? parts.groups > 0 && parts.groups <= whole.all.jobs
						   : !parts.groups);
		}
	store_close(s);
}

static const char *group_of(const struct history_row *row, enum history_by by)
{
	const char *names[HISTORY_BY_COUNT] = {
		[BY_USER] = row->user,	 [BY_GROUP] = row->group, [BY_ACCOUNT] = row->account,
		[BY_QUEUE] = row->queue, [BY_STATE] = row->state, [BY_QOS] = row->qos};

	return names[by];
}

/* Adds up the first n rows as the documentation says. */
static void sum_expected(int n, const struct history_filter *f, enum history_by by, struct strbuf *out)
{
	struct history_sum sums[13] = {0};
	size_t count = by == BY_ALL;

	for (int i = 1; i <= n; i++) {
		struct history_row row = row_of(i);
		const char *name = group_of(&row, by);
		size_t k = 0;
		if (!fits(&row, f))
			continue;
		while (k < count && (sums[k].name && name ? strcmp(sums[k].name, name) != 0 : sums[k].name != name))
			k++;
		count += k == count;
		sums[k].name = name;
		sums[k].jobs++;
		sums[k].used.ran_ms += row.ran_ms;
		sums[k].used.alloc_ms += row.cpus * row.ran_ms;
		sums[k].used.gpu_ms += row.gpus * row.ran_ms;
		sums[k].used.cpu_ms += row.cpu_ms;
		sums[k].started += row.started > 0;
		sums[k].asked += row.started > 0 ? row.cpus * row.walltime : 0;
		sums[k].waited += row.started > 0 ? row.started - row.submitted : 0;
	}
	for (size_t k = 0; k < count; k++)
		add_sum(out, &sums[k]);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The order of groups is not promised. */
static void same_lines(struct strbuf *a, struct strbuf *b)
{
	struct strbuf *both[2] = {a, b};
	char *line[2][16];
	size_t n[2] = {0};

	for (int i = 0; i < 2; i++) {
		char *rest = both[i]->text;
		for (char *one; rest && (one = strsep(&rest, "\n")) && *one && n[i] < 16;)
			line[i][n[i]++] = one;
		if (n[i])
			qsort(line[i], n[i], sizeof *line[i], by_text);
	}
	assert_int_equal(n[0], n[1]);
	for (size_t k = 0; k < n[0]; k++)
		assert_string_equal(line[0][k], line[1][k]);
}

/* Before and after rows are filed, and whatever is excluded. */
static void every_sum_is_right(void **state)
{
	struct store *s = open_store(((struct world *)*state)->url);
	const int64_t since[] = {0, 1, 2000, 2001, 2003, 9999};
	struct err err;

	fill(s, 12);
	for (int filed = 0; filed < 2; filed++) {
		for (int i = 0; i < 24; i++)
			for (enum history_by by = BY_ALL; by < HISTORY_BY_COUNT; by++) {
				struct history_filter f = {.since = since[i % 6],
							   .until = i / 6 % 2 ? 2003 : 0,
							   .state = i / 12 ? "completed" : NULL};
				struct strbuf expected = {0}, got = {0};
				sum_expected(12, &f, by, &expected);
				if (history_sum(s, &f, by, add_sum, &got, &err) < 0)
					fail_msg("%s", err.text);
				same_lines(&got, &expected);
				strbuf_fini(&expected);
				strbuf_fini(&got);
			}
		file_all(s);
	}
	store_close(s);
}

static int add_entry(void *context, const struct ledger_row *x)
{
	strbuf_printf(context, "%lld %s %s %s %s %lld %lld %lld %lld %lld\n", (long long)x->day, x->user, x->group,
		      x->account, x->queue, (long long)x->attempts, (long long)x->used.ran_ms,
		      (long long)x->used.alloc_ms, (long long)x->used.gpu_ms, (long long)x->used.cpu_ms);
	return 0;
}

static void ledger_adds(void **state)
{
	struct store *s = open_store(((struct world *)*state)->url);
	struct ledger_row row = {20261115, "alice", "staff", NULL, "batch", 1, {10, 20, 30, 40}};
	struct strbuf out = {0};
	struct err err;

	store_add_ledger(s, &row);
	size_t pending = store_pending(s);
	store_add_ledger(s, &row);
	assert_int_equal(store_pending(s), pending); /* same day, user and queue: one change */
	commit(s);
	row.day = 20261116;
	row.account = "physics";
	store_add_ledger(s, &row);
	commit(s);
	row.day = 20261115;
	row.account = "";
	store_add_ledger(s, &row);
	commit(s);
	assert_int_equal(ledger_read(s, 20261101, 20261130, add_entry, &out, &err), 0);
	assert_string_equal(strbuf_text(&out), "20261115 alice staff  batch 3 30 60 90 120\n"
					       "20261116 alice staff physics batch 1 10 20 30 40\n");
	strbuf_fini(&out);
	store_close(s);
}

/* History of another system: what is there already is not added again, nor to the ledger. */
static void foreign_once(void **state)
{
	struct store *s = open_store(((struct world *)*state)->url);
	struct ledger_row day = {20261115, "alice", "staff", NULL, "batch", 1, {10, 20, 30, 40}};
	struct history_row row = {.key = UINT64_C(1) << 62 | 5,
				  .attempt = 1,
				  .last = true,
				  .id = "slurm:1.old",
				  .user = "alice",
				  .group = "staff",
				  .queue = "batch",
				  .name = "n",
				  .resources = "",
				  .state = "failed",
				  .submitted = 1,
				  .started = 2,
				  .ended = 3};
	uint64_t keys[40] = {row.key, 7};
	struct strbuf out = {0};
	struct err err;
	int64_t known;

	for (int i = 0; i < 4; i++) {
		row.key += i == 3;
		for (day.day = 20261115; day.day < 20261117; day.day++)
			store_add_foreign(s, &day, row.key, row.attempt);
		store_put_foreign(s, &row);
		if (i != 1) /* also twice in one commit */
			commit(s);
	}
	assert_int_equal(ledger_read(s, 20261101, 20261130, add_entry, &out, &err), 0);
	assert_string_equal(strbuf_text(&out), "20261115 alice staff  batch 2 20 40 60 80\n"
					       "20261116 alice staff  batch 2 20 40 60 80\n");
	keys[39] = row.key;
	assert_int_equal(history_known(s, keys, 40, &known, &err), 0);
	assert_int_equal(known, 2);
	strbuf_fini(&out);
	store_close(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		BOTH(finds_what_is_asked_for),
		BOTH(pages_meet),
		BOTH(comes_back_as_it_was),
		BOTH(attempts_are_apart),
		BOTH(who_sees_some_finds_these),
		BOTH(trimmed_oldest_first),
		BOTH(later_rows_replace),
		BOTH(filed_once),
		BOTH(damaged_block_is_kept),
		BOTH(sums_up),
		BOTH(ledger_adds),
		BOTH(foreign_once),
		BOTH(groups_make_up_the_whole),
		BOTH(every_sum_is_right),
	};

	return cmocka_run_group_tests(tests, world_start, world_stop);
}
