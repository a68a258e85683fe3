/*
 * body.c - the body of a submission: the members that are needed only to start the job, kept in the
 * store.
 */
#include <errno.h>
#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/jsonread.h"
#include "base/jsonwrite.h"
#include "base/mem.h"
#include "base/members.h"
#include "base/strbuf.h"
#include "core/jobschema.h"
#include "core/retries.h"
#include "server/job/body.h"
#include "server/job/jobs.h"
#include "server/job/stage.h"
#include "server/server.h"
#include "store/store.h"

/* Returns true if `last` is what the store has for the key. */
static bool is_last(const struct server *s, const struct body_last *last, uint64_t key)
{
	return last && last->text && last->key == key && last->bodies == store_bodies(s->store);
}

/* Reads the text, and stores whose it is: an element usually has its array's. Without a text it is
 * that of `last`. */
static int text_read(struct server *s, uint32_t id, const struct body_last *last, uint64_t *ret_key, char **ret,
		     struct err *err)
{
	uint64_t key = entry_get(s, id)->key, array = job_key(job_key_number(key), -1);
	char *text = NULL;
	int rc = is_last(s, last, key) ? 0 : store_get_body(s->store, key, &text, err);

	*ret_key = key;
	if ((rc == -ENOENT || (rc == 0 && text && !*text)) && job_key_index(key) >= 0) {
		free(text);
		text = NULL;
		*ret_key = array;
		rc = is_last(s, last, array) ? 0 : store_get_body(s->store, array, &text, err);
	}
	if (rc == 0)
		*ret = text;
	return rc;
}

static int body_parse(const char *text, json_t **ret, struct err *err)
{
	json_error_t error;

	*ret = json_read(text, strlen(text), 0, &error);
	return *ret ? 0 : err_set(err, -EIO, "what the store has of the job is damaged: %s", error.text);
}

int body_read(struct server *s, uint32_t id, json_t **ret, struct err *err)
{
	char *text = NULL;
	int rc = text_read(s, id, NULL, &(uint64_t){0}, &text, err);

	if (rc < 0)
		return rc;
	rc = body_parse(text, ret, err);
	free(text);
	return rc;
}

/* Forgets a body, but not how much was read. */
static void body_last_fini(struct body_last *last)
{
	free(last->text);
	json_decref(last->body);
	json_decref(last->brief);
}

/* Makes a text that belongs to `last` the last one. What was parsed of an equal text stays. */
static void last_set(struct server *s, struct body_last *last, uint64_t key, char *text)
{
	if (last->text && !strcmp(last->text, text)) {
		free(text);
	} else {
		body_last_fini(last);
		*last = (struct body_last){.text = text, .bytes = last->bytes};
	}
	last->key = key;
	last->bodies = store_bodies(s->store);
}

/* Reads the text of a body into `last`. */
static int last_read(struct server *s, uint32_t id, struct body_last *last, struct err *err)
{
	uint64_t key;
	char *text = NULL;
	int rc = text_read(s, id, last, &key, &text, err);

	if (rc < 0 || !text)
		return rc;
	last->bytes += strlen(text);
	last_set(s, last, key, text);
	return 0;
}

void body_remember(struct server *s, uint64_t key, const char *text)
{
	last_set(s, &s->jobs->last_body, key, mem_strdup(text));
}

int body_share(struct server *s, uint32_t id, struct body_last *last, const json_t **ret, struct err *err)
{
	int rc = last_read(s, id, last, err);

	if (rc == 0 && !last->body)
		rc = body_parse(last->text, &last->body, err);
	if (rc == 0)
		*ret = last->body;
	return rc;
}

int body_brief(struct server *s, uint32_t id, struct body_last *last, const json_t **ret, struct err *err)
{
	static const char *const large[] = {"args", "environment", NULL};
	struct strbuf text = {0};
	int rc = last_read(s, id, last, err);

	if (rc == 0 && !last->body && !last->brief)
		rc = body_parse(json_cut(last->text, strlen(last->text), large, &text) ? text.text : last->text,
				&last->brief, err);
	if (rc == 0)
		*ret = last->body ? last->body : last->brief;
	strbuf_fini(&text);
	return rc;
}

