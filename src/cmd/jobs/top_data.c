/*
 * top_data.c - requests the data that shunt-top shows.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/jobs/top.h"
#include "cmd/lib/joblist.h"
#include "cmd/lib/object.h"
#include "cmd/lib/query.h"

#define OUTPUT_KEEP (256 * 1024) /* bytes of a job's output that are kept: its end */

static const char columns[] =
	"job:short_id name:name user:owner state:state_least cpus:cpus time:time start:start why:comment time:time_tight";

struct reading {
	struct top *t;
	struct arena *arena;
	struct joblist jobs;
	int id, state; /* cells */
};

static bool filter_fits(const struct top *t, const struct top_job *j, const char *state)
{
	return strcasestr(j->id, t->filter) || strcasestr(j->text[TOP_NAME], t->filter) ||
	       strcasestr(j->text[TOP_OWNER], t->filter) || strcasestr(j->text[TOP_WHY], t->filter) ||
	       strcasestr(state_word(state), t->filter);
}

static bool node_fits(const struct top *t, const json_t *node)
{
	return strcasestr(object_text(node, "name"), t->filter) || strcasestr(object_text(node, "state"), t->filter) ||
	       strcasestr(object_text(node, "note"), t->filter);
}

static const char *text_keep(struct reading *r, const char *text)
{
	return arena_strndup(r->arena, text, strlen(text));
}

static void job_row(void *context, char **cell)
{
	struct reading *r = context;
	struct top *t = r->t;
	struct top_job j = {.id = text_keep(r, cell[r->id]), .state = *cell[r->state]};

	t->running += strchr("RBSE", j.state) != NULL;
	t->waiting += strchr("QHW", j.state) != NULL;
	for (int i = 0; i <= TOP_TIGHT; i++)
		j.text[i] = text_keep(r, joblist_text(&r->jobs, i, cell));
	if (filter_fits(t, &j, cell[r->state]))
		vec_push(&t->jobs, j);
}

static void trouble_set(struct top *t, const struct err *err)
{
	snprintf(t->trouble, sizeof t->trouble, "%s", err->text);
}

static bool jobs_read(struct top *t)
{
	struct reading r = {.t = t, .arena = arena_create(), .jobs = {.row = job_row, .context = &r}};
	struct strbuf path = {0};
	struct err err;

	joblist_add(&r.jobs, columns);
	r.id = joblist_member(&r.jobs, "id");
	r.state = joblist_member(&r.jobs, "state");
	strbuf_puts(&path, "/v1/jobs");
	query_add(&path, "completed", t->finished ? "1" : "0");
	query_add(&path, "arrays", t->elements ? "expand" : NULL);
	users_query(&path, t->user);
	t->running = t->waiting = 0;
	vec_clear(&t->jobs);
	int rc = joblist_read(&r.jobs, t->client, &path, &err);
	joblist_fini(&r.jobs);
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
		json_array_foreach(json_object_get(reply.json, "nodes"), i, node) if (node_fits(t, node)) vec_push(
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
	char from[32];
	struct err err;

	snprintf(from, sizeof from, "%" PRId64, t->output_from);
	if (client_read(t->client, api_path("/v1/jobs/%s/output?stream=out&from=%s", t->output_of, from), NULL,
			output_piece, t, &err) < 0)
		snprintf(t->message, sizeof t->message, "%s", err.text);
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

static void wrapped_add(struct strbuf *out, const char *text, int width)
{
	for (size_t column = 0; *text;) {
		size_t n = strcspn(text, " ");
		if (column > 0 && column + 1 + n > (size_t)width) {
			strbuf_puts(out, "\n");
			column = 0;
		}
		strbuf_printf(out, "%s%.*s", column ? " " : "", (int)n, text);
		column += n + (column > 0);
		text += n;
		text += strspn(text, " ");
	}
}

void top_ask_job(struct top *t, const char *id, bool why, int width)
{
	struct reply reply = {0};
	struct err err;

	strbuf_clear(&t->text);
	if (client_ask(t->client, "GET", api_path(why ? "/v1/jobs/%s/why" : "/v1/jobs/%s", id), NULL, 0, &reply, &err) <
	    0)
		strbuf_puts(&t->text, err.text);
	else if (why)
		wrapped_add(&t->text, object_text(reply.json, "text"), width);
	else
		object_lines(reply.json, &t->text);
	reply_fini(&reply);
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
