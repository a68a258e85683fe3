/*
 * main.c - shunt-agent: the command line, and the order in which it starts.
 *
 *	agent.json -> lock -> certificate -> facts -> nursery, running jobs -> port -> server
 *
 * It restarts by executing itself: jobs keep running under their shepherds, as in an upgrade.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/agent_internal.h"
#include "agent/facts.h"
#include "agent/guard.h"
#include "agent/health.h"
#include "base/background.h"
#include "base/codec.h"
#include "base/descriptors.h"
#include "base/logline.h"
#include "base/option.h"
#include "engine/apart.h"
#include "engine/frames.h"
#include "run/nursery.h"

#define UNIT "shunt-agent.service"
#define RETRY_MS 60000 /* ms until it restarts after the nursery failed */

struct arguments {
	struct join_options join; /* `where` NULL: it has already joined */
	bool foreground, no_start;
	/* file with the token; "-": standard input; NULL: on the command line */
	const char *token_file;
	bool logs; /* standard error is STATE/log */
	int ready; /* descriptor on which to report that it is up, or why not */
};

static const char usage[] =
	"usage: shunt-agent --join SERVER[:PORT] [TOKEN | - | --token-file FILE] [--name NAME] [--port PORT]\n"
	"                   [--cpus N] [--memory KIB] [--leaves INSTANT] [--guest] [--workstation POLICY] [--foreground | --no-start]\n"
	"       shunt-agent [--port PORT] [--foreground]\n"
	"\n"
	"The agent of a node: runs parts of jobs for the server of a cluster. 'shunt token create' on the server prints a token.\n"
	"\n"
	"  --join SERVER      make this machine a node of that server's cluster, and start the agent.\n"
	"                     Without TOKEN, or with -, the token is read from the standard input\n"
	"  --token-file FILE  read the token from FILE\n"
	"  --name NAME        the node's name; the host's if not given\n"
	"  --port PORT        where other nodes reach this one; 7723 if not given, 0: any that is free\n"
	"  --cpus N           let jobs use N of this machine's CPUs; which ones is not decided here\n"
	"  --memory KIB       memory that jobs may use; default: all, or with --cpus a proportional part\n"
	"  --leaves INSTANT   no job lasts longer than until then, in seconds since 1970\n"
	"  --guest            end as soon as the node is removed, and ten minutes after the last answer of a server\n"
	"  --workstation POLICY  its owner comes first: share, idle or hours=..., see docs/workstations.md\n"
	"  --foreground       stay, and log to standard error\n"
	"  --no-start         join only\n";

static int failed(const struct arguments *a, const char *text)
{
	if (a->ready >= 0)
		dprintf(a->ready, "-%s", text);
	return log_fatal("shunt-agent", "%s", text);
}

/* ---- in the background ---- */

static void log_open(const struct home *h)
{
	char path[PATH_MAX + 16];
	int fd;

	snprintf(path, sizeof path, "%s/log", h->state);
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640);
	if (fd < 0)
		return;
	dup2(fd, STDERR_FILENO);
	close(fd);
}

/* Returns in the parent: 0 when the child is up, else 1 after it has printed the reason. The child
 * executes this program again, so that nothing of the command line, nor of what joining has read,
 * is in the memory of a process that lives for months. */
static int daemonise(const struct home *h, struct arguments *a)
{
	char log[PATH_MAX + 16], ready[16];
	char *argv[] = {(char *)h->program, (char *)"--foreground", (char *)"--logs", (char *)"--ready", ready, NULL};
	struct err err;

	snprintf(log, sizeof log, "%s/log", h->state);
	int rc = background_begin(log, 0640, &a->ready, &err);
	if (rc != 0)
		return rc > 0 ? 0 : failed(a, err.text);
	a->logs = true;
	snprintf(ready, sizeof ready, "%d", a->ready);
	if (fcntl(a->ready, F_SETFD, 0) == 0) {
		descriptors_lower();
		execv(h->program, argv);
	}
	_exit(failed(a, strerror(errno)));
}

/* ---- the loop ---- */

struct signals {
	struct agent *a;
	const struct arguments *arguments;
	uv_signal_t term, interrupt, hang_up;
	uv_timer_t retry;
};

static void on_end(uv_signal_t *s, int number)
{
	struct signals *all = s->data;

	log_line(SEVERITY_NOTICE, "stopping; jobs continue");
	uv_stop(all->a->loop);
}

/* Collects what the server should know of this node. */
static int facts_of(const struct agent *a, struct facts *ret, struct err *err)
{
	int rc = facts_collect(a->member.cgroup, a->home.state, ret, err);

	facts_limit(ret, a->member.cpus, a->member.memory);
	ret->guest = a->member.guest;
	return rc;
}

