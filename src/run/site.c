/*
 * site.c - prologue and epilogue.
 *
 * They run in their own session. What they leave in the background stays (it may serve the jobs),
 * unless they take too long: then the session is killed.
 */
#include "run/site.h"

#include <errno.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/timetext.h"
#include "base/vec.h"
#include "run/shepherd.h"

#define SECONDS 300
#define ARGS 12

/* Checks that only root can write the program, if root runs it. */
static int program_check(const char *what, const char *path, struct err *err)
{
	struct stat st;

	if (stat(path, &st))
		return err_set(err, -EIO, "the %s %s can't be run: %s", what, path, strerror(errno));
	if (geteuid() == 0 && (st.st_uid != 0 || st.st_mode & 022))
		return err_set(err, -EIO, "the %s %s is not run: it must be root's, and not writable by others", what,
			       path);
	return 0;
}

static pid_t program_start(const char *path, char *const *argv, char *const *env, int out_fd, int err_fd)
{
	pid_t pid = vfork();

	if (pid)
		return pid;
	sigset_t none;
	setsid();
	sigemptyset(&none);
	/* standard input is /dev/null, opened for reading and writing */
	dup2(out_fd >= 0 ? out_fd : STDIN_FILENO, STDOUT_FILENO);
	dup2(err_fd >= 0 ? err_fd : STDIN_FILENO, STDERR_FILENO);
	if (chdir("/") || sigprocmask(SIG_SETMASK, &none, NULL))
		_exit(126);
	execve(path, argv, env);
	_exit(errno == ENOENT ? 127 : 126);
}

/* Waits until it has ended; *ret_why becomes -ECANCELED or -ETIMEDOUT if it had to be killed. */
static int program_wait(pid_t pid, int64_t seconds, bool stoppable, int *ret_why)
{
	int64_t until = boot_us() + seconds * 1000000;
	int status;
	siginfo_t info;

	while (waitpid(pid, &status, WNOHANG) == 0) {
		int signal = shepherd_pause(until, &info);
		bool stopped = stoppable && shepherd_early(signal, &info);
		if (!stopped && boot_us() < until)
			continue;
		*ret_why = stopped ? -ECANCELED : -ETIMEDOUT;
		kill(-pid, SIGKILL);
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
		break;
	}
	return status;
}

static int program_run(const char *what, const char *path, char *const *argv, const struct order *o, int out_fd,
		       int err_fd, struct err *err)
{
	char *const env[] = {"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C", NULL};
	int64_t seconds = o->site.site_seconds > 0 ? o->site.site_seconds : SECONDS;
	int why = program_check(what, path, err);

	if (why)
		return why;
	pid_t pid = program_start(path, argv, env, out_fd, err_fd);
	if (pid < 0)
		return err_set(err, -EIO, "the %s %s can't be run: %s", what, path, strerror(errno));
	int status = program_wait(pid, seconds, !strcmp(what, "prologue"), &why);
	if (why == -ECANCELED)
		return err_set(err, why, "it was ended while the %s %s ran", what, path);
	if (why)
		return err_set(err, -EIO, "the %s %s took more than %lld s and was ended", what, path,
			       (long long)seconds);
	if (WIFSIGNALED(status))
		return err_set(err, -EIO, "the %s %s was ended by signal %d", what, path, WTERMSIG(status));
	if (WEXITSTATUS(status))
		return err_set(err, -EIO, "the %s %s left with exit code %d", what, path, WEXITSTATUS(status));
	return 0;
}

static char *known(const char *s)
{
	return (char *)(s ? s : "");
}

static const char *group_name(gid_t gid, char *buf, size_t size)
{
	struct group *g = getgrgid(gid);

	if (g)
		snprintf(buf, size, "%s", g->gr_name);
	else
		snprintf(buf, size, "%u", (unsigned)gid);
	return buf;
}

/* Arguments: id user group name resources queue account */
int site_prologue(const struct order *o, int out_fd, int err_fd, struct err *err)
{
	char group[256];
	char *argv[ARGS] = {(char *)o->site.prologue, known(o->id),
			    known(o->user),	      (char *)group_name(o->gid, group, sizeof group),
			    known(o->site.name),      known(o->site.resources),
			    known(o->site.queue),     known(o->site.account)};

	return program_run("prologue", o->site.prologue, argv, o, out_fd, err_fd, err);
}

/* Arguments: id user group name session resources used queue account exit-code (256 + the signal
 * that ended it) */
int site_epilogue(const struct order *o, const struct result *r, int out_fd, int err_fd, struct err *err)
{
	char group[256], session[16], used[160], code[16], cpu[32], wall[32];
	char *argv[ARGS] = {(char *)o->site.epilogue,
			    known(o->id),
			    known(o->user),
			    (char *)group_name(o->gid, group, sizeof group),
			    known(o->site.name),
			    session,
			    known(o->site.resources),
			    used,
			    known(o->site.queue),
			    known(o->site.account),
			    code};

	snprintf(session, sizeof session, "%d", (int)r->session);
	snprintf(used, sizeof used, "cput=%s,mem=%lldkb,walltime=%s",
		 duration_format(r->cpu_ms / 1000, cpu, sizeof cpu), (long long)r->memory_kib,
		 duration_format(r->ran_ms / 1000, wall, sizeof wall));
	snprintf(code, sizeof code, "%d", r->how == RESULT_SIGNALED ? 256 + r->status : r->status);
	return program_run("epilogue", o->site.epilogue, argv, o, out_fd, err_fd, err);
}
