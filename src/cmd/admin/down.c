/*
 * down.c - `shunt down` and `shunt shutdown`: stop the server, at once or at an announced time.
 * They differ in what happens to running jobs by default.
 */
#include <poll.h>
#include <string.h>
#include <time.h>

#include "base/timetext.h"
#include "cmd/lib/change.h"
#include "cmd/lib/commands.h"
#include "cmd/lib/instance.h"
#include "cmd/lib/object.h"

#define ENDING_SECONDS 10 /* how long a server that does not answer may take to exit */
#define DOWN_SECONDS 120  /* how long a shutdown may take */
#define STOP_SECONDS 7200 /* how long a shutdown may take in which jobs write checkpoints */

struct down_arguments {
	bool kill, system, leave, now, cancel, force;
	const char *begin, *until;
};

#define AT(field) offsetof(struct down_arguments, field)
#define WHEN                                                                                                           \
	OPTION(TEXT, 0, "begin", begin, "TIME",                                                                        \
	       "begin at this time (2026-11-16 18:00, or +2h); jobs that would last longer are not started"),          \
		OPTION(TEXT, 0, "until", until, "TIME",                                                                \
		       "when the machine is expected to be back; expected starts of jobs follow from it"),             \
		OPTION(FLAG, 0, "cancel", cancel, NULL, "call off a shutdown that was announced with --begin"),        \
		FLAG(0, "force", force, "even if that breaks guaranteed deadlines"),                                   \
		FLAG(0, "system", system, "the system's server, even if you have one of your own")
static const struct option down_options[] = {
	FLAG(0, "kill", kill, "end running jobs first; otherwise they continue, and 'shunt up' finds them again"),
	WHEN,
	{0},
};

static const struct option shutdown_options[] = {
	FLAG(0, "leave-jobs", leave, "let running jobs continue; the same as 'shunt down'"),
	FLAG(0, "now", now, "stop running jobs without making checkpoints"),
	WHEN,
	{0},
};

static const char *mode_of(const struct command *c, const struct down_arguments *a)
{
	if (a->cancel)
		return "cancel";
	if (a->kill)
		return "kill";
	if (a->now)
		return "immediate";
	return a->leave || c != &command_shutdown ? "quick" : "delay";
}

/* Builds the body of the request; returns NULL after an error message if an option is wrong. */
static json_t *request_make(const struct command *c, const struct down_arguments *a, int64_t *ret_begin)
{
	const char *const name[] = {"begin", "until"}, *const text[] = {a->begin, a->until};
	json_t *body = json_pack("{s:s}", "mode", mode_of(c, a));
	if (a->force)
		json_object_set_new(body, "force", json_true());
	int64_t now = (int64_t)time(NULL), at[2] = {0};
	struct err err;

	for (int i = 0; i < 2; i++) {
		if (!text[i])
			continue;
		if (instant_parse(text[i], now, &at[i], &err) < 0)
			command_misused(c, "--%s %s: %s", name[i], text[i], err.text);
		else if (at[i] < now)
			command_misused(c, "--%s %s: that is in the past", name[i], text[i]);
		else
			json_object_set_new(body, name[i], json_integer(at[i]));
		if (!json_object_get(body, name[i])) {
			json_decref(body);
			return NULL;
		}
	}
	*ret_begin = at[0] > now ? at[0] : 0;
	return body;
}

static int64_t jobs_running(struct change *ch)
{
	struct reply r;
	int64_t n = 0;

	if (change_ask(ch, "GET", "/v1/server", NULL, NULL, &r)) {
		const json_t *counts = json_object_get(r.json, "counts");
		n = object_number(counts, "R", 0) + object_number(counts, "E", 0) + object_number(counts, "S", 0);
	}
	reply_fini(&r);
	return n;
}

/* Waits until the process is gone. */
static bool end_await(const struct where *w, int seconds)
{
	for (int i = 0; i < seconds * 1000 / LOOK_MS; i++) {
		if (!server_lives(w))
			return true;
		poll(NULL, 0, LOOK_MS);
	}
	return false;
}

