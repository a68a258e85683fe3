/*
 * request.c - what requests have in common: their bodies, their keys, and access checks.
 */
#include "server/api/frame/request.h"

#include <errno.h>
#include <string.h>

#include "base/codec.h"
#include "base/err.h"
#include "base/json.h"
#include "base/jsonread.h"
#include "base/jsonwrite.h"
#include "base/map.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "net/http.h"
#include "server/api/frame/beside.h"
#include "server/api/frame/call.h"
#include "server/api/frame/route.h"
#include "server/base/asker.h"
#include "server/base/instance.h"
#include "server/base/post.h"
#include "server/job/entry.h"
#include "server/job/jobs.h"
#include "server/server.h"
#include "server/site/who.h"

/* values in a body, at most, since it is read in one turn; lists of jobs are read one by one
 * (joblist.h) */
#define VALUES_MAX 200000

json_t *api_json(const char *text, size_t n, struct err *err)
{
	json_error_t error;
	json_t *body;

	if (!json_is_within(text, n, VALUES_MAX)) {
		err_set(err, -EINVAL,
			"the body has more than %d values, or an object more than %d members: send several requests",
			VALUES_MAX, JSON_MEMBERS_MOST);
		return NULL;
	}
	body = json_read(text, n, JSON_ALLOW_NUL, &error);
	if (!body)
		err_set(err, -EINVAL, "the body is not JSON: %s (line %d, column %d)", error.text, error.line,
			error.column);
	return body;
}

json_t *api_body(struct http_request *r, struct err *err)
{
	size_t n;
	const char *text = request_body(r, &n);
	json_t *body;

	return beside_body(r, &body, err) ? body : api_json(text, n, err);
}

void api_answer(struct http_request *r, int status, json_t *o)
{
	struct strbuf text = {0};

	json_write(o, &text);
	http_reply_strbuf(r, status, "application/json", &text);
	json_decref(o);
}

void api_show(const struct server *s, struct http_request *r, const struct schema *t, const void *record)
{
	struct strbuf out = {0};

	record_show_text(t->fields, t->in, record, s->words, &out);
	http_reply_strbuf(r, 200, "application/json", &out);
}

void api_show_later(struct server *s, struct http_request *r, int status, const struct schema *t, const void *record)
{
	struct strbuf out = {0};

	record_show_text(t->fields, t->in, record, s->words, &out);
	reply_later(s, r, status, &out);
}

void call_read(const struct call *c, void *ret)
{
	const struct schema *t = c->route->body;

	/* cannot fail: the body was checked against the schema */
	record_load(t->fields, t->in, c->body, ret, NULL, NULL);
}

bool own_admit(const struct server *s, const struct call *c, const char *does)
{
	bool own = c->w->by == BY_SOCKET && c->w->uid == s->instance->uid;

	if (!own)
		http_error(c->r, CODE_FORBIDDEN, "This is for the server's own process that %s.", does);
	return own;
}

void api_refuse(struct http_request *r, const struct err *err)
{
	if (err->code == CODE_UNAUTHORIZED)
		http_header(r, "WWW-Authenticate", "Bearer");
	if (err->code == CODE_TOO_MANY)
		http_header(r, "Retry-After", "60");
	http_refuse(r, err);
}

int subkey_given(struct http_request *r, char ret[KEY_MAX + 1], struct err *err)
{
	const char *text = request_header(r, "Idempotency-Key");

	return !text ? 0 : subkey_read(text, ret, err) < 0 ? -EINVAL : 1;
}

int job_seen(struct server *s, const struct asker *w, const char *text, uint32_t *ret, struct array **ret_array,
	     struct err *err)
{
	job_vec v = {0};
	int rc = jobs_named(s, text, &v, ret_array, err);

	if (rc == 0 && (v.n == 0 || !may_see(s, w, entry_get(s, v.v[0])->spec)))
		rc = err_code(err, CODE_UNKNOWN_JOB, "There is no job %.100s.", text);
	*ret = rc == 0 ? v.v[0] : 0;
	vec_free(&v);
	return rc;
}

bool api_job(struct server *s, struct http_request *r, const struct asker *w, const char *text, uint32_t *ret,
	     struct array **ret_array)
{
	struct err err;
	int rc = job_seen(s, w, text, ret, ret_array, &err);

	if (rc < 0)
		api_refuse(r, &err);
	return rc == 0;
}

uint64_t request_print(const struct http_request *r)
{
	const char *path = request_path(r), *text;
	uint64_t print;
	size_t n;

	text = request_body(r, &n);
	if (!beside_print(r, &print))
		print = hash_bytes(text, n);
	return print ^ (strcmp(path, "/v1/jobs") == 0 ? 0 : hash_bytes(path, strlen(path)) * 31);
}

static void again(struct server *s, void *context)
{
	request_again(context);
}

void request_await(struct server *s, struct http_request *r, struct user_key k)
{
	users_wait(s, k, again, r);
}

void refuse_lookup(struct http_request *r, const struct err *err)
{
	http_header(r, "Retry-After", "5");
	http_error(
		r, CODE_UNAVAILABLE,
		"The user can't be looked up on the server's machine now (%s): nothing was changed. Try again later.",
		err->text);
}
