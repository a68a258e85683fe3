/*
 * graph.c - see graph.h.
 */
#include "bag/graph.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/amount.h"
#include "base/timetext.h"

struct edge {
	int from, to;
};

struct reader {
	struct graph *g;
	const char **after; /* by task: its list of predecessors, in the text */
	size_t *nafter;	    /* length of that list */
	int *by_name;	    /* tasks sorted by name */
	VEC(struct edge) edges;
};

/* ---- lines ---- */

static int word_take(struct reader *r, int task, const char *word, size_t n, int64_t line, struct err *err)
{
	struct graph_task *t = &r->g->tasks[task];
	char value[128] = "";
	const char *equal = memchr(word, '=', n);
	size_t nkey = equal ? (size_t)(equal - word) : n;

	if (equal && strncmp(word, "after", nkey) == 0 && nkey == 5) {
		r->after[task] = equal + 1;
		r->nafter[task] = n - nkey - 1;
		return 0;
	}
	if (n - nkey >= sizeof value || n >= sizeof t->name + 128)
		return err_set(err, -EINVAL, "line %lld: a word is too long", (long long)line);
	if (!equal) {
		if (n >= sizeof t->name || t->name[0] || memchr(word, ',', n))
			return err_set(err, -EINVAL,
				       "line %lld: a task has one name, of at most %zu characters and without a comma",
				       (long long)line, sizeof t->name - 1);
		memcpy(t->name, word, n);
		return 0;
	}
	memcpy(value, equal + 1, n - nkey - 1);
	if (nkey == 4 && strncmp(word, "time", 4) == 0 && duration_parse(value, &t->seconds, err) == 0 &&
	    t->seconds >= 0 && t->seconds < INT32_MAX)
		return 0;
	if (nkey == 3 && strncmp(word, "mem", 3) == 0 && memory_parse(value, &t->memory, err) == 0)
		return 0;
	if (nkey == 4 && strncmp(word, "arch", 4) == 0 && value[0] && strlen(value) < sizeof t->arch) {
		strcpy(t->arch, value);
		return 0;
	}
	return err_set(err, -EINVAL,
		       "line %lld: %.*s: allowed are a name, after=NAMES, time=DURATION, mem=SIZE and arch=NAME",
		       (long long)line, (int)n, word);
}

/* Reads the words after `#task`. */
static int words_take(struct reader *r, int task, const char *at, const char *end, int64_t line, struct err *err)
{
	int rc = 0;

	while (rc == 0 && at < end) {
		const char *from = at;
		while (at < end && *at != ' ' && *at != '\t' && *at != '\r')
			at++;
		if (at > from)
			rc = word_take(r, task, from, (size_t)(at - from), line, err);
		at += at < end;
	}
	return rc;
}

static bool is_task_line(const char *at, const char *end)
{
	return end - at >= 5 && memcmp(at, "#task", 5) == 0 &&
	       (end - at == 5 || at[5] == ' ' || at[5] == '\t' || at[5] == '\r');
}

/* Reads all `#task` lines; each belongs to the next command. */
static int lines_take(struct reader *r, struct err *err)
{
	const struct bag *b = &r->g->bag;
	const char *end = b->text + b->n;
	int64_t line = 0;
	int task = 0, rc = 0;

	for (const char *at = b->text, *next; at < end && rc == 0; at = next) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));
		stop = stop ? stop : end;
		next = stop < end ? stop + 1 : end;
		line++;
		while (task < r->g->n && b->text + b->tasks.v[task].at < at)
			task++;
		if (!is_task_line(at, stop))
			continue;
		rc = task < r->g->n ? words_take(r, task, at + 5, stop, line, err)
				    : err_set(err, -EINVAL, "line %lld: a command must follow", (long long)line);
	}
	return rc;
}

/* ---- edges ---- */

static int by_name(const void *a, const void *b, void *graph)
{
	const struct graph *g = graph;

	return strcmp(g->tasks[*(const int *)a].name, g->tasks[*(const int *)b].name);
}

static int names_sort(struct reader *r, struct err *err)
{
	struct graph *g = r->g;

	for (int i = 0; i < g->n; i++) {
		if (!g->tasks[i].name[0])
			snprintf(g->tasks[i].name, sizeof g->tasks[i].name, "%d", i + 1);
		r->by_name[i] = i;
	}
	qsort_r(r->by_name, (size_t)g->n, sizeof *r->by_name, by_name, g);
	for (int i = 1; i < g->n; i++)
		if (by_name(&r->by_name[i - 1], &r->by_name[i], g) == 0)
			return err_set(err, -EINVAL, "two tasks are called %s", g->tasks[r->by_name[i]].name);
	return 0;
}

static int name_find(const struct reader *r, const char *name)
{
	int low = 0, high = r->g->n - 1;

	while (low <= high) {
		int mid = low + (high - low) / 2, order = strcmp(r->g->tasks[r->by_name[mid]].name, name);
		if (order == 0)
			return r->by_name[mid];
		if (order < 0)
			low = mid + 1;
		else
			high = mid - 1;
	}
	return -1;
}

