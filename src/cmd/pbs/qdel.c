/*
 * qdel.c - `qdel` deletes jobs, `qalter` changes them.
 */
#include <errno.h>
#include <string.h>

#include "base/timetext.h"
#include "cmd/lib/change.h"
#include "cmd/lib/commands.h"
#include "cmd/pbs/jobspec.h"
#include "cmd/pbs/select.h"
#include "core/array.h"

struct delete_arguments {
	const char *message, *range;
	struct texts more;
	bool purge, history;
	struct choice choice;
};

#define AT(field) offsetof(struct delete_arguments, field)
static const struct option delete_options[] = {
	FLAG('p', "purge", purge, "forget it even if its processes can't be ended (managers); the same as -W force"),
	OPTION(TEXT, 'm', "message", message, "TEXT", "why: kept with the job, and in its mail"),
	OPTION(TEXT, 't', "elements", range, "RANGE", "of arrays only these elements: 1-3,7"),
	OPTION(TEXTS, 'W', "-W", more, "SECONDS|force",
	       "seconds between SIGTERM and SIGKILL, also as delay=SECONDS; or force", .words = "force"),
	FLAG('x', "finished", history, "do not fail for jobs that have finished"),
	CHOICE_ROWS(AT(choice)),
	{0},
};

static int more_add(json_t *body, const char *text, struct err *err)
{
	const char *delay = strncmp(text, "delay=", 6) == 0 ? text + 6 : text;
	int64_t seconds;

	if (strcmp(text, "force") == 0) {
		json_object_set_new(body, "purge", json_true());
		return 0;
	}
	/* PBS Pro's limit on mail; here only the job's own settings matter. */
	if (strncmp(text, "suppress_email=", 15) == 0)
		return 0;
	int rc = duration_parse(delay, &seconds, err);
	if (rc < 0)
		return err_prefix(err, rc, "-W %.60s", text);
	json_object_set_new(body, "delay", json_integer(seconds));
	return 0;
}

/* Applies -t: "-t 1-3 12[]" is 12[1-3]. */
static int range_apply(const char *range, const struct operands *o, name_list *ret, struct err *err)
{
	struct array_spec array = {0};
	int rc = array_parse(range, &array, err);

	array_fini(&array);
	if (rc < 0)
		return err_prefix(err, rc, "-t");
	for (int i = 0; i < o->n; i++) {
		const char *elements = strchr(o->v[i], '[');
		if (elements && elements[1] != ']')
			return err_set(err, -EINVAL, "-t %.60s: %.60s already says which elements", range, o->v[i]);
		struct strbuf id = {0};
		strbuf_printf(&id, "%.*s[%s]", (int)strcspn(o->v[i], "[."), o->v[i], range);
		vec_push(ret, id.text);
	}
	return 0;
}

static int delete_run(const struct command *c, const void *arguments, const struct operands *o)
{
	const struct delete_arguments *a = arguments;
	json_t *body = json_object();
	name_list ids = {0};
	struct change ch;
	struct err err;
	int rc = 0, code;

	if (a->purge)
		json_object_set_new(body, "purge", json_true());
	if (a->message)
		json_object_set_new(body, "message", json_string(a->message));
	for (int i = 0; i < a->more.n && rc == 0; i++)
		rc = more_add(body, a->more.v[i], &err);
	if (rc == 0 && a->range)
		rc = range_apply(a->range, o, &ids, &err);
	if (rc < 0) {
		code = command_misused(c, "%s", err.text);
	} else if (!change_open(&ch, c)) {
		code = EXIT_FAILED;
	} else {
		ch.finished_is_fine = a->history;
		if (!a->range)
			ch.code = jobs_choose(&ch, &a->choice, "Delete", o, &ids);
		if (ch.code == EXIT_OK)
			change_jobs(&ch, "delete", json_incref(body), ids.v, (int)ids.n);
		code = change_close(&ch);
	}
	name_list_free(&ids);
	json_decref(body);
	return code;
}

