/*
 * top_data.c - requests the data that shunt-top shows.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/timetext.h"
#include "cmd/jobs/top.h"
#include "cmd/lib/object.h"
#include "cmd/lib/query.h"

#define OUTPUT_KEEP (256 * 1024) /* bytes of a job's output that are kept: its end */

#define TEXT_WIDTH 76

enum { C_ID, C_NAME, C_OWNER, C_STATE, C_CPUS, C_WALLTIME, C_USED, C_STARTED, C_PLANNED, C_COMMENT, C_COUNTS, COLUMNS };
static const char fields[] = "id,name,owner,state,cpus,walltime,used,started,expected_start,comment,array_counts";

struct reading {
	struct top *t;
	struct arena *arena;
	int64_t now;
};

static bool filter_fits(const struct top *t, char *const *cell)
{
	static const int looked_at[] = {C_ID, C_NAME, C_OWNER, C_COMMENT};

	for (int i = 0; i < 4; i++)
		if (strcasestr(cell[looked_at[i]], t->filter))
			return true;
	return strcasestr(state_word(cell[C_STATE]), t->filter);
}

static void times_set(struct top_job *j, char *const *cell, int64_t now)
{
	const char *at = strstr(cell[C_USED], "\"walltime\":");
	int64_t used = at ? strtoll(at + 11, NULL, 10) : 0, limit = strtoll(cell[C_WALLTIME], NULL, 10);
	int64_t started = strtoll(cell[C_STARTED], NULL, 10), planned = strtoll(cell[C_PLANNED], NULL, 10);
	char a[24], b[24], when[24];

	duration_human(used, a, sizeof a);
	duration_human(limit, b, sizeof b);
	snprintf(j->used, sizeof j->used, "%s", started > 0 ? a : b);
	if (started > 0)
		snprintf(j->time, sizeof j->time, "%s of %s", a, b);
	else
		snprintf(j->time, sizeof j->time, "%s", b);
	if (started > 0 || planned > 0)
		snprintf(j->start, sizeof j->start, "%s%s", started > 0 ? "" : "~",
			 instant_near(started > 0 ? started : planned, now, when, sizeof when));
}

/* Writes "2/10 run" for an array. */
static void counts_set(struct top_job *j, const char *cell)
{
	json_t *counts = *cell ? json_loads(cell, 0, NULL) : NULL;
	int64_t total = 0, running = object_number(counts, "R", 0) + object_number(counts, "E", 0);
	const char *key;
	json_t *value;

	json_object_foreach(counts, key, value) total += json_integer_value(value);
	if (total > 0)
		snprintf(j->counts, sizeof j->counts, "%" PRId64 "/%" PRId64 " run", running, total);
	json_decref(counts);
}

static void job_row(void *context, char *const *cell)
{
	struct reading *r = context;
	struct top *t = r->t;
	struct top_job j = {0};

	t->running += strchr("RBSE", cell[C_STATE][0]) != NULL;
	t->waiting += strchr("QHW", cell[C_STATE][0]) != NULL;
	if (t->filter[0] && !filter_fits(t, cell))
		return;
	j.id = arena_strndup(r->arena, cell[C_ID], strlen(cell[C_ID]));
	j.name = arena_strndup(r->arena, cell[C_NAME], strlen(cell[C_NAME]));
	j.owner = arena_strndup(r->arena, cell[C_OWNER], strlen(cell[C_OWNER]));
	j.state = arena_strndup(r->arena, cell[C_STATE], strlen(cell[C_STATE]));
	counts_set(&j, cell[C_COUNTS]);
	j.cpus = arena_strndup(r->arena, cell[C_CPUS], strlen(cell[C_CPUS]));
	j.why = arena_strndup(r->arena, cell[C_COMMENT], strlen(cell[C_COMMENT]));
	times_set(&j, cell, r->now);
	vec_push(&t->jobs, j);
}

static void trouble_set(struct top *t, const struct err *err)
{
	snprintf(t->trouble, sizeof t->trouble, "%s", err->text);
}

static bool jobs_read(struct top *t)
{
	struct reading r = {.t = t, .arena = arena_create(), .now = (int64_t)time(NULL)};
	struct strbuf path = {0};
	struct err err;

	strbuf_puts(&path, "/v1/jobs");
	query_add(&path, "fields", fields);
	query_add(&path, "completed", t->finished ? "1" : "0");
	query_add(&path, "arrays", t->elements ? "expand" : NULL);
	users_query(&path, t->user);
	t->running = t->waiting = 0;
	vec_clear(&t->jobs);
	int rc = tsv_read(t->client, path.text, COLUMNS, job_row, &r, &err);
	strbuf_fini(&path);
	if (rc < 0) {
		trouble_set(t, &err);
		vec_clear(&t->jobs); /* their texts may belong to either list */
	}
	arena_destroy(t->arena);
	t->arena = r.arena;
	return rc == 0;
}

static void nodes_clear(struct top *t)
{
	for (size_t i = 0; i < t->nodes.n; i++) {
		free(t->nodes.v[i].name);
		free(t->nodes.v[i].state);
		free(t->nodes.v[i].note);
	}
	vec_clear(&t->nodes);
}

