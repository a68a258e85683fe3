/*
 * submission_request.c - reads the resources that a submission requests, and adds the defaults of
 * queue and server.
 */
#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/err.h"
#include "base/members.h"
#include "base/timetext.h"
#include "core/reqtext.h"
#include "rules/admit.h"
#include "rules/partition.h"
#include "server/base/words.h"
#include "server/job/jobs.h"
#include "server/job/spec.h"
#include "server/job/submission.h"
#include "server/job/submission_internal.h"
#include "server/server.h"

#define ESTIMATE_MAX (INT64_C(1) << 40)

const char *whole_name(enum wholeness whole)
{
	static const char *const names[] = {[WHOLE_NOT] = "none", [WHOLE_NODE] = "node", [WHOLE_HOST] = "host"};

	return names[whole];
}

/* Reads what the job uses exclusively; -1: its resources decide. */
static int read_exclusive(const json_t *job, int *ret, struct err *err)
{
	const char *text;
	int rc = member_read_text(job, "exclusive", 16, &text, err);

	*ret = -1;
	for (int i = WHOLE_NOT; i <= WHOLE_HOST && rc == 0 && text; i++)
		if (strcmp(text, whole_name((enum wholeness)i)) == 0)
			*ret = i;
	if (rc == 0 && text && *ret < 0)
		rc = err_set(err, -EINVAL, "exclusive \"%.16s\" must be none, node or host", text);
	return rc;
}

/* Gives a job that does not request a number of CPUs those of its partition, if it runs in one. */
static int read_size(struct server *s, struct reqtext *full, struct submission *ret, struct arena *a, struct err *err)
{
	struct reqtext sized = ret->text;
	int rc;

	sized.partition = full->partition;
	rc = partition_complete(s->cluster, &sized, a, err);
	if (rc == 0 && sized.nchunks) {
		full->chunk = ret->text.chunk = sized.chunk;
		full->nchunks = ret->text.nchunks = sized.nchunks;
		full->select = false;
	}
	return rc;
}

int read_text(struct server *s, const json_t *job, struct arena *a, struct submission *ret, struct err *err)
{
	const json_t *list = json_object_get(job, "resources"), *v;
	char estimate[40], walltime[40];
	size_t i;
	int whole = -1, rc = member_read_list(job, "resources", false, err);

	if (rc == 0)
		rc = read_exclusive(job, &whole, err);
	if (rc < 0)
		return rc;
	json_array_foreach(list, i, v) if (rc == 0) rc = reqtext_parse(&ret->text, json_string_value(v), a, err);
	if (rc == 0 && list)
		rc = reqtext_check_memory(&ret->text, err);
	if (rc < 0)
		return rc;
	if (whole >= 0)
		ret->text.whole = (enum wholeness)whole;
	ret->spec->qos = word_add(s, ret->text.qos);
	ret->spec->reservation = word_add(s, ret->text.reservation);
	rc = member_read_number(job, "estimate", 1, ESTIMATE_MAX, &ret->text.estimate, err);
	if (rc == 0 && ret->text.estimate > ESTIMATE_MAX)
		rc = err_set(err, -EINVAL, "estimate: at most %lld seconds", (long long)ESTIMATE_MAX);
	if (rc == 0 && ret->text.estimate && ret->text.walltime < 0)
		ret->text.walltime = ret->text.estimate;
	if (rc == 0 && ret->text.estimate && ret->text.estimate != ret->text.walltime)
		rc = err_code(
			err, CODE_REFUSED,
			"a job with an estimate (%s) pays for that time and may run no longer: leave out walltime=%s",
			duration_format(ret->text.estimate, estimate, sizeof estimate),
			duration_format(ret->text.walltime, walltime, sizeof walltime));
	return rc;
}

int read_request(struct server *s, const char *queue, struct arena *a, struct submission *ret, struct err *err)
{
	int rc;
	const struct queue *q = queue_named(s, queue);
	struct reqtext full = ret->text;

	rc = admit_defaults(q ? &q->attrs : NULL, s->attrs, ret->spec->interactive, &full, a, err);
	/* a queue has no defaults for what a partition determines */
	if (rc == 0 && ret->text.nchunks == 0)
		rc = read_size(s, &full, ret, a, err);
	return rc < 0 ? rc : spec_fill(s, &full, ret->spec, err);
}
