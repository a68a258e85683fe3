/*
 * jobid.c - the texts of job ids.
 */
#include "core/jobid.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/amount.h"

#define SHOWN 80 /* characters of a faulty text quoted in its message */

/* Reads the text between the brackets; *at is just behind the opening one. */
static int brackets_scan(const char **at, struct jobid *id, struct err *err)
{
	const char *close = strchr(*at, ']');

	if (!close)
		return err_set(err, -EINVAL, "the bracket is not closed; an element is 12[3], the array 12[]");
	if (close == *at) {
		id->kind = JOBID_ARRAY;
	} else {
		char *inside = strndup(*at, (size_t)(close - *at));
		int rc = array_parse(inside, &id->some, err);
		free(inside);
		if (rc < 0)
			return rc;
		id->kind = id->some.count == 1 ? JOBID_ELEMENT : JOBID_SOME;
	}
	if (id->kind == JOBID_ELEMENT) {
		id->index = id->some.range[0].first;
		array_fini(&id->some);
	}
	*at = close + 1;
	return 0;
}

static bool server_name_ok(const char *at)
{
	if (*at != '.' && *at != '@')
		return *at == '\0';
	for (; *at; at++)
		if (!isalnum((unsigned char)*at) && !strchr("._-@", *at))
			return false;
	return true;
}

int jobid_parse(const char *text, struct jobid *ret, struct err *err)
{
	struct jobid id = {.kind = JOBID_JOB, .index = -1};
	const char *at = text;
	int64_t number;
	int rc = 0;

	if (!digits_scan(&at, JOB_NUMBER_MAX, &number))
		return err_set(err, -EINVAL,
			       "\"%.*s\" is not a job id; use the number that qsub printed, as in 12, 12[3] or 12[]",
			       SHOWN, text);
	id.number = (uint64_t)number;
	if (*at == '[')
		at++, rc = brackets_scan(&at, &id, err);
	if (rc < 0)
		return err_prefix(err, rc, "job id %.*s", SHOWN, text);
	if (id.kind == JOBID_JOB && *at == '-' && isdigit((unsigned char)at[1]))
		return err_set(
			err, -EINVAL,
			"\"%.*s\" is not a job id: give each job's, as in 12 13 14 ({12..14} in bash); 12[1-3] are elements of an array",
			SHOWN, text);
	if (!server_name_ok(at)) {
		jobid_fini(&id);
		return err_set(err, -EINVAL,
			       "\"%.*s\" is not a job id: after the number comes nothing or .SERVER, not \"%.20s\"",
			       SHOWN, text, at);
	}
	*ret = id;
	return 0;
}

void jobid_fini(struct jobid *id)
{
	array_fini(&id->some);
}

void jobid_format(const struct jobid *id, const char *name, struct strbuf *out)
{
	strbuf_printf(out, "%llu", (unsigned long long)id->number);
	if (id->kind == JOBID_ELEMENT)
		strbuf_printf(out, "[%lld]", (long long)id->index);
	if (id->kind == JOBID_ARRAY)
		strbuf_puts(out, "[]");
	if (id->kind == JOBID_SOME) {
		strbuf_puts(out, "[");
		array_format(&id->some, out);
		strbuf_puts(out, "]");
	}
	if (name)
		strbuf_printf(out, ".%s", name);
}
