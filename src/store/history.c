/*
 * history.c - rows of jobs that have ended, put and found; the ledger.
 *
 * What is asked for differs from time to time, so the statement is built of the conditions that there are, and the database finds the index that
 * fits; all values are parameters.
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

static struct pile_row row_values(const struct history_row *row)
{
	return (struct pile_row){.v = {{.n = (int64_t)row->key}, {.n = row->attempt},	   {.n = row->last},
				       borrowed(row->id),	 borrowed(row->user),	   borrowed(row->group),
				       borrowed(row->account),	 borrowed(row->project),   borrowed(row->queue),
				       borrowed(row->name),	 borrowed(row->resources), borrowed(row->hosts),
				       borrowed(row->state),	 borrowed(row->text),	   {.n = row->exit_status},
				       {.n = row->submitted},	 {.n = row->started},	   {.n = row->ended},
				       {.n = row->nodes},	 {.n = row->cpus},	   {.n = row->gpus},
				       {.n = row->memory_kib},	 {.n = row->walltime},	   {.n = row->ran_ms},
				       {.n = row->cpu_ms},	 {.n = row->peak_kib},	   {.n = row->lost_ms},
				       borrowed(row->qos)}};
}

static void row_change(struct store *s, enum statement what, const struct history_row *row)
{
	struct pile_row x = row_values(row);

	for (int i = 0; i < HISTORY_WIDTH; i++)
		if (HISTORY_TYPES[i] == 't')
			x.v[i] = store_text(s, x.v[i].text);
	change_add(s, what, x.v);
}

void store_put_history(struct store *s, const struct history_row *row)
{
	if (s->back->pile || pile_used(s)) {
		struct pile_row x = row_values(row);
		pile_put(s, &x);
	} else
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

/* The addition of the same entry that is queued last, so that thousands of jobs that end together are one; NULL: it is another's, or may be on disk. */
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
		ledger_change(s, ADD_LEDGER, row, 0, 0); /* which has no place for the last two */
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

	if (pile_used(s)) /* its row may lie there */
		pile_lost(s, key, attempt, lost_ms);
	else
		change_add(s, SET_LOST, v);
}

void store_trim_history(struct store *s, int64_t before, int64_t most)
{
	const struct value v[] = {{.n = before}, {.n = most}};

	change_add(s, TRIM_HISTORY, v);
}

/* ---- looking ---- */

/* A statement under construction: its text, and the values of its parameters. */
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

/* Whether a list has a column's value: without it the list would be another. Exact in both databases, as LIKE is not. */
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

static void filter_add(struct query *q, const struct history_filter *f)
{
	strbuf_puts(&q->sql, f->attempts ? " WHERE 1 = 1" : " WHERE last = 1");
	text_condition(q, "\"user\" = ?", f->user);
	text_condition(q, "\"group\" = ?", f->group);
	text_condition(q, "account = ?", f->account);
	text_condition(q, "project = ?", f->project);
	text_condition(q, "queue = ?", f->queue);
	text_condition(q, "qos = ?", f->qos);
	text_condition(q, "state = ?", f->state);
	sight_add(q, &f->sight);
	text_condition(q, "name = ?", f->name);
	text_condition(q, "id = ?", f->id);
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
	history_fn row;
	int (*sum)(void *context, const struct history_sum *sum);
	int (*entry)(void *context, const struct ledger_row *row);
	void *context;
};

static int row_tell(const struct telling *t, const struct value *v)
{
	struct history_row row = {
		.key = (uint64_t)v[0].n,
		.attempt = v[1].n,
		.last = v[2].n,
		.id = v[3].text,
		.user = v[4].text,
		.group = v[5].text,
		.account = v[6].text,
		.project = v[7].text,
		.queue = v[8].text,
		.name = v[9].text,
		.resources = v[10].text,
		.hosts = v[11].text,
		.state = v[12].text,
		.text = v[13].text,
		.exit_status = v[14].n,
		.submitted = v[15].n,
		.started = v[16].n,
		.ended = v[17].n,
		.nodes = v[18].n,
		.cpus = v[19].n,
		.gpus = v[20].n,
		.memory_kib = v[21].n,
		.walltime = v[22].n,
		.ran_ms = v[23].n,
		.cpu_ms = v[24].n,
		.peak_kib = v[25].n,
		.lost_ms = v[26].n,
		.qos = v[HISTORY_QOS].text,
	};

	return t->row(t->context, &row);
}

/* ---- of history and pile, as if they were one ---- */

/* The same as list_condition(). */
static bool in_list(const char *list, const struct value *v)
{
	struct strbuf word = {0};

	if (!list || !v->text)
		return false;
	strbuf_printf(&word, ",%s,", v->text);
	bool found = strstr(list, strbuf_text(&word)) != NULL;
	strbuf_fini(&word);
	return found;
}

