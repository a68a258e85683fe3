/*
 * history.c - writes and finds rows of jobs that have ended; the ledger.
 *
 * Filters vary, so a statement is built from the conditions given, and the database chooses a
 * suitable index; all values are parameters.
 */
#include "store/history.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "store/pile.h"
#include "store/store_internal.h"

/* ---- writing ---- */

static struct value borrowed(const char *text)
{
	return text ? (struct value){(int64_t)strlen(text), text} : (struct value){0};
}

struct history_values history_values_of(const struct history_row *row)
{
#define NUMBER(c) {.n = row->c},
#define TEXT(c) borrowed(row->c),
	return (struct history_values){
		.v = {{.n = (int64_t)row->key}, {.n = row->attempt}, {.n = row->last}, HISTORY_LIST(NUMBER, TEXT)}};
#undef NUMBER
#undef TEXT
}

struct history_row history_row_of(const struct value *v)
{
	struct history_row row = {.key = (uint64_t)v[0].n, .attempt = v[1].n, .last = v[2].n};

	v += 3;
#define NUMBER(c) row.c = v++->n;
#define TEXT(c) row.c = v++->text;
	HISTORY_LIST(NUMBER, TEXT)
#undef NUMBER
#undef TEXT
	return row;
}

static void row_change(struct store *s, enum statement what, const struct history_row *row)
{
	struct history_values x = history_values_of(row);

	for (int i = 0; i < HISTORY_WIDTH; i++)
		if (HISTORY_TYPES[i] == 't')
			x.v[i] = store_text(s, x.v[i].text);
	change_add(s, what, x.v);
}

void store_put_history(struct store *s, const struct history_row *row)
{
	if (s->back->pile || store_unfiled(s))
		pile_put(s, row);
	else
		row_change(s, PUT_HISTORY, row);
}

void store_put_foreign(struct store *s, const struct history_row *row)
{
	row_change(s, PUT_FOREIGN, row);
}

static void ledger_change(struct store *s, enum statement what, const struct ledger_row *row, uint64_t key,
			  int64_t attempt)
{
	const struct value v[] = {{.n = row->day},	     store_text(s, row->user),
				  store_text(s, row->group), store_text(s, row->account ? row->account : ""),
				  store_text(s, row->queue), {.n = row->attempts},
				  {.n = row->used.ran_ms},   {.n = row->used.alloc_ms},
				  {.n = row->used.gpu_ms},   {.n = row->used.cpu_ms},
				  {.n = (int64_t)key},	     {.n = attempt}};

	change_add(s, what, v);
}

static bool is_text(const struct value *v, const char *text)
{
	return v->text && v->n == (int64_t)strlen(text) && memcmp(v->text, text, (size_t)v->n) == 0;
}

/* Returns the last queued addition to the ledger if it is for the same entry and certainly not
 * on disk, else NULL. So thousands of jobs that end together make one addition. */
static struct value *ledger_queued(const struct store *s, const struct ledger_row *row)
{
	if (s->ledger <= s->done || s->ledger <= s->doubt)
		return NULL;
	struct value *v = (struct value *)s->changes.v[s->ledger - 1].v;
	return v[0].n == row->day && is_text(&v[1], row->user) && is_text(&v[2], row->group) &&
			       is_text(&v[3], row->account ? row->account : "") && is_text(&v[4], row->queue)
		       ? v
		       : NULL;
}

void store_add_ledger(struct store *s, const struct ledger_row *row)
{
	struct value *v = ledger_queued(s, row);

	if (!v) {
		ledger_change(s, ADD_LEDGER, row, 0, 0); /* it does not take the last two values */
		s->ledger = s->changes.n;
		return;
	}
	v[5].n += row->attempts;
	v[6].n += row->used.ran_ms;
	v[7].n += row->used.alloc_ms;
	v[8].n += row->used.gpu_ms;
	v[9].n += row->used.cpu_ms;
}

void store_add_foreign(struct store *s, const struct ledger_row *row, uint64_t key, int64_t attempt)
{
	ledger_change(s, ADD_FOREIGN, row, key, attempt);
}

