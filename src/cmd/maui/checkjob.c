/*
 * checkjob.c - `checkjob`: shows one job like Maui: its state, and every reason why it does not
 * start, with what would change that.
 */
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/timetext.h"
#include "cmd/lib/commands.h"
#include "cmd/lib/joblist.h"
#include "cmd/lib/show.h"

static const char *text_or(const json_t *job, const char *key, const char *otherwise)
{
	const char *text = object_text(job, key);

	return *text ? text : otherwise;
}

/* Writes " (as of 40s ago)", or nothing while it is recent. */
static const char *forecast_age(const json_t *job, int64_t now, char *buf, size_t size)
{
	int64_t made = object_number(job, "expected_made", 0);
	char age[40];

	bool rough = json_is_true(json_object_get(job, "expected_rough"));

	*buf = '\0';
	if (made > 0 && now - made >= FORECAST_OLD)
		snprintf(buf, size, " (%sas of %s ago)", rough ? "roughly, " : "",
			 duration_human(now - made, age, sizeof age));
	else if (rough)
		snprintf(buf, size, " (roughly)");
	return buf;
}

static void times_print(const json_t *job, int64_t now)
{
	int64_t used = object_number(job, "used.walltime", 0), wall = object_number(job, "walltime", 0),
		created = object_number(job, "created", 0), started = object_number(job, "started", 0),
		queued = object_number(job, "queued", created);
	char a[40], b[64];

	printf("WallTime:   %s of ", duration_format(used, a, sizeof a));
	printf("%s\n", duration_format(wall, b, sizeof b));
	printf("SubmitTime: %s\n", instant_ctime(created, a, sizeof a));
	printf("  (Time Queued  Total: %s",
	       duration_format((started > 0 ? started : now) > created ? (started > 0 ? started : now) - created : 0, a,
			       sizeof a));
	printf("  Eligible: %s)\n", duration_format((started > 0 ? started : now) > queued && queued > 0
							    ? (started > 0 ? started : now) - queued
							    : 0,
						    a, sizeof a));
	if (started > 0)
		printf("StartTime:  %s\n", instant_ctime(started, a, sizeof a));
	else if (object_number(job, "expected_start", 0) > 0)
		printf("Expected:   %s%s\n", instant_ctime(object_number(job, "expected_start", 0), a, sizeof a),
		       forecast_age(job, now, b, sizeof b));
}

static void job_print(const json_t *job)
{
	char memory[40];

	printf("checking job %s\n\n", object_text(job, "id"));
	printf("State: %s\n", maui_state(object_text(job, "state"), object_text(job, "blocks")));
	printf("Creds:  user:%s  group:%s  account:%s  class:%s  qos:%s\n", object_text(job, "owner"),
	       text_or(job, "group", "-"), text_or(job, "account", "-"), object_text(job, "queue"),
	       text_or(job, "qos", "-"));
	times_print(job, (int64_t)time(NULL));
	printf("\nTotal Tasks: %" PRId64 "\n", object_number(job, "cpus", 0));
	printf("Req[0]  TaskCount: %" PRId64 "  NodeCount: %" PRId64 "  Partition: %s\n", object_number(job, "cpus", 0),
	       object_number(job, "nodect", 1), text_or(job, "partition", "ALL"));
	printf("Memory >= %s  Resources: %s\n", memory_human(object_number(job, "memory", 0), memory, sizeof memory),
	       text_or(job, "resources", "-"));
	if (*object_text(job, "exec_host"))
		printf("Allocated: %s\n", object_text(job, "exec_host"));
	printf("Holds: %s\n", strcmp(text_or(job, "holds", "n"), "n") == 0 ? "-" : object_text(job, "holds"));
	if (*object_text(job, "depend"))
		printf("Depend: %s\n", object_text(job, "depend"));
	printf("PE: %" PRId64, object_number(job, "cpus", 0));
	if (json_is_integer(json_object_get(job, "weight")))
		printf("  StartPriority: %" PRId64, object_number(job, "weight", 0));
	printf("\n\n");
}

void reasons_print(const json_t *reasons)
{
	struct strbuf text = {0};
	const json_t *r;
	size_t i;

	json_array_foreach(reasons, i, r)
	{
		const char *why = object_text(r, "text");
		size_t n = strlen(why);
		strbuf_clear(&text);
		strbuf_printf(&text, "%s%s To resolve: %s.", why, n && why[n - 1] == '.' ? "" : ".",
			      object_text(r, "change"));
		if (json_is_true(json_object_get(r, "implied")))
			strbuf_puts(&text, " (Implied by the others.)");
		printf("%3zu. %-11s ", i + 1, object_text(r, "code"));
		print_wrapped(stdout, text.text, 17, 17);
	}
	strbuf_fini(&text);
}

static void verdict_print(const json_t *job, const json_t *why)
{
	const json_t *reasons = json_object_get(why, "reasons");
	size_t n = json_array_size(reasons);

	if (!strchr("QHW", *text_or(job, "state", "C"))) {
		print_wrapped(stdout, object_text(why, "text"), 0, 0);
	} else if (n == 0) {
		printf("job can run now: it starts in the next cycle\n");
	} else {
		printf("job cannot run now, for %zu reason%s:\n", n, n == 1 ? "" : "s");
		reasons_print(reasons);
	}
}

static int one(const struct command *c, struct client *client, const void *arguments, const char *id, bool first)
{
	const struct show_arguments *a = arguments;
	struct reply job, why;
	int code = EXIT_OK;

	if (show_get(c, client, api_path("/v1/jobs/%s", id), &job, &code)) {
		if (show_get(c, client, api_path("/v1/jobs/%s/why", id), &why, &code)) {
			if (a->json) {
				json_t *both = json_pack("{s:O,s:O}", "job", job.json, "why", why.json);
				show_json(both);
				json_decref(both);
			} else {
				printf("%s", first ? "" : "\n");
				job_print(job.json);
				verdict_print(job.json, why.json);
			}
			reply_fini(&why);
		}
		reply_fini(&job);
	}
	return code;
}

static int run(const struct command *c, const void *arguments, const struct operands *operands)
{
	return show_each(c, arguments, operands, one);
}

const struct command command_checkjob = {
	.name = "checkjob",
	.operands = "JOB...",
	.about = "Show whether a job can run now and, if not, every reason.",
	.details =
		"Each reason comes with what would resolve it. If all of them are resolved, the job starts at once; if only some are, it does not. "
		"The words before the sentences are the codes that programs read with --json.",
	.examples = EXAMPLES(
		{"checkjob 12", "Show what job 12 requests, whether it can run now and, if not, every reason."},
		{"checkjob --json 12", "The same for programs."}),
	OPTIONS(struct show_arguments, show_options),
	.run = run,
	.own = true,
};
