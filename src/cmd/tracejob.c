/*
 * tracejob.c - `tracejob`: what the logs say of a job, in the order of time.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/vec.h"
#include "cmd/commands.h"
#include "cmd/show.h"

struct arguments {
	int64_t days, width;
	bool no_accounting, no_server, no_scheduler, no_mom, quiet, verbose, once;
	const char *path;
};

#define AT(field) offsetof(struct arguments, field)
#define FLAG(letter, name, field, about)                                                                               \
	{                                                                                                              \
		name, OPTION_FLAG, AT(field), NULL, NULL, NULL, 0, 0, about, letter                                    \
	}
static const struct option options[] = {
	{"days", OPTION_NUMBER, AT(days), "N", "1", NULL, 1, 3650, "Look back so many days.", 'n'},
	FLAG('a', "no-accounting", no_accounting, "Leave out lines of the accounting log."),
	FLAG('s', "no-server", no_server, "Leave out all other lines."),
	FLAG('z', "once", once, "Leave out lines that repeat the one before."),
	FLAG('q', "quiet", quiet, "Say nothing when there is nothing."),
	{"width", OPTION_NUMBER, AT(width), "COLUMNS", NULL, NULL, 1, 100000, "Cut lines at this width.", 'w'},
	FLAG('l', "-l", no_scheduler, "Accepted for PBS's sake: the scheduler writes into the same log."),
	FLAG('m', "-m", no_mom, "Accepted for PBS's sake."),
	FLAG('v', "-v", verbose, "Accepted for PBS's sake."),
	{"-p", OPTION_TEXT, AT(path), "PATH", NULL, NULL, 0, 0,
	 "Accepted for PBS's sake: the server knows where its logs are.", 'p'},
	{0},
};

static const char *const examples[] = {"tracejob -n 7 12", "What happened to job 12 in the last week.", NULL};

struct trace {
	const struct arguments *a;
	struct strbuf text, last;
	int lines;
};

static int piece(void *context, const char *data, size_t n)
{
	strbuf_add(&((struct trace *)context)->text, data, n);
	return 0;
}

/* "11/15/2026 14:05:00;S;12.x;user=a ..." becomes "11/15/2026 14:05:00 A S user=a ...", which is how PBS prints its
 * logs' lines. */
static void line_format(char *line, struct strbuf *out, bool *ret_accounting)
{
	char *type = strchr(line, ';'), *id = type ? strchr(type + 1, ';') : NULL,
	     *rest = id ? strchr(id + 1, ';') : NULL;

	*ret_accounting = rest && id - type == 2;
	strbuf_clear(out);
	if (!rest) {
		strbuf_puts(out, line);
		return;
	}
	strbuf_printf(out, "%.*s  %c    %.*s%s%s", (int)(type - line), line, *ret_accounting ? 'A' : 'S',
		      (int)(id - type - 1), type + 1, rest[1] ? " " : "", rest + 1);
}

static void line_print(struct trace *t, char *line)
{
	struct strbuf out = {0};
	bool accounting;

	line_format(line, &out, &accounting);
	bool skip = accounting ? t->a->no_accounting : t->a->no_server;
	bool again = t->a->once && t->last.n && strcmp(t->last.text, strbuf_text(&out)) == 0;
	if (out.n && !skip && !again) {
		int width = t->a->width > 0 ? (int)t->a->width : INT_MAX;
		printf("%.*s\n", width, out.text);
		t->lines++;
		strbuf_clear(&t->last);
		strbuf_puts(&t->last, out.text);
	}
	strbuf_fini(&out);
}

static int trace(const struct command *c, struct client *client, const struct arguments *a, const char *id)
{
	struct trace t = {.a = a};
	struct strbuf path = {0};
	char days[32];
	struct err err;
	int code = EXIT_OK;

	snprintf(days, sizeof days, "%lld", (long long)a->days);
	strbuf_puts(&path, "/v1/log");
	query_add(&path, "job", id);
	query_add(&path, "days", days);
	if (client_read(client, path.text, NULL, piece, &t, &err) < 0) {
		command_fail(c, "%s", err.text);
		code = show_code(client);
	} else {
		putchar('\n');
		text_print(stdout, "Job: ", "%s", id);
		putchar('\n');
		for (char *line = t.text.n ? strtok(t.text.text, "\n") : NULL; line; line = strtok(NULL, "\n"))
			line_print(&t, line);
		if (t.lines == 0)
			code = EXIT_FAILED;
		if (t.lines == 0 && !a->quiet)
			command_fail(c,
				     "the logs of the last %s day%s say nothing of job %s (-n DAYS looks back further)",
				     days, a->days == 1 ? "" : "s", id);
	}
	strbuf_fini(&path);
	strbuf_fini(&t.text);
	strbuf_fini(&t.last);
	return code;
}

static int run(const struct command *c, const void *arguments, const struct operands *operands)
{
	struct client *client;
	int code = EXIT_OK;

	if (!show_open(c, &client))
		return EXIT_FAILED;
	for (int i = 0; i < operands->n; i++) {
		int one = trace(c, client, arguments, operands->v[i]);
		code = code ? code : one;
	}
	client_close(client);
	return code;
}

const struct command command_tracejob = {
	.name = "tracejob",
	.own = true,
	.operands = "JOB...",
	.operands_min = 1,
	.operands_max = INT_MAX,
	.about = "Print what the server's logs say of a job.",
	.examples = examples,
	.options = options,
	.size = sizeof(struct arguments),
	.run = run,
};