static bool nodes_read(struct top *t)
{
	struct reply reply = {0};
	const json_t *node;
	struct err err;
	size_t i;
	int rc = client_ask(t->client, "GET", "/v1/nodes", NULL, 0, &reply, &err);

	if (rc < 0) {
		trouble_set(t, &err);
	} else {
		nodes_clear(t);
		json_array_foreach(json_object_get(reply.json, "nodes"), i, node) vec_push(
			&t->nodes, (struct top_node){.name = mem_strdup(object_text(node, "name")),
						     .state = mem_strdup(object_text(node, "state")),
						     .note = mem_strdup(object_text(node, "note")),
						     .cpus = object_number(node, "cpus", 0),
						     .used = object_number(node, "cpus_used", 0),
						     .load = json_number_value(json_object_get(node, "load")),
						     .jobs = (int)json_array_size(json_object_get(node, "jobs"))});
	}
	reply_fini(&reply);
	return rc == 0;
}

static bool server_read(struct top *t)
{
	struct reply reply = {0};
	struct err err;
	int rc = client_ask(t->client, "GET", "/v1/server", NULL, 0, &reply, &err);

	if (rc < 0) {
		trouble_set(t, &err);
	} else {
		snprintf(t->server, sizeof t->server, "%s", object_text(reply.json, "name"));
		snprintf(t->policy, sizeof t->policy, "%s", object_text(reply.json, "policy"));
		int64_t made = object_number(reply.json, "forecast.made", 0);
		t->age = made > 0 ? object_number(reply.json, "now", 0) - made : 0;
		t->cpus = object_number(reply.json, "cpus", 0);
		t->cpus_used = object_number(reply.json, "cpus_used", 0);
	}
	reply_fini(&reply);
	return rc == 0;
}

void top_read(struct top *t)
{
	bool well = server_read(t) && jobs_read(t) && (t->view != VIEW_NODES || nodes_read(t));

	if (well)
		t->trouble[0] = '\0';
	if (t->view == VIEW_TEXT && t->output_of[0])
		top_read_output(t);
}

static int output_piece(void *context, const char *data, size_t n)
{
	struct top *t = context;

	strbuf_add(&t->text, data, n);
	t->output_from += (int64_t)n;
	if (t->text.n > 2 * OUTPUT_KEEP) {
		size_t cut = t->text.n - OUTPUT_KEEP;
		memmove(t->text.text, t->text.text + cut, OUTPUT_KEEP + 1);
		t->text.n = OUTPUT_KEEP;
	}
	return 0;
}

void top_read_output(struct top *t)
{
	struct strbuf path = {0};
	char from[32];
	struct err err;

	show_job_path(&path, t->output_of, "/output?stream=out");
	snprintf(from, sizeof from, "%" PRId64, t->output_from);
	query_add(&path, "from", from);
	if (client_read(t->client, path.text, NULL, output_piece, t, &err) < 0)
		snprintf(t->message, sizeof t->message, "%s", err.text);
	strbuf_fini(&path);
}

void top_act(struct top *t, const char *action, const char *id, const char *done)
{
	json_t *body = json_pack("{s:[s]}", "ids", id);
	struct reply reply = {0};
	char path[64];
	struct err err;

	snprintf(path, sizeof path, "/v1/jobs/%s", action);
	int rc = client_ask_json(t->client, "POST", path, body, &reply, &err);
	const json_t *error = json_object_get(json_array_get(json_object_get(reply.json, "results"), 0), "error");
	if (rc < 0)
		snprintf(t->message, sizeof t->message, "%s", err.text);
	else if (error)
		snprintf(t->message, sizeof t->message, "%s", object_text(error, "message"));
	else
		snprintf(t->message, sizeof t->message, "%s %s.", id, done);
	reply_fini(&reply);
	json_decref(body);
}

/* Writes a job's object as lines, without unset members. */
static void object_lines(const json_t *object, struct strbuf *out)
{
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)object, key, value)
	{
		char *text = json_is_string(value) ? NULL : json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
		const char *shown = text ? text : json_string_value(value);
		if (!json_is_null(value) && shown && *shown && strcmp(key, "environment") != 0)
			strbuf_printf(out, "%-16s %s\n", key, shown);
		free(text);
	}
}

static void wrapped_add(struct strbuf *out, const char *text)
{
	for (size_t column = 0; *text;) {
		size_t n = strcspn(text, " ");
		if (column > 0 && column + 1 + n > TEXT_WIDTH) {
			strbuf_puts(out, "\n");
			column = 0;
		}
		strbuf_printf(out, "%s%.*s", column ? " " : "", (int)n, text);
		column += n + (column > 0);
		text += n;
		text += strspn(text, " ");
	}
}

void top_ask_job(struct top *t, const char *id, const char *rest)
{
	struct strbuf path = {0};
	struct reply reply = {0};
	struct err err;

	show_job_path(&path, id, rest);
	strbuf_clear(&t->text);
	if (client_ask(t->client, "GET", path.text, NULL, 0, &reply, &err) < 0)
		strbuf_puts(&t->text, err.text);
	else if (*rest)
		wrapped_add(&t->text, object_text(reply.json, "text"));
	else
		object_lines(reply.json, &t->text);
	reply_fini(&reply);
	strbuf_fini(&path);
}

void top_fini(struct top *t)
{
	nodes_clear(t);
	vec_free(&t->nodes);
	vec_free(&t->jobs);
	arena_destroy(t->arena);
	strbuf_fini(&t->text);
	client_close(t->client);
}
