/*
 * owner.c - `shunt owner`: who uses this machine and what it gave to the cluster; pausing that. It asks the agent of this machine, not a server: it works
 * without root and without a network.
 */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/text.h"
#include "base/timetext.h"
#include "base/unixsock.h"
#include "cmd/commands.h"

#define WAIT_MS 5000

struct arguments {
	bool json;
};

static const struct option options[] = {
	{"json", OPTION_FLAG, offsetof(struct arguments, json), NULL, NULL, NULL, 0, 0,
	 "print the agent's answer instead of sentences", 0},
	{0},
};

/* ---- asking ---- */

static int door_open(const struct command *c)
{
	const char *home = getenv("SHUNT_AGENT_HOME");
	struct strbuf path = {0};
	struct err err;
	int fd;

	strbuf_printf(&path, "%s%s/owner.sock", home && *home == '/' ? home : "",
		      home && *home == '/' ? "/run" : "/run/shunt-agent");
	fd = unix_connect(path.text, WAIT_MS, &err);
	if (fd == -ENOENT || fd == -ECONNREFUSED)
		command_fail(c, "no agent runs on this machine: it gives nothing to a cluster");
	else if (fd < 0)
		command_fail(c, "%s", err.text);
	strbuf_fini(&path);
	return fd;
}

/* The agent's answer to a line; NULL: it was said what is wrong. */
static json_t *ask(const struct command *c, const char *line)
{
	struct strbuf text = {0};
	char part[4096];
	int fd = door_open(c);
	json_t *o = NULL;
	const char *error;
	ssize_t n = -1;

	if (fd < 0)
		return NULL;
	if (dprintf(fd, "%s\n", line) > 0)
		while ((n = read(fd, part, sizeof part)) > 0)
			strbuf_add(&text, part, (size_t)n);
	close(fd);
	o = n == 0 ? json_loadb(strbuf_text(&text), text.n, 0, NULL) : NULL;
	strbuf_fini(&text);
	if (!o)
		command_fail(c, "the agent of this machine did not answer: see its log");
	else if ((error = json_string_value(json_object_get(o, "error"))))
		command_fail(c, "%s", error);
	if (json_object_get(o, "error")) {
		json_decref(o);
		return NULL;
	}
	return o;
}

/* ---- showing ---- */

static const char *text_of(const json_t *o, const char *name)
{
	const char *text = json_string_value(json_object_get(o, name));

	return text ? text : "";
}

static long long number_of(const json_t *o, const char *name)
{
	return json_integer_value(json_object_get(o, name));
}

static void line(const char *title, const char *text)
{
	struct strbuf clean = {0};

	text_clean(&clean, text, strlen(text), TEXT_LINE);
	printf("%-10s %s\n", title, strbuf_text(&clean));
	strbuf_fini(&clean);
}

static void show_person(const json_t *o)
{
	struct strbuf text = {0};
	char ago[32];

	if (!json_object_get(o, "input_ago")) {
		strbuf_puts(&text, "nobody since the agent was started");
	} else {
		const char *who = text_of(o, "who");
		strbuf_printf(&text, "%s%s%s, %s ago", who, *who ? " at " : "", text_of(o, "where"),
			      duration_human(number_of(o, "input_ago"), ago, sizeof ago));
	}
	line("used by", text.text);
	strbuf_fini(&text);
}

static void show_state(const json_t *o)
{
	const char *state = text_of(o, "state");
	struct strbuf text = {0};
	char when[32];

	if (strcmp(state, "free") == 0)
		strbuf_puts(&text, "jobs may run");
	else
		strbuf_printf(&text, "%s since %s: %s",
			      strcmp(state, "leaving") == 0 ? "jobs leave, no new one starts," : "jobs are stopped",
			      instant_format(number_of(o, "since"), when, sizeof when), text_of(o, "why"));
	if (number_of(o, "pause_until"))
		strbuf_printf(&text, " (until %s)", instant_format(number_of(o, "pause_until"), when, sizeof when));
	line("now", text.text);
	strbuf_fini(&text);
}

static void show_jobs(const json_t *o)
{
	const json_t *parts = json_object_get(o, "parts"), *p;
	struct strbuf text = {0};
	size_t i;

	json_array_foreach(parts, i, p) strbuf_printf(&text, "%s%s%s", i ? ", " : "", text_of(p, "job"),
						      json_is_true(json_object_get(p, "stopped")) ? " (stopped)" : "");
	line("jobs here", text.n ? text.text : "none");
	strbuf_fini(&text);
}

