/*
 * template.c - `shunt template`: saves jobs under names, for oneself or for the whole site.
 * `shunt submit --template` begins with one (pbs/qsub.c).
 */
#include <limits.h>
#include <string.h>

#include "cmd/lib/change.h"
#include "cmd/lib/commands.h"
#include "cmd/lib/listing.h"
#include "cmd/lib/show.h"
#include "cmd/pbs/qsub.h"

static void cell_whose(const json_t *template, const char *key, struct strbuf *cell)
{
	strbuf_puts(cell, json_is_true(json_object_get(template, key)) ? "the site" : "you");
}

static const struct listing_column template_columns[] = {
	{"name", "name", .make = cell_plain},
	{"of", "site", .make = cell_whose},
	{"saved by", "by", .make = cell_plain},
	{"~description", "description", .make = cell_plain},
	{0},
};

const struct command command_template_list = {
	.name = "template list",
	.about = "List your job templates, and those of the site.",
	OPTIONS(struct show_arguments, show_options),
	.run = listing_run,
	.listing = &(const struct listing){.path = "/v1/templates",
					   .key = "templates",
					   .columns = template_columns,
					   .none = "There are no templates."},
};

static int show(const struct command *c, const void *arguments, const struct operands *o)
{
	return show_answer(c, api_path("/v1/templates/%s", o->v[0]), true, NULL);
}

const struct command command_template_show = {
	.name = "template show",
	.operands = "NAME",
	.about = "Print a template, with its script, as JSON.",
	.run = show,
};

static json_t *saved_body(json_t *job, bool site)
{
	return json_pack("{s:b,s:O}", "site", site, "job", job);
}

/* Removes what belongs to this submission: its directory, unless it was given, and the PBS_O_
 * variables. */
static void own_remove(const struct jobspec *s)
{
	json_t *environment = json_object_get(s->job, "environment");
	char here[PATH_MAX];

	for (size_t i = json_array_size(environment); i-- > 0;)
		if (strncmp(value_text(json_array_get(environment, i)), "PBS_O_", 6) == 0)
			json_array_remove(environment, i);
	if (!s->workdir && strcmp(object_text(s->job, "workdir"), directory_here(here, sizeof here)) == 0)
		json_object_del(s->job, "workdir");
	json_object_del(s->job, "submit_args");
}

static const char *save_name; /* operand of the only command of this process */

static int save_job(const struct command *c, struct jobspec *s, bool json)
{
	own_remove(s);
	return change_one(c, "PUT", api_path("/v1/templates/%s", save_name), saved_body(s->job, false));
}

static int save(const struct command *c, int argc, char **argv)
{
	bool named = argc > 0 && argv[0][0] != '-';

	save_name = named ? argv[0] : "";
	if (!named && !(argc > 0 && (strcmp(argv[0], "--help") == 0 || strcmp(argv[0], "--version") == 0)))
		return command_misused(c, "the template's name comes first");
	return job_main(c, argc - named, argv + named, false, save_job);
}

const struct command command_template_save = {
	.name = "template save",
	.operands = "NAME [SCRIPT | -- COMMAND [ARGUMENTS]]",
	.operand_kind = OPTION_FILE,
	.about = "Save a job as a template instead of submitting it.",
	.details =
		"It takes what qsub takes after the template's name, and replaces a template of yours with that name. "
		"--comment describes the template in lists. Jobs made of it start in the directory in which they "
		"are submitted, unless -d was given.",
	.examples = EXAMPLES(
		{"shunt template save relax -l ncpus=4,walltime=2h --comment \"relaxes a molecule\" relax.sh",
		 "Keep this job under the name relax."},
		{"shunt submit --template relax -F water.xyz -l walltime=8h", "Submit it, with another walltime."},
		{"shunt template share relax", "As a manager: give it to everybody."}),
	.options = qsub_options,
	.hints = qsub_hints,
	.size = sizeof(struct job_arguments),
	.main = save,
};

static int share(const struct command *c, const void *arguments, const struct operands *o)
{
	const char *name = o->v[0];
	int code;
	json_t *t = show_ask(c, api_path("/v1/templates/%s", name), NULL, &code);

	if (t && json_is_true(json_object_get(t, "site")))
		code = command_fail(c, "template %s is the site's already", name);
	else if (t)
		code = change_one(c, "PUT", api_path("/v1/templates/%s", name),
				  saved_body(json_object_get(t, "job"), true));
	if (t && code == EXIT_OK)
		code = change_delete(c, "templates", o);
	json_decref(t);
	return code;
}

const struct command command_template_share = {
	.name = "template share",
	.operands = "NAME",
	.about = "Share one of your templates with the whole site; for managers.",
	.details = "Every user finds it by its name, unless they have one of their own with that name.",
	.run = share,
};

static int delete (const struct command *c, const void *arguments, const struct operands *o)
{
	return change_delete(c, "templates", o);
}

const struct command command_template_delete = {
	.name = "template delete",
	.operands = "NAME...",
	.about = "Delete templates of yours, or of the site as a manager.",
	.run = delete,
};
