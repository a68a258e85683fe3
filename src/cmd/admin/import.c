/*
 * import.c - `shunt history import`: adds jobs that another system ran to the history.
 *
 * Files are read here, and their jobs sent to the server in batches. It keeps each job once, so an
 * interrupted import can simply be repeated.
 */
#include <string.h>

#include "base/progress.h"
#include "base/text.h"
#include "cmd/lib/commands.h"
#include "cmd/lib/show.h"
#include "convert/past.h"

#define BATCH 250
#define BATCH_DAYS 1000 /* far below the limit of the server: the last job may have run for years */
#define BAD_SHOWN 20

struct arguments {
	const char *source;
	bool json;
};

static const struct option options[] = {
	OPTION_ROW(TEXT, 0, "source", offsetof(struct arguments, source), "NAME",
		   "the server or cluster that the jobs are from, where the files don't say it", .initial = "imported"),
	OPTION_ROW(FLAG, 0, "json", offsetof(struct arguments, json), NULL, "print the counts as JSON"),
	{0},
};

struct import {
	const struct command *c;
	struct client *client;
	json_t *batch;
	int64_t days;	 /* on which the jobs of the batch ran */
	char first[320]; /* origin of its first job */
	struct progress progress;
	int64_t read, added, known, too_old, bad;
	int code;
};

static void text_set(json_t *job, const char *key, const char *text)
{
	json_t *v = *text ? json_string(text) : NULL;
	struct strbuf clean = {0};

	if (!v && *text) { /* not UTF-8 */
		text_clean(&clean, text, strlen(text), TEXT_LINE);
		v = json_string(strbuf_text(&clean));
		strbuf_fini(&clean);
	}
	if (v)
		json_object_set_new(job, key, v);
}

static int batch_send(struct import *i)
{
	json_t *body;
	struct reply reply;

	if (json_array_size(i->batch) == 0)
		return 0;
	body = json_pack("{s:O}", "jobs", i->batch);
	if (show_post(i->c, i->client, "/v1/history", body, &reply, &i->code)) {
		i->added += object_number(reply.json, "added", 0);
		i->known += object_number(reply.json, "known", 0);
		i->too_old += object_number(reply.json, "too_old", 0);
		reply_fini(&reply);
	} else {
		text_print(stderr, "", "shunt: the jobs of that request begin at %s", i->first);
	}
	json_decref(body);
	json_array_clear(i->batch);
	i->days = 0;
	return i->code == EXIT_OK ? 0 : 1;
}

static int on_row(void *context, const struct past_row *row, const char *file, int64_t line)
{
	const struct {
		const char *key;
		int64_t n;
	} numbers[] = {{"exit_status", row->exit_status},
		       {"submitted", row->submitted},
		       {"started", row->started},
		       {"ended", row->ended},
		       {"nodes", row->nodes},
		       {"cpus", row->cpus},
		       {"gpus", row->gpus},
		       {"memory_kib", row->memory_kib},
		       {"walltime", row->walltime},
		       {"ran_ms", row->ran_ms},
		       {"cpu_ms", row->cpu_ms},
		       {"peak_kib", row->peak_kib}};
	struct import *i = context;
	json_t *job = json_object();

	text_set(job, "id", row->id);
	text_set(job, "owner", row->user);
	text_set(job, "group", row->group);
	text_set(job, "account", row->account);
	text_set(job, "project", row->project);
	text_set(job, "queue", row->queue);
	text_set(job, "name", row->name);
	text_set(job, "resources", row->resources);
	text_set(job, "hosts", row->hosts);
	text_set(job, "comment", row->text);
	text_set(job, "state", row->state);
	json_object_set_new(job, "last", json_boolean(!row->again));
	for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++)
		json_object_set_new(job, numbers[k].key, json_integer(numbers[k].n));
	if (json_array_size(i->batch) == 0)
		snprintf(i->first, sizeof i->first, "%.250s line %lld", file, (long long)line);
	json_array_append_new(i->batch, job);
	progress_at(&i->progress, ++i->read);
	i->days += row->ran_ms / 86400000 + 1;
	return json_array_size(i->batch) >= BATCH || i->days >= BATCH_DAYS ? batch_send(i) : 0;
}