static int edges_read(struct reader *r, int task, struct err *err)
{
	const char *at = r->after[task], *end = at ? at + r->nafter[task] : NULL;

	while (at < end) {
		const char *comma = memchr(at, ',', (size_t)(end - at));
		size_t n = (size_t)((comma ? comma : end) - at);
		char name[GRAPH_NAME_SIZE] = "";
		int from = -1;
		if (n && n < sizeof name) {
			memcpy(name, at, n);
			from = name_find(r, name);
		}
		if (from < 0)
			return err_set(err, -EINVAL, "task %s: after=%.*s: there is no such task",
				       r->g->tasks[task].name, (int)n, at);
		if (r->edges.n >= GRAPH_EDGES_MOST)
			return err_set(err, -E2BIG, "more than %d edges", GRAPH_EDGES_MOST);
		vec_push(&r->edges, (struct edge){from, task});
		r->g->tasks[task].waits++;
		at += n + (comma != NULL);
	}
	return 0;
}

static void edges_file(struct reader *r)
{
	struct graph *g = r->g;
	int sum = 0;

	for (size_t i = 0; i < r->edges.n; i++)
		g->tasks[r->edges.v[i].from].nafter++;
	for (int i = 0; i < g->n; i++) {
		g->tasks[i].first = sum;
		sum += g->tasks[i].nafter;
		g->tasks[i].nafter = 0;
	}
	vec_reserve(&g->after, (size_t)sum + 1);
	g->after.n = (size_t)sum;
	for (size_t i = 0; i < r->edges.n; i++) {
		struct graph_task *t = &g->tasks[r->edges.v[i].from];
		g->after.v[t->first + t->nafter++] = r->edges.v[i].to;
	}
}

/* Computes the longest paths from the ends backwards. A task that is not reached from a
 * beginning is part of a cycle, or behind one. */
static int paths_measure(struct graph *g, struct err *err)
{
	int *order = mem_realloc(NULL, (size_t)g->n + 1, sizeof *order),
	    *waits = mem_realloc(NULL, (size_t)g->n + 1, sizeof *waits);
	int n = 0, rc = 0;

	for (int i = 0; i < g->n; i++) {
		waits[i] = g->tasks[i].waits;
		if (!waits[i])
			order[n++] = i;
	}
	for (int k = 0; k < n; k++)
		for (int j = 0; j < g->tasks[order[k]].nafter; j++) {
			int to = g->after.v[g->tasks[order[k]].first + j];
			if (--waits[to] == 0)
				order[n++] = to;
		}
	for (int i = 0; i < g->n && n < g->n && rc == 0; i++)
		if (waits[i])
			rc = err_set(err, -EINVAL, "task %s waits for itself, through others or directly",
				     g->tasks[i].name);
	for (int k = n - 1; k >= 0; k--) {
		struct graph_task *t = &g->tasks[order[k]];
		int64_t most = 0;
		for (int j = 0; j < t->nafter; j++) {
			int64_t behind = g->tasks[g->after.v[t->first + j]].remaining;
			most = behind > most ? behind : most;
		}
		t->remaining = t->seconds + most;
	}
	free(order);
	free(waits);
	return rc;
}

int graph_parse(const char *text, size_t n, struct graph *ret, struct err *err)
{
	struct graph g = {0};
	struct reader r = {.g = &g};
	int rc = bag_parse(text, n, &g.bag, err);

	if (rc < 0)
		return rc;
	if (g.bag.tasks.n > GRAPH_TASKS_MOST) {
		bag_fini(&g.bag);
		return err_set(err, -E2BIG, "more than %d tasks", GRAPH_TASKS_MOST);
	}
	g.n = (int)g.bag.tasks.n;
	g.tasks = mem_zalloc(((size_t)g.n + 1) * sizeof *g.tasks);
	r.after = mem_zalloc(((size_t)g.n + 1) * sizeof *r.after);
	r.nafter = mem_zalloc(((size_t)g.n + 1) * sizeof *r.nafter);
	r.by_name = mem_zalloc(((size_t)g.n + 1) * sizeof *r.by_name);
	for (int i = 0; i < g.n; i++) {
		const struct bag_need *need = &g.bag.needs.v[g.bag.tasks.v[i].need];
		g.tasks[i].seconds = need->seconds ? need->seconds : 1;
		g.tasks[i].memory = need->memory;
	}
	if ((rc = lines_take(&r, err)) == 0)
		rc = names_sort(&r, err);
	for (int i = 0; i < g.n && rc == 0; i++)
		rc = edges_read(&r, i, err);
	if (rc == 0) {
		edges_file(&r);
		rc = paths_measure(&g, err);
	}
	free(r.after);
	free(r.nafter);
	free(r.by_name);
	vec_free(&r.edges);
	if (rc < 0)
		graph_fini(&g);
	else
		*ret = g;
	return rc;
}

void graph_fini(struct graph *g)
{
	bag_fini(&g->bag);
	free(g->tasks);
	vec_free(&g->after);
}

void graph_done(struct graph *g, int task, void (*ready)(void *context, int task), void *context)
{
	const struct graph_task *t = &g->tasks[task];

	for (int i = 0; i < t->nafter; i++) {
		int to = g->after.v[t->first + i];
		if (--g->tasks[to].waits == 0)
			ready(context, to);
	}
}
