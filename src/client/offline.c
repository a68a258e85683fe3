/*
 * offline.c - see offline.h.
 */
#include "client/offline.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "base/base64.h"
#include "base/timetext.h"
#include "client/client_internal.h"
#include "tls/pki.h"

/* Actions that can be spooled; the others only make sense for a job that is running now. */
static const char *const actions[] = {"delete", "hold", "release", "move", "alter", "rerun", "order", "place"};

static bool action_is_kept(const char *path)
{
	if (strncmp(path, "/v1/jobs/", 9) != 0)
		return false;
	for (size_t i = 0; i < sizeof actions / sizeof *actions; i++)
		if (strcmp(path + 9, actions[i]) == 0)
			return true;
	return false;
}

static void reply_set(struct reply *ret, int status, json_t *json)
{
	char *text = json_dumps(json, JSON_COMPACT | JSON_ENCODE_ANY);

	*ret = (struct reply){.status = status, .json = json};
	strbuf_puts(&ret->body, text ? text : "");
	free(text);
}

static int refuse(struct reply *ret, int status, const char *code, int rc, struct err *err)
{
	reply_set(ret, status, json_pack("{s:{s:s, s:s}}", "error", "code", code, "message", err->text));
	return rc;
}

/* ---- changes ---- */

/* Makes a nonce: two identical requests are still two. */
static int nonce_make(char ret[33], struct err *err)
{
	unsigned char bytes[16];

	if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes)
		return err_set(err, -errno, "can't make a key for the request: %s", strerror(errno));
	hex_encode(bytes, sizeof bytes, ret);
	return 0;
}

/* Spools a request, sealed if the offer requires it. */
static int put(const char *dir, const struct offer *l, const struct offline_question *q, const char *body,
	       uint64_t *ret_number, struct err *err)
{
	struct change c = {.path = q->path, .body = body};
	char seal[SEAL_SIZE], nonce[33];
	struct token t = {0};
	int rc = 0;

	if (*l->lease && !q->token)
		return -EOPNOTSUPP;
	if (*l->lease) {
		if ((rc = nonce_make(nonce, err)) == 0)
			rc = token_parse(q->token, &t, err);
		c.nonce = nonce;
		if (rc == 0)
			rc = seal_make(&t, l->lease, &c, seal, err);
		c.token = t.id;
		c.seal = seal;
	}
	if (rc == 0)
		rc = q->far ? far_put(q->far, l, &c, ret_number, err) : tray_put(dir, l, &c, ret_number, err);
	explicit_bzero(&t, sizeof t);
	return rc;
}

static int submit(const char *dir, const struct offer *l, const struct offline_question *q, struct offline_seen *seen,
		  struct reply *ret, struct err *err)
{
	json_t *body = json_loads(q->body, JSON_ALLOW_NUL, NULL);
	bool array = json_is_string(json_object_get(body, "array"));
	uint64_t number;
	char id[400];
	int rc = 0;

	if (json_is_true(json_object_get(body, "interactive")))
		rc = err_set(err, -EOPNOTSUPP, "an interactive job needs a running server");
	else if (json_is_true(json_object_get(body, "require_guarantee")))
		rc = err_set(err, -EOPNOTSUPP, "the server is not running, so the deadline can't be guaranteed now");
	else if (json_object_get(body, "jobs"))
		rc = err_set(err, -EOPNOTSUPP, "a list of jobs needs a running server");
	json_decref(body);
	if (rc == 0)
		rc = put(dir, l, q, q->body, &number, err);
	if (rc < 0)
		return rc;
	snprintf(id, sizeof id, "%" PRIu64 "%s.%s", number, array ? "[]" : "", l->server);
	seen->told = true; /* the warning says it */
	reply_set(ret, 202,
		  json_pack("{s:s, s:I, s:n, s:[s]}", "id", id, "number", (json_int_t)number, "planned_start",
			    "warnings",
			    "the server is not running: the job is kept, and submitted when it is started"));
	return 0;
}

