/*
 * options.c - the options of a command for the parser in base/option.c: its own rows, --cluster,
 * and policies.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/suggest.h"
#include "cmd/lib/command.h"
#include "sched/policy.h"

const char *option_words(const struct option *o, struct strbuf *scratch)
{
	if (o->kind != OPTION_POLICIES)
		return o->words;
	strbuf_clear(scratch);
	for (int i = 0; i < npolicies; i++)
		strbuf_printf(scratch, "%s%s", i ? " " : "", policies[i].name);
	strbuf_puts(scratch, " all");
	return scratch->text;
}

void option_spell(const struct option *o, struct strbuf *out)
{
	if (o->letter)
		strbuf_printf(out, "-%c", o->letter);
	if (option_long(o))
		strbuf_printf(out, "%s--%s", o->letter ? ", " : "", o->name);
	if (o->value)
		strbuf_printf(out, " %s", o->value);
}

const struct option options_common[] = {
	{.name = "cluster",
	 .kind = OPTION_TEXT,
	 .value = "NAME",
	 .about = "ask the server of that cluster ('shunt clusters' lists them)"},
	{0},
};

void cluster_choose(const char *name)
{
	static bool chosen;

	if (!chosen)
		setenv("SHUNT_CLUSTER", name, 1);
	chosen = true;
}

static int policies_check(const char *list, struct err *err)
{
	char near[SUGGEST_SIZE], name[64];
	struct strbuf all = {0};
	struct option any = {.kind = OPTION_POLICIES};
	int rc = 0;

	option_words(&any, &all);
	for (const char *p = list; rc == 0;) {
		size_t n = strcspn(p, ",");
		snprintf(name, sizeof name, "%.*s", (int)n, p);
		if (!option_word_in(all.text, name)) {
			bool found = suggest_word(name, all.text, near);
			rc = err_set(err, -EINVAL, "unknown policy \"%s\"%s%s%s ('shunt policies' lists them)", name,
				     found ? ": did you mean " : "", found ? near : "", found ? "?" : "");
		}
		if (!p[n])
			break;
		p += n + 1;
	}
	strbuf_fini(&all);
	return rc;
}

static struct options options_of(const struct command *c)
{
	return (struct options){.rows = c->options,
				.common = c->alone ? NULL : options_common,
				.take = cluster_choose,
				.hints = c->hints,
				.own = c->own,
				.check = policies_check};
}

void *options_create(const struct command *c)
{
	void *arguments = mem_zalloc(c->size + 1);

	options_init(&(struct options){.rows = c->options}, arguments);
	return arguments;
}

void options_free(const struct command *c, void *arguments)
{
	if (arguments)
		options_fini(&(struct options){.rows = c->options}, arguments);
	free(arguments);
}

int options_parse(const struct command *c, int argc, char **argv, void *arguments, char **operands, int *ret_n,
		  struct err *err)
{
	struct options o = options_of(c);

	return options_read(&o, argc, argv, arguments, operands, ret_n, err);
}
