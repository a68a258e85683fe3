/*
 * tutorial.c - `shunt tutorial`: walks through submitting, waiting, arrays, failures and reports on
 * the running instance, with the real commands.
 *
 * Each step is a row: what to know, and the command line, in which {1} is the job that the first
 * command with a job made. The commands run in a directory of their own, in TMPDIR, which is
 * removed in the end, also when a signal ends the tour.
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fdio.h"
#include "base/hostlist.h"
#include "cmd/lib/commands.h"
#include "cmd/lib/show.h"

#define ANSWER_MOST 65536

enum does { RUN, SUBMIT, AWAIT };

struct step {
	enum does does; /* AWAIT: the jobs of the line have ended first */
	const char *about, *line;
};

static const struct step steps[] = {
	{SUBMIT, "A job is a command or a script, and what it needs: here one CPU for up to a minute.",
	 "qsub -N hello -j oe -l ncpus=1,walltime=1:00 -- echo Hello"},
	{AWAIT, "It runs as soon as there is room. Its output is kept with it, and in a file here.",
	 "shunt output {1}"},
	{RUN, "Everything that is known of it:", "shunt job {1}"},
	{SUBMIT, "Now one that takes a while ...", "qsub -N slow -l walltime=10:00 -- sleep 600"},
	{SUBMIT, "... and one that has to wait for it.", "qsub -N later -W depend=afterok:{2} -- echo done"},
	{RUN, "The queue says what each job does, and when it is expected to start.", "shunt queue --mine"},
	{RUN, "When a job does not start, ask why:", "shunt why {3}"},
	{RUN, "You don't have to wait for it. What waits for a job that is deleted is deleted as well.",
	 "qdel {2} {3}"},
	{SUBMIT, "An array is many jobs from one line: --each makes one for each value, in place of {}.",
	 "qsub -N square -j oe --each 2 3 4 -- expr {} \"*\" {}"},
	{AWAIT, "The output of all of its elements:", "shunt output {4}"},
	{SUBMIT,
	 "Things go wrong. This job fails:", "qsub -N fails -j oe -l mem=100mb -- sh -c \"echo no such data; exit 3\""},
	{AWAIT, "The queue shows it, also when it has ended:", "shunt queue --mine --all"},
	{RUN, "What did it say?", "shunt output {5}"},
	{SUBMIT, "When the cause is removed, submit what failed again, here with twice the memory:",
	 "shunt retry {5} -l mem=x2"},
	{RUN, "What did the first job use of what it requested?", "shunt report {1}"},
};

static volatile sig_atomic_t interrupted; /* the signal */

static void on_signal(int signal)
{
	interrupted = signal;
}

struct tour {
	const struct command *c;
	struct client *client;
	name_list ids; /* short ids of the jobs */
	bool asks;
};

/* Returns the id in what a submission printed: "12.pine", or "Submitted job 12.pine: ...". */
static char *id_of(const char *printed)
{
	const char *id = printed + strcspn(printed, "0123456789");

	return strndup(id, strcspn(id, ".\n"));
}

/* Replaces {1} by the first job's id, and so on; {} stays. */
static void line_fill(const struct tour *t, const char *text, struct strbuf *out)
{
	for (; *text; text++) {
		size_t n = text[0] == '{' && text[1] > '0' && text[1] <= '9' && text[2] == '}' ? (size_t)(text[1] - '1')
											       : SIZE_MAX;
		if (n < t->ids.n) {
			strbuf_puts(out, t->ids.v[n]);
			text += 2;
		} else {
			strbuf_add(out, text, 1);
		}
	}
}

/* Splits a line at blanks; "..." is one word. */
static void words_split_line(char *line, char **word, int most)
{
	int n = 0;

	for (char *p = line; *p && n < most;) {
		char end = *p == '"' ? '"' : ' ';
		p += end == '"';
		word[n++] = p;
		p += strcspn(p, end == '"' ? "\"" : " ");
		if (*p)
			*p++ = '\0';
		p += strspn(p, " ");
	}
	word[n] = NULL;
}

/* Runs a command of this program. With `out` its output is kept there. Returns its exit code.
 * Ctrl-C reaches all processes of the terminal: it does not end a submission, whose job would be
 * unknown, nor the deletion of the jobs after it. */
static int line_run(const char *text, struct strbuf *out)
{
	char *line = strdup(text), *word[32];
	int fd[2] = {-1, -1}, status = -1;

	words_split_line(line, word, 31);
	if (!out || pipe(fd) == 0) {
		pid_t pid = fork();
		if (pid == 0) {
			if (out || interrupted)
				signal(SIGINT, SIG_IGN);
			if (out)
				dup2(fd[1], STDOUT_FILENO);
			execv("/proc/self/exe", word);
			_exit(127);
		}
		if (out)
			close(fd[1]);
		if (out)
			fd_read(fd[0], ANSWER_MOST, out);
		if (out)
			close(fd[0]);
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
	}
	free(line);
	return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILED;
}

