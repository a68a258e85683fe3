/*
 * program.c - see program.h.
 */
#include "base/program.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"

int program_self(char *ret, size_t size, struct err *err)
{
	ssize_t n = readlink("/proc/self/exe", ret, size - 1);

	ret[n > 0 ? n : 0] = '\0';
	return n > 0 ? 0 : err_set(err, -errno, "can't find out where this program is: %s", strerror(errno));
}

int program_beside(const char *name, char *ret, size_t size, struct err *err)
{
	static const char *const folders[] = {"../libexec/shunt/", "../sbin/", "../server/",  "../agent/", "../tls/",
					      "../bag/",	   "../pmix/", "../station/", ""};
	char self[PATH_MAX];
	int rc = program_self(self, sizeof self, err);

	if (rc < 0)
		return rc;
	const char *here = dirname(self);
	for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
		snprintf(ret, size, "%s/%s%s", here, folders[i], name);
		if (access(ret, X_OK) == 0)
			return 0;
	}
	return err_set(err, -ENOENT,
		       "the program %s is missing (it belongs in %.200s/../libexec/shunt): install Shunt again", name,
		       here);
}

int program_start(const char *program, char *const *argv, char *const *env, const int *fd, int n, unsigned how,
		  pid_t *ret_pid)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;
	int flags = POSIX_SPAWN_SETSIGMASK;
	sigset_t none, all;

	sigemptyset(&none);
	sigfillset(&all);
	if (how & PROGRAM_SESSION)
		flags |= POSIX_SPAWN_SETSID;
	if (how & PROGRAM_GROUP)
		flags |= POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF;
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setflags(&attributes, (short)flags);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setsigdefault(&attributes, &all);
	posix_spawn_file_actions_init(&files);
	for (int i = 0; i < n; i++)
		if (fd[i] >= 0)
			posix_spawn_file_actions_adddup2(&files, fd[i], i);
		else if (fd[i] == PROGRAM_NULL)
			posix_spawn_file_actions_addopen(&files, i, "/dev/null", i ? O_WRONLY : O_RDONLY, 0);
	int rc = posix_spawnp(ret_pid, program, &files, &attributes, argv, env ? env : environ);
	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&attributes);
	return -rc;
}