void store_set_lost(struct store *s, uint64_t key, int64_t attempt, int64_t lost_ms)
{
	const struct value v[] = {{.n = lost_ms}, {.n = (int64_t)key}, {.n = attempt}};

	if (store_unfiled(s)) /* its row may be in the pile */
		pile_lost(s, key, attempt, lost_ms);
	else
		change_add(s, SET_LOST, v);
}

void store_trim_history(struct store *s, int64_t before, int64_t most)
{
	const struct value v[] = {{.n = before}, {.n = most}};

	change_add(s, TRIM_HISTORY, v);
}

/* ---- queries ---- */

/* A query under construction: its text, and the values of its parameters. */
struct query {
	struct strbuf sql;
	struct value v[VALUES_MAX];
	char types[VALUES_MAX + 1];
	int n;
};

/* Adds "AND ...", with a '?' for the value. */
static void condition(struct query *q, const char *text, struct value v, char type)
{
	const char *mark = strchr(text, '?');

	q->v[q->n] = v;
	q->types[q->n++] = type;
	strbuf_printf(&q->sql, " AND %.*s$%d%s", (int)(mark - text), text, q->n, mark + 1);
}

static void text_condition(struct query *q, const char *text, const char *value)
{
	if (value)
		condition(q, text, (struct value){(int64_t)strlen(value), value}, 't');
}

static void number_condition(struct query *q, const char *text, int64_t value)
{
	condition(q, text, (struct value){.n = value}, 'i');
}

/* Adds the condition that a list contains a column's value, by removing the value from the list
 * and comparing. Exact in both databases, unlike LIKE. */
static void list_condition(struct query *q, const char *column, const char *list)
{
	if (!list || !*list)
		return;
	q->v[q->n] = (struct value){(int64_t)strlen(list), list};
	q->types[q->n++] = 't';
	strbuf_printf(&q->sql, " OR replace($%d, ',' || %s || ',', '') <> $%d", q->n, column, q->n);
}

static void sight_add(struct query *q, const struct history_sight *w)
{
	if (!w->user)
		return;
	text_condition(q, "(\"user\" = ?", w->user);
	list_condition(q, "queue", w->queues);
	list_condition(q, "account", w->accounts);
	strbuf_puts(&q->sql, ")");
}

/* Texts that a filter can require; each has the name of its column and of the member of a row. */
static const struct {
	const char *condition;
	size_t wanted, at; /* offsets in the filter and in the row */
} filter_texts[] = {
#define TEXT(c)                                                                                                        \
	{                                                                                                              \
		"\"" #c "\" = ?", offsetof(struct history_filter, c), offsetof(struct history_row, c)                  \
	}
	TEXT(user),  TEXT(group), TEXT(account), TEXT(project), TEXT(queue),
	TEXT(state), TEXT(name),  TEXT(qos),	 TEXT(id),
#undef TEXT
};
#define FILTER_TEXTS (sizeof filter_texts / sizeof *filter_texts)

static const char *text_at(const void *record, size_t at)
{
	return *(const char *const *)(const void *)((const char *)record + at);
}

static void filter_add(struct query *q, const struct history_filter *f)
{
	strbuf_puts(&q->sql, f->attempts ? " WHERE 1 = 1" : " WHERE last = 1");
	for (size_t i = 0; i < FILTER_TEXTS; i++)
		text_condition(q, filter_texts[i].condition, text_at(f, filter_texts[i].wanted));
	sight_add(q, &f->sight);
	if (f->prefix) {
		text_condition(q, "substr(name, 1, length(?))", f->prefix);
		strbuf_printf(&q->sql, " = $%d", q->n);
	}
	if (f->last) {
		number_condition(q, "key >= ?", (int64_t)f->first);
		number_condition(q, "key <= ?", (int64_t)f->last);
	}
	if (f->since)
		number_condition(q, "ended >= ?", f->since);
	if (f->until)
		number_condition(q, "ended < ?", f->until);
	if (f->after_ended) {
		number_condition(q, "(ended, key, attempt) < (?", f->after_ended);
		q->v[q->n] = (struct value){.n = (int64_t)f->after_key};
		q->v[q->n + 1] = (struct value){.n = f->after_attempt};
		q->types[q->n] = q->types[q->n + 1] = 'i';
		strbuf_printf(&q->sql, ", $%d, $%d)", q->n + 1, q->n + 2);
		q->n += 2;
	}
}

