/*
 * join.c - `shunt join`: makes this machine a node. The agent does it; this finds it.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cmd/commands.h"
#include "cmd/instance.h"

struct arguments {
	const char *name;
};

static const struct option options[] = {
	{"name", OPTION_TEXT, offsetof(struct arguments, name), "NODE", NULL, NULL, 0, 0,
	 "What the node is called. If not given: as the host is.", 0},
	{0},
};

static int run(const struct command *c, const void *arguments, const struct operands *operands)
{
	const struct arguments *a = arguments;
	struct strbuf program = {0};

	if (!program_find("shunt-agent", &program))
		return command_fail(
			c, "shunt-agent is not found beside this program nor in $PATH: install it ('make install')");

	const char *word[] = {program.text, "--join", operands->v[0], operands->v[1], a->name ? "--name" : NULL,
			      a->name,	    NULL};
	fflush(stdout);
	execv(program.text, (char *const *)word);
	return command_fail(c, "%s: %s", program.text, strerror(errno));
}

static const char *const examples[] = {
	"shunt join pine:7722 j3.Zk9x...",
	"The line that 'shunt token create' printed on the server's machine.",
	NULL,
};

const struct command command_join = {
	.name = "join",
	.operands = "SERVER[:PORT] TOKEN",
	.operands_min = 2,
	.operands_max = 2,
	.about = "Make this machine a node of a cluster (as root).",
	.details =
		"Checks by the token that it is the right server, obtains a certificate, and starts the agent, which tells what this "
		"machine has and runs its jobs from then on, also after a restart of the machine.",
	.examples = examples,
	.options = options,
	.size = sizeof(struct arguments),
	.run = run,
	.alone = true,
};