/* Returns the job, or the array of the element. */
static const json_t *job_find(const json_t *jobs, const char *id)
{
	const json_t *job = offline_find(jobs, id);
	size_t n = strcspn(id, "[");
	char array[64];

	if (job || id[n] != '[' || n > sizeof array - 3)
		return job;
	snprintf(array, sizeof array, "%.*s[]", (int)n, id);
	return offline_find(jobs, array);
}

/* Returns the error that the server would report for this id; NULL: none. */
static json_t *id_error(const json_t *jobs, const struct offer *l, const char *id)
{
	const json_t *job = job_find(jobs, id);
	const char *state = json_string_value(json_object_get(job, "state"));

	/* The server may know more jobs than its view shows, but none with such numbers. */
	uint64_t number = strtoull(id, NULL, 10);
	if (!job && number >= l->next && (!l->end || number < l->end))
		return json_pack("{s:s, s:s}", "code", "unknown_job", "message", "Unknown Job Id");
	if (state && strcmp(state, "C") == 0)
		return json_pack("{s:s, s:s}", "code", "finished", "message", "Job has finished");
	return NULL;
}

static int keep(const char *dir, const struct offer *l, const struct offline_question *q, const char *text,
		struct err *err)
{
	uint64_t number;
	int rc = put(dir, l, q, text, &number, err);

	if (rc == 0)
		fprintf(stderr, "The server is not running: this is kept, and done when it is started.\n");
	return rc;
}

void offline_forget(struct offline_seen *x)
{
	json_decref(x->jobs);
	x->jobs = NULL;
}

static struct timespec changed(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 ? st.st_mtim : (struct timespec){0};
}

