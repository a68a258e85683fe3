/*
 * showstart.c - `showstart` shows when a job, or a described one, would start and end; `showbf`
 * shows what would start at once.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/table.h"
#include "base/timetext.h"
#include "cmd/lib/commands.h"
#include "cmd/lib/show.h"

/* ---- showstart ---- */

static void line_when(const char *what, int64_t at, int64_t now)
{
	char when[40], far[40];

	duration_format(at > now ? at - now : 0, far, sizeof far);
	printf("%-22s in %12s on %s\n", what, far, instant_ctime(at, when, sizeof when));
}

static void starts_print(const char *what, int64_t cpus, int64_t walltime, const json_t *answer, const char *start_key,
			 const char *end_key)
{
	int64_t now = (int64_t)time(NULL), start = object_number(answer, start_key, 0),
		end = object_number(answer, end_key, 0), made = object_number(answer, "expected_made", 0);
	char wall[40], age[40];

	printf("%s requires %" PRId64 " proc%s for %s\n", what, cpus, cpus == 1 ? "" : "s",
	       duration_format(walltime, wall, sizeof wall));
	line_when("Earliest start", start, now);
	line_when("Earliest completion", end > 0 ? end : start + walltime, now);
	if (json_is_true(json_object_get(answer, "expected_rough")))
		printf("(a rough estimate: very many jobs are ahead of it)\n");
	if (made > 0 && now - made >= FORECAST_OLD)
		printf("(as of %s ago)\n", duration_human(now - made, age, sizeof age));
}

/* Parses "16@2:00:00" or "16": CPUs, and for how long. */
static int described(const struct command *c, struct client *client, const char *text, bool json)
{
	char *at = strchr(text, '@'), request[64];
	int64_t cpus = strtoll(text, NULL, 10), wall = 0;
	json_t *body;
	struct reply reply;
	struct err err;
	int code = EXIT_OK;

	if (cpus < 1 || cpus > 100000000 || strspn(text, "0123456789") != (size_t)(at - text))
		return command_misused(c, "%s: use a job, or PROCS@DURATION as in 16@2:00:00", text);
	if (duration_parse(at + 1, &wall, &err) < 0)
		return command_misused(c, "%s: %s", at + 1, err.text);
	snprintf(request, sizeof request, "procs=%" PRId64 ",walltime=%" PRId64, cpus, wall);
	body = json_pack("{s:[s]}", "resources", request);
	if (show_post(c, client, "/v1/whatif", body, &reply, &code)) {
		if (json)
			show_json(reply.json);
		else if (object_number(reply.json, "start", 0) > 0)
			starts_print("job", cpus, wall, reply.json, "start", "end");
		else
			printf("job of %" PRId64 " proc%s would not start: %s\n", cpus, cpus == 1 ? "" : "s",
			       object_text(reply.json, "reason"));
		code = object_number(reply.json, "start", 0) > 0 ? EXIT_OK : EXIT_FAILED;
		reply_fini(&reply);
	}
	json_decref(body);
	return code;
}

static int start_one(const struct command *c, struct client *client, const void *arguments, const char *id, bool first)
{
	const struct show_arguments *a = arguments;
	struct reply reply;
	int code = EXIT_OK;
	char what[128];

	if (strchr(id, '@') && isdigit((unsigned char)*id))
		return described(c, client, id, a->json);
	if (show_get(c, client, api_path("/v1/jobs/%s", id), &reply, &code)) {
		const json_t *job = reply.json;
		snprintf(what, sizeof what, "job %s", object_text(job, "id"));
		if (a->json)
			show_json(job);
		else if (object_number(job, "started", 0) > 0)
			printf("%s is not waiting: it has started\n", what);
		else if (object_number(job, "expected_start", 0) > 0)
			starts_print(what, object_number(job, "cpus", 0), object_number(job, "walltime", 0), job,
				     "expected_start", "expected_end");
		else
			printf("%s has no estimate: %s\n", what, object_text(job, "no_estimate"));
		if (object_number(job, "started", 0) <= 0 && object_number(job, "expected_start", 0) <= 0)
			code = EXIT_FAILED;
		reply_fini(&reply);
	}
	return code;
}

