/*
 * simulate_history.c - see simulate_history.h.
 */
#include "cmd/sim/simulate_history.h"

#include <string.h>

#include "base/progress.h"
#include "cmd/lib/show.h"

struct replay {
	const struct command *c;
	struct client *client;
	struct workload *w;
	bool flat, terms;
	int64_t read;
	struct progress progress;
};

/* ---- jobs ---- */

/* Takes the job's request as written; else the CPUs that it had. */
static bool request_take(struct replay *r, const json_t *row, struct wjob *j)
{
	const char *text = object_text(row, "resources"), *id = object_text(row, "id");
	int64_t walltime, cpus = object_number(row, "cpus", 0);
	struct err err;

	j->text = -1;
	if (!r->flat && *text) {
		if (workload_request(r->w, text, &j->text, &walltime, &err) == 0)
			return true;
		workload_drop(r->w, DROP_SYNTAX, 0, "job %s: %s: left out", id, err.text);
		return false;
	}
	if (cpus <= 0 || cpus > INT32_MAX) {
		workload_drop(r->w, DROP_PROCS, 0, "job %s had no CPUs: left out", id);
		return false;
	}
	j->procs = (int32_t)cpus;
	return true;
}

static const char *text_keep(struct workload *w, const char *text)
{
	return *text ? arena_strndup(w->arena, text, strlen(text)) : NULL;
}

/* Takes the owner's names, as far as rules depend on them. */
static uint32_t terms_take(struct replay *r, const json_t *row)
{
	struct wterms t = {.queue = text_keep(r->w, object_text(row, "queue")),
			   .account = text_keep(r->w, object_text(row, "account"))};
	const char *group = text_keep(r->w, object_text(row, "group"));
	const char **groups = arena_alloc(r->w->arena, 2 * sizeof *groups);

	groups[0] = group;
	groups[1] = NULL;
	t.groups = groups;
	vec_push(&r->w->terms, t);
	return (uint32_t)r->w->terms.n;
}

static void job_take(struct replay *r, const json_t *row)
{
	int64_t ran_ms = object_number(row, "ran_ms", 0), walltime = object_number(row, "walltime", 0);
	const char *id = object_text(row, "id");
	struct wjob j = {
		.submit = object_number(row, "submitted", 0),
		.runtime = ran_ms > 0 ? (ran_ms + 999) / 1000 : 1,
		.deadline = TIME_NEVER,
		.user = names_add(&r->w->users, object_text(row, "owner")),
		.kind = KIND_COMMON,
	};

	j.walltime = walltime > 0 ? walltime : j.runtime;
	if (object_number(row, "started", 0) <= 0)
		workload_drop(r->w, DROP_NOT_RUN, 0, "job %s was never started: left out", id);
	else if (j.submit <= 0)
		workload_drop(r->w, DROP_SUBMIT, 0, "job %s has no time of submission: left out", id);
	else if (request_take(r, row, &j)) {
		j.terms = r->terms ? terms_take(r, row) : 0;
		vec_push(&r->w->names, text_keep(r->w, id));
		j.line = (uint32_t)r->w->names.n;
		vec_push(&r->w->jobs, j);
	}
}

static int jobs_count(struct replay *r, const char *since)
{
	struct reply reply;
	int code = EXIT_OK;

	if (show_get(r->c, r->client, api_path("/v1/history/sums?by=all&since=%s", since), &reply, &code)) {
		const json_t *sum = json_array_get(json_object_get(reply.json, "sums"), 0);
		progress_begin(&r->progress, "reading the history", sum ? object_number(sum, "jobs", 0) : 0);
		reply_fini(&reply);
	}
	return code;
}

static bool job_read(void *context, json_t *row)
{
	struct replay *r = context;

	job_take(r, row);
	progress_at(&r->progress, ++r->read);
	return true;
}