static void on_bad(void *context, const char *file, int64_t line, const char *why)
{
	struct import *i = context;

	if (i->bad++ < BAD_SHOWN)
		text_print(stderr, "", "shunt: %s line %lld: %s: left out", file, (long long)line, why);
}

static int past_file_read(struct import *i, struct past_reader *reader, const char *file)
{
	struct lines *in;
	struct err err = {.text = ""};
	int rc = lines_open(file, &in, &err);

	if (rc == 0) {
		rc = past_read(reader, file, in, &err);
		lines_close(in);
		if (rc < 0)
			err_prefix(&err, rc, "%s", file);
	}
	if (rc < 0)
		i->code = command_fail(i->c, "%s", err.text);
	return rc;
}

static void result_print(const struct import *i, int64_t unfinished, bool json)
{
	if (json) {
		json_t *out = json_pack("{s:I, s:I, s:I, s:I, s:I, s:I}", "jobs", (json_int_t)i->read, "added",
					(json_int_t)i->added, "known", (json_int_t)i->known, "too_old",
					(json_int_t)i->too_old, "unfinished", (json_int_t)unfinished, "bad_lines",
					(json_int_t)i->bad);
		show_json(out);
		json_decref(out);
		return;
	}
	printf("%lld job%s: %lld added, %lld already in the history.\n", (long long)i->read, i->read == 1 ? "" : "s",
	       (long long)i->added, (long long)i->known);
	if (i->too_old)
		printf("%lld ended before what keep_history keeps, and were left out.\n", (long long)i->too_old);
	if (unfinished)
		printf("%lld had not ended, or these files do not say how, and were left out.\n",
		       (long long)unfinished);
	if (i->bad)
		printf("%lld line%s could not be read, and %s left out.\n", (long long)i->bad, i->bad == 1 ? "" : "s",
		       i->bad == 1 ? "was" : "were");
}

static int run(const struct command *c, const void *arguments, const struct operands *operands)
{
	const struct arguments *a = arguments;
	struct import i = {.c = c};
	const struct past_events events = {on_row, on_bad, &i};

	if (!show_open(c, &i.client))
		return EXIT_FAILED;
	struct past_reader *reader = past_create(a->source, &events);
	i.batch = json_array();
	progress_begin(&i.progress, "importing jobs", 0);
	for (int k = 0; k < operands->n && i.code == EXIT_OK; k++)
		past_file_read(&i, reader, operands->v[k]);
	if (i.code == EXIT_OK)
		past_finish(reader);
	if (i.code == EXIT_OK)
		batch_send(&i);
	progress_end(&i.progress);
	if (i.code == EXIT_OK || i.added > 0)
		result_print(&i, past_unfinished(reader), a->json);
	if (i.code == EXIT_OK && i.bad)
		i.code = EXIT_FAILED;
	past_destroy(reader);
	json_decref(i.batch);
	client_close(i.client);
	return i.code;
}

const struct command command_history_import = {
	.name = "history import",
	.operands = "FILE...",
	.operand_kind = OPTION_FILE,
	.about = "Add jobs that another system ran to the history.",
	.details =
		"FILE is an accounting file of TORQUE, PBS Pro or OpenPBS, or the output of Slurm's sacct -P; gzip is fine, - is standard input. Its jobs that have ended come "
		"into the history, and what they used into the ledger. A job that is there already is not added again, so an import that was "
		"interrupted can simply be repeated. Only managers can do this.",
	.examples = EXAMPLES(
		{"shunt history import /var/spool/torque/server_priv/accounting/2026*", "Jobs that TORQUE ran."},
		{"sacct -a -P -S 2025-01-01 -o ALL > jobs.txt; shunt history import --source old jobs.txt",
		 "Jobs that Slurm ran."}),
	OPTIONS(struct arguments, options),
	.run = run,
};
