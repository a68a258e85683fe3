/*
 * policies.c - `shunt policies`: prints the table of policies, one line each.
 */
#include <stdbool.h>
#include <stddef.h>
#include <unistd.h>

#include "base/json.h"
#include "base/table.h"
#include "cmd/lib/commands.h"
#include "cmd/lib/show.h"
#include "sched/policy.h"

#define NAME_WIDTH 26

static const struct option options[] = {
	OPTION_ROW(FLAG, 0, "json", offsetof(struct show_arguments, json), NULL, "print JSON instead of a table"),
	{0},
};

static void print_json(void)
{
	struct strbuf text = {0};
	struct json j;

	json_init(&j, &text, true);
	json_open_array(&j, NULL);
	for (int i = 0; i < npolicies; i++) {
		const struct policy *p = &policies[i];
		json_open_object(&j, NULL);
		json_text(&j, "name", p->name);
		json_text(&j, "about", p->about);
		json_bool(&j, "deadlines", p->deadlines);
		json_bool(&j, "clairvoyant", p->know == KNOW_RUNTIME);
		json_int(&j, "push_depth", p->push_depth);
		json_close_object(&j);
	}
	json_close_array(&j);
	printf("%s\n", strbuf_text(&text));
	strbuf_fini(&text);
}

static int run(const struct command *c, const void *arguments, const struct operands *operands)
{
	const struct show_arguments *a = arguments;
	static const char *const columns[] = {"policy", "~what it does"};

	if (a->json) {
		print_json();
		return EXIT_OK;
	}
	if (isatty(STDOUT_FILENO)) {
		for (int i = 0; i < npolicies; i++) {
			printf("%-*s", NAME_WIDTH, policies[i].name);
			print_wrapped(stdout, policies[i].about, NAME_WIDTH, NAME_WIDTH);
		}
		return EXIT_OK;
	}
	/* One line each, whatever the width of the output. */
	struct table *t = table_create(columns, 2);
	for (int i = 0; i < npolicies; i++) {
		table_cell(t, "%s", policies[i].name);
		table_cell(t, "%s", policies[i].about);
	}
	table_print(t, stdout, 0);
	table_destroy(t);
	return EXIT_OK;
}

const struct command command_policies = {
	.name = "policies",
	.about = "List the scheduling policies, one per line.",
	OPTIONS(struct show_arguments, options),
	.run = run,
	.alone = true,
};