/* Waits until a job has ended. Returns false after an error message or a signal. */
static bool job_await(struct tour *t, const char *id)
{
	struct reply r;
	bool ended = false;
	int code = EXIT_OK, before = interrupted;

	while (!ended && interrupted == before && show_get(t->c, t->client, api_path("/v1/jobs/%s", id), &r, &code)) {
		ended = *object_text(r.json, "state") == 'C';
		reply_fini(&r);
		if (!ended)
			usleep(200000);
	}
	return ended;
}

/* Waits for Enter. Returns false at the end of the input and after a signal. */
static bool next_asked(const struct tour *t)
{
	char line[256];

	if (!t->asks)
		return !interrupted;
	printf("\n[Enter] ");
	fflush(stdout);
	return !interrupted && read(STDIN_FILENO, line, sizeof line) > 0 && !interrupted;
}

static int step_run(struct tour *t, const struct step *s)
{
	struct strbuf line = {0}, about = {0}, out = {0};
	int code = EXIT_OK;

	line_fill(t, s->line, &line);
	line_fill(t, s->about, &about);
	printf("\n");
	print_wrapped(stdout, about.text, 0, 0);
	printf("\n$ %s\n", line.text);
	fflush(stdout);
	if (interrupted || (s->does == AWAIT && !job_await(t, t->ids.v[t->ids.n - 1])))
		code = EXIT_FAILED;
	if (code == EXIT_OK)
		code = line_run(line.text, s->does == SUBMIT ? &out : NULL);
	printf("%s", strbuf_text(&out));
	if (s->does == SUBMIT && code == EXIT_OK)
		vec_push(&t->ids, id_of(out.text));
	strbuf_fini(&line);
	strbuf_fini(&about);
	strbuf_fini(&out);
	return code;
}

/* Deletes what is left after a tour that was not finished, and removes its directory. */
static void tour_end(struct tour *t, const char *directory)
{
	struct strbuf line = {0};

	strbuf_puts(&line, "qdel -x");
	for (size_t i = 0; i < t->ids.n; i++)
		strbuf_printf(&line, " %s", t->ids.v[i]);
	if (t->ids.n)
		line_run(line.text, NULL);
	for (size_t i = 0; i < t->ids.n; i++)
		job_await(t, t->ids.v[i]); /* it may yet write its output into the directory */
	strbuf_fini(&line);
	DIR *d = opendir(directory);
	for (struct dirent *e; d && (e = readdir(d));)
		unlinkat(dirfd(d), e->d_name, 0); /* fails for . and .. */
	if (d)
		closedir(d);
	rmdir(directory);
}

static int run(const struct command *c, const void *arguments, const struct operands *operands)
{
	static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};
	struct tour t = {.c = c, .asks = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO)};
	const char *tmp = getenv("TMPDIR");
	const size_t all = sizeof steps / sizeof *steps;
	char directory[PATH_MAX];
	int code = EXIT_OK;
	size_t done = 0;

	if (!show_open(c, &t.client))
		return EXIT_FAILED;
	snprintf(directory, sizeof directory, "%s/shunt-tutorial-XXXXXX", tmp && *tmp == '/' ? tmp : "/tmp");
	if (!mkdtemp(directory) || chdir(directory) < 0) {
		client_close(t.client);
		return command_fail(c, "%s: %s", directory, strerror(errno));
	}
	setenv("PWD", directory, 1);
	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) /* calls are not restarted after it */
		sigaction(ends[i], &(struct sigaction){.sa_handler = on_signal}, NULL);
	for (; done < all && code == EXIT_OK && (done == 0 || next_asked(&t)); done++)
		code = step_run(&t, &steps[done]);
	if (interrupted)
		printf("\nThe tour has been stopped. Its jobs are deleted.\n");
	else if (code == EXIT_OK && done < all)
		printf("\nThe input ended after step %zu of %zu, and the tour with it. Its jobs are deleted. 'shunt tutorial' begins again.\n",
		       done, all);
	else if (code == EXIT_OK)
		printf("\nThat was all. 'shunt help' lists the commands; docs/user-guide.md has the rest.\n");
	fflush(stdout);
	tour_end(&t, directory);
	name_list_free(&t.ids);
	client_close(t.client);
	return interrupted ? 128 + interrupted : code;
}

const struct command command_tutorial = {
	.name = "tutorial",
	.about = "Walk through submitting, waiting, arrays, failures and reports in five minutes.",
	.details =
		"It submits small jobs of your own to the running server, and removes what is left of them in the end. "
		"On a terminal it waits for Enter after each step.",
	.run = run,
};