static int jobs_read(struct replay *r, int64_t since)
{
	char text[32], query[64];

	snprintf(text, sizeof text, "%lld", (long long)since);
	snprintf(query, sizeof query, "/v1/history?since=%s", text);
	int code = jobs_count(r, text);
	if (code != EXIT_OK)
		return code;
	code = show_history(r->c, r->client, query, job_read, r);
	progress_end(&r->progress);
	return code;
}

/* Sorts jobs, which were read by end, newest first, by submission; the first is at 0. */
static void jobs_order(struct workload *w, int64_t limit)
{
	for (size_t i = 0; i < w->jobs.n / 2; i++) {
		struct wjob x = w->jobs.v[i];
		w->jobs.v[i] = w->jobs.v[w->jobs.n - 1 - i];
		w->jobs.v[w->jobs.n - 1 - i] = x;
	}
	workload_sort(w);
	if (limit && w->jobs.n > (size_t)limit)
		w->jobs.n = (size_t)limit;
	int64_t first = w->jobs.n ? w->jobs.v[0].submit : 0;
	w->begin = first;
	for (size_t i = 0; i < w->jobs.n; i++) {
		w->jobs.v[i].submit -= first;
		w->jobs.v[i].id = (int64_t)i + 1;
	}
}

/* ---- the machine ---- */

static void node_add(struct strbuf *out, const json_t *node)
{
	const json_t *features = json_object_get(node, "features");
	static const char *const kib[] = {"disk", "swap"};
	int64_t memory = object_number(node, "memory", 0), gpus = object_number(node, "gpus", 0);

	strbuf_printf(out, "node %s cpus=%lld", object_text(node, "name"), (long long)object_number(node, "cpus", 0));
	/* The server assumes that a node of unknown memory has enough; so this is a petabyte. */
	strbuf_printf(out, " mem=%lldkb", memory > 0 ? (long long)memory : 1LL << 40);
	for (size_t i = 0; i < sizeof kib / sizeof *kib; i++)
		if (object_number(node, kib[i], 0) > 0)
			strbuf_printf(out, " %s=%lldkb", kib[i], (long long)object_number(node, kib[i], 0));
	if (gpus > 0)
		strbuf_printf(out, " gpus=%lld", (long long)gpus);
	for (size_t i = 0; i < json_array_size(features); i++)
		strbuf_printf(out, "%s%s", i ? "," : " features=", value_text(json_array_get(features, i)));
	strbuf_puts(out, "\n");
}

static int machine_read(struct replay *r)
{
	struct strbuf text = {0};
	struct reply reply;
	const json_t *node;
	int code = EXIT_OK;
	size_t i;

	if (!show_get(r->c, r->client, "/v1/nodes", &reply, &code))
		return code;
	json_array_foreach(json_object_get(reply.json, "nodes"), i, node)
	{
		if (object_number(node, "cpus", 0) <= 0)
			continue;
		node_add(&text, node);
		r->w->nodes++;
		r->w->procs += object_number(node, "cpus", 0);
	}
	reply_fini(&reply);
	if (text.n)
		r->w->machine = text.text;
	return EXIT_OK;
}

int simulate_history(const struct command *c, int64_t since, int64_t limit, bool flat, bool terms,
		     struct workload **ret)
{
	struct replay r = {.c = c, .flat = flat, .terms = terms};
	int code;

	if (!show_open(c, &r.client))
		return EXIT_FAILED;
	r.w = workload_create("the history");
	r.w->unit = "job";
	code = machine_read(&r);
	if (code == EXIT_OK)
		code = jobs_read(&r, since);
	client_close(r.client);
	if (code != EXIT_OK) {
		workload_destroy(r.w);
		return code;
	}
	jobs_order(r.w, limit);
	*ret = r.w;
	return EXIT_OK;
}

void workload_fit(struct workload *w, const struct ruleset *site)
{
	for (size_t i = 0; i < w->terms.n; i++) {
		struct wterms *t = &w->terms.v[i];
		if (t->queue && ruleset_find(site, t->queue) < 0)
			t->queue = NULL;
		if (t->account && !object_find(&site->objects, OBJECT_ACCOUNT, t->account))
			t->account = NULL;
	}
}
