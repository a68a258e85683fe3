/*
 * importconfig.c - `shunt import-config`: converts configurations of Maui, Slurm and PBS to
 * directives for qmgr.
 */
#include <stdio.h>
#include <string.h>

#include "base/lines.h"
#include "cmd/lib/commands.h"
#include "convert/convert.h"

struct arguments {
	const char *from;
};

static const struct option options[] = {
	OPTION_ROW(WORD, 'f', "from", offsetof(struct arguments, from), "SYSTEM",
		   "kind of the files; by default it is recognized from their content",
		   .words = "maui slurm sacctmgr qmgr"),
	{0},
};

static int file_text(const char *path, struct strbuf *ret, struct err *err)
{
	struct lines *in = NULL;
	char *line;
	int rc = lines_open(path, &in, err);

	if (rc < 0)
		return rc;
	while ((rc = lines_next(in, &line, err)) > 0)
		strbuf_printf(ret, "%s\n", line);
	lines_close(in);
	return rc;
}

static bool kind_of(const struct arguments *a, const char *text, enum convert_from *ret)
{
	for (int k = 0; a->from && k < CONVERT_KINDS; k++)
		if (strcmp(a->from, convert_name((enum convert_from)k)) == 0) {
			*ret = (enum convert_from)k;
			return true;
		}
	return convert_guess(text, ret);
}

static int run(const struct command *c, const void *arguments, const struct operands *operands)
{
	struct conversion *conversion = conversion_new();
	struct strbuf out = {0};
	struct err err;
	int code = EXIT_OK;

	for (int i = 0; i < operands->n && code == EXIT_OK; i++) {
		const char *path = operands->v[i], *base = strrchr(path, '/');
		struct strbuf text = {0};
		enum convert_from from;

		if (file_text(path, &text, &err) < 0)
			code = command_fail(c, "%s", err.text);
		else if (!kind_of(arguments, strbuf_text(&text), &from))
			code = command_fail(
				c,
				"%s: not recognized as maui.cfg, slurm.conf, sacctmgr or qmgr output; give its kind with --from",
				path);
		else
			conversion_read(conversion, from, base ? base + 1 : path, strbuf_text(&text));
		strbuf_fini(&text);
	}
	if (code == EXIT_OK) {
		conversion_print(conversion, &out);
		fputs(strbuf_text(&out), stdout);
	}
	strbuf_fini(&out);
	conversion_free(conversion);
	return code;
}

const struct command command_import_config = {
	.name = "import-config",
	.operands = "FILE...",
	.operand_kind = OPTION_FILE,
	.about = "Convert a configuration of Maui, Slurm or PBS into directives for qmgr.",
	.details =
		"Reads maui.cfg, slurm.conf, the output of sacctmgr dump and sacctmgr -P show qos, and of qmgr -c 'print server' from TORQUE, PBS Pro and OpenPBS; - is standard input. "
		"Several files become one site. Nothing is changed: the directives are printed, followed by a remark, as a comment, for every setting that has no equivalent or "
		"belongs elsewhere.",
	.examples = EXAMPLES(
		{"shunt import-config /usr/local/maui/maui.cfg",
		 "Convert Maui's configuration, with remarks on what has no equivalent."},
		{"sacctmgr dump linux file=linux.cfg; sacctmgr -P show qos > qos.txt; shunt import-config /etc/slurm/slurm.conf linux.cfg qos.txt > site.qmgr",
		 "Convert a Slurm site; review site.qmgr, then apply it with: qmgr < site.qmgr"},
		{"shunt simulate --config site.qmgr --policy shunt old.swf", "Try the result in the simulator first."}),
	OPTIONS(struct arguments, options),
	.run = run,
	.alone = true,
};