static void stopped_say(struct change *ch, const struct where *w, const char *mode, int64_t running, int64_t pid)
{
	bool waits = strcmp(mode, "quick") != 0;

	if (!end_await(w, waits ? STOP_SECONDS : DOWN_SECONDS))
		ch->code = command_fail(ch->c,
					"the server (process %lld) was asked to stop but is still there; its log is %s",
					(long long)pid, w->log);
	else if (running > 0 && !waits)
		printf("The server is stopped; %lld running job%s. 'shunt up' starts it again.\n", (long long)running,
		       running == 1 ? " continues" : "s continue");
	else
		printf("The server is stopped. 'shunt up' starts it again.\n");
}

static int server_stop(const struct command *c, const struct where *w, const json_t *body, int64_t begin,
		       const json_t *server)
{
	const char *mode = json_string_value(json_object_get(body, "mode"));
	struct change ch = {.c = c};
	struct err err;
	char when[40];

	if (server_open(w, &ch.client, &err) < 0)
		return command_fail(c, "%s", err.text);
	int64_t running = jobs_running(&ch);
	if (!change_ask(&ch, "POST", "/v1/shutdown", body, NULL, NULL))
		return change_close(&ch);
	if (strcmp(mode, "cancel") == 0)
		printf("The shutdown is called off.\n");
	else if (begin)
		printf("The shutdown begins at %s. Call it off with 'shunt %s --cancel'.\n",
		       instant_format(begin, when, sizeof when), c->name);
	else
		stopped_say(&ch, w, mode, running, object_number(server, "pid", 0));
	return change_close(&ch);
}

static int down(const struct command *c, const void *arguments, const struct operands *operands)
{
	const struct down_arguments *a = arguments;
	int64_t begin;
	struct reply r = {0};
	struct where w;
	struct err err;
	int code;

	if (a->leave && a->now)
		return command_misused(c, "--leave-jobs or --now, not both");
	if ((a->system ? where_system(&w, &err) : where_find(&w, &err)) < 0)
		return command_fail(c, "%s", err.text);
	json_t *body = request_make(c, a, &begin);
	if (!body)
		return EXIT_USAGE;
	if (server_ask(&w, &r, &err)) {
		code = server_stop(c, &w, body, begin, r.json);
		/* one that was just killed may not be gone yet */
	} else if (!end_await(&w, ENDING_SECONDS)) {
		code = command_fail(c, "the server is there but does not answer: %s", err.text);
	} else if (a->begin || a->until || a->cancel) {
		code = command_fail(c, "no server runs: nothing was %s", a->cancel ? "called off" : "announced");
	} else {
		printf("No server runs.\n");
		code = EXIT_OK;
	}
	reply_fini(&r);
	json_decref(body);
	return code;
}

const struct command command_down = {
	.name = "down",
	.about = "Stop the server; running jobs continue.",
	.details =
		"The same as 'shunt shutdown --leave-jobs'. Stops the user's own server or, if none is running, the system's.",
	OPTIONS(struct down_arguments, down_options),
	.run = down,
	.alone = true,
};

const struct command command_shutdown = {
	.name = "shutdown",
	.about = "Shut down: running jobs save checkpoints and stop, then the server stops.",
	.details =
		"Running jobs that can make checkpoints make one and stop; those that can't are stopped. All that may run again (-r y) wait in the queue and are started again when the server is, "
		"from their checkpoints; the others are deleted. With --begin the shutdown is announced: 'shunt js' shows it, and no job is started that would last into it.",
	.examples = EXAMPLES({"shunt shutdown --begin '2026-11-20 18:00' --until '2026-11-23 08:00'",
			      "On Friday evening; the machine is expected back on Monday."},
			     {"shunt shutdown --now", "At once, without checkpoints."}),
	OPTIONS(struct down_arguments, shutdown_options),
	.run = down,
	.alone = true,
};