static bool in_sight(const struct history_sight *w, const struct value *v)
{
	return !w->user || is_text(&v[HISTORY_USER], w->user) || in_list(w->queues, &v[HISTORY_QUEUE]) ||
	       in_list(w->accounts, &v[HISTORY_ACCOUNT]);
}

/* By end, key and attempt. */
static int order_of(const struct value *v, int64_t ended, int64_t key, int64_t attempt)
{
	if (v[HISTORY_ENDED].n != ended)
		return v[HISTORY_ENDED].n < ended ? -1 : 1;
	if (v[HISTORY_KEY].n != key)
		return v[HISTORY_KEY].n < key ? -1 : 1;
	return (v[HISTORY_ATTEMPT].n > attempt) - (v[HISTORY_ATTEMPT].n < attempt);
}

/* The same as filter_add(). */
static bool filter_fits(const struct history_filter *f, const struct value *v)
{
	const struct {
		const char *wanted;
		int column;
	} texts[] = {
		{f->user, HISTORY_USER},       {f->group, HISTORY_GROUP}, {f->account, HISTORY_ACCOUNT},
		{f->project, HISTORY_PROJECT}, {f->queue, HISTORY_QUEUE}, {f->state, HISTORY_STATE},
		{f->name, HISTORY_NAME},       {f->id, HISTORY_ID},	  {f->qos, HISTORY_QOS},
	};

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		if (texts[i].wanted && !is_text(&v[texts[i].column], texts[i].wanted))
			return false;
	return (f->attempts || v[HISTORY_LAST].n == 1) && in_sight(&f->sight, v) &&
	       (!f->prefix || strncmp(v[HISTORY_NAME].text, f->prefix, strlen(f->prefix)) == 0) &&
	       (!f->last || (v[HISTORY_KEY].n >= (int64_t)f->first && v[HISTORY_KEY].n <= (int64_t)f->last)) &&
	       (!f->since || v[HISTORY_ENDED].n >= f->since) && (!f->until || v[HISTORY_ENDED].n < f->until) &&
	       (!f->after_ended || order_of(v, f->after_ended, (int64_t)f->after_key, f->after_attempt) < 0);
}

static int newest_first(const void *a, const void *b)
{
	const struct value *y = ((const struct pile_row *)b)->v;

	return -order_of(((const struct pile_row *)a)->v, y[HISTORY_ENDED].n, y[HISTORY_KEY].n, y[HISTORY_ATTEMPT].n);
}

static int by_key(const void *a, const void *b)
{
	const struct value *x = ((const struct pile_row *)a)->v, *y = ((const struct pile_row *)b)->v;

	if (x[HISTORY_KEY].n != y[HISTORY_KEY].n)
		return x[HISTORY_KEY].n < y[HISTORY_KEY].n ? -1 : 1;
	return (x[HISTORY_ATTEMPT].n > y[HISTORY_ATTEMPT].n) - (x[HISTORY_ATTEMPT].n < y[HISTORY_ATTEMPT].n);
}

#define ENOUGH INT32_MAX /* rows were told */

/* Rows of the history, with those of the pile between them. */
struct merging {
	struct telling telling;
	struct pile_rows pile;
	VEC(struct pile_row) fit; /* of the pile, in order */
	size_t next;
	int (*order)(const void *a, const void *b);
	int64_t told, most;
};

static int merge_tell(struct merging *m, const struct value *v)
{
	if (m->most && m->told == m->most)
		return ENOUGH;
	m->told++;
	return row_tell(&m->telling, v);
}

/* Those of the pile that come before a row; NULL: all. */
static int merge_until(struct merging *m, const void *row)
{
	int rc = 0;

	while (rc == 0 && m->next < m->fit.n && (!row || m->order(&m->fit.v[m->next], row) < 0))
		rc = merge_tell(m, m->fit.v[m->next++].v);
	return rc;
}

static int merge_row(void *context, const struct value *v)
{
	struct merging *m = context;

	if (m->pile.v.n == 0)
		return merge_tell(m, v);
	if (pile_has(&m->pile, v[HISTORY_KEY].n, v[HISTORY_ATTEMPT].n))
		return 0;
	int rc = merge_until(m, v);
	return rc == 0 ? merge_tell(m, v) : rc;
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
		if (filter_fits(f, m->pile.v.v[i].v))
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
	struct merging m = {.telling = {.row = one, .context = context}, .order = newest_first, .most = f->most};
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
		if (*ret_ended == 0 || pile.v.v[i].v[HISTORY_ENDED].n < *ret_ended)
			*ret_ended = pile.v.v[i].v[HISTORY_ENDED].n;
	pile_done(s, &pile);
	return rc;
}