static int query_run(struct store *s, struct query *q, const char *out, row_fn row, void *context, struct err *err)
{
	struct statement_row statement = {strbuf_text(&q->sql), q->types, out};
	int rc = s->back->ask(s->db, &statement, q->v, row, context, err);

	strbuf_fini(&q->sql);
	return rc;
}

struct telling {
	int (*sum)(void *context, const struct history_sum *sum);
	int (*entry)(void *context, const struct ledger_row *row);
	void *context;
};

/* ---- history and pile combined ---- */

/* Evaluates the condition of list_condition() for a row of the pile. */
static bool in_list(const char *list, const char *name)
{
	struct strbuf word = {0};

	if (!list || !name)
		return false;
	strbuf_printf(&word, ",%s,", name);
	bool found = strstr(list, strbuf_text(&word)) != NULL;
	strbuf_fini(&word);
	return found;
}

static bool in_sight(const struct history_sight *w, const struct history_row *row)
{
	return !w->user || strcmp(row->user, w->user) == 0 || in_list(w->queues, row->queue) ||
	       in_list(w->accounts, row->account);
}

/* Compares by end, key and attempt. */
static int order_of(const struct history_row *row, int64_t ended, uint64_t key, int64_t attempt)
{
	if (row->ended != ended)
		return row->ended < ended ? -1 : 1;
	if (row->key != key)
		return row->key < key ? -1 : 1;
	return (row->attempt > attempt) - (row->attempt < attempt);
}

/* Evaluates the conditions of filter_add() for a row of the pile. */
static bool filter_fits(const struct history_filter *f, const struct history_row *row)
{
	for (size_t i = 0; i < FILTER_TEXTS; i++) {
		const char *wanted = text_at(f, filter_texts[i].wanted), *text = text_at(row, filter_texts[i].at);
		if (wanted && (!text || strcmp(text, wanted) != 0))
			return false;
	}
	return (f->attempts || row->last) && in_sight(&f->sight, row) &&
	       (!f->prefix || strncmp(row->name, f->prefix, strlen(f->prefix)) == 0) &&
	       (!f->last || (row->key >= f->first && row->key <= f->last)) && (!f->since || row->ended >= f->since) &&
	       (!f->until || row->ended < f->until) &&
	       (!f->after_ended || order_of(row, f->after_ended, f->after_key, f->after_attempt) < 0);
}

static int newest_first(const void *a, const void *b)
{
	const struct history_row *y = b;

	return -order_of(a, y->ended, y->key, y->attempt);
}

static int by_key(const void *a, const void *b)
{
	const struct history_row *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return (x->attempt > y->attempt) - (x->attempt < y->attempt);
}

#define ENOUGH INT32_MAX /* returned when enough rows were reported */

/* Merges rows of the history and of the pile. */
struct merging {
	history_fn one;
	void *context;
	struct pile_rows pile;
	VEC(struct history_row) fit; /* matching rows of the pile, in order */
	size_t next;
	int (*order)(const void *a, const void *b);
	int64_t told, most;
};

static int merge_tell(struct merging *m, const struct history_row *row)
{
	if (m->most && m->told == m->most)
		return ENOUGH;
	m->told++;
	return m->one(m->context, row);
}

/* Reports the rows of the pile that come before a row; NULL: all. */
static int merge_until(struct merging *m, const struct history_row *row)
{
	int rc = 0;

	while (rc == 0 && m->next < m->fit.n && (!row || m->order(&m->fit.v[m->next], row) < 0))
		rc = merge_tell(m, &m->fit.v[m->next++]);
	return rc;
}

static int merge_row(void *context, const struct value *v)
{
	const struct history_row row = history_row_of(v);
	struct merging *m = context;

	if (pile_has(&m->pile, row.key, row.attempt))
		return 0;
	int rc = merge_until(m, &row);
	return rc == 0 ? merge_tell(m, &row) : rc;
}

