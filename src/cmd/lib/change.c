/*
 * change.c - requests for many operands, and reporting their failures.
 */
#include "cmd/lib/change.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/lib/object.h"
#include "cmd/lib/show.h"
#include "core/array.h"
#include "core/jobid.h"

#define IDS_AT_ONCE 5000

bool change_open(struct change *ch, const struct command *c)
{
	*ch = (struct change){.c = c, .code = EXIT_OK};
	return show_open(c, &ch->client);
}

int change_close(struct change *ch)
{
	client_close(ch->client);
	return ch->code;
}

int code_exit(const char *code)
{
	/* PBS's error numbers from 15000 on, truncated to exit codes (& 255). */
	static const struct {
		const char *code;
		int exit;
	} row[] = {
		{"unknown_job", 153}, {"forbidden", 159}, {"bad_state", 168}, {"unknown_queue", 170}, {"finished", 35},
	};

	for (size_t i = 0; i < sizeof row / sizeof *row; i++)
		if (strcmp(row[i].code, code) == 0)
			return row[i].exit;
	return EXIT_FAILED;
}

static const char *server_name(struct change *ch)
{
	struct reply r = {0};

	if (client_absent(ch->client))
		return client_absent(ch->client);
	if (!ch->server[0] && client_ask(ch->client, "GET", "/v1/server", NULL, 0, &r, NULL) == 0)
		snprintf(ch->server, sizeof ch->server, "%s", object_text(r.json, "name"));
	reply_fini(&r);
	return ch->server;
}

/* Returns true if a message says itself what it is about: not as a part of another word. */
static bool says(const char *message, const char *what)
{
	size_t n = strlen(what);

	for (const char *at = message; n > 0 && (at = strstr(at, what)); at++)
		if ((at == message || !isalnum((unsigned char)at[-1])) && !isalnum((unsigned char)at[n]))
			return true;
	return n == 0;
}

void change_failed(struct change *ch, const char *what, const char *code, const char *message)
{
	bool finished = strcmp(code, "finished") == 0;

	if (finished && ch->finished_is_fine)
		return;
	ch->code = code_exit(code);
	if (what && (finished || strcmp(code, "unknown_job") == 0)) {
		const char *name = strchr(what, '.') ? "" : server_name(ch);
		command_fail(ch->c, "%s %s%s%s", finished ? "Job has finished" : "Unknown Job Id", what,
			     name[0] ? "." : "", name);
	} else if (what && strcmp(code, "unknown_queue") == 0 && strstr(message, what)) {
		command_fail(ch->c, "Unknown queue %s: 'qstat -Q' lists them", what);
	} else if (what && *code && !says(message, what)) { /* without an answer it is not about that */
		command_fail(ch->c, "%s: %s", what, message);
	} else {
		command_fail(ch->c, "%s", message);
	}
}

bool change_ask(struct change *ch, const char *method, const char *path, const json_t *body, const char *what,
		struct reply *ret)
{
	struct err err;

	if (ret)
		*ret = (struct reply){0};
	int rc = body ? client_ask_json(ch->client, method, path, body, ret, &err)
		      : client_ask(ch->client, method, path, NULL, 0, ret, &err);
	if (rc == 0)
		return true;
	change_failed(ch, what, client_code(ch->client), err.text);
	return false;
}

int change_one(const struct command *c, const char *method, const char *path, json_t *body)
{
	struct change ch = {.code = EXIT_FAILED};

	if (change_open(&ch, c)) {
		change_ask(&ch, method, path, body, NULL, NULL);
		change_close(&ch);
	}
	json_decref(body);
	return ch.code;
}

int change_delete(const struct command *c, const char *kind, const struct operands *operands)
{
	struct change ch;

	if (!change_open(&ch, c))
		return EXIT_FAILED;
	for (int i = 0; i < operands->n; i++)
		change_ask(&ch, "DELETE", api_path("/v1/%s/%s", kind, operands->v[i]), NULL, NULL, NULL);
	return change_close(&ch) == EXIT_OK ? EXIT_OK : EXIT_FAILED;
}

