/*
 * join.c - `shunt join`: makes this machine a node. It finds and runs the agent, which does the
 * work.
 */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "cmd/lib/commands.h"
#include "cmd/lib/instance.h"

struct arguments {
	const char *name, *token_file, *workstation;
};

static const struct option options[] = {
	OPTION_ROW(TEXT, 0, "name", offsetof(struct arguments, name), "NODE",
		   "what the node is called; if not given: as the host is"),
	OPTION_ROW(TEXT, 0, "token-file", offsetof(struct arguments, token_file), "FILE", "read the token from FILE"),
	OPTION_ROW(
		TEXT, 0, "workstation", offsetof(struct arguments, workstation), "POLICY",
		"somebody works at this machine, and comes first: 'share', 'idle' or 'hours=Mon-Fri 08:00-18:00', with "
		"options (docs/workstations.md)",
		.words = "share idle"),
	{0},
};

/* Passes a token on through a pipe: command lines are visible to everybody, and the agent takes
 * seconds to join. */
static int token_pass(const char *token)
{
	int fds[2];
	size_t n = strlen(token);

	if (n > PIPE_BUF || pipe(fds) < 0 || write(fds[1], token, n) != (ssize_t)n || dup2(fds[0], STDIN_FILENO) < 0)
		return -1;
	close(fds[0]);
	close(fds[1]);
	return 0;
}

static int run(const struct command *c, const void *arguments, const struct operands *operands)
{
	const struct arguments *a = arguments;
	const char *token = operands->n > 1 ? operands->v[1] : "-";

	if (a->token_file && operands->n > 1)
		return command_misused(c, "give the token, or --token-file, not both");
	if (strcmp(token, "-") != 0 && token_pass(token) < 0)
		return command_fail(c, "the token can't be passed on: %s", strerror(errno));
	return program_become(c, "shunt-agent",
			      (const char *const[]){"--join", operands->v[0], a->token_file ? NULL : "-", NULL},
			      arguments);
}

const struct command command_join = {
	.name = "join",
	.operands = "SERVER[:PORT] [TOKEN]",
	.about = "Make this machine a node of a cluster (as root).",
	.details =
		"Checks by the token that it is the right server, obtains a certificate, and starts the agent, which reports what this "
		"machine has and runs its jobs from then on, also after a restart of the machine. Without TOKEN, or if that is "
		"-, the token is read from the standard input.",
	.examples = EXAMPLES(
		{"shunt join pine:7722",
		 "Asks for the token that 'shunt token create' printed on the server's machine. So neither ps nor the shell's history ever shows it."},
		{"shunt join pine:7722 --token-file /root/token", "Reads the token from a file."},
		{"shunt join pine:7722 --workstation idle", "Jobs run here only while nobody uses the machine."}),
	OPTIONS(struct arguments, options),
	.run = run,
	.alone = true,
};
