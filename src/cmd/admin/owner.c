/*
 * owner.c - `shunt owner`: shows who uses this machine and what it gave to others, and pauses that.
 * It asks the agent of this machine, the daemon of its pool (station/pool_door.c), or both, and no
 * server: it works without root and without a network.
 */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hostlist.h"
#include "base/mem.h"
#include "base/members.h"
#include "base/text.h"
#include "base/timetext.h"
#include "base/unixsock.h"
#include "cmd/lib/commands.h"
#include "cmd/lib/show.h"
#include "station/pool_home.h"

#define WAIT_MS 5000

static const struct option options[] = {
	OPTION_ROW(FLAG, 0, "json", offsetof(struct show_arguments, json), NULL,
		   "print the answer as JSON; if both a cluster and a pool use this machine, an array of two"),
	{0},
};

/* ---- asking ---- */

/* Collects the sockets of the agent and of the pool's daemon. */
static void doors_find(name_list *ret)
{
	const char *agent = getenv("SHUNT_AGENT_HOME"), *pool = getenv("SHUNT_POOL_HOME");
	struct strbuf path = {0};
	struct pool_home h;

	strbuf_printf(&path, "%s%s/owner.sock", agent && *agent == '/' ? agent : "",
		      agent && *agent == '/' ? "/run" : "/run/shunt-agent");
	vec_push(ret, mem_strdup(path.text));
	if (!pool || !*pool)
		vec_push(ret, mem_strdup(POOL_DOOR_SYSTEM));
	if (pool_home_find(&h, NULL) == 0) {
		pool_home_path(&h, POOL_DOOR, &path);
		vec_push(ret, mem_strdup(path.text));
	}
	strbuf_fini(&path);
}

/* Sends a line to a socket and reads the answer. Returns EXIT_FAILED after an error message; *ret
 * is NULL if nobody listens. */
static int ask(const struct command *c, const char *path, const char *line, json_t **ret)
{
	struct strbuf text = {0};
	char part[4096];
	const char *error;
	struct err err;
	ssize_t n = -1;
	int fd = unix_connect(path, WAIT_MS, &err);

	*ret = NULL;
	/* or it belongs to another user */
	if (fd == -ENOENT || fd == -ECONNREFUSED || fd == -ENOTDIR || fd == -EACCES)
		return EXIT_OK;
	if (fd < 0)
		return command_fail(c, "%s", err.text);
	if (dprintf(fd, "%s\n", line) > 0)
		while ((n = read(fd, part, sizeof part)) > 0)
			strbuf_add(&text, part, (size_t)n);
	close(fd);
	*ret = n == 0 ? json_loadb(strbuf_text(&text), text.n, 0, NULL) : NULL;
	strbuf_fini(&text);
	error = json_string_value(json_object_get(*ret, "error"));
	if (*ret && !error)
		return EXIT_OK;
	command_fail(c, "%s", error ? error : "the daemon of this machine did not answer: see its log");
	json_decref(*ret);
	*ret = NULL;
	return EXIT_FAILED;
}

/* ---- showing ---- */

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
		strbuf_puts(&text, "nobody since it was started");
	} else {
		const char *who = member_text(o, "who");
		strbuf_printf(&text, "%s%s%s, %s ago", who, *who ? " at " : "", member_text(o, "where"),
			      duration_human(member_number(o, "input_ago"), ago, sizeof ago));
	}
	line("used by", text.text);
	strbuf_fini(&text);
}

static void show_state(const json_t *o, const char *what)
{
	const char *state = member_text(o, "state");
	struct strbuf text = {0};
	char when[32];

	if (strcmp(state, "free") == 0)
		strbuf_printf(&text, "%s may run", what);
	else
		strbuf_printf(&text, "%s %s since %s: %s", what,
			      strcmp(state, "leaving") == 0 ? "leave, no new one starts," : "are stopped",
			      instant_format(member_number(o, "since"), when, sizeof when), member_text(o, "why"));
	if (member_number(o, "pause_until"))
		strbuf_printf(&text, " (until %s)", instant_format(member_number(o, "pause_until"), when, sizeof when));
	line("now", text.text);
	strbuf_fini(&text);
}

static void show_jobs(const json_t *o)
{
	const json_t *parts = json_object_get(o, "parts"), *p;
	struct strbuf text = {0};
	size_t i;

	json_array_foreach(parts, i, p) strbuf_printf(&text, "%s%s%s", i ? ", " : "", member_text(p, "job"),
						      json_is_true(json_object_get(p, "stopped")) ? " (stopped)" : "");
	line("jobs here", text.n ? text.text : "none");
	strbuf_fini(&text);
}

static void show_tasks(const json_t *o)
{
	const json_t *tasks = json_object_get(o, "tasks"), *t;
	struct strbuf text = {0};
	size_t i;

	json_array_foreach(tasks, i, t) strbuf_printf(&text, "%s%lld of %s", i ? ", " : "",
						      (long long)member_number(t, "tasks"), member_text(t, "from"));
	line("tasks here", text.n ? text.text : "none");
	strbuf_fini(&text);
}

