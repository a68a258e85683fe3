/*
 * rsh.c - `pbs_rsh`, also `shunt rsh`: works like ssh, for programs that use ssh to reach the nodes
 * of a job: mpirun, mpiexec, parallel, pdsh. For a node on this host the command runs right here,
 * in the job's own session and control group, so that it ends with the job; for another it is a
 * task of the job there (taskclient.h). SHUNT_NODE names its node. As with ssh, the words are
 * joined and given to the user's shell, in the home directory.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/launch/jobhosts.h"
#include "cmd/launch/taskclient.h"
#include "cmd/lib/commands.h"

#define EXIT_SSH 255 /* ssh's exit code for its own failures */

/* ssh's options; those with a value first. Only -l, -n, -t and -T have an effect here. */
static const char valued[] = "BDEFIJLOQRSWbceilmopw", plain[] = "46AaCfGgKkMNnqsTtVvXxYy";

struct rsh_arguments {
	const char *user, *host;
	bool no_input, terminal, no_terminal;
	int number; /* number of the node; -1: not a node but this host */
};

static const struct option rsh_options[] = {
	OPTION_ROW(TEXT, 'l', "-l", offsetof(struct rsh_arguments, user), "USER",
		   "the job's own user: nobody else can be meant"),
	OPTION_ROW(FLAG, 'n', "-n", offsetof(struct rsh_arguments, no_input), NULL,
		   "no standard input: it reads from /dev/null"),
	OPTION_ROW(FLAG, 't', "-t", offsetof(struct rsh_arguments, terminal), NULL,
		   "on another host: with a terminal; a shell without a command has one if this is one"),
	OPTION_ROW(FLAG, 'T', "-T", offsetof(struct rsh_arguments, no_terminal), NULL, "without a terminal"),
	{0},
};

/* Reads options up to the next other word; "--" ends them. Returns its index, or -1 after an error
 * message. */
static int rsh_options_read(const struct command *c, int argc, char **argv, int at, struct rsh_arguments *a)
{
	for (; at < argc && argv[at][0] == '-' && argv[at][1]; at++) {
		const char *p = argv[at] + 1;
		if (strcmp(p, "-") == 0)
			return at + 1;
		for (; *p && strchr(plain, *p); p++) {
			a->no_input |= *p == 'n';
			a->terminal |= *p == 't';
			a->no_terminal |= *p == 'T';
		}
		if (!*p)
			continue;
		const char *value = p[1] ? p + 1 : ++at < argc ? argv[at] : NULL;
		if (!strchr(valued, *p) || !value) {
			command_misused(c, strchr(valued, *p) ? "-%c needs a value" : "ssh has no option -%c", *p);
			return -1;
		}
		if (*p == 'l')
			a->user = value;
	}
	return at;
}

/* Takes the host; "user@host" is the same as -l user. */
static void host_take(struct rsh_arguments *a, const char *word)
{
	const char *at = strrchr(word, '@');
	static char user[256];

	a->host = at ? at + 1 : word;
	if (at) {
		snprintf(user, sizeof user, "%.*s", (int)(at - word), word);
		a->user = user;
	}
}

static bool host_is_here(const char *host)
{
	char name[HOST_NAME_MAX + 1] = "";

	gethostname(name, sizeof name - 1);
	return strcmp(host, "localhost") == 0 || strcmp(host, name) == 0;
}

/* Makes a separate directory for temporary files, as another machine would have, below the job's,
 * which the job removes. */
static void tmpdir_make(const char *host)
{
	const char *job = getenv("SHUNT_TMPDIR");
	struct strbuf path = {0};

	if (!job || strchr(host, '/'))
		return;
	strbuf_printf(&path, "%s/%s", job, host);
	if (mkdir(path.text, 0700) == 0 || errno == EEXIST)
		setenv("TMPDIR", path.text, 1);
	strbuf_fini(&path);
}

static int place_check(const struct command *c, struct rsh_arguments *a, const struct passwd *pw)
{
	struct jobhosts hosts;
	struct err err;
	int line;

	if (jobhosts_read(&hosts, &err) < 0)
		return command_fail(c, "%s", err.text);
	line = jobhosts_find(&hosts, a->host);
	a->number = line < 0 ? -1 : jobhosts_number(&hosts, line);
	jobhosts_fini(&hosts);
	if (line < 0 && !host_is_here(a->host))
		return command_fail(c, "%s is not a node of this job", a->host);
	if (a->user && (!pw || strcmp(a->user, pw->pw_name) != 0))
		return command_fail(c, "%s: a job's commands run as its own user, %s", a->user,
				    pw ? pw->pw_name : "which has no name here");
	return EXIT_OK;
}

/* Sets the variables of a command on a node of this host. */
static void place_tell(const struct rsh_arguments *a)
{
	char number[16];

	if (a->number < 0)
		return;
	snprintf(number, sizeof number, "%d", a->number);
	setenv("PBS_NODENUM", number, 1);
	setenv("SHUNT_NODE", a->host, 1);
	tmpdir_make(a->host);
}

static void words_join(char **word, int n, struct strbuf *out)
{
	for (int i = 0; i < n; i++)
		strbuf_printf(out, "%s%s", i ? " " : "", word[i]);
}