static int start_run(const struct command *c, const void *arguments, const struct operands *operands)
{
	return show_each(c, arguments, operands, start_one);
}

const struct command command_showstart = {
	.name = "showstart",
	.operands = "JOB|PROCS@DURATION...",
	.about = "Show when a job would start and end.",
	.details =
		"For a waiting job this is the forecast, which assumes that every job uses its full walltime and no further jobs arrive. For PROCS@DURATION it is when such a job would start if "
		"submitted now; 'shunt whatif' takes other requests. Exit code 1: no estimate.",
	.examples = EXAMPLES(
		{"showstart 12", "Show when job 12 is expected to start and end."},
		{"showstart 16@2:00:00", "Show when a job of 16 CPUs and two hours would start if submitted now."}),
	OPTIONS(struct show_arguments, show_options),
	.run = start_run,
	.own = true,
};

/* ---- showbf ---- */

struct bf_arguments {
	bool json;
	const char *queue, *user, *duration, *feature;
};

#define AT(field) offsetof(struct bf_arguments, field)
static const struct option bf_options[] = {
	OPTION(TEXT, 'c', "class", queue, "QUEUE", "for jobs of this queue"),
	OPTION(TEXT, 'd', "duration", duration, "TIME", "only what is free for at least that long"),
	OPTION(TEXT, 'f', "feature", feature, "FEATURE", "only nodes that have this feature"),
	FLAG(0, "json", json, "print JSON instead of a table"),
	{0},
};

static void windows_print(const json_t *answer)
{
	static const char *const columns[] = {">tasks", ">nodes", ">duration", "start"};
	const json_t *windows = json_object_get(answer, "windows"), *w;
	struct table *t = table_create(columns, 4);
	char wall[40], when[40];
	size_t i;

	json_array_foreach(windows, i, w)
	{
		int64_t length = object_number(w, "duration", -1);
		table_cell(t, "%" PRId64, object_number(w, "cpus", 0));
		table_cell(t, "%" PRId64, object_number(w, "nodes", 0));
		table_cell(t, "%s", length < 0 ? "INFINITY" : duration_format(length, wall, sizeof wall));
		table_cell(t, "%s", instant_ctime(object_number(answer, "now", 0), when, sizeof when));
	}
	if (json_array_size(windows))
		table_print(t, stdout, 0);
	else
		printf("no procs available\n");
	table_destroy(t);
}

static int bf_run(const struct command *c, const void *arguments, const struct operands *operands)
{
	const struct bf_arguments *a = arguments;
	char number[32];
	int64_t least = 0;
	struct err err;

	if (a->duration && duration_parse(a->duration, &least, &err) < 0)
		return command_misused(c, "--duration %s: %s", a->duration, err.text);
	snprintf(number, sizeof number, "%" PRId64, least);
	int code = show_answer(
		c,
		api_path("/v1/backfill?queue=%s&feature=%s&duration=%s", a->queue, a->feature, least > 0 ? number : ""),
		a->json, windows_print);
	return code;
}

const struct command command_showbf = {
	.name = "showbf",
	.about = "Show the largest jobs that would start at once.",
	.details =
		"Each line is a job of single-CPU tasks that would start now; with one more CPU or second it would not. INFINITY: any walltime. "
		"Limits on users, accounts and queues are not counted.",
	.examples = EXAMPLES(
		{"showbf", "Show the sizes and walltimes of jobs that would start at once."},
		{"showbf -d 2:00:00 -f fast", "The same for two hours or more, on nodes with the feature fast."}),
	OPTIONS(struct bf_arguments, bf_options),
	.run = bf_run,
	.own = true,
};
