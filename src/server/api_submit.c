/*
 * api_submit.c - jobs come in: one, or thousands at once.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/reqtext.h"
#include "server/server_internal.h"

#define BULK_MAX 10000

static int status_of(const char *code)
{
	static const struct {
		const char *code;
		int status;
	} table[] = {
		{"bad_request", 400},  {"forbidden", 403},   {"unknown_job", 404},	 {"unknown_queue", 404},
		{"unknown_node", 404}, {"bad_state", 409},   {"unknown_attribute", 404}, {"finished", 409},
		{"refused", 422},      {"unavailable", 503}, {"too_large", 413},
	};

	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		if (strcmp(table[i].code, code) == 0)
			return table[i].status;
	return 400;
}

json_t *api_body(struct http_request *r, struct err *err)
{
	size_t n;
	const char *text = request_body(r, &n);
	json_error_t error;
	json_t *body = json_loadb(text, n, JSON_ALLOW_NUL, &error);

	if (!body)
		err_set(err, -EINVAL, "the body is no JSON: %s (line %d, column %d)", error.text, error.line,
			error.column);
	return body;
}

/* Fills the core's scratch job in, as if it were to be submitted now. */
void scratch_fill(struct server *s, const struct spec *p)
{
	struct job *job = cluster_job(s->cluster, s->scratch);

	job_fill(s, job, p);
	job->submit = s->now;
	job->rank = p->rank;
}

/* Virtual nodes have whatever memory the configuration says, or none to speak of; the machine has what it has. */
static void memory_warn(const struct server *s, const struct spec *p, struct json *j)
{
	const struct request *r = &s->cluster->requests.v[p->request];
	int64_t real = (int64_t)sysconf(_SC_PHYS_PAGES) * (sysconf(_SC_PAGESIZE) / 1024), most = 0, nodes = 0;
	char need[32], share[32], text[200];

	for (size_t i = 0; i < s->nodes.n; i++)
		nodes += !s->nodes.v[i].joined;
	for (uint32_t i = 0; i < r->nfrags; i++) {
		int64_t n = s->cluster->shapes.v[r->frag[i].shape].need.v[RES_MEM];
		most = n > most ? n : most;
	}
	if (s->real || nodes == 0 || most <= real / nodes)
		return;
	snprintf(text, sizeof text,
		 "it requests %s of memory on one node, but the share of a virtual node of this machine is %s",
		 memory_format(most, need, sizeof need),
		 memory_format(real / nodes / 1024 * 1024, share, sizeof share));
	json_text(j, NULL, text);
}

static void submitted_write(struct server *s, struct json *j, uint64_t number)
{
	struct array *a = array_find(s, number);
	struct strbuf id = {0};
	uint32_t first = a ? a->first : 0;

	if (!a)
		entry_find(s, number, -1, &first);
	if (a)
		array_id(s, a, &id);
	else
		entry_id(s, first, &id);
	json_open_object(j, NULL);
	json_text(j, "id", id.text);
	json_int(j, "number", (int64_t)number);
	if (entry_job(s, first)->deadline != TIME_NEVER)
		json_bool(j, "guaranteed", entry_job(s, first)->guaranteed);
	else
		json_text(j, "guaranteed", NULL);
	if (entry_job(s, first)->state == STATE_ALLOCATED)
		json_int(j, "planned_start", entry_job(s, first)->start);
	else
		json_text(j, "planned_start", NULL);
	if (s->entries.v[first].spec->interactive)
		json_int(j, "patience", attrs_number(&s->attrs, "interactive_grace"));
	json_open_array(j, "warnings");
	memory_warn(s, s->entries.v[first].spec, j);
	json_close_array(j);
	json_close_object(j);
	strbuf_fini(&id);
}

static bool guarantee_possible(struct server *s, const struct spec *p)
{
	uint32_t n = s->cluster->requests.v[p->request].nfrags;
	int32_t *nodes = mem_zalloc((n + 1) * sizeof *nodes);
	struct forecast *f;
	struct whatif x;

	scratch_fill(s, p);
	f = forecast_create(s->sched);
	forecast_submit(f, s->scratch, s->now, false);
	forecast_whatif(f, s->scratch, 0, &x, nodes);
	forecast_destroy(f);
	free(nodes);
	return x.guaranteed;
}

/* All are checked before any is taken. */
static int read_all(struct server *s, struct http_request *r, const struct asker *w, const json_t *list,
		    struct submission *x, size_t n, const char **code, struct err *err)
{
	int64_t ahead = 0;

	for (size_t i = 0; i < n; i++) {
		int rc = spec_read(s, w, json_array_get(list, i), true, request_arena(r), &x[i], code, err);
		if (rc == 0)
			rc = submit_check(s, w, &x[i], ahead, code, err);
		if (rc == 0 && x[i].guarantee && !guarantee_possible(s, x[i].spec)) {
			*code = "refused";
			rc = err_set(
				err, -EPERM,
				"the deadline can't be guaranteed now: ask for less, for a later deadline, or leave out --require-guarantee");
		}
		if (rc < 0)
			return n > 1 ? err_prefix(err, rc, "jobs[%zu]", i) : rc;
		ahead += x[i].spec->array ? x[i].array.count : 1;
	}
	return 0;
}

/* ---- repeated submissions ---- */

/* What the answer says of a job that has been forgotten. */
static void forgotten_write(const struct server *s, struct json *j, uint64_t number, bool array)
{
	char id[512];

	snprintf(id, sizeof id, "%llu%s.%s", (unsigned long long)number, array ? "[]" : "", s->name);
	json_open_object(j, NULL);
	json_text(j, "id", id);
	json_int(j, "number", (int64_t)number);
	json_text(j, "guaranteed", NULL);
	json_text(j, "planned_start", NULL);
	json_open_array(j, "warnings");
	json_close_array(j);
	json_close_object(j);
}

