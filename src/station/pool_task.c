/*
 * pool_task.c - see pool_task.h.
 *
 *	daemon --fork--> keeper (reaper of orphans) --fork, exec--> the task
 *
 * The keeper has nothing of the daemon's but its ends of the pipes. It does not exec, so that a task costs two forks and one exec.
 */
#include "station/pool_task.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/descriptors.h"
#include "run/hold.h"
#include "run/lease.h"
#include "run/tree.h"

struct pool_lease *pool_lease_create(void)
{
	void *p = mmap(NULL, sizeof(struct pool_lease), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

void pool_lease_free(struct pool_lease *l)
{
	if (l)
		munmap(l, sizeof *l);
}

enum { IN, OUT, ERR, CONTROL, RESULT, PIPES };

/* ---- the task's first process ---- */

static _Noreturn void task_exec(const struct peer_start *s, const struct pool_user *user, const int *end, pid_t keeper)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	descriptors_lower();
	setpgid(0, 0);
	dup2(end[IN], STDIN_FILENO);
	dup2(end[OUT], STDOUT_FILENO);
	dup2(end[ERR], STDERR_FILENO);
	close_range(STDERR_FILENO + 1, ~0u, 0);
	if (user->uid && (setgroups(1, &user->gid) < 0 || setgid(user->gid) < 0 || setuid(user->uid) < 0)) {
		dprintf(STDERR_FILENO, "shunt-pool: the task can't run as %s: %s\n", user->name, strerror(errno));
		_exit(126);
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* only now: a change of user takes it away */
	if (getppid() != keeper)
		_exit(126);
	if (user->background)
		background_enter(); /* or as near as it gets */
	if (chdir(s->dir) < 0 && chdir("/") < 0)
		_exit(126);
	execvpe(s->argv[0], (char *const *)s->argv, (char *const *)s->env);
	int error = errno;

	/* EACCES also comes of a program that is nowhere, if a directory of PATH is closed to this user. */
	dprintf(STDERR_FILENO, "shunt-pool: %s: %s\n", s->argv[0],
		error == EACCES && !strchr(s->argv[0], '/') ? "it is not in PATH, or may not be run" : strerror(error));
	_exit(error == ENOENT ? 127 : 126);
}

/* ---- the keeper ---- */

static int until_lease(const struct pool_lease *lease)
{
	int64_t left = lease->until - boot_us();

	return left <= 0 ? 0 : left > 3600000000 ? 3600000 : (int)(left / 1000 + 1);
}

static void reap_all(void)
{
	while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
		;
}

static void kill_all(void)
{
	tree_kill(getpid());
	reap_all();
}

/* What the daemon says: false when it is gone. */
static bool control_take(int fd)
{
	unsigned char number[64];
	ssize_t n = read(fd, number, sizeof number);

	for (ssize_t i = 0; i < n; i++)
		if (number[i] == SIGKILL)
			tree_kill(getpid());
		else
			tree_signal(getpid(), number[i]);
	return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
}

/* True: the task's first process has ended. */
static bool reaped(int signals, pid_t task, int *ret_status)
{
	struct signalfd_siginfo info;
	bool ended = false;
	int status;

	while (read(signals, &info, sizeof info) > 0)
		;
	for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;)
		if (pid == task) {
			*ret_status = status;
			ended = true;
		}
	return ended;
}

static _Noreturn void keep(pid_t task, const struct pool_lease *lease, const int *end, int signals)
{
	struct pollfd fds[2] = {{.fd = signals, .events = POLLIN}, {.fd = end[CONTROL], .events = POLLIN}};
	struct pool_result result = {0};
	struct rusage used;

	for (;;) {
		int ms = until_lease(lease);
		if (ms == 0 || (poll(fds, 2, ms) > 0 && fds[1].revents && !control_take(end[CONTROL]))) {
			kill_all();
			_exit(1);
		}
		if (reaped(signals, task, &result.status))
			break;
	}
	kill_all();
	getrusage(RUSAGE_CHILDREN, &used);
	result.cpu_ms = (int64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000 +
			(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1000;
	_exit(lease->until > boot_us() && write(end[RESULT], &result, sizeof result) == sizeof result ? 0 : 1);
}

static _Noreturn void keeper_main(const struct peer_start *s, const struct pool_user *user,
				  const struct pool_lease *lease, int end[PIPES])
{
	sigset_t all;
	int signals;
	pid_t task;

	setsid();
	prctl(PR_SET_NAME, "shunt-keeper");
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	for (int i = 0; i < PIPES; i++) { /* out of the way of 0 to 2, then one after the other */
		end[i] = fcntl(end[i], F_DUPFD_CLOEXEC, 1000);
		if (end[i] < 0)
			_exit(1);
	}
	for (int i = 0; i < PIPES; i++)
		end[i] = dup3(end[i], 3 + i, O_CLOEXEC);
	close_range(3 + PIPES, ~0u, 0);
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	sigemptyset(&all);
	sigaddset(&all, SIGCHLD);
	signals = signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
	pid_t keeper = getpid();

	task = fork();
	if (task == 0)
		task_exec(s, user, end, keeper);
	for (int i = IN; i <= ERR; i++)
		close(end[i]);
	if (task < 0 || signals < 0)
		_exit(1);
	keep(task, lease, end, signals);
}

/* ---- the daemon's side ---- */

static void ends_close(int ends[PIPES][2], int side)
{
	for (int i = 0; i < PIPES; i++)
		if (ends[i][side] >= 0)
			close(ends[i][side]);
}

int pool_task_start(const struct peer_start *s, const struct pool_user *user, const struct pool_lease *lease,
		    struct pool_task *ret, struct err *err)
{
	int ends[PIPES][2], theirs[PIPES], ours[PIPES], rc = 0;
	pid_t keeper = -1;

	memset(ends, -1, sizeof ends);
	for (int i = 0; i < PIPES && rc == 0; i++)
		rc = pipe2(ends[i], O_CLOEXEC) < 0 ? -errno : 0;
	for (int i = 0; i < PIPES; i++) {
		bool down = i == IN || i == CONTROL; /* we write */
		ours[i] = ends[i][down];
		theirs[i] = ends[i][!down];
		if (rc == 0)
			fcntl(ours[i], F_SETFL, O_NONBLOCK);
	}
	if (rc == 0 && (keeper = fork()) == 0)
		keeper_main(s, user, lease, theirs);
	if (rc == 0 && keeper < 0)
		rc = -errno;
	if (rc < 0) {
		ends_close(ends, 0);
		ends_close(ends, 1);
		return err_set(err, rc, "the task can't be started: %s", strerror(-rc));
	}
	for (int i = 0; i < PIPES; i++)
		close(theirs[i]);
	*ret = (struct pool_task){.keeper = keeper,
				  .control = ours[CONTROL],
				  .result = ours[RESULT],
				  .in = ours[IN],
				  .out = ours[OUT],
				  .err = ours[ERR]};
	return 0;
}
