/*
 * completions.c - `shunt completions bash|zsh`: prints the shell code that completes commands and
 * options.
 */
#include <string.h>

#include "cmd/lib/commands.h"

/* Prints, once each, the words that a command may begin with, or that follow `group`. */
static void print_names(const char *group)
{
	size_t n = group ? strlen(group) : 0;
	const char *last = "";

	for (int i = 0; i < ncommands; i++) {
		const char *name = commands[i]->name;
		if (commands[i]->hidden || (group && (strncmp(name, group, n) != 0 || name[n] != ' ')))
			continue;
		const char *word = group ? name + n + 1 : name;
		size_t m = strcspn(word, " ");
		if (m != strcspn(last, " ") || strncmp(word, last, m) != 0)
			printf("%.*s ", (int)m, word);
		last = word;
	}
}

/* Calls `print` for each group. */
static void each_group(void (*print)(const char *group))
{
	char group[64] = "";

	for (int i = 0; i < ncommands; i++) {
		size_t n = strcspn(commands[i]->name, " ");
		if (!commands[i]->name[n] || strncmp(group, commands[i]->name, n) == 0)
			continue;
		snprintf(group, sizeof group, "%.*s", (int)n, commands[i]->name);
		print(group);
	}
}

/* "nodes" is itself a command: its own options and the second words of others may follow. */
static void bash_group(const char *group)
{
	printf("\t\t[ \"$COMP_CWORD\" -gt 2 ] && [ \"$command\" = %s ] && [[ ' ", group);
	print_names(group);
	printf("' == *\" ${COMP_WORDS[2]} \"* ]] && command=\"%s ${COMP_WORDS[2]}\"\n", group);
	if (command_find(group, NULL))
		return;
	printf("\t\t[ \"$COMP_CWORD\" -eq 2 ] && [ \"$command\" = %s ] && words='", group);
	print_names(group);
	printf("'\n");
}

static void bash_value(const struct option *o, const char *command)
{
	struct strbuf scratch = {0};
	const char *words = option_words(o, &scratch);

	if (o->kind == OPTION_FLAG)
		return;
	printf("\t");
	if (o->letter)
		printf("'%s -%c'%s", command, o->letter, option_long(o) ? "|" : "");
	if (option_long(o))
		printf("'%s --%s'", command, o->name);
	printf(")\n");
	if (o->kind == OPTION_POLICIES)
		printf("\t\tlocal before=\n\t\t[[ $current == *,* ]] && before=${current%%,*},\n"
		       "\t\tCOMPREPLY=($(compgen -P \"$before\" -W '%s' -- \"${current##*,}\"))\n",
		       words);
	else if (words)
		printf("\t\tCOMPREPLY=($(compgen -W '%s' -- \"$current\"))\n", words);
	else if (o->kind == OPTION_FILE || o->kind == OPTION_DIR)
		printf("\t\tCOMPREPLY=($(compgen %s -- \"$current\"))\n", o->kind == OPTION_DIR ? "-d" : "-f");
	printf("\t\treturn ;;\n");
	strbuf_fini(&scratch);
}

static void bash_options(const struct command *c)
{
	printf("\t'%s')\n\t\twords='--help", c->name);
	for (const struct option *o = c->options; o && o->name; o++)
		if (option_long(o))
			printf(" --%s", o->name);
		else
			printf(" -%c", o->letter);
	for (const struct option *o = options_common; !c->alone && o->name; o++)
		printf(" --%s", o->name);
	if (c->operand_words)
		printf(" %s", c->operand_words);
	printf(" ");
	print_names(c->name);
	printf("'\n");
	if (c->operands && (c->operand_kind == OPTION_FILE || c->operand_kind == OPTION_DIR))
		printf("\t\tfiles=%s\n", c->operand_kind == OPTION_DIR ? "-d" : "-f");
	printf("\t\t;;\n");
}

/* Prints the programs that have names of their own. */
static void print_own(void)
{
	for (int i = 0; i < ncommands; i++)
		if (commands[i]->own)
			printf(" %s", commands[i]->name);
}

static void print_bash(void)
{
	printf("# Completions of shunt for bash, written by 'shunt completions bash'.\n"
	       "_shunt() {\n"
	       "\tlocal current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}\n"
	       "\tlocal command=${COMP_WORDS[1]} words= files=\n"
	       "\tCOMPREPLY=()\n"
	       "\tif [ \"${COMP_WORDS[0]##*/}\" != shunt ]; then\n"
	       "\t\tcommand=${COMP_WORDS[0]##*/}\n"
	       "\telif [ \"$COMP_CWORD\" -eq 1 ]; then\n"
	       "\t\twords='");
	print_names(NULL);
	printf("'\n\telse\n\t\t:\n");
	each_group(bash_group);
	printf("\tfi\n"
	       "\tcase \"$command $previous\" in\n");
	for (int i = 0; i < ncommands; i++)
		for (const struct option *o = commands[i]->options; o && o->name; o++)
			bash_value(o, commands[i]->name);
	printf("\tesac\n"
	       "\t[ -z \"$words\" ] && case \"$command\" in\n");
	for (int i = 0; i < ncommands; i++)
		if (!commands[i]->hidden)
			bash_options(commands[i]);
	printf("\tesac\n"
	       "\tif [ -n \"$files\" ] && [[ $current != -* ]]; then\n"
	       "\t\tCOMPREPLY=($(compgen $files -- \"$current\"))\n"
	       "\telse\n"
	       "\t\tCOMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
	       "\tfi\n"
	       "}\n"
	       "complete -o filenames -F _shunt shunt");
	print_own();
	printf("\n");
}

