/*
 * own.c - the broker's children that are not local workers.
 */
#include "bag/own.h"

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/vec.h"

struct own {
	pid_t pid;
	bool ended;
	int status;
};
static VEC(struct own) all;

extern char **environ;

pid_t own_start(const char *program, char *const *words, int in, int out)
{
	posix_spawnattr_t attr;
	posix_spawn_file_actions_t files;
	sigset_t none;
	pid_t pid;

	sigemptyset(&none);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawn_file_actions_init(&files);
	if (in >= 0)
		posix_spawn_file_actions_adddup2(&files, in, 0);
	else
		posix_spawn_file_actions_addopen(&files, 0, "/dev/null", 0, 0);
	if (out >= 0) {
		posix_spawn_file_actions_adddup2(&files, out, 1);
		posix_spawn_file_actions_adddup2(&files, out, 2);
	}
	int rc = posix_spawnp(&pid, program, &files, &attr, words, environ);
	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&attr);
	if (rc != 0)
		return -rc;
	vec_push(&all, (struct own){.pid = pid});
	return pid;
}

static struct own *find(pid_t pid)
{
	for (size_t i = 0; i < all.n; i++)
		if (all.v[i].pid == pid)
			return &all.v[i];
	return NULL;
}

bool own_has(pid_t pid)
{
	return find(pid) != NULL;
}

bool own_note(pid_t pid, int status)
{
	struct own *o = find(pid);

	if (o) {
		o->ended = true;
		o->status = status;
	}
	return o != NULL;
}

bool own_ended(pid_t pid, int *ret_status)
{
	struct own *o = find(pid);

	if (!o)
		return true;
	if (!o->ended && waitpid(pid, &o->status, WNOHANG) == pid)
		o->ended = true;
	if (!o->ended)
		return false;
	*ret_status = o->status;
	*o = all.v[all.n - 1];
	if (--all.n == 0)
		vec_free(&all);
	return true;
}

void own_kill(pid_t pid)
{
	int status;

	kill(pid, SIGKILL);
	for (int tries = 0; !own_ended(pid, &status) && tries < 1000; tries++)
		usleep(1000);
}
