/*
 * joblist.c - see joblist.h.
 */
#include "server/api/jobs/joblist.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "base/jsonread.h"
#include "base/strbuf.h"
#include "server/api/frame/schemas.h"

/* values and bytes of a job in a list, at most, since each is read in one step */
#define VALUES_MAX 20000
#define JOB_MOST (1u << 20)

static void blanks_skip(const char *text, size_t n, size_t *at)
{
	while (*at < n && strchr(" \t\r\n", text[*at]) && text[*at])
		++*at;
}

static bool skip(const char *text, size_t n, size_t *at, const char *what)
{
	size_t length = strlen(what);

	blanks_skip(text, n, at);
	if (n - *at < length || memcmp(text + *at, what, length) != 0)
		return false;
	*at += length;
	return true;
}

bool joblist_begins(const char *text, size_t n, size_t *at)
{
	*at = 0;
	return skip(text, n, at, "{") && skip(text, n, at, "\"jobs\"") && skip(text, n, at, ":") &&
	       skip(text, n, at, "[") && !skip(text, n, &(size_t){*at}, "]");
}

/* Checks what follows the last job: the end of the list and of the object, which has no other
 * member. */
static int rest_check(const char *text, size_t n, size_t at, size_t jobs, struct err *err)
{
	struct strbuf rest = {0};
	json_error_t error;
	json_t *others;

	if (!skip(text, n, &at, "]"))
		return err_set(err, -EINVAL, "the body is not JSON: ',' or ']' expected after jobs[%zu]", jobs - 1);
	if (n - at > JOB_MOST)
		return err_set(err, -EINVAL, "after the list of jobs there are more than %u bytes", JOB_MOST);
	strbuf_puts(&rest, "{");
	if (!skip(text, n, &at, ",") && !skip(text, n, &(size_t){at}, "}"))
		strbuf_puts(&rest, ","); /* forces a syntax error */
	strbuf_add(&rest, text + at, n - at);
	if (!json_is_within(rest.text, rest.n, VALUES_MAX)) {
		strbuf_fini(&rest);
		return err_set(
			err, -EINVAL,
			"after the list of jobs there are more than %d values, or an object with more than %d members",
			VALUES_MAX, JSON_MEMBERS_MOST);
	}
	others = json_read(rest.text, rest.n, JSON_ALLOW_NUL, &error);
	strbuf_fini(&rest);
	if (!others)
		return err_set(err, -EINVAL, "the body is not JSON: after the list of jobs: %s", error.text);
	int rc = schema_check_names(submission_body.either, others, err);
	json_decref(others);
	return rc;
}

json_t *joblist_next(const char *text, size_t n, size_t *at, size_t jobs, struct err *err)
{
	const size_t flags = JSON_ALLOW_NUL | JSON_DISABLE_EOF_CHECK, left = n - *at;
	/* a text has no more values than bytes; most jobs end within these */
	const size_t near = left < VALUES_MAX ? left : VALUES_MAX, most = left < JOB_MOST ? left : JOB_MOST;
	json_error_t error;
	json_t *job = json_read(text + *at, near, flags, &error);

	if (!job && near < left) {
		if (!json_is_within(text + *at, most, VALUES_MAX)) {
			err_set(err, -EINVAL,
				"jobs[%zu] has more than %d values, or an object with more than %d members", jobs,
				VALUES_MAX, JSON_MEMBERS_MOST);
			return NULL;
		}
		job = json_read(text + *at, most, flags, &error);
	}
	if (job)
		*at += (size_t)error.position;
	else if (most < left && json_error_code(&error) == json_error_premature_end_of_input)
		err_set(err, -E2BIG, "jobs[%zu] has more than %u bytes: submit it by itself", jobs, JOB_MOST);
	else
		err_set(err, -EINVAL, "the body is not JSON: jobs[%zu]: %s", jobs, error.text);
	return job;
}

int joblist_more(const char *text, size_t n, size_t *at, size_t jobs, struct err *err)
{
	return skip(text, n, at, ",") ? 1 : rest_check(text, n, *at, jobs, err);
}
