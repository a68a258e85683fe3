/*
 * artaras2qmgr.c - `artaras2qmgr`: converts settings and program classes of the scheduler Artaras
 * to directives for qmgr.
 */
#include "convert/artaras.h"

#include <stdio.h>

#include "cmd/lib/commands.h"

static int run(const struct command *c, const void *arguments, const struct operands *operands)
{
	struct strbuf out = {0};
	struct lines *in = NULL;
	struct err err;
	int rc = lines_open(operands->v[0], &in, &err);

	(void)arguments;
	if (rc < 0)
		return command_fail(c, "%s", err.text);
	rc = artaras_convert(in, &out, &err);
	lines_close(in);
	if (rc == 0)
		fputs(strbuf_text(&out), stdout);
	strbuf_fini(&out);
	return rc < 0 ? command_fail(c, "%s: %s", operands->v[0], err.text) : EXIT_OK;
}

const struct command command_artaras2qmgr = {
	.name = "artaras2qmgr",
	.operands = "FILE",
	.operand_kind = OPTION_FILE,
	.about = "Convert a file of settings or of program classes of the scheduler Artaras into directives for qmgr.",
	.details =
		"Settings are lines such as \"Interactive limit = 0:45\", in hours and minutes; classes have four columns: name, periodic signal, preempt signal, restart action (arg "
		"or none). Nothing is printed unless all of the file can be read. Its file of quota is read by shunt quota import.",
	.examples = EXAMPLES({"artaras2qmgr settings.config | qmgr", "Set what the file sets."},
			     {"artaras2qmgr class.config", "Show what a file of program classes would change."}),
	.run = run,
	.own = true,
	.alone = true,
};