/* Prints text for an _arguments specification in single quotes. */
static void zsh_text(const char *text)
{
	for (; *text; text++) {
		if (*text == '\'')
			printf("'\\''");
		else if (strchr("[]:", *text))
			printf("\\%c", *text);
		else
			putchar(*text);
	}
}

static void zsh_values(enum option_kind kind, const char *words)
{
	if (kind == OPTION_POLICIES)
		printf("_sequence compadd - %s", words);
	else if (words)
		printf("(%s)", words);
	else if (kind == OPTION_FILE)
		printf("_files");
	else if (kind == OPTION_DIR)
		printf("_files -/");
}

static void zsh_spelling(const struct option *o, const char *spelling)
{
	struct strbuf scratch = {0};

	printf(" \\\n\t\t\t'%s%s[", o->kind == OPTION_TEXTS ? "*" : "", spelling);
	zsh_text(o->about);
	printf("]");
	if (o->kind != OPTION_FLAG) {
		printf(":");
		zsh_text(o->value);
		printf(":");
		zsh_values(o->kind, option_words(o, &scratch));
	}
	printf("'");
	strbuf_fini(&scratch);
}

static void zsh_option(const struct option *o)
{
	char letter[3] = {'-', o->letter, '\0'};
	struct strbuf name = {0};

	strbuf_printf(&name, "--%s", o->name);
	if (o->letter)
		zsh_spelling(o, letter);
	if (option_long(o))
		zsh_spelling(o, name.text);
	strbuf_fini(&name);
}

static void zsh_options(const struct command *c)
{
	printf("\t'%s')\n\t\t_arguments '--help[Show help for the command.]'", c->name);
	for (const struct option *o = c->options; o && o->name; o++)
		zsh_option(o);
	for (const struct option *o = options_common; !c->alone && o->name; o++)
		zsh_option(o);
	if (c->operands) {
		printf(" \\\n\t\t\t'*:");
		zsh_text(c->operands);
		printf(":");
		zsh_values(c->operand_kind, c->operand_words);
		printf("'");
	}
	printf("\n\t\t;;\n");
}

static void zsh_group(const char *group)
{
	printf("\tif [[ $command == %s ]]; then\n"
	       "\t\tif (( CURRENT == 2 )); then\n\t\t\tcompadd -- ",
	       group);
	print_names(group);
	printf("\n%s\t\telif [[ ' ", command_find(group, NULL) ? "" : "\t\t\treturn\n");
	print_names(group);
	printf("' == *\" $words[2] \"* ]]; then\n"
	       "\t\t\tcommand=\"%s $words[2]\"\n\t\t\tshift words\n\t\t\t(( CURRENT-- ))\n\t\tfi\n\tfi\n",
	       group);
}

static void print_zsh(void)
{
	printf("#compdef shunt");
	print_own();
	printf("\n# Completions of shunt for zsh, written by 'shunt completions zsh'.\n"
	       "_shunt() {\n"
	       "\tlocal command=${words[1]:t}\n"
	       "\tif [[ $command == shunt ]]; then\n"
	       "\tcommand=$words[2]\n"
	       "\tif (( CURRENT == 2 )); then\n\t\tcompadd -- ");
	print_names(NULL);
	printf("\n\t\treturn\n\tfi\n"
	       "\tshift words\n\t(( CURRENT-- ))\n");
	each_group(zsh_group);
	printf("\tfi\n");
	printf("\tcase $command in\n");
	for (int i = 0; i < ncommands; i++)
		if (!commands[i]->hidden)
			zsh_options(commands[i]);
	printf("\tesac\n}\n_shunt \"$@\"\n");
}

static int run(const struct command *c, const void *arguments, const struct operands *operands)
{
	if (strcmp(operands->v[0], "bash") == 0)
		print_bash();
	else if (strcmp(operands->v[0], "zsh") == 0)
		print_zsh();
	else
		return command_misused(c, "\"%s\": completions exist for bash and zsh", operands->v[0]);
	return EXIT_OK;
}

const struct command command_completions = {
	.name = "completions",
	.operands = "bash|zsh",
	.operand_kind = OPTION_WORD,
	.operand_words = "bash zsh",
	.about = "Print completions for a shell.",
	.details = "For bash: source <(shunt completions bash). For zsh: write them to a file _shunt in a directory of "
		   "$fpath.",
	.run = run,
	.alone = true,
};
