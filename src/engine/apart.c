/*
 * apart.c - detached processes.
 *
 * Each one is a child whose end is noticed by a pidfd. When this program exits, init adopts them;
 * when it executes itself again, they are still its children, and it finds them by name.
 *
 * A detached process must not keep what its parent has to release when it exits: locks, listening
 * sockets, the connection to the nursery. So all descriptors but the one it needs are closed. It
 * has none of libuv's signal handlers, and its own session: signals to the parent's terminal or
 * group do not reach it.
 */
#include "engine/apart.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/chain.h"
#include "base/mem.h"
#include "engine/watch.h"

struct parted {
	struct apart *a;
	struct parted *prev, *next;
	pid_t pid;
	uid_t uid;
	struct watch *end; /* watches the pidfd */
	char *title;	   /* NULL: forked before this program executed itself again */
};

struct apart {
	uv_loop_t *loop;
	struct parted *first;
	int n;
};

#define NAME "shunt-task"

/* ---- titles ---- */

static struct {
	char *at;
	size_t room;
} title_place;

/* Arguments and environment follow each other in memory, as the kernel placed them. */
void apart_titles(char **argv)
{
	char *end = argv[0];

	for (char **p = argv; *p; p++)
		if (*p == end)
			end += strlen(*p) + 1;
	for (char **p = environ; *p; p++)
		if (*p == end)
			end += strlen(*p) + 1;
	title_place.at = argv[0];
	title_place.room = (size_t)(end - argv[0]);
}

static void title_set(const char *text)
{
	prctl(PR_SET_NAME, NAME);
	if (!title_place.room)
		return;
	clearenv(); /* the environment may lie in the memory that is overwritten */
	memset(title_place.at, 0, title_place.room);
	snprintf(title_place.at, title_place.room, "%s", text);
}

/* ---- in the new process ---- */

static void descriptors_close(int keep)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	if (keep > STDERR_FILENO + 1)
		close_range(STDERR_FILENO + 1, (unsigned)keep - 1, 0);
	close_range((unsigned)keep + 1, ~0U, 0);
}

static void signals_reset(void)
{
	static const int handled[] = {SIGTERM, SIGINT, SIGHUP, SIGCHLD, SIGUSR1, SIGUSR2, SIGWINCH};
	sigset_t none;

	for (size_t i = 0; i < sizeof handled / sizeof *handled; i++)
		signal(handled[i], SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static void part_begin(int keep, const char *title)
{
	descriptors_close(keep);
	setsid();
	signals_reset();
	title_set(title);
}

/* ---- in the parent ---- */

static void parted_drop(struct parted *p)
{
	watch_close(p->end);
	chain_remove(p->a->first, p);
	p->a->n--;
	free(p->title);
	free(p);
}

static void on_end(void *context, int events)
{
	struct parted *p = context;

	waitpid(p->pid, NULL, 0);
	parted_drop(p);
}

static int parted_add(struct apart *a, uid_t uid, pid_t pid, const char *title)
{
	int fd = pidfd_open(pid, 0);
	struct parted *p;

	if (fd < 0)
		return -errno;
	p = mem_zalloc(sizeof *p);
	*p = (struct parted){.a = a, .uid = uid, .pid = pid, .title = title ? mem_strdup(title) : NULL};
	p->end = watch_open(a->loop, fd, on_end, p);
	watch_for(p->end, UV_READABLE);
	chain_add(a->first, p);
	a->n++;
	return 0;
}

int apart_fork(struct apart *a, uid_t uid, int keep, const char *title, struct err *err)
{
	/* makes sure that a descriptor is free for the pidfd */
	int spare = fcntl(keep, F_DUPFD_CLOEXEC, 0);
	pid_t pid = spare < 0 ? -1 : fork();
	int rc;

	if (pid == 0) {
		part_begin(keep, title);
		return 1;
	}
	rc = pid < 0 ? -errno : 0;
	if (spare >= 0)
		close(spare);
	if (rc == 0 && (rc = parted_add(a, uid, pid, title)) < 0) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	return rc < 0 ? err_set(err, rc, "no process could be made for it: %s", strerror(-rc)) : 0;
}

int apart_count(const struct apart *a)
{
	return a->n;
}

int apart_count_of(const struct apart *a, uid_t uid)
{
	int n = 0;

	for (const struct parted *p = a->first; p; p = p->next)
		n += p->uid == uid;
	return n;
}

/* ---- finding them again ---- */

/* Reads as much of a process's file as fits. */
static void proc_read(pid_t pid, const char *file, char *ret, size_t size)
{
	char path[64];
	int fd;
	ssize_t n;

	snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, ret, size - 1);
	if (fd >= 0)
		close(fd);
	ret[n > 0 ? n : 0] = '\0';
}

static bool is_named(pid_t pid)
{
	char name[32];

	proc_read(pid, "comm", name, sizeof name);
	return strcmp(name, NAME "\n") == 0;
}

/* Checks the owner: anyone can use such a title. */
static bool is_ours(int dir, const char *pid)
{
	struct stat st;

	return *pid >= '1' && *pid <= '9' && fstatat(dir, pid, &st, 0) == 0 && st.st_uid == geteuid() &&
	       is_named((pid_t)atoi(pid));
}

void apart_kill(const struct apart *a, bool (*is_one)(void *context, const char *title), void *context)
{
	DIR *all = opendir("/proc");
	struct dirent *d;
	char text[8192];

	/* one that was just forked has not set its title yet */
	for (const struct parted *p = a->first; p; p = p->next)
		if (p->title && is_one(context, p->title))
			kill(p->pid, SIGKILL);
	while (all && (d = readdir(all))) {
		if (!is_ours(dirfd(all), d->d_name))
			continue;
		proc_read((pid_t)atoi(d->d_name), "cmdline", text, sizeof text);
		if (is_one(context, text))
			kill((pid_t)atoi(d->d_name), SIGKILL);
	}
	if (all)
		closedir(all);
}

/* ---- beginning and end ---- */

/* Adopts children from before this program executed itself again. Their users are no longer
 * known. */
static void parted_find(struct apart *a)
{
	FILE *f = fopen("/proc/thread-self/children", "re");
	int pid;

	while (f && fscanf(f, "%d", &pid) == 1)
		if (is_named(pid))
			parted_add(a, (uid_t)-1, pid, NULL);
	if (f)
		fclose(f);
}

struct apart *apart_create(uv_loop_t *loop)
{
	struct apart *a = mem_zalloc(sizeof *a);

	a->loop = loop;
	parted_find(a);
	return a;
}

void apart_free(struct apart *a)
{
	while (a && a->first)
		parted_drop(a->first);
	free(a);
}
