/*
 * job.c - `shunt job` and `shunt why`: show one job for people.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>
#include <time.h>

#include "base/timetext.h"
#include "cmd/lib/commands.h"
#include "cmd/lib/show.h"

#define LABEL_WIDTH 16

static void line(const char *label, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void line(const char *label, const char *fmt, ...)
{
	struct strbuf text = {0};
	va_list ap;

	va_start(ap, fmt);
	strbuf_vprintf(&text, fmt, ap);
	va_end(ap);
	if (text.n && terminal_columns() > 0) {
		printf("%-*s", LABEL_WIDTH, label);
		print_wrapped(stdout, text.text, LABEL_WIDTH, LABEL_WIDTH);
	} else if (text.n) {
		printf("%-*s%s\n", LABEL_WIDTH, label, text.text);
	}
	strbuf_fini(&text);
}

static void line_text(const char *label, const json_t *job, const char *key)
{
	const char *text = object_text(job, key);

	if (*text)
		line(label, "%s", text);
}

/* Prints "2026-11-15 14:05:00 (3h 25m ago)". */
static void line_instant(const char *label, const json_t *job, const char *key, int64_t now)
{
	int64_t t = object_number(job, key, 0);
	char when[40], far[40];

	if (t <= 0)
		return;
	duration_human(t > now ? t - now : now - t, far, sizeof far);
	line(label, t > now ? "%s (in %s)" : "%s (%s ago)", instant_format(t, when, sizeof when), far);
}

static void line_used(const json_t *job)
{
	int64_t cput = object_number(job, "used.cput", -1), wall = object_number(job, "used.walltime", -1);
	int64_t memory = object_number(job, "used.memory", -1), cpus = object_number(job, "cpus", 1);
	char a[40], b[40], c[40];

	if (wall < 0)
		return;
	duration_human(wall, a, sizeof a);
	duration_human(cput < 0 ? 0 : cput, b, sizeof b);
	if (wall > 0 && cput >= 0)
		line("used", "%s; %s of CPU time (%.0f%%)%s%s", a, b, 100.0 * (double)cput / (double)(wall * cpus),
		     memory > 0 ? "; at most " : "", memory > 0 ? memory_human(memory, c, sizeof c) : "");
	else
		line("used", "%s", a);
}

/* Prints "2 good, the last 2026-11-15 14:05:00 (3m ago); restarted from number 1; 12s of work
 * lost". */
static void line_checkpoints(const json_t *job, int64_t now)
{
	int64_t saved = object_number(job, "checkpoints.saved", 0), lost = object_number(job, "checkpoints.lost", 0),
		from = object_number(job, "checkpoints.restarted", 0),
		bad = object_number(job, "checkpoints.failed", 0), moves = object_number(job, "checkpoints.moves", 0);
	struct strbuf text = {0};
	char when[40], buf[40];

	if (!json_is_object(json_object_get(job, "checkpoints")))
		return;
	if (saved > 0)
		strbuf_printf(&text, "number %" PRId64 " made %s (%s ago)", object_number(job, "checkpoints.number", 0),
			      instant_format(saved, when, sizeof when),
			      duration_human(now > saved ? now - saved : 0, buf, sizeof buf));
	else if (object_number(job, "checkpoints.number", 0) > 0)
		strbuf_printf(&text, "number %" PRId64 " of an earlier attempt",
			      object_number(job, "checkpoints.number", 0));
	else
		strbuf_puts(&text, "none yet");
	if (bad > 0)
		strbuf_printf(&text, "; %" PRId64 " failed", bad);
	if (from > 0)
		strbuf_printf(&text, "; restarted from number %" PRId64, from);
	if (moves == 1)
		strbuf_puts(&text, "; moved once");
	else if (moves > 1)
		strbuf_printf(&text, "; moved %" PRId64 " times", moves);
	if (lost > 0)
		strbuf_printf(&text, "; %s of work lost", duration_human(lost, buf, sizeof buf));
	line("checkpoints", "%s", text.text);
	strbuf_fini(&text);
}

