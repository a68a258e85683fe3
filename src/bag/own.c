/*
 * own.c - the broker's children that are not local workers.
 */
#include "bag/own.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/program.h"
#include "base/vec.h"

struct own {
	pid_t pid;
	bool ended;
	int status;
};
static VEC(struct own) all;

pid_t own_start(const char *program, char *const *words, int in, int out)
{
	const int fd[] = {in >= 0 ? in : PROGRAM_NULL, out >= 0 ? out : PROGRAM_SHARE, out >= 0 ? out : PROGRAM_SHARE};
	pid_t pid;
	int rc = program_start(program, words, NULL, fd, 3, PROGRAM_SESSION, &pid);

	if (rc < 0)
		return rc;
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
