/*
 * plan.c - `shunt plan`: shows which jobs run where and when, by the scheduler's current plan.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cmd/jobs/plan_model.h"
#include "cmd/lib/commands.h"
#include "cmd/lib/palette.h"
#include "cmd/lib/show.h"

#define PIPE_WIDTH 100 /* columns if the output is not a terminal */

struct arguments {
	bool json;
	const char *svg;
	int64_t horizon, width;
};

#define AT(field) offsetof(struct arguments, field)
static const struct option options[] = {
	OPTION(SECONDS, 0, "for", horizon, "DURATION", "how far to look: 12h, 3d; otherwise as far as the plan goes"),
	OPTION(NUMBER, 'w', "width", width, "COLUMNS", "instead of the terminal's width", .min = 40, .max = 1000),
	OPTION(FILE, 0, "svg", svg, "FILE", "draw it into a file for browsers; - is standard output"),
	FLAG(0, "json", json, "print JSON instead of a picture"),
	{0},
};

static int svg_write(const struct command *c, const char *path, const struct plan_view *v)
{
	FILE *out = strcmp(path, "-") == 0 ? stdout : fopen(path, "w");

	if (!out)
		return command_fail(c, "%s: %s", path, strerror(errno));
	plan_svg(v, out);
	if (out != stdout && fclose(out) != 0)
		return command_fail(c, "%s: %s", path, strerror(errno));
	return EXIT_OK;
}

static int plan_show(const struct command *c, const struct arguments *a, const json_t *plan)
{
	int width = a->width > 0 ? (int)a->width : terminal_columns();
	struct plan_view view;
	int code = EXIT_OK;

	plan_view_make(&view, plan, a->horizon);
	if (a->svg)
		code = svg_write(c, a->svg, &view);
	else
		plan_picture(&view, width ? width : PIPE_WIDTH, palette_wanted(STDOUT_FILENO), stdout);
	plan_view_fini(&view);
	return code;
}

static int run(const struct command *c, const void *arguments, const struct operands *operands)
{
	const struct arguments *a = arguments;
	int code;
	json_t *plan = show_ask(c, "/v1/plan", NULL, &code);

	if (plan && a->json)
		show_json(plan);
	else if (plan)
		code = plan_show(c, a, plan);
	json_decref(plan);
	return code;
}

const struct command command_plan = {
	.name = "plan",
	.about = "Draw which jobs run where and when, as planned now.",
	.details = "A band of lines for each node, time to the right; in colours on a terminal unless NO_COLOR is set.",
	.examples = EXAMPLES({"shunt plan", "The plan as text, nodes by time."},
			     {"shunt plan --for 1d --svg plan.svg", "The next day, for a browser."}),
	OPTIONS(struct arguments, options),
	.run = run,
};