int history_job(struct store *s, uint64_t key, history_fn one, void *context, struct err *err)
{
	struct merging m = {.telling = {.row = one, .context = context}, .order = by_key};
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

static const char *const columns[HISTORY_BY_COUNT] = {
	[BY_USER] = "\"user\"", [BY_GROUP] = "\"group\"", [BY_ACCOUNT] = "account",
	[BY_QUEUE] = "queue",	[BY_STATE] = "state",	  [BY_QOS] = "qos"};

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

/* By the database, in one statement. */
static int sum_by_it(struct store *s, const struct history_filter *f, enum history_by by, struct telling *t,
		     struct err *err)
{
	struct query q = {0};

	strbuf_printf(&q.sql, "SELECT %s, count(*), ", columns[by] ? columns[by] : "CAST(NULL AS TEXT)");
	strbuf_puts(&q.sql,
		    SUM("ran_ms") SUM("cpus * ran_ms") SUM("gpus * ran_ms") SUM("cpu_ms") IF_STARTED("cpus * walltime")
			    IF_STARTED("started - submitted") "count(CASE WHEN started > 0 THEN 1 END) FROM history");
	filter_add(&q, f);
	if (columns[by])
		strbuf_printf(&q.sql, " GROUP BY %s", columns[by]);
	return query_run(s, &q, "tiiiiiiii", tell_sum, t, err);
}

/* Sums under construction. SQLite would read the rows in the order of an index on the column, each from another place of the table, which takes eight times
 * as long as to read them as they lie. */
struct sums {
	VEC(struct history_sum) v; /* the names are ours */
	struct map at; /* hash of the name -> index + 1; the next free slot for another name of the same hash */
	const struct pile_rows *pile;
};

static bool same_name(const char *a, const struct value *b)
{
	return a && b->text ? strcmp(a, b->text) == 0 : !a && !b->text;
}

static struct history_sum *sum_of(struct sums *x, const struct value *name)
{
	uint64_t hash = name->text ? hash_bytes(name->text, (size_t)name->n) : 0, *at;

	while (*(at = map_at(&x->at, hash)) && !same_name(x->v.v[*at - 1].name, name))
		hash++;
	if (*at == 0) {
		vec_push(&x->v, (struct history_sum){.name = name->text ? mem_strdup(name->text) : NULL});
		*at = x->v.n;
	}
	return &x->v.v[*at - 1];
}

static void row_add(struct sums *x, const struct value *v)
{
	struct history_sum *sum = sum_of(x, &v[0]);
	int64_t ran = v[1].n, cpus = v[2].n, started = v[6].n;

	sum->jobs++;
	sum->used.ran_ms += ran;
	sum->used.alloc_ms += cpus * ran;
	sum->used.gpu_ms += v[3].n * ran;
	sum->used.cpu_ms += v[4].n;
	if (started > 0) {
		sum->started++;
		sum->asked += cpus * v[5].n;
		sum->waited += started - v[7].n;
	}
}

static int row_sum(void *context, const struct value *v)
{
	struct sums *x = context;

	if (x->pile->v.n == 0 || !pile_has(x->pile, v[8].n, v[9].n))
		row_add(x, v);
	return 0;
}

/* Those of the pile, too. */
static void pile_sum(struct sums *x, const struct history_filter *f, enum history_by by)
{
	static const int column[HISTORY_BY_COUNT] = {
		[BY_USER] = HISTORY_USER,   [BY_GROUP] = HISTORY_GROUP, [BY_ACCOUNT] = HISTORY_ACCOUNT,
		[BY_QUEUE] = HISTORY_QUEUE, [BY_STATE] = HISTORY_STATE, [BY_QOS] = HISTORY_QOS};

	for (size_t i = 0; i < x->pile->v.n; i++) {
		const struct value *r = x->pile->v.v[i].v;
		const struct value v[] = {columns[by] ? r[column[by]] : (struct value){0},
					  r[HISTORY_RAN],
					  r[HISTORY_CPUS],
					  r[HISTORY_GPUS],
					  r[HISTORY_CPU],
					  r[HISTORY_WALLTIME],
					  r[HISTORY_STARTED],
					  r[HISTORY_SUBMITTED]};
		if (filter_fits(f, r))
			row_add(x, v);
	}
}

static int by_name(const void *a, const void *b)
{
	const char *x = ((const struct history_sum *)a)->name, *y = ((const struct history_sum *)b)->name;

	return x && y ? strcmp(x, y) : (x != NULL) - (y != NULL);
}

/* From the rows. A filter that leaves none out is none: the index is no good for it. */
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
	if (!columns[by])
		sum_of(&sums, &(struct value){0}); /* there is one, also of no rows */
	strbuf_printf(&q.sql, "SELECT %s, ran_ms, cpus, gpus, cpu_ms, walltime, started, submitted%s FROM history",
		      columns[by] ? columns[by] : "CAST(NULL AS TEXT)", pile->v.n ? ", key, attempt" : "");
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
	rc = pile.v.n || (columns[by] && !s->back->groups) ? sum_here(s, f, by, &pile, &t, err)
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
