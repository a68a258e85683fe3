/*
 * qstat.c - `qstat`: reads the options of both families of PBS.
 *
 * -x means XML in TORQUE and "also finished jobs" in PBS Pro. Full output includes all finished
 * jobs that the server keeps, and lists those that ended recently. -x is XML, unless -F names
 * another format, another list (-a) is requested, or it is joined as PBS Pro's clients write it:
 * -fx.
 */
#include "cmd/pbs/qstat.h"

#include <string.h>

#include "cmd/lib/commands.h"

#define AT(field) offsetof(struct qstat_arguments, field)
static const struct option options[] = {
	FLAG('f', "full", full, "everything about each job (with -Q: queue, with -B: server)"),
	OPTION(WORD, 'F', "format", format, "json|dsv|default", "with -f: JSON, or one line each of name=value",
	       .words = "json dsv default"),
	OPTION(TEXT, 'D', "delimiter", delimiter, "TEXT", "what separates the values of -F dsv", .initial = "|"),
	FLAG('1', "-1", one_line, "with -f, -n, -s: never wrap a line"),
	FLAG('x', "xml", x,
	     "XML as TORQUE's; with -F, -a, -n or -s, or written -fx, as in PBS Pro: finished jobs as well, including those of the history; lists have a column with how they ended"),
	FLAG('H', "history", history,
	     "finished jobs only, also those of the history, as PBS Pro shows them (state F), and how they ended"),
	FLAG('P', "pbspro", pro,
	     "with -f: in PBS Pro's words only, finished jobs are F, and those of the history are shown as well; also with -f -t"),
	FLAG('c', "no-completed", uncompleted, "leave finished jobs out"),
	FLAG('a', "all", all, "a wider list: session, nodes, CPUs, memory, time asked for and used"),
	FLAG('n', "nodes", nodes, "as -a, with the nodes each job has"),
	FLAG('s', "comments", comments, "as -a, with why each job waits or how it ended"),
	FLAG('r', "running", running, "as -a, of running jobs"),
	FLAG('i', "idle", idle, "as -a, of jobs that don't run"),
	FLAG('T', "estimate", estimate, "as -a, with the expected start instead of the time used"),
	OPTION(TEXT, 'u', "user", user, "USER[,USER...]", "as -a, of these users' jobs"),
	FLAG('G', "-G", giga, "memory in gigabytes"),
	FLAG('M', "-M", mega, "memory in megawords (of 8 bytes)"),
	FLAG('w', "wide", wide, "wider columns"),
	FLAG('t', "elements", elements, "list the elements of arrays one by one"),
	FLAG('J', "arrays", arrays, "arrays only"),
	FLAG('Q', "queues", queues, "queues instead of jobs"),
	FLAG('q', "limits", queue_limits, "queues with their limits"),
	FLAG('B', "server", server, "the server instead of jobs"),
	FLAG('e', "-e", executing, "accepted for TORQUE's sake: jobs in routing queues are few here"),
	FLAG('l', "-l", no_alias, "accepted for TORQUE's sake"),
	{0},
};

static const char *const hints[] = {
	"--me",	   "write 'qstat -u $USER', or 'shunt queue --mine'",
	"--mine",  "write 'qstat -u $USER', or 'shunt queue --mine'",
	"--json",  "write 'qstat -f -F json', or 'shunt queue --json'",
	"-j",	   "write 'qstat -f JOB', or 'shunt job JOB'",
	"--start", "write 'qstat -T'",
	NULL,
};

/* Returns a message if options contradict each other; else NULL. */
static const char *conflict_find(const struct qstat_arguments *a)
{
	bool list = a->all || a->nodes || a->comments || a->running || a->idle || a->estimate;

	if (a->running && a->idle)
		return "-r and -i are opposites: give one of them";
	if (a->giga && a->mega)
		return "-G and -M are two units: give one of them";
	if (a->full && list)
		return "-f shows everything: leave out -a, -n, -s, -r, -i and -T";
	if (a->server + a->queues + a->queue_limits > 1)
		return "-B, -Q and -q show different things: give one of them";
	if (a->one_line && !a->full && !a->nodes && !a->comments && !a->format)
		return "-1 goes with -f, -n or -s";
	return NULL;
}

/* Checks that "QUEUE@SERVER" and "@SERVER" name the server being asked. */
static bool servers_check(struct qstat *q)
{
	char queue[256];
	struct err err;

	for (int i = 0; i < q->operands->n; i++)
		if (!qstat_is_job(q->operands->v[i]) && queue_here(q->client, q->operands->v[i], queue, &err) < 0) {
			q->code = command_fail(q->command, "%s", err.text);
			return false;
		}
	return true;
}

static int run(const struct command *c, const void *arguments, const struct operands *operands)
{
	const struct qstat_arguments *a = arguments;
	struct qstat q = {.command = c, .a = a, .operands = operands};
	const char *conflict = conflict_find(a);
	bool other_list = a->all || a->nodes || a->comments || a->running || a->idle || a->estimate;

	if (conflict)
		return command_misused(c, "%s", conflict);
	if (!show_open(c, &q.client))
		return EXIT_FAILED;
	if (!servers_check(&q))
		; /* already reported */
	else if (a->server)
		qstat_servers(&q);
	else if (a->queue_limits)
		qstat_queue_limits(&q);
	else if (a->queues)
		qstat_queues(&q);
	else if (a->full || (a->format && strcmp(a->format, "default") != 0) || (a->x && !other_list))
		qstat_full(&q);
	else
		qstat_list(&q);
	client_close(q.client);
	return q.code;
}

/* Returns true if a word has letters joined as PBS Pro's clients do: -fx. */
static bool word_is_pro(const char *word)
{
	return word[0] == '-' && word[1] != '-' && strchr(word, 'f') && strchr(word, 'x') && !strpbrk(word, "uFD");
}

/* Runs before the parser: TORQUE's clients write "-f -x" and read XML, PBS Pro's write "-fx" and
 * read lines. */
static int joined_main(const struct command *c, int argc, char **argv)
{
	struct command plain = *c;

	plain.main = NULL;
	for (int i = 0; i < argc; i++)
		if (word_is_pro(argv[i]))
			*strchr(argv[i], 'x') = 'P';
	return command_run(&plain, argc, argv);
}

const struct command command_qstat = {
	.name = "qstat",
	.own = true,
	.operands = "[JOB|QUEUE|@SERVER]...",
	.about = "Show jobs, queues, or the server, as PBS does.",
	.details =
		"Without operands: all jobs; lists show finished ones (state C) for five minutes (the server's show_completed), with -x or -f for "
		"as long as the server keeps them (keep_completed). Older ones are in the history, where -H, -x as PBS Pro means it, and -f with a job's id "
		"find them. "
		"Exit code 153: there is no such job.",
	.examples = EXAMPLES({"qstat", "All jobs, a line each."}, {"qstat -f 12", "Everything about job 12."},
			     {"qstat -an1 -u $USER", "My jobs and where they run, a line each."},
			     {"qstat -f -F json 12", "Job 12 for programs."}),
	.hints = hints,
	OPTIONS(struct qstat_arguments, options),
	.run = run,
	.main = joined_main,
};
