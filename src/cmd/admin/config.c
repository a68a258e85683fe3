/*
 * config.c - `shunt config check`: has the server's own program check the file, since it knows the
 * options.
 */
#include <errno.h>
#include <unistd.h>

#include "cmd/lib/commands.h"
#include "cmd/lib/instance.h"

struct arguments {
	bool system;
};

static const struct option options[] = {
	OPTION_ROW(FLAG, 0, "system", offsetof(struct arguments, system), NULL,
		   "the file of the system's server, even if you have one of your own"),
	{0},
};

static int run(const struct command *c, const void *arguments, const struct operands *operands)
{
	const struct arguments *a = arguments;
	struct where w;
	struct err err;

	if ((a->system ? where_system(&w, &err) : where_find(&w, &err)) < 0)
		return command_fail(c, "%s", err.text);
	if (operands->n == 0 && access(w.conf, F_OK) < 0 && errno == ENOENT) {
		printf("%s does not exist: all options have their defaults.\n", w.conf);
		return EXIT_OK;
	}
	return program_become(c, "shuntd",
			      (const char *const[]){"--check-conf", operands->n ? operands->v[0] : w.conf,
						    w.system ? "--system" : NULL, NULL},
			      NULL);
}

const struct command command_config_check = {
	.name = "config check",
	.operands = "[FILE]",
	.operand_kind = OPTION_FILE,
	.about = "Check a configuration file, and print every error with its line number.",
	.details =
		"Warns also of what contradicts itself, and of files that others may write though root runs what they say. Exit code: "
		"0 if the server takes the file, 1 if it has mistakes, 2 if it can't be read.",
	.examples = EXAMPLES({"shunt config check", "The file of your own instance, or of the system's."},
			     {"shunt config check /tmp/new.conf", "Another one, before it takes its place."}),
	OPTIONS(struct arguments, options),
	.run = run,
	.alone = true,
};