/* Becomes the shell; returns only on failure. */
static int shell_run(const struct command *c, const struct passwd *pw, char **word, int n)
{
	const char *shell = pw && pw->pw_shell[0] ? pw->pw_shell : "/bin/sh";
	const char *slash = strrchr(shell, '/'), *directory = getenv("PBS_JOBDIR");
	struct strbuf text = {0}, name = {0};

	if (directory && chdir(directory) < 0) /* stays where it is and continues, like ssh */
		command_warn(c, "can't go to the job's directory %s: %s", directory, strerror(errno));
	words_join(word, n, &text);
	/* no command: a login shell */
	strbuf_printf(&name, "%s%s", n ? "" : "-", slash ? slash + 1 : shell);
	execl(shell, name.text, n ? "-c" : NULL, strbuf_text(&text), NULL);
	command_fail(c, "%s: %s", shell, strerror(errno));
	strbuf_fini(&text);
	strbuf_fini(&name);
	return EXIT_SSH;
}

/* Runs the shell on another host, where the job's environment gives shell and directory. */
static int shell_run_there(const struct command *c, const struct rsh_arguments *a, char **word, int n)
{
	static char command[] = "cd \"$PBS_JOBDIR\" 2>/dev/null || cd; exec \"${SHELL:-/bin/sh}\" -c \"$1\"",
		    login[] = "cd \"$PBS_JOBDIR\" 2>/dev/null || cd; exec \"${SHELL:-/bin/sh}\" -l";
	struct strbuf text = {0}, node = {0}, number = {0};
	struct err err;
	int code = EXIT_SSH;

	words_join(word, n, &text);
	strbuf_printf(&node, "SHUNT_NODE=%s", a->host);
	strbuf_printf(&number, "PBS_NODENUM=%d", a->number);
	char *argv[] = {"/bin/sh", "-c", n ? command : login, "sh", n ? text.text : NULL, NULL};
	char *env[] = {node.text, number.text, NULL};
	struct taskclient t = {.node = a->host,
			       .argv = argv,
			       .env = env,
			       .workdir = "/",
			       .in = a->no_input ? -1 : STDIN_FILENO,
			       .out = STDOUT_FILENO,
			       .err = STDERR_FILENO};
	t.terminal = !a->no_terminal && (a->terminal || (n == 0 && isatty(STDIN_FILENO)));
	if (taskclient_run(&t, &code, &err) < 0) {
		command_fail(c, "%s", err.text);
		code = EXIT_SSH;
	}
	strbuf_fini(&text);
	strbuf_fini(&node);
	strbuf_fini(&number);
	return code;
}

static int rsh(const struct command *c, int argc, char **argv)
{
	struct rsh_arguments a = {0};
	const struct passwd *pw = getpwuid(getuid());
	int at, null;

	if (argc > 0 && strcmp(argv[0], "--help") == 0)
		return command_answer(c, OPTIONS_HELP);
	if (argc > 0 && strcmp(argv[0], "--version") == 0)
		return command_answer(c, OPTIONS_VERSION);
	at = rsh_options_read(c, argc, argv, 0, &a);
	if (at < 0)
		return EXIT_SSH;
	if (at == argc) {
		command_misused(c, "HOST is missing");
		return EXIT_SSH;
	}
	host_take(&a, argv[at]);
	at = rsh_options_read(c, argc, argv, at + 1, &a); /* rsh and ssh also accept options here */
	if (at < 0 || place_check(c, &a, pw) != EXIT_OK)
		return EXIT_SSH;
	if (a.number >= 0 && !jobhosts_here(a.host))
		return shell_run_there(c, &a, argv + at, argc - at);
	place_tell(&a);
	if (a.no_input && (null = open("/dev/null", O_RDONLY)) >= 0) {
		dup2(null, STDIN_FILENO);
		close(null);
	}
	return shell_run(c, pw, argv + at, argc - at);
}

const struct command command_rsh = {
	.name = "pbs_rsh",
	.operands = "HOST [COMMAND...]",
	.about = "Run a command on a node of the job it is called in, as ssh would.",
	.details =
		"For programs that start others by ssh. HOST is one of the lines of $PBS_NODEFILE. The words of the command are "
		"joined and given to the user's shell, in the directory that the job started in; it ends with the job at the latest. The other options "
		"of ssh are taken, and mean nothing here. SIGINT, SIGTERM and SIGHUP are passed on. The exit code is the command's, or 255.",
	.examples = EXAMPLES(
		{"pbs_rsh n2 hostname", "In a job: run a command on its node n2."},
		{"parallel --sshloginfile $PBS_NODEFILE gzip ::: *.log",
		 "Where pbs_rsh is needed it is set already: PARALLEL_SSH, OMPI_MCA_plm_rsh_agent, HYDRA_LAUNCHER_EXEC."}),
	OPTIONS(struct rsh_arguments, rsh_options),
	.main = rsh,
	.own = true,
	.alone = true,
};

const struct command command_shunt_rsh = {
	.name = "rsh",
	.operands = "HOST [COMMAND...]",
	.about = "Run a command on a node of the job it is called in, as ssh would: pbs_rsh.",
	.examples = EXAMPLES({"shunt rsh n2 hostname", "In a job: run a command on its node n2."}),
	OPTIONS(struct rsh_arguments, rsh_options),
	.main = rsh,
	.alone = true,
};