int subkey_given(struct http_request *r, char ret[KEY_MAX + 1], struct err *err)
{
	const char *text = request_header(r, "Idempotency-Key");

	return !text ? 0 : subkey_read(text, ret, err) < 0 ? -EINVAL : 1;
}

bool submit_repeats(struct server *s, struct http_request *r, const struct asker *w)
{
	char key[KEY_MAX + 1];

	return strcmp(request_method(r), "POST") == 0 && strcmp(request_path(r), "/v1/jobs") == 0 &&
	       subkey_given(r, key, NULL) > 0 && subkey_find(s, w->uid, key);
}

uint64_t request_print(const struct http_request *r)
{
	const char *path = request_path(r), *text;
	size_t n;

	text = request_body(r, &n);
	return hash_bytes(text, n) ^ (strcmp(path, "/v1/jobs") == 0 ? 0 : hash_bytes(path, strlen(path)) * 31);
}

/* The same answer again, once what it reports is on disk. */
static void repeat(struct server *s, struct http_request *r, const struct submission_key *k, bool bulk)
{
	struct strbuf out = {0};
	struct json j;

	if (k->print != request_print(r)) {
		http_error(
			r, 422, "key_reused",
			"Idempotency-Key: you have sent this key with another request: use a new key for each submission.");
		return;
	}
	json_init(&j, &out, false);
	if (bulk) {
		json_open_object(&j, NULL);
		json_open_array(&j, "jobs");
	}
	for (uint32_t i = 0; i < k->count; i++) {
		const struct array *a = array_find(s, k->first + i);
		uint32_t id;
		if ((a && a->count && s->entries.v[a->first].spec) || (!a && entry_find(s, k->first + i, -1, &id)))
			submitted_write(s, &j, k->first + i);
		else
			forgotten_write(s, &j, k->first + i, k->arrays && k->arrays[i] == 'a');
	}
	if (bulk) {
		json_close_array(&j);
		json_close_object(&j);
	}
	http_header(r, "Idempotency-Replayed", "true");
	reply_later(s, r, 200, &out);
}

static void key_keep(struct server *s, struct http_request *r, const struct asker *w, const char *key,
		     const struct submission *x, size_t n, uint64_t first)
{
	struct submission_key k = {.first = first, .count = (uint32_t)n, .time = s->now, .print = request_print(r)};
	bool arrays = false;

	for (size_t i = 0; i < n; i++)
		arrays |= x[i].spec->array;
	if (arrays) {
		k.arrays = mem_zalloc(n + 1);
		for (size_t i = 0; i < n; i++)
			k.arrays[i] = x[i].spec->array ? 'a' : 'j';
	}
	subkey_add(s, w->uid, key, &k);
	free(k.arrays);
}

void api_submit(struct server *s, struct http_request *r, const struct asker *w)
{
	const char *code = "bad_request";
	struct err err;
	json_t *body = api_body(r, &err), *list = json_object_get(body, "jobs"), *alone = NULL;
	bool bulk = json_is_array(list), special = false;
	struct submission *x = NULL;
	struct strbuf out = {0};
	struct json j;
	size_t n = 0;
	char key[KEY_MAX + 1];
	int rc = body ? 0 : -EINVAL, keyed = rc == 0 ? subkey_given(r, key, &err) : 0;

	if (keyed < 0)
		rc = keyed;
	if (keyed > 0 && subkey_find(s, w->uid, key)) {
		repeat(s, r, subkey_find(s, w->uid, key), bulk);
		goto out;
	}
	if (rc == 0 && !bulk) {
		alone = json_array();
		json_array_append(alone, body);
		list = alone;
	}
	n = rc == 0 ? json_array_size(list) : 0;
	if (rc == 0 && (n == 0 || n > BULK_MAX))
		rc = err_set(&err, -EINVAL, "jobs must hold 1 to %d jobs, and there are %zu", BULK_MAX, n);
	if (rc < 0) {
		http_error(r, 400, "bad_request", "%s", err.text);
		goto out;
	}
	x = mem_zalloc(n * sizeof *x);
	rc = read_all(s, r, w, list, x, n, &code, &err);
	if (rc < 0) {
		http_error(r, status_of(code), code, "%s", err.text);
		goto out;
	}

	uint64_t first = s->next_number;

	for (size_t i = 0; i < n; i++) {
		special |= x[i].spec->kind != KIND_COMMON;
		submit(s, &x[i]);
		if (x[i].spec->priority)
			s->priorities = true;
	}
	if (keyed > 0)
		key_keep(s, r, w, key, x, n, first);
	if (s->priorities)
		reorder_later(s, word_add(s, w->user));
	if (special) { /* whether its deadline is kept is said at once */
		dispatch_settle(s);
		sched_cycle(s->sched, s->now);
	}
	json_init(&j, &out, false);
	if (bulk) {
		json_open_object(&j, NULL);
		json_open_array(&j, "jobs");
	}
	for (size_t i = 0; i < n; i++)
		submitted_write(s, &j, first + i);
	if (bulk) {
		json_close_array(&j);
		json_close_object(&j);
	}
	reply_later(s, r, 201, &out);
out:
	for (size_t i = 0; x && i < n; i++)
		submission_fini(&x[i]);
	free(x);
	json_decref(alone);
	json_decref(body);
	strbuf_fini(&out);
}

int api_status(const char *code)
{
	return status_of(code);
}
