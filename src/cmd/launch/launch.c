/*
 * launch.c - `shunt launch`: starts the ranks of a parallel program on the nodes of the job, and
 * relays between them until they have ended. An Open MPI program needs neither mpirun nor ssh.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/file.h"
#include "cmd/launch/launch.h"
#include "cmd/lib/commands.h"
#include "cmd/lib/program.h"

#define AT(field) offsetof(struct launch_arguments, field)
static const struct option options[] = {
	OPTION(NUMBER, 'n', "ranks", ranks, "N", "how many; one for each line of the node file if not given", .min = 1,
	       .max = 1000000),
	OPTION(NUMBER, 0, "per-node", per_node, "K", "K on each node, at most", .min = 1, .max = 100000),
	OPTION(WORD, 0, "map", map, "HOW",
	       "block: ranks that follow each other are on one node; cyclic: on one after the other",
	       .initial = "block", .words = "block cyclic"),
	OPTION(WORD, 0, "bind", bind, "HOW",
	       "cpus: a rank stays on its share of the CPUs that the job has on its host; none: it may use all of them",
	       .initial = "cpus", .words = "cpus none"),
	FLAG('l', "label", label, "put the rank before each line that it writes: \"[3] text\""),
	OPTION(FILE, 'o', "output", output, "FILE",
	       "what ranks write goes to files: %r in the name is the rank, %n the node"),
	OPTION(FILE, 0, "send", send, "FILE",
	       "send a copy of FILE to every host; the program or an argument that is FILE means the copy there"),
	OPTION(TEXT, 0, "pass", pass, "SIGNALS",
	       "pass on these signals (numbers, joined by commas) to the ranks, once they have handlers for them; others end the program",
	       .initial = "10,12"),
	OPTION(SECONDS, 0, "timeout", timeout, "TIME", "end the program after that time; the exit code is 124 then"),
	{0},
};
#undef AT

/* Makes an unguessable name: a process that knows it may take part (PMIx has no better proof
 * between processes of a host). */
static const char *name_make(struct arena *a)
{
	unsigned long long number[2];

	if (getrandom(number, sizeof number, 0) != sizeof number)
		abort();
	return arena_printf(a, "shunt.%016llx%016llx", number[0], number[1]);
}

/* May be a program: it is run from there. */
#define SEND_MAX (64 << 20)

static int send_file_read(const char *path, struct layout *l, struct err *err)
{
	struct strbuf text = {0};
	int rc = file_read(path, 0, SEND_MAX, &text);

	if (rc == -EFBIG)
		err_set(err, rc, "--send: %.300s has more than 64 MB", path);
	else if (rc < 0)
		err_set(err, rc, "--send: %.300s: %s", path, strerror(-rc));
	else {
		l->file = path;
		l->text = memcpy(arena_alloc(l->arena, text.n + 1), strbuf_text(&text), text.n);
		l->ntext = text.n;
	}
	strbuf_fini(&text);
	return rc;
}

static int layout_make(const struct launch_arguments *a, char **argv, struct layout *l, struct err *err)
{
	struct jobhosts hosts;
	size_t n;

	int rc = jobhosts_read(&hosts, err);
	if (rc < 0)
		return rc;
	l->arena = arena_create();
	l->name = name_make(l->arena);
	l->argv = argv;
	l->env = jobhosts_env(l->arena, 0, &n);
	l->bind = strcmp(a->bind, "cpus") == 0;
	char *workdir = getcwd(NULL, 0);
	l->workdir = arena_printf(l->arena, "%s", workdir ? workdir : "/");
	free(workdir);
	rc = a->send ? send_file_read(a->send, l, err) : 0;
	if (rc == 0)
		rc = launch_map(&hosts, a, l, err);
	jobhosts_fini(&hosts);
	return rc;
}

static int launch(const struct command *c, const void *arguments, char **argv)
{
	const struct launch_arguments *a = arguments;
	struct launch_output output = {0};
	struct layout l = {0};
	struct err err;
	int code = EXIT_FAILED;

	if (!launch_program())
		return command_fail(c, "the program shunt-pmix, which belongs to it, is missing");
	if (layout_make(a, argv, &l, &err) < 0) {
		command_fail(c, "%s", err.text);
	} else {
		if (output_init(&output, &l, a, &err) < 0)
			command_fail(c, "%s", err.text);
		else
			code = hub_run(&l, a, &output);
		output_fini(&output);
	}
	layout_fini(&l);
	return code;
}

static int launch_main(const struct command *c, int argc, char **argv)
{
	return program_main(c, argc, argv, launch);
}

const struct command command_launch = {
	.name = "launch",
	.operands = "[--] PROGRAM [ARGUMENT...]",
	.about = "Start a parallel program (Open MPI, MPICH, or any other) on the nodes of the job it is called in.",
	.details =
		"Ranks find each other by PMIx (Open MPI) or PMI-1 (MPICH and its relatives), without mpirun or ssh. A program that asks for PMI-2 is "
		"refused. A rank "
		"finds its place in SHUNT_RANK, SHUNT_SIZE, SHUNT_LOCAL_RANK and SHUNT_NODE, and OMPI_COMM_WORLD_RANK is set as well; it "
		"has the environment and directory of this command. Standard input goes to rank 0. When a rank "
		"fails (a signal, or an exit code that is not 0 before MPI_Finalize) or calls MPI_Abort, all are ended: SIGTERM, after two "
		"seconds SIGKILL. The exit code is that of the first that failed, 128 and the signal's number where it was a signal. "
		"SIGINT, SIGTERM and SIGHUP end all ranks; SIGUSR1 and SIGUSR2 (--pass) are passed on to each rank as soon as it has a handler for them. MPI_Comm_spawn is not supported: a "
		"program has the ranks that it was started with.",
	.examples =
		EXAMPLES({"shunt launch ./solver input.dat", "In a job: a rank for each CPU that the job has."},
			 {"shunt launch --per-node 1 --label hostname",
			  "Once on each node; each line begins with the rank that wrote it."},
			 {"shunt launch -n 8 --output out-%r ./solver", "Eight ranks, each with a file of its own."}),
	OPTIONS(struct launch_arguments, options),
	.main = launch_main,
	.alone = true,
};

static int pmix_run(const struct command *c, const void *arguments, const struct operands *operands)
{
	const char *program = launch_program();

	if (program)
		execl(program, "shunt-pmix", NULL);
	return command_fail(c, "the program shunt-pmix is missing on this host: %s", strerror(errno));
}

/* Called by a launcher on another host, which cannot know where this host has its programs. */
const struct command command_pmix = {
	.name = "pmix",
	.about = "The ranks of a parallel program on this host.",
	.run = pmix_run,
	.hidden = 1,
	.alone = true,
};
