/*
 * qstat_past.c - jobs that the server has forgotten, from its history: for -H, and for -x as in PBS
 * Pro.
 */
#include <string.h>

#include "base/names.h"
#include "cmd/pbs/qstat.h"

#define PAST_MOST "10000" /* at most this many rows of the history are read */

struct past {
	struct qstat *q;
	struct names known; /* ids that the server still has, and arrays already seen */
	json_t *jobs;	    /* newest first */
};

bool qstat_wants_past(const struct qstat *q)
{
	const struct qstat_arguments *a = q->a;
	bool list = a->all || a->nodes || a->comments || a->estimate;

	return !a->uncompleted && !a->running && !a->idle && (a->history || a->pro || (a->x && (a->format || list)));
}

static void id_known(void *context, char *const *cell)
{
	names_add(&((struct past *)context)->known, cell[0]);
}

/* Collects the ids the server still has: jobs that ended recently are also in the history. */
static int known_read(struct past *p, struct err *err)
{
	int rc = tsv_read(p->q->client,
			  api_path("/v1/jobs?completed=1&fields=id&arrays=%s", p->q->a->elements ? "expand" : ""), 1,
			  id_known, p, err);
	return rc;
}

/* Requests the array of an element once; returns NULL if it was seen before. */
static json_t *array_ask(struct past *p, const char *array)
{
	struct reply reply = {0};
	json_t *job = NULL;
	uint32_t at;

	if (names_find(&p->known, array, &at))
		return NULL;
	names_add(&p->known, array);
	if (client_ask(p->q->client, "GET", api_path("/v1/jobs/%s", array), NULL, 0, &reply, NULL) == 0)
		job = json_incref(reply.json);
	reply_fini(&reply);
	return job;
}

/* Matches an owner against "a@host,b". */
static bool user_fits(const char *users, const char *owner)
{
	size_t n = strlen(owner);
	bool fits = !users;

	for (const char *u = users; u && *u && !fits; u += strcspn(u, ","), u += *u == ',')
		fits = strcspn(u, "@,") == n && strncmp(u, owner, n) == 0;
	return fits;
}

static void job_add(struct past *p, json_t *job, bool named)
{
	const char *array = object_text(job, "array");
	json_t *whole;
	uint32_t at;

	if (!user_fits(p->q->a->user, object_text(job, "owner")))
		return;
	if (*array && !p->q->a->elements && !named) {
		if ((whole = array_ask(p, array)))
			json_array_append_new(p->jobs, whole);
	} else if (!names_find(&p->known, object_text(job, "id"), &at)) {
		json_array_append(p->jobs, job);
	}
}

static void path_make(const struct qstat *q, const char *operand, struct strbuf *path)
{
	char name[256];

	strbuf_puts(path, "/v1/history?form=job&limit=" PAST_MOST);
	if (operand && qstat_is_job(operand)) {
		query_add(path, "id", operand);
	} else if (operand) {
		snprintf(name, sizeof name, "%.*s", (int)strcspn(operand, "@"), operand);
		query_add(path, "queue", name);
	}
	if (q->a->user && !strchr(q->a->user, ','))
		users_query(path, q->a->user);
}

int64_t qstat_past(struct qstat *q, const char *operand, void (*one)(void *context, const json_t *job), void *context)
{
	struct past p = {.q = q, .jobs = json_array()};
	bool id = operand && qstat_is_job(operand), element = id && strchr(operand, '[') && !strstr(operand, "[]");
	struct strbuf path = {0};
	struct reply reply = {0};
	struct err err;
	json_t *job;
	size_t i;

	path_make(q, operand, &path);
	if ((!id && known_read(&p, &err) < 0) || client_ask(q->client, "GET", path.text, NULL, 0, &reply, &err) < 0) {
		/* others' jobs are not visible: no error */
		if (strcmp(client_code(q->client), "forbidden") != 0)
			qstat_failed(q, operand, &err);
	}
	json_array_foreach(json_object_get(reply.json, "jobs"), i, job) job_add(&p, job, element);
	if (*object_text(reply.json, "next"))
		command_warn(q->command, "of those that have ended, the last " PAST_MOST
					 " are shown; 'shunt history' finds older ones");
	for (i = json_array_size(p.jobs); i-- > 0;)
		one(context, json_array_get(p.jobs, i));
	int64_t n = (int64_t)json_array_size(p.jobs);
	json_decref(p.jobs);
	names_fini(&p.known);
	reply_fini(&reply);
	strbuf_fini(&path);
	return n;
}