static bool same_time(struct timespec a, struct timespec b)
{
	return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

/* Reads the queue again if it may have changed. A command may ask for thousands of jobs, one by
 * one. */
static int queue_look(const char *dir, const struct offer *l, struct offline_seen *seen, struct err *err)
{
	char path[4096];
	struct timespec of_dir = changed(dir), of_tray;

	snprintf(path, sizeof path, "%s/%s", dir, l->tray);
	of_tray = changed(path);
	if (seen->jobs && same_time(of_dir, seen->dir) && same_time(of_tray, seen->tray))
		return 0;
	offline_forget(seen);
	seen->dir = of_dir;
	seen->tray = of_tray;
	return offline_jobs(dir, l, &seen->jobs, &seen->time, err);
}

/* Spools the action for the ids that may exist, and answers for the others at once. */
static int ids_act(const char *dir, const struct offer *l, const struct offline_question *q, struct offline_seen *seen,
		   json_t *body, json_t **ret, struct err *err)
{
	json_t *good = json_array(), *results = json_array(), *id;
	size_t i;
	int rc = queue_look(dir, l, seen, err);

	json_array_foreach(json_object_get(body, "ids"), i, id)
	{
		json_t *error = json_is_string(id) ? id_error(seen->jobs, l, json_string_value(id)) : NULL;
		json_t *result = json_pack("{s:O}", "id", id);
		if (error)
			json_object_set_new(result, "error", error);
		else
			json_array_append(good, id);
		json_array_append_new(results, result);
	}
	if (rc == 0 && json_array_size(good)) {
		json_object_set(body, "ids", good);
		char *text = json_dumps(body, JSON_COMPACT);
		rc = keep(dir, l, q, text, err);
		free(text);
	}
	json_decref(good);
	*ret = results;
	return rc;
}

static int act(const char *dir, const struct offer *l, const struct offline_question *q, struct offline_seen *seen,
	       struct reply *ret, struct err *err)
{
	json_t *body = json_loads(q->body ? q->body : "{}", JSON_ALLOW_NUL, NULL), *results = NULL;
	int rc;

	if (json_is_array(json_object_get(body, "ids"))) {
		rc = ids_act(dir, l, q, seen, body, &results, err);
	} else {
		results = json_array();
		rc = keep(dir, l, q, q->body, err);
	}
	json_decref(body);
	offline_forget(seen);
	if (rc < 0)
		json_decref(results);
	else
		reply_set(ret, 202, json_pack("{s:o}", "results", results));
	return rc;
}

/* ---- reading ---- */

static void tell_age(struct offline_seen *seen)
{
	char when[40];

	if (seen->told)
		return;
	seen->told = true;
	if (seen->time)
		fprintf(stderr, "The server is not running: jobs are shown as of %s, with your changes since.\n",
			instant_format(seen->time, when, sizeof when));
	else
		fprintf(stderr, "The server is not running: only what was submitted since is shown.\n");
}

static int read_jobs(const char *dir, const struct offer *l, const struct offline_question *q,
		     struct offline_seen *seen, struct reply *ret, struct err *err)
{
	const char *rest = q->path + strlen("/v1/jobs");
	char *id;
	json_t *job;
	int rc = queue_look(dir, l, seen, err);

	if (rc < 0)
		return rc;
	*ret = (struct reply){.status = 200};
	if (*rest == '/') {
		id = url_unquote(rest + 1, strcspn(rest + 1, "?"));
		job = strchr(id, '/') ? NULL : offline_find(seen->jobs, id);
		if (strchr(id, '/'))
			rc = -EOPNOTSUPP;
		else if (job)
			reply_set(ret, 200, json_incref(job));
		else
			rc = refuse(ret, 404, "unknown_job", err_set(err, -ENOENT, "Unknown Job Id %.100s", id), err);
		free(id);
	} else {
		rc = offline_list(seen->jobs, *rest == '?' ? rest + 1 : "", q->tsv, &ret->body, &ret->json, err);
	}
	if (rc == 0)
		tell_age(seen);
	return rc;
}

static int read_quota(const char *dir, const struct offer *l, const struct offline_question *q,
		      struct offline_seen *seen, struct reply *ret, struct err *err)
{
	const char *rest = q->path + strlen("/v1/quota");
	json_t *answer;
	int rc = queue_look(dir, l, seen, err);

	if (rc == 0)
		rc = offline_quota(dir, l, seen->jobs, *rest == '?' ? rest + 1 : "", &answer, err);
	if (rc < 0)
		return rc;
	reply_set(ret, 200, answer);
	tell_age(seen);
	return 0;
}

bool offline_used(const char *dir, const struct offer *l)
{
	char path[4096];
	struct stat st;

	snprintf(path, sizeof path, "%s/%s/%" PRIu64, dir, l->tray, l->next);
	return lstat(path, &st) == 0;
}

/* Finds the user's view at an agent: only the server and the user can compute its name. */
static void view_find(struct offer *l, const char *token)
{
	char name[SEAL_SIZE];
	struct token t;

	if (*l->lease && token && token_parse(token, &t, NULL) == 0) {
		if (text_seal(&t, TRAY_VIEW, name, NULL) == 0)
			snprintf(l->view, sizeof l->view, "%s", name);
		explicit_bzero(&t, sizeof t);
	}
}

int offline_answer(const char *dir, const struct offer *offer, const struct offline_question *q,
		   struct offline_seen *seen, struct reply *ret, struct err *err)
{
	struct offer mine = *offer;
	const struct offer *l = &mine;
	bool get = strcmp(q->method, "GET") == 0, post = strcmp(q->method, "POST") == 0;
	size_t n = strlen("/v1/jobs");

	if (post && strcmp(q->path, "/v1/jobs") == 0)
		return submit(dir, l, q, seen, ret, err);
	view_find(&mine, q->token);
	if (post && action_is_kept(q->path))
		return act(dir, l, q, seen, ret, err);
	if (get && strncmp(q->path, "/v1/jobs", n) == 0 && (q->path[n] == '\0' || strchr("/?", q->path[n])))
		return read_jobs(dir, l, q, seen, ret, err);
	n = strlen("/v1/quota");
	if (get && strncmp(q->path, "/v1/quota", n) == 0 && (q->path[n] == '\0' || q->path[n] == '?'))
		return read_quota(dir, l, q, seen, ret, err);
	if (get && strcmp(q->path, "/v1/machine") == 0) {
		reply_set(ret, 200, offline_machine(dir, l));
		return 0;
	}
	return -EOPNOTSUPP;
}