/* Reports the results, in the order of the ids. */
static void results_tell(struct change *ch, const json_t *results, char *const *id, size_t n)
{
	json_t *result;
	size_t i;

	json_array_foreach(results, i, result)
	{
		const json_t *error = json_object_get(result, "error");
		const char *what = id && i < n ? id[i] : object_text(result, "id");
		if (json_is_object(error))
			change_failed(ch, what, object_text(error, "code"), object_text(error, "message"));
	}
}

static void ids_send(struct change *ch, const char *action, const json_t *body, char *const *id, size_t n)
{
	json_t *all = json_copy((json_t *)body), *list = json_array();
	struct reply r;

	for (size_t i = 0; i < n; i++)
		json_array_append_new(list, json_string(id[i]));
	json_object_set_new(all, "ids", list);
	if (change_ask(ch, "POST", api_path("/v1/jobs/%s", action), all, n == 1 ? id[0] : NULL, &r))
		results_tell(ch, json_object_get(r.json, "results"), id, n);
	reply_fini(&r);
	json_decref(all);
}

/* Checks a job id and adds it; ranges become single elements. Returns -EINVAL with a message. */
static int ids_add(name_list *ids, const char *text, struct err *err)
{
	struct strbuf one = {0};
	struct jobid id = {0};
	int rc = jobid_parse(text, &id, err);

	if (rc < 0)
		return rc;
	if (id.kind != JOBID_SOME) {
		vec_push(ids, mem_strdup(text));
		return 0;
	}
	for (int64_t i = array_next(&id.some, -1); i >= 0; i = array_next(&id.some, i)) {
		strbuf_clear(&one);
		strbuf_printf(&one, "%llu[%lld]", (unsigned long long)id.number, (long long)i);
		vec_push(ids, mem_strdup(one.text));
	}
	strbuf_fini(&one);
	jobid_fini(&id);
	return 0;
}

bool change_matching(struct change *ch, const char *action, json_t *body, json_t *filter)
{
	json_t *all = body ? body : json_object();
	bool any = true;
	struct reply r;

	json_object_set_new(all, "filter", filter);
	if (change_ask(ch, "POST", api_path("/v1/jobs/%s", action), all, NULL, &r)) {
		results_tell(ch, json_object_get(r.json, "results"), NULL, 0);
		any = r.status == 202 || json_array_size(json_object_get(r.json, "results")) > 0;
	}
	reply_fini(&r);
	json_decref(all);
	return any;
}

void change_jobs(struct change *ch, const char *action, json_t *body, char *const *id, int n)
{
	json_t *more = body ? body : json_object();
	name_list ids = {0};
	struct err err;

	for (int i = 0; i < n; i++)
		if (strcasecmp(id[i], "all") == 0)
			change_matching(ch, action, json_copy(more), json_pack("{s:s}", "state", "Q,H,W,R,S,B,E"));
		else if (ids_add(&ids, id[i], &err) < 0)
			ch->code = command_fail(ch->c, "%s", err.text);
	for (size_t i = 0; i < ids.n; i += IDS_AT_ONCE)
		ids_send(ch, action, more, ids.v + i, ids.n - i < IDS_AT_ONCE ? ids.n - i : IDS_AT_ONCE);
	name_list_free(&ids);
	json_decref(more);
}

bool change_attribute(struct change *ch, const char *path, const char *op, const char *name, const char *value)
{
	json_t *one = json_pack("{s:s, s:s}", "op", op, "name", name);
	const char *what = strncmp(path, "/v1/queues/", 11) == 0 ? path + 11 : NULL;

	if (value)
		json_object_set_new(one, "value", json_string(value));
	json_t *body = json_pack("{s:[o]}", "changes", one);
	bool good = change_ask(ch, "PATCH", path, body, what, NULL);
	json_decref(body);
	return good;
}

const char *again_which(const char *job, json_t *body, char buf[32])
{
	struct strbuf elements = {0};
	struct jobid id = {0};

	if (jobid_parse(job, &id, NULL) < 0 || id.kind != JOBID_SOME)
		return job;
	array_format(&id.some, &elements);
	json_object_set_new(body, "array", json_string(elements.text));
	snprintf(buf, 32, "%llu[]", (unsigned long long)id.number);
	strbuf_fini(&elements);
	jobid_fini(&id);
	return buf;
}
