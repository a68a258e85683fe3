/*
 * nqs2pbs.c - `nqs2pbs`: converts a script for NQS to one for PBS. Its option lines ("#@$-q batch",
 * Cray's "#QSUB -q batch") are translated option by option; one without an equivalent in PBS stays
 * as a comment, and is reported.
 */
#include <errno.h>
#include <string.h>

#include "base/lines.h"
#include "client/script.h"
#include "cmd/lib/commands.h"
#include "cmd/lib/screen.h"

/* Formats of the translated options, with %s for the value. NULL: no equivalent. */
static const struct translation {
	const char *nqs;
	bool value;
	const char *pbs;
} translations[] = {
	{"-a", true, "-a %s"},	     {"-A", true, "-A %s"},	   {"-e", true, "-e %s"},
	{"-eo", false, "-j oe"},     {"-ke", false, "-k e"},	   {"-ko", false, "-k o"},
	{"-lT", true, "-l cput=%s"}, {"-lt", true, "-l pcput=%s"}, {"-lM", true, "-l mem=%s"},
	{"-lm", true, "-l pmem=%s"}, {"-lV", true, "-l vmem=%s"},  {"-lv", true, "-l pvmem=%s"},
	{"-lF", true, "-l file=%s"}, {"-lf", true, "-l file=%s"},  {"-lP", true, "-l ncpus=%s"},
	{"-mb", false, "-m b"},	     {"-me", false, "-m e"},	   {"-mu", true, "-M %s"},
	{"-nr", false, "-r n"},	     {"-o", true, "-o %s"},	   {"-p", true, "-p %s"},
	{"-q", true, "-q %s"},	     {"-r", true, "-N %s"},	   {"-s", true, "-S %s"},
	{"-x", false, "-V"},	     {"-z", false, "-z"},	   {"-lc", true, NULL},
	{"-ld", true, NULL},	     {"-ln", true, NULL},	   {"-ls", true, NULL},
	{"-lw", true, NULL},	     {"-mt", false, NULL},	   {"-re", false, NULL},
	{"-ro", false, NULL},
};

/* Returns the longest option that the word begins with: "-lT" before "-l". */
static const struct translation *translation_find(const char *word)
{
	const struct translation *best = NULL;

	for (size_t i = 0; i < sizeof translations / sizeof *translations; i++) {
		const struct translation *t = &translations[i];
		size_t n = strlen(t->nqs);
		bool fits = strncmp(word, t->nqs, n) == 0 && (t->value || word[n] == '\0');
		if (fits && (!best || n > strlen(best->nqs)))
			best = t;
	}
	return best;
}

struct conversion {
	const struct command *c;
	const char *path;
	FILE *out;
	int64_t line;
	int lost; /* options without an equivalent */
};

static void value_put(struct strbuf *out, const char *value)
{
	bool plain = value[0] && !strpbrk(value, " \t'\"\\#");

	strbuf_printf(out, plain ? "%s" : "'%s'", value);
}

static void option_lose(struct conversion *v, const char *word, const char *value)
{
	fprintf(v->out, "# nqs2pbs: nothing corresponds to %s%s%s\n", word, value ? " " : "", value ? value : "");
	command_fail(v->c, "%s, line %lld: nothing in PBS corresponds to %s; it is left as a comment", v->path,
		     (long long)v->line, word);
	v->lost++;
}

/* Writes an option. NQS has a comma between a limit and its warning: "-lT 100,90". */
static void option_put(struct conversion *v, const struct translation *t, char *value)
{
	struct strbuf text = {0}, quoted = {0};

	if (value && strncmp(t->nqs, "-l", 2) == 0)
		value[strcspn(value, ",")] = '\0';
	if (value)
		value_put(&quoted, value);
	if (t->value)
		strbuf_printf(&text, "%.*s%s", (int)(strlen(t->pbs) - 2), t->pbs, strbuf_text(&quoted));
	else
		strbuf_puts(&text, t->pbs);
	fprintf(v->out, "#PBS %s\n", text.text);
	strbuf_fini(&text);
	strbuf_fini(&quoted);
}

