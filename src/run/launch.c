/*
 * launch.c - what the job's first process does before it becomes the job: session, limits, user, directory.
 *
 * Before it is the user, a failure is the host's: `trouble` says so and the job never ran. After that it is the job's own, and
 * stands in its error output.
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

void job_say(const char *fmt, ...)
{
	char text[1024] = "shunt: ";
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text + 7, sizeof text - 8, fmt, ap);
	va_end(ap);
	strcat(text, "\n");
	if (write(STDERR_FILENO, text, strlen(text)) < 0)
		return; /* there is nobody else to tell */
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

/* Not being allowed to is no reason not to run. */
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

static void directory_enter(const struct order *o)
{
	const char *places[] = {o->workdir, o->home, "/"};
	int why = 0;

	for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
		if (!places[i])
			continue;
		if (chdir(places[i]) == 0) {
			if (why)
				job_say("the working directory %.500s can't be entered (%s): it starts in %s",
					o->workdir, strerror(why), places[i]);
			return;
		}
		why = why ? why : errno;
	}
}

void launch_job(const struct launch *l)
{
	sigset_t none;
	int r;

	setsid();
	streams_set(l);
	cgroup_enter(l->cgroup, l->o->tag);
	files_limit(l->o->files);
	cpus_bind(l->o);
	r = identity_become(l->who);
	if (r) {
		snprintf(l->trouble, TROUBLE_SIZE, "it can't become user %s: %s", l->o->user, strerror(-r));
		_exit(126);
	}
	/* Only now: a change of user takes it away. If the shepherd is gone already, nobody would send it. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != l->parent)
		_exit(126);
	directory_enter(l->o);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	_exit(script_exec(l->o, l->env));
}
