/*
 * qstat_ask.c - qstat's requests to the server, and its error messages.
 */
#include "cmd/pbs/qstat.h"
#include <ctype.h>
#include <string.h>
#include <time.h>

#define UNKNOWN_JOB 153
#define UNKNOWN_QUEUE 170

bool qstat_is_job(const char *operand)
{
	return isdigit((unsigned char)operand[0]);
}

void qstat_keep(struct qstat *q, int code)
{
	if (q->code == EXIT_OK)
		q->code = code;
}

const char *qstat_server(struct qstat *q)
{
	struct reply reply = {0};

	if (client_absent(q->client))
		return client_absent(q->client);
	if (!q->server_name[0] && client_ask(q->client, "GET", "/v1/server", NULL, 0, &reply, NULL) == 0)
		snprintf(q->server_name, sizeof q->server_name, "%s", object_text(reply.json, "name"));
	reply_fini(&reply);
	return q->server_name;
}

void qstat_json(struct qstat *q, const char *root, json_t *objects)
{
	json_t *all = json_pack("{s:I, s:s, s:s, s:O}", "timestamp", (json_int_t)time(NULL), "pbs_version",
				SHUNT_VERSION, "pbs_server", qstat_server(q), root, objects);

	json_dumpf(all, stdout, JSON_INDENT(4));
	putchar('\n');
	json_decref(all);
}

/* Reports that the operand does not exist, and keeps the exit code. */
static void qstat_unknown(struct qstat *q, const char *operand)
{
	bool job = qstat_is_job(operand) && !q->a->queues && !q->a->queue_limits;
	const char *server = job && !strchr(operand, '.') ? qstat_server(q) : "";

	if (job)
		command_fail(q->command, "Unknown Job Id %s%s%s", operand, server[0] ? "." : "", server);
	else
		command_fail(q->command, "Unknown queue %s", operand);
	qstat_keep(q, job ? UNKNOWN_JOB : UNKNOWN_QUEUE);
}

void qstat_failed(struct qstat *q, const char *operand, const struct err *err)
{
	const char *code = client_code(q->client);

	if (operand && (strcmp(code, "unknown_job") == 0 || strcmp(code, "unknown_queue") == 0)) {
		qstat_unknown(q, operand);
		return;
	}
	command_fail(q->command, "%s", err->text);
	qstat_keep(q, show_code(q->client));
}

void qstat_path(const struct qstat *q, const char *operand, struct strbuf *path)
{
	const struct qstat_arguments *a = q->a;
	char queue[256];

	strbuf_clear(path);
	strbuf_puts(path, "/v1/jobs");
	if (a->elements)
		query_add(path, "arrays", "expand");
	if (operand && qstat_is_job(operand)) {
		query_add(path, "ids", operand);
		return; /* a named job is shown regardless of other selections */
	}
	if (operand) {
		snprintf(queue, sizeof queue, "%.*s", (int)strcspn(operand, "@"), operand);
		query_add(path, "queue", queue);
	}
	users_query(path, a->user);
	bool list = !a->full && !a->format && !a->x && !a->history;
	query_add(path, "completed", a->uncompleted ? "0" : list ? "recent" : NULL);
	query_add(path, "state", a->running ? "R,S,B,E" : a->idle ? "Q,H,W" : a->history ? "C" : NULL);
}

void qstat_empty(struct qstat *q, const char *operand)
{
	struct err err;

	if (qstat_is_job(operand)) {
		if (client_ask(q->client, "GET", api_path("/v1/jobs/%s", operand), NULL, 0, NULL, &err) < 0 &&
		    strcmp(client_code(q->client), "refused") == 0)
			qstat_failed(q, NULL, &err);
		else
			qstat_unknown(q, operand);
	} else if (*operand != '@') {
		char queue[256];
		snprintf(queue, sizeof queue, "%.*s", (int)strcspn(operand, "@"), operand);
		if (client_ask(q->client, "GET", api_path("/v1/queues/%s", queue), NULL, 0, NULL, &err) < 0)
			qstat_failed(q, operand, &err);
	}
}