static int merge_run(struct store *s, struct merging *m, const struct history_filter *f, struct query *q,
		     struct err *err)
{
	int rc = pile_read(s, &m->pile, err);

	if (rc < 0) {
		strbuf_fini(&q->sql);
		return rc;
	}
	for (size_t i = 0; i < m->pile.v.n; i++)
		if (filter_fits(f, &m->pile.v.v[i]))
			vec_push(&m->fit, m->pile.v.v[i]);
	if (m->fit.n)
		qsort(m->fit.v, m->fit.n, sizeof *m->fit.v, m->order);
	if (m->most)
		strbuf_printf(&q->sql, " LIMIT %lld", (long long)m->most + (long long)m->pile.v.n);
	rc = query_run(s, q, HISTORY_TYPES, merge_row, m, err);
	if (rc == 0)
		rc = merge_until(m, NULL);
	vec_free(&m->fit);
	pile_done(s, &m->pile);
	return rc == ENOUGH ? 0 : rc;
}

int history_read(struct store *s, const struct history_filter *f, history_fn one, void *context, struct err *err)
{
	struct merging m = {.one = one, .context = context, .order = newest_first, .most = f->most};
	struct query q = {0};

	strbuf_puts(&q.sql, "SELECT " HISTORY_COLUMNS " FROM history");
	filter_add(&q, f);
	strbuf_puts(&q.sql, " ORDER BY ended DESC, key DESC, attempt DESC");
	return merge_run(s, &m, f, &q, err);
}

static int take_ended(void *context, const struct value *v)
{
	*(int64_t *)context = v[0].n;
	return 0;
}

static int oldest_filed(struct store *s, int64_t *ret_ended, struct err *err)
{
	struct query q = {0};

	*ret_ended = 0;
	strbuf_puts(&q.sql, "SELECT ended FROM history ORDER BY ended LIMIT 1");
	return query_run(s, &q, "i", take_ended, ret_ended, err);
}

int history_oldest(struct store *s, int64_t *ret_ended, struct err *err)
{
	struct pile_rows pile;
	int rc = pile_read(s, &pile, err);

	if (rc < 0)
		return rc;
	rc = oldest_filed(s, ret_ended, err);
	for (size_t i = 0; i < pile.v.n; i++)
		if (*ret_ended == 0 || pile.v.v[i].ended < *ret_ended)
			*ret_ended = pile.v.v[i].ended;
	pile_done(s, &pile);
	return rc;
}

int history_job(struct store *s, uint64_t key, history_fn one, void *context, struct err *err)
{
	struct merging m = {.one = one, .context = context, .order = by_key};
	uint64_t last = job_key_index(key) < 0 ? job_key(job_key_number(key), JOB_INDEX_MAX) : key;
	const struct history_filter f = {.first = key, .last = last, .attempts = true};
	struct query q = {0};

	strbuf_puts(&q.sql, "SELECT " HISTORY_COLUMNS " FROM history WHERE 1 = 1");
	number_condition(&q, "key >= ?", (int64_t)key);
	number_condition(&q, "key <= ?", (int64_t)last);
	strbuf_puts(&q.sql, " ORDER BY key, attempt");
	return merge_run(s, &m, &f, &q, err);
}

static int take_count(void *context, const struct value *v)
{
	*(int64_t *)context += v[0].n;
	return 0;
}

int history_known(struct store *s, const uint64_t *keys, size_t n, int64_t *ret, struct err *err)
{
	int rc = 0;

	*ret = 0;
	for (size_t i = 0; i < n && rc == 0;) {
		struct query q = {0};
		strbuf_puts(&q.sql, "SELECT count(*) FROM history WHERE key IN (");
		for (; i < n && q.n < VALUES_MAX; i++) {
			q.v[q.n] = (struct value){.n = (int64_t)keys[i]};
			q.types[q.n++] = 'i';
			strbuf_printf(&q.sql, "%s$%d", q.n > 1 ? ", " : "", q.n);
		}
		strbuf_puts(&q.sql, ")");
		rc = query_run(s, &q, "i", take_count, ret, err);
	}
	return rc;
}