static int options_convert(struct conversion *v, const char *text, struct err *err)
{
	struct arena *arena = arena_create();
	struct words words;
	int rc = words_split(text, strlen(text), true, arena, &words, err);

	for (int i = 0; rc == 0 && i < words.n; i++) {
		char *word = words.v[i];
		const struct translation *t = translation_find(word);
		char *value = NULL;
		if (t && t->value)
			value = word[strlen(t->nqs)] ? word + strlen(t->nqs) : i + 1 < words.n ? words.v[++i] : NULL;
		if (t && t->value && !value)
			rc = err_set(err, -EINVAL, "%s needs a value", t->nqs);
		else if (t && t->pbs)
			option_put(v, t, value);
		else
			option_lose(v, t ? t->nqs : word, value);
	}
	arena_destroy(arena);
	return rc < 0 ? err_prefix(err, rc, "%s, line %lld", v->path, (long long)v->line) : 0;
}

/* Returns what follows the prefix of an option line; NULL: it is not one. */
static const char *options_of(const char *line)
{
	static const char *const prefix[] = {"#@$", "# @$", "#QSUB", "# QSUB"};

	for (size_t i = 0; i < sizeof prefix / sizeof *prefix; i++)
		if (strncmp(line, prefix[i], strlen(prefix[i])) == 0)
			return line + strlen(prefix[i]);
	return NULL;
}

/* Copies a line of the script unchanged, also to standard output. */
static void line_copy(struct conversion *v, const char *line)
{
	if (v->out == stdout) {
		screen_raw(stdout, line, strlen(line));
		putchar('\n');
	} else {
		fprintf(v->out, "%s\n", line);
	}
}

static int lines_convert(struct conversion *v, struct lines *in, struct err *err)
{
	bool began = false;
	char *line;
	int rc;

	while ((rc = lines_next(in, &line, err)) == 1) {
		const char *text = began ? NULL : options_of(line);
		v->line = lines_number(in);
		/* The first command ends the options, and so does "#@$" alone. */
		began |= (line[0] && line[0] != '#' && line[0] != ':') || (text && !text[strspn(text, " \t\r")]);
		if (!text)
			line_copy(v, line);
		else if (options_convert(v, text, err) < 0)
			return -EINVAL;
	}
	return rc;
}

static int run(const struct command *c, const void *arguments, const struct operands *operands)
{
	struct conversion v = {.c = c, .path = operands->v[0]};
	struct strbuf name = {0};
	struct lines *in = NULL;
	struct err err;
	int rc = lines_open(v.path, &in, &err);

	if (rc < 0)
		return command_fail(c, "%s", err.text);
	if (operands->n > 1)
		strbuf_puts(&name, operands->v[1]);
	else
		strbuf_printf(&name, "%s.new", v.path);
	v.out = strcmp(name.text, "-") == 0 ? stdout : fopen(name.text, "w");
	if (!v.out)
		rc = err_set(&err, -errno, "%.300s: %s", name.text, strerror(errno));
	else
		rc = lines_convert(&v, in, &err);
	if (v.out && v.out != stdout && fclose(v.out) != 0 && rc == 0)
		rc = err_set(&err, -errno, "%.300s: %s", name.text, strerror(errno));
	lines_close(in);
	strbuf_fini(&name);
	return rc < 0 ? command_fail(c, "%s", err.text) : EXIT_OK;
}

const struct command command_nqs2pbs = {
	.name = "nqs2pbs",
	.operands = "SCRIPT [NEW]",
	.operand_kind = OPTION_FILE,
	.about = "Convert a script for NQS into one for PBS: NEW, or SCRIPT.new.",
	.examples = EXAMPLES({"nqs2pbs old.nqs new.pbs", "Convert a script."},
			     {"nqs2pbs old.nqs - | qsub", "Convert it and hand it in."}),
	.run = run,
	.own = true,
	.alone = true,
};
