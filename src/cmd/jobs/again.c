/*
 * again.c - `shunt resubmit` and `shunt retry`: submit jobs again as they were, or with changes.
 */

#include "cmd/lib/change.h"
#include "cmd/lib/commands.h"
#include "cmd/lib/show.h"
#include "cmd/pbs/jobspec.h"

/* Returns the name of an option that cannot be used when a job is submitted again; NULL: none was
 * given. */
static const char *option_refused(const struct job_arguments *a)
{
	return a->interactive || a->hold	     ? "--interactive and --hold"
	       : a->variables.n || a->export_all     ? "-v and -V"
	       : a->items.file			     ? "--job"
	       : a->template			     ? "--template"
	       : a->each.value || a->each.lines	     ? "--each"
	       : texts_value(&a->members, "restart") ? "--restart"
						     : NULL;
}

static void again_say(const struct reply *r, const char *old, bool failed)
{
	const char *id = object_text(r->json, "id");

	printf(failed ? "Submitted job %s: what failed of job %s.\n" : "Submitted job %s, as job %s was.\n", id, old);
}

static int again(const struct command *c, const struct job_arguments *a, const struct operands *o, bool failed)
{
	struct client *client;
	struct jobspec s;
	struct err err;
	int code = EXIT_OK, one;

	jobspec_init(&s);
	s.alters = s.repeats = true;
	if (option_refused(a)) {
		code = command_misused(c, "%s: not for a job that was submitted before", option_refused(a));
	} else if (jobspec_add(&s, a, &err) < 0) {
		code = command_misused(c, "%s", err.text);
	} else if (!show_open(c, &client)) {
		code = EXIT_FAILED;
	} else {
		jobspec_directories(&s);
		if (failed)
			json_object_set_new(s.job, "only", json_string("failed"));
		for (int i = 0; i < o->n; i++) {
			json_t *body = json_copy(s.job);
			struct reply r = {0};
			char array[32];
			const char *which = again_which(o->v[i], body, array);
			if (failed && which != o->v[i])
				code = command_misused(c, "%s: name the array, %s, or one element", o->v[i], which);
			else if (!show_submit(c, client, api_path("/v1/jobs/%s/again", which), body, &r, &one))
				code = one;
			else if (a->json)
				show_json(r.json);
			else
				again_say(&r, o->v[i], failed);
			reply_fini(&r);
			json_decref(body);
		}
		client_close(client);
	}
	jobspec_fini(&s);
	return code;
}

static int resubmit(const struct command *c, const void *arguments, const struct operands *o)
{
	return again(c, arguments, o, false);
}

static int retry(const struct command *c, const void *arguments, const struct operands *o)
{
	return again(c, arguments, o, true);
}

const struct command command_resubmit = {
	.name = "resubmit",
	.operands = "JOB...",
	.about = "Submit jobs again, exactly as they were or with changes.",
	.details = "Script, arguments, variables, directory and everything else stay as they were; what the options "
		   "say is changed. In -l a value such as x2 or x1.5 multiplies the old one. The server knows how a "
		   "job was submitted until it forgets the job (keep_completed, usually a day after its end).",
	.examples = EXAMPLES({"shunt resubmit 12", "The same job once more."},
			     {"shunt resubmit 12 13 -l walltime=8:00:00,mem=x2",
			      "Two jobs once more, each with eight hours and twice its memory."},
			     {"shunt resubmit '14[]' --array 101-200", "The same script for other elements."}),
	.options = qsub_options,
	.hints = qsub_hints,
	.size = sizeof(struct job_arguments),
	.run = resubmit,
};

const struct command command_retry = {
	.name = "retry",
	.operands = "JOB...",
	.about = "Submit again what has failed: jobs, or the elements of arrays.",
	.details = "The same as 'shunt resubmit', for what ended with an exit code other than 0, was stopped at a "
		   "limit, or was lost. What somebody deleted is not submitted again.",
	.examples = EXAMPLES({"shunt retry '14[]'", "Run the elements that failed again, as one array."},
			     {"shunt retry 12 -l mem=x2", "A job that failed once more, with twice its memory."}),
	.options = qsub_options,
	.hints = qsub_hints,
	.size = sizeof(struct job_arguments),
	.run = retry,
};