/* ---- sums ---- */

static const struct {
	const char *sql;
	size_t at; /* offset in the row */
} columns[HISTORY_BY_COUNT] = {
#define COLUMN(c)                                                                                                      \
	{                                                                                                              \
		"\"" #c "\"", offsetof(struct history_row, c)                                                          \
	}
	[BY_ALL] = {"CAST(NULL AS TEXT)", 0},
	[BY_USER] = COLUMN(user),
	[BY_GROUP] = COLUMN(group),
	[BY_ACCOUNT] = COLUMN(account),
	[BY_QUEUE] = COLUMN(queue),
	[BY_STATE] = COLUMN(state),
	[BY_QOS] = COLUMN(qos),
#undef COLUMN
};

static struct usage usage_of(const struct value v[4])
{
	return (struct usage){.ran_ms = v[0].n, .alloc_ms = v[1].n, .gpu_ms = v[2].n, .cpu_ms = v[3].n};
}

static int tell_sum(void *context, const struct value *v)
{
	struct telling *t = context;
	struct history_sum sum = {.name = v[0].text,
				  .jobs = v[1].n,
				  .used = usage_of(v + 2),
				  .asked = v[6].n,
				  .waited = v[7].n,
				  .started = v[8].n};

	return t->sum(t->context, &sum);
}

#define SUM(what) "CAST(coalesce(sum(" what "), 0) AS BIGINT), "
#define IF_STARTED(what) SUM("CASE WHEN started > 0 THEN " what " ELSE 0 END")

/* Sums in the database, with one statement. */
static int sum_by_it(struct store *s, const struct history_filter *f, enum history_by by, struct telling *t,
		     struct err *err)
{
	struct query q = {0};

	strbuf_printf(&q.sql, "SELECT %s, count(*), ", columns[by].sql);
	strbuf_puts(&q.sql,
		    SUM("ran_ms") SUM("cpus * ran_ms") SUM("gpus * ran_ms") SUM("cpu_ms") IF_STARTED("cpus * walltime")
			    IF_STARTED("started - submitted") "count(CASE WHEN started > 0 THEN 1 END) FROM history");
	filter_add(&q, f);
	if (by != BY_ALL)
		strbuf_printf(&q.sql, " GROUP BY %s", columns[by].sql);
	return query_run(s, &q, "tiiiiiiii", tell_sum, t, err);
}

/* Sums under construction. For GROUP BY, SQLite would read the rows in the order of an index on
 * the column, each from another place of the table, which takes eight times as long as a scan. */
struct sums {
	VEC(struct history_sum) v; /* owns the names */
	struct map at;		   /* hash of the name -> index + 1; colliding names use the next free slot */
	const struct pile_rows *pile;
};

static bool same_name(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : !a && !b;
}

static struct history_sum *sum_of(struct sums *x, const char *name)
{
	uint64_t hash = name ? hash_bytes(name, strlen(name)) : 0, *at;

	while (*(at = map_at(&x->at, hash)) && !same_name(x->v.v[*at - 1].name, name))
		hash++;
	if (*at == 0) {
		vec_push(&x->v, (struct history_sum){.name = name ? mem_strdup(name) : NULL});
		*at = x->v.n;
	}
	return &x->v.v[*at - 1];
}

static void row_add(struct sums *x, const char *name, const struct history_row *row)
{
	struct history_sum *sum = sum_of(x, name);

	sum->jobs++;
	sum->used.ran_ms += row->ran_ms;
	sum->used.alloc_ms += row->cpus * row->ran_ms;
	sum->used.gpu_ms += row->gpus * row->ran_ms;
	sum->used.cpu_ms += row->cpu_ms;
	if (row->started > 0) {
		sum->started++;
		sum->asked += row->cpus * row->walltime;
		sum->waited += row->started - row->submitted;
	}
}

static int row_sum(void *context, const struct value *v)
{
	const struct history_row row = {.ran_ms = v[1].n,
					.cpus = v[2].n,
					.gpus = v[3].n,
					.cpu_ms = v[4].n,
					.walltime = v[5].n,
					.started = v[6].n,
					.submitted = v[7].n};
	struct sums *x = context;

	if (x->pile->v.n == 0 || !pile_has(x->pile, (uint64_t)v[8].n, v[9].n))
		row_add(x, v[0].text, &row);
	return 0;
}