static void show_book(const json_t *o)
{
	long long claimed = number_of(o, "claimed"), lost = number_of(o, "lost");
	struct strbuf text = {0};
	char given[32], lost_text[32], hours[32];

	strbuf_printf(&text, "%s of processor time; jobs were stopped %lld times, and %lld had to leave",
		      duration_human(number_of(o, "given"), given, sizeof given), number_of(o, "stops"),
		      number_of(o, "left"));
	line("given away", text.text);
	strbuf_fini(&text);
	strbuf_printf(&text, "%s of processor time in the %s that the owner had the machine",
		      duration_human(lost, lost_text, sizeof lost_text), duration_human(claimed, hours, sizeof hours));
	if (claimed >= 3600)
		strbuf_printf(&text, ": %.0f s an hour", (double)lost * 3600 / (double)claimed);
	line("work lost", text.text);
	strbuf_fini(&text);
}

static int print(const struct command *c, json_t *o, bool json)
{
	struct strbuf text = {0};

	if (!o)
		return EXIT_FAILED;
	if (json) {
		json_dumpf(o, stdout, JSON_INDENT(2));
		putchar('\n');
	} else if (!*text_of(o, "policy")) {
		printf("This machine is node %s of the cluster %s, and not a workstation: jobs run here whoever uses it.\n",
		       text_of(o, "node"), text_of(o, "cluster"));
	} else {
		strbuf_printf(&text, "%s of the cluster %s%s", text_of(o, "node"), text_of(o, "cluster"),
			      json_is_true(json_object_get(o, "connected")) ? "" : " (no server is reached)");
		line("node", text.text);
		line("policy", text_of(o, "policy"));
		show_person(o);
		show_state(o);
		show_jobs(o);
		show_book(o);
	}
	strbuf_fini(&text);
	json_decref(o);
	return EXIT_OK;
}

/* ---- the commands ---- */

static int show_run(const struct command *c, const void *arguments, const struct operands *o)
{
	const struct arguments *a = arguments;

	return print(c, ask(c, "show"), a->json);
}

static int pause_run(const struct command *c, const void *arguments, const struct operands *o)
{
	char order[40] = "pause";
	int64_t seconds;
	struct err err;

	if (o->n) {
		if (duration_parse(o->v[0], &seconds, &err) < 0)
			return command_misused(c, "%.60s: %s", o->v[0], err.text);
		if (seconds < 1 || seconds > INT32_MAX)
			return command_misused(c, "%.60s: must be 1 second to 68 years", o->v[0]);
		snprintf(order, sizeof order, "pause %lld", (long long)seconds);
	}
	return print(c, ask(c, order), ((const struct arguments *)arguments)->json);
}

static int resume_run(const struct command *c, const void *arguments, const struct operands *o)
{
	return print(c, ask(c, "resume"), ((const struct arguments *)arguments)->json);
}

static const char *const examples[] = {
	"shunt owner",
	"Who used this machine last, what runs here, what was given away, and what that cost.",
	"shunt owner pause 2h",
	"The cluster's jobs stop at once, and leave after a minute; in two hours they may come back.",
	"shunt owner resume",
	"They may come back now.",
	NULL,
};

const struct command command_owner = {
	.name = "owner",
	.operands = "",
	.about = "Show who uses this workstation and what it gives to its cluster.",
	.details =
		"Asks the agent on this machine: neither root nor a network is needed. 'shunt owner pause' and 'resume' may be used by root and the owners that the "
		"node's policy names (owners=ana+bo), or, if it names none, by users who are logged in at the machine. The policy is the node's setting "
		"'workstation': 'shunt nodes set NODE workstation=idle'.",
	.examples = examples,
	.options = options,
	.size = sizeof(struct arguments),
	.run = show_run,
	.alone = true,
};

const struct command command_owner_pause = {
	.name = "owner pause",
	.operands = "[DURATION]",
	.operands_max = 1,
	.about = "Stop the cluster's jobs on this workstation.",
	.details =
		"They stop within a second and leave after the time that the policy names (return=). Without DURATION "
		"that lasts until 'shunt owner resume'.",
	.examples = examples,
	.options = options,
	.size = sizeof(struct arguments),
	.run = pause_run,
	.alone = true,
};

const struct command command_owner_resume = {
	.name = "owner resume",
	.operands = "",
	.about = "Let the cluster's jobs run on this workstation again.",
	.details = "Ends a pause. Whether jobs run now is up to the policy again.",
	.examples = examples,
	.options = options,
	.size = sizeof(struct arguments),
	.run = resume_run,
	.alone = true,
};