/* Copies a member of a submission unchanged, if it is not empty and has the right type. */
static int member_copy(const struct field *f, const json_t *job, json_t *body, struct err *err)
{
	const char *text = NULL;
	bool kept, flag = false;
	int rc;

	if (f->is & IS_LIST) {
		rc = member_read_list(job, f->name, f->item & IS_OBJECT, err);
		kept = json_array_size(json_object_get(job, f->name)) > 0;
	} else if (f->is & IS_BOOL) {
		rc = member_read_bool(job, f->name, &flag, err);
		kept = flag;
	} else {
		rc = member_read_text(job, f->name, (size_t)f->most, &text, err);
		kept = text;
	}
	if (rc == 0 && kept)
		json_object_set(body, f->name, json_object_get(job, f->name));
	return rc;
}

/* Returns the size of a list of texts in the store, some of them in base64. */
static size_t words_size(const json_t *list)
{
	const json_t *v;
	size_t i, sum = 0;

	json_array_foreach((json_t *)list, i, v)
	{
		const json_t *b = json_object_get(v, "base64");
		const json_t *text = b ? b : v;
		sum += JOB_WORD_EXTRA + json_text_size(json_string_value(text), json_string_length(text));
	}
	return sum;
}

static int words_check(const json_t *job, struct err *err)
{
	size_t n = words_size(json_object_get(job, "args")) + words_size(json_object_get(job, "environment"));

	return n <= JOB_WORDS_MOST
		       ? 0
		       : err_set(err, -E2BIG,
				 "args and environment take %zu bytes in JSON (32 for each text besides its length): at most %u are taken",
				 n, JOB_WORDS_MOST);
}

int body_write(const json_t *job, char **ret, struct err *err)
{
	json_t *body = json_object();
	int rc = words_check(job, err);

	for (const struct field *f = job_members; f->name && rc == 0; f++)
		if (f->in & IN_BODY)
			rc = member_copy(f, job, body, err);
	if (rc == 0) {
		struct strbuf text = {0};
		json_write(body, &text);
		*ret = text.text;
	}
	json_decref(body);
	return rc;
}

int body_check(const json_t *job, struct err *err)
{
	const char *value;
	char *end;
	int rc = member_read_text(job, "workdir", JOB_TEXT_MOST, &value, err);

	if (rc == 0 && value && value[0] != '/')
		rc = err_set(err, -EINVAL, "workdir \"%.100s\" must be an absolute path", value);
	if (rc == 0)
		rc = member_read_text(job, "join", 4, &value, err);
	if (rc == 0 && value && strcmp(value, "oe") && strcmp(value, "eo") && strcmp(value, "n"))
		rc = err_set(err, -EINVAL, "join \"%.10s\" must be oe, eo or n", value);
	if (rc == 0)
		rc = member_read_text(job, "keep", 16, &value, err);
	if (rc == 0 && value && value[strspn(value, "oedn")])
		rc = err_set(err, -EINVAL, "keep \"%.10s\" must be of the letters o, e, d, or n", value);
	if (rc == 0)
		rc = member_read_text(job, "umask", 16, &value, err);
	if (rc == 0 && value && (strtol(value, &end, 8) < 0 || *end || end == value || strtol(value, &end, 8) > 0777))
		rc = err_set(err, -EINVAL, "umask \"%.10s\" must be octal, 0 to 777", value);
	if (rc == 0)
		rc = member_read_text(job, "stagein", JOB_TEXT_MOST, &value, err);
	if (rc == 0)
		rc = stage_check("stagein", value, err);
	if (rc == 0)
		rc = member_read_text(job, "stageout", JOB_TEXT_MOST, &value, err);
	if (rc == 0)
		rc = stage_check("stageout", value, err);
	if (rc == 0)
		rc = member_read_text(job, "retries", 200, &value, err);
	if (rc == 0 && value) {
		struct retries r;
		rc = retries_parse(value, &r, err);
		retries_fini(&r);
	}
	if (rc == 0)
		rc = member_read_text(job, "shell", JOB_TEXT_MOST, &value, err);
	if (rc == 0 && value && value[0] != '/')
		rc = err_set(err, -EINVAL, "shell \"%.100s\" must be an absolute path (-S /bin/bash)", value);
	return rc;
}
