/*
 * hold.c - see hold.h.
 *
 * It keeps no state: an attempt's group is the one that contains its processes and is named after
 * its tag. So attempts of an earlier agent or nursery can be stopped as well.
 */
#include "run/hold.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/ioprio.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "run/cgroup.h"
#include "run/tree.h"

static bool file_write(const char *dir, const char *file, const char *text)
{
	char path[4400];

	snprintf(path, sizeof path, "%s/%s", dir, file);
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool done = fd >= 0 && write(fd, text, strlen(text)) >= 0;
	if (fd >= 0)
		close(fd);
	return done;
}

static bool file_has(const char *dir, const char *file, const char *text)
{
	char path[4400], got[512];
	ssize_t n;

	snprintf(path, sizeof path, "%s/%s", dir, file);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, got, sizeof got - 1);
	close(fd);
	got[n > 0 ? n : 0] = '\0';
	return strstr(got, text);
}

/* Where the kernel weighs sessions against each other (autogroup), this session gets the least
 * weight. */
bool background_enter(void)
{
	struct sched_param none = {0};
	int fd = open("/proc/self/autogroup", O_WRONLY | O_CLOEXEC);

	if (fd >= 0 && write(fd, "19", 2) < 0)
		errno = 0; /* a failure here does not matter: it is one of several means */
	if (fd >= 0)
		close(fd);
	syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, IOPRIO_PRIO_VALUE(IOPRIO_CLASS_IDLE, 0));
	return !sched_setscheduler(0, SCHED_IDLE, &none) || !setpriority(PRIO_PROCESS, 0, 19);
}

/* ---- its group ---- */

struct group {
	char *dir; /* NULL: no group */
	bool v2;
};

static bool is_called(const char *dir, const char *tag)
{
	const char *name = dir ? strrchr(dir, '/') : NULL;

	return name && strcmp(name + 1, tag) == 0;
}

/* Returns the group of any process that is in one: a process that was just forked may not be
 * yet. */
static struct group group_find(const pid_list *all, const char *tag)
{
	for (size_t i = 0; i < all->n; i++)
		for (int v2 = 1; v2 >= 0; v2--) {
			char *dir = cgroup_of(all->v[i], v2 ? NULL : "freezer");
			if (is_called(dir, tag))
				return (struct group){dir, v2};
			free(dir);
		}
	return (struct group){NULL, false};
}

static void group_freeze(const struct group *g, bool freeze)
{
	if (g->v2)
		file_write(g->dir, "cgroup.freeze", freeze ? "1" : "0");
	else
		file_write(g->dir, "freezer.state", freeze ? "FROZEN" : "THAWED");
}

static bool group_frozen(const struct group *g)
{
	return g->v2 ? file_has(g->dir, "cgroup.events", "frozen 1") : file_has(g->dir, "freezer.state", "FROZEN");
}

/* ---- its processes ---- */

struct process {
	char state;
	long long ticks; /* CPU time of the process and of the children that it has waited for */
};

static bool process_read(pid_t pid, pid_t thread, struct process *ret)
{
	char path[64], text[1024], *end;
	long long user, system, children_user, children_system;

	if (thread)
		snprintf(path, sizeof path, "/proc/%d/task/%d/stat", pid, thread);
	else
		snprintf(path, sizeof path, "/proc/%d/stat", pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	ssize_t n = read(fd, text, sizeof text - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	end = strrchr(text, ')');
	if (!end || sscanf(end + 1, " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lld %lld %lld %lld", &ret->state,
			   &user, &system, &children_user, &children_system) != 5)
		return false;
	ret->ticks = user + system + children_user + children_system;
	return true;
}

static bool is_still(pid_t pid)
{
	struct process p;

	return !process_read(pid, 0, &p) || strchr("TtZX", p.state);
}

static bool signals_stop(const pid_list *all)
{
	bool still = true;

	for (size_t i = 0; i < all->n; i++)
		if (!is_still(all->v[i])) {
			still = false;
			kill(all->v[i], SIGSTOP);
		}
	return still;
}

/* ---- for callers ---- */

bool hold_stop(pid_t shepherd, const char *tag)
{
	pid_list all = {0};
	bool still;

	tree_list(shepherd, &all);
	struct group g = group_find(&all, tag);
	if (g.dir) {
		group_freeze(&g, true);
		still = group_frozen(&g);
	} else {
		still = signals_stop(&all);
		/* Look again at once, to catch a fork in progress. */
		for (int i = 0; i < 8 && !still; i++) {
			tree_list(shepherd, &all);
			still = signals_stop(&all);
		}
	}
	free(g.dir);
	vec_free(&all);
	return still;
}

void hold_continue(pid_t shepherd, const char *tag, bool stopped)
{
	pid_list all = {0};

	tree_list(shepherd, &all);
	struct group g = group_find(&all, tag);
	if (g.dir)
		group_freeze(&g, false);
	else
		for (size_t i = 0; i < all.n && !stopped; i++)
			kill(all.v[i], SIGCONT);
	free(g.dir);
	vec_free(&all);
}

/* Returns the group of version 2 that has a memory controller, NULL if there is none; the caller
 * frees it. A process that is not in a group named after its job is in someone else's, which is
 * left alone. */
static char *memory_group(pid_t shepherd, const char *tag)
{
	pid_list all = {0};
	char path[4400];

	tree_list(shepherd, &all);
	struct group g = group_find(&all, tag);
	vec_free(&all);
	snprintf(path, sizeof path, "%s/memory.high", g.dir ? g.dir : "");
	if (g.dir && g.v2 && !access(path, W_OK))
		return g.dir;
	free(g.dir);
	return NULL;
}

void hold_reclaim(pid_t shepherd, const char *tag)
{
	char *dir = memory_group(shepherd, tag);

	if (dir)
		file_write(dir, "memory.reclaim", "64M");
	free(dir);
}

void hold_memory(pid_t shepherd, const char *tag, int64_t spare)
{
	char *dir = memory_group(shepherd, tag), path[4400], text[32] = "";
	long long high;

	if (!dir)
		return;
	*strrchr(dir, '/') = '\0'; /* the group of all jobs */
	snprintf(path, sizeof path, "%s/memory.current", dir);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	if (n > 0) {
		high = strtoll(text, NULL, 10) + spare;
		snprintf(text, sizeof text, "%lld", high > 0 ? high : 0);
		file_write(dir, "memory.high", text);
	}
	free(dir);
}

static int threads_running(pid_t pid)
{
	char path[64];
	struct process p;
	int n = 0;

	snprintf(path, sizeof path, "/proc/%d/task", pid);
	DIR *d = opendir(path);
	for (struct dirent *e; d && (e = readdir(d));)
		if (e->d_name[0] != '.' && process_read(pid, (pid_t)atoi(e->d_name), &p) && p.state == 'R')
			n++;
	if (d)
		closedir(d);
	return n;
}

int hold_running(pid_t shepherd, int64_t *ret_cpu_ms)
{
	pid_list all = {0};
	struct process p;
	long long ticks = process_read(shepherd, 0, &p) ? p.ticks : 0;
	int n = 0;

	tree_list(shepherd, &all);
	for (size_t i = 0; i < all.n; i++) {
		if (process_read(all.v[i], 0, &p))
			ticks += p.ticks;
		n += threads_running(all.v[i]);
	}
	vec_free(&all);
	*ret_cpu_ms = ticks * 1000 / sysconf(_SC_CLK_TCK);
	return n;
}
