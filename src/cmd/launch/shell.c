/*
 * shell.c - `shunt shell`: a shell, or another program, in a running job: on its node, as its user,
 * with its limits and environment. The server starts it as a task of the job (engine/tasks.h).
 */
#include <stdlib.h>
#include <unistd.h>

#include "cmd/launch/taskclient.h"
#include "cmd/lib/commands.h"
#include "cmd/lib/show.h"
#include "run/task.h"

#define ENTER_SECONDS 60

struct shell_arguments {
	const char *node;
};

static const struct option shell_options[] = {
	OPTION_ROW(TEXT, 0, "node", offsetof(struct shell_arguments, node), "NODE",
		   "on this node of the job instead of its first"),
	{0},
};

static int enter(const struct command *c, struct client *client, const struct shell_arguments *a, const char *job,
		 char *const *word)
{
	static char *const shell[] = {"/bin/sh", "-c", "exec \"${SHELL:-/bin/sh}\"", NULL};
	const char *type = getenv("TERM");
	struct strbuf path = {0}, rest = {0}, term = {0};
	struct taskclient t = {.node = job,
			       .argv = word ? word : shell,
			       .terminal = isatty(STDIN_FILENO),
			       .in = STDIN_FILENO,
			       .out = STDOUT_FILENO,
			       .err = STDERR_FILENO};
	int code = EXIT_FAILED;
	struct err err;

	strbuf_printf(&term, "TERM=%s", type ? type : "dumb");
	t.env = (char *const[]){term.text, NULL};
	strbuf_puts(&path, api_path("/v1/jobs/%s/enter", job));
	query_add(&path, "node", a->node);
	if (client_upgrade(client, path.text, TASK_PROTOCOL, ENTER_SECONDS, &t.fd, &rest, &err) < 0 ||
	    taskclient_run(&t, &code, &err) < 0)
		code = command_fail(c, "%s", err.text);
	strbuf_fini(&path);
	strbuf_fini(&rest);
	strbuf_fini(&term);
	return code;
}

static int shell(const struct command *c, const void *arguments, const struct operands *o)
{
	struct client *client;
	int code;

	if (!show_open(c, &client))
		return EXIT_FAILED;
	code = enter(c, client, arguments, o->v[0], o->n > 1 ? o->v + 1 : NULL);
	client_close(client);
	return code;
}

const struct command command_shell = {
	.name = "shell",
	.operands = "JOB [COMMAND...]",
	.about = "Start a shell, or another program, in one of your running jobs.",
	.details =
		"It runs on the job's node, in its directory, with its environment, CPUs and limits, and ends with it; "
		"what it uses counts as the job's. The exit code is the program's.",
	.examples = EXAMPLES({"shunt shell 12", "A shell beside what the job does."},
			     {"shunt shell 12 --node n3 -- top -b -n 1", "What runs on one of its nodes."}),
	OPTIONS(struct shell_arguments, shell_options),
	.run = shell,
};
