/*
 * pbsdsh.c - `pbsdsh`: runs a program once for every line of the job's node file (or host, or
 * copy), all at the same time, as tasks of the job. Tasks on this host are children of this
 * process; for each on another host a child relays (taskclient.h). Tasks find their place in
 * PBS_VNODENUM, PBS_NODENUM, PBS_TASKNUM and SHUNT_NODE, and get SIGTERM if this process dies
 * first.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "cmd/launch/jobhosts.h"
#include "cmd/launch/taskclient.h"
#include "cmd/lib/commands.h"
#include "cmd/lib/program.h"

struct dsh_arguments {
	int64_t copies, node;
	const char *host;
	bool collect, sequential, unique, verbose;
};

#define AT(field) offsetof(struct dsh_arguments, field)
static const struct option dsh_options[] = {
	OPTION(NUMBER, 'c', "copies", copies, "N", "on the first N places only", .min = 1, .max = 1000000),
	OPTION(NUMBER, 'n', "node", node, "N", "on that place only: a line of the node file, from 0", .max = 1000000),
	OPTION(TEXT, 'h', "host", host, "HOST", "on that host only"),
	FLAG('o', "collect", collect, "print what each wrote as a whole, in the order of the places"),
	FLAG('s', "sequential", sequential, "one after the other"),
	FLAG('u', "unique", unique, "once for each host"),
	FLAG('v', "verbose", verbose, "report on standard error what starts and ends"),
	{0},
};
#undef AT

struct task {
	int line; /* line of the node file */
	pid_t pid;
	int out; /* file with its output, or -1 */
};

struct run {
	const struct command *c;
	const struct dsh_arguments *a;
	struct jobhosts hosts;
	VEC(struct task) task;
	int worst; /* highest exit code */
};

static void tasks_choose(struct run *r)
{
	const struct dsh_arguments *a = r->a;

	for (int i = 0; i < (int)r->hosts.line.n; i++) {
		bool first = jobhosts_find(&r->hosts, r->hosts.line.v[i]) == i;
		if ((a->unique || a->host) && !first)
			continue;
		if ((a->host && strcmp(a->host, r->hosts.line.v[i]) != 0) || (a->node >= 0 && a->node != i))
			continue;
		if (a->copies < 0 || (int64_t)r->task.n < a->copies)
			vec_push(&r->task, (struct task){.line = i, .out = -1});
	}
}

/* Builds a task's variables: its environment on this host, changes to the job's environment on
 * another. */
static void place_env(struct run *r, const struct task *t, int number, struct arena *a, char *ret[4])
{
	ret[0] = arena_printf(a, "PBS_VNODENUM=%d", t->line);
	ret[1] = arena_printf(a, "PBS_NODENUM=%d", jobhosts_number(&r->hosts, t->line));
	ret[2] = arena_printf(a, "PBS_TASKNUM=%d", number + 2); /* the job's script is task 1 */
	ret[3] = arena_printf(a, "SHUNT_NODE=%s", r->hosts.line.v[t->line]);
}

/* Relays a task on another host. Runs in the child and does not return. */
static void task_relay(struct run *r, const struct task *t, int number, char *const *argv)
{
	struct taskclient task = {.node = r->hosts.line.v[t->line],
				  .argv = argv,
				  .in = -1,
				  .out = t->out >= 0 ? t->out : STDOUT_FILENO,
				  .err = STDERR_FILENO};
	char **env, *workdir = getcwd(NULL, 0);
	struct err err;
	size_t n;
	int code;

	env = jobhosts_env(r->hosts.arena, 4, &n);
	place_env(r, t, number, r->hosts.arena, env + n);
	task.env = env;
	task.workdir = workdir;
	if (taskclient_run(&task, &code, &err) < 0) {
		command_fail(r->c, "%s", err.text);
		code = TASKCLIENT_LOST;
	}
	_exit(code);
}