static const char *const delete_hints[] = {
	"-u",	  "write 'qdel all' for your own jobs, or --where user=USER",
	"--user", "write 'qdel all' for your own jobs, or --where user=USER",
	"-n",	  "write --where name=PATTERN",
	"--name", "write --where name=PATTERN",
	"-f",	  "write -p, or -W force",
	NULL,
};

const struct command command_qdel = {
	.name = "qdel",
	.operands = "[JOB...|all]",
	.about = "Delete jobs; running ones are ended first.",
	.examples = EXAMPLES({"qdel 12 13", "Delete two jobs."}, {"qdel -t 5-9 14[]", "Five elements of an array."},
			     {"qdel all", "All jobs that you may delete."},
			     {"qdel --where 'name=sim*,states=Q'",
			      "Your waiting jobs whose names begin with sim, after a question."}),
	.hints = delete_hints,
	OPTIONS(struct delete_arguments, delete_options),
	.run = delete_run,
	.own = true,
};

const struct command command_cancel = {
	.name = "cancel",
	.operands = "[JOB...|all]",
	.about = "Cancel jobs, waiting or running.",
	.details = "The same as qdel.",
	.examples = EXAMPLES(
		{"shunt cancel 12 13", "Cancel two jobs."},
		{"shunt cancel --where 'name=sim*,older=2h'",
		 "Those of mine whose names begin with sim, and which have waited or run for two hours, after a question."}),
	.hints = delete_hints,
	OPTIONS(struct delete_arguments, delete_options),
	.run = delete_run,
};

/* ---- qalter ---- */

/* Returns an operand that is an element where a whole array is needed; NULL: none. */
static const char *element_among(const struct operands *o)
{
	for (int i = 0; i < o->n; i++) {
		const char *bracket = strchr(o->v[i], '[');
		if (bracket && bracket[1] != ']')
			return o->v[i];
	}
	return NULL;
}

static int alter(const struct command *c, const void *arguments, const struct operands *o)
{
	const struct job_arguments *a = arguments;
	struct jobspec s;
	struct change ch;
	struct err err;
	int code;

	jobspec_init(&s);
	s.alters = true;
	if (jobspec_add(&s, arguments, &err) < 0) {
		code = command_misused(c, "%s", err.text);
	} else if (json_object_size(s.job) == 0) {
		code = command_misused(c, "say what to change, as in 'qalter -l walltime=2:00:00 %s'",
				       o->n ? o->v[0] : "12");
	} else if (json_object_get(s.job, "array")) {
		code = command_misused(c, "an array's elements can't be changed: delete some, or submit another array");
	} else if (json_object_get(s.job, "max_run_subjobs") && element_among(o)) {
		code = command_misused(c,
				       "how many elements run at once is set for a whole array, as in 12[], not for %s",
				       element_among(o));
	} else if (!change_open(&ch, c)) {
		code = EXIT_FAILED;
	} else {
		name_list ids = {0};
		jobspec_directories(&s);
		if (a->guarantee.broken)
			json_object_set_new(s.job, "force", json_true());
		ch.code = jobs_choose(&ch, &a->choice, "Change", o, &ids);
		if (ch.code == EXIT_OK)
			change_jobs(&ch, "alter", json_incref(s.job), ids.v, (int)ids.n);
		name_list_free(&ids);
		code = change_close(&ch);
	}
	jobspec_fini(&s);
	return code;
}

const struct command command_qalter = {
	.name = "qalter",
	.operands = "[JOB...]",
	.about = "Change waiting jobs; of running ones, what can still be changed.",
	.examples = EXAMPLES({"qalter -l walltime=4:00:00 12",
			      "Let it run for up to four hours; also if it runs already and nobody is delayed."},
			     {"qalter -W depend=afterok:11 12 13", "Make two jobs wait for another."},
			     {"qalter -t %5 '14[]'", "Let up to five elements of the array run at once."}),
	OPTIONS(struct job_arguments, qalter_options),
	.run = alter,
	.own = true,
};