static void show_book(const json_t *o, const char *what)
{
	long long claimed = member_number(o, "claimed"), lost = member_number(o, "lost");
	struct strbuf text = {0};
	char given[32], lost_text[32], hours[32];

	strbuf_printf(&text, "%s of processor time; %s were stopped %lld times, and %lld had to leave",
		      duration_human(member_number(o, "given"), given, sizeof given), what,
		      (long long)member_number(o, "stops"), (long long)member_number(o, "left"));
	line("given away", text.text);
	strbuf_fini(&text);
	strbuf_printf(&text, "%s of processor time in the %s that the owner had the machine",
		      duration_human(lost, lost_text, sizeof lost_text), duration_human(claimed, hours, sizeof hours));
	if (claimed >= 3600)
		strbuf_printf(&text, ": %.0f s an hour", (double)lost * 3600 / (double)claimed);
	line("work lost", text.text);
	strbuf_fini(&text);
}

static void show_node(const json_t *o)
{
	struct strbuf text = {0};

	if (!*member_text(o, "policy")) {
		printf("This machine is node %s of the cluster %s, and not a workstation: jobs run here even while somebody uses it.\n",
		       member_text(o, "node"), member_text(o, "cluster"));
		return;
	}
	strbuf_printf(&text, "%s of the cluster %s%s", member_text(o, "node"), member_text(o, "cluster"),
		      json_is_true(json_object_get(o, "connected")) ? "" : " (no server is reached)");
	line("node", text.text);
	line("policy", member_text(o, "policy"));
	show_person(o);
	show_state(o, "jobs");
	show_jobs(o);
	show_book(o, "jobs");
	strbuf_fini(&text);
}

static void show_station(const json_t *o)
{
	struct strbuf text = {0};

	strbuf_printf(&text, "%s of the pool %s%s", member_text(o, "station"), member_text(o, "pool"),
		      json_is_true(json_object_get(o, "connected")) ? "" : " (no other station is reached)");
	line("station", text.text);
	line("policy", member_text(o, "policy"));
	if (json_object_get(o, "devices"))
		show_person(o);
	show_state(o, "tasks");
	show_tasks(o);
	show_book(o, "tasks");
	strbuf_fini(&text);
}

static int print(const json_t *answers, bool json)
{
	const json_t *o;
	size_t i;

	if (json) {
		json_dumpf(json_array_size(answers) == 1 ? json_array_get(answers, 0) : answers, stdout,
			   JSON_INDENT(2));
		putchar('\n');
		return EXIT_OK;
	}
	json_array_foreach(answers, i, o)
	{
		if (i)
			putchar('\n');
		if (json_object_get(o, "pool"))
			show_station(o);
		else
			show_node(o);
	}
	return EXIT_OK;
}

/* ---- the commands ---- */

/* Sends the line to every daemon that lets others use this machine. */
static int say(const struct command *c, const char *line, bool json)
{
	name_list doors = {0};
	json_t *answers = json_array(), *o;
	int code = EXIT_OK;

	doors_find(&doors);
	for (size_t i = 0; i < doors.n; i++) {
		int rc = ask(c, doors.v[i], line, &o);
		if (rc != EXIT_OK)
			code = rc;
		if (o)
			json_array_append_new(answers, o);
	}
	if (json_array_size(answers))
		print(answers, json);
	else if (code == EXIT_OK)
		code = command_fail(
			c,
			"neither an agent nor the daemon of a pool runs on this machine: it gives nothing to others");
	json_decref(answers);
	name_list_free(&doors);
	return code;
}

static int show_run(const struct command *c, const void *arguments, const struct operands *o)
{
	const struct show_arguments *a = arguments;

	return say(c, "show", a->json);
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
	return say(c, order, ((const struct show_arguments *)arguments)->json);
}

static int resume_run(const struct command *c, const void *arguments, const struct operands *o)
{
	return say(c, "resume", ((const struct show_arguments *)arguments)->json);
}

static const struct example examples[] = {
	{"shunt owner", "Who used this machine last, what runs here, what was given away, and what that cost."},
	{"shunt owner pause 2h",
	 "Jobs of the cluster, and tasks of the pool, stop at once, and leave after a minute; in two hours they may come back."},
	{"shunt owner resume", "They may come back now."},
	{0},
};

const struct command command_owner = {
	.name = "owner",
	.about = "Show who uses this workstation and what it gives to its cluster or pool.",
	.details =
		"Asks the agent on this machine, or the daemon of its pool: neither root nor a network is needed. 'shunt owner pause' stops what they run here, 'shunt owner resume' lets them continue. Both may be used by root and the owners that the "
		"policy names (owners=ana+bo), or, if it names none, by users who are logged in at the machine. The policy is the node's setting "
		"'workstation' ('shunt nodes set NODE workstation=idle'), in a pool 'shunt pool start --owner idle'.",
	.examples = examples,
	OPTIONS(struct show_arguments, options),
	.run = show_run,
	.alone = true,
};

const struct command command_owner_pause = {
	.name = "owner pause",
	.operands = "[DURATION]",
	.about = "Stop what the cluster or the pool runs on this workstation.",
	.details =
		"Jobs and tasks stop within a second and leave after the time that the policy names (return=). Without DURATION "
		"that lasts until 'shunt owner resume'.",
	.examples = examples,
	OPTIONS(struct show_arguments, options),
	.run = pause_run,
	.alone = true,
};

const struct command command_owner_resume = {
	.name = "owner resume",
	.about = "Let the cluster or the pool use this workstation again.",
	.details = "Ends a pause. Whether something runs now is up to the policy again.",
	.examples = examples,
	OPTIONS(struct show_arguments, options),
	.run = resume_run,
	.alone = true,
};