/* Called on SIGHUP: the log was rotated, and processors may have been added. */
static void on_hang_up(uv_signal_t *s, int number)
{
	struct signals *all = s->data;
	struct agent *a = all->a;
	struct facts f;
	json_t *facts;

	if (all->arguments->logs)
		log_open(&a->home);
	facts = facts_of(a, &f, NULL) < 0 ? NULL : schema_json(&facts_schema, &f);
	if (facts && facts_differ(a->facts, facts)) {
		json_decref(a->facts);
		a->facts = json_incref(facts);
		session_facts(a);
	}
	json_decref(facts);
	facts_fini(&f);
}

static void on_retry(uv_timer_t *t)
{
	struct signals *all = t->data;

	all->a->again = all->a->trouble != NULL;
	if (all->a->again)
		uv_stop(all->a->loop);
}

static void signals_start(struct signals *s)
{
	uv_loop_t *loop = s->a->loop;

	uv_signal_init(loop, &s->term);
	uv_signal_init(loop, &s->interrupt);
	uv_signal_init(loop, &s->hang_up);
	uv_timer_init(loop, &s->retry);
	s->term.data = s->interrupt.data = s->hang_up.data = s->retry.data = s;
	uv_signal_start(&s->term, on_end, SIGTERM);
	uv_signal_start(&s->interrupt, on_end, SIGINT);
	uv_signal_start(&s->hang_up, on_hang_up, SIGHUP);
	uv_timer_start(&s->retry, on_retry, RETRY_MS, RETRY_MS);
}

static void on_health(void *context)
{
	struct agent *a = context;
	const char *text = health_text(a->health);

	if (*text)
		log_line(SEVERITY_WARNING, "the health check reports: %s", text);
	else
		log_line(SEVERITY_NOTICE, "the health check passes again");
	session_health(a);
}

static int bring_up(struct agent *a, struct err *err)
{
	char machine[128];
	struct facts f;
	int rc;

	a->loop = uv_default_loop();
	if ((rc = credential_load(a, err)) < 0)
		return rc;
	rc = facts_of(a, &f, err);
	a->facts = rc < 0 ? NULL : schema_json(&facts_schema, &f);
	facts_say(&f, machine, sizeof machine);
	facts_fini(&f);
	if (rc < 0)
		return rc;
	views_start(a);
	a->health = health_create(a->loop, on_health, a);
	if ((rc = spool_start(a, err)) < 0 || (rc = orders_start(a, err)) < 0 || (rc = peers_start(a, err)) < 0 ||
	    (rc = terminal_start(a, err)) < 0 || (rc = guard_start(a, err)) < 0)
		return rc;
	log_line(SEVERITY_NOTICE, "up: version %s, node %s of %s, %s, port %d", SHUNT_VERSION, a->member.name,
		 a->member.cluster, machine, listener_port(a->listener));
	session_start(a);
	return 0;
}

static void tear_down(struct agent *a)
{
	session_stop(a);
	guard_stop(a);
	terminal_stop(a);
	spool_stop(a);
	views_stop(a);
	streams_stop(a);
	peers_stop(a);
	health_stop(a->health);
	orders_stop(a);
	for (int i = 0; i < 4; i++) /* sends goodbyes */
		uv_run(a->loop, UV_RUN_NOWAIT);
	credential_fini(a);
	json_decref(a->facts);
	member_fini(&a->member);
	free(a->trouble);
}

static int start_anew(const struct agent *a, const struct arguments *arguments)
{
	char *argv[] = {(char *)a->home.program, (char *)"--foreground", arguments->logs ? (char *)"--logs" : NULL,
			NULL};

	descriptors_lower();
	execv(a->home.program, argv);
	return failed(arguments, strerror(errno));
}

static int serve(struct agent *a, struct arguments *arguments)
{
	struct signals signals = {.a = a, .arguments = arguments};
	struct err err;
	int lock = home_lock(&a->home, &err);

	if (lock < 0)
		return failed(arguments, err.text);
	if (bring_up(a, &err) < 0)
		return failed(arguments, err.text);
	signals_start(&signals);
	if (arguments->ready >= 0) {
		if (write(arguments->ready, "+", 1) != 1)
			return 1;
		close(arguments->ready);
		arguments->ready = -1;
	}
	uv_run(a->loop, UV_RUN_DEFAULT);
	tear_down(a);
	if (a->again) {
		close(lock);
		return start_anew(a, arguments);
	}
	return 0;
}

/* ---- the command line ---- */

/* Takes the token and erases it: everyone can see the command line. */
static void token_take(struct arguments *a, char *word)
{
	if (!word || strcmp(word, "-") == 0) {
		a->token_file = "-";
		return;
	}
	a->join.token = mem_strdup(word);
	memset(word, 0, strlen(word));
}

