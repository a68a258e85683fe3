/*
 * pool_task.c - see pool_task.h.
 *
 *	daemon --fork--> keeper (reaper of orphans) --fork, exec--> the task
 *
 * The keeper inherits only its ends of the pipes from the daemon. It does not exec, so a task costs
 * two forks and one exec.
 */
#include "station/pool_task.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/amount.h"
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

#define LOOK_MS 500 /* between two checks of a task's memory */

enum { IN, OUT, ERR, CONTROL, RESULT, PIPES };

/* ---- its control group ---- */

const char *pool_task_tag(pid_t keeper, char buf[POOL_TAG_SIZE])
{
	snprintf(buf, POOL_TAG_SIZE, "t%d", keeper);
	return buf;
}

/* Creates the task's control group; NULL: it has none. */
static const struct cgroup *group_create(const struct peer_start *s, const struct pool_user *user, char *tag)
{
	struct order o = {.tag = tag, .memory = s->memory, .share.background = user->background};

	if (!user->cgroup || user->cgroup->kind == CGROUP_NONE || (!s->memory && !user->background))
		return NULL;
	return cgroup_create(user->cgroup, &o, NULL) == 0 ? user->cgroup : NULL;
}

static void group_enter(const struct cgroup *c, const char *tag)
{
	int dir = cgroup_open(c, tag), fd = dir < 0 ? -1 : openat(dir, "cgroup.procs", O_WRONLY | O_CLOEXEC);

	if (fd >= 0 && write(fd, "0", 1) != 1)
		errno = 0; /* the keeper polls instead */
	cgroup_enter(c, tag);
}

/* ---- the task's first process ---- */

static _Noreturn void task_exec(const struct peer_start *s, const struct pool_user *user, const struct cgroup *group,
				const int *end, pid_t keeper)
{
	char tag[POOL_TAG_SIZE];
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	descriptors_lower();
	if (group)
		group_enter(group, pool_task_tag(keeper, tag));
	setpgid(0, 0);
	dup2(end[IN], STDIN_FILENO);
	dup2(end[OUT], STDOUT_FILENO);
	dup2(end[ERR], STDERR_FILENO);
	close_range(STDERR_FILENO + 1, ~0u, 0);
	if (user->uid && (setgroups(1, &user->gid) < 0 || setgid(user->gid) < 0 || setuid(user->uid) < 0)) {
		dprintf(STDERR_FILENO, "shunt-pool: the task can't run as %s: %s\n", user->name, strerror(errno));
		_exit(126);
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* only now: changing the user clears it */
	if (getppid() != keeper)
		_exit(126);
	if (user->background)
		background_enter(); /* best effort */
	if (chdir(s->dir) < 0 && chdir("/") < 0)
		_exit(126);
	execvpe(s->argv[0], (char *const *)s->argv, (char *const *)s->env);
	int error = errno;

	/* EACCES may also mean that a directory of PATH is closed to this user and the program
	 * does not exist. */
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

/* State of a keeper. */
struct kept {
	pid_t task;
	const struct pool_lease *lease;
	const struct cgroup *group; /* NULL: none */
	char tag[POOL_TAG_SIZE];
	int64_t memory; /* KiB; 0: unlimited */
	int err;	/* the task's standard error; -1: none */
};

static void kill_all(const struct kept *k)
{
	if (k->group)
		cgroup_kill(k->group, k->tag); /* kills frozen processes as well */
	tree_kill(getpid());
	reap_all();
}

static void memory_tell(const struct kept *k, int64_t kib)
{
	char limit[32], used[32];

	if (kib)
		dprintf(k->err, "shunt-pool: the task was ended: it used %s of memory, and may use %s (mem=)\n",
			memory_human(kib, used, sizeof used), memory_human(k->memory, limit, sizeof limit));
	else
		dprintf(k->err, "shunt-pool: the task was ended: it used more than %s of memory (mem=)\n",
			memory_human(k->memory, limit, sizeof limit));
}

/* Ends a task that exceeds its memory limit. Shared pages are counted once, but only if the
 * quicker sum exceeds the limit. */
static void memory_look(const struct kept *k, bool *told)
{
	int64_t kib = tree_memory(getpid(), false);

	if (kib > k->memory)
		kib = tree_memory(getpid(), true);
	if (kib <= k->memory || *told)
		return;
	*told = true;
	memory_tell(k, kib);
	if (k->group)
		cgroup_kill(k->group, k->tag);
	tree_kill(getpid());
}

/* Reads orders of the daemon; returns false when it is gone. */
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

/* Returns true if the task's first process has ended. */
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

static _Noreturn void keep(const struct kept *k, const int *end, int signals)
{
	struct pollfd fds[2] = {{.fd = signals, .events = POLLIN}, {.fd = end[CONTROL], .events = POLLIN}};
	struct pool_result result = {0};
	struct rusage used;
	bool told = false;

	for (;;) {
		int ms = until_lease(k->lease), wait = k->memory && ms > LOOK_MS ? LOOK_MS : ms;
		if (ms == 0 || (poll(fds, 2, wait) > 0 && fds[1].revents && !control_take(end[CONTROL]))) {
			kill_all(k);
			if (k->group)
				cgroup_remove(k->group, k->tag);
			_exit(1);
		}
		if (reaped(signals, k->task, &result.status))
			break;
		if (k->memory)
			memory_look(k, &told);
	}
	kill_all(k);
	if (k->group) {
		if (k->memory && !told && cgroup_usage(k->group, k->tag).out_of_memory)
			memory_tell(k, 0);
		cgroup_remove(k->group, k->tag);
	}
	getrusage(RUSAGE_CHILDREN, &used);
	result.cpu_ms = (int64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000 +
			(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1000;
	_exit(k->lease->until > boot_us() && write(end[RESULT], &result, sizeof result) == sizeof result ? 0 : 1);
}

static _Noreturn void keeper_main(const struct peer_start *s, const struct pool_user *user,
				  const struct pool_lease *lease, int end[PIPES])
{
	struct kept k = {.lease = lease, .memory = s->memory, .err = -1};
	sigset_t all;
	int signals;

	setsid();
	prctl(PR_SET_NAME, "shunt-keeper");
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	for (int i = 0; i < PIPES; i++) { /* first out of the way of 0 to 2, then into place */
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

	pool_task_tag(keeper, k.tag);
	k.group = group_create(s, user, k.tag);
	k.task = fork();
	if (k.task == 0)
		task_exec(s, user, k.group, end, keeper);
	if (k.memory)
		k.err = end[ERR];
	for (int i = IN; i <= ERR; i++)
		if (end[i] != k.err)
			close(end[i]);
	if (k.task < 0 || signals < 0)
		_exit(1);
	keep(&k, end, signals);
}

/* ---- the daemon's side ---- */

static void ends_close(int ends[PIPES][2], int side)
{
	for (int i = 0; i < PIPES; i++)
		if (ends[i][side] >= 0)
			close(ends[i][side]);
}

void pool_task_end(const struct pool_task *t, const struct pool_user *user)
{
	char tag[POOL_TAG_SIZE];

	if (user->cgroup)
		cgroup_kill(user->cgroup, pool_task_tag(t->keeper, tag));
	tree_kill(t->keeper);
	kill(t->keeper, SIGKILL);
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
		bool down = i == IN || i == CONTROL; /* the direction from us */
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
