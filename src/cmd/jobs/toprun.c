/*
 * toprun.c - `shunt top`: starts the program shunt-top. It is separate so that qsub does not have
 * to load ncurses.
 */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/program.h"
#include "cmd/lib/commands.h"

struct arguments {
	bool mine;
	const char *user;
};

#define AT(field) offsetof(struct arguments, field)
static const struct option options[] = {
	OPTION(TEXT, 'u', "user", user, "USER[,USER...]", "only these users' jobs"),
	FLAG('m', "mine", mine, "only my jobs"),
	{0},
};

static int run(const struct command *c, const void *arguments, const struct operands *operands)
{
	const struct arguments *a = arguments;
	char *argv[] = {"shunt-top",
			a->mine	  ? "--mine"
			: a->user ? "--user"
				  : NULL,
			(char *)(a->mine ? NULL : a->user), NULL};
	char path[PATH_MAX];
	struct err err;

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return command_fail(c, "it needs a terminal ('shunt queue' prints a list)");
	fflush(stdout);
	if (program_beside("shunt-top", path, sizeof path, &err) < 0)
		return command_fail(c, "%s", err.text);
	execv(path, argv);
	return command_fail(c, "%s: %s", path, strerror(errno));
}

const struct command command_top = {
	.name = "top",
	.about = "Watch jobs and nodes, live on the whole screen.",
	.details =
		"Keys: arrows move, Enter or o shows a job's output, i its details, w why it waits, h holds or releases it, "
		"d deletes it, / filters, n switches to nodes, ? helps, q quits.",
	.examples = EXAMPLES({"shunt top --mine", "Watch my jobs."}),
	OPTIONS(struct arguments, options),
	.run = run,
};