static void line_asked(const json_t *job)
{
	int64_t cpus = object_number(job, "cpus", 0), nodes = object_number(job, "nodect", 0),
		memory = object_number(job, "memory", 0);
	int64_t walltime = object_number(job, "walltime", -1), gpus = object_number(job, "gpus", 0);
	struct strbuf text = {0};
	char buf[40];

	strbuf_printf(&text, "%" PRId64 " CPU%s", cpus, cpus == 1 ? "" : "s");
	if (nodes > 1)
		strbuf_printf(&text, " on %" PRId64 " nodes", nodes);
	if (gpus > 0)
		strbuf_printf(&text, ", %" PRId64 " GPU%s", gpus, gpus == 1 ? "" : "s");
	if (memory > 0)
		strbuf_printf(&text, ", %s of memory", memory_human(memory, buf, sizeof buf));
	if (walltime >= 0)
		strbuf_printf(&text, ", for up to %s", duration_human(walltime, buf, sizeof buf));
	const char *request = object_text(job, "resources");
	if (*request)
		strbuf_printf(&text, " (%s)", request);
	line("asked for", "%s", text.text);
	strbuf_fini(&text);
}

static void line_end(const json_t *job)
{
	int64_t status = object_number(job, "exit_status", INT64_MIN);

	if (*object_text(job, "state") != 'C' || status == INT64_MIN)
		return;
	if (status > 256)
		line("ended", "by signal %" PRId64 " (%s)", status - 256, strsignal((int)(status - 256)));
	else if (status >= 0)
		line("ended", "with exit status %" PRId64 "%s", status,
		     status == 126   ? " (shells: a command can't be executed)"
		     : status == 127 ? " (shells: a command was not found)"
				     : "");
	else
		line("ended", "without having run to an end (%" PRId64 ")", status);
}

/* Returns how a job or an array that has ended ended; for others its state. */
static const char *state_text(const json_t *job, const json_t *counts, char *buf, size_t size)
{
	int64_t status = object_number(job, "exit_status", 0);

	if (*object_text(job, "state") != 'C' || !json_is_integer(json_object_get(job, "exit_status")))
		return state_word(object_text(job, "state"));
	if (json_is_object(counts))
		return array_outcome_text(object_number(job, "array_failed", 0), object_number(counts, "C", 0), status,
					  buf, size);
	return outcome_text(status, object_text(job, "cause"), buf, size);
}

static void line_state(const json_t *job)
{
	const char *holds = object_text(job, "holds"), *letter = object_text(job, "state"), *key;
	const json_t *counts = json_object_get(job, "array_counts");
	int64_t failed = object_number(job, "array_failed", 0);
	struct strbuf text = {0};
	char end[64];
	json_t *value;

	strbuf_puts(&text, state_text(job, counts, end, sizeof end));
	if (*letter == 'H' && *holds)
		strbuf_printf(&text, " (%s)", holds);
	if (*letter != 'C') {
		json_object_foreach((json_t *)counts, key, value) if (json_integer_value(value) > 0) strbuf_printf(
			&text, ", %" JSON_INTEGER_FORMAT " %s", json_integer_value(value), state_word(key));
		if (failed > 0)
			strbuf_printf(&text, ", %" PRId64 " of them failed", failed);
	}
	line("state", "%s", text.text);
	strbuf_fini(&text);
}

static void line_deadline(const json_t *job, int64_t now)
{
	line_instant("deadline", job, "deadline", now);
	line_instant("nice until", job, "nice_until", now);
	if (object_number(job, "deadline", 0) > 0 && *object_text(job, "state") != 'C')
		line("", json_is_true(object_value(job, "guaranteed")) ? "guaranteed" : "not guaranteed");
}

static void line_price(const json_t *job)
{
	char price[40], budget[40];

	if (*object_text(job, "price_unit"))
		line("price", "%s of a budget of %s %s",
		     duration_format(object_number(job, "price", 0), price, sizeof price),
		     duration_format(object_number(job, "budget", 0), budget, sizeof budget),
		     object_text(job, "price_unit"));
	if (object_number(job, "share", 0) > 0)
		line("share", "%.3f CPUs of a shared node", (double)object_number(job, "share", 0) / 1000);
}