#define AT(field) offsetof(struct arguments, field)
static const struct option rows[] = {
	OPTION(TEXT, 0, "join", join.where, "SERVER", NULL),
	OPTION(TEXT, 0, "name", join.name, "NAME", NULL),
	OPTION(INT, 0, "port", join.port, "PORT", NULL, .max = 65535),
	OPTION(INT, 0, "cpus", join.cpus, "N", NULL, .max = 65535),
	OPTION(NUMBER, 0, "memory", join.memory, "KIB", NULL, .min = 1, .max = INT64_MAX),
	OPTION(NUMBER, 0, "leaves", join.leaves, "INSTANT", NULL, .min = 1, .max = INT64_MAX),
	FLAG(0, "guest", join.guest, NULL),
	OPTION(TEXT, 0, "workstation", join.workstation, "POLICY", NULL),
	FLAG(0, "foreground", foreground, NULL),
	FLAG(0, "no-start", no_start, NULL),
	OPTION(FILE, 0, "token-file", token_file, "FILE", NULL),
	/* internal: standard error is the log; where to report that we are up */
	FLAG(0, "logs", logs, NULL),
	OPTION(INT, 0, "ready", ready, "FD", NULL, .max = 65535),
	{0},
};

/* Returns the exit code, or -1: the agent is to be started. */
static int parse(int argc, char **argv, struct arguments *a)
{
	const struct join_options *j = &a->join;
	char **operand = mem_zalloc((size_t)argc * sizeof *operand);
	int n, rc = options_main(&(struct options){.rows = rows, .own = true}, "shunt-agent", usage, argc - 1, argv + 1,
				 a, operand, &n);
	bool token = j->where && !a->token_file;

	if (rc == OPTIONS_VERSION)
		puts("shunt-agent " SHUNT_VERSION);
	if (rc == 0 && token)
		token_take(a, n > 0 ? operand[0] : NULL);
	if (rc == 0 &&
	    (n > (token ? 1 : 0) || (!j->where && (j->name || j->cpus || j->memory || j->leaves || j->guest ||
						   j->workstation || a->no_start || a->token_file)))) {
		fputs(usage, stderr);
		rc = -EINVAL;
	}
	if (a->ready >= 0)
		fcntl(a->ready, F_SETFD, FD_CLOEXEC);
	free(operand);
	return rc < 0 ? 2 : rc > 0 ? 0 : -1;
}

/* ---- starting it ---- */

static int command_run(const char *const *argv)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		int null = open("/dev/null", O_RDWR);
		dup2(null, STDOUT_FILENO);
		execvp(argv[0], (char *const *)argv);
		_exit(127);
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static bool systemd_has_unit(const struct home *h)
{
	static const char *const ask[] = {"systemctl", "cat", UNIT, NULL};

	return !h->given && access("/run/systemd/system", F_OK) == 0 && command_run(ask) == 0;
}

static int start_by_systemd(const struct arguments *a)
{
	static const char *const enable[] = {"systemctl", "enable", "--now", UNIT, NULL};

	return command_run(enable) == 0 ? 0
					: failed(a, "'systemctl enable --now " UNIT "' failed: see 'systemctl status'");
}

static int run_here(struct agent *a, struct arguments *arguments, struct err *err)
{
	int rc = home_make(&a->home, err);

	if (rc == 0)
		rc = member_load(&a->home, &a->member, err);
	if (rc == 0 && arguments->join.port >= 0 && arguments->join.port != a->member.port) {
		a->member.port = arguments->join.port;
		rc = member_store(&a->home, &a->member, err);
	}
	if (rc < 0)
		return failed(arguments, err->text);
	if (!arguments->foreground)
		return daemonise(&a->home, arguments);
	if (arguments->join.where) { /* see daemonise() */
		fflush(stdout);
		return start_anew(a, arguments);
	}
	exit(serve(a, arguments));
}

static bool runs_already(const struct home *h)
{
	int fd = home_lock(h, NULL);

	if (fd >= 0)
		close(fd);
	return fd == -EBUSY;
}

int main(int argc, char **argv)
{
	struct arguments arguments = {.ready = -1, .join.port = -1};
	static struct agent a;
	struct err err = {.text = ""};
	int rc;

	if (argc > 1 && strcmp(argv[1], "--nursery") == 0)
		return nursery_command(argc, argv);
	apart_titles(argv);
	int code = parse(argc, argv, &arguments);
	if (code >= 0)
		return code;
	signal(SIGPIPE, SIG_IGN);
	descriptors_raise();
	umask(022);
	if (home_find(&a.home, &err) < 0)
		return failed(&arguments, err.text);
	if (arguments.token_file && !(arguments.join.token = token_read(arguments.token_file, &err)))
		return failed(&arguments, err.text);
	if (arguments.join.where && machine_join(&a.home, &arguments.join, &err) < 0)
		return failed(&arguments, err.text);
	if (arguments.no_start || (arguments.join.where && runs_already(&a.home))) {
		puts(arguments.no_start ? "" : " The agent runs.");
		return 0;
	}
	if (arguments.join.where && !arguments.foreground && systemd_has_unit(&a.home))
		rc = start_by_systemd(&arguments);
	else
		rc = run_here(&a, &arguments, &err);
	if (rc == 0 && arguments.join.where)
		puts(" The agent runs.");
	return rc;
}
