/*
 * move.c - `shunt move`: moves a waiting job to another place in the queue.
 */

#include "cmd/lib/change.h"
#include "cmd/lib/commands.h"
#include "cmd/lib/object.h"

static int run(const struct command *c, const void *arguments, const struct operands *o)
{
	json_t *body = json_pack("{s:[s], s:s}", "ids", o->v[0], "after", o->v[1]), *warning;
	struct reply reply;
	struct change ch;
	size_t i;

	if (!body)
		return command_misused(c, "JOB and AFTER are job ids, like 12 or 12[3]");
	if (!change_open(&ch, c)) {
		json_decref(body);
		return EXIT_FAILED;
	}
	if (change_ask(&ch, "POST", "/v1/jobs/place", body, NULL, &reply)) {
		const json_t *result = json_array_get(json_object_get(reply.json, "results"), 0),
			     *error = json_object_get(result, "error");
		if (error)
			change_failed(&ch, o->v[0], object_text(error, "code"), object_text(error, "message"));
		json_array_foreach(json_object_get(reply.json, "warnings"), i, warning)
			command_warn(c, "%s", value_text(warning));
		reply_fini(&reply);
	}
	json_decref(body);
	return change_close(&ch);
}

const struct command command_move = {
	.name = "move",
	.operands = "JOB AFTER",
	.about = "Move a waiting job behind another.",
	.details =
		"AFTER is the job that it will be behind; 0 stands for the front of the queue. Users can move their own jobs, and only to a later expected start: to "
		"let others go first. Operators can move any job anywhere, and are warned of every deadline that is expected to be missed then.",
	.examples = EXAMPLES({"shunt move 101 103", "Let jobs 102 and 103 go first."},
			     {"shunt move 103 0", "As an operator: to the front of the queue."}),
	.run = run,
};
