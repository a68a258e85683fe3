/*
 * whatif.c - `shunt whatif`: shows when a job would start and end if it were submitted now.
 */
#include <time.h>

#include "base/hostlist.h"
#include "base/timetext.h"
#include "cmd/lib/commands.h"
#include "cmd/lib/show.h"
#include "cmd/pbs/qsub.h"

static void nodes_add(struct strbuf *out, const json_t *nodes)
{
	struct strbuf text = {0};
	name_list names = {0};
	const json_t *name;
	size_t i;

	json_array_foreach(nodes, i, name) vec_push(&names, mem_strdup(json_string_value(name)));
	hostlist_format(names.v, names.n, &text);
	if (text.n)
		strbuf_printf(out, " on %s", text.text);
	name_list_free(&names);
	strbuf_fini(&text);
}

static void paragraph(struct strbuf *text)
{
	if (text->n > 0 && terminal_columns() > 0)
		print_wrapped(stdout, text->text, 0, 0);
	else if (text->n > 0)
		printf("%s\n", text->text);
	strbuf_clear(text);
}

static void answer_print(const json_t *answer, bool deadline, bool array)
{
	int64_t now = (int64_t)time(NULL), start = object_number(answer, "start", 0),
		end = object_number(answer, "end", 0);
	const char *reason = object_text(answer, "reason");
	struct strbuf text = {0};
	char when[40], far[40];

	if (!json_is_true(json_object_get(answer, "possible"))) {
		strbuf_printf(&text, "It would not run: %s.", reason);
	} else if (start <= 0) {
		strbuf_printf(&text, "Its start can't be foreseen: %s.", reason);
	} else {
		strbuf_puts(&text, array ? "Its first element would start " : "It would start ");
		if (start <= now + 1)
			strbuf_puts(&text, "at once");
		else
			strbuf_printf(&text, "at %s, in %s,", instant_format(start, when, sizeof when),
				      duration_human(start - now, far, sizeof far));
		nodes_add(&text, json_object_get(answer, "nodes"));
		if (end > 0)
			strbuf_printf(&text, array ? ", and its last be done by %s" : ", and be done by %s",
				      instant_format(end, when, sizeof when));
		strbuf_puts(&text, ".");
		if (*reason)
			strbuf_printf(&text, " Its end can't be foreseen: %s.", reason);
	}
	paragraph(&text);
	if (*object_text(answer, "price_unit"))
		strbuf_printf(&text, "The price would be %s %s.",
			      duration_format(object_number(answer, "price", 0), when, sizeof when),
			      object_text(answer, "price_unit"));
	paragraph(&text);
	if (start > 0 && deadline)
		strbuf_printf(&text, "The deadline would %sbe guaranteed.",
			      json_is_true(json_object_get(answer, "guaranteed")) ? "" : "not ");
	paragraph(&text);
	strbuf_fini(&text);
}

static int ask(const struct command *c, struct jobspec *s, bool json)
{
	int code;
	json_t *answer = show_ask(c, "/v1/whatif", json_incref(s->job), &code);

	if (!answer)
		return code;
	if (json)
		show_json(answer);
	else
		answer_print(answer, json_is_boolean(json_object_get(answer, "guaranteed")),
			     json_object_get(s->job, "array"));
	code = json_is_true(json_object_get(answer, "possible")) ? EXIT_OK : EXIT_FAILED;
	json_decref(answer);
	return code;
}

static int whatif(const struct command *c, int argc, char **argv)
{
	return job_main(c, argc, argv, true, ask);
}

const struct command command_whatif = {
	.name = "whatif",
	.operands = "[SCRIPT | -- COMMAND [ARGUMENTS]]",
	.operand_kind = OPTION_FILE,
	.about = "Show when a job would start and end if it were submitted now.",
	.details = "It takes what qsub takes, and submits nothing. Of an array it shows when its first element would "
		   "start and its last one end. Exit code 1: such a job could not run.",
	.examples =
		EXAMPLES({"shunt whatif -l nodes=4:ppn=8,walltime=6:00:00", "When would such a job start?"},
			 {"shunt whatif -l ncpus=16,walltime=2h --deadline +5h", "Could it be done in five hours?"},
			 {"shunt whatif -A physics -l ncpus=16,estimate=2:00:00,deadline=+5h", "What would that cost?"},
			 {"shunt whatif --array 1-200%8 --depend afterok:12 job.sh",
			  "When would the first element start, and the last one end?"}),
	.options = qsub_options,
	.hints = qsub_hints,
	.size = sizeof(struct job_arguments),
	.main = whatif,
};
