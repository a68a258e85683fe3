/*
 * spawn.c - see spawn.h.
 */
#include "server/base/spawn.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>

int spawn_beside(const char *program, char *const argv[], char *const env[], const int fd[3], pid_t *ret)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t a;
	sigset_t none, all;
	int rc;

	sigemptyset(&none);
	sigfillset(&all);
	posix_spawnattr_init(&a);
	posix_spawnattr_setsigmask(&a, &none);
	posix_spawnattr_setsigdefault(&a, &all);
	posix_spawnattr_setpgroup(&a, 0);
	posix_spawnattr_setflags(&a, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
	posix_spawn_file_actions_init(&actions);
	for (int i = 0; i < 3; i++)
		if (fd[i] >= 0)
			posix_spawn_file_actions_adddup2(&actions, fd[i], i);
		else if (fd[i] == SPAWN_NULL)
			posix_spawn_file_actions_addopen(&actions, i, "/dev/null", i ? O_WRONLY : O_RDONLY, 0);
	rc = posix_spawn(ret, program, &actions, &a, argv, env);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&a);
	return -rc;
}
