/*
 * body.c - the rest of a submission, as the store has it.
 */
#include <errno.h>
#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/members.h"
#include "server/job/body.h"
#include "server/job/jobs.h"
#include "server/job/stage.h"
#include "server/server.h"
#include "store/store.h"

#define TEXT_MAX 4096

int body_read(struct server *s, uint32_t id, json_t **ret, struct err *err)
{
	const struct entry *e = &s->jobs->entries.v[id];
	json_error_t error;
	char *text = NULL;
	int rc = store_get_body(s->store, e->key, &text, err);

	if ((rc == -ENOENT || (rc == 0 && !*text)) && job_key_index(e->key) >= 0) { /* an element's is its array's */
		free(text);
		rc = store_get_body(s->store, job_key(job_key_number(e->key), -1), &text, err);
	}
	if (rc < 0)
		return rc;
	*ret = json_loads(text, 0, &error);
	free(text);
	return *ret ? 0 : err_set(err, -EIO, "what the store has of the job is damaged: %s", error.text);
}

int body_write(const json_t *job, char **ret, struct err *err)
{
	static const char *const texts[] = {"shell",   "workdir",     "output",	    "error", "join",	"keep",
					    "mail_to", "umask",	      "checkpoint", "class", "stagein", "stageout",
					    "comment", "submit_args", "program",    "site",  NULL};
	json_t *body = json_object();
	int rc = 0;

	for (int i = 0; texts[i] && rc == 0; i++) {
		const char *value;
		rc = member_read_text(job, texts[i], strcmp(texts[i], "submit_args") == 0 ? 65536 : TEXT_MAX, &value,
				      err);
		if (rc == 0 && value)
			json_object_set(body, texts[i], json_object_get(job, texts[i]));
	}
	if (rc == 0)
		rc = member_read_list(job, "args", false, err);
	if (rc == 0)
		rc = member_read_list(job, "environment", true, err);
	if (rc == 0 && json_array_size(json_object_get(job, "args")))
		json_object_set(body, "args", json_object_get(job, "args"));
	if (rc == 0 && json_array_size(json_object_get(job, "environment")))
		json_object_set(body, "environment", json_object_get(job, "environment"));
	if (rc == 0 && json_is_true(json_object_get(job, "require_guarantee"))) /* another site may have to give it */
		json_object_set_new(body, "require_guarantee", json_true());
	if (rc == 0)
		*ret = json_dumps(body, JSON_COMPACT);
	json_decref(body);
	return rc;
}

int body_check(const json_t *job, struct err *err)
{
	const char *value;
	char *end;
	int rc = member_read_text(job, "workdir", TEXT_MAX, &value, err);

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
		rc = member_read_text(job, "stagein", TEXT_MAX, &value, err);
	if (rc == 0)
		rc = stage_check("stagein", value, err);
	if (rc == 0)
		rc = member_read_text(job, "stageout", TEXT_MAX, &value, err);
	if (rc == 0)
		rc = stage_check("stageout", value, err);
	if (rc == 0)
		rc = member_read_text(job, "shell", TEXT_MAX, &value, err);
	if (rc == 0 && value && value[0] != '/')
		rc = err_set(err, -EINVAL, "shell \"%.100s\" must be an absolute path (-S /bin/bash)", value);
	return rc;
}