static void line_expected(const json_t *job, int64_t now)
{
	int64_t made = object_number(job, "expected_made", 0);
	char age[40];

	if (object_number(job, "started", 0) > 0 && !json_is_object(json_object_get(job, "array_counts")))
		return;
	line_instant("expected start", job, "expected_start", now);
	line_instant("expected end", job, "expected_end", now);
	if (json_is_true(json_object_get(job, "expected_rough")))
		line("", "a rough estimate: very many jobs are ahead of it");
	if (object_number(job, "expected_start", 0) > 0 && made > 0 && now - made >= FORECAST_OLD)
		line("", "as of %s ago", duration_human(now - made, age, sizeof age));
	if (*object_text(job, "no_estimate"))
		line("expected start", "none: %s", object_text(job, "no_estimate"));
}

static void job_print(const json_t *job)
{
	int64_t now = (int64_t)time(NULL);

	line_text("job", job, "id");
	line_text("name", job, "name");
	line("owner", "%s", object_text(job, "owner"));
	line_state(job);
	line_text("", job, "comment");
	if (json_is_true(object_value(job, "past")))
		line("", "from the history: the queue has forgotten it");
	line_text("queue", job, "queue");
	line_text("account", job, "account");
	line_text("qos", job, "qos");
	line_text("partition", job, "partition");
	line_asked(job);
	line_deadline(job, now);
	line_price(job);
	line_text("after", job, "depend");
	line_text("restarts", job, "restart");
	if (*object_text(job, "retries"))
		line("retries", "%s, %" PRId64 " used", object_text(job, "retries"), object_number(job, "retried", 0));
	line_text("elements", job, "array_spec");
	line_instant("not before", job, "at", now);
	line_instant("submitted", job, "created", now);
	line_expected(job, now);
	line_instant("started", job, "started", now);
	line_text("on", job, "exec_host");
	if (object_number(job, "switches", 0) > 0)
		line("switches", "%lld", (long long)object_number(job, "switches", 0));
	line_used(job);
	line_checkpoints(job, now);
	line_instant("finished", job, "ended", now);
	line_end(job);
	line_text("directory", job, "workdir");
	line_text("output", job, "output");
	if (strcmp(object_text(job, "join"), "oe") != 0)
		line_text("errors", job, "error");
	line_text("submitted by", job, "submit_args");
}

static int each(const struct command *c, const void *arguments, const struct operands *operands, const char *path,
		void (*print)(const json_t *answer))
{
	const struct show_arguments *a = arguments;
	struct client *client;
	int code = EXIT_OK;

	if (!show_open(c, &client))
		return EXIT_FAILED;
	for (int i = 0; i < operands->n; i++) {
		struct reply reply;
		if (!show_get(c, client, api_path(path, operands->v[i]), &reply, &code))
			continue;
		if (a->json) {
			show_json(reply.json);
		} else {
			printf("%s", i ? "\n" : "");
			print(reply.json);
		}
		reply_fini(&reply);
	}
	client_close(client);
	return code;
}

static int job_run(const struct command *c, const void *arguments, const struct operands *operands)
{
	return each(c, arguments, operands, "/v1/jobs/%s", job_print);
}

static void why_print(const json_t *why)
{
	const json_t *reasons = json_object_get(why, "reasons");

	print_wrapped(stdout, object_text(why, "text"), 0, 0);
	if (json_array_size(reasons) > 1) {
		printf("\nReasons why it does not start now:\n");
		reasons_print(reasons);
	}
}

static int why_run(const struct command *c, const void *arguments, const struct operands *operands)
{
	return each(c, arguments, operands, "/v1/jobs/%s/why", why_print);
}

const struct command command_job = {
	.name = "job",
	.operands = "JOB...",
	.about = "Show everything about a job.",
	.examples = EXAMPLES({"shunt job 12", "What job 12 is and how far it is."}),
	OPTIONS(struct show_arguments, show_options),
	.run = job_run,
};

const struct command command_why = {
	.name = "why",
	.operands = "JOB...",
	.about = "Show what a job waits for, and what would change it.",
	.examples = EXAMPLES({"shunt why 12", "What job 12 waits for, and what would change it."}),
	OPTIONS(struct show_arguments, show_options),
	.run = why_run,
};
