/*
 * toprun.c - `shunt top`: starts the program that does it, shunt-top. It is one of its own because ncurses would cost
 * every qsub its loading.
 */
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "cmd/commands.h"

struct arguments {
	bool mine;
	const char *user;
};

#define AT(field) offsetof(struct arguments, field)
static const struct option options[] = {
	{"user", OPTION_TEXT, AT(user), "USER[,USER...]", NULL, NULL, 0, 0, "only these users' jobs", 'u'},
	{"mine", OPTION_FLAG, AT(mine), NULL, NULL, NULL, 0, 0, "only my jobs", 'm'},
	{0},
};

static const char *const examples[] = {"shunt top --mine", "Watch my jobs.", NULL};

/* Runs shunt-top: beside this program, or in libexec next to its directory. */
static void program_try(const char *where, char *const *argv)
{
	char self[PATH_MAX], path[PATH_MAX + 64];
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

	if (n <= 0)
		return;
	self[n] = '\0';
	snprintf(path, sizeof path, "%s/%sshunt-top", dirname(self), where);
	execv(path, argv);
}

static int run(const struct command *c, const void *arguments, const struct operands *operands)
{
	const struct arguments *a = arguments;
	char *argv[] = {"shunt-top",
			a->mine	  ? "--mine"
			: a->user ? "--user"
				  : NULL,
			(char *)(a->mine ? NULL : a->user), NULL};

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return command_fail(c, "it fills a terminal, and this is none ('shunt queue' prints a list)");
	fflush(stdout);
	program_try("", argv);
	program_try("../libexec/shunt/", argv);
	return command_fail(c, "the program shunt-top is missing beside shunt: %s", strerror(errno));
}

const struct command command_top = {
	.name = "top",
	.operands = "",
	.about = "Watch jobs and nodes, live on the whole screen.",
	.details =
		"Keys: arrows move, Enter or o shows a job's output, i its details, w why it waits, h holds or releases it, "
		"d deletes it, / filters, n switches to nodes, ? helps, q quits.",
	.examples = examples,
	.options = options,
	.size = sizeof(struct arguments),
	.run = run,
};
