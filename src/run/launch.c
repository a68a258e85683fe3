/*
 * launch.c - what the job's first process does before it becomes the job: session, limits, user,
 * directory.
 *
 * A failure before it has become the user is the host's: `trouble` has the reason, and the job
 * never ran. A later failure is the job's own and is written to its error output.
 */
#include "run/launch.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/mem.h"
#include "run/criu.h"
#include "run/hold.h"
#include "run/live.h"
#include "run/rights.h"
#include "run/script.h"
#include "run/task.h"

void job_say(const char *fmt, ...)
{
	char text[1024] = "shunt: ";
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text + 7, sizeof text - 8, fmt, ap);
	va_end(ap);
	strcat(text, "\n");
	if (write(STDERR_FILENO, text, strlen(text)) < 0)
		return; /* there is no one to report it to */
}

static void streams_set(const struct launch *l)
{
	if (l->tty >= 0) {
		ioctl(l->tty, TIOCSCTTY, 0);
		dup2(l->tty, STDIN_FILENO);
	}
	dup2(l->tty >= 0 ? l->tty : l->out, STDOUT_FILENO);
	dup2(l->tty >= 0 ? l->tty : l->err, STDERR_FILENO);
}

/* Sets the limit of open files. Without permission the job runs with the limit as it is. */
static void files_limit(int64_t files)
{
	struct rlimit limit = {.rlim_cur = (rlim_t)files, .rlim_max = (rlim_t)files};

	if (files > 0 && setrlimit(RLIMIT_NOFILE, &limit))
		job_say("the limit of %lld open files can't be set: %s", (long long)files, strerror(errno));
}

static void cpus_bind(const struct order *o)
{
	int last = 0;

	if (!o->ncpus)
		return;
	for (int i = 0; i < o->ncpus; i++)
		last = o->cpus[i] > last ? o->cpus[i] : last;
	cpu_set_t *set = CPU_ALLOC((size_t)last + 1);
	size_t size = CPU_ALLOC_SIZE((size_t)last + 1);
	CPU_ZERO_S(size, set);
	for (int i = 0; i < o->ncpus; i++)
		CPU_SET_S((size_t)o->cpus[i], size, set);
	if (sched_setaffinity(0, size, set))
		job_say("it can't be bound to its CPUs: %s", strerror(errno));
	CPU_FREE(set);
}

static void directory_enter(const char *workdir, const char *home)
{
	const char *places[] = {workdir, home, "/"};
	int why = 0;

	for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
		if (!places[i])
			continue;
		if (chdir(places[i]) == 0) {
			if (why)
				job_say("the working directory %.500s can't be entered (%s): it starts in %s",
					places[0] ? places[0] : "", strerror(why), places[i]);
			return;
		}
		why = why ? why : errno;
	}
}

bool launch_has_init(const struct launch *l)
{
	return l->o->checkpoint.method == CHECKPOINT_CRIU && !l->o->room;
}

void launch_place(const struct launch *l)
{
	cgroup_enter(l->cgroup, l->o->tag);
	files_limit(l->o->files);
	cpus_bind(l->o);
	if (l->o->share.background)
		if (!background_enter())
			job_say("it can't be put behind the owner's programs: %s", strerror(errno));
}

/* Turns root's child into the user's own process. Returns -errno if that fails. */
static int user_become(const struct launch *l)
{
	launch_place(l);
	int r = identity_become(l->who);
	if (r)
		return r;
	/* Set it only now: a change of user clears it. If the shepherd has already died, no one
	 * would send the signal. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != l->parent)
		_exit(126);
	return 0;
}

/* Prepares shunt-init, the first word returned, which stays root and runs the job's program as the
 * user. Until then files are accessed with the user's rights. */
static char **init_become(const struct launch *l)
{
	launch_place(l);
	char **init = criu_init(l->who, l->o->tag);
	if (!init) {
		snprintf(l->trouble, TROUBLE_SIZE, "%s: install Shunt again there", CRIU_LACKS_INIT);
		_exit(126);
	}
	rights_begin(l->who);
	return init;
}

static void signals_clear(void)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* The process records its session itself before it runs anything: its shepherd may be killed first,
 * and a job's processes are found by the session. */
static void session_say(const struct launch *l)
{
	off_t at = l->live_at;

	if (launch_has_init(l)) /* its pid is a different one in the namespace */
		return;
	if (!live_session_say(l->live, &at, getpid()))
		*l->said_at = at;
}

void launch_job(const struct launch *l)
{
	setsid();
	session_say(l);
	streams_set(l);
	char **init = NULL;
	int r = 0;
	if (launch_has_init(l))
		init = init_become(l);
	else
		r = user_become(l);
	if (r) {
		snprintf(l->trouble, TROUBLE_SIZE, "it can't become user %s: %s", l->o->user, strerror(-r));
		_exit(126);
	}
	directory_enter(l->o->workdir, l->o->home);
	signals_clear();
	_exit(script_exec(l->o, l->head, init, l->env));
}

/* ---- tasks ---- */

/* Finds NAME or NAME=VALUE by its name; n is the length of NAME. */
static char **env_find(char **env, const char *entry, size_t n)
{
	while (*env && (strncmp(*env, entry, n) || (*env)[n] != '='))
		env++;
	return env;
}

/* Applies the task's changes to the job's environment. SHUNT_TAG must survive: it identifies stray
 * processes after a shepherd was killed. */
static char **env_change(char **env, char **changes)
{
	size_t n = 0, more = 0;

	while (env[n])
		n++;
	while (changes && changes[more])
		more++;
	char **changed = mem_alloc((n + more + 1) * sizeof *changed);
	memcpy(changed, env, (n + 1) * sizeof *changed);
	for (size_t i = 0; i < more; i++) {
		size_t length = strcspn(changes[i], "=");
		char **at = env_find(changed, changes[i], length);
		if (length == 9 && !strncmp(changes[i], "SHUNT_TAG", 9))
			continue;
		if (changes[i][length]) {
			at[1] = *at ? at[1] : NULL;
			*at = changes[i];
		} else {
			for (; *at; at++)
				at[0] = at[1];
		}
	}
	return changed;
}

static void terminal_take(const struct launch *l, const struct task *t)
{
	struct winsize w = {.ws_row = (unsigned short)t->rows, .ws_col = (unsigned short)t->columns};

	ioctl(STDIN_FILENO, TIOCSCTTY, 0);
	ioctl(STDIN_FILENO, TIOCSWINSZ, &w);
	/* Root may have made the terminal; the user must be able to open it by name. */
	int r = isatty(STDIN_FILENO) ? rights_give(l->who, STDIN_FILENO, 0620) : 0;
	if (r)
		job_say("the terminal can't be made the user's: %s", strerror(-r));
}

void launch_task(const struct launch *l, const struct task *t, const int fds[3], int trouble)
{
	setsid();
	for (int i = 0; i < 3; i++)
		dup2(fds[i], i);
	if (t->rows > 0)
		terminal_take(l, t);
	int r = user_become(l);
	if (r) {
		dprintf(trouble, "it can't become user %s: %s", l->o->user, strerror(-r));
		_exit(126);
	}
	directory_enter(t->workdir ? t->workdir : l->o->workdir, l->o->home);
	signals_clear();
	environ = env_change(l->env, t->env);
	execvp(t->argv[0], t->argv);
	r = errno;
	dprintf(trouble, "%.300s can't be run: %s", t->argv[0], strerror(r));
	_exit(r == ENOENT ? 127 : 126);
}