/* Becomes the task. Runs in the child and does not return. */
static void task_become(struct run *r, const struct task *t, int number, char *const *argv, pid_t parent)
{
	int null = open("/dev/null", O_RDONLY);
	char *env[4];

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(EXIT_FAILED);
	if (!jobhosts_here(r->hosts.line.v[t->line]))
		task_relay(r, t, number, argv);
	place_env(r, t, number, r->hosts.arena, env);
	for (int i = 0; i < 4; i++)
		putenv(env[i]);
	if (null >= 0)
		dup2(null, STDIN_FILENO);
	if (t->out >= 0)
		dup2(t->out, STDOUT_FILENO);
	execvp(argv[0], argv);
	int code = errno == ENOENT ? 127 : 126; /* like shells */
	command_fail(r->c, "%s: %s", argv[0], strerror(errno));
	_exit(code);
}

static int task_start(struct run *r, int i, char *const *argv)
{
	struct task *t = &r->task.v[i];
	pid_t parent = getpid();

	if (r->a->collect && (t->out = memfd_create("pbsdsh", MFD_CLOEXEC)) < 0)
		return command_fail(r->c, "keeping the output: %s", strerror(errno));
	t->pid = fork();
	if (t->pid == 0)
		task_become(r, t, i, argv, parent);
	if (t->pid < 0)
		return command_fail(r->c, "starting %s: %s", argv[0], strerror(errno));
	if (r->a->verbose)
		fprintf(stderr, "pbsdsh: started %s as task %d on %s\n", argv[0], i + 2, r->hosts.line.v[t->line]);
	return EXIT_OK;
}

static void output_print(const struct task *t)
{
	char buf[65536];
	ssize_t n;

	lseek(t->out, 0, SEEK_SET);
	while ((n = read(t->out, buf, sizeof buf)) > 0)
		fwrite(buf, 1, (size_t)n, stdout);
	fflush(stdout);
	close(t->out);
}

static void task_wait(struct run *r, int i)
{
	struct task *t = &r->task.v[i];
	int status, code;

	while (waitpid(t->pid, &status, 0) < 0)
		if (errno != EINTR)
			return;
	code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	if (t->out >= 0)
		output_print(t);
	if (r->a->verbose)
		fprintf(stderr, "pbsdsh: task %d on %s ended with %d\n", i + 2, r->hosts.line.v[t->line], code);
	if (code > r->worst)
		r->worst = code;
}

static void tasks_run(struct run *r, char *const *argv)
{
	int started = 0;

	for (int i = 0; i < (int)r->task.n && task_start(r, i, argv) == EXIT_OK; i++, started++)
		if (r->a->sequential)
			task_wait(r, i);
	for (int i = 0; i < started && !r->a->sequential; i++)
		task_wait(r, i);
	if (started < (int)r->task.n && r->worst == EXIT_OK)
		r->worst = EXIT_FAILED;
}

static int dsh_run(const struct command *c, const void *arguments, char **argv)
{
	const struct dsh_arguments *a = arguments;
	struct run r = {.c = c, .a = a};
	struct err err;

	if (jobhosts_read(&r.hosts, &err) < 0)
		return command_fail(c, "%s", err.text);
	tasks_choose(&r);
	if (r.task.n > 0)
		tasks_run(&r, argv);
	else if (a->host)
		r.worst = command_fail(c, "%s is not a node of this job", a->host);
	else
		r.worst = command_fail(c, "-n %lld: the node file has %zu line%s, from 0", (long long)a->node,
				       r.hosts.line.n, r.hosts.line.n == 1 ? "" : "s");
	jobhosts_fini(&r.hosts);
	vec_free(&r.task);
	return r.worst;
}

static int dsh(const struct command *c, int argc, char **argv)
{
	return program_main(c, argc, argv, dsh_run);
}

const struct command command_pbsdsh = {
	.name = "pbsdsh",
	.operands = "[--] PROGRAM [ARGUMENT...]",
	.about = "Run a program once for each line of the job's node file, all at the same time.",
	.details =
		"The tasks belong to the job, and start in the directory that pbsdsh is called in, with its environment. PBS_VNODENUM is the line of the node file, PBS_NODENUM "
		"which host it is, both from 0. The exit code is the largest of the tasks'; 128 and the signal's number where a "
		"signal ended one.",
	.examples = EXAMPLES({"pbsdsh -u hostname", "In a job: run it once on each of its hosts."},
			     {"pbsdsh -- bash -c 'echo $PBS_VNODENUM'", "Once for each CPU; each knows which it is."}),
	OPTIONS(struct dsh_arguments, dsh_options),
	.main = dsh,
	.own = true,
	.alone = true,
};
