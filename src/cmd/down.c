/*
 * down.c - `shunt down`: stops the server. Running jobs go on, unless they are to be ended first.
 */
#include <poll.h>
#include <string.h>

#include "cmd/change.h"
#include "cmd/commands.h"
#include "cmd/instance.h"
#include "cmd/object.h"

#define DOWN_SECONDS 120

struct down_arguments {
	bool kill, system;
};

static const struct option down_options[] = {
	{"kill", OPTION_FLAG, offsetof(struct down_arguments, kill), NULL, NULL, NULL, 0, 0,
	 "End running jobs first. Otherwise they go on, and are known again after 'shunt up'.", 0},
	{"system", OPTION_FLAG, offsetof(struct down_arguments, system), NULL, NULL, NULL, 0, 0,
	 "The system's server instead of your own.", 0},
	{0},
};

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

/* Until the process is gone. */
static bool end_await(const struct where *w)
{
	for (int i = 0; i < DOWN_SECONDS * 1000 / LOOK_MS; i++) {
		if (!server_lives(w))
			return true;
		poll(NULL, 0, LOOK_MS);
	}
	return false;
}

static int server_stop(const struct command *c, const struct where *w, bool kill_jobs, const json_t *server)
{
	struct change ch = {.c = c};
	struct strbuf path = {0};
	struct err err;

	strbuf_printf(&path, "%s/shuntd.sock", w->run);
	int rc = client_open_at(path.text, &ch.client, &err);
	strbuf_fini(&path);
	if (rc < 0)
		return command_fail(c, "%s", err.text);
	json_t *body = json_pack("{s:s}", "mode", kill_jobs ? "kill" : "quick");
	int64_t running = kill_jobs ? 0 : jobs_running(&ch);
	bool asked = change_ask(&ch, "POST", "/v1/shutdown", body, NULL, NULL);
	json_decref(body);
	if (asked && !end_await(w))
		ch.code =
			command_fail(c, "the server (process %lld) was asked to stop but is still there; its log is %s",
				     (long long)object_number(server, "pid", 0), w->log);
	else if (asked && running > 0)
		printf("The server is stopped; %lld running jobs go on. 'shunt up' starts it again.\n",
		       (long long)running);
	else if (asked)
		printf("The server is stopped. 'shunt up' starts it again.\n");
	return change_close(&ch);
}

static int down(const struct command *c, const void *arguments, const struct operands *operands)
{
	const struct down_arguments *a = arguments;
	struct reply r = {0};
	struct where w;
	struct err err;
	int code;

	if (where_get(a->system, &w, &err) < 0)
		return command_fail(c, "%s", err.text);
	if (server_ask(&w, &r, &err)) {
		code = server_stop(c, &w, a->kill, r.json);
	} else if (server_lives(&w)) {
		code = command_fail(c, "the server is there but does not answer: %s", err.text);
	} else {
		printf("No server runs.\n");
		code = EXIT_OK;
	}
	reply_fini(&r);
	return code;
}

const struct command command_down = {
	.name = "down",
	.operands = "",
	.about = "Stop the server of this user; running jobs go on.",
	.options = down_options,
	.size = sizeof(struct down_arguments),
	.run = down,
	.alone = true,
};