/* Adds the matching rows of the pile. */
static void pile_sum(struct sums *x, const struct history_filter *f, enum history_by by)
{
	for (size_t i = 0; i < x->pile->v.n; i++) {
		const struct history_row *row = &x->pile->v.v[i];
		if (filter_fits(f, row))
			row_add(x, by == BY_ALL ? NULL : text_at(row, columns[by].at), row);
	}
}

static int by_name(const void *a, const void *b)
{
	const char *x = ((const struct history_sum *)a)->name, *y = ((const struct history_sum *)b)->name;

	return x && y ? strcmp(x, y) : (x != NULL) - (y != NULL);
}

/* Sums rows here. A time condition that excludes nothing is dropped, because its index would
 * only slow down the scan. */
static int sum_here(struct store *s, const struct history_filter *f, enum history_by by, const struct pile_rows *pile,
		    struct telling *t, struct err *err)
{
	struct history_filter all = *f;
	struct sums sums = {.pile = pile};
	struct query q = {0};
	int64_t oldest = 0;
	int rc = f->since ? oldest_filed(s, &oldest, err) : 0;

	if (oldest >= f->since)
		all.since = 0;
	if (by == BY_ALL)
		sum_of(&sums, NULL); /* BY_ALL has one sum, even without rows */
	strbuf_printf(&q.sql, "SELECT %s, ran_ms, cpus, gpus, cpu_ms, walltime, started, submitted%s FROM history",
		      columns[by].sql, pile->v.n ? ", key, attempt" : "");
	filter_add(&q, &all);
	if (rc == 0)
		rc = query_run(s, &q, pile->v.n ? "tiiiiiiiii" : "tiiiiiii", row_sum, &sums, err);
	else
		strbuf_fini(&q.sql);
	pile_sum(&sums, f, by);
	if (sums.v.n)
		qsort(sums.v.v, sums.v.n, sizeof *sums.v.v, by_name);
	for (size_t i = 0; i < sums.v.n; i++) {
		if (rc == 0)
			rc = t->sum(t->context, &sums.v.v[i]);
		free((char *)sums.v.v[i].name);
	}
	vec_free(&sums.v);
	map_fini(&sums.at);
	return rc;
}

int history_sum(struct store *s, const struct history_filter *f, enum history_by by,
		int (*one)(void *context, const struct history_sum *sum), void *context, struct err *err)
{
	struct telling t = {.sum = one, .context = context};
	struct pile_rows pile;
	int rc = pile_read(s, &pile, err);

	if (rc < 0)
		return rc;
	rc = pile.v.n || (by != BY_ALL && !s->back->groups) ? sum_here(s, f, by, &pile, &t, err)
							    : sum_by_it(s, f, by, &t, err);
	pile_done(s, &pile);
	return rc;
}

static int tell_entry(void *context, const struct value *v)
{
	struct telling *t = context;
	struct ledger_row row = {.day = v[0].n,
				 .user = v[1].text,
				 .group = v[2].text,
				 .account = v[3].text,
				 .queue = v[4].text,
				 .attempts = v[5].n,
				 .used = usage_of(v + 6)};

	return t->entry(t->context, &row);
}

int ledger_read(struct store *s, int64_t first, int64_t last, int (*one)(void *context, const struct ledger_row *row),
		void *context, struct err *err)
{
	struct telling t = {.entry = one, .context = context};
	struct query q = {0};

	strbuf_puts(&q.sql, "SELECT " LEDGER_COLUMNS " FROM ledger WHERE 1 = 1");
	number_condition(&q, "day >= ?", first);
	number_condition(&q, "day <= ?", last);
	strbuf_puts(&q.sql, " ORDER BY day");
	return query_run(s, &q, LEDGER_TYPES, tell_entry, &t, err);
}

int store_open_reader(const char *url, struct store **ret, struct err *err)
{
	return store_open_as(url, OPEN_EXISTING, ret, err);
}
